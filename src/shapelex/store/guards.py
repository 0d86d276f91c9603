"""Limits that all readers of files keep, so that a hostile or damaged file costs neither memory nor time.

In come paths, sizes and Zarr arrays; whatever passes a limit is a :class:`~shapelex.exceptions.ShapeFileError` that
says which one. Only regular files are opened: a pipe waits for whoever writes to it, and a device may never end.
"""

import math
import os
from pathlib import Path
from typing import Any

from shapelex.exceptions import ShapeFileError

# Compressed text of numbers shrinks 3 to 10 times; deflate cannot pass 1032.
MAX_RATIO = 200
# Below this a high ratio does no harm: a mask of one object is mostly zeros.
FREE_BYTES = 64 << 20
# Above this only a ratio that real numbers can have is believed.
LARGE_BYTES = 1 << 30
LARGE_RATIO = 20

_MAX_CHUNK = 1 << 31
# Beyond what real numbers can be compressed to; chunks that were never written take no room at all.
_MAX_ZARR_RATIO = 1100
_SMALL = 1 << 24


def check_regular(path: Path) -> None:
    """Refuse folders, pipes and devices; what is not there passes."""
    if path.exists() and not path.is_file():
        raise ShapeFileError(f"{path} is no regular file.")


def check_swelling(n_packed: int, n_unpacked: int, path: Path, limit: int | None = None) -> None:
    """Refuse a file that would grow more than real data do when it is unpacked, or beyond a limit."""
    believed = max(FREE_BYTES, min(MAX_RATIO * n_packed, max(LARGE_BYTES, LARGE_RATIO * n_packed)))
    if n_unpacked > believed or (limit is not None and n_unpacked > limit):
        raise ShapeFileError(
            f"{path} swells from {n_packed} to {n_unpacked} bytes or more when unpacked: refused, it looks like a "
            "trap; unpack it yourself if you trust it."
        )


def check_folder(path: Path) -> None:
    """Refuse a Zarr folder in which something is neither a regular file nor a folder, nor a link to one."""
    seen = set()
    for name, folders, files in os.walk(path, followlinks=True):
        seen.add(Path(name).resolve())
        # Links may lead back to where they are.
        folders[:] = [one for one in folders if Path(name, one).resolve() not in seen]
        for file in (Path(name, one) for one in files):
            if not file.is_file():
                raise ShapeFileError(f"{path} is refused: {file.relative_to(path)} in it is no regular file.")


def check_whole(array: Any, path: Path) -> None:
    """Refuse a Zarr array of ours of which chunks were lost: they would read as zeros."""
    _check_chunk(array, path)
    n_found, _ = _count_files(path / array.path / "c")
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
        _, n_stored = _count_files(path / array.path)
        if n_bytes > _MAX_ZARR_RATIO * n_stored:
            raise ShapeFileError(f"{path} is refused: {array.name} declares {array.shape} but holds {n_stored} bytes.")


def is_small_folder(path: Path) -> bool:
    """Tell whether a folder holds so little that what runs out of memory in it is damaged."""
    return path.is_dir() and _count_files(path)[1] <= FREE_BYTES


def _check_chunk(array: Any, path: Path) -> None:
    n_bytes = math.prod(array.chunks) * max(array.dtype.itemsize, 1)
    if n_bytes > _MAX_CHUNK:
        raise ShapeFileError(f"{path} is refused: a chunk of {array.name} has {n_bytes} bytes.")


def _count_files(folder: Path) -> tuple[int, int]:
    """Return how many files a folder and those in it hold, and their bytes."""
    n_files = n_bytes = 0
    for name, _, files in os.walk(folder):
        n_files += len(files)
        n_bytes += sum((Path(name) / file).stat().st_size for file in files)
    return n_files, n_bytes
