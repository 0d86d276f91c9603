"""Configurations that lie outside memory: mapped and chunked files, and blocks that come one after the other.

In comes whatever can be read piece by piece; out go stretches of complex rows. Nothing is read before it is asked for.
"""

import mmap
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, IntArray
from shapelex._validation import as_complex_rows, as_configurations, as_numeric_array, check_coordinate_count
from shapelex.exceptions import (
    ArrayTypeError,
    CoordinateCountError,
    EmptySetError,
    ShapeFileError,
    ShapeInputError,
    ShapelexError,
    reason_of,
)
from shapelex.spaces.base import Space, choose_space
from shapelex.spaces.landmarks import Landmarks

# Rows of a chunked file that are unpacked together, at least, and the most bytes of them that are kept.
_UNPACKED_ROWS = 1 << 12
_KEPT_BYTES = 1 << 28


class StoredConfigurations(ABC):
    """A set of configurations that is read stretch by stretch: ``stored[start:stop]``.

    Attributes
    ----------
    shape : tuple of int
        Number of shapes, and of coordinates of each.
    dtype : dtype of complex
        Precision of all rows.
    can_gather : bool
        Whether single rows cost no more than their share of all rows.
    stretch_rows : int
        Number of consecutive rows, from a multiple of it on, that cost no more than one of them.
    is_sequential : bool
        Whether a row can only be read after all rows before it.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    can_gather = False
    stretch_rows = 1
    is_sequential = False

    def __init__(self, name: str) -> None:
        self._name = name

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, stretch: slice) -> ComplexArray:
        start, stop, _ = stretch.indices(len(self))
        rows = as_complex_rows(self._read(start, stop), name=self._name, n_coordinates=self.shape[1])
        converted: ComplexArray = rows.astype(self.dtype, copy=False)
        return converted

    def gather(self, rows: IntArray) -> ComplexArray:
        """Rows by number; cheap for sets that ``can_gather``.

        Parameters
        ----------
        rows : ndarray of int
            Which.

        Returns
        -------
        ndarray of complex, shape (len(rows), n_coordinates)
            Copies of them, not checked.
        """
        return np.concatenate([self[int(row) : int(row) + 1] for row in rows])

    @abstractmethod
    def _read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return rows as they are stored, complex (K, N) or real (K, N, 2)."""


