"""Codes of Dask arrays, chunk by chunk, where the chunks are."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import dask
import dask.array as da
import numpy as np

from shapelex.coding.coders import CodedBlock, Coding, check_nonzero
from shapelex.coding.codes import SparseCodes
from shapelex.coding.encoding import code_all, coded_blocks
from shapelex.shapes.storage import Shapes

# Chunks of codes that are held here, for every thread of the cluster.
_CHUNKS_AHEAD = 2


class DaskCodes:
    """Sparse codes of the chunks of a Dask array.

    Parameters
    ----------
    blocks : sequence of dask.delayed.Delayed
        Codes of each chunk.
    sizes : sequence of int
        Shapes of each chunk.
    n_nonzero, n_atoms : int
        Size of the codes.
    dtype : dtype of complex
        Precision of the weights.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import shapelex as sx
    >>> X = np.random.default_rng(0).normal(size=(60, 6, 2))
    >>> model = sx.ShapeDictionary(n_atoms=3, n_nonzero=2, random_state=0).fit(X)
    >>> codes = model.encode(da.from_array(X, chunks=(20, 6, 2)))
    >>> codes
    DaskCodes(n_samples=60, n_nonzero=2, n_atoms=3, n_chunks=3)
    >>> bool(np.allclose(codes.compute().toarray(), model.encode(X).toarray()))
    True
    """

    def __init__(
        self, blocks: Sequence[Any], sizes: Sequence[int], n_nonzero: int, n_atoms: int, dtype: np.dtype[Any]
    ) -> None:
        self.blocks, self.sizes = list(blocks), list(sizes)
        self.n_nonzero, self.n_atoms, self.dtype = n_nonzero, n_atoms, dtype

    @property
    def support(self) -> Any:
        """Atoms used by each shape, a Dask array of int32 (n_shapes, n_nonzero)."""
        return stack([block.support for block in self.blocks], self.sizes, (self.n_nonzero,), np.dtype(np.int32))

    @property
    def coefs(self) -> Any:
        """Their weights, a Dask array of complex (n_shapes, n_nonzero)."""
        return stack([block.coefs for block in self.blocks], self.sizes, (self.n_nonzero,), self.dtype)

    def toarray(self) -> Any:
        """Weights as a dense matrix.

        Returns
        -------
        dask.array.Array of complex, shape (n_shapes, n_atoms)
            Not computed, in the chunks of the shapes.
        """
        return stack([block.toarray() for block in self.blocks], self.sizes, (self.n_atoms,), self.dtype)

    def compute(self) -> SparseCodes:
        """Compute all codes, and bring them here.

        Returns
        -------
        SparseCodes
            The codes, in memory.
        """
        return SparseCodes.concatenate(dask.compute(*self.blocks))

    def __len__(self) -> int:
        return sum(self.sizes)

    def __repr__(self) -> str:
        return (
            f"DaskCodes(n_samples={len(self)}, n_nonzero={self.n_nonzero}, n_atoms={self.n_atoms}, "
            f"n_chunks={len(self.blocks)})"
        )


def encode_lazily(shapes: Shapes, coding: Coding, dtype: np.dtype[Any]) -> DaskCodes:
    """Return the codes of a Dask array, not computed."""
    blocks = shapes.map(partial(code_all, coding=_on_worker(coding)))
    assert coding.n_nonzero is not None
    return DaskCodes(blocks, np.diff(shapes.stretches()).tolist(), coding.n_nonzero, len(coding.atom_rows), dtype)


def map_rows(shapes: Shapes, work: Callable[..., Any], coding: Coding, dtype: np.dtype[Any]) -> Any:
    """Return ``work(shapes, coding)`` of all chunks, one number per shape, as one Dask array, not computed."""
    parts = shapes.map(partial(work, coding=_on_worker(coding)))
    return stack(parts, np.diff(shapes.stretches()).tolist(), (), dtype)


def coded_chunks(shapes: Shapes, coding: Coding, with_errors: bool) -> Iterator[CodedBlock]:
    """Yield the codes of a Dask array in order; few chunks are computed ahead of the one that is used."""
    chunks = shapes.map(partial(_code_chunk, coding=_on_worker(coding), with_errors=with_errors))
    n_ahead = _CHUNKS_AHEAD * _count_threads()
    start = 0
    for first in range(0, len(chunks), n_ahead):
        for block in chain.from_iterable(dask.compute(*chunks[first : first + n_ahead])):
            yield replace(block, start=start)
            start += len(block.support)


def stack(blocks: Sequence[Any], sizes: Sequence[int], width: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return delayed arrays, one below the other, as one Dask array."""
    pairs = zip(blocks, sizes, strict=True)
    return da.concatenate([da.from_delayed(block, (size, *width), dtype=dtype) for block, size in pairs])


def _on_worker(coding: Coding) -> Coding:
    # Refused here, and not when the codes are computed.
    n_atoms, n_coordinates = coding.atom_rows.shape
    check_nonzero(coding.n_nonzero, n_atoms, n_coordinates, coding.tol)
    # A worker has a thread for each of its tasks.
    return replace(coding, n_threads=1)


def _code_chunk(shapes: Shapes, coding: Coding, with_errors: bool) -> list[CodedBlock]:
    return list(coded_blocks(shapes, coding, with_errors=with_errors))


def _count_threads() -> int:
    """Return how many chunks are coded at a time, on the cluster where there is one."""
    try:
        from distributed import default_client

        return max(1, sum(default_client().nthreads().values()))  # type: ignore[no-untyped-call]
    except (ImportError, ValueError):
        return os.cpu_count() or 1
