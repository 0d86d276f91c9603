"""Limits that all readers of files keep, so that a hostile or damaged file costs neither memory nor time.

Only regular files are opened: a pipe waits for whoever writes to it, and a device may never end. Whatever passes a
limit is a :class:`~shapelex.exceptions.ShapeFileError` that says which one.
"""

import gzip
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from shapelex._messages import marked_text
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
GZIP_MARK = b"\x1f\x8b"


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


def is_small(path: Path) -> bool:
    """Tell whether a file or folder holds so little that what runs out of memory in it is damaged."""
    return (count_files(path)[1] if path.is_dir() else path.stat().st_size) <= FREE_BYTES


def count_files(folder: Path) -> tuple[int, int]:
    """Return how many files a folder and those in it hold, and their bytes."""
    n_files = n_bytes = 0
    for name, _, files in os.walk(folder):
        n_files += len(files)
        n_bytes += sum((Path(name) / file).stat().st_size for file in files)
    return n_files, n_bytes


@contextmanager
def refusing(path: Path, what: str, kind: type[Exception] = ShapeFileError) -> Iterator[None]:
    """Turn what libraries raise on damaged bytes, which may be nearly anything, into an error that names the file."""
    try:
        yield
    except (FileNotFoundError, PermissionError, ImportError):
        raise
    except Exception as error:
        # A small file that runs out of memory is damaged: it declares any number of entries.
        is_memory = isinstance(error, MemoryError) and not is_small(path)
        if is_memory or (isinstance(error, kind) and str(error).startswith(str(path))):
            raise
        reason = " ".join(marked_text(error).split()).rstrip(".") or type(error).__name__
        raise kind(f"{path} cannot be read as {what}: {reason}.") from error


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a file of at most `limit` bytes, decompressed where it is gzip."""
    return b"".join(byte_pieces(path, 1 << 20, limit))


def byte_pieces(path: Path, n_bytes: int, limit: int | None = None) -> Iterator[bytes]:
    """Yield the content of a file in pieces of `n_bytes`, the last one shorter, decompressed where it is gzip.

    Raises
    ------
    ShapeFileError
        If it has more than `limit` bytes, is not a regular file, or is damaged or expands too much when unpacked.
    """
    check_regular(path)
    n_stored = path.stat().st_size
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP_MARK)) == GZIP_MARK
        file.seek(0)
        stream = gzip.GzipFile(fileobj=file) if is_packed else file
        n_read = 0
        try:
            while piece := stream.read(n_bytes):
                n_read += len(piece)
                if is_packed:
                    check_swelling(n_stored, n_read, path, limit)
                elif limit is not None and n_read > limit:
                    raise ShapeFileError(f"{path} is larger than {limit} bytes, the most that is read: split it.")
                yield piece
        except EOFError as error:
            raise ShapeFileError(f"{path} is cut off: its compressed text has no end.") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ShapeFileError(f"{path} is damaged: its compressed text cannot be unpacked ({error}).") from error


def read_head(path: Path, n_bytes: int = 8192) -> bytes:
    """Return the first bytes of a file, decompressed where it is gzip; damaged ends are cut off."""
    check_regular(path)
    with path.open("rb") as stream:
        head = stream.read(n_bytes)
    if head[:2] != GZIP_MARK:
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, n_bytes)
    except zlib.error:
        return b""


def read_members(path: Path, extension: str, limit: int = MAX_BYTES) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file in a zip archive whose name ends in `extension`, or of a file that is none.

    Raises
    ------
    ShapeFileError
        If the archive is damaged, hostile, has more than `limit` bytes, or holds no such file.
    """
    if not read_head(path, 4).startswith((b"PK\x03\x04", b"PK\x05\x06")):
        yield path.name, read_bytes(path, limit)
        return
    with refusing(path, "a zip archive"):
        archive = zipfile.ZipFile(path)
    with archive:
        members = [one for one in zip_members(archive, path, limit) if one.filename.lower().endswith(extension)]
        # macOS adds a hidden twin to every file.
        members = [one for one in members if not PurePosixPath(one.filename).name.startswith(".")]
        if not members:
            raise ShapeFileError(f"{path} holds no file whose name ends in {extension}.")
        for member in members:
            yield member.filename, read_member(archive, member, path)


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    """Return one file of a zip archive, one of :func:`zip_members`; it must be as long as its directory says."""
    try:
        with archive.open(member) as stream:
            content = stream.read(member.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise ShapeFileError(f"{path} is damaged: {member.filename!r} cannot be unpacked ({error}).") from error
    if len(content) != member.file_size:
        raise ShapeFileError(f"{path} is damaged: {member.filename!r} is not as long as declared.")
    return content


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, sorted and not hidden; links to folders are not followed."""
    for name, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        for file in sorted(files):
            path = Path(name) / file
            if not file.startswith(".") and path.is_file():
                yield path
