"""Files of shapes as Dask arrays whose chunks are read where they are needed.

In comes a path that every worker can open; out goes a Dask array. Only the path travels.
"""

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import check_count
from shapelex.io.stored_shapes import open_shapes
from shapelex.spaces.stored import chunk_rows as chunk_rows_of

_CHUNK_ROWS = 100_000


def from_file(path: str | PathLike[str], chunk_rows: int = _CHUNK_ROWS) -> Any:
    """Return the shapes in a file as a Dask array.

    Parameters
    ----------
    path : path
        What :func:`shapelex.open_shapes` opens, in a folder that all workers share.
    chunk_rows : int, default 100000
        Shapes of a chunk; where the file itself is in chunks, as many whole ones as make up at least this.

    Returns
    -------
    dask.array.Array, complex (n_shapes, n_coordinates)
        The configurations, nothing of them read.

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
    ...     X = from_file(path, chunk_rows=2)
    ...     print(X.chunks, X.sum().compute())
    ((2, 2, 1), (4,)) (4+20j)
    """
    import dask.array as da

    rows = check_count(chunk_rows, 1, "chunk_rows")
    source = Path(path).expanduser().resolve()
    stored = open_shapes(source)
    own = chunk_rows_of(stored.configurations)
    if own:
        rows = -(-rows // own) * own
    n_shapes, n_coordinates = stored.shape
    starts = range(0, n_shapes, rows)
    sizes = tuple(min(rows, n_shapes - start) for start in starts)
    # Chunks are told apart by the file as it is now, so that a new one of the same name is read anew.
    changed = source.stat().st_mtime_ns
    return da.map_blocks(
        partial(_read_chunk, str(source), rows, n_shapes, changed),
        chunks=(sizes, (n_coordinates,)),
        dtype=stored.dtype,
        meta=np.empty((0, 0), dtype=stored.dtype),
    )


def _read_chunk(path: str, rows: int, n_shapes: int, changed: int, block_id: tuple[int, ...]) -> ComplexArray:  # noqa: ARG001
    start = block_id[0] * rows
    return open_shapes(path).rows[start : min(start + rows, n_shapes)]
