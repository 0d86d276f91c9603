"""Shapes outside memory: mapped files, chunked files, and lists of arrays."""

import mmap
from bisect import bisect_right
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, IntArray
from shapelex._validation import as_complex_rows
from shapelex.exceptions import (
    CoordinateCountError,
    EmptySetError,
    ShapeFileError,
    ShapelexError,
    reason_of,
)
from shapelex.shapes.collection import ArrayShapes, Shapes
from shapelex.spaces import Space

# Rows of a chunked file that are unpacked together, at least, and the maximum number of bytes of them that is kept.
_UNPACKED_ROWS = 1 << 12
_KEPT_BYTES = 1 << 28


class ChunkReader:
    """Reads entries of a chunked array along its first axis; keeps the last chunks that were unpacked."""

    def __init__(self, array: Any, name: str) -> None:
        self._array, self._name = array, name
        rows = chunk_rows(array)
        # Tiny chunks are unpacked many at a time.
        self.rows = rows * -(-_UNPACKED_ROWS // rows)
        n_bytes = self.rows * array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=object))
        self._keeps = n_bytes <= _KEPT_BYTES
        self._kept: tuple[int, np.ndarray[Any, Any]] | None = None

    def read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return entries `start` to `stop`; a damaged chunk raises ShapeFileError."""
        if not self._keeps:
            return self._unpack(start, stop)
        parts = []
        while start < stop:
            number = start // self.rows
            first = number * self.rows
            if self._kept is None or self._kept[0] != number:
                self._kept = None
                self._kept = number, self._unpack(first, min(first + self.rows, self._array.shape[0]))
            part = self._kept[1][start - first : stop - first]
            parts.append(part)
            start += len(part)
        return np.concatenate(parts)

    def forget(self) -> None:
        """Free the memory of the chunks that were kept."""
        self._kept = None

    def _unpack(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        try:
            return np.asarray(self._array[start:stop])
        except (MemoryError, ShapelexError):
            raise
        # Each codec raises its own errors for damaged chunks.
        except Exception as error:
            message = f"{self._name} is damaged in rows {start} to {stop - 1}: {reason_of(error)}."
            raise ShapeFileError(message) from error


class FileShapes(Shapes):
    """An array on disk that gives NumPy arrays when sliced: a memory map, a Zarr array, an HDF5 dataset."""

    def __init__(self, array: Any, space: Space | None = None, name: str = "X") -> None:
        if array.shape[:1] == (0,):
            raise EmptySetError(f"{name} holds no shape: its shape is {array.shape}; give at least one.")
        first = _first_row(array, name)
        super().__init__((int(array.shape[0]), first.shape[1]), first.dtype, space, name)
        self._array = array
        self._chunks = ChunkReader(array, name) if chunk_rows(array) else None
        self.stretch_rows = 1 if self._chunks is None else self._chunks.rows

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return configurations, read now."""
        if self._chunks is not None:
            block = self._chunks.read(start, stop)
        else:
            block = np.asarray(self._array[start:stop])
            # A block of a mapped file must be an array in memory, and not another mapped one.
            block = block.copy() if is_mapped(block) else block
        return as_complex_rows(block, name=self.name)

    def forget(self) -> None:
        """Free the memory of chunks that were kept for the next read."""
        if self._chunks is not None:
            self._chunks.forget()

    def take(self, indices: IntArray) -> ComplexArray:
        """Return configurations by number; from a memory map only these are read."""
        if isinstance(self._array, np.ndarray):
            return as_complex_rows(self._array[indices], name=self.name)
        return super().take(indices)


class ListShapes(Shapes):
    """A list of arrays, each of them some of the shapes."""

    def __init__(self, arrays: list[Any], space: Space | None = None, name: str = "X") -> None:
        # A Zarr array has no length.
        numbered = [(number, array) for number, array in enumerate(arrays) if array.shape[0]]
        if not numbered:
            raise EmptySetError(f"{name} holds {len(arrays)} empty blocks: give at least one shape.")
        self._parts = [_open_part(array, f"{name}[{number}]") for number, array in numbered]
        self._starts = np.cumsum([0, *map(len, self._parts)]).tolist()
        self._last_part = self._parts[0]
        width = self._parts[0].shape[1]
        for part in self._parts:
            check_width(part.shape[1], width, part.name)
        super().__init__(
            (int(self._starts[-1]), width), np.result_type(*(part.dtype for part in self._parts)), space, name
        )

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return configurations, concatenated where they are in several arrays."""
        number = bisect_right(self._starts, start) - 1
        parts = []
        while start < stop:
            end, first, part = min(stop, self._starts[number + 1]), self._starts[number], self._parts[number]
            # Only the file that was read last keeps chunks in memory.
            if part is not self._last_part and isinstance(self._last_part, FileShapes):
                self._last_part.forget()
            self._last_part = part
            parts.append(part.read(start - first, end - first))
            start, number = end, number + 1
        return np.concatenate(parts).astype(self.dtype, copy=False)

    def stretches(self) -> list[int]:
        """Return the bounds of the stretches of all arrays."""
        pairs = zip(self._starts[:-1], self._parts, strict=True)
        return [*(start + bound for start, part in pairs for bound in part.stretches()[:-1]), len(self)]


def _open_part(array: Any, name: str) -> Shapes:
    if isinstance(array, np.ndarray) and not is_mapped(array):
        return ArrayShapes(as_complex_rows(array, name=name), name=name)
    return FileShapes(array, name=name)


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


def check_width(width: int, expected: int, name: str) -> None:
    """Refuse a block whose number of coordinates differs from the first block."""
    if width != expected:
        raise CoordinateCountError(
            f"{name} has {width} coordinates per shape, but the first block has {expected}: all blocks need the same."
        )


def _first_row(array: Any, name: str) -> ComplexArray:
    """Return the first row as a configuration; errors name the shape of the whole array."""
    first = np.asarray(array[:1])
    try:
        return as_complex_rows(first, name=name)
    except ShapelexError:
        if first.size:
            as_complex_rows(np.broadcast_to(first, array.shape), name=name)
        raise
