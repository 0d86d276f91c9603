"""Archives: ``.npz`` files of named arrays with a JSON header, the form of sets, models, checkpoints and codes.

All checks of such files are here: reading never unpickles, compares every declared size with the bytes that are there
before memory is asked for, and refuses what is cut off, repeated or compressed beyond measure. What is wrong is a
ValueError, whose text is a clause that begins with "it" or "its".
"""

import json
import math
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.files.guards import check_regular
from shapelex.shapes.preparation import FLAGS, LEFT_OUT, RESAMPLINGS, UNRECORDED, Preparation
from shapelex.shapes.storage import are_characters
from shapelex.spaces import BSpline, CustomSpace, HermiteSpline, Landmarks, Space

HEADER = "header"
HEADER_LIMIT = 1 << 24
"""Most bytes of a header: what JSON makes of more would not fit in memory."""

_KINDS = {
    "shapelex shapes": "a set of shapes: in Python, shapelex.read reads it",
    "shapelex model": "a model file: in Python, shapelex.load reads it",
    "shapelex codes": "a file of codes: in Python, shapelex.read_codes reads it",
}
_SPACES: dict[str, type[Landmarks] | type[BSpline] | type[HermiteSpline]] = {
    "Landmarks": Landmarks,
    "BSpline": BSpline,
    "HermiteSpline": HermiteSpline,
}
# Arrays below this size are not worth a map.
_SMALL_BYTES = 1 << 16

Arrays = dict[str, np.ndarray[Any, Any]]


def as_plain(value: Any) -> Any:
    """Return NumPy numbers as Python ones, which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def encode_header(header: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Return the array that holds a header; TypeError for a value that JSON does not have."""
    encoded = json.dumps(header).encode()
    if len(encoded) > HEADER_LIMIT:
        raise ValueError(f"its header has {len(encoded)} bytes, but a file holds at most {HEADER_LIMIT}")
    return np.frombuffer(encoded, dtype=np.uint8)


def write_archive(stream: BinaryIO, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write a header and arrays; arrays of Python objects are refused, since reading them would run code."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise ValueError(f"its array {name} holds Python objects, which are not written to files")
    # The argument allow_pickle is an array to store, for NumPy before 2.2.
    np.savez(stream, **arrays, **{HEADER: encode_header(header)})  # type: ignore[arg-type]


def read_archive(
    source: Path | BinaryIO,
    find_members: Callable[[zipfile.ZipFile], Iterable[zipfile.ZipInfo]] | None = None,
    *,
    mapped: bool = False,
) -> tuple[dict[str, Any], Arrays]:
    """Return the header, empty where there is none, and the arrays of an archive.

    `find_members` checks the directory of an archive that may be compressed; by default nothing may. With `mapped`,
    large arrays that are not compressed stay in the file.
    """
    arrays: Arrays = {}
    if isinstance(source, Path):
        check_regular(source)
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                for member in (find_members or _stored_members)(archive):
                    name = member.filename.removesuffix(".npy")
                    if name == member.filename or name in arrays:
                        raise ValueError(f"it holds {name!r}, which is not an array, or repeated")
                    is_plain = member.compress_type == zipfile.ZIP_STORED and member.compress_size == member.file_size
                    with archive.open(member) as part:
                        if mapped and is_plain and member.file_size >= _SMALL_BYTES:
                            arrays[name] = _map_array(part, member, stream)
                        else:
                            arrays[name] = read_array(part, member.file_size)
                            if not are_characters(arrays[name]):
                                raise ValueError(f"its text {name} has characters that do not exist")
        except (ValueError, MemoryError):
            raise
        # zipfile and NumPy's header parser raise almost anything on hostile bytes.
        except Exception as error:
            raise ValueError(f"it is damaged or no archive: {error}") from error
    encoded = arrays.pop(HEADER, None)
    return ({} if encoded is None else _decode_header(encoded)), arrays


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of an archive without its arrays; nothing where the file is not an archive of ours."""
    try:
        check_regular(path)
        with zipfile.ZipFile(path) as archive, archive.open(f"{HEADER}.npy") as part:
            return _decode_header(read_array(part, HEADER_LIMIT))
    # zipfile and NumPy's header parser raise almost anything on bytes that are none of ours.
    except Exception:
        return {}


def check_header(header: Mapping[str, Any], kind: str, version: int) -> None:
    """Refuse the header of an archive of another kind, or of a later version than this one reads."""
    if not header:
        raise ValueError("it has no header")
    found, number = header.get("format"), header.get("version")
    if found != kind:
        known = _KINDS.get(str(found))
        raise ValueError(f"it is {known}" if known else f"its header is of another kind, {found!r}")
    if type(number) is not int or number < 1:
        raise ValueError(f"its version is {number!r}")
    if number > version:
        raise ValueError(f"it has format version {number}, this shapelex reads up to {version}: upgrade shapelex")


def read_array(part: Any, n_bytes: int) -> np.ndarray[Any, Any]:
    """Return the array in a stream of at most `n_bytes` bytes; NumPy's parser may raise any error on hostile bytes."""
    shape, order, dtype = _read_array_header(part, n_bytes)
    n_content = math.prod(shape) * dtype.itemsize
    content = part.read(n_content)
    # Reading to the end checks the checksum of a zip member.
    if len(content) != n_content or part.read(1):
        raise ValueError("its array is shorter or longer than declared")
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype=dtype)
    return np.frombuffer(content, dtype=dtype).reshape(shape, order=order).copy()


