"""Divide shapes into folds: those to learn from, and those to hold out."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, IntArray
from shapelex._validation import check_count
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError, reason_of
from shapelex.shapes.columns import check_present

Fold = tuple[IntArray, IntArray]


def make_folds(
    cv: Any, n_shapes: int, units: ArrayLike | None = None, *, classes: ArrayLike | None = None, seed: int | None = None
) -> list[Fold]:
    """Return the rows to learn from and the rows to hold out, for every fold.

    A number of folds holds out contiguous blocks of rows, or random rows with a `seed`; with `classes` each fold has
    its share of every class. Rows of one unit stay together. Splitters and pairs of rows are used as they are.

    Examples
    --------
    >>> [held_out.tolist() for _, held_out in make_folds(2, 5)]
    [[0, 1, 2], [3, 4]]
    >>> [held_out.tolist() for _, held_out in make_folds(2, 5, ["a", "b", "a", "b", "a"])]
    [[0, 2, 4], [1, 3]]
    """
    units = check_units(units, n_shapes)
    if isinstance(cv, int | float | np.number):
        cv = _splitter(check_count(cv, 2, "cv"), n_shapes, units, classes is not None, seed)  # type: ignore[arg-type]
    if isinstance(cv, str | bytes) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ParameterTypeError(
            f"{parameter('cv')} must be a number of folds, a splitter, pairs of rows, or None, got {cv!r}."
        )
    try:
        with warnings.catch_warnings():
            # A class with fewer shapes than folds is in some folds only.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            split = list(check_cv(cv).split(np.empty((n_shapes, 1)), classes, units))
    except ValueError as error:
        raise ParameterError(f"{parameter('cv')} does not fit {n_shapes} shapes: {reason_of(error)}.") from error
    if classes is not None:
        split = [fold for fold in split if len(fold[1])]
        if units is not None and any(len(np.unique(np.asarray(classes)[rows])) < 2 for rows, _ in split):
            raise ShapeInputError(
                "groups must leave shapes of at least 2 classes to learn from when one fold is held out: every class "
                "needs shapes of several groups."
            )
    folds = [(_as_row_numbers(rows, n_shapes), _as_row_numbers(held_out, n_shapes)) for rows, held_out in split]
    if any(np.intersect1d(rows, held_out).size for rows, held_out in folds):
        raise ShapeInputError("cv must not learn from rows that it holds out, but some rows are in both parts.")
    if not folds:
        raise ParameterError(
            f"{parameter('cv')} must give at least one pair of rows to learn from and rows to hold out, got none."
        )
    return folds


def check_units(groups: ArrayLike | None, n_shapes: int) -> IntArray | None:
    """Return the number of the group of each shape, whose shapes stay together."""
    if groups is None:
        return None
    given = check_present(groups, "groups")
    if given.shape != (n_shapes,):
        raise ShapeInputError(
            f"groups must hold one entry per shape: X has {n_shapes} shapes, groups has shape {given.shape}."
        )
    numbers = np.unique(given, return_inverse=True)[1]
    if numbers.max() == 0:
        raise ShapeInputError("groups must hold at least 2 groups to make folds of, got one: leave groups out.")
    return numbers


def _splitter(n_folds: int, n_shapes: int, units: IntArray | None, is_stratified: bool, seed: int | None) -> Any:
    n_units, unit = (n_shapes, "shapes") if units is None else (int(units.max()) + 1, "groups")
    if n_folds > n_units:
        raise ParameterError(f"{parameter('cv')} must be at most the number of {unit}, {n_units}, got {n_folds}.")
    if units is not None and not is_stratified:
        return GroupKFold(n_folds)
    kind = StratifiedGroupKFold if units is not None else StratifiedKFold if is_stratified else KFold
    return kind(n_folds, shuffle=seed is not None, random_state=seed)


def _as_row_numbers(part: Any, n_shapes: int) -> IntArray:
    array = np.asarray(part)
    if array.dtype == bool and array.shape == (n_shapes,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size == 0:
        raise ShapeInputError(f"{parameter('cv')} must give pairs of row numbers, and neither list may be empty.")
    if array.min() < 0 or array.max() >= n_shapes:
        raise ShapeInputError(f"{parameter('cv')} must give row numbers between 0 and {n_shapes - 1}, the rows of X.")
    return array
