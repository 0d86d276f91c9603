"""Files of shapes as Dask arrays whose chunks are read where they are needed.

In comes a path that every worker can open; out goes a Dask array. Only the path travels.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import check_count
from shapelex.io.stored_shapes import open_shapes
from shapelex.shapes.preparation import Preparation
from shapelex.shapes.stored import chunk_rows as chunk_rows_of
from shapelex.shapes.stored_set import StoredShapes
from shapelex.spaces import Space
from shapelex.store.atomic import real_path

_CHUNK_ROWS = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class DaskShapes:
    """Shapes of a file as a Dask array, with their space.

    Parameters
    ----------
    configurations : dask.array.Array, complex (n_shapes, n_coordinates)
        The shapes, nothing of them read.
    space : Space
        What their coordinates mean.
    preparation : Preparation, optional
        How the outlines were resampled and registered.
    """

    configurations: Any
    space: Space
    preparation: Preparation | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of shapes, and of coordinates of each."""
        return self.configurations.shape[0], self.configurations.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DaskShapes({len(self)} shapes in {self.configurations.numblocks[0]} chunks, space={self.space!r})"


def from_file(path: str | PathLike[str], chunk_rows: int = _CHUNK_ROWS) -> DaskShapes:
    """Return the shapes in a file as a Dask array that workers read themselves, with their space.

    Parameters
    ----------
    path : path
        What :func:`shapelex.open_shapes` opens, in a folder that all workers share.
    chunk_rows : int, default 100000
        Shapes of a chunk; where the file itself is in chunks, as many whole ones as make up at least this.

    Returns
    -------
    DaskShapes
        To learn from and to code; its ``configurations`` are the Dask array.

    Raises
    ------
    ShapeFileError, FileNotFoundError
        As :func:`shapelex.open_shapes`.

    Examples
    --------
    >>> import tempfile
    >>> import shapelex as sx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = sx.write(sx.ShapeSet(np.eye(5, 4) + 1j), f"{folder}/shapes.npz")
    ...     shapes = from_file(path, chunk_rows=2)
    ...     print(shapes, shapes.configurations.sum().compute())
    DaskShapes(5 shapes in 3 chunks, space=Landmarks(n_points=4, closed=False)) (4+20j)
    """
    import dask.array as da

    rows = check_count(chunk_rows, 1, "chunk_rows")
    source = real_path(Path(path).expanduser())
    stored = open_shapes(source)
    own = chunk_rows_of(stored.configurations)
    if own:
        rows = -(-rows // own) * own
    n_shapes, n_coordinates = stored.shape
    starts = range(0, n_shapes, rows)
    sizes = tuple(min(rows, n_shapes - start) for start in starts)
    # Chunks are told apart by the file as it is now, so that a new one of the same name is read anew.
    changed = source.stat().st_mtime_ns
    configurations = da.map_blocks(
        partial(_read_chunk, str(source), rows, n_shapes, changed),
        chunks=(sizes, (n_coordinates,)),
        dtype=stored.dtype,
        meta=np.empty((0, 0), dtype=stored.dtype),
    )
    return DaskShapes(configurations, stored.space, stored.preparation)


def _read_chunk(path: str, rows: int, n_shapes: int, changed: int, block_id: tuple[int, ...]) -> ComplexArray:
    start = block_id[0] * rows
    return _open_once(path, changed).rows[start : min(start + rows, n_shapes)]


@lru_cache(maxsize=8)
def _open_once(path: str, changed: int) -> StoredShapes:  # noqa: ARG001
    """Open a file; a worker does so once, until it changes."""
    return open_shapes(path)
