"""One array of shapes as ``.npy``: complex (n_shapes, n_coordinates), or real (n_shapes, n_points, 2)."""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from shapelex._typing import ColumnLayout
from shapelex.exceptions import ShapeFileError, ShapelexError, reason_of
from shapelex.io.stored_shapes import StoredShapes, stored_landmarks
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks, from_columns
from shapelex.store.archive import read_array


def read_set(path: Path, layout: ColumnLayout | None = None) -> ShapeSet:
    """Return the shapes of an array; `layout` says what the columns of a real 2-D array are."""
    try:
        with path.open("rb") as stream:
            array = read_array(stream, path.stat().st_size)
    except (FileNotFoundError, PermissionError, MemoryError):
        raise
    # NumPy's header parser raises almost anything on hostile bytes.
    except Exception as error:
        raise ShapeFileError(f"{path} is damaged or no .npy file: {error}") from error
    if layout is None and array.ndim == 2 and array.dtype.kind in "iuf":
        raise ShapeFileError(
            f"{path} is a real array of shape {array.shape}, which does not say where x and y are: give "
            'layout="blocks" for columns x1..xN, y1..yN, or layout="interleaved" for x1, y1, .., xN, yN.'
        )
    try:
        configurations = array if layout is None else from_columns(array, layout=layout)
        return ShapeSet(configurations, missing="allow", preparation=None)
    except ShapelexError as error:
        raise ShapeFileError(f"{path} cannot be read as shapes: {error}") from error


def open_set(path: Path) -> StoredShapes:
    """Return the shapes of an array that stays in its file."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        return stored_landmarks(array)
    except (FileNotFoundError, PermissionError, MemoryError):
        raise
    # NumPy's header parser raises almost anything on hostile bytes.
    except Exception as error:
        raise ShapeFileError(f"{path} cannot be read as one array of shapes: {reason_of(error)}.") from error


def write_set(shapes: ShapeSet, stream: BinaryIO) -> None:
    """Write the configurations to a stream; nothing else has a place in the format."""
    if shapes.space != Landmarks(shapes.shape[1]):
        raise ShapeFileError(
            f".npy files hold numbers alone, so {shapes.space!r} would be lost: write .npz, or pass "
            "shapes.configurations to numpy.save."
        )
    np.save(stream, shapes.configurations, allow_pickle=False)
