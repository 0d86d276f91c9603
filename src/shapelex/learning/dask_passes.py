"""Passes over a Dask array: chunks are coded where they are, and a tree of fixed order adds up what they found.

In come chunks and a dictionary; out goes a :class:`~shapelex.learning.passes.Survey`. Only statistics, a few rows and
the dictionary travel.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex.coding.threads import single_blas_thread
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey, SurveySums, sum_blocks
from shapelex.learning.sources import RemoteRows, RowBlocks
from shapelex.spaces import Space
from shapelex.spaces.dask_chunks import Chunks, as_rows

# Sums that one task adds up.
_FAN_IN = 8


@dataclass(frozen=True)
class _Pass:
    """What every chunk needs to know of a pass."""

    space: Space
    atoms: ComplexArray
    options: LearningOptions
    device: str


class DaskRows(RemoteRows):
    """Rows of a Dask array, whitened where they are.

    Parameters
    ----------
    chunks : Chunks
        The shapes.
    space : Space
        Their space.
    sample_weight : array_like of float, shape (n_shapes,), optional
        How much each shape counts.
    device : str, default "cpu"
        Device of the workers that codes the chunks: ``"cpu"``, ``"torch"`` or any torch device.
    """

    def __init__(
        self, chunks: Chunks, space: Space, sample_weight: ArrayLike | None = None, device: str = "cpu"
    ) -> None:
        super().__init__(chunks.starts[-1], space.n_coordinates, sample_weight)
        self._chunks = chunks
        self._space = space
        self._device = device

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return self._chunks.dtype

    def stretches(self) -> list[int]:
        """Return the bounds of the chunks: each is computed as a whole."""
        return self._chunks.starts

    def digest(self) -> str:
        """Return a hash of all shapes as they were given; chunks are hashed where they are."""
        import dask

        hash_chunk = dask.delayed(_hash_chunk, pure=False)
        digests = dask.compute(*(hash_chunk(block) for block in self._chunks.blocks))
        return hashlib.blake2b(b"".join(digests), digest_size=16).hexdigest()

    def survey(self, atoms: ComplexArray, options: LearningOptions) -> Survey:
        """Make a pass where the chunks are."""
        import dask

        shared = dask.delayed(_Pass(self._space, atoms, replace(options, n_threads=1), self._device), traverse=False)
        sum_chunk, merge = dask.delayed(_sum_chunk, pure=False), dask.delayed(_merge, pure=False)
        starts = self._chunks.starts
        level = [
            sum_chunk(block, self._weights_between(start, stop), start, shared)
            for block, start, stop in zip(self._chunks.blocks, starts[:-1], starts[1:], strict=True)
        ]
        while len(level) > 1:
            level = [merge(level[first : first + _FAN_IN]) for first in range(0, len(level), _FAN_IN)]
        (sums,) = dask.compute(level[0])
        found: Survey = sums.finish()
        return found

    def _weights_between(self, start: int, stop: int) -> FloatArray | None:
        return None if self.sample_weight is None else self.sample_weight[start:stop]

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return rows `start` to `stop`, brought here."""
        return self._space.whitened_preshapes(as_rows(self._chunks.array[start:stop].compute()), "X", first_row=start)

    def take(self, indices: IntArray) -> ComplexArray:
        """Return rows by number: only these travel."""
        import dask

        take = dask.delayed(_take, pure=False)
        starts = np.asarray(self._chunks.starts)
        owners = np.searchsorted(starts, indices, side="right") - 1
        parts = [
            take(self._chunks.blocks[owner], indices[owners == owner] - starts[owner], int(starts[owner]), self._space)
            for owner in np.unique(owners)
        ]
        return np.concatenate(dask.compute(*parts))


def _sum_chunk(chunk: Any, weights: FloatArray | None, first_row: int, shared: _Pass) -> SurveySums:
    source = RowBlocks.from_configurations(as_rows(chunk), shared.space, first_row=first_row)
    # Checked as a whole; a chunk may have no weight at all.
    source.sample_weight = weights
    with single_blas_thread():
        if shared.device == "cpu":
            return sum_blocks(source, shared.atoms, shared.options)
        from shapelex.learning.device_passes import DeviceRows

        return DeviceRows(source, shared.device).sum_blocks(shared.atoms, shared.options)


def _hash_chunk(chunk: Any) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(as_rows(chunk)).data, digest_size=16).digest()


def _merge(parts: list[SurveySums]) -> SurveySums:
    # Results of other tasks must stay as they are: Dask may use them again after a worker is lost.
    total = SurveySums(parts[0].atoms, parts[0].options)
    for part in parts:
        total.merge(part)
    return total


def _take(chunk: Any, rows: IntArray, first_row: int, space: Space) -> ComplexArray:
    with single_blas_thread():
        return space.whitened_preshapes(as_rows(chunk), "X", first_row=first_row)[rows]
