"""Open sets of shapes in files that are read piece by piece."""

import json
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import check_count
from shapelex.exceptions import ShapeFileError, UnsupportedBySpaceError
from shapelex.files.archive import (
    build_space,
    check_header,
    describe_space,
    preparation_of_header,
    preparation_to_json,
)
from shapelex.files.atomic import is_zarr_folder, real_path, recover
from shapelex.io.file_list import PathLike, check_not_empty
from shapelex.io.registry import FORMATS, find_format
from shapelex.shapes.set import ShapeSet
from shapelex.shapes.storage import FileShapes, chunk_rows

# From this size on, commands read files piece by piece.
LARGE_BYTES = 1 << 28

SHAPES_FORMAT = "shapelex shapes"
"""What the headers of our own files of shapes call themselves."""

FORMAT_VERSION = 1


def header_of(shapes: ShapeSet, columns: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header of a file with a set, which names the arrays of its columns, and the arrays of the space."""
    try:
        description, arrays = describe_space(shapes.space)
    except UnsupportedBySpaceError as error:
        raise ShapeFileError(f"{error}: sample the curves, or pickle the set.") from error
    header = {
        "format": SHAPES_FORMAT,
        "version": FORMAT_VERSION,
        "space": description,
        "columns": dict(columns),
        "missing": shapes.missing,
        "notes": list(shapes.notes),
        "provenance": dict(shapes.provenance),
        **({"roles": dict(shapes.roles)} if shapes.roles else {}),
        **preparation_to_json(shapes.preparation),
    }
    try:
        json.dumps(header)
    except TypeError as error:
        raise ShapeFileError(f"The provenance of the set must be JSON values ({error}).") from error
    return header, arrays


def parts_of_header(header: Mapping[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return what a header says of a set; as ``metadata`` the names of the arrays of columns, all of which exist."""
    check_header(header, SHAPES_FORMAT, FORMAT_VERSION)
    kinds = {"space": dict, "columns": dict, "provenance": dict, "notes": list, "missing": str, "roles": dict}
    # Files of 0.1.0 have no roles.
    if not all(isinstance(header.get(name, {} if name == "roles" else None), kind) for name, kind in kinds.items()):
        raise ValueError("its header is incomplete")
    absent = [key for key in header["columns"].values() if key not in arrays]
    if absent:
        raise ValueError(f"its header names columns that are not there: {', '.join(map(str, absent))}")
    space = build_space(header["space"], arrays)
    return {
        "space": space,
        "metadata": header["columns"],
        "missing": header["missing"],
        "notes": tuple(map(str, header["notes"])),
        "provenance": header["provenance"],
        "preparation": preparation_of_header(header, space.n_coordinates),
        "roles": header.get("roles", {}),
    }


def open_shapes(path: PathLike, chunks: int | None = None) -> ShapeSet:
    """Open a set of shapes without reading it: sets of any size, in little memory.

    Parameters
    ----------
    path : path
        ``.npz`` and ``.zarr`` as :func:`shapelex.write` and ``shapelex import`` make them; one array of landmarks as
        ``.npy`` or ``.zarr``.
    chunks : int, optional
        Number of shapes per chunk of a Dask array (100,000 is usual), for learning and coding on many processes or
        machines: each worker reads its chunks itself, so all need access to the file. Where the file itself is in
        chunks, as many whole ones as make up at least this. By default no Dask array is made.

    Returns
    -------
    ShapeSet
        The set; shapes and columns are read from the file when asked for. With `chunks`, its ``configurations`` are a
        Dask array.

    Raises
    ------
    ShapeFileError
        If the file is damaged, or of a kind that is only read whole.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    read : Reads files of any kind, into memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shapelex as sx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = sx.write(sx.ShapeSet([[0, 1, 1j], [0, 2, 1j]], ids=["left", "right"]), Path(folder) / "wings.npz")
    ...     wings = sx.open_shapes(path)
    ...     print(wings, wings[1:].ids)
    ShapeSet(2 shapes, space=Landmarks(n_points=3, closed=False), not in memory) ['right']
    """
    source = Path(path).expanduser()
    if not recover(source):
        raise FileNotFoundError(f"There is no file {source}.")
    if source.is_dir() and not is_zarr_folder(source):
        raise ShapeFileError(f"{source} is a folder: name a file, or import its files first.")
    check_not_empty(source)
    known = find_format(source, "zarr" if source.is_dir() else None)
    if known.opener is None:
        kinds = ", ".join(one.extensions[0] for one in FORMATS.values() if one.opener is not None)
        raise ShapeFileError(
            f"{source} is in the format {known.name}, which is read whole: import it first; piece by piece are read "
            f"{kinds}."
        )
    opened: ShapeSet = known.opener(source)
    if chunks is None:
        return opened
    return opened.replace(configurations=_as_dask(opened, real_path(source), check_count(chunks, 1, "chunks")))


def _as_dask(opened: ShapeSet, path: Path, rows: int) -> Any:
    """Return the configurations of a file as a Dask array; only its path travels to the workers."""
    import dask.array as da

    configurations: Any = opened.configurations
    own = chunk_rows(configurations.file.array) if isinstance(configurations, FileShapes) else 0
    if own:
        rows = -(-rows // own) * own
    n_shapes, n_coordinates = opened.shape
    sizes = tuple(min(rows, n_shapes - start) for start in range(0, n_shapes, rows))
    # Chunks are told apart by the file as it is now, so that a new one of the same name is read anew.
    changed = path.stat().st_mtime_ns
    return da.map_blocks(
        partial(_read_chunk, str(path), rows, n_shapes, changed),
        chunks=(sizes, (n_coordinates,)),
        dtype=opened.dtype,
        meta=np.empty((0, 0), dtype=opened.dtype),
    )


def _read_chunk(path: str, rows: int, n_shapes: int, changed: int, block_id: tuple[int, ...]) -> ComplexArray:
    start = block_id[0] * rows
    return _open_once(path, changed).configurations[start : min(start + rows, n_shapes)]


@lru_cache(maxsize=8)
def _open_once(path: str, changed: int) -> ShapeSet:  # noqa: ARG001
    """Open a file; a worker does so once, until it changes."""
    return open_shapes(path)


def landmarks_in_file(array: Any, path: Path) -> ShapeSet:
    """Return an array of landmarks on disk as a set; what it is not, the error says."""
    if len(array.shape) < 2:
        raise ShapeFileError(f"it is not an array of shapes, but one of shape {array.shape}")
    return ShapeSet(FileShapes(array, name=str(path)), missing="allow", preparation=None)


def is_large(path: Path) -> bool:
    """Tell whether a file of arrays is better read piece by piece."""
    return path.is_dir() or path.stat().st_size >= LARGE_BYTES
