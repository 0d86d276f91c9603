"""What ``suggest`` and ``compare`` print for the sets of docs/how-to/choosing.md."""

import warnings

import shapelex as sx
from measure import print_title
from shape_data import open_set


def main() -> None:
    worms = open_set("6376_open_worms_6ctrlpts", "choosing, worms")
    if worms is not None:
        print_title("docs/how-to/choosing.md, A suggestion: worms")
        print(sx.suggest(worms, random_state=0))
    hands = open_set("hands", "choosing, hands")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hands is not None:
            found = sx.compare(hands, n_nonzero=[1, 2, 3, 5, 10], n_atoms=10, cv=4, random_state=0)
            print_title("docs/how-to/choosing.md, A comparison: hands")
            print(found)
        if worms is not None:
            found = sx.compare(worms[::4], n_nonzero=[1, 2, 3, 5], n_atoms=10, cv=3, random_state=0)
            print_title("docs/how-to/choosing.md, A comparison: every fourth worm")
            print(found)
