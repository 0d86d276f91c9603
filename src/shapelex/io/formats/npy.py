"""One array of shapes as ``.npy``: complex (n_shapes, n_coordinates), or real (n_shapes, n_points, 2)."""

from pathlib import Path
from typing import BinaryIO, get_args

import numpy as np

from shapelex._messages import format_option
from shapelex._typing import ColumnLayout
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.files.archive import read_array
from shapelex.files.guards import refusing
from shapelex.io.stored_shapes import landmarks_in_file
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks, from_columns


def read_set(path: Path, layout: ColumnLayout | None = None) -> ShapeSet:
    """Return the shapes of an array; `layout` says what the columns of a real 2-D array are."""
    if layout is not None:
        check_choice(layout, get_args(ColumnLayout), format_option("layout"))
    with path.open("rb") as stream, refusing(path, "shapes"):
        array = read_array(stream, path.stat().st_size)
        if layout is None and array.ndim == 2 and array.dtype.kind in "iuf":
            raise ShapeFileError(
                f"it is a real array of shape {array.shape}, which does not say where x and y are: give "
                f"{format_option('layout', 'blocks')} for columns x1..xN, y1..yN, or "
                f"{format_option('layout', 'interleaved')} for x1, y1, .., xN, yN"
            )
        configurations = array if layout is None else from_columns(array, layout=layout)
        return ShapeSet(configurations, missing="allow", preparation=None)


def open_set(path: Path) -> ShapeSet:
    """Return the shapes of an array that stays in its file."""
    with refusing(path, "shapes"):
        return landmarks_in_file(np.load(path, mmap_mode="r", allow_pickle=False), path)


def write_set(shapes: ShapeSet, stream: BinaryIO) -> None:
    """Write the configurations to a stream; nothing else has a place in the format."""
    if shapes.space != Landmarks(shapes.shape[1]):
        raise ShapeFileError(
            f".npy files hold numbers alone, so {shapes.space!r} would be lost: write .npz, or pass "
            "shapes.configurations to numpy.save."
        )
    np.save(stream, shapes.configurations, allow_pickle=False)
