"""A Dask array as chunks of whole shapes.

In comes a Dask array, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2); out go its chunks, each with
the number of its first shape. Nothing is computed, except sizes that are not known.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import as_complex_rows
from shapelex.exceptions import ArrayTypeError, EmptySetError
from shapelex.spaces.base import Space


def is_dask_collection(X: Any) -> bool:
    """Tell a Dask array, or a set of shapes over one, from everything else, without importing Dask."""
    if isinstance(getattr(X, "space", None), Space):
        X = getattr(X, "configurations", X)
    return type(X).__module__.partition(".")[0] == "dask"


@dataclass(frozen=True)
class Chunks:
    """Chunks of a Dask array.

    Parameters
    ----------
    array : dask.array.Array
        The array, in chunks of whole shapes.
    blocks : list of dask.delayed.Delayed
        Its chunks.
    starts : list of int
        Number of the first shape of each chunk, and the number of all shapes.
    n_coordinates : int
        Coordinates of a shape.
    dtype : dtype of complex
        Precision of the configurations.
    """

    array: Any
    blocks: list[Any]
    starts: list[int]
    n_coordinates: int
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, X: Any) -> "Chunks":
        """Look at a Dask array.

        Parameters
        ----------
        X : dask.array.Array
            Configurations; or a set of shapes over one.

        Returns
        -------
        Chunks
            Its chunks.
        """
        import dask.array as da

        array = X if isinstance(X, da.Array) else getattr(X, "configurations", X)
        if not isinstance(array, da.Array):
            raise ArrayTypeError(
                f"X must be a Dask array of shapes, got {type(X).__name__}: a Dask bag or table of "
                "columns is turned into one by to_dask_array and from_columns on its blocks."
            )
        if np.isnan(sum(array.chunks[0])):
            array = array.copy()
            array.compute_chunk_sizes()
        array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
        # Ones of its kind show what the checks say of it, and what its configurations are.
        probe = as_complex_rows(np.ones((1, *array.shape[1:]), dtype=array.dtype), name="X")
        sizes = [size for size in array.chunks[0] if size]
        if not sizes:
            raise EmptySetError(f"X holds no shape: its shape is {array.shape}; give at least one.")
        blocks = [
            block
            for block, size in zip(array.to_delayed(optimize_graph=True).ravel(), array.chunks[0], strict=True)
            if size
        ]
        return cls(array, blocks, np.cumsum([0, *sizes]).tolist(), probe.shape[1], probe.dtype)

    @property
    def sizes(self) -> list[int]:
        """Shapes of each chunk."""
        return np.diff(self.starts).tolist()


def as_rows(chunk: Any) -> ComplexArray:
    """Return a computed chunk as complex rows, not checked."""
    return as_complex_rows(np.asarray(chunk), name="X")
