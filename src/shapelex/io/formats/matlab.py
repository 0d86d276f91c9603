"""Worm Tracker 2 feature files: a MATLAB file comes in, one record for each frame that has a skeleton goes out.

The skeletons are in ``worm.posture.skeleton.x`` and ``.y``, ``(n_points, n_frames)`` each, in micrometers, and the
frame rate is in ``info.video.resolution.fps``. Any other variable is read by its name: a struct with x and y like
those, or an array ``(n, n_points, 2)`` or complex ``(n, n_points)``, or in another order of axes that the caller names.
Files of MATLAB 7.3 are HDF5 inside. Those of versions 5 to 7.2 are parsed
here rather than by SciPy, which crashes on some damaged files: every count is compared with the bytes
that are there, and of a struct only the fields on the way to the points are read.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_library
from shapelex._messages import format_option
from shapelex._typing import ComplexArray
from shapelex._validation import points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import FREE_BYTES, MAX_RATIO, read_bytes, refusing
from shapelex.io.formats.hdf5 import PointAxes, check_axes, follow, read_values
from shapelex.io.records import Record, Remark
from shapelex.io.series import as_rate, check_max_gap, series_records
from shapelex.shapes.columns import FPS

_SKELETON = "worm.posture.skeleton"
_RATE = "info.video.resolution.fps"
_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_STRUCT = 2
_NUMERIC_CLASSES = range(6, 16)
_IS_COMPLEX = 0x0800
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MAX_NAME = 64


def read_records(
    path: Path,
    *,
    variable: str = _SKELETON,
    axes: str | None = None,
    max_gap: int | None = None,
    y_down: bool = False,
) -> Iterator[Record | Remark]:
    """Yield a record for each frame that has a skeleton.

    Parameters
    ----------
    path : Path
        File to read.
    variable : str, default: "worm.posture.skeleton"
        Variable to read, with the fields of structs after dots.
    axes : str, optional
        Order of the axes n (shapes), p (points) and c (x and y), such as "pcn"; "npc" when not given.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps all in one sequence.
    y_down : bool, default: False
        Whether y points down in the file; it is then negated.
    """
    check_max_gap(max_gap)
    check_axes(axes)
    source = f"{path}: {variable}"
    with refusing(path, "a MATLAB file"):
        with path.open("rb") as file:
            header = file.read(_HEADER)
        known = {b"MATLAB 7.3": _read_version_7_3, b"MATLAB 5.0": _read_version_5}
        read_variable = known.get(header[:10])
        if read_variable is None:
            raise ShapeFileError(f"{path} is no MATLAB file of version 5 to 7.3: save it with '-v7' in MATLAB.")
        found = read_variable(path, variable)
        if isinstance(found, dict):
            points = _from_columns(found["x"], found["y"], source)
        else:
            points = PointAxes.find(found.dtype, found.shape, source, axes).as_rows(found)
    try:
        rate = as_rate(read_variable(path, _RATE))
    except Exception:  # files of other programs have no such variable, or something else under its name
        rate = None
    is_known = variable == _SKELETON
    about = {**({} if rate is None else {FPS: rate}), **({"units": "µm"} if is_known else {})}
    points = points.conj() if y_down else points
    closed = False if is_known else None
    yield from series_records(points, None, None, path.stem, max_gap=max_gap, closed=closed, about=about)


def _from_columns(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], source: str) -> ComplexArray:
    """Return frames as rows from x and y of shape ``(n_points, n_frames)``."""
    if x.dtype.kind not in "iuf" or y.dtype.kind not in "iuf" or x.ndim != 2 or x.shape != y.shape:
        raise ShapeFileError(
            f"{source} must have x and y of one shape (n_points, n_frames), got {x.dtype} {x.shape} and "
            f"{y.dtype} {y.shape}."
        )
    return points_to_complex(np.stack([x.T, y.T], axis=-1).astype(float))


def _read_version_7_3(path: Path, variable: str) -> Any:
    """Return the array of a variable, or the arrays x and y of a struct."""
    h5py = load_library("h5py", "h5py", "Reading MATLAB files of version 7.3")
    name = variable.replace(".", "/")
    with h5py.File(path, "r") as file:
        found = follow(file, name, path)
        is_struct = isinstance(found, h5py.Group)
        parts = {axis: follow(file, f"{name}/{axis}", path) for axis in "xy"} if is_struct else {"": found}
        if not all(isinstance(part, h5py.Dataset) for part in parts.values()):
            raise ShapeFileError(
                f"{path} has no variable {variable!r}: name another with {format_option('variable=')}."
            )
        # MATLAB stores arrays column by column, so h5py sees the axes in reverse order.
        arrays = {axis: read_values(part, name, path).T for axis, part in parts.items()}
    return arrays if is_struct else arrays[""]


def _read_version_5(path: Path, variable: str) -> Any:
    """Return the array of a variable, or the arrays x and y of a struct."""
    name, *fields = variable.split(".")
    found = find_variable(read_bytes(path), name)
    if found is None:
        raise ShapeFileError(f"{path} has no variable {name!r}: name another with {format_option('variable=')}.")
    for field in fields:
        inner = found.fields() if found.is_struct else {}
        if field not in inner:
            raise ShapeFileError(
                f"{path}: {variable!r} is no struct with a field {field!r}: name another with "
                f"{format_option('variable=')}."
            )
        found = inner[field]
    if not found.is_struct:
        return found.numbers()
    inner = found.fields()
    if not {"x", "y"} <= set(inner):
        raise ShapeFileError(f"{path}: {variable!r} has no fields x and y, but {', '.join(list(inner)[:8])}.")
    return {axis: inner[axis].numbers() for axis in "xy"}


@dataclass(frozen=True)
class _Matrix:
    """A value in a file of version 5, read as far as its name; fields or numbers can be asked for once."""

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

    def fields(self) -> "dict[str, _Matrix]":
        """Return the fields of a struct."""
        (length,) = struct.unpack(f"{self.order}i", _next(self.rest)[1][:4])
        names = bytes(_next(self.rest)[1])
        if not 0 < length <= _MAX_NAME:
            raise ValueError(f"names of fields are {length} bytes long")
        starts = range(0, len(names) - len(names) % length, length)
        keys = [names[start : start + length].split(b"\0")[0].decode("ascii") for start in starts]
        return {key: _open_matrix(_next(self.rest), self.order) for key in keys}

    def numbers(self) -> np.ndarray[Any, Any]:
        """Return an array of numbers."""
        if self.kind not in _NUMERIC_CLASSES:
            raise ValueError("it is no array of numbers")
        parts = []
        for _ in range(2 if self.flags & _IS_COMPLEX else 1):
            kind, data = _next(self.rest)
            if kind not in _TYPES:
                raise ValueError(f"numbers of type {kind} are unknown")
            dtype = np.dtype(f"{self.order}{_TYPES[kind]}")
            if len(data) != math.prod(self.shape) * dtype.itemsize:
                raise ValueError(f"an array of shape {self.shape} has {len(data)} bytes")
            values = np.frombuffer(data, dtype=dtype).astype(dtype.newbyteorder("="))
            parts.append(values.reshape(self.shape, order="F"))
        if len(parts) == 1:
            return parts[0]
        values = parts[0].astype(np.complex128)
        values.imag = parts[1]
        return values


def find_variable(content: bytes, name: str) -> _Matrix | None:
    """Return the variable of that name in the bytes of a file of version 5, or None."""
    order = "<" if content[_HEADER - 2 : _HEADER] == b"IM" else ">"
    for kind, data in _elements(memoryview(content)[_HEADER:], order):
        if kind == _COMPRESSED:
            # The first bytes tell the name, which saves unpacking all other variables.
            head = zlib.decompressobj().decompress(data, 8 + 8 * (4 + 16 + _MAX_NAME))
            if name.encode() not in head:
                continue
            limit = max(FREE_BYTES, MAX_RATIO * len(data))
            unpacked = zlib.decompressobj().decompress(data, limit + 1)
            if len(unpacked) > limit:
                raise ShapeFileError(f"A variable swells from {len(data)} to more than {limit} bytes: refused.")
            kind, data = _next(_elements(memoryview(unpacked), order))
        if kind == _MATRIX and data:
            found = _open_matrix((kind, data), order)
            if found.name == name:
                return found
    return None


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield type and bytes of the elements that follow each other in `data`."""
    place = 0
    while place + 8 <= len(data):
        kind, n_bytes = struct.unpack(f"{order}II", data[place : place + 8])
        start = place + 8
        if kind >> 16:
            # Up to four bytes are kept in the tag itself.
            kind, n_bytes, start = kind & 0xFFFF, kind >> 16, place + 4
            if n_bytes > 4:
                raise ValueError("a short element is too long")
        if start + n_bytes > len(data):
            raise ValueError("it is cut off")
        yield kind, data[start : start + n_bytes]
        # Elements fill multiples of eight bytes with their tags, but for compressed ones.
        n_element = start - place + n_bytes
        place += n_element if kind == _COMPRESSED else n_element + -n_element % 8


def _next(parts: Iterator[tuple[int, memoryview]]) -> tuple[int, memoryview]:
    part = next(parts, None)
    if part is None:
        raise ValueError("a part is missing")
    return part


def _open_matrix(element: tuple[int, memoryview], order: str) -> _Matrix:
    """Return an array or struct, read as far as its name."""
    if element[0] != _MATRIX:
        raise ValueError(f"an array was expected, got an element of type {element[0]}")
    if not element[1]:
        return _Matrix(_NUMERIC_CLASSES[0], 0, (0, 0), "", iter([(9, element[1])]), order)
    parts = _elements(element[1], order)
    head, lengths, name = _next(parts)[1], _next(parts)[1], _next(parts)[1]
    if len(head) < 8 or not 8 <= len(lengths) <= 128 or len(lengths) % 4:
        raise ValueError("an array has no head")
    (flags,) = struct.unpack(f"{order}I", head[:4])
    shape = struct.unpack(f"{order}{len(lengths) // 4}i", lengths)
    if min(shape) < 0:
        raise ValueError(f"an array has the shape {shape}")
    return _Matrix(flags & 0xFF, flags, shape, bytes(name).decode("latin-1"), parts, order)
