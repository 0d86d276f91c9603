"""Codes that are not computed yet, chunk by chunk."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shapelex.coding.codes import SparseCodes


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
        self.blocks = list(blocks)
        self.sizes = list(sizes)
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
        import dask

        return SparseCodes.concatenate(dask.compute(*self.blocks))

    def __len__(self) -> int:
        return sum(self.sizes)

    def __repr__(self) -> str:
        return (
            f"DaskCodes(n_samples={len(self)}, n_nonzero={self.n_nonzero}, n_atoms={self.n_atoms}, "
            f"n_chunks={len(self.blocks)})"
        )


def stack(blocks: Sequence[Any], sizes: Sequence[int], width: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return delayed arrays, one below the other, as one Dask array."""
    import dask.array as da

    pairs = zip(blocks, sizes, strict=True)
    return da.concatenate([da.from_delayed(block, (size, *width), dtype=dtype) for block, size in pairs])
