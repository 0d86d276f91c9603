"""Sets of shapes that stay in their files and are read piece by piece.

In comes a path; out goes a set that every function takes that takes stored configurations, with its space and what is
known of each shape.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shapelex.exceptions import ShapeFileError, UnsupportedBySpaceError
from shapelex.io.file_list import PathLike, check_not_empty
from shapelex.io.registry import FORMATS, find_format
from shapelex.shapes.preparation import preparation_of_header, preparation_to_json
from shapelex.shapes.stored import FileShapes
from shapelex.shapes.stored_set import ShapeBlocks, StoredShapes
from shapelex.store.archive import build_space, check_header, describe_space
from shapelex.store.atomic import is_zarr_folder, recover

# From this size on, commands read files piece by piece.
LARGE_BYTES = 1 << 28

SHAPES_FORMAT = "shapelex shapes"
"""What the headers of our own files of shapes call themselves."""

FORMAT_VERSION = 1


def header_of(shapes: ShapeBlocks, columns: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
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
    kinds = {"space": dict, "columns": dict, "provenance": dict, "notes": list, "missing": str}
    if not all(isinstance(header.get(name), kind) for name, kind in kinds.items()):
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
    }


def open_shapes(path: PathLike) -> StoredShapes:
    """Open a set of shapes without reading it: sets of any size, in little memory.

    Parameters
    ----------
    path : path
        ``.npz`` and ``.zarr`` as :func:`shapelex.write` and ``shapelex import`` make them; one array of landmarks as
        ``.npy`` or ``.zarr``.

    Returns
    -------
    StoredShapes
        The set; slices of it are read when asked for.

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
    StoredShapes(2 shapes, space=Landmarks(n_points=3, closed=False)) ['right']
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
    stored: StoredShapes = known.opener(source)
    return stored


def stored_landmarks(array: Any, path: Path) -> StoredShapes:
    """Return an array of landmarks on disk as a set; what it is not, the error says."""
    if len(array.shape) < 2:
        raise ShapeFileError(f"it is no array of shapes, but one of shape {array.shape}")
    return StoredShapes(
        array, FileShapes(array, name=str(path)).space, missing="allow", preparation=None, name=str(path)
    )


def is_large(path: Path) -> bool:
    """Tell whether a file of arrays is better read piece by piece."""
    return path.is_dir() or path.stat().st_size >= LARGE_BYTES
