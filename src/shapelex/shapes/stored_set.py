"""Sets of shapes that stay in their files and are read piece by piece.

Input: arrays on disk, with their space and what is known of each shape. Output: a set whose slices are read when they
are asked for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from shapelex._validation import check_count
from shapelex.exceptions import EmptySetError, NonFiniteError, ShapeFileError
from shapelex.shapes.collection import BLOCK_ROWS, Shapes
from shapelex.shapes.columns import are_characters
from shapelex.shapes.opening import as_shapes
from shapelex.shapes.preparation import Preparation
from shapelex.shapes.shapeset import ShapeSet
from shapelex.shapes.stored import ChunkReader, chunk_rows
from shapelex.spaces import Space

METADATA = "metadata:"
"""What the names of metadata begin with among all columns."""


class ShapeBlocks(Protocol):
    """A set of shapes that is gone through block by block."""

    @property
    def space(self) -> Space:
        """What the coordinates mean."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of shapes, and of coordinates of each."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the shapes."""

    @property
    def columns(self) -> dict[str, np.dtype[Any]]:
        """Types of ``ids``, of ``labels`` and ``sequence`` where there are some, and of metadata (METADATA + name)."""

    @property
    def missing(self) -> str:
        """Whether NaN stands for missing landmarks: "allow", or "error"."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened to the set on its way."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where it comes from."""

    @property
    def preparation(self) -> Preparation | None:
        """How the outlines were resampled and registered."""

    def blocks(self) -> Iterator[ShapeSet]:
        """Go through the set in order."""


def column_of(shapes: ShapeSet, name: str) -> Any:
    """Return a column of a block by its name among all columns; None where it has no such column."""
    is_metadata = name.startswith(METADATA)
    return shapes.metadata.get(name.removeprefix(METADATA)) if is_metadata else getattr(shapes, name)


def as_stored(shapes: ShapeSet) -> "StoredShapes":
    """Return a set in memory as one that is gone through in blocks."""
    parts = ("space", "ids", "labels", "sequence", "metadata", "missing", "notes", "provenance", "preparation")
    return StoredShapes(shapes.configurations, **{name: getattr(shapes, name) for name in parts})


def join_blocks(blocks: Sequence[ShapeSet]) -> ShapeSet:
    """Return neighboring blocks of one set as one; unlike those of different sets, their time series go on."""
    if len(blocks) == 1:
        return blocks[0]
    joined = ShapeSet.concatenate(blocks)
    series = [block.sequence for block in blocks if block.sequence is not None]
    return joined.replace(sequence=np.concatenate(series)) if series else joined


@dataclass(frozen=True, eq=False, repr=False)
class StoredShapes:
    """A set of shapes in a file: configurations with their space and columns, read when they are asked for.

    A slice of it is a :class:`~shapelex.ShapeSet`. :meth:`ShapeDictionary.fit <shapelex.ShapeDictionary.fit>` and all
    that takes memory maps and Zarr arrays takes such sets, and reads them block by block.

    Parameters
    ----------
    configurations : memory map, Zarr array or other array, complex (n_shapes, n_coordinates) or real (…, 2)
        The shapes.
    space : Space
        What their coordinates mean.
    ids, labels, sequence : arrays of shape (n_shapes,), optional
        As in :class:`~shapelex.ShapeSet`.
    metadata : mapping of str to such arrays, optional
        Further columns.
    missing : {"error", "allow"}, default "error"
        Whether NaN stands for missing landmarks.
    notes : tuple of str
        What happened to the set on its way.
    provenance : mapping
        Where it comes from.
    preparation : Preparation, optional
        As in :class:`~shapelex.ShapeSet`; None stands for plain arrays, which are not checked.
    name : str, default "the file"
        What messages call it.
    """

    configurations: Any
    space: Space
    ids: Any = None
    labels: Any = None
    sequence: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    missing: str = "error"
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    preparation: Preparation | None = field(default_factory=Preparation)
    name: str = "the file"

    def __post_init__(self) -> None:
        n_shapes = int(self.configurations.shape[0])
        if n_shapes == 0:
            raise EmptySetError("it holds no shape")
        for name, column in self._columns().items():
            if tuple(column.shape) != (n_shapes,):
                raise ValueError(
                    f"its column {name!r} has shape {tuple(column.shape)}, but there are {n_shapes} shapes"
                )
        width = self.rows.shape[1]
        if width != self.space.n_coordinates:
            raise ValueError(f"it has {width} coordinates a shape, but is said to be in {self.space!r}")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of shapes, and of coordinates of each."""
        return int(self.configurations.shape[0]), self.space.n_coordinates

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the shapes."""
        return self.rows.dtype

    @property
    def closed(self) -> bool:
        """Whether the last point of a shape joins its first."""
        return self.space.closed

    @cached_property
    def columns(self) -> dict[str, np.dtype[Any]]:
        """Types of ``ids``, of ``labels`` and ``sequence`` where there are some, and of metadata (METADATA + name)."""
        columns = {"ids": np.dtype(f"U{len(str(len(self) - 1))}")}
        for name, column in self._columns().items():
            is_text = name in ("ids", "labels") or column.dtype.kind not in "biufc"
            columns[name] = self._text_dtype(name) if is_text else column.dtype
        return columns

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"StoredShapes({len(self)} shapes, space={self.space!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.rows[:], dtype=dtype) if copy is not False else np.asarray(self.rows[:], dtype=dtype)

    def __getitem__(self, stretch: slice) -> ShapeSet:
        if not isinstance(stretch, slice):
            raise TypeError(f"A stored set is cut by a slice, got {stretch!r}; [:] reads it whole.")
        start, stop, step = stretch.indices(len(self))
        if step != 1:
            raise TypeError("A stored set is cut by a slice of neighboring rows.")
        if stop <= start:
            raise EmptySetError(f"The slice {start}:{stop} of {len(self)} shapes holds none.")
        part = slice(start, stop)
        rows = self.rows[part]
        is_infinite = np.isinf(rows).any(axis=1)
        if is_infinite.any():
            first = start + int(np.argmax(is_infinite))
            raise NonFiniteError(
                f"Shape {first} of {self.name} has infinite coordinates: only NaN stands for a missing landmark."
            )
        return ShapeSet(
            rows,
            self.space,
            ids=np.arange(start, stop) if self.ids is None else _as_text(self._cut("ids", part)),
            labels=None if self.labels is None else _as_text(self._cut("labels", part)),
            sequence=None if self.sequence is None else self._cut("sequence", part),
            metadata={name: _as_plain(self._cut(METADATA + name, part)) for name in self.metadata},
            missing=self.missing,
            notes=self.notes,
            provenance=self.provenance,
            preparation=self.preparation,
        )

    def blocks(self, n_rows: int | None = None) -> Iterator[ShapeSet]:
        """Go through the set in order.

        Parameters
        ----------
        n_rows : int, optional
            Shapes of a block; where the file is in chunks, those of a chunk by default.

        Yields
        ------
        ShapeSet
            The next shapes.
        """
        packed = chunk_rows(self.configurations) or 1
        usual = packed * max(1, BLOCK_ROWS // packed)
        step = usual if n_rows is None else check_count(n_rows, 1, "n_rows")
        for start in range(0, len(self), step):
            yield self[start : start + step]

    @cached_property
    def rows(self) -> Shapes:
        """The configurations alone, to be read stretch by stretch."""
        return as_shapes(self.configurations, self.space, name=self.name)

    def _cut(self, name: str, rows: slice) -> np.ndarray[Any, Any]:
        """Return a stretch of a column."""
        if name not in self._readers:
            column = self._columns()[name]
            self._readers[name] = (
                ChunkReader(column, self.name).read if chunk_rows(column) else _slicer(column, self.name)
            )
        return self._readers[name](rows.start, rows.stop)

    @cached_property
    def _readers(self) -> dict[str, Callable[[int, int], np.ndarray[Any, Any]]]:
        return {}

    def _text_dtype(self, name: str) -> np.dtype[Any]:
        """Return a type that is wide enough for all texts of a column."""
        column = self._columns()[name]
        if column.dtype.kind == "U":
            known: np.dtype[Any] = column.dtype
            return known
        widest = 1
        for start in range(0, len(self), BLOCK_ROWS):
            texts = _as_text(self._cut(name, slice(start, min(start + BLOCK_ROWS, len(self)))))
            widest = max(widest, texts.dtype.itemsize // 4)
        return np.dtype(f"U{widest}")

    def _columns(self) -> dict[str, Any]:
        named = {"ids": self.ids, "labels": self.labels, "sequence": self.sequence}
        return {
            **{name: column for name, column in named.items() if column is not None},
            **{METADATA + name: column for name, column in self.metadata.items()},
        }


def thin_out(stored: StoredShapes, n_most: int) -> ShapeSet:
    """Return a set in memory of at most so many shapes, spread evenly over a stored one."""
    step = -(-len(stored) // n_most)
    blocks, start = [], 0
    for block in stored.blocks():
        first = -start % step
        if first < len(block):
            blocks.append(block[first::step])
        start += len(block)
    return join_blocks(blocks)


def _as_text(column: Any) -> np.ndarray[Any, Any]:
    values = np.asarray(column)
    return values if values.dtype.kind == "U" else np.array([str(value) for value in values.tolist()], dtype=np.str_)


def _as_plain(column: Any) -> np.ndarray[Any, Any]:
    """Return a column with text as arrays have it: Zarr has a type of its own for it."""
    values = np.asarray(column)
    return _as_text(values) if values.dtype.kind in "TO" else values


def _slicer(column: Any, name: str) -> Callable[[int, int], np.ndarray[Any, Any]]:
    def read(start: int, stop: int) -> np.ndarray[Any, Any]:
        part = np.asarray(column[start:stop])
        if not are_characters(part):
            raise ShapeFileError(
                f"{name} is damaged in rows {start} to {stop - 1}: it has characters that do not exist."
            )
        return part

    return read
