"""The protocol of all collections of shapes, and shapes in memory.

A collection knows its space and its weights, and yields configurations in blocks, as they were given: neither centered
nor scaled. Every pass over shapes goes through it.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import check_coordinate_count
from shapelex.exceptions import ShapeInputError
from shapelex.spaces import Landmarks, Space

BLOCK_ROWS = 8192
"""Shapes of a block of a collection that is not in memory. It fixes the order of sums, and with it their rounding."""

Result = TypeVar("Result")

Change = Callable[[ComplexArray, str, int], ComplexArray]
"""Function that makes other configurations of the same space of some; name and first row are for error messages."""


@dataclass(frozen=True)
class Block:
    """Consecutive shapes of a collection.

    Parameters
    ----------
    start : int
        Number of the first one, in the collection.
    configurations : ndarray of complex, shape (n_rows, n_coordinates)
        As they were given; not checked to be finite.
    weights : ndarray of float, shape (n_rows,)
        Weight of each shape.
    scales : ndarray of float, shape (n_rows,), or None
        Scales of :meth:`~shapelex.spaces.base.Space.scaled_parts`, where they are known; the configurations are then
        those of the same method.
    name : str
        Name of the collection in error messages.
    first_row : int
        Number of the first shape in error messages.
    """

    start: int
    configurations: ComplexArray
    weights: FloatArray
    scales: FloatArray | None
    name: str
    first_row: int

    def __len__(self) -> int:
        return len(self.configurations)


class Shapes(ABC):
    """Configurations of one space, with their weights.

    Attributes
    ----------
    shape : tuple of int
        Number of shapes, and of coordinates of each.
    dtype : dtype of complex
        Precision of all configurations.
    space : Space
        Space of the configurations.
    weights : ndarray of float, shape (n_shapes,), or None
        Weight of each shape; None where all are 1.
    name : str
        Name of the collection in error messages.
    first_row : int
        Number of the first shape in error messages, where this is a part of a larger collection.
    kept : dict
        Data that a backend keeps between two passes, such as tensors on a device.
    """

    stretch_rows = 1
    """Number of consecutive shapes, from a multiple of it on, that cost no more to read than one of them."""
    is_sequential = False
    """Whether a shape can only be read after all shapes before it."""
    is_remote = False
    """Whether passes are made by other processes."""
    allows_missing = False
    """Whether NaN stands for missing landmarks; else it is an error."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any], space: Space | None, name: str) -> None:
        self.shape, self.dtype, self.name = shape, dtype, name
        self.space = Landmarks(shape[1]) if space is None else space
        check_coordinate_count(shape[1], self.space.n_coordinates, name)
        self.weights: FloatArray | None = None
        self.first_row = 0
        self.kept: dict[Any, Any] = {}

    @abstractmethod
    def read(self, start: int, stop: int) -> ComplexArray:
        """Return the configurations of shapes `start` to `stop`; the same numbers every time."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, stretch: slice) -> ComplexArray:
        start, stop, _ = stretch.indices(len(self))
        return self.read(start, stop)

    def blocks(self, n_rows: int | None = None) -> Iterator[Block]:
        """Yield all shapes in order, `n_rows` at a time; the default depends on the collection."""
        step = BLOCK_ROWS if n_rows is None else n_rows
        for start in range(0, len(self), step):
            stop = min(start + step, len(self))
            weights = self.weights_of(slice(start, stop))
            yield Block(start, self.read(start, stop), weights, None, self.name, self.first_row + start)

    def take(self, indices: IntArray) -> ComplexArray:
        """Return copies of configurations by number, in ascending order; no block is read twice."""
        parts = []
        for chosen in np.split(indices, np.flatnonzero(np.diff(indices // BLOCK_ROWS)) + 1):
            start = int(chosen[0]) // BLOCK_ROWS * BLOCK_ROWS
            parts.append(self.read(start, min(start + BLOCK_ROWS, len(self)))[chosen - start])
        return np.concatenate(parts)

    def preshape_rows(self, indices: IntArray) -> ComplexArray:
        """Return the whitened pre-shapes of shapes by number, in ascending order."""
        try:
            return self.space.whitened_preshapes(self.take(indices), self.name)
        except ShapeInputError:
            self.check_all()
            raise

    def check_all(self) -> None:
        """Refuse rows that are no shapes by their numbers in the collection, once an error was found in some of it."""
        for block in self.blocks(BLOCK_ROWS):
            self.space.whitened_preshapes(block.configurations, self.name, self.first_row + block.start)

    def weights_of(self, rows: "slice | IntArray") -> FloatArray:
        """Return the weights of some shapes."""
        if self.weights is not None:
            return self.weights[rows]
        return np.ones(len(range(*rows.indices(len(self)))) if isinstance(rows, slice) else len(rows))

    def in_space(self, space: Space) -> "Shapes":
        """Return the same configurations as shapes of another space."""
        other = copy(self)
        other.space, other.kept = space, {}
        return other

    def changed(self, change: Change) -> "Shapes":
        """Return the shapes that a function makes of these, computed when they are read."""
        return ChangedShapes(self, change)

    def stretches(self) -> list[int]:
        """Return the bounds of stretches that are best read as a whole: first shapes, and the number of shapes."""
        n_rows = self.stretch_rows * -(-BLOCK_ROWS // self.stretch_rows)
        return [*range(0, len(self), n_rows), len(self)]

    @property
    def chunk_sizes(self) -> list[int]:
        """Number of shapes of each part that :meth:`map` works on."""
        return [len(self)]

    def map(self, work: "Callable[[Shapes], Any]") -> list[Any]:
        """Return the result of a function of each part of the collection; remote parts give results to be computed."""
        return [work(self)]

    def reduce(self, sum_part: "Callable[[Shapes], Result]", merge: Callable[[list[Result]], Result]) -> Result:
        """Apply a function to all parts of the collection and merge the results in order; remote parts stay remote."""
        del merge  # there is one part
        return sum_part(self)

    def digest(self) -> str:
        """Return a hash of all configurations, which identifies the collection."""
        parts = self.reduce(_hash_part, lambda digests: [one for part in digests for one in part])
        return parts[0] if len(parts) == 1 else hashlib.blake2b("".join(parts).encode(), digest_size=16).hexdigest()


class ArrayShapes(Shapes):
    """Configurations in memory: one block."""

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
        self.configurations = configurations
        self.weights = weights
        self._parts: tuple[ComplexArray, FloatArray | None] = configurations, scales

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return a view of some configurations."""
        return self.configurations[start:stop]

    def take(self, indices: IntArray) -> ComplexArray:
        """Return copies of configurations by number."""
        return self.configurations[indices]

    def blocks(self, n_rows: int | None = None) -> Iterator[Block]:
        """Yield all shapes in order, with their scales where these are kept; by default they are one block."""
        configurations, scales = self._parts
        step = max(len(self), 1) if n_rows is None else n_rows
        for start in range(0, max(len(self), 1), step):
            rows = slice(start, start + step)
            some_scales, first_row = None if scales is None else scales[rows], self.first_row + start
            yield Block(start, configurations[rows], self.weights_of(rows), some_scales, self.name, first_row)

    def in_space(self, space: Space) -> "Shapes":
        """Return the same configurations as shapes of another space."""
        other = ArrayShapes(self.configurations, space, self.weights, self.name)
        other.first_row = self.first_row
        return other

    def changed(self, change: Change) -> "Shapes":
        """Return the shapes that a function makes of these."""
        rows = change(self.configurations, self.name, self.first_row)
        other = ArrayShapes(rows, self.space, self.weights, self.name)
        other.first_row = self.first_row
        return other

    def keep_scales(self) -> None:
        """Compute and keep the scales of all shapes, for the repeated passes of a fit."""
        self._parts = self.space.scaled_parts(self.configurations, self.name, self.first_row)


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


def _hash_part(part: Shapes) -> list[str]:
    hashed = hashlib.blake2b(digest_size=16)
    for start in range(0, len(part), BLOCK_ROWS):
        hashed.update(np.ascontiguousarray(part[start : start + BLOCK_ROWS]).data)
    return [hashed.hexdigest()]
