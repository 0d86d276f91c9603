"""Rows of a large HDF5 dataset: in comes the order in which they are wanted, out go blocks of them.

Memory holds a block and the slab of the file that it is read from. Rows that stand together in the file are read at
once, so an order that goes through the file from its start to its end reads it once; one that jumps reads parts of it
again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ComplexArray, IntArray
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.hdf5_points import PointAxes

if TYPE_CHECKING:
    import h5py

# Bytes of a block, as complex numbers.
_BLOCK_BYTES = 1 << 24
# A block grows to whole chunks, which are unpacked as a whole, up to so many times its size.
_MOST_GROWTH = 16


@dataclass(frozen=True)
class DatasetRows:
    """Shapes of a dataset that are read when they are asked for.

    Parameters
    ----------
    found : h5py.Dataset
        The dataset, whose file stays open.
    axes : PointAxes
        What its axes are.
    source : str
        File and name, for messages.
    """

    found: "h5py.Dataset"
    axes: PointAxes
    source: str

    def __len__(self) -> int:
        return int(self.found.shape[self.axes.shape_axis])

    @property
    def n_block(self) -> int:
        """Rows of a block."""
        n_bytes = 16 * max(1, self.found.size // max(1, len(self)))
        n_rows = max(1, _BLOCK_BYTES // n_bytes)
        n_chunk = self.found.chunks[self.axes.shape_axis] if self.found.chunks else 1
        n_whole = -(-n_rows // n_chunk) * n_chunk
        return int(n_whole if n_whole * n_bytes <= _MOST_GROWTH * _BLOCK_BYTES else n_rows)

    def times_read(self, order: IntArray) -> float:
        """Return how many times the dataset would be read, over all blocks of an order."""
        if not len(order):
            return 1.0
        starts = np.arange(0, len(order), self.n_block)
        spans = np.maximum.reduceat(order, starts) - np.minimum.reduceat(order, starts) + 1
        return float(spans.sum() / len(self))

    def blocks(self, order: IntArray) -> Iterator[tuple[IntArray, ComplexArray]]:
        """Yield the numbers and points of rows, in the order given."""
        for start in range(0, len(order), self.n_block):
            rows = order[start : start + self.n_block]
            try:
                points = self._take(rows)
            except Exception as error:  # h5py raises nearly anything on damaged bytes
                raise ShapeFileError(f"{self.source} cannot be read: {error}.") from error
            yield rows, points

    def _take(self, rows: IntArray) -> ComplexArray:
        by_place = np.argsort(rows, kind="stable")
        places = rows[by_place]
        points: ComplexArray | None = None
        start = 0
        while start < len(places):
            first = int(places[start])
            end = int(np.searchsorted(places, first + self.n_block))
            slab = self._slab(first, int(places[end - 1]) + 1)
            if points is None:
                if end == len(rows) == len(slab) and bool((by_place[1:] > by_place[:-1]).all()):
                    return slab
                points = np.empty((len(rows), slab.shape[1]), dtype=slab.dtype)
            points[by_place[start:end]] = slab[places[start:end] - first]
            start = end
        return np.empty((0, 0), dtype=np.complex128) if points is None else points

    def _slab(self, first: int, last: int) -> ComplexArray:
        where = [slice(None)] * self.found.ndim
        where[self.axes.shape_axis] = slice(first, last)
        return self.axes.as_rows(np.asarray(self.found[tuple(where)]))
