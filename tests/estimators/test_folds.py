import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, LeaveOneGroupOut

import shapelex as sx
from shapelex.exceptions import ShapeInputError

SEEN = []


class Recorder(BaseEstimator):
    """Notes the numbers of the shapes that it learns from and measures."""

    def __init__(self, n_nonzero=1):
        self.n_nonzero = n_nonzero

    def fit(self, X):
        self.rows_ = X[:, 0].real.astype(int).tolist()
        return self

    def errors(self, X):
        SEEN.append((self.rows_, X[:, 0].real.astype(int).tolist()))
        return np.ones(len(X))


def folds(cv, groups, n_shapes):
    """Return the rows of every fold of a comparison."""
    X = np.random.default_rng(0).normal(size=(n_shapes, 4)) + 0j
    X[:, 0] = np.arange(n_shapes)
    SEEN.clear()
    sx.compare(X, {"recorder": Recorder()}, 1, cv=cv, groups=groups)
    return SEEN[1:]  # the first are all shapes


def test_none_holds_out_nothing():
    assert folds(None, None, 10) == []


@pytest.mark.parametrize("n_folds", [2, 3, 10])
def test_numbers_hold_out_contiguous_blocks_once_each(n_folds):
    found = folds(n_folds, None, 10)
    assert len(found) == n_folds
    for rows, held_out in found:
        assert (np.diff(held_out) == 1).all()
        assert sorted([*rows, *held_out]) == list(range(10))
    assert sorted(row for _, held_out in found for row in held_out) == list(range(10))


def test_groups_stay_together():
    groups = np.array(list("abcabcabca"))
    for rows, held_out in folds(3, groups, 10):
        assert not set(groups[rows]) & set(groups[held_out])
    assert len(folds(LeaveOneGroupOut(), groups, 10)) == 3


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (([0, 1, 2], [3, 4]), ([0, 1, 2], [3, 4])),
        ((np.array([True, False, True]), np.array([False, True, False])), ([0, 2], [1])),
    ],
)
def test_pairs_of_rows_are_used_as_they_are(pair, expected):
    assert folds([pair], None, sum(map(len, expected))) == [expected]
    assert len(folds(KFold(4, shuffle=True, random_state=0), None, 12)) == 4


@pytest.mark.parametrize(
    ("cv", "groups", "error", "words"),
    [
        (1, None, ValueError, "at least 2"),
        (2.5, None, TypeError, "integer"),
        (True, None, TypeError, "integer"),
        (6, None, ValueError, "number of shapes, 5"),
        (3, [0, 0, 1, 1, 1], ValueError, "number of groups, 2"),
        (2, [0, 0, 0, 0, 0], ShapeInputError, "at least 2 groups"),
        (2, ["a", None, "b", np.nan, "b"], ShapeInputError, "groups is not known in rows 1, 3: leave"),
        ("five", None, TypeError, "number of folds"),
        (object(), None, TypeError, "number of folds"),
        (None, [0, 0, 1, 1, 1], ValueError, "cv=None"),
        (2, [0, 1], ShapeInputError, "one entry per shape"),
        ([([0, 1], [1, 2])], None, ShapeInputError, "both parts"),
        ([([0, 1], [7])], None, ShapeInputError, "between 0 and 4"),
        ([([0, 1], [])], None, ShapeInputError, "empty"),
        ([], None, ValueError, "must give pairs of rows"),
    ],
)
def test_what_is_refused(cv, groups, error, words):
    with pytest.raises(error, match=words):
        folds(cv, groups, 5)
