"""Store configurations in memory, in files, in lists, in streams and in tensors, and read them in blocks."""

import hashlib
import mmap
import sys
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shapelex._arrays import to_numpy
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import as_complex_rows, as_numeric_array, check_coordinate_count, check_number_type, layout_of
from shapelex.exceptions import EmptySetError, ShapeFileError, ShapeInputError, ShapelexError, reason_of
from shapelex.spaces import Landmarks, Space

if TYPE_CHECKING:
    from torch import Tensor

Result = TypeVar("Result")

# Shapes of a block of a collection that is not in memory. It fixes the order of sums, and with it their rounding.
BLOCK_ROWS = 8192

# Rows of a chunked file that are unpacked together, at least, and the maximum number of bytes of them that is kept.
_UNPACKED_ROWS = 1 << 12
_KEPT_BYTES = 1 << 28

# Function that makes other configurations of the same space of some; name and first row are for error messages.
Change = Callable[[ComplexArray, str, int], ComplexArray]


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


@dataclass(frozen=True)
class Block:
    """Consecutive shapes of a collection.

    `scales` are those of :meth:`~shapelex.spaces.base.Space.scaled_parts` where they are known; the configurations are
    then those of the same method. `name` and `first_row` are for error messages.
    """

    start: int
    configurations: ComplexArray
    weights: FloatArray
    scales: FloatArray | None
    name: str
    first_row: int

    def __len__(self) -> int:
        return len(self.configurations)


