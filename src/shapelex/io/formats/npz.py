"""Sets of shapes as ``.npz``: plain arrays, readable by NumPy alone.

Files need only ``points``; ``closed``, ``kind`` (``landmarks``, ``hermite``, ``bspline``), ``ids``, ``labels`` and
``sequence`` are used where they are, and any other array with one entry per shape becomes metadata. Files of ours also
have a JSON header, which brings back the space, the notes and the provenance.
"""

import logging
import re
import shutil
import tempfile
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shapelex._validation import points_to_complex
from shapelex.files.archive import Arrays, encode_header, open_array, read_archive
from shapelex.files.atomic import put_in_place, work_folder
from shapelex.files.guards import MAX_BYTES, refusing, zip_members
from shapelex.io.stored_shapes import header_of, parts_of_header
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import METADATA, in_file
from shapelex.shapes.storage import FileShapes
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space

logger = logging.getLogger(__name__)

_KINDS: dict[str, type[Landmarks] | type[BSpline] | type[HermiteSpline]] = {
    "landmarks": Landmarks,
    "bspline": BSpline,
    "hermite": HermiteSpline,
}
_COLUMNS = ("ids", "labels", "sequence")
# Names of arrays that mean something else than a column; the last two are arguments of numpy.savez.
_RESERVED = {*_COLUMNS, "points", "closed", "kind", "header", "space_gram", "space_shift", "names"}
_RESERVED |= {"file", "allow_pickle"}
_HELD_BYTES = 1 << 24


def read_set(path: Path) -> ShapeSet:
    """Return the set that a file holds."""
    with refusing(path, "shapes"):
        parts = _read_parts(path, mapped=False)
        points, ids = parts.pop("points"), parts.pop("ids")
        rows = points if points.dtype.kind == "c" else points_to_complex(points)
        return ShapeSet(rows, **parts)._with_any_ids(ids)


def open_set(path: Path) -> ShapeSet:
    """Return the set that a file holds, where it is: its arrays are mapped, except for those that are compressed."""
    with refusing(path, "shapes"):
        parts = _read_parts(path, mapped=True)
        points = parts.pop("points")
        as_complex = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}.get(points.dtype)
        if as_complex is not None and points.flags.c_contiguous:
            # The same bytes, without a copy.
            points = points.view(as_complex)[..., 0]
        name = str(path)
        for own in _COLUMNS:
            parts[own] = in_file(parts[own], name, role=own)
        parts["metadata"] = {own: in_file(column, name) for own, column in parts["metadata"].items()}
        return ShapeSet(FileShapes(points, parts["space"], name), **parts)


def write_set(shapes: ShapeSet, stream: BinaryIO) -> None:
    """Write a set to a stream."""
    _write(shapes, stream, None)


def write_blocks(shapes: ShapeSet, path: Path) -> None:
    """Write a set block by block, whole or not at all: the same file as of a set in memory."""
    # A folder of a known name: what a killed process left in it is removed by the next one.
    with work_folder(path) as folder:
        with (folder / "archive").open("wb") as stream:
            _write(shapes, stream, str(folder))
        put_in_place(folder / "archive", path, folder)


