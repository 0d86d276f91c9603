"""Sets of shapes as ``.npz``: plain arrays, readable by NumPy alone.

In comes a file; out goes a set, and back. Files need only ``points``; ``closed``, ``kind`` (``landmarks``, ``hermite``,
``bspline``), ``ids``, ``labels`` and ``sequence`` are used where they are, and any other array with one entry a shape
becomes metadata. Files of ours also have a JSON header, which brings back the space, the notes and the provenance.
Nothing is unpickled.
"""

import json
import logging
import math
import os
import re
import shutil
import struct
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from shapelex._validation import points_to_complex
from shapelex.exceptions import ShapeFileError, ShapelexError, UnsupportedBySpaceError, reason_of
from shapelex.io.guards import MAX_BYTES, zip_members
from shapelex.io.stored_shapes import METADATA, SHAPES_FORMAT, ShapeBlocks, StoredShapes, as_stored, column_of
from shapelex.shapes import ShapeSet
from shapelex.shapes.preparation import preparation_of_header, preparation_to_json
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space, to_points
from shapelex.store.folders import work_folder
from shapelex.store.npy_array import read_array, read_array_header, write_arrays
from shapelex.store.space_description import build_space, describe_space

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1

_HEADER = "header"
_RESERVED = ("points", "closed", "kind", "ids", "labels", "sequence", _HEADER, "space_gram", "space_shift")
_ID_KEYS = ("ids", "names")
# Arrays below this size are not worth a map.
_SMALL_BYTES = 1 << 16
_KINDS = ("landmarks", "bspline", "hermite")


