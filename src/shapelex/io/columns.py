"""Columns that say something of each shape: made from values, checked, joined.

In come values as files have them, in which some may be absent; out go arrays of text, numbers or booleans.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike
from shapelex.exceptions import ShapeInputError

Column = np.ndarray[Any, Any]

_KINDS = "biufcU"


def as_column(values: ArrayLike, n_shapes: int, name: str) -> Column:
    """Return a read-only column of text, numbers or booleans, one entry a shape."""
    column = np.asarray(values)
    if column.dtype.kind in "SO":
        column = column_from_values(column.ravel().tolist()) if column.ndim == 1 else column
    if column.shape != (n_shapes,):
        raise ShapeInputError(
            f"{name} must have one entry for each of the {n_shapes} shapes, got shape {column.shape}."
        )
    if n_shapes and column.dtype.kind not in _KINDS:
        raise ShapeInputError(f"{name} must be text, numbers or booleans, got dtype {column.dtype}.")
    view = column.view()
    view.flags.writeable = False
    return view


def column_from_values(values: Sequence[Any]) -> Column:
    """Return values of which some may be None as one column.

    Whole numbers stay so where none is absent; numbers have NaN for what is absent, text has the empty string.
    Values of several kinds become text.
    """
    present = [value for value in values if value is not None]
    kinds = {_kind(value) for value in present}
    is_complete = len(present) == len(values)
    if kinds == {"bool"} and is_complete:
        return np.array(values, dtype=np.bool_)
    if kinds == {"int"} and is_complete and all(-(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= {"int", "float"} and all(abs(value) < 2**53 for value in present if _kind(value) == "int"):
        return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    return np.array(["" if value is None else str(value) for value in values], dtype=np.str_)


def join_columns(columns: Sequence[Column | None], sizes: Sequence[int]) -> Any:
    """Return the columns of several sets as one; None where no set has it."""
    present = [column for column in columns if column is not None]
    if not present:
        return None
    kinds = {column.dtype.kind for column in present}
    if "U" in kinds and len(kinds) > 1:
        columns = [None if column is None else column.astype(np.str_) for column in columns]
        present = [column for column in columns if column is not None]
    fill: Any = {"U": "", "i": -1, "u": 0, "b": False}.get(present[0].dtype.kind, np.nan)
    filled = [np.full(size, fill) if column is None else column for column, size in zip(columns, sizes, strict=True)]
    return np.concatenate(filled)


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float"
    return "text"