class Shapes(StoredRows):
    """Configurations of one space with their weights, as they were given: neither centered nor scaled.

    `weights` is None where all are 1, `scales` where they are not known, `first_row` is the number of the first shape
    in error messages, and `kept` holds data that a backend keeps between two passes, such as tensors on a device.
    """

    # Number of consecutive shapes, from a multiple of it on, that cost no more to read than one of them.
    stretch_rows = 1
    # Whether a shape can only be read after all shapes before it.
    is_sequential = False
    # Whether the configurations are one array of NumPy.
    is_in_memory = False
    # Whether passes are made by other processes.
    is_remote = False
    # Whether NaN stands for missing landmarks; else it is an error.
    allows_missing = False

    shape: tuple[int, int]

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any], space: Space | None, name: str) -> None:
        self.shape, self.dtype, self.name = shape, dtype, name
        self.space = Landmarks(shape[1]) if space is None else space
        check_coordinate_count(shape[1], self.space.n_coordinates, name)
        self.weights: FloatArray | None = None
        self.scales: FloatArray | None = None
        self.first_row = 0
        self.kept: dict[Any, Any] = {}

    @property
    def empty(self) -> ComplexArray:
        """Configurations of no shape."""
        return np.empty((0, self.shape[1]), dtype=self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.read(0, len(self)), dtype=dtype)

    def blocks(self, n_rows: int | None = None) -> Iterator[Block]:
        """Yield all shapes in order, `n_rows` at a time; by default those in memory are one block."""
        step = n_rows or (max(len(self), 1) if self.is_in_memory else BLOCK_ROWS)
        for start in range(0, max(len(self), 1), step):
            stop = min(start + step, len(self))
            rows, first_row = slice(start, stop), self.first_row + start
            scales = None if self.scales is None else self.scales[rows]
            yield Block(start, self.read(start, stop), self.weights_of(rows), scales, self.name, first_row)

    def check_all(self) -> None:
        """Refuse rows that are not shapes by their numbers in the collection, once an error was found in some of it."""
        for block in self.blocks(BLOCK_ROWS):
            self.space.whitened_preshapes(block.configurations, self.name, self.first_row + block.start)

    def weights_of(self, rows: "slice | IntArray") -> FloatArray:
        """Return the weights of some shapes."""
        if self.weights is not None:
            return self.weights[rows]
        return np.ones(len(range(*rows.indices(len(self)))) if isinstance(rows, slice) else len(rows))

    def in_space(self, space: Space) -> "Shapes":
        """Return the same configurations as shapes of another space."""
        check_coordinate_count(self.shape[1], space.n_coordinates, self.name)
        other = copy(self)
        other.space, other.kept, other.scales = space, {}, None
        return other

    def changed(self, change: Change) -> "Shapes":
        """Return the shapes that a function makes of these, computed when they are read."""
        return ChangedShapes(self, change)

    def stretches(self) -> list[int]:
        """Return the bounds of stretches that are best read as a whole: first shapes, and the number of shapes."""
        n_rows = self.stretch_rows * -(-BLOCK_ROWS // self.stretch_rows)
        return [*range(0, len(self), n_rows), len(self)]

    def map(self, work: "Callable[[Shapes], Any]") -> list[Any]:
        """Return the result of a function of each part of the collection; remote parts give results to be computed."""
        return [work(self)]

    def reduce(self, sum_part: "Callable[[Shapes], Result]", merge: Callable[[list[Result]], Result]) -> Result:
        """Apply a function to all parts of the collection and merge the results in order; remote parts stay remote."""
        return merge(self.map(sum_part))

    def digest(self) -> str:
        """Return a hash of all configurations, which identifies the collection."""
        parts = self.reduce(_hash_part, lambda digests: [one for part in digests for one in part])
        return parts[0] if len(parts) == 1 else hashlib.blake2b("".join(parts).encode(), digest_size=16).hexdigest()


class ArrayShapes(Shapes):
    """Configurations in memory: one block."""

    is_in_memory = True

    def __init__(
        self,
        configurations: ComplexArray,
        space: Space | None = None,
        weights: FloatArray | None = None,
        name: str = "X",
        scales: FloatArray | None = None,
    ) -> None:
        n_shapes, n_coordinates = configurations.shape
        super().__init__((n_shapes, n_coordinates), configurations.dtype, space, name)
        self.configurations, self.weights, self.scales = configurations, weights, scales

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return a view of some configurations."""
        return self.configurations[start:stop]

    def take(self, indices: IntArray) -> ComplexArray:
        """Return copies of configurations by number."""
        return self.configurations[indices]

    def keep_scales(self) -> None:
        """Compute and keep the scales of all shapes, for the repeated passes of a fit."""
        self.configurations, self.scales = self.space.scaled_parts(self.configurations, self.name, self.first_row)


class ChangedShapes(Shapes):
    """What a function makes of the shapes of another collection, block by block."""

    def __init__(self, source: Shapes, change: Change) -> None:
        super().__init__(source.shape, source.dtype, source.space, source.name)
        self._source, self._change = source, change
        self.weights, self.first_row = source.weights, source.first_row
        self.stretch_rows, self.is_sequential = source.stretch_rows, source.is_sequential

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return changed configurations."""
        return self._change(self._source.read(start, stop), self.name, self.first_row + start)

    def take(self, indices: IntArray) -> ComplexArray:
        """Return changed configurations by number."""
        return self._change(self._source.take(indices), self.name, 0)


class FileShapes(Shapes):
    """Configurations in a file that gives arrays when sliced: a memory map, a Zarr array, an HDF5 dataset."""

    def __init__(self, array: Any, space: Space | None = None, name: str = "X") -> None:
        check_number_type(array.dtype, name)
        n_coordinates, dtype = layout_of(array, name)
        super().__init__((int(array.shape[0]), n_coordinates), dtype, space, name)
        self.file = FileArray(array, name)
        self.stretch_rows = self.file.rows or 1

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return configurations, read now."""
        return as_complex_rows(self.file.read(start, stop), name=self.name) if start < stop else self.empty

    def take(self, indices: IntArray) -> ComplexArray:
        """Return configurations by number; from a memory map only these are read."""
        if isinstance(self.file.array, np.ndarray) and len(indices):
            return as_complex_rows(self.file.array[indices], name=self.name)
        return super().take(indices)


class ListShapes(Shapes):
    """Several collections, one after the other."""

    def __init__(self, parts: list[Shapes], space: Space | None = None, name: str = "X") -> None:
        if not parts:
            raise EmptySetError(f"{name} holds only empty blocks: give at least one shape.")
        for part in parts:
            check_coordinate_count(part.shape[1], parts[0].shape[1], part.name, "first block")
        self._parts, self._last_part = parts, parts[0]
        self._starts = np.cumsum([0, *map(len, parts)]).tolist()
        shape = int(self._starts[-1]), parts[0].shape[1]
        super().__init__(shape, np.result_type(*(part.dtype for part in parts)), space, name)

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return configurations, concatenated where they are in several arrays."""
        return read_pieces(self._part_of, start, stop, self.empty)

    def _part_of(self, row: int) -> tuple[int, Shapes]:
        number = bisect_right(self._starts, row) - 1
        part = self._parts[number]
        # Only the file that was read last keeps chunks in memory.
        if part is not self._last_part and isinstance(self._last_part, FileShapes):
            self._last_part.file.forget()
        self._last_part = part
        return self._starts[number], part

    def stretches(self) -> list[int]:
        """Return the bounds of the stretches of all arrays."""
        pairs = zip(self._starts[:-1], self._parts, strict=True)
        return [*(start + bound for start, part in pairs for bound in part.stretches()[:-1]), len(self)]


class StreamShapes(Shapes):
    """Blocks that can only be read in order from the first one, any number of times."""

    is_sequential = True
    _block: ComplexArray

    def __init__(self, start_over: Callable[[], Iterator[Any]], space: Space | None = None, name: str = "X") -> None:
        self._start_over, self.name = start_over, name
        layouts = [(len(rows), rows.shape[1], rows.dtype) for rows in self._read_blocks()]
        if not layouts:
            raise EmptySetError(f"{name} gives no block: give at least one shape.")
        sizes, widths, dtypes = zip(*layouts, strict=True)
        super().__init__((sum(sizes), widths[0]), np.result_type(*set(dtypes)), space, name)
        self._rewind()

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return configurations; reading earlier shapes than the last ones starts again from the first block."""
        return read_pieces(self._block_of, start, stop, self.empty)

    def _block_of(self, row: int) -> tuple[int, ComplexArray]:
        if row < self._first:
            self._rewind()
        while row >= self._first + len(self._block):
            self._first += len(self._block)
            following = next(self._iterator, None)
            if following is None:
                raise ShapeInputError(
                    f"{self.name} gave {len(self)} shapes, but {self._first} later: it must give the same every time."
                )
            self._block = following
        return self._first, self._block

    def __copy__(self) -> "StreamShapes":
        # Each copy reads the stream by itself.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._rewind()
        return other

    def _read_blocks(self) -> Iterator[ComplexArray]:
        width = 0
        for number, block in enumerate(self._start_over()):
            name = f"block {number} of {self.name}"
            array = as_numeric_array(block, name)
            if len(array):
                rows = as_complex_rows(array, name=name)
                width = width or rows.shape[1]
                check_coordinate_count(rows.shape[1], width, name, "first block")
                yield rows

    def _rewind(self) -> None:
        self._iterator = self._read_blocks()
        self._first = 0
        self._block = self.empty


class TensorShapes(Shapes):
    """Configurations in a torch tensor on a GPU, which passes on the same device read without a copy to the host."""

    def __init__(self, tensor: "Tensor", space: Space | None, name: str) -> None:
        import torch

        # One row has the type of all.
        n_coordinates, dtype = layout_of(to_numpy(tensor[:1]), name)
        rows = tensor.detach()
        if not rows.is_complex():
            rows = rows if rows.dtype in (torch.float32, torch.float64) else rows.to(torch.float64)
            rows = torch.view_as_complex(rows.contiguous())
        self.tensor: Tensor = rows.resolve_conj()
        super().__init__((len(rows), n_coordinates), dtype, space, name)

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return some configurations in the memory of the host."""
        return to_numpy(self.tensor[start:stop]).astype(self.dtype, copy=False)


def _hash_part(part: Shapes) -> list[str]:
    hashed = hashlib.blake2b(digest_size=16)
    for start in range(0, len(part), BLOCK_ROWS):
        hashed.update(np.ascontiguousarray(part[start : start + BLOCK_ROWS]).data)
    return [hashed.hexdigest()]


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
