"""Read arrays on disk stretch by stretch: memory maps, Zarr arrays and HDF5 datasets."""

import mmap
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from shapelex._typing import IntArray
from shapelex.exceptions import ShapeFileError, ShapelexError, reason_of

BLOCK_ROWS = 8192
"""Shapes of a block of a collection that is not in memory. It fixes the order of sums, and with it their rounding."""

# Rows of a chunked file that are unpacked together, at least, and the maximum number of bytes of them that is kept.
_UNPACKED_ROWS = 1 << 12
_KEPT_BYTES = 1 << 28


class FileArray:
    """An array on disk, read along its first axis; the last chunks that were unpacked are kept."""

    def __init__(self, array: Any, name: str) -> None:
        self.array, self.name = array, name
        rows = chunk_rows(array)
        # Tiny chunks are unpacked many at a time.
        self.rows = rows * -(-_UNPACKED_ROWS // rows) if rows else 0
        n_bytes = self.rows * array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=object))
        self._keeps = 0 < n_bytes <= _KEPT_BYTES
        self._kept: tuple[int, np.ndarray[Any, Any]] | None = None

    def read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return entries `start` to `stop` in memory; a damaged file raises ShapeFileError."""
        if not self._keeps:
            return self._unpack(start, stop)
        parts = []
        while start < stop:
            number = start // self.rows
            first = number * self.rows
            if self._kept is None or self._kept[0] != number:
                self._kept = None
                self._kept = number, self._unpack(first, min(first + self.rows, self.array.shape[0]))
            part = self._kept[1][start - first : stop - first]
            parts.append(part)
            start += len(part)
        return np.concatenate(parts) if parts else self._unpack(start, start)

    def forget(self) -> None:
        """Free the memory of the chunks that were kept."""
        self._kept = None

    def _unpack(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        try:
            part = np.asarray(self.array[start:stop])
        except (MemoryError, ShapelexError):
            raise
        # Each codec raises its own errors for damaged chunks.
        except Exception as error:
            message = f"{self.name} is damaged in rows {start} to {stop - 1}: {reason_of(error)}."
            raise ShapeFileError(message) from error
        if not are_characters(part):
            raise ShapeFileError(
                f"{self.name} is damaged in rows {start} to {stop - 1}: it has characters that do not exist."
            )
        # A block of a mapped file must be an array in memory, and not another mapped one.
        return part.copy() if is_mapped(part) else part


def take_from_blocks(
    read: Callable[[int, int], np.ndarray[Any, Any]], indices: IntArray, n_rows: int
) -> np.ndarray[Any, Any]:
    """Return entries by number, in ascending order, through a function that reads stretches; none is read twice."""
    parts = []
    for chosen in np.split(indices, np.flatnonzero(np.diff(indices // BLOCK_ROWS)) + 1):
        start = int(chosen[0]) // BLOCK_ROWS * BLOCK_ROWS if len(chosen) else 0
        stop = min(start + BLOCK_ROWS, n_rows) if len(chosen) else 0
        parts.append(read(start, stop)[chosen - start])
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