def read_set(path: Path) -> ShapeSet:
    """Return the set that a file holds."""
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            arrays = _read_arrays(archive, path)
    except (FileNotFoundError, PermissionError, ShapeFileError, MemoryError):
        raise
    # zipfile and NumPy's header parser raise almost anything on hostile bytes.
    except Exception as error:
        raise ShapeFileError(f"{path} is damaged or no .npz file: {error}") from error
    try:
        header = _read_header(arrays.pop(_HEADER, None))
        parts = _from_header(header, arrays) if header else _from_plain_arrays(arrays)
        return ShapeSet(_as_points(parts.pop("points")), **parts)
    except (ShapelexError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise ShapeFileError(f"{path} cannot be read as shapes: {reason_of(error)}.") from error


def open_set(path: Path) -> StoredShapes:
    """Return the set that a file holds, where it lies: its arrays are mapped, but for those that are compressed."""
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            arrays = {
                member.filename.removesuffix(".npy"): _map_member(archive, member, path)
                for member in _members(archive, path)
            }
        header = _read_header(arrays.pop(_HEADER, None))
        parts = _from_header(header, arrays) if header else _from_plain_arrays(arrays)
        return StoredShapes(_view_points(parts.pop("points")), **parts)
    except (FileNotFoundError, PermissionError, MemoryError):
        raise
    # zipfile and NumPy's header parser raise almost anything on hostile bytes.
    except Exception as error:
        raise ShapeFileError(f"{path} cannot be read as shapes: {reason_of(error)}.") from error


def write_set(shapes: ShapeSet, stream: BinaryIO) -> None:
    """Write a set to a stream."""
    arrays, keys = _describe(shapes.space), _column_keys(as_stored(shapes).columns)
    arrays |= {"points": to_points(shapes.configurations), "closed": np.array(shapes.closed)}
    arrays |= {key: column_of(shapes, name) for name, key in keys.items()}
    arrays[_HEADER] = _encode_header(shapes, keys)
    write_arrays(stream, arrays)


def write_blocks(shapes: ShapeBlocks, path: Path) -> None:
    """Write a set block by block, whole or not at all: the same file as of a set in memory."""
    arrays, keys = _describe(shapes.space), _column_keys(shapes.columns)
    arrays |= {"closed": np.array(shapes.space.closed), _HEADER: _encode_header(shapes, keys)}
    n_shapes, n_coordinates = shapes.shape
    real = np.empty(0, dtype=shapes.dtype).real.dtype

    with work_folder(path) as folder, ExitStack() as stack:
        stream = stack.enter_context((folder / "archive").open("wb"))
        archive = stack.enter_context(zipfile.ZipFile(stream, "w", allowZip64=True))
        # A member of an archive is written in one go, so columns wait in files until the points are done.
        columns = {name: stack.enter_context((folder / key).open("w+b")) for name, key in keys.items()}
        n_written = 0
        with _open_member(archive, "points", real, (n_shapes, n_coordinates, 2)) as part:
            for block in shapes.blocks():
                part.write(np.ascontiguousarray(block.configurations, dtype=shapes.dtype).data.cast("B"))
                for name, file in columns.items():
                    file.write(np.ascontiguousarray(column_of(block, name), dtype=shapes.columns[name]).tobytes())
                n_written += len(block)
                logger.debug("%d of %d shapes", n_written, n_shapes)
        for name, file in columns.items():
            file.seek(0)
            with _open_member(archive, keys[name], shapes.columns[name], (n_shapes,)) as part:
                shutil.copyfileobj(file, part, 1 << 20)
        for key, array in arrays.items():
            with _open_member(archive, key, array.dtype, array.shape) as part:
                part.write(array.tobytes())
        archive.close()
        os.fsync(stream.fileno())
        (folder / "archive").replace(path.resolve())


def _describe(space: Space) -> dict[str, np.ndarray[Any, Any]]:
    try:
        _, arrays = describe_space(space)
    except UnsupportedBySpaceError as error:
        raise ShapeFileError(f"{error}: sample the curves, or pickle the set.") from error
    kinds = {Landmarks: "landmarks", BSpline: "bspline", HermiteSpline: "hermite"}
    return {**arrays, "kind": np.array(kinds.get(type(space), "custom"))}


def _column_keys(columns: Iterable[str]) -> dict[str, str]:
    """Return the names of the arrays that hold columns."""
    own = {name: name for name in columns if not name.startswith(METADATA)}
    others = [name for name in columns if name.startswith(METADATA)]
    return own | {name: _key(name.removeprefix(METADATA), place) for place, name in enumerate(others)}


def _encode_header(shapes: ShapeSet | ShapeBlocks, keys: dict[str, str]) -> np.ndarray[Any, Any]:
    header = {
        "format": SHAPES_FORMAT,
        "version": FORMAT_VERSION,
        "space": describe_space(shapes.space)[0],
        "columns": {name.removeprefix(METADATA): key for name, key in keys.items() if name.startswith(METADATA)},
        "missing": shapes.missing,
        "notes": list(shapes.notes),
        "provenance": dict(shapes.provenance),
        **preparation_to_json(shapes.preparation),
    }
    try:
        return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    except TypeError as error:
        raise ShapeFileError(f"The provenance of the set must be JSON values ({error}).") from error


def _open_member(archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Open a file of an archive that takes the values of an array; its header is written."""
    part = archive.open(f"{name}.npy", "w", force_zip64=True)
    npy.write_array_header_1_0(part, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})
    return part


def _key(name: str, place: int) -> str:
    """Return the name of a column's array: its own where that is a plain word that means nothing else."""
    is_plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name) is not None and not name.startswith("metadata_")
    # The last two are arguments of numpy.savez.
    is_free = name not in (*_RESERVED, *_ID_KEYS, "file", "allow_pickle")
    return name if is_plain and is_free else f"metadata_{place}"


def _members(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    """Return the files of an archive; what is not compressed may be as large as it is."""
    return zip_members(archive, path, max(MAX_BYTES, path.stat().st_size))


def _read_arrays(archive: zipfile.ZipFile, path: Path) -> dict[str, np.ndarray[Any, Any]]:
    arrays = {}
    for member in _members(archive, path):
        if not member.filename.endswith(".npy"):
            raise ShapeFileError(f"{path} holds {member.filename!r}, which is no array: it is no .npz file.")
        with archive.open(member) as part:
            arrays[member.filename.removesuffix(".npy")] = read_array(part, member.file_size)
    return arrays


def _read_header(encoded: np.ndarray[Any, Any] | None) -> dict[str, Any]:
    if encoded is None:
        return {}
    if encoded.dtype != np.uint8 or encoded.ndim != 1:
        raise ValueError("its header is no text")
    try:
        header = json.loads(encoded.tobytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its header is no JSON ({error})") from error
    if not isinstance(header, dict) or header.get("format") != SHAPES_FORMAT:
        what = header.get("format") if isinstance(header, dict) else None
        if what == "shapelex model":
            raise ValueError("it is a model file: load(path) reads it")
        raise ValueError(f"its header is of another kind, {what!r}")
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"its version is {version!r}")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"it has format version {version}, this shapelex reads up to {FORMAT_VERSION}: upgrade shapelex"
        )
    return header


def _from_header(header: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    parts: dict[str, Any] = {name: header.get(name) for name in ("space", "columns", "notes", "provenance", "missing")}
    is_sound = all(isinstance(parts[name], dict) for name in ("space", "columns", "provenance"))
    if not is_sound or not isinstance(parts["notes"], list) or "points" not in arrays:
        raise ValueError("its header is incomplete")
    space = build_space(parts["space"], arrays)
    absent = [key for key in parts["columns"].values() if key not in arrays]
    if absent:
        raise ValueError(f"its header names columns that are not there: {', '.join(map(str, absent))}")
    return {
        "points": arrays["points"],
        "space": space,
        "ids": arrays.get("ids"),
        "labels": arrays.get("labels"),
        "sequence": arrays.get("sequence"),
        "metadata": {name: arrays[key] for name, key in parts["columns"].items()},
        "missing": parts["missing"],
        "notes": tuple(map(str, parts["notes"])),
        "provenance": parts["provenance"],
        "preparation": preparation_of_header(header, space.n_coordinates),
    }


def _from_plain_arrays(arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    if "points" not in arrays:
        named = ", ".join(sorted(arrays)[:8]) or "nothing"
        raise ValueError(f'it has no array "points" of shape (n_shapes, n_points, 2), but {named}')
    points = arrays.pop("points")
    _check_points(points)
    closed = arrays.pop("closed", np.array(False))
    if closed.size != 1 or closed.dtype.kind not in "biu":
        raise ValueError(f'"closed" must be one boolean, got shape {closed.shape}')
    kind = arrays.pop("kind", np.array("landmarks"))
    space = _space_of_kind(str(kind.item()) if kind.size == 1 else "?", points.shape[1], bool(closed.item()))
    id_key = next((key for key in _ID_KEYS if key in arrays), None)
    ids = None if id_key is None else arrays.pop(id_key)
    labels, sequence = arrays.pop("labels", None), arrays.pop("sequence", None)
    columns = {name: column for name, column in arrays.items() if column.shape == points.shape[:1]}
    left_out = sorted(set(arrays) - set(columns))
    return {
        "points": points,
        "space": space,
        "ids": ids,
        "labels": None if labels is not None and labels.dtype.kind == "U" and not (labels != "").any() else labels,
        "sequence": sequence,
        "metadata": columns,
        "missing": "allow",
        "notes": (f"arrays that are no columns were not read: {', '.join(left_out)}",) if left_out else (),
    }


def _space_of_kind(kind: str, n_coordinates: int, closed: bool) -> Space:
    if kind == "landmarks":
        return Landmarks(n_coordinates, closed=closed)
    if kind == "bspline":
        return BSpline(n_coordinates, closed=closed)
    if kind == "hermite":
        if n_coordinates % 2:
            raise ValueError(f"Hermite splines have as many tangents as points, but there are {n_coordinates} in all")
        return HermiteSpline(n_coordinates // 2, closed=closed)
    raise ValueError(f'"kind" must be one of {", ".join(_KINDS)}, got {kind!r}')


def _map_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> np.ndarray[Any, Any]:
    """Return an array of an archive where it lies in the file; in memory where it is small or compressed."""
    if not member.filename.endswith(".npy"):
        raise ValueError(f"it holds {member.filename!r}, which is no array")
    is_plain = member.compress_type == zipfile.ZIP_STORED and member.compress_size == member.file_size
    with archive.open(member) as part:
        if not is_plain or member.file_size < _SMALL_BYTES:
            return read_array(part, member.file_size)
        shape, is_fortran, dtype = read_array_header(part, member.file_size)
        n_header = part.tell()
        if n_header + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError("an array is shorter or longer than declared")
    with path.open("rb") as stream:
        # The name and the extra field of a member may be longer here than in the directory of the archive.
        stream.seek(member.header_offset)
        fixed = stream.read(30)
        n_name, n_extra = struct.unpack("<HH", fixed[26:30])
    start = member.header_offset + 30 + n_name + n_extra
    return np.memmap(path, dtype, "r", start + n_header, shape, "F" if is_fortran else "C")


def _view_points(points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return real points as complex numbers without a copy, where the bytes are the same."""
    _check_points(points)
    as_complex = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}.get(points.dtype)
    if as_complex is None or not points.flags.c_contiguous:
        return points
    return points.view(as_complex)[..., 0]


def _as_points(points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    _check_points(points)
    return points if points.dtype.kind == "c" else points_to_complex(points)


def _check_points(points: np.ndarray[Any, Any]) -> None:
    if points.size == 0:
        raise ValueError(f"it holds no shape: its points have shape {points.shape}")
    if points.dtype.kind == "c" and points.ndim == 2:
        return
    if points.dtype.kind not in "iuf" or points.ndim != 3 or points.shape[2] != 2:
        raise ValueError(
            f'"points" must be numbers of shape (n_shapes, n_points, 2), got dtype {points.dtype}, shape {points.shape}'
        )
