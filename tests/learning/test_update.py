import numpy as np
import pytest

from shapelex.coding import SparseCodes
from shapelex.learning.descent import DUPLICATE_COHERENCE, replace_atoms, solve_mod
from shapelex.learning.sampling import normalized
from tests.learning.samples import random_rows

EYE = np.eye(8, dtype=complex)


def solve(rows, codes):
    """Return the least-squares dictionary, from dense sums."""
    A = codes.toarray()
    return solve_mod(A.conj().T @ A, A.conj().T @ rows)


def test_unused_and_vanished_atoms_stay():
    rows = np.eye(3, dtype=complex)[[0, 0]]
    atoms = random_rows(3, 3)
    # Two equal shapes of opposite weights: the least-squares atom is zero.
    codes = SparseCodes([[0], [0]], [[1], [-1]], n_atoms=3)
    np.testing.assert_array_equal(normalized(solve(rows, codes), atoms), atoms)
    np.testing.assert_array_equal(normalized(np.zeros((3, 3), complex), atoms), atoms)


@pytest.mark.parametrize(
    ("atoms", "usage", "candidates", "expected"),
    [
        (EYE[:4], [9, 9, 9, 9], EYE[4:], EYE[:4]),  # nothing to replace
        (EYE[:4], [10, 0, 10, 0], EYE[[6, 5, 4]], EYE[[0, 6, 2, 5]]),  # the worst shapes in order
        (EYE[:4] * [[1], [1], [0], [1]], [9, 9, 9, 9], EYE[4:], EYE[[0, 1, 4, 3]]),  # zero
        (EYE[:4], [10, 0, 0, 10], EYE[[5, 5, 0, 6]], EYE[[0, 5, 6, 3]]),  # copies do not fill two places
        (EYE[:4], [10, 0, 0, 10], EYE[[5, 5, 0]], EYE[[0, 5, 2, 3]]),  # no distinct shape is left
        (EYE[[0, 0, 2, 3]], [5, 9, 9, 9], EYE[4:], EYE[[4, 0, 2, 3]]),  # of duplicates the less used one
    ],
)
def test_idle_atoms_give_way(atoms, usage, candidates, expected):
    given_atoms = atoms.copy()
    found, is_replaced = replace_atoms(atoms, np.array(usage, float), candidates, 0.1, 2)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(is_replaced, (found != given_atoms).any(axis=1))
    np.testing.assert_array_equal(atoms, given_atoms)


@pytest.mark.parametrize(
    ("coherence", "is_idle"), [(DUPLICATE_COHERENCE + 1e-5, True), (DUPLICATE_COHERENCE - 1e-5, False)]
)
def test_duplicates_are_told_in_any_pose(coherence, is_idle):
    atoms = EYE[:4].copy()
    atoms[1] = 1j * (coherence * EYE[0] + np.sqrt(1 - coherence**2) * EYE[7])
    assert replace_atoms(atoms, np.array([5, 9, 9, 9.0]), EYE[4:7], 0.1, 2)[1].tolist() == [is_idle, *[False] * 3]
    unused = replace_atoms(EYE[:4], np.array([13, 13, 14, 0.05]), EYE[4:], 0.1, 2)[1]
    assert unused.tolist() == [False] * 3 + [True]