class ChunkReader:
    """Entries of a chunked file along its first axis; the last chunks that were unpacked are kept for what comes next.

    Parameters
    ----------
    array : Zarr array, HDF5 dataset or the like
        The file's array.
    name : str
        What to call it in errors.
    """

    def __init__(self, array: Any, name: str) -> None:
        self._array, self._name = array, name
        rows = chunk_rows(array)
        # Tiny chunks are unpacked many at a time.
        self.rows = rows * -(-_UNPACKED_ROWS // rows)
        n_bytes = self.rows * array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=object))
        self._keeps = n_bytes <= _KEPT_BYTES
        self._kept: tuple[int, np.ndarray[Any, Any]] | None = None

    def read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return a stretch.

        Parameters
        ----------
        start, stop : int
            First entry, and the one after the last.

        Returns
        -------
        ndarray
            The entries.

        Raises
        ------
        ShapeFileError
            If a chunk is damaged.
        """
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

    def _unpack(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        try:
            return np.asarray(self._array[start:stop])
        except (MemoryError, ShapelexError):
            raise
        # Damaged chunks raise whatever their codec does.
        except Exception as error:
            message = f"{self._name} is damaged in rows {start} to {stop - 1}: {reason_of(error)}."
            raise ShapeFileError(message) from error


class _StoredArray(StoredConfigurations):
    """An array on disk that gives NumPy arrays when sliced: a memory map, a Zarr array, an HDF5 dataset."""

    def __init__(self, array: Any, name: str) -> None:
        super().__init__(name)
        self._array = array
        if array.shape[:1] == (0,):
            raise EmptySetError(f"{name} holds no shape: its shape is {array.shape}; give at least one.")
        first = _first_row(array, name)
        self.shape, self.dtype = (int(array.shape[0]), first.shape[1]), first.dtype
        self.can_gather = isinstance(array, np.ndarray)
        self._chunks = ChunkReader(array, name) if chunk_rows(array) else None
        self.stretch_rows = 1 if self._chunks is None else self._chunks.rows

    def gather(self, rows: IntArray) -> ComplexArray:
        return as_complex_rows(self._array[rows], name=self._name)

    def _read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        if self._chunks is not None:
            return self._chunks.read(start, stop)
        block = np.asarray(self._array[start:stop])
        # A block of a mapped file must be an array in memory, and not another mapped one.
        return block.copy() if _is_mapped(block) else block


class _StoredBlocks(StoredConfigurations):
    """A list of arrays, each of them some of the rows."""

    def __init__(self, blocks: list[Any], name: str) -> None:
        super().__init__(name)
        self._blocks = [_as_block(block, f"{name}[{number}]") for number, block in enumerate(blocks) if len(block)]
        if not self._blocks:
            raise EmptySetError(f"{name} holds {len(blocks)} empty blocks: give at least one shape.")
        firsts = [as_complex_rows(block[:1], name=name) for block in self._blocks]
        for number, first in enumerate(firsts):
            _check_width(first.shape[1], firsts[0].shape[1], f"{name}[{number}]")
        self._starts = np.cumsum([0, *(len(block) for block in self._blocks)]).tolist()
        self.shape = (int(self._starts[-1]), firsts[0].shape[1])
        self.dtype = np.result_type(*firsts)

    def _read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        number = bisect_right(self._starts, start) - 1
        parts = []
        while start < stop:
            end = min(stop, self._starts[number + 1])
            first = self._starts[number]
            parts.append(as_complex_rows(self._blocks[number][start - first : end - first], name=self._name))
            start, number = end, number + 1
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _StoredStream(StoredConfigurations):
    """Blocks that can only be had in order, from the first one on, any number of times."""

    is_sequential = True

    def __init__(self, start_over: Callable[[], Iterator[Any]], name: str) -> None:
        super().__init__(name)
        self._start_over = start_over
        sizes: list[int] = []
        dtypes: set[np.dtype[Any]] = set()
        width = 0
        for rows in self._all_blocks():
            width = width or rows.shape[1]
            _check_width(rows.shape[1], width, f"block {len(sizes)} of {name}")
            sizes.append(len(rows))
            dtypes.add(rows.dtype)
        if not sizes:
            raise EmptySetError(f"{name} gives no block: give at least one shape.")
        self.shape, self.dtype = (sum(sizes), width), np.result_type(*dtypes)
        self._rewind()

    def _all_blocks(self) -> Iterator[ComplexArray]:
        for number, block in enumerate(self._start_over()):
            array = as_numeric_array(block, f"block {number} of {self._name}")
            if len(array):
                yield as_complex_rows(array, name=f"block {number} of {self._name}")

    def _rewind(self) -> None:
        self._iterator = self._all_blocks()
        self._first, self._block = 0, np.empty((0, self.shape[1]), dtype=self.dtype)

    def _read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        if start < self._first:
            self._rewind()
        parts = []
        while start < stop:
            while start >= self._first + len(self._block):
                self._first += len(self._block)
                block = next(self._iterator, None)
                if block is None:
                    raise ShapeInputError(
                        f"{self._name} gave {len(self)} shapes at first, but only {self._first} later: it must give "
                        "the same blocks every time."
                    )
                self._block = block
            part = self._block[start - self._first : stop - self._first]
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def open_stored(X: Any, name: str = "X") -> StoredConfigurations | None:
    """Configurations that are better read piece by piece.

    Parameters
    ----------
    X : object
        Memory maps, Zarr arrays, HDF5 datasets; lists of arrays that each hold some of the shapes; functions that
        return an iterator of such arrays, and objects that can be iterated over them again and again. A set of shapes
        is what its configurations are.
    name : str
        What to call it in errors.

    Returns
    -------
    StoredConfigurations or None
        None for everything else: ordinary arrays in memory.

    Raises
    ------
    ArrayTypeError
        For a generator or another iterator: it gives its blocks once, and learning needs them again and again.
    EmptySetError
        If there is no shape.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = [np.ones((2, 3), dtype=complex), np.zeros((1, 3), dtype=complex)]
    >>> stored = open_stored(blocks)
    >>> stored.shape, stored[1:3].real.tolist()
    ((3, 3), [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    """
    if isinstance(getattr(X, "space", None), Space):
        X = getattr(X, "configurations", X)
    if isinstance(X, StoredConfigurations):
        return X
    # A single shape, or no shape at all, is for the checks of ordinary arrays.
    if (isinstance(X, np.ndarray) or _is_chunked_array(X)) and len(X.shape) < 2:
        return None
    if isinstance(X, np.ndarray):
        return _StoredArray(X, name) if _is_mapped(X) else None
    if _is_chunked_array(X):
        return _StoredArray(X, name)
    if isinstance(X, list | tuple):
        return _StoredBlocks(list(X), name) if X and all(map(_is_block, X)) else None
    if hasattr(X, "__array__") or hasattr(X, "__array_interface__") or isinstance(X, str | bytes | dict | set):
        return None
    if isinstance(X, Iterator):
        raise ArrayTypeError(
            f"{name} is a {type(X).__name__}, which gives its blocks only once, but they are needed again and again: "
            f"give the function that makes it, an object with an __iter__ that starts anew, or a list of arrays."
        )
    if callable(X) and not isinstance(X, type):
        return _StoredStream(lambda: iter(X()), name)
    if hasattr(X, "__iter__") and not hasattr(X, "__len__"):
        return _StoredStream(lambda: iter(X), name)
    if hasattr(X, "__iter__") and _is_block(next(iter(X), None)):
        return _StoredStream(lambda: iter(X), name)
    return None


def open_configurations(
    X: ArrayLike, space: Space | None = None, name: str = "X"
) -> tuple[ComplexArray | StoredConfigurations, Space]:
    """Return configurations, not read yet where they lie outside memory, and their space.

    The space is `space`, or that of the set `X` when none is given, or landmarks. A set in another space is refused.
    """
    stored = open_stored(X, name)
    chosen = choose_space(space, X)
    configurations = as_configurations(X, name=name)[0] if stored is None else stored
    if chosen is None:
        return configurations, Landmarks(configurations.shape[1])
    chosen.check_space_of(X, name)
    check_coordinate_count(configurations.shape[1], chosen.n_coordinates, name)
    return configurations, chosen


def read_configurations(X: ArrayLike, space: Space | None = None, name: str = "X") -> tuple[ComplexArray, Space]:
    """Return configurations in memory, checked to be finite, and their space; as :func:`open_configurations`."""
    configurations, chosen = open_configurations(X, space, name)
    if isinstance(configurations, StoredConfigurations):
        configurations = as_configurations(configurations[:], name=name)[0]
    return configurations, chosen


def _is_chunked_array(X: Any) -> bool:
    return hasattr(X, "chunks") and hasattr(X, "__getitem__") and isinstance(getattr(X, "dtype", None), np.dtype)


def _first_row(array: Any, name: str) -> ComplexArray:
    """Return the first row as configurations; errors tell the shape of the whole array."""
    first = np.asarray(array[:1])
    try:
        return as_complex_rows(first, name=name)
    except ShapelexError:
        if first.size:
            as_complex_rows(np.broadcast_to(first, array.shape), name=name)
        raise


def chunk_rows(array: Any) -> int:
    """Return how many rows a file packs together, which are then unpacked together; 0 where it does not."""
    chunks = getattr(array, "chunks", None)
    # The chunks of a Dask array are a list of sizes.
    return int(chunks[0]) if chunks and isinstance(chunks[0], int | np.integer) else 0


def _is_block(block: Any) -> bool:
    """Tell arrays that hold several shapes from rows or shapes of one array."""
    if not isinstance(block, np.ndarray) and not _is_chunked_array(block):
        return False
    return len(block.shape) == (2 if block.dtype.kind == "c" else 3)


def _as_block(block: Any, name: str) -> Any:
    stored = open_stored(block, name)
    return as_numeric_array(block, name) if stored is None else stored


def _check_width(width: int, expected: int, name: str) -> None:
    if width != expected:
        raise CoordinateCountError(
            f"{name} has {width} coordinates per shape, but the first block has {expected}: all blocks need the same."
        )


def _is_mapped(array: Any) -> bool:
    """Tell whether the numbers of an array lie in a mapped file."""
    owner = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)
