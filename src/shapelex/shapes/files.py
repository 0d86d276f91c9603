"""Read arrays on disk stretch by stretch: memory maps, Zarr arrays and HDF5 datasets."""

import mmap
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from shapelex._typing import IntArray
from shapelex.exceptions import ShapeFileError, ShapelexError, reason_of

# Shapes of a block of a collection that is not in memory. It fixes the order of sums, and with it their rounding.
BLOCK_ROWS = 8192

# Rows of a chunked file that are unpacked together, at least, and the maximum number of bytes of them that is kept.
_UNPACKED_ROWS = 1 << 12
_KEPT_BYTES = 1 << 28


class StoredRows(ABC):
    """Rows that are read when they are asked for, by a slice or by their numbers."""

    shape: tuple[int, ...]

    @abstractmethod
    def read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return rows `start` to `stop` in memory; the same every time."""

    def take(self, indices: IntArray) -> np.ndarray[Any, Any]:
        """Return copies of rows by number, in ascending order; no block is read twice."""
        parts = [self.read(0, 0)]
        for chosen in np.split(indices, np.flatnonzero(np.diff(indices // BLOCK_ROWS)) + 1):
            if len(chosen):
                start = int(chosen[0]) // BLOCK_ROWS * BLOCK_ROWS
                parts.append(self.read(start, min(start + BLOCK_ROWS, len(self)))[chosen - start])
        return np.concatenate(parts)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: "slice | IntArray") -> np.ndarray[Any, Any]:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self.read(start, max(start, stop))
            rows = np.arange(start, stop, step)
        if (np.diff(rows) > 0).all():
            return self.take(rows)
        ascending, places = np.unique(rows, return_inverse=True)
        return self.take(ascending)[places]


class FileArray(StoredRows):
    """An array on disk, read along its first axis; the last chunks that were unpacked are kept.

    `name` is for error messages. Entries are read as a `dtype` where one is given; text of any type is read as NumPy's.
    """

    def __init__(self, array: Any, name: str, dtype: Any = None) -> None:
        self.array, self.name, self.shape = array, name, tuple(array.shape)
        self.is_text = dtype is np.str_ or array.dtype.kind in "OST"
        self._type: np.dtype[Any] = np.dtype(array.dtype if dtype is None or self.is_text else dtype)
        rows = chunk_rows(array)
        # Tiny chunks are unpacked many at a time.
        self.rows = rows * -(-_UNPACKED_ROWS // rows) if rows else 0
        n_bytes = self.rows * array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=object))
        self._keeps = 0 < n_bytes <= _KEPT_BYTES
        self._kept: tuple[int, np.ndarray[Any, Any]] | None = None

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Type that holds all entries; for text without a length this reads the array once, block by block."""
        if self._type.kind == "U" or not self.is_text:
            return self._type
        blocks = (self[start : start + BLOCK_ROWS] for start in range(0, self.shape[0], BLOCK_ROWS))
        return np.dtype(f"U{max(1, *(block.dtype.itemsize // 4 for block in blocks))}")

    def read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return entries `start` to `stop` in memory; a damaged file raises ShapeFileError."""
        if self._keeps:
            values = read_pieces(self._chunk_of, start, stop, self._unpack(start, start))
        else:
            values = self._unpack(start, stop)
        if self.is_text and values.dtype.kind != "U":
            return np.array([str(value) for value in values.tolist()], dtype=np.str_)
        return values.astype(self._type, copy=False)

    def forget(self) -> None:
        """Free the memory of the chunks that were kept."""
        self._kept = None

    def _chunk_of(self, row: int) -> tuple[int, np.ndarray[Any, Any]]:
        first = row // self.rows * self.rows
        if self._kept is None or self._kept[0] != first:
            self._kept = None
            self._kept = first, self._unpack(first, min(first + self.rows, self.shape[0]))
        return self._kept

    def _unpack(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        where = f"{self.name} is damaged in rows {start} to {stop - 1}"
        try:
            part = np.asarray(self.array[start:stop])
        except (MemoryError, ShapelexError):
            raise
        # Each codec raises its own errors for damaged chunks.
        except Exception as error:
            raise ShapeFileError(f"{where}: {reason_of(error)}.") from error
        if not are_characters(part):
            raise ShapeFileError(f"{where}: it has characters that do not exist.")
        # A block of a mapped file must be an array in memory, and not another mapped one.
        return part.copy() if is_mapped(part) else part


def read_pieces(
    piece_of: Callable[[int], tuple[int, Any]], start: int, stop: int, empty: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return rows `start` to `stop` of what is in pieces.

    `piece_of` gives the first row of the piece that a row is in, and this piece; `empty` is one without rows.
    """
    parts = [empty]
    while start < stop:
        first, piece = piece_of(start)
        parts.append(piece[start - first : stop - first])
        start += len(parts[-1])
    return np.concatenate(parts)


def chunk_rows(array: Any) -> int:
    """Return the number of rows per chunk of a file; 0 where it has no chunks."""
    chunks = getattr(array, "chunks", None)
    # The chunks of a Dask array are a list of sizes.
    return int(chunks[0]) if chunks and isinstance(chunks[0], int | np.integer) else 0


def is_mapped(array: Any) -> bool:
    """Return whether an array is in a mapped file."""
    owner = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)


def is_chunked(X: Any) -> bool:
    """Return whether this is an array in chunks, such as those of Zarr, HDF5 and Dask."""
    return hasattr(X, "chunks") and hasattr(X, "__getitem__") and isinstance(getattr(X, "dtype", None), np.dtype)


def are_characters(column: np.ndarray[Any, Any]) -> bool:
    """Tell whether text has only characters that exist: NumPy keeps the numbers of others as they are."""
    if column.dtype.kind != "U" or not column.size or not column.dtype.itemsize:
        return True
    numbers = np.ascontiguousarray(column).view(np.dtype(np.uint32).newbyteorder(column.dtype.byteorder))
    return bool(numbers.max() <= sys.maxunicode)
