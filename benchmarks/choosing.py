"""What ``suggest`` and ``compare`` print for the sets of docs/how-to/choosing.md."""

import warnings

import numpy as np

import shapelex as sx
from measure import print_result, print_title
from shape_data import open_set

# Size, sparsity, noise and number of points of sets that are sums of random atoms.
KNOWN = [
    (4, 2, 0.1, 10), (5, 2, 0.08, 9), (5, 3, 0.05, 12), (6, 4, 0.03, 16), (8, 2, 0.05, 20), (9, 2, 0.1, 15),
    (9, 3, 0.05, 24), (10, 3, 0.05, 30), (10, 4, 0.05, 20), (12, 2, 0.1, 25), (12, 3, 0.05, 20), (14, 2, 0.05, 30),
    (15, 2, 0.05, 12), (15, 4, 0.02, 40),
]  # fmt: skip


def print_known() -> None:
    """Print what is suggested for sets of known size and sparsity, and how often both are found."""
    n_found = 0
    for n_atoms, n_nonzero, noise, n_points in KNOWN:
        generator = np.random.default_rng(n_atoms)
        atoms = generator.normal(size=(n_atoms, n_points, 2)) @ [1, 1j]
        sample = sx.datasets.make_from_dictionary(
            50 * n_atoms,
            n_nonzero=n_nonzero,
            space=sx.Landmarks(n_points),
            atoms=atoms,
            noise=noise,
            random_state=generator,
        )
        found = sx.suggest(sample.shapes, stability=False, random_state=0)
        n_found += (found.n_atoms, found.n_nonzero) == (n_atoms, n_nonzero)
        print(f"{n_nonzero} of {n_atoms} atoms, noise {noise}: suggested {found.n_nonzero} of {found.n_atoms}")
    print(f"found in {n_found} of {len(KNOWN)} cases")


def main() -> None:
    print_title("docs/how-to/choosing.md, A suggestion: sets of known size and sparsity")
    print_known()
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
