import numpy as np
import pytest

from shapelex.learning import find_idle
from shapelex.learning import update as module
from shapelex.learning.update import DUPLICATE_COHERENCE, UNUSED_SHARE
from shapelex.spaces.plain import PlainRows

EYE = np.eye(8, dtype=complex)
USED = np.full(4, 10.0)


def replace_atoms(atoms, usage, worst):
    return module.replace_atoms(atoms, usage, worst, PlainRows(8))


def test_nothing_to_replace():
    atoms, n_replaced = replace_atoms(EYE[:4], USED, EYE[4:])
    assert n_replaced == 0
    np.testing.assert_array_equal(atoms, EYE[:4])


def test_unused_atoms_give_way_to_the_worst_shapes_in_order():
    atoms, n_replaced = replace_atoms(EYE[:4], np.array([10, 0, 10, 0.0]), EYE[[6, 5, 4]])
    assert n_replaced == 2
    np.testing.assert_array_equal(atoms, EYE[[0, 6, 2, 5]])


def test_hardly_used_counts_as_unused():
    mean = 10.0
    just_enough = UNUSED_SHARE * mean * 1.02
    assert not find_idle(EYE[:4], np.array([13, 13, 14, just_enough])).any()
    assert find_idle(EYE[:4], np.array([13, 13, 14, just_enough / 2])).tolist() == [False] * 3 + [True]


def test_zero_atoms_give_way():
    atoms = EYE[:4] * np.array([1, 1, 0, 1])[:, None]
    replaced, n_replaced = replace_atoms(atoms, USED, EYE[4:])
    assert n_replaced == 1
    np.testing.assert_array_equal(replaced, EYE[[0, 1, 4, 3]])


@pytest.mark.parametrize(("coherence", "expected"), [(DUPLICATE_COHERENCE + 1e-5, 1), (DUPLICATE_COHERENCE - 1e-5, 0)])
def test_of_two_duplicates_the_less_used_gives_way(coherence, expected):
    atoms = EYE[:4].copy()
    # The same shape in another pose, but for a small part.
    atoms[1] = 1j * (coherence * EYE[0] + np.sqrt(1 - coherence**2) * EYE[7])
    replaced, n_replaced = replace_atoms(atoms, np.array([5, 9, 9, 9.0]), EYE[4:])
    assert n_replaced == expected
    np.testing.assert_array_equal(replaced[0], EYE[4] if expected else EYE[0])
    np.testing.assert_array_equal(replaced[1:], atoms[1:])


def test_of_equally_used_duplicates_the_first_stays():
    assert find_idle(EYE[[0, 0, 0, 1]], USED).tolist() == [False, True, True, False]


def test_copies_of_one_shape_do_not_fill_two_places():
    worst = np.concatenate([EYE[[5, 5]], 1j * EYE[[5]], EYE[[0]], EYE[[6]]])
    atoms, n_replaced = replace_atoms(EYE[:4], np.array([10, 0, 0, 10.0]), worst)
    assert n_replaced == 2
    np.testing.assert_array_equal(atoms, EYE[[0, 5, 6, 3]])


def test_atoms_stay_where_no_distinct_shape_is_left():
    atoms, n_replaced = replace_atoms(EYE[:4], np.array([10, 0, 0, 10.0]), EYE[[5, 5, 0]])
    assert n_replaced == 1
    np.testing.assert_array_equal(atoms, EYE[[0, 5, 2, 3]])
    atoms, n_replaced = replace_atoms(EYE[:4], np.array([10, 0, 0, 10.0]), EYE[[0, 3]])
    assert n_replaced == 0
    np.testing.assert_array_equal(atoms, EYE[:4])


def test_the_dictionary_given_is_not_changed():
    atoms = EYE[:4].copy()
    replace_atoms(atoms, np.array([10, 0, 10, 10.0]), EYE[4:])
    np.testing.assert_array_equal(atoms, EYE[:4])
