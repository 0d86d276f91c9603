"""Folders that are either whole or not there.

In comes a path; out goes a folder beside it to write to, which takes its place in one step when all went well.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder to write to, which replaces `path` at the end, or is removed after an error."""
    target = path.resolve()
    old = target.with_name(f".{target.name}.old")
    if old.exists() and not target.exists():
        # A process that was killed between two steps left it aside.
        old.rename(target)
    with work_folder(path) as partial:
        yield partial
        put_in_place(partial, target)


@contextmanager
def work_folder(path: Path) -> Iterator[Path]:
    """Give the empty folder ``.NAME.partial`` beside `path`, which is removed at the end."""
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to.")
    partial = target.with_name(f".{target.name}.partial")
    remove(partial)
    partial.mkdir()
    try:
        yield partial
    finally:
        remove(partial)


def put_in_place(partial: Path, path: Path) -> None:
    """Rename a file or folder that is whole, over what is there."""
    if path.is_dir():
        # A folder cannot be renamed over another: the old one steps aside for a moment.
        old = path.with_name(f".{path.name}.old")
        remove(old)
        path.rename(old)
        try:
            partial.rename(path)
        except BaseException:
            old.rename(path)
            raise
        remove(old)
    else:
        partial.replace(path)


def remove(path: Path) -> None:
    """Remove a file or folder where there is one; a link is removed, not what it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_zarr_folder(path: Path) -> bool:
    """Tell whether a folder is a Zarr array or group, or one in a group."""
    is_named = any(one.suffix.lower() == ".zarr" for one in (path, *path.parents))
    return is_named and path.is_dir() and any((path / name).is_file() for name in ("zarr.json", ".zgroup", ".zarray"))
