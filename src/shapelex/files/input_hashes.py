"""What a command read: files, folders and patterns in; sizes and SHA-256 hashes out, and later whether they still fit.

The hash of a file is that of its contents. The hash of a folder or pattern is that of the hashes and names of its
files. Chunks of Zarr folders count by their sizes in place of their contents, which can be more than a command reads.
"""

import glob
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

_MOST_FILES = 200_000
_ZARR_METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")


def describe_input(name: str, leave_out: Collection[Path] = ()) -> dict[str, Any]:
    """Return ``path``, ``bytes`` and ``sha256`` of a file, a folder or a pattern.

    Parameters
    ----------
    name : str
        As it was typed.
    leave_out : collection of Path
        Absolute paths in folders and patterns that do not count, such as those that the command writes.
    """
    sizes = _sizes(name, leave_out)
    return {"path": name, "bytes": sum(sizes.values()), "sha256": _hash(name, sizes)}


def state_of_input(recorded: dict[str, Any], leave_out: Collection[Path] = ()) -> str:
    """Return ``unchanged``, ``changed`` or ``missing`` for what :func:`describe_input` described earlier.

    Records may be of others: a pattern for far more files than any command reads is not followed to its end.
    """
    name = recorded["path"]
    try:
        sizes = _sizes(name, leave_out, _MOST_FILES)
    except _TooManyError:
        return f"not compared, since there are more than {_MOST_FILES} files"
    if not sizes:
        return "missing"
    # Sizes first: nothing is read where they differ.
    is_same = sum(sizes.values()) == recorded["bytes"] and _hash(name, sizes) == recorded["sha256"]
    return "unchanged" if is_same else "changed"


class _TooManyError(Exception):
    """A name stands for more files than are looked at."""


def _sizes(name: str, leave_out: Collection[Path], most: int | None = None) -> dict[Path, int]:
    """Return the sizes of all files that a name stands for, in order; at most `most` are looked at."""
    path = Path(name).expanduser()
    if path.is_file():
        return {path: path.stat().st_size}
    matches = glob.iglob(str(path), recursive=True)  # noqa: PTH207
    found: Iterable[Path] = [path] if path.is_dir() else map(Path, matches)
    files = set()
    named = (file for one in found for file in (_files_below(one) if one == path or _is_in_zarr(one) else [one]))
    for number, file in enumerate(named):
        if number == most:
            raise _TooManyError
        files.add(file)
    return {file: file.stat().st_size for file in sorted(files) if file.is_file() and not _is_below(file, leave_out)}


def _is_below(file: Path, paths: Collection[Path]) -> bool:
    absolute = file.absolute()
    return any(one in paths for one in (absolute, *absolute.parents))


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files that are not hidden, and all those of Zarr folders."""
    for name, folders, files in os.walk(folder):
        is_zarr = _is_in_zarr(Path(name))
        folders[:] = [inner for inner in folders if not inner.startswith(".")]
        yield from (Path(name, file) for file in files if is_zarr or not file.startswith("."))


def _is_in_zarr(path: Path) -> bool:
    return any(part.lower().endswith(".zarr") for part in path.parts)


def _hash(name: str, sizes: dict[Path, int]) -> str:
    if list(sizes) == [Path(name).expanduser()]:
        return _hash_file(Path(name).expanduser())
    total = hashlib.sha256()
    for file, size in sizes.items():
        is_chunk = _is_in_zarr(file) and file.name not in _ZARR_METADATA
        total.update(f"{size if is_chunk else _hash_file(file)}  ".encode() + os.fsencode(file.as_posix()) + b"\n")
    return total.hexdigest()


def _hash_file(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        # In a folder, beside the files that the command could read.
        return str(error.strerror)
