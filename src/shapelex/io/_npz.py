"""Sets of shapes as ``.npz``: plain arrays, readable by NumPy alone.

In comes a file; out goes a set, and back. Files need only ``points``; ``closed``, ``kind`` (``landmarks``, ``hermite``,
``bspline``), ``ids``, ``labels`` and ``sequence`` are used where they are, and any other array with one entry a shape
becomes metadata. Files of ours also have a JSON header, which brings back the space, the notes and the provenance.
Nothing is unpickled.
"""

import json
import re
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shapelex._validation import points_to_complex
from shapelex.exceptions import ShapeFileError, ShapelexError, UnsupportedBySpaceError
from shapelex.io.guards import zip_members
from shapelex.io.npy_array import read_array
from shapelex.io.shapeset import ShapeSet
from shapelex.io.space_description import build_space, describe_space
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space, to_points

FORMAT_NAME = "shapelex shapes"
FORMAT_VERSION = 1

_HEADER = "header"
_RESERVED = ("points", "closed", "kind", "ids", "labels", "sequence", _HEADER, "space_gram", "space_shift")
_ID_KEYS = ("ids", "names")
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
        return _from_header(header, arrays) if header else _from_plain_arrays(arrays)
    except (ShapelexError, ValueError, LookupError, TypeError, OverflowError) as error:
        reason = error.args[0] if isinstance(error, LookupError) and error.args else error
        raise ShapeFileError(f"{path} cannot be read as shapes: {str(reason).rstrip('.')}.") from error


def write_set(shapes: ShapeSet, stream: BinaryIO) -> None:
    """Write a set to a stream."""
    try:
        description, arrays = describe_space(shapes.space)
    except UnsupportedBySpaceError as error:
        raise ShapeFileError(f"{error}: sample the curves, or pickle the set.") from error
    points = to_points(shapes.configurations)
    arrays |= {"points": points, "closed": np.array(shapes.closed), "ids": shapes.ids}
    kinds = {Landmarks: "landmarks", BSpline: "bspline", HermiteSpline: "hermite"}
    arrays["kind"] = np.array(kinds.get(type(shapes.space), "custom"))
    if shapes.labels is not None:
        arrays["labels"] = shapes.labels
    if shapes.sequence is not None:
        arrays["sequence"] = shapes.sequence
    keys = {name: _key(name, place) for place, name in enumerate(shapes.metadata)}
    arrays |= {key: shapes.metadata[name] for name, key in keys.items()}
    header = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "space": description,
        "columns": keys,
        "missing": shapes.missing,
        "notes": list(shapes.notes),
        "provenance": dict(shapes.provenance),
    }
    try:
        encoded = json.dumps(header).encode()
    except TypeError as error:
        raise ShapeFileError(f"The provenance of the set must be JSON values ({error}).") from error
    arrays[_HEADER] = np.frombuffer(encoded, dtype=np.uint8)
    np.savez(stream, allow_pickle=False, **arrays)


def _key(name: str, place: int) -> str:
    """Return the name of a column's array: its own where that is a plain word that means nothing else."""
    is_plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name) is not None and not name.startswith("metadata_")
    # The last two are arguments of numpy.savez.
    is_free = name not in (*_RESERVED, *_ID_KEYS, "file", "allow_pickle")
    return name if is_plain and is_free else f"metadata_{place}"


def _read_arrays(archive: zipfile.ZipFile, path: Path) -> dict[str, np.ndarray[Any, Any]]:
    arrays = {}
    for member in zip_members(archive, path):
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
    if not isinstance(header, dict) or header.get("format") != FORMAT_NAME:
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


def _from_header(header: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> ShapeSet:
    parts: dict[str, Any] = {name: header.get(name) for name in ("space", "columns", "notes", "provenance", "missing")}
    is_sound = all(isinstance(parts[name], dict) for name in ("space", "columns", "provenance"))
    if not is_sound or not isinstance(parts["notes"], list) or "points" not in arrays:
        raise ValueError("its header is incomplete")
    space = build_space(parts["space"], arrays)
    absent = [key for key in parts["columns"].values() if key not in arrays]
    if absent:
        raise ValueError(f"its header names columns that are not there: {', '.join(map(str, absent))}")
    return ShapeSet(
        _as_points(arrays["points"]),
        space,
        ids=arrays.get("ids"),
        labels=arrays.get("labels"),
        sequence=arrays.get("sequence"),
        metadata={name: arrays[key] for name, key in parts["columns"].items()},
        missing=parts["missing"],
        notes=tuple(map(str, parts["notes"])),
        provenance=parts["provenance"],
    )


def _from_plain_arrays(arrays: dict[str, np.ndarray[Any, Any]]) -> ShapeSet:
    if "points" not in arrays:
        named = ", ".join(sorted(arrays)[:8]) or "nothing"
        raise ValueError(f'it has no array "points" of shape (n_shapes, n_points, 2), but {named}')
    points = _as_points(arrays.pop("points"))
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
    return ShapeSet(
        points,
        space,
        ids=ids,
        labels=None if labels is not None and labels.dtype.kind == "U" and not (labels != "").any() else labels,
        sequence=sequence,
        metadata=columns,
        missing="allow",
        notes=(f"arrays that are no columns were not read: {', '.join(left_out)}",) if left_out else (),
    )


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


def _as_points(points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if points.size == 0:
        raise ValueError(f"it holds no shape: its points have shape {points.shape}")
    if points.dtype.kind == "c" and points.ndim == 2:
        return points
    if points.dtype.kind not in "iuf" or points.ndim != 3 or points.shape[2] != 2:
        raise ValueError(
            f'"points" must be numbers of shape (n_shapes, n_points, 2), got dtype {points.dtype}, shape {points.shape}'
        )
    return points_to_complex(points)
