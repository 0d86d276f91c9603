"""Zarr folders that are opened for reading, with the limits that all files have.

Input: a folder. Output: its attributes, and its arrays, which are not read yet. Whatever passes a limit is a
:class:`~shapelex.exceptions.ShapeFileError` that says which one.
"""

import math
import os
from pathlib import Path
from threading import Lock
from typing import Any

from shapelex._extras import load_zarr
from shapelex.exceptions import ShapeFileError, reason_of
from shapelex.files.atomic import real_path
from shapelex.files.guards import count_files

_MAX_CHUNK = 1 << 31
# Beyond what real numbers can be compressed to; chunks that were never written take no room at all.
_MAX_RATIO = 1100
_SMALL = 1 << 24
_LOCK = Lock()


def open_zarr(path: Path) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return attributes and arrays of a group; of a folder that is one array, None and that array under no name."""
    zarr = load_zarr()
    _check_folder(path)
    from shapelex.files import zarr_text

    # The configuration belongs to the whole process.
    with _LOCK, zarr.config.set(zarr_text.CHECKED):
        try:
            found = zarr.open(str(path), mode="r")
        except FileNotFoundError as error:
            # Where it does not know the kind of a folder, Zarr says that there is none.
            raise ShapeFileError(f"{path} cannot be read as shapes: {reason_of(error)}.") from error
        if not isinstance(found, zarr.Group):
            return None, {"": found}
        return dict(found.attrs), {name: found[name] for name in found.array_keys()}


def check_whole(array: Any, path: Path) -> None:
    """Refuse a Zarr array of ours of which chunks were lost: they would read as zeros."""
    _check_chunk(array, path)
    n_found, _ = count_files(path / array.path / "c")
    n_chunks = math.prod(-(-side // step) for side, step in zip(array.shape, array.chunks, strict=True))
    if n_found < n_chunks:
        raise ShapeFileError(
            f"{path} is damaged: {n_chunks - n_found} of the {n_chunks} chunks of {array.name} are not there; copy it "
            "again."
        )


def check_size(array: Any, path: Path) -> None:
    """Refuse a Zarr array that declares far more than the folder holds."""
    _check_chunk(array, path)
    n_bytes = math.prod(array.shape) * max(array.dtype.itemsize, 1)
    if n_bytes > _SMALL:
        _, n_stored = count_files(path / array.path)
        if n_bytes > _MAX_RATIO * n_stored:
            raise ShapeFileError(f"{path} is refused: {array.name} declares {array.shape} but holds {n_stored} bytes.")


def _check_folder(path: Path) -> None:
    """Refuse a Zarr folder in which something is neither a regular file nor a folder, nor a link to one."""
    seen = set()
    for name, folders, files in os.walk(path, followlinks=True):
        seen.add(real_path(Path(name)))
        # Links may lead back to where they are.
        folders[:] = [one for one in folders if real_path(Path(name, one)) not in seen]
        for file in (Path(name, one) for one in files):
            if not file.is_file():
                raise ShapeFileError(f"{path} is refused: {file.relative_to(path)} in it is not a regular file.")


def _check_chunk(array: Any, path: Path) -> None:
    n_bytes = math.prod(array.chunks) * max(array.dtype.itemsize, 1)
    if n_bytes > _MAX_CHUNK:
        raise ShapeFileError(f"{path} is refused: a chunk of {array.name} has {n_bytes} bytes.")
