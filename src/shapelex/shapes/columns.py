"""Columns with one entry per shape: made from values, checked, concatenated.

Input: values as they are in files, some of which may be absent. Output: arrays of text, numbers or booleans.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike
from shapelex.exceptions import ShapeInputError

Column = np.ndarray[Any, Any]

_KINDS = "biufcU"
# From here on, integers are not all numbers of double precision.
EXACT = 2**53
# A number never has more characters.
_TEXT = np.dtype("U25")


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


def are_characters(column: Column) -> bool:
    """Tell whether text has only characters that exist: NumPy keeps the numbers of others as they are."""
    if column.dtype.kind != "U" or not column.size or not column.dtype.itemsize:
        return True
    numbers = np.ascontiguousarray(column).view(np.dtype(np.uint32).newbyteorder(column.dtype.byteorder))
    return bool(numbers.max() <= sys.maxunicode)


def text_column(values: ArrayLike, n_shapes: int, name: str) -> Column:
    """Return a read-only column of text; other values become text."""
    column = np.asarray(values)
    if column.dtype.kind != "U":
        column = np.asarray([str(value) for value in column.ravel()], dtype=np.str_).reshape(column.shape)
    return as_column(column, n_shapes, name)


def whole_number_column(values: ArrayLike, n_shapes: int, name: str) -> Column:
    """Return a read-only column of 64-bit integers; refuse other values."""
    column = as_column(values, n_shapes, name)
    if len(column) and not np.issubdtype(column.dtype, np.integer):
        raise ShapeInputError(f"{name} must be integers, one per shape, got dtype {column.dtype}.")
    return read_only_view(column.astype(np.int64))


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
    return np.array([_as_text(value) for value in values], dtype=np.str_)


def _is_absent(value: Any) -> bool:
    return value is None or value == "" or value != value


def _as_text(value: Any) -> str:
    """Return a value as it is in a column of text: whole numbers have no point, absent ones are empty."""
    if _is_absent(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < EXACT else str(value)


@dataclass(frozen=True)
class ColumnKind:
    """What the entries of a column are, of which parts have been seen; `dtype` is None as long as all are empty.

    Numbers and text in one column become text, as in :func:`column_from_values`, whatever part they are in.
    """

    dtype: np.dtype[Any] | None = None
    is_exact: bool = True
    n_present: int = 0
    n_characters: int = 0

    def see(self, column: Column) -> "ColumnKind":
        """Return what the entries are together with those of a further part."""
        kind, dtype, n_characters, n_present = column.dtype.kind, column.dtype, 0, len(column)
        if kind == "U":
            lengths = np.char.str_len(column)
            n_characters, n_present = int(lengths.sum()), int(np.count_nonzero(lengths))
        elif kind == "f":
            n_present = int(np.count_nonzero(~np.isnan(column)))
        if n_present == 0 and (kind == "U" or self.dtype is not None):
            # A column without entries says nothing of what they are.
            return self
        is_exact = self.is_exact
        if kind in "iu" and len(column):
            is_exact &= max(abs(int(column.max())), abs(int(column.min()))) < EXACT
        if self.dtype is not None:
            both = [self.dtype, column.dtype]
            is_one_kind = len({"number" if one.kind in "iufc" else one.kind for one in both}) == 1
            dtype = np.result_type(*(both if is_one_kind else [_TEXT, *(one for one in both if one.kind == "U")]))
        if dtype.kind == "f" and not is_exact:
            dtype = _TEXT
        return ColumnKind(dtype, is_exact, self.n_present + n_present, self.n_characters + n_characters)

    def dtype_of(self, n_shapes: int, absent: int | None = None) -> np.dtype[Any]:
        """Return the type of the column of so many shapes; those without an entry have `absent`, NaN or empty text."""
        if self.dtype is None:
            return np.dtype("U1")
        is_number = self.dtype.kind in "iu"
        if self.n_present == n_shapes or self.dtype.kind in "fcU" or (is_number and absent is not None):
            return self.dtype
        return np.dtype(np.float64) if is_number and self.is_exact else _TEXT


def cast_column(column: Column | None, dtype: np.dtype[Any], n_shapes: int, absent: int | None = None) -> Column:
    """Return a column in the type that :class:`ColumnKind` found; None stands for one without entries."""
    is_empty = column is None or (column.dtype.kind == "U" and dtype.kind != "U")
    if is_empty:
        fill: Any = absent if dtype.kind in "iu" else "" if dtype.kind == "U" else np.nan
        return np.full(n_shapes, fill, dtype=dtype)
    assert column is not None
    if dtype.kind == "U" and column.dtype.kind != "U":
        return np.array([_as_text(value) for value in column.tolist()], dtype=dtype)
    return column.astype(dtype, copy=False)


def join_columns(columns: Sequence[Column | None], sizes: Sequence[int], absent: int | None = None) -> Any:
    """Return the columns of several sets as one column; None where no set has it."""
    kind = ColumnKind()
    for column in columns:
        kind = kind if column is None else kind.see(column)
    if all(column is None for column in columns):
        return None
    dtype = kind.dtype_of(sum(sizes), absent)
    return np.concatenate([cast_column(one, dtype, size, absent) for one, size in zip(columns, sizes, strict=True)])


def _kind_of(one: type) -> str:
    if issubclass(one, bool | np.bool_):
        return "bool"
    if issubclass(one, int | np.integer):
        return "int"
    return "float" if issubclass(one, float | np.floating) else "text"
