"""Shapes that are generated in blocks, in order, any number of times."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import as_complex_rows, as_numeric_array
from shapelex.exceptions import EmptySetError, ShapeInputError
from shapelex.shapes.collection import Shapes
from shapelex.shapes.stored import check_width
from shapelex.spaces import Space


class StreamShapes(Shapes):
    """Blocks that can only be read in order from the first one, any number of times."""

    is_sequential = True

    def __init__(self, start_over: Callable[[], Iterator[Any]], space: Space | None = None, name: str = "X") -> None:
        self._start_over, self.name = start_over, name
        self._block: ComplexArray
        dtypes: set[np.dtype[Any]] = set()
        n_shapes = width = 0
        for number, rows in self._numbered_blocks():
            width = width or rows.shape[1]
            check_width(rows.shape[1], width, f"block {number} of {name}")
            n_shapes += len(rows)
            dtypes.add(rows.dtype)
        if not n_shapes:
            raise EmptySetError(f"{name} gives no block: give at least one shape.")
        super().__init__((n_shapes, width), np.result_type(*dtypes), space, name)
        self._rewind()

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return configurations; reading earlier shapes than the last ones starts again from the first block."""
        if start < self._first:
            self._rewind()
        parts = []
        while start < stop:
            while start >= self._first + len(self._block):
                self._first += len(self._block)
                _, block = next(self._iterator, (0, None))
                if block is None:
                    raise ShapeInputError(
                        f"{self.name} gave {len(self)} shapes at first, but only {self._first} later: it must give "
                        "the same blocks every time."
                    )
                self._block = block
            part = self._block[start - self._first : stop - self._first]
            parts.append(part)
            start += len(part)
        return np.concatenate(parts).astype(self.dtype, copy=False)

    def __copy__(self) -> "StreamShapes":
        # Each copy reads the stream by itself.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._rewind()
        return other

    def _numbered_blocks(self) -> Iterator[tuple[int, ComplexArray]]:
        for number, block in enumerate(self._start_over()):
            array = as_numeric_array(block, f"block {number} of {self.name}")
            if len(array):
                yield number, as_complex_rows(array, name=f"block {number} of {self.name}")

    def _rewind(self) -> None:
        self._iterator = self._numbered_blocks()
        self._first = 0
        self._block = np.empty((0, self.shape[1]), dtype=self.dtype)
