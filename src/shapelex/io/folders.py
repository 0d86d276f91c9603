"""Folders that are either whole or not there.

In comes a path; out goes a folder beside it to write to, which takes its place in one step when all went well.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Give a new folder to write to; at the end it is renamed to `path`, after an error it is removed.

    Parameters
    ----------
    path : Path
        Where the folder goes; what is there stays until the new one is whole.

    Yields
    ------
    Path
        The folder ``.NAME.partial`` beside it, not made yet.
    """
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to.")
    partial = target.with_name(f".{target.name}.partial")
    remove(partial)
    try:
        yield partial
        put_in_place(partial, target)
    finally:
        remove(partial)


def put_in_place(partial: Path, path: Path) -> None:
    """Rename a file or folder that is whole, over what is there."""
    if path.is_dir():
        # A folder cannot be renamed over another: the old one steps aside for a moment.
        old = path.with_name(f".{path.name}.old")
        remove(old)
        path.rename(old)
        partial.rename(path)
        remove(old)
    else:
        partial.replace(path)


def remove(path: Path) -> None:
    """Remove a file or folder where there is one; a link is removed, not what it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
