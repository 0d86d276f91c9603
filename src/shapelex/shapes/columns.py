"""Columns with one entry per shape: made from values, checked, read from files, joined."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, FloatArray, IntArray
from shapelex._validation import name_rows
from shapelex.exceptions import ShapeInputError
from shapelex.shapes.storage import FileArray, StoredRows, is_chunked, is_mapped
from shapelex.spaces.base import read_only

Column = np.ndarray[Any, Any]

# Beginning of the names of metadata among all columns; the others are ROLES.
METADATA = "metadata:"

_ROLE_TYPES: dict[str, Any] = {"ids": np.str_, "labels": np.str_, "sequence": np.int64}

# Columns that have a meaning of their own.
ROLES = tuple(_ROLE_TYPES)

_OWN_NAMES = {"ids": "id", "labels": "label", "sequence": "sequence"}

# Numbers for shapes without an entry, where that is not NaN.
ABSENT = {"sequence": -1, f"{METADATA}frame": -1}

# Column of the metadata with the path of the file of a shape, where several were read.
FILE = "file"

# Column of the metadata with the number of frames per second; NaN where it is not known.
FPS = "fps"

# From here on, integers are not all numbers of double precision.
EXACT = 2**53
# A number never has more characters.
_TEXT = np.dtype("U25")


class Columns(Mapping[str, Column]):
    """Columns by their names; those in files are read when they are asked for."""

    def __init__(self, sources: "Mapping[str, Column | FileArray | RowNumbers]") -> None:
        self.sources = sources

    def __getitem__(self, name: str) -> Column:
        return read_only(self.sources[name][:])

    def __iter__(self) -> Iterator[str]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def __repr__(self) -> str:
        return repr(dict(self))

    @property
    def metadata(self) -> "Columns":
        """The columns that are neither ids nor labels nor series, by their own names."""
        own = {name: source for name, source in self.sources.items() if name.startswith(METADATA)}
        return Columns({name.removeprefix(METADATA): source for name, source in own.items()})

    def described(self, is_known: Callable[[str], bool] = lambda _: False) -> "Columns":
        """Return the columns by the names that users know; metadata that is named like others has ``meta`` first."""
        own = {_OWN_NAMES[name]: self.sources[name] for name in ROLES if name in self.sources}
        for name, source in self.metadata.sources.items():
            own[f"meta {name}" if name in _OWN_NAMES.values() or is_known(name) else name] = source
        return Columns(own)

    def take(self, rows: "slice | IntArray") -> "Columns":
        """Return the columns of some shapes, in memory."""
        return Columns({name: read_only(source[rows]) for name, source in self.sources.items()})


class RowNumbers(StoredRows):
    """The ids of shapes that were given none: numbers of rows, as text, made when they are asked for."""

    def __init__(self, n_shapes: int) -> None:
        self.shape = (n_shapes,)
        self.dtype = np.dtype(f"U{len(str(max(n_shapes - 1, 0)))}")

    def read(self, start: int, stop: int) -> Column:
        """Return some numbers."""
        return self.take(np.arange(start, stop))

    def take(self, indices: IntArray) -> Column:
        """Return the numbers themselves, as text."""
        return indices.astype(np.str_)


def make_columns(n_shapes: int, roles: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> Columns:
    """Return checked columns of a set; those in files stay there."""
    others = {f"{METADATA}{name}": column for name, column in (metadata or {}).items()}
    columns: dict[str, Column | FileArray | RowNumbers] = {"ids": RowNumbers(n_shapes)}
    for name, column in {**roles, **others}.items():
        if not isinstance(column, RowNumbers | None):
            columns[name] = _check_column(column, n_shapes, name)
    return Columns(columns)


def in_file(array: Any, name: str, *, role: str = "") -> Any:
    """Return an array in a file as a column that is read when asked for; other values as they are."""
    return FileArray(array, name, _ROLE_TYPES.get(role)) if is_mapped(array) or is_chunked(array) else array


def _check_column(values: Any, n_shapes: int, name: str) -> "Column | FileArray":
    own = name.removeprefix(METADATA)
    told = name if own == name else f"metadata[{own!r}]"
    column: Column | FileArray = in_file(values, told, role=name)
    if isinstance(column, FileArray):
        given: np.dtype[Any] = column.array.dtype
        _check_entries(column.shape, _TEXT if column.is_text else given, n_shapes, told)
    else:
        column = as_column(column, n_shapes, told, is_text=_ROLE_TYPES.get(name) is np.str_)
        given = column.dtype
    if name == "sequence":
        if n_shapes and given.kind not in "iu":
            raise ShapeInputError(f"{name} must be integers, one per shape, got dtype {given}.")
        if isinstance(column, np.ndarray):
            return read_only(column.astype(np.int64, copy=False))
    return column


def as_column(values: ArrayLike, n_shapes: int, name: str, *, is_text: bool = False) -> Column:
    """Return a read-only column of text, numbers or booleans, one entry per shape."""
    # In a list, NumPy would make NaN and None words.
    column = np.asarray(values, dtype=object if is_text and isinstance(values, list | tuple) else None)
    if is_text and column.dtype.kind != "U":
        column = np.asarray([_as_text(value) for value in column.ravel()], dtype=np.str_).reshape(column.shape)
    elif column.dtype.kind in "SO" and column.ndim == 1:
        column = column_from_values(column.tolist())
    _check_entries(column.shape, column.dtype, n_shapes, name)
    return read_only(column)


def _check_entries(shape: tuple[int, ...], dtype: np.dtype[Any], n_shapes: int, name: str) -> None:
    if shape != (n_shapes,):
        raise ShapeInputError(f"{name} must have one entry for each of the {n_shapes} shapes, got shape {shape}.")
    if n_shapes and dtype.kind not in "biufcU":
        raise ShapeInputError(f"{name} must be text, numbers or booleans, got dtype {dtype}.")


def column_from_values(values: Sequence[Any]) -> Column:
    """Return values of which some may be absent, that is None, NaN or empty text, as one column.

    Integers stay integers where no value is absent. An absent number is NaN, an absent text the empty string. Values of
    several kinds become text, and so do integers that the column could not hold exactly.
    """
    present = [value for value in values if not is_absent(value)]
    is_complete = len(present) == len(values)
    kinds = {np.dtype(one).kind for one in set(map(type, present))}
    integers: list[Any] = [one for one in present if isinstance(one, int | np.integer)]
    if kinds == {"b"} and is_complete:
        return np.array(values, dtype=np.bool_)
    if kinds and kinds <= set("iu") and is_complete and min(integers) >= -(2**63) and max(integers) < 2**63:
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= set("iuf") and all(abs(one) < EXACT for one in integers):
        return np.array([np.nan if is_absent(value) else float(value) for value in values], dtype=np.float64)
    if not kinds and any(value != value for value in values):
        return np.full(len(values), np.nan)
    return np.array([_as_text(value) for value in values], dtype=np.str_)


def is_absent(value: Any) -> bool:
    """Tell whether a value stands for one that is not known: None, NaN or empty text."""
    try:
        return value is None or value == "" or bool(value != value)
    except TypeError:
        # The NA of pandas is not even unequal to itself.
        return True


def check_present(values: ArrayLike, name: str) -> Column:
    """Return values, one per shape, as an array; refuse those of which some are absent."""
    # In a list, NumPy would make NaN and None words.
    column = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
    absent = np.array([is_absent(value) for value in column.ravel()] if column.dtype.kind in "Of" else [])
    if absent.any():
        raise ShapeInputError(f"{name} is not known in {name_rows(absent)}: leave these shapes out, of X and {name}.")
    return np.asarray(values)


def _as_text(value: Any) -> str:
    """Return a value as it is in a column of text: whole numbers have no point, absent ones are empty."""
    if is_absent(value):
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
        kind, dtype = column.dtype.kind, column.dtype
        n_characters = int(np.char.str_len(column).sum()) if kind == "U" else 0
        n_present = int(np.count_nonzero(column != "" if kind == "U" else ~np.isnan(column)))
        if n_present == 0 and (kind == "U" or self.dtype is not None):
            # A column without entries says nothing of what they are.
            return self
        is_exact = self.is_exact and (kind not in "iu" or bool((np.abs(column.astype(np.float64)) < EXACT).all()))
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
    if column is None or (column.dtype.kind == "U" and dtype.kind != "U"):
        fill: Any = absent if dtype.kind in "iu" else "" if dtype.kind == "U" else np.nan
        return np.full(n_shapes, fill, dtype=dtype)
    if dtype.kind == "U" and column.dtype.kind != "U":
        return np.array([_as_text(value) for value in column.tolist()], dtype=dtype)
    return column.astype(dtype, copy=False)


def frame_rates(metadata: Mapping[str, Column]) -> FloatArray | None:
    """Return the frames per second of each shape, NaN where not known; None where no shape has a rate."""
    column = metadata.get(FPS)
    if column is None:
        return None
    if column.dtype.kind not in "iuf":
        raise ShapeInputError(f"metadata[{FPS!r}] must hold frames per second as numbers, got {column.dtype}.")
    rates = column.astype(np.float64)
    is_wrong = ~np.isnan(rates) & ~((rates > 0) & (rates < np.inf))
    if is_wrong.any():
        raise ShapeInputError(
            f"metadata[{FPS!r}] must be positive, and NaN where the rate is not known, got {rates[is_wrong][0]:g} for "
            f"shape {int(np.argmax(is_wrong))}."
        )
    return None if np.isnan(rates).all() else rates


class SeriesNumbers:
    """Numbers the time series of several sources, one part after the other.

    A series keeps the number that its source gives it, unless a series of another source has it already: then it gets
    the number after the largest one in use. The number −1, for shapes of no series, stays.

    Examples
    --------
    >>> numbers = SeriesNumbers()
    >>> numbers.join("ab", np.array([0, 5])).tolist(), numbers.join("bb", np.array([0, 5])).tolist()
    ([0, 5], [6, 5])
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Hashable, int], int] = {}
        self._taken: set[int] = set()
        self._next = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def join(self, sources: Iterable[Hashable], numbers: Column) -> Column:
        """Return the numbers of a further part in the whole set, given the source of each of its shapes."""
        keys = list(zip(sources, numbers.tolist(), strict=False))
        for key in dict.fromkeys(keys):
            if key[1] != -1 and key not in self._numbers:
                number = self._next if key[1] in self._taken else key[1]
                self._numbers[key] = number
                self._taken.add(number)
                self._next = max(self._next, number + 1)
        return np.array([self._numbers.get(key, -1) for key in keys], dtype=np.int64)

    def truncate(self, n_series: int) -> None:
        """Forget all but the first series."""
        self._numbers = dict(islice(self._numbers.items(), n_series))
        self._taken = set(self._numbers.values())
        self._next = max({-1} | self._taken) + 1


def join_columns(parts: Sequence[Columns], sizes: Sequence[int], *, series_go_on: bool) -> Columns:
    """Return the columns of several sets as those of one; time series go on from set to set, or are others in each."""
    series, joined = SeriesNumbers(), {}
    for name in dict.fromkeys([*ROLES, *(name for part in parts for name in part)]):
        given, absent, kind = [part.get(name) for part in parts], ABSENT.get(name), ColumnKind()
        if name == "sequence" and not series_go_on:
            given = [one if one is None else series.join(repeat(place), one) for place, one in enumerate(given)]
        for column in given:
            kind = kind if column is None else kind.see(column)
        if any(column is not None for column in given):
            dtype = kind.dtype_of(sum(sizes), absent)
            cast = [cast_column(one, dtype, size, absent) for one, size in zip(given, sizes, strict=True)]
            joined[name] = read_only(np.concatenate(cast))
    return Columns(joined)
