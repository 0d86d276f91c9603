"""Sets of shapes as Zarr folders: for sets of any size, and for clusters that read them in pieces.

In comes a folder; out goes a set, and back. A folder of ours is a group with the array ``configurations`` and one for
each column; its attributes bring back the space, the notes and the provenance. A folder may also be one array of
landmarks.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import ShapeFileError, UnsupportedBySpaceError
from shapelex.io._extras import load_library
from shapelex.io.folders import replace_folder
from shapelex.io.shapeset import ShapeSet
from shapelex.io.space_description import build_space, describe_space
from shapelex.io.stored_shapes import METADATA, ShapeBlocks, StoredShapes, column_of, join_blocks, stored_landmarks

FORMAT_NAME = "shapelex shapes"
FORMAT_VERSION = 1

_CHUNK_BYTES = 1 << 23
_MAX_CHUNK = 1 << 31
# Beyond what real numbers can be compressed to; chunks that were never written take no room at all.
_MAX_RATIO = 1100
_SMALL = 1 << 24


def read_set(path: Path) -> ShapeSet:
    """Return the set that a folder holds."""
    stored = open_set(path)
    try:
        return stored[:]
    except MemoryError:
        raise
    # Damaged chunks raise whatever their codec does.
    except Exception as error:
        raise ShapeFileError(f"{path} cannot be read as shapes: {_on_one_line(error)}.") from error


def open_set(path: Path) -> StoredShapes:
    """Return the set that a folder holds, where it lies."""
    zarr = load_library("zarr", "zarr", "A Zarr folder", extra="large")
    try:
        found = zarr.open(str(path), mode="r")
        if not isinstance(found, zarr.Group):
            _check_size(found, path)
            return stored_landmarks(found)
        header = dict(found.attrs)
        return _from_group(found, header, path)
    except (ShapeFileError, FileNotFoundError, PermissionError, MemoryError) as error:
        if isinstance(error, ShapeFileError) and not str(error).startswith(str(path)):
            raise ShapeFileError(f"{path} cannot be read as shapes: {_on_one_line(error)}.") from error
        raise
    # Zarr raises nearly anything on damaged metadata.
    except Exception as error:
        raise ShapeFileError(f"{path} cannot be read as shapes: {_on_one_line(error)}.") from error


def write_blocks(shapes: ShapeBlocks, path: Path) -> None:
    """Write a set block by block, whole or not at all."""
    zarr = load_library("zarr", "zarr", "A Zarr folder", extra="large")
    try:
        description, arrays = describe_space(shapes.space)
    except UnsupportedBySpaceError as error:
        raise ShapeFileError(f"{error}: sample the curves first.") from error
    n_shapes, n_coordinates = shapes.shape
    columns = shapes.columns
    keys = {name: f"column_{place}" for place, name in enumerate(columns)}
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
        json.dumps(header)
    except TypeError as error:
        raise ShapeFileError(f"The provenance of the set must be JSON values ({error}).") from error
    n_rows = int(min(n_shapes, max(1, _CHUNK_BYTES // (n_coordinates * shapes.dtype.itemsize))))
    with replace_folder(path) as partial:
        group = zarr.open_group(str(partial), mode="w")
        rows = group.create_array(
            "configurations", shape=(n_shapes, n_coordinates), chunks=(n_rows, n_coordinates), dtype=shapes.dtype
        )
        for name, dtype in columns.items():
            kind = str if dtype.kind not in "biufc" else dtype
            group.create_array(keys[name], shape=(n_shapes,), chunks=(n_rows,), dtype=kind)
        for name, array in arrays.items():
            group.create_array(name, data=array)
        start = 0
        for block in _whole_chunks(shapes.blocks(), n_rows):
            part = slice(start, start + len(block))
            rows[part] = block.configurations
            for name in columns:
                group[keys[name]][part] = _as_storable(column_of(block, name))
            start += len(block)
        # Last, so that a folder without attributes is one that was not finished.
        group.attrs.update(header)


def _as_storable(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return text without the marks that stand for undecodable bytes in the names of files."""
    if column.dtype.kind != "U":
        return column
    try:
        "".join(column.tolist()).encode()
    except UnicodeEncodeError:
        return np.array([text.encode(errors="surrogateescape").decode(errors="replace") for text in column.tolist()])
    return column


def _whole_chunks(blocks: Iterator[ShapeSet], n_rows: int) -> Iterator[ShapeSet]:
    """Cut blocks anew, so that every chunk is written once."""
    waiting: list[ShapeSet] = []
    for block in blocks:
        waiting.append(block)
        n_waiting = sum(map(len, waiting))
        if n_waiting < n_rows:
            continue
        joined = join_blocks(waiting)
        n_whole = n_waiting - n_waiting % n_rows
        yield joined[:n_whole]
        waiting = [joined[n_whole:]] if n_whole < n_waiting else []
    if waiting:
        yield join_blocks(waiting)


def _from_group(group: Any, header: dict[str, Any], path: Path) -> StoredShapes:
    if header.get("format") != FORMAT_NAME:
        what = header.get("format")
        raise ShapeFileError(
            f"it is a group {'of another kind' if what is None else f'of {what!r}'}, not a set of shapes; one array "
            f"of it can be named, as in {path}/NAME"
        )
    version = header.get("version")
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise ShapeFileError(f"it has version {version!r}, this shapelex reads up to {FORMAT_VERSION}: upgrade it")
    arrays = {name: group[name] for name in group.array_keys()}
    for array in arrays.values():
        _check_size(array, path)
    keys = header["columns"]
    columns = {name: arrays[key] for name, key in keys.items()}
    space = build_space(header["space"], {name: arrays[name][:] for name in arrays if name.startswith("space_")})
    return StoredShapes(
        arrays["configurations"],
        space,
        ids=columns.get("ids"),
        labels=columns.get("labels"),
        sequence=columns.get("sequence"),
        metadata={name.removeprefix(METADATA): columns[name] for name in columns if name.startswith(METADATA)},
        missing=header["missing"],
        notes=tuple(map(str, header["notes"])),
        provenance=header["provenance"],
    )


def _check_size(array: Any, path: Path) -> None:
    """Refuse arrays that declare far more than the folder holds."""
    itemsize = max(array.dtype.itemsize, 1)
    n_chunk = int(np.prod([int(side) for side in array.chunks], dtype=object)) * itemsize
    n_bytes = int(np.prod([int(side) for side in array.shape], dtype=object)) * itemsize
    if n_chunk > _MAX_CHUNK:
        raise ShapeFileError(f"{path} is refused: a chunk of {array.name} has {n_chunk} bytes.")
    if n_bytes > _SMALL:
        folder = path / array.path
        n_stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        if n_bytes > _MAX_RATIO * n_stored:
            raise ShapeFileError(f"{path} is refused: {array.name} declares {array.shape} but holds {n_stored} bytes.")


def _on_one_line(error: Exception) -> str:
    reason = error.args[0] if isinstance(error, LookupError) and error.args else error
    return " ".join(str(reason).split()).rstrip(".")
