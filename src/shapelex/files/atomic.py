"""Files and folders that are either whole or not there."""

import ctypes
import errno
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from shapelex._messages import Message, parameter
from shapelex.exceptions import ShapeFileError
from shapelex.files.sidecar import has_sidecar, sidecar_path


def check_replaceable(target: Path, overwrite: bool) -> None:
    """Refuse a path where there is something, without `overwrite`."""
    if target.exists() and not overwrite:
        raise FileExistsError(
            Message(f"{target} exists already: give {parameter('overwrite', True)} to replace it, or another name.")
        )


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside `path` and rename it, so that an interruption or a full disk loses nothing."""
    with work_folder(path) as folder:
        with (folder / "content").open("wb") as stream:
            write(stream)
        put_in_place(folder / "content", path, folder)


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Give the path of a folder to make, which replaces `path` at the end, or is removed after an error."""
    with work_folder(path) as work:
        yield work / "content"
        put_in_place(work / "content", path, work)


@contextmanager
def work_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder ``.NAME.….partial`` beside `path`, which is removed at the end.

    Several processes may write to the same path. What a killed process left behind is removed first; a folder that it
    had moved aside comes back. An OSError of the work, such as that of a full disk, names `path`. Devices and pipes are
    refused: a file would take their place.
    """
    target = real_path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to.")
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ShapeFileError(f"{path} is not a regular file: choose another path to write to.")
    _remove_abandoned(target)
    while True:
        try:
            work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(path)) from error
        with _lock(work) as is_ours:
            if is_ours is False or not work.is_dir():
                # Another process took it for abandoned before it was locked.
                continue
            try:
                yield work
            except OSError as error:
                if error.errno is None or not (error.filename is None or work.name in str(error.filename)):
                    raise
                raise type(error)(error.errno, error.strerror, str(path)) from error
            finally:
                remove(work)
            return


def recover(path: Path) -> bool:
    """Return whether there is a file or folder; a folder that a killed process had moved aside comes back first."""
    if not path.exists():
        with suppress(OSError):
            _remove_abandoned(real_path(path))
    return path.exists()


def real_path(path: Path) -> Path:
    """Return an absolute path without links; a link that leads back to itself stays as it is."""
    return Path(os.path.realpath(path))


def _remove_abandoned(target: Path) -> None:
    """Remove the folders beside `target` that killed processes worked in."""
    # The name of another target may begin with this one.
    own = re.compile(re.escape(f".{target.name}.") + r"[^.]+\.partial")
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.partial"):
        if own.fullmatch(left.name) is None:
            continue
        with _lock(left) as is_abandoned:
            # Without locks too: a process that lives, and is just replacing the folder, moves it aside once more.
            if is_abandoned is not False and (left / "old").is_dir() and not target.exists():
                with suppress(FileExistsError, FileNotFoundError):
                    (left / "old").rename(target)
            if is_abandoned:
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _lock(folder: Path) -> Iterator[bool | None]:
    """Lock a folder for as long as this process lives; False where another process has it, None without locks."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (ImportError, OSError):
        # There are no such locks on Windows.
        yield None
        return
    try:
        is_ours: bool | None = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_ours = False
        except OSError:
            is_ours = None
        yield is_ours
    finally:
        os.close(handle)


def put_in_place(content: Path, path: Path, work: Path) -> None:
    """Rename a file or folder that is whole, over what is there; `work` is a folder for what it replaces.

    Of several processes that do this at once, the last one wins. A link stays a link, to what is new. The record of the
    run that made the old file is removed, since it does not tell of the new one.
    """
    if has_sidecar(path):
        sidecar_path(path).unlink(missing_ok=True)
    path = real_path(path)
    if not content.is_dir():
        with content.open("rb+") as stream:
            os.fsync(stream.fileno())
        content.replace(path)
        return
    while True:
        if path.is_dir() and _exchange(content, path):
            return
        try:
            # A folder cannot be renamed over another: the old one is moved aside for a moment.
            if path.is_dir():
                remove(work / "old")
                path.rename(work / "old")
            content.rename(path)
            return
        except BaseException as error:
            if (work / "old").is_dir() and not path.exists():
                (work / "old").rename(path)
            # Another process may have put its own folder there, or moved the old one aside, in between.
            if (
                getattr(error, "errno", None) not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)
                or not content.exists()
            ):
                raise


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; return False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        # It is a function of Linux alone.
        return False
    at_working_folder, exchange = -100, 2
    return bool(rename(at_working_folder, os.fsencode(first), at_working_folder, os.fsencode(second), exchange) == 0)


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
