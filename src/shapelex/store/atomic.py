"""Files and folders that are either whole or not there.

In come a path and what writes to it; out goes the file or folder, in one step when all went well.
"""

import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside `path` and rename it, so that an interruption or a full disk loses nothing."""
    # A link stays a link, to the new file.
    path = path.resolve()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to.")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes the file private; give it the mode that open() would have.
        mask = os.umask(0)
        os.umask(mask)
        partial.chmod(0o666 & ~mask)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


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
    """Give an empty folder ``.NAME.….partial`` beside `path`, which is removed at the end.

    Several processes may write to the same path. Folders that a killed process left behind are removed first.
    """
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to.")
    for old in target.parent.glob(f".{glob.escape(target.name)}.*.partial"):
        with _lock(old) as is_abandoned:
            if is_abandoned:
                shutil.rmtree(old, ignore_errors=True)
    while True:
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        with _lock(partial):
            if not partial.is_dir():
                # Another process took it for abandoned before it was locked.
                continue
            # mkdtemp makes the folder private; give it the mode that mkdir would have.
            mask = os.umask(0)
            os.umask(mask)
            partial.chmod(0o777 & ~mask)
            try:
                yield partial
            finally:
                remove(partial)
            return


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Lock a folder for as long as this process lives, and tell whether no other process has it."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (ImportError, OSError):
        # There are no such locks on Windows, nor on files.
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except OSError:
            is_ours = False
        yield is_ours
    finally:
        os.close(handle)


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
