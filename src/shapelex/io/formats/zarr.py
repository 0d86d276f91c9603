"""Sets of shapes as Zarr folders: for sets of any size, and for clusters that read them in pieces.

A folder of ours is a group with the array ``configurations`` and one for each column; its attributes bring back the
space, the notes and the provenance. A folder may also be one array of landmarks.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_zarr
from shapelex._typing import ColumnLayout
from shapelex.exceptions import ShapeFileError
from shapelex.files.atomic import replace_folder
from shapelex.files.guards import refusing
from shapelex.files.zarr_folder import check_size, check_whole, open_zarr
from shapelex.io.stored_shapes import SHAPES_FORMAT, header_of, landmarks_in_file, parts_of_header
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import METADATA, in_file
from shapelex.shapes.set import join_blocks
from shapelex.shapes.storage import FileShapes
from shapelex.spaces import from_columns

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1

_CHUNK_BYTES = 1 << 23


def read_set(path: Path, layout: ColumnLayout | None = None) -> ShapeSet:
    """Return the set that a folder holds; `layout` says what the columns of a real 2-D array are."""
    with refusing(path, "shapes"):
        if layout is None:
            whole: ShapeSet = open_set(path)[:]
            return whole
        attributes, arrays = open_zarr(path)
        if attributes is not None:
            raise ShapeFileError("it is a group of arrays, not a table")
        check_size(arrays[""], path)
        return ShapeSet(from_columns(arrays[""][:], layout=layout), missing="allow", preparation=None)


def open_set(path: Path) -> ShapeSet:
    """Return the set that a folder holds, where it lies."""
    with refusing(path, "shapes"):
        header, arrays = open_zarr(path)
        if header is None:
            check_size(arrays[""], path)
            return landmarks_in_file(arrays[""], path)
        return _from_group(arrays, header, path)


def write_blocks(shapes: ShapeSet, path: Path) -> None:
    """Write a set block by block, whole or not at all."""
    zarr = load_zarr()
    n_shapes, n_coordinates = shapes.shape
    columns = shapes.column_types
    keys = {name: f"column_{place}" for place, name in enumerate(columns)}
    header, arrays = header_of(shapes, keys)
    n_rows = int(min(n_shapes, max(1, _CHUNK_BYTES // (n_coordinates * shapes.dtype.itemsize))))
    with replace_folder(path) as partial:
        group = zarr.open_group(str(partial), mode="w")
        # Every chunk is written, so that one that is not there was lost.
        options = {"config": {"write_empty_chunks": True}}
        shape, chunks = (n_shapes, n_coordinates), (n_rows, n_coordinates)
        rows = group.create_array("configurations", shape=shape, chunks=chunks, dtype=shapes.dtype, **options)
        stored = {}
        for name, dtype in columns.items():
            kind = dtype if dtype.kind in "biufc" else str
            stored[name] = group.create_array(keys[name], shape=shape[:1], chunks=chunks[:1], dtype=kind, **options)
        for name, array in arrays.items():
            group.create_array(name, data=array)
        start = 0
        for block in _whole_chunks(shapes.blocks(), n_rows):
            part = slice(start, start + len(block))
            rows[part] = block.configurations
            for name, column in stored.items():
                column[part] = _as_storable(block.columns[name])
            start += len(block)
            logger.debug("%d of %d shapes", start, n_shapes)
        # Last, so that a folder without attributes is one that was not finished.
        group.attrs.update(header)


def _as_storable(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return text without the marks that stand for undecodable bytes in the names of files."""
    if column.dtype.kind != "U":
        return column
    return np.array([text.encode(errors="surrogateescape").decode(errors="replace") for text in column.tolist()])


def _whole_chunks(blocks: Iterator[ShapeSet], n_rows: int) -> Iterator[ShapeSet]:
    """Cut blocks anew, so that every chunk is written once."""
    waiting: list[ShapeSet] = []
    for block in blocks:
        waiting.append(block)
        n_waiting = sum(map(len, waiting))
        if n_whole := n_waiting - n_waiting % n_rows:
            joined = join_blocks(waiting)
            yield joined[:n_whole]
            waiting = [joined[n_whole:]] if n_whole < n_waiting else []
    if waiting:
        yield join_blocks(waiting)


def _from_group(arrays: dict[str, Any], header: dict[str, Any], path: Path) -> ShapeSet:
    if header.get("format") == "shapelex codes":
        raise ShapeFileError("it is a file of codes: in Python, shapelex.read_codes reads it")
    if header.get("format") != SHAPES_FORMAT:
        named = sorted(arrays)
        example = f": name one array of it, as in {path / named[0]}" if named else ""
        raise ShapeFileError(f"it is a group of another kind, not a set of shapes{example}")
    for array in arrays.values():
        check_whole(array, path)
    small = {name: arrays.pop(name)[:] for name in list(arrays) if name.startswith("space_")}
    parts = parts_of_header(header, {**arrays, **small})
    columns = {name: in_file(arrays[key], str(path), role=name) for name, key in parts["metadata"].items()}
    parts["metadata"] = {name.removeprefix(METADATA): columns[name] for name in columns if name.startswith(METADATA)}
    parts |= {name: columns.get(name) for name in ("ids", "labels", "sequence")}
    return ShapeSet(FileShapes(arrays["configurations"], parts["space"], str(path)), **parts)
