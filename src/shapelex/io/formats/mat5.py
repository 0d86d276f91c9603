"""MATLAB files of versions 5 to 7.2: the bytes and the name of a variable come in, its numbers or fields go out.

Only what holds shapes is read: arrays of numbers, and structs on the way to them. Nothing is allocated on the word of
the file alone: every count is compared with the bytes that are there.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import FREE_BYTES, MAX_RATIO

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_STRUCT = 2
_NUMERIC_CLASSES = range(6, 16)
_IS_COMPLEX = 0x0800
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MAX_NAME = 64


class Mat5Error(ValueError):
    """The bytes break the rules of the format."""


@dataclass(frozen=True)
class Matrix:
    """A value in the file, read as far as its name.

    Parameters
    ----------
    kind : int
        MATLAB's number for its class.
    flags : int
        Whether it is complex, global or logical.
    shape : tuple of int
        Its declared shape.
    name : str
        Its name; empty for fields of a struct.
    rest : iterator of (int, memoryview)
        The elements of its content, not read yet: fields or numbers can be asked for once.
    order : str
        Byte order, as :mod:`struct` has it.
    """

    kind: int
    flags: int
    shape: tuple[int, ...]
    name: str
    rest: Iterator[tuple[int, memoryview]]
    order: str

    @property
    def is_struct(self) -> bool:
        """Whether it has fields, and each once."""
        return self.kind == _STRUCT and math.prod(self.shape) == 1

    def fields(self) -> "dict[str, Matrix]":
        """Return the fields of a struct."""
        parts = self.rest
        (length,) = struct.unpack(f"{self.order}i", _next(parts)[1][:4])
        names = bytes(_next(parts)[1])
        if not 0 < length <= _MAX_NAME:
            raise Mat5Error(f"names of fields are {length} bytes long")
        starts = range(0, len(names) - len(names) % length, length)
        keys = [names[start : start + length].split(b"\0")[0].decode("ascii") for start in starts]
        return {key: _open_matrix(_next(parts), self.order) for key in keys}

    def numbers(self) -> np.ndarray[Any, Any]:
        """Return an array of numbers."""
        if self.kind not in _NUMERIC_CLASSES:
            raise Mat5Error("it is no array of numbers")
        values = self._part(_next(self.rest))
        if self.flags & _IS_COMPLEX:
            values = values.astype(np.complex128)
            values.imag = self._part(_next(self.rest))
        return values.reshape(self.shape, order="F")

    def _part(self, element: tuple[int, memoryview]) -> np.ndarray[Any, Any]:
        if element[0] not in _TYPES:
            raise Mat5Error(f"numbers of type {element[0]} are unknown")
        dtype = np.dtype(f"{self.order}{_TYPES[element[0]]}")
        if len(element[1]) != math.prod(self.shape) * dtype.itemsize:
            raise Mat5Error(f"an array of shape {self.shape} has {len(element[1])} bytes")
        return np.frombuffer(element[1], dtype=dtype).astype(dtype.newbyteorder("="))


def find_variable(content: bytes, name: str) -> Matrix | None:
    """Return the variable of that name, or None.

    Parameters
    ----------
    content : bytes
        The whole file.
    name : str
        Name of the variable.

    Returns
    -------
    Matrix or None
        The variable, its content still to be read.

    Raises
    ------
    Mat5Error
        If the file is damaged.
    ShapeFileError
        If a variable swells beyond measure when unpacked.
    """
    order = "<" if content[_HEADER - 2 : _HEADER] == b"IM" else ">"
    for kind, data in _elements(memoryview(content)[_HEADER:], order):
        if kind == _COMPRESSED:
            # The first bytes tell the name, which saves unpacking all other variables.
            head = zlib.decompressobj().decompress(data, 8 + 8 * (4 + 16 + _MAX_NAME))
            if name.encode() not in head:
                continue
            kind, data = _next(_elements(memoryview(_unpack(data)), order))
        if kind == _MATRIX and data:
            found = _open_matrix((kind, data), order)
            if found.name == name:
                return found
    return None


def _unpack(data: memoryview) -> bytes:
    limit = max(FREE_BYTES, MAX_RATIO * len(data))
    unpacked = zlib.decompressobj().decompress(data, limit + 1)
    if len(unpacked) > limit:
        raise ShapeFileError(f"A variable swells from {len(data)} to more than {limit} bytes: refused.")
    return unpacked


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield type and bytes of the elements that follow each other in `data`."""
    place = 0
    while place + 8 <= len(data):
        kind, n_bytes = struct.unpack(f"{order}II", data[place : place + 8])
        if kind >> 16:
            # Up to four bytes are kept in the tag itself.
            kind, n_bytes, start, end = kind & 0xFFFF, kind >> 16, place + 4, place + 8
            if n_bytes > 4:
                raise Mat5Error("a short element is too long")
        else:
            start = place + 8
            padding = 0 if kind == _COMPRESSED else -n_bytes % 8
            end = start + n_bytes + padding
        if start + n_bytes > len(data):
            raise Mat5Error("it is cut off")
        yield kind, data[start : start + n_bytes]
        place = end


def _next(parts: Iterator[tuple[int, memoryview]]) -> tuple[int, memoryview]:
    part = next(parts, None)
    if part is None:
        raise Mat5Error("a part is missing")
    return part


def _open_matrix(element: tuple[int, memoryview], order: str) -> Matrix:
    if element[0] != _MATRIX:
        raise Mat5Error(f"an array was expected, got an element of type {element[0]}")
    if not element[1]:
        return Matrix(_NUMERIC_CLASSES[0], 0, (0, 0), "", iter([(9, element[1])]), order)
    parts = _elements(element[1], order)
    head, lengths, name = _next(parts)[1], _next(parts)[1], _next(parts)[1]
    if len(head) < 8 or not 8 <= len(lengths) <= 128 or len(lengths) % 4:
        raise Mat5Error("an array has no head")
    (flags,) = struct.unpack(f"{order}I", head[:4])
    shape = struct.unpack(f"{order}{len(lengths) // 4}i", lengths)
    if min(shape) < 0:
        raise Mat5Error(f"an array has the shape {shape}")
    return Matrix(flags & 0xFF, flags, shape, bytes(name).decode("latin-1"), parts, order)
