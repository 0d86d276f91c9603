"""Text of variable length in HDF5 files, read only where none is longer than the file.

HDF5 keeps such text elsewhere in the file, behind a number of bytes, an address and an index, and takes as much memory
as that number says before it looks at the address: 4 GiB for four damaged bytes. It offers no way to see the number, so
the header of an object is gone through here, as the HDF5 File Format Specification (version 3, section IV.A) describes
it. Not checked are attributes outside the header, where objects with very many have them, and text in chunks.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from shapelex.exceptions import ShapeFileError

if TYPE_CHECKING:
    import h5py

_ATTRIBUTE, _CONTINUATION = 0x0C, 0x10
_VARIABLE_LENGTH = 9
_REFERENCE_BYTES = 16
# Far above what a header has.
_MAX_BLOCKS, _MAX_BLOCK_BYTES = 64, 1 << 24


def attributes_of(found: "h5py.Dataset | h5py.Group", path: Path) -> Any:
    """Return the attributes of an object; refuse those of text that is longer than the file."""
    import h5py

    if len(found.attrs):
        with path.open("rb") as stream:
            for message in _attribute_messages(stream, h5py.h5o.get_info(found.id).addr, found.file.userblock_size):
                _check(_attribute_lengths(message), f"an attribute of {found.name!r}", path)
    return found.attrs


def check_text(found: "h5py.Dataset", path: Path) -> None:
    """Refuse a dataset of text that is longer than the file."""
    start = found.id.get_offset()
    if found.dtype.kind == "O" and start is not None:
        with path.open("rb") as stream:
            # Unlike addresses of objects, this one counts from the start of the file.
            references = _read(stream, start, _REFERENCE_BYTES * found.size)
        _check(_lengths(references), repr(found.name), path)


def _check(lengths: list[int], name: str, path: Path) -> None:
    longest = max(lengths, default=0)
    if longest > path.stat().st_size:
        raise ShapeFileError(f"{path} is damaged: {name} declares {longest} bytes of text, more than the file has.")


def _attribute_messages(stream: BinaryIO, address: int, n_before: int) -> Iterator[bytes]:
    """Yield the messages of an object's header that are attributes; `n_before` bytes of the file come before HDF5's."""
    head = _read(stream, address + n_before, 64)
    is_new = head[:4] == b"OHDR"
    if is_new:
        flags = head[5]
        place = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        n_size = 1 << (flags & 3)
        blocks = [(address + place + n_size, _integer(head, place, n_size))]
        n_head = 4 + (2 if flags & 4 else 0)
    else:
        blocks = [(address + 16, _integer(head, 8, 4))]
        n_head = 8
    for _ in range(_MAX_BLOCKS):
        if not blocks:
            return
        start, n_bytes = blocks.pop(0)
        block = _read(stream, start + n_before, min(n_bytes, _MAX_BLOCK_BYTES))
        place = 0
        while place + n_head <= len(block):
            kind, n_content = (block[place], _integer(block, place + 1, 2)) if is_new else _old_message(block, place)
            content = block[place + n_head : place + n_head + n_content]
            place += n_head + n_content
            if kind == _ATTRIBUTE:
                yield content
            elif kind == _CONTINUATION:
                start, n_bytes = _integer(content, 0, 8), _integer(content, 8, 8)
                # Newer blocks begin with a mark and end with a checksum.
                blocks.append((start + 4, max(n_bytes - 8, 0)) if is_new else (start, n_bytes))


def _old_message(block: bytes, place: int) -> tuple[int, int]:
    return _integer(block, place, 2), _integer(block, place + 2, 2)


def _attribute_lengths(message: bytes) -> list[int]:
    """Return the lengths that the texts of an attribute declare; nothing for other kinds."""
    version, n_head = message[:1], 9 if message[:1] == b"\3" else 8
    sizes = [_integer(message, place, 2) for place in (2, 4, 6)]
    if version == b"\1":
        # The oldest messages fill each part up to eight bytes.
        sizes = [-(-size // 8) * 8 for size in sizes]
    kind = message[n_head + sizes[0] : n_head + sizes[0] + 1]
    if not kind or kind[0] & 0x0F != _VARIABLE_LENGTH:
        return []
    return _lengths(message[n_head + sum(sizes) :])


def _lengths(references: bytes) -> list[int]:
    last = len(references) - _REFERENCE_BYTES
    return [_integer(references, place, 4) for place in range(0, last + 1, _REFERENCE_BYTES)]


def _read(stream: BinaryIO, start: int, n_bytes: int) -> bytes:
    stream.seek(start)
    return stream.read(n_bytes)


def _integer(content: bytes, place: int, n_bytes: int) -> int:
    return int.from_bytes(content[place : place + n_bytes], "little")
