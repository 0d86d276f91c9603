"""Dask arrays as collections of shapes, whose chunks are processed by the workers that hold them."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import dask
import dask.array as da
import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import as_complex_rows, check_number_type, layout_of, points_to_complex
from shapelex.exceptions import ArrayTypeError
from shapelex.shapes.storage import ArrayShapes, Change, Result, Shapes
from shapelex.spaces import Space

# Number of results that one task merges.
_FAN_IN = 8


class DaskShapes(Shapes):
    """Chunks of whole shapes of a Dask array."""

    is_remote = True

    def __init__(self, array: Any, space: Space | None = None, name: str = "X") -> None:
        if not isinstance(array, da.Array):
            raise ArrayTypeError(
                f"{name} must be a Dask array of shapes, got {type(array).__name__}: convert a Dask bag or table of "
                "columns by to_dask_array and from_columns on its blocks."
            )
        if np.isnan(array.shape[0]):
            array = array.copy()
            array.compute_chunk_sizes()
        check_number_type(array.dtype, name)
        n_coordinates, dtype = layout_of(array, name)
        array = array[np.newaxis] if array.ndim == 1 else array
        self.array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
        if array.ndim == 3:
            meta = np.empty((0, 0), dtype)
            self.array = self.array.map_blocks(points_to_complex, dtype=dtype, meta=meta, drop_axis=2)
        super().__init__((array.shape[0], n_coordinates), dtype, space, name)
        self._starts = np.cumsum([0, *(size for size in array.chunks[0] if size)])

    @cached_property
    def _chunks(self) -> list[Any]:
        pairs = zip(self.array.to_delayed(optimize_graph=True).ravel(), self.array.chunks[0], strict=True)
        return [chunk for chunk, size in pairs if size]

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return configurations, computed and transferred to this process."""
        return as_complex_rows(self.array[start:stop].compute(), name=self.name)

    def take(self, indices: IntArray) -> ComplexArray:
        """Return configurations by number; only these are transferred."""
        (rows,) = dask.compute(self.array[indices])
        return as_complex_rows(rows, name=self.name)

    def changed(self, change: Change) -> Shapes:
        """Return the shapes that a function makes of these, computed where the chunks are."""
        array = self.array.map_blocks(_change, change, self.name, dtype=self.dtype, meta=self.empty)
        other = DaskShapes(array, self.space, self.name)
        other.weights = self.weights
        return other

    def stretches(self) -> list[int]:
        """Return the bounds of the chunks: each is computed as a whole."""
        return list(map(int, self._starts))

    def map(self, work: Callable[[Shapes], Any]) -> list[Any]:
        """Return, for each chunk, the result of a function of its shapes, not computed."""
        task = dask.delayed(_work_on_chunk, pure=False)
        # Sent once for all chunks.
        shared = dask.delayed((work, self.space, self.name), traverse=False)
        return [
            task(chunk, None if self.weights is None else self.weights[start:stop], int(start), shared)
            for chunk, start, stop in zip(self._chunks, self._starts[:-1], self._starts[1:], strict=True)
        ]

    def reduce(self, sum_part: Callable[[Shapes], Result], merge: Callable[[list[Result]], Result]) -> Result:
        """Apply a function to all chunks and merge the results by a fixed tree; only results are transferred."""
        merge_task = dask.delayed(merge, pure=False)
        level = self.map(sum_part)
        while len(level) > 1:
            level = [merge_task(level[first : first + _FAN_IN]) for first in range(0, len(level), _FAN_IN)]
        result: Result = dask.compute(level[0])[0]
        return result


def _work_on_chunk(chunk: Any, weights: FloatArray | None, start: int, shared: tuple[Any, Space, str]) -> Any:
    work, space, name = shared
    part = ArrayShapes(as_complex_rows(chunk, name=name), space, weights, name)
    part.first_row = start
    with single_blas_thread():
        return work(part)


def _change(chunk: Any, change: Change, name: str, block_info: Any = None) -> ComplexArray:
    with single_blas_thread():
        return change(as_complex_rows(chunk, name=name), name, int(block_info[0]["array-location"][0][0]))
