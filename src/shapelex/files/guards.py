"""Limits that all readers of files keep, so that a hostile or damaged file costs neither memory nor time.

Only regular files are opened: a pipe waits for whoever writes to it, and a device may never end.
"""

import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath

from shapelex.exceptions import ShapeFileError

# More than any file, or any line of one that is read in parts, that fits in memory once parsed.
MAX_BYTES = 4 << 30
MAX_MEMBERS = 1_000_000
# Compressed text of numbers shrinks 3 to 10 times; deflate cannot pass 1032.
MAX_RATIO = 200
# Below this a high ratio does no harm: a mask of one object is mostly zeros.
FREE_BYTES = 64 << 20
# Above this only a ratio that real numbers can have is believed.
LARGE_BYTES = 1 << 30
LARGE_RATIO = 20


def check_regular(path: Path) -> None:
    """Refuse folders, pipes and devices; what is not there passes."""
    if path.exists() and not path.is_file():
        raise ShapeFileError(f"{path} is not a regular file.")


def check_swelling(
    n_packed: int, n_unpacked: int, path: Path, limit: int | None = None, *, is_held: bool = True
) -> None:
    """Refuse a file that would grow more than real data do when it is unpacked, or beyond a limit.

    Files that are not held in memory as a whole may grow more.
    """
    believed = MAX_RATIO * n_packed
    if is_held:
        believed = min(believed, max(LARGE_BYTES, LARGE_RATIO * n_packed))
    believed = max(FREE_BYTES, believed)
    if n_unpacked > believed or (limit is not None and n_unpacked > limit):
        raise ShapeFileError(
            f"{path} swells from {n_packed} to {n_unpacked} bytes or more when unpacked: refused, it looks like a "
            "trap; unpack it yourself if you trust it."
        )


def zip_members(archive: zipfile.ZipFile, path: Path, limit: int = MAX_BYTES) -> list[zipfile.ZipInfo]:
    """Return the files of a zip archive in its order, once its directory has been found harmless.

    Raises
    ------
    ShapeFileError
        If a name leads out of the archive, a member is encrypted, repeated or expands too much when unpacked, or all of
        them together have more than `limit` bytes.
    """
    members = [member for member in archive.infolist() if not member.filename.endswith("/")]
    if len(members) > MAX_MEMBERS:
        raise ShapeFileError(f"{path} holds {len(members)} files, more than {MAX_MEMBERS}: refused.")
    if len({member.filename for member in members}) < len(members):
        raise ShapeFileError(f"{path} holds two files of one name: refused.")
    for member in members:
        check_inner_path(member.filename, path)
        if member.flag_bits & 0x1:
            raise ShapeFileError(f"{path} holds the encrypted file {member.filename!r}: unpack it first.")
    # Members may overlap, so that their sizes add up to more than there is.
    n_packed = min(sum(member.compress_size for member in members), path.stat().st_size)
    n_unpacked = sum(member.file_size for member in members)
    check_swelling(n_packed, n_unpacked, path, limit)
    return members


def check_inner_path(name: str, path: Path) -> None:
    """Refuse the name of an archive's member that is absolute, has a drive or leads out of the archive."""
    inside, on_windows = PurePosixPath(name), PureWindowsPath(name)
    is_outside = inside.is_absolute() or on_windows.is_absolute() or bool(on_windows.drive)
    if is_outside or ".." in inside.parts or ".." in on_windows.parts or "\0" in name:
        raise ShapeFileError(f"{path} holds a file named {name!r}, which leads out of the archive: refused.")
