"""Columns with one entry per shape: made from values, checked, concatenated.

Input: values as they are in files, some of which may be absent. Output: arrays of text, numbers or booleans.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike
from shapelex.exceptions import ShapeInputError

Column = np.ndarray[Any, Any]

_KINDS = "biufcU"
# A 64-bit number never has more characters as text.
_NUMBER_CHARACTERS = 25


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


@dataclass
class ColumnKind:
    """The type of a column that can hold all values seen so far, some of which may be None.

    Integers stay integers where no value is absent. An absent number is NaN, an absent text the empty string. Values of
    several kinds become text.
    """

    kinds: set[str] = field(default_factory=set)
    is_complete: bool = True
    are_words: bool = True
    are_exact: bool = True
    n_characters: int = 1
    n_present: int = 0
    n_total_characters: int = 0
    dtypes: list[np.dtype[Any]] = field(default_factory=list)

    def see_array(self, values: Sequence[Any], dtype: np.dtype[Any]) -> None:
        """Add the values of an array, whose type is kept where there are no other values."""
        self.n_present += len(values)
        if dtype.kind == "U":
            lengths = [len(value) for value in values]
            self.n_characters = max([self.n_characters, *lengths])
            self.n_total_characters += sum(lengths)
        if dtype not in self.dtypes:
            self.dtypes.append(dtype)

    def see(self, values: Iterable[Any]) -> None:
        """Add values."""
        for value in values:
            if value is None:
                self.is_complete = False
                continue
            self.n_present += 1
            kind = _kind(value)
            self.kinds.add(kind)
            if kind == "int":
                self.are_words &= -(2**63) <= value < 2**63
                self.are_exact &= abs(value) < 2**53
            if kind == "text" or not self.are_words:
                length = len(value if isinstance(value, str) else str(value))
                self.n_characters = max(self.n_characters, length)
                self.n_total_characters += length

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the column; text is as wide as its longest value."""
        if self.dtypes and not self.kinds:
            return self._array_dtype()
        if self.kinds == {"bool"} and self.is_complete:
            return np.dtype(np.bool_)
        if self.kinds == {"int"} and self.is_complete and self.are_words:
            return np.dtype(np.int64)
        if self.kinds and self.kinds <= {"int", "float"} and self.are_exact:
            return np.dtype(np.float64)
        return np.dtype(f"U{max(self.n_characters, _NUMBER_CHARACTERS if self.kinds - {'text'} else 0)}")

    def make(self, values: Sequence[Any]) -> Column:
        """Return values that were seen as a column."""
        # Complex numbers come from JSON as pairs.
        values = [complex(*value) if isinstance(value, list) else value for value in values]
        if self.dtypes and not self.kinds and self.dtype.kind != "U":
            fill = _fill_of(self.dtypes[0])
            return np.array([fill if value is None else value for value in values], dtype=self.dtype)
        if self.dtype.kind == "f":
            return np.array([np.nan if value is None else float(value) for value in values], dtype=self.dtype)
        if self.dtype.kind == "U":
            return np.array(["" if value is None else str(value) for value in values], dtype=self.dtype)
        return np.array(values, dtype=self.dtype)

    def _array_dtype(self) -> np.dtype[Any]:
        """Return the type that :func:`join_columns` gives to such arrays."""
        kinds = {dtype.kind for dtype in self.dtypes}
        if "U" in kinds:
            return np.dtype(f"U{max(self.n_characters, 1 if kinds == {'U'} else _NUMBER_CHARACTERS)}")
        found: np.dtype[Any] = np.result_type(*self.dtypes)
        return found if self.is_complete else np.result_type(found, np.asarray(_fill_of(self.dtypes[0])).dtype)


def column_from_values(values: Sequence[Any]) -> Column:
    """Return values of which some may be None as one column, see :class:`ColumnKind`."""
    kind = ColumnKind()
    kind.see(values)
    return kind.make(values)


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


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float"
    return "text"