def _write(shapes: ShapeSet, stream: BinaryIO, folder: str | None) -> None:
    """Write a set to a stream; columns that do not fit in memory wait in files in `folder`."""
    types = shapes.column_types
    keys = {name: name.removeprefix(METADATA) for name in types}
    for place, name in enumerate(name for name in keys if name.startswith(METADATA)):
        is_plain = re.fullmatch(r"(?!metadata_)[A-Za-z][A-Za-z0-9_]{0,60}", keys[name]) is not None
        keys[name] = keys[name] if is_plain and keys[name] not in _RESERVED else f"metadata_{place}"
    columns = {name.removeprefix(METADATA): key for name, key in keys.items() if name.startswith(METADATA)}
    header, arrays = header_of(shapes, columns)
    arrays["header"] = encode_header(header)
    kind = next((kind for kind, space in _KINDS.items() if type(shapes.space) is space), "custom")
    arrays |= {"kind": np.array(kind), "closed": np.array(shapes.space.closed)}
    n_shapes, n_coordinates = shapes.shape
    real = np.empty(0, dtype=shapes.dtype).real.dtype
    with ExitStack() as stack:
        archive = stack.enter_context(zipfile.ZipFile(stream, "w", allowZip64=True))
        # A member of an archive is written in one go, so the columns wait until the points are written.
        waiting = {name: stack.enter_context(tempfile.SpooledTemporaryFile(_HELD_BYTES, dir=folder)) for name in keys}
        n_written = 0
        with open_array(archive, "points", real, (n_shapes, n_coordinates, 2)) as part:
            for block in shapes.blocks():
                part.write(np.ascontiguousarray(block.configurations, dtype=shapes.dtype).data.cast("B"))
                for name, file in waiting.items():
                    file.write(np.ascontiguousarray(block.columns[name], dtype=types[name]).tobytes())
                n_written += len(block)
                logger.debug("%d of %d shapes", n_written, n_shapes)
        for name, file in waiting.items():
            file.seek(0)
            with open_array(archive, keys[name], types[name], (n_shapes,)) as part:
                shutil.copyfileobj(file, part, 1 << 20)
        for key, array in arrays.items():
            with open_array(archive, key, array.dtype, array.shape) as part:
                part.write(array.tobytes())


def _read_parts(path: Path, *, mapped: bool) -> dict[str, Any]:
    """Return ``points`` and the arguments of the set that a file holds."""
    # What is not compressed may be as large as it is.
    limit = max(MAX_BYTES, path.stat().st_size)
    header, arrays = read_archive(path, lambda archive: zip_members(archive, path, limit), mapped=mapped)
    told = parts_of_header(header, arrays) if header else {}
    if "points" not in arrays:
        named = ", ".join(sorted(arrays)[:8]) or "nothing"
        raise ValueError(f'it has no array "points" of shape (n_shapes, n_points, 2), but {named}')
    points = arrays.pop("points")
    if points.size == 0:
        raise ValueError(f"it holds no shape: its points have shape {points.shape}")
    is_complex = points.dtype.kind == "c" and points.ndim == 2
    if not is_complex and (points.dtype.kind not in "iuf" or points.ndim != 3 or points.shape[2] != 2):
        raise ValueError(
            f'"points" must be numbers of shape (n_shapes, n_points, 2), got dtype {points.dtype}, shape {points.shape}'
        )
    if not header:
        return {"points": points, **_from_plain_arrays(points, arrays)}
    told["metadata"] = {name: arrays[key] for name, key in told["metadata"].items()}
    return {"points": points, **{name: arrays.get(name) for name in _COLUMNS}, **told}


def _from_plain_arrays(points: np.ndarray[Any, Any], arrays: Arrays) -> dict[str, Any]:
    closed, kind = arrays.pop("closed", np.array(False)), arrays.pop("kind", np.array("landmarks"))
    if closed.size != 1 or closed.dtype.kind not in "biu":
        raise ValueError(f'"closed" must be one boolean, got shape {closed.shape}')
    name = str(kind.item()) if kind.size == 1 else "?"
    if name not in _KINDS:
        raise ValueError(f'"kind" must be one of {", ".join(_KINDS)}, got {name!r}')
    n_coordinates = points.shape[1]
    if name == "hermite" and n_coordinates % 2:
        raise ValueError(f"Hermite splines have as many tangents as points, but there are {n_coordinates} in all")
    space: Space = _KINDS[name](n_coordinates // (2 if name == "hermite" else 1), closed=bool(closed.item()))
    if "ids" not in arrays and "names" in arrays:
        arrays["ids"] = arrays.pop("names")
    parts: dict[str, Any] = {name: arrays.pop(name, None) for name in _COLUMNS}
    if parts["labels"] is not None and parts["labels"].dtype.kind == "U" and not (parts["labels"] != "").any():
        parts["labels"] = None
    columns = {name: column for name, column in arrays.items() if column.shape == points.shape[:1]}
    left_out = ", ".join(sorted(set(arrays) - set(columns)))
    notes = (f"arrays that are not columns were not read: {left_out}",) if left_out else ()
    return {"space": space, **parts, "metadata": columns, "missing": "allow", "notes": notes}
