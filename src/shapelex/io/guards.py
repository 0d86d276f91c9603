"""Limits that every reader keeps, so that a hostile or damaged file costs neither memory nor time.

In come paths and archives; out goes their content, bounded. Whatever passes a limit is a
:class:`~shapelex.exceptions.ShapeFileError` that says which one.
"""

import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from shapelex.exceptions import ShapeFileError

# More than any file, or any line of one that is read in parts, that fits in memory once parsed.
MAX_BYTES = 4 << 30
# Compressed text of numbers shrinks 3 to 10 times; deflate cannot pass 1032.
MAX_RATIO = 200
# Below this a high ratio does no harm: a mask of one object is mostly zeros.
FREE_BYTES = 64 << 20
# Above this only a ratio that real numbers can have is believed.
LARGE_BYTES = 1 << 30
LARGE_RATIO = 20
MAX_MEMBERS = 1_000_000

GZIP_MARK = b"\x1f\x8b"

_CHUNK = 1 << 20


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a file, decompressed where it is gzip.

    Parameters
    ----------
    path : Path
        The file.
    limit : int
        Most bytes to return.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    ShapeFileError
        If it is larger than `limit`, not a regular file, or compressed text that is damaged or swells beyond measure.
    """
    check_regular(path)
    n_bytes = path.stat().st_size
    with path.open("rb") as stream:
        # A read that names more bytes than there are would ask for memory for all of them.
        content = stream.read(min(n_bytes, limit) + 1)
    if len(content) > limit:
        raise ShapeFileError(f"{path} is larger than {limit} bytes, the most that is read: split it.")
    if content[:2] != GZIP_MARK:
        return content
    return b"".join(unpacked_pieces(io.BytesIO(content), len(content), path, limit))


def unpacked_pieces(stream: BinaryIO, n_packed: int, path: Path, limit: int | None = None) -> Iterator[bytes]:
    """Yield the content of a gzip file in pieces of at most a mebibyte.

    Parameters
    ----------
    stream : binary stream
        The compressed bytes, at their start.
    n_packed : int
        How many they are.
    path : Path
        Where they come from, for messages.
    limit : int, optional
        Most bytes to yield; by default only the ratio to the compressed ones is bounded.

    Yields
    ------
    bytes
        The next piece, not empty.

    Raises
    ------
    ShapeFileError
        If the compressed text is damaged or swells beyond measure.
    """
    most = _most_unpacked(n_packed, limit)
    n_unpacked = 0
    rest = stream.read(_CHUNK)
    try:
        # A gzip file may hold several streams one after the other, with zeros between them.
        while rest:
            unpacker = zlib.decompressobj(wbits=31)
            while not unpacker.eof:
                part = unpacker.decompress(rest, _CHUNK)
                rest = unpacker.unconsumed_tail
                n_unpacked += len(part)
                if n_unpacked > most:
                    _check_swelling(n_packed, n_unpacked, path, limit)
                if not rest and not unpacker.eof:
                    rest = stream.read(_CHUNK)
                    if not part and not rest:
                        raise ShapeFileError(f"{path} is cut off: its compressed text has no end.")
                if part:
                    yield part
            rest = unpacker.unused_data.lstrip(b"\0")
            while not rest and (more := stream.read(_CHUNK)):
                rest = more.lstrip(b"\0")
    except zlib.error as error:
        raise ShapeFileError(f"{path} is damaged: its compressed text cannot be unpacked ({error}).") from error


def check_regular(path: Path) -> None:
    """Refuse folders, and pipes, at which reading would wait for whoever writes to them.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    ShapeFileError
        If it is there, but no regular file.
    """
    if path.exists() and not path.is_file():
        raise ShapeFileError(f"{path} is no regular file.")


def read_head(path: Path, n_bytes: int = 8192) -> bytes:
    """Return the first bytes of a file, decompressed where it is gzip; damaged ends are cut off."""
    with path.open("rb") as stream:
        head = stream.read(n_bytes)
    if head[:2] != GZIP_MARK:
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, n_bytes)
    except zlib.error:
        return b""


def check_declared(n_declared: int, n_possible: int, what: str) -> None:
    """Refuse a count that the rest of the file cannot hold, before memory is asked for.

    Parameters
    ----------
    n_declared : int
        What the file says.
    n_possible : int
        The most that the bytes there are can hold.
    what : str
        What is counted, for the message.

    Raises
    ------
    ShapeFileError
        If the count is negative or more than possible.
    """
    if n_declared < 0 or n_declared > n_possible:
        raise ShapeFileError(f"{n_declared} {what} are declared, but there is room for at most {max(n_possible, 0)}.")


def zip_members(archive: zipfile.ZipFile, path: Path, limit: int = MAX_BYTES) -> list[zipfile.ZipInfo]:
    """Return the files of a zip archive, once its directory has been found harmless.

    Parameters
    ----------
    archive : ZipFile
        The archive, open for reading.
    path : Path
        Where it is, for messages.
    limit : int
        Most bytes of all members together.

    Returns
    -------
    list of ZipInfo
        Its members that are files, in the order of the archive.

    Raises
    ------
    ShapeFileError
        If a name climbs out of the archive, a member is encrypted, repeated or swells beyond measure.
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
    _check_swelling(n_packed, n_unpacked, path, limit)
    return members


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    """Return one file of a zip archive, no longer than its directory says.

    Parameters
    ----------
    archive : ZipFile
        The archive.
    member : ZipInfo
        One of :func:`zip_members`.
    path : Path
        Where the archive is, for messages.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    ShapeFileError
        If it is damaged or longer than declared.
    """
    try:
        with archive.open(member) as stream:
            content = stream.read(member.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise ShapeFileError(f"{path} is damaged: {member.filename!r} cannot be unpacked ({error}).") from error
    if len(content) != member.file_size:
        raise ShapeFileError(f"{path} is damaged: {member.filename!r} is not as long as declared.")
    return content


def check_inner_path(name: str, path: Path) -> None:
    """Refuse the name of an archive's member that leads out of the archive.

    Parameters
    ----------
    name : str
        The member's name.
    path : Path
        Where the archive is, for messages.

    Raises
    ------
    ShapeFileError
        If the name is absolute, has a drive or climbs.
    """
    inside, on_windows = PurePosixPath(name), PureWindowsPath(name)
    is_outside = inside.is_absolute() or on_windows.is_absolute() or bool(on_windows.drive)
    if is_outside or ".." in inside.parts or ".." in on_windows.parts or "\0" in name:
        raise ShapeFileError(f"{path} holds a file named {name!r}, which leads out of the archive: refused.")


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, sorted; links to folders are not followed, so loops cannot be.

    Parameters
    ----------
    folder : Path
        Where to look.

    Yields
    ------
    Path
        Files that are not hidden, nor in a hidden folder.
    """
    for name, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        for file in sorted(files):
            path = Path(name) / file
            if not file.startswith(".") and path.is_file():
                yield path


def _most_unpacked(n_packed: int, limit: int | None) -> int:
    believed = max(FREE_BYTES, min(MAX_RATIO * n_packed, max(LARGE_BYTES, LARGE_RATIO * n_packed)))
    return believed if limit is None else min(limit, believed)


def _check_swelling(n_packed: int, n_unpacked: int, path: Path, limit: int | None) -> None:
    if n_unpacked > _most_unpacked(n_packed, limit):
        raise ShapeFileError(
            f"{path} swells from {n_packed} to {n_unpacked} bytes or more when unpacked: refused, it looks like a "
            "trap; unpack it yourself if you trust it."
        )
