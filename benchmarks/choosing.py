"""What ``suggest`` and ``compare`` print for the sets of docs/how-to/choosing.md."""

import warnings

import shapelex as sx
from measure import print_result
from shape_data import open_set


def main() -> None:
    worms = open_set("6376_open_worms_6ctrlpts", "choosing, worms")
    if worms is not None:
        found = sx.suggest(worms, random_state=0)
        print_result("docs/how-to/choosing.md, A suggestion: worms", str(found), "suggestion-worms.txt")
    hands = open_set("hands", "choosing, hands")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hands is not None:
            table = sx.compare(hands, n_nonzero=[1, 2, 3, 5, 10], n_atoms=10, cv=4, random_state=0)
            print_result("docs/how-to/choosing.md, A comparison: hands", str(table), "comparison-hands.txt")
        if worms is not None:
            table = sx.compare(worms[::4], n_nonzero=[1, 2, 3, 5], n_atoms=10, cv=3, random_state=0)
            print_result("docs/how-to/choosing.md, A comparison: every fourth worm", str(table), "comparison-worms.txt")
