"""Columns with one entry per shape: made from values, checked, concatenated.

Input: values as they are in files, some of which may be absent. Output: arrays of text, numbers or booleans.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike
from shapelex.exceptions import ShapeInputError

Column = np.ndarray[Any, Any]

_KINDS = "biufcU"
EXACT = 2**53
"""From here on, integers are not all numbers of double precision."""


def as_column(values: ArrayLike, n_shapes: int, name: str) -> Column:
    """Return a read-only column of text, numbers or booleans, one entry per shape."""
    column = np.asarray(values)
    if column.dtype.kind in "SO":
        column = column_from_values(column.ravel().tolist()) if column.ndim == 1 else column
    if column.shape != (n_shapes,):
        raise ShapeInputError(
            f"{name} must have one entry for each of the {n_shapes} shapes, got shape {column.shape}."
        )
    if n_shapes and column.dtype.kind not in _KINDS:
        raise ShapeInputError(f"{name} must be text, numbers or booleans, got dtype {column.dtype}.")
    return read_only_view(column)


def read_only_view(array: Column) -> Column:
    """Return a read-only view of the array."""
    view = array.view()
    view.flags.writeable = False
    return view


def column_from_values(values: Sequence[Any]) -> Column:
    """Return values of which some may be absent, that is None, NaN or empty text, as one column.

    Integers stay integers where no value is absent. An absent number is NaN, an absent text the empty string. Values of
    several kinds become text, and so do integers that the column could not hold exactly.
    """
    present = [value for value in values if not _is_absent(value)]
    is_complete = len(present) == len(values)
    kinds = {_kind_of(one) for one in set(map(type, present))}
    if kinds == {"bool"} and is_complete:
        return np.array(values, dtype=np.bool_)
    if kinds == {"int"} and is_complete and min(present) >= -(2**63) and max(present) < 2**63:
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= {"int", "float"}:
        is_exact = "int" not in kinds or all(abs(one) < EXACT for one in present if _kind_of(type(one)) == "int")
        if is_exact:
            return np.array([np.nan if _is_absent(value) else float(value) for value in values], dtype=np.float64)
    if not kinds and any(value != value for value in values):
        return np.full(len(values), np.nan)
    return np.array(["" if _is_absent(value) else str(value) for value in values], dtype=np.str_)


def _is_absent(value: Any) -> bool:
    return value is None or value == "" or value != value


def join_columns(columns: Sequence[Column | None], sizes: Sequence[int]) -> Any:
    """Return the columns of several sets as one column; None where no set has it."""
    present = [column for column in columns if column is not None]
    if not present:
        return None
    kinds = {column.dtype.kind for column in present}
    if "U" in kinds and len(kinds) > 1:
        columns = [None if column is None else column.astype(np.str_) for column in columns]
        present = [column for column in columns if column is not None]
    fill = _fill_of(present[0].dtype)
    filled = [np.full(size, fill) if column is None else column for column, size in zip(columns, sizes, strict=True)]
    return np.concatenate(filled)


def _fill_of(dtype: np.dtype[Any]) -> Any:
    """Return the entry for shapes of a set without this column."""
    return {"U": "", "i": -1, "u": 0, "b": False}.get(dtype.kind, np.nan)


def _kind_of(one: type) -> str:
    if issubclass(one, bool | np.bool_):
        return "bool"
    if issubclass(one, int | np.integer):
        return "int"
    return "float" if issubclass(one, float | np.floating) else "text"
