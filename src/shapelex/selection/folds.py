"""Folds: the shapes to learn from, and the shapes to hold out.

Input: a number of folds, a splitter of scikit-learn or pairs of rows, and groups. Output: pairs of row numbers.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, check_cv

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, IntArray
from shapelex._validation import check_count
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError, reason_of

Fold = tuple[IntArray, IntArray]


def make_folds(cv: Any, groups: ArrayLike | None, n_shapes: int, shuffle_seed: int | None = None) -> list[Fold]:
    """Return the rows to learn from and the rows to hold out, for every fold.

    A number of folds holds out contiguous blocks of rows, or whole groups where there are any; None gives no folds.
    With a `shuffle_seed`, it holds out random rows instead of blocks.

    Examples
    --------
    >>> [held_out.tolist() for _, held_out in make_folds(2, None, 5)]
    [[0, 1, 2], [3, 4]]
    >>> [held_out.tolist() for _, held_out in make_folds(2, ["a", "b", "a", "b", "a"], 5)]
    [[0, 2, 4], [1, 3]]
    """
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (n_shapes,):
            raise ShapeInputError(
                f"groups must hold one entry per shape: X has {n_shapes} shapes, groups has shape {groups.shape}."
            )
    if cv is None:
        if groups is not None:
            raise ParameterError(
                f"{parameter('groups')} need folds, but {parameter('cv', None)} holds out no shapes: set it, "
                f"for example {parameter('cv', 5)}."
            )
        return []
    if isinstance(cv, int | float | np.number):
        n_folds = check_count(cv, 2, "cv")  # type: ignore[arg-type]
        n_units, unit = (n_shapes, "shapes") if groups is None else (len(np.unique(groups)), "groups")
        if n_folds > n_units:
            raise ParameterError(f"{parameter('cv')} must be at most the number of {unit}, {n_units}, got {n_folds}.")
        blocks = KFold(n_folds, shuffle=shuffle_seed is not None, random_state=shuffle_seed)
        cv = blocks if groups is None else GroupKFold(n_folds)
    if isinstance(cv, str | bytes) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise ParameterTypeError(
            f"{parameter('cv')} must be a number of folds, a splitter, pairs of rows, or None, got {cv!r}."
        )
    splitter = check_cv(cv)
    try:
        split = list(splitter.split(np.empty((n_shapes, 1)), groups=groups))
    except ValueError as error:
        raise ParameterError(f"{parameter('cv')} does not fit {n_shapes} shapes: {reason_of(error)}.") from error
    folds = [_check_fold(fold, n_shapes) for fold in split]
    if not folds:
        raise ParameterError(
            f"{parameter('cv')} must give at least one pair of rows to learn from and rows to hold out, got none."
        )
    return folds


def _check_fold(fold: Any, n_shapes: int) -> Fold:
    rows, held_out = (_as_row_numbers(part, n_shapes) for part in fold)
    if np.intersect1d(rows, held_out).size:
        raise ShapeInputError("cv must not learn from rows that it holds out, but some rows are in both parts.")
    return rows, held_out


def _as_row_numbers(part: Any, n_shapes: int) -> IntArray:
    array = np.asarray(part)
    if array.dtype == bool and array.shape == (n_shapes,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size == 0:
        raise ShapeInputError(f"{parameter('cv')} must give pairs of row numbers, and neither list may be empty.")
    if array.min() < 0 or array.max() >= n_shapes:
        raise ShapeInputError(f"{parameter('cv')} must give row numbers between 0 and {n_shapes - 1}, the rows of X.")
    return array


_MOST_COUNTS = 10_000


def check_counts(values: int | Iterable[int], name: str) -> list[int]:
    """Return the given positive integers in ascending order; refuse an empty list."""
    listed = list(islice(values, _MOST_COUNTS + 1)) if isinstance(values, Iterable) else [values]
    if len(listed) > _MOST_COUNTS:
        raise ParameterError(f"{parameter(name)} must hold at most {_MOST_COUNTS} numbers, got more.")
    given = sorted({check_count(one, 1, name) for one in listed})
    if not given:
        raise ParameterError(f"{parameter(name)} must hold at least one number, got none.")
    return given