def open_array(archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Open a member of an archive that takes the values of an array; its header is written."""
    part = archive.open(f"{name}.npy", "w", force_zip64=True)
    npy.write_array_header_1_0(part, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})
    return part


def describe_space(space: Space) -> tuple[dict[str, Any], Arrays]:
    """Return JSON values and arrays that stand for a space; one that holds functions is refused."""
    name = type(space).__name__
    if isinstance(space, Landmarks | BSpline | HermiteSpline):
        return {"type": name, **asdict(space)}, {}
    if isinstance(space, CustomSpace) and not space.has_basis:
        arrays = {"space_gram": np.asarray(space.gram), "space_shift": np.asarray(space.shift)}
        return {"type": name, "closed": space.closed}, arrays
    raise UnsupportedBySpaceError(f"{space} holds functions, which no file of data can hold")


def build_space(description: Mapping[str, Any], arrays: Arrays) -> Space:
    """Return the space that :func:`describe_space` described; its arrays are taken out of `arrays`."""
    arguments = dict(description)
    name = arguments.pop("type", None)
    if not isinstance(name, str) or (name != "CustomSpace" and name not in _SPACES):
        raise ValueError(f"its space is a {name!r}, which this shapelex does not know: upgrade shapelex")
    try:
        if name == "CustomSpace":
            return CustomSpace(arrays.pop("space_gram"), arrays.pop("space_shift"), **arguments)
        return _SPACES[name](**arguments)
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"its space cannot be built ({error})") from error


def preparation_to_json(preparation: Preparation | None) -> dict[str, Any]:
    """Return the entry of a file's header that :func:`preparation_of_header` reads; none for an unrecorded one."""
    if preparation is None:
        return {"preparation": None}
    return {"preparation": preparation.to_json()} if preparation.is_recorded else {}


def preparation_of_header(header: Any, n_coordinates: int) -> Preparation | None:
    """Return the preparation in the header of a file; raise ValueError where it is damaged."""
    if "preparation" not in header:
        return UNRECORDED
    value = header["preparation"]
    if value is None:
        return None
    try:
        resampling, registration = value["resampling"], value["registration"]
        if resampling is not None and resampling not in RESAMPLINGS:
            raise ValueError(f"resampling {resampling!r} is not known")
        left_out = tuple(value.get("left_out", ()))
        if not set(left_out) <= set(LEFT_OUT):
            raise ValueError(f"left_out {left_out!r} is not known")
        if registration is None:
            return Preparation(resampling, left_out=left_out)
        flags = {name: registration[name] for name in FLAGS}
        points = np.array(registration["mean"], dtype=np.float64)
        if points.shape != (n_coordinates, 2) or not np.isfinite(points).all():
            raise ValueError(f"its mean must be {n_coordinates} finite points, got shape {points.shape}")
        if not all(isinstance(flag, bool) for flag in flags.values()):
            raise ValueError(f"{', '.join(FLAGS)} must be true or false")
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"its preparation is damaged ({error})") from error
    return Preparation(resampling, points[:, 0] + 1j * points[:, 1], **flags, left_out=left_out)


def _stored_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members of an archive of ours, none of which is compressed."""
    members = archive.infolist()
    assert archive.fp is not None
    if sum(member.file_size for member in members) > archive.fp.seek(0, 2):
        raise ValueError("it declares more data than it holds")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("it has compressed members, which shapelex does not write")
    return members


def _decode_header(encoded: np.ndarray[Any, Any]) -> dict[str, Any]:
    if encoded.dtype != np.uint8 or encoded.ndim != 1 or encoded.size > HEADER_LIMIT:
        raise ValueError(f"its header is not text of at most {HEADER_LIMIT} bytes")
    try:
        header = json.loads(encoded.tobytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise ValueError("its header is of another kind")
    return header


def _map_array(part: Any, member: zipfile.ZipInfo, stream: Any) -> np.ndarray[Any, Any]:
    """Return an array of an archive where it is in the file."""
    shape, order, dtype = _read_array_header(part, member.file_size)
    n_header = part.tell()
    if n_header + math.prod(shape) * dtype.itemsize != member.file_size:
        raise ValueError("its array is shorter or longer than declared")
    # The name and the extra field of a member may be longer here than in the directory of the archive.
    stream.seek(member.header_offset + 26)
    n_extra = sum(struct.unpack("<HH", stream.read(4)))
    return np.memmap(stream.name, dtype, "r", member.header_offset + 30 + n_extra + n_header, shape, order)


def _read_array_header(part: Any, n_bytes: int) -> tuple[tuple[int, ...], Any, np.dtype[Any]]:
    """Return shape, order ("C" or "F") and type as declared; the stream is then at the values."""
    version = npy.read_magic(part)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"its array has the unknown version {version}")
    shape, is_fortran, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(part)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read")
    shape = tuple(map(int, shape))
    n_content = math.prod(shape) * max(dtype.itemsize, 1)
    # Each length by itself, too: beside a length of zero any other would do.
    if any(length < 0 or length > n_bytes for length in shape) or n_content > n_bytes:
        raise ValueError(f"its array of shape {shape} does not fit in {n_bytes} bytes")
    return shape, "F" if is_fortran else "C", dtype
