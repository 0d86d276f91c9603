import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneGroupOut

from shapelex.exceptions import ShapeInputError
from shapelex.selection.folds import make_folds


def test_none_holds_out_nothing():
    assert make_folds(None, None, 10) == []


@pytest.mark.parametrize("n_folds", [2, 3, 10])
def test_numbers_hold_out_contiguous_blocks_once_each(n_folds):
    folds = make_folds(n_folds, None, 10)
    assert len(folds) == n_folds
    for rows, held_out in folds:
        assert (np.diff(held_out) == 1).all()
        assert sorted([*rows, *held_out]) == list(range(10))
    assert sorted(np.concatenate([held_out for _, held_out in folds])) == list(range(10))


def test_groups_stay_together():
    groups = np.array(list("abcabcabca"))
    for rows, held_out in make_folds(3, groups, 10):
        assert not set(groups[rows]) & set(groups[held_out])
    assert len(make_folds(LeaveOneGroupOut(), groups, 10)) == 3


def test_splitters_and_pairs_go_through():
    assert len(make_folds(KFold(4, shuffle=True, random_state=0), None, 12)) == 4
    ((rows, held_out),) = make_folds([([0, 1, 2], [3, 4])], None, 5)
    assert (rows.tolist(), held_out.tolist()) == ([0, 1, 2], [3, 4])
    ((rows, held_out),) = make_folds([(np.array([True, False, True]), np.array([False, True, False]))], None, 3)
    assert (rows.tolist(), held_out.tolist()) == ([0, 2], [1])


@pytest.mark.parametrize(
    ("cv", "groups", "error", "words"),
    [
        (1, None, ValueError, "cv must be at least 2"),
        (2.5, None, TypeError, "cv must be an integer"),
        (True, None, TypeError, "cv must be an integer"),
        (6, None, ValueError, "at most the number of shapes, 5"),
        (3, [0, 0, 1, 1, 1], ValueError, "at most the number of groups, 2"),
        ("five", None, TypeError, "cv must be a number of folds"),
        (object(), None, TypeError, "cv must be a number of folds"),
        (None, [0, 0, 1, 1, 1], ValueError, "cv=None holds out no shapes"),
        (2, [0, 1], ShapeInputError, "one entry per shape"),
        ([([0, 1], [1, 2])], None, ShapeInputError, "some rows are in both"),
        ([([0, 1], [7])], None, ShapeInputError, "between 0 and 4"),
        ([([0, 1], [])], None, ShapeInputError, "may be empty"),
        ([], None, ValueError, "at least one pair"),
    ],
)
def test_what_is_refused(cv, groups, error, words):
    with pytest.raises(error, match=words):
        make_folds(cv, groups, 5)
