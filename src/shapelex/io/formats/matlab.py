"""Worm Tracker 2 feature files: a MATLAB file comes in, one record for each frame that has a skeleton goes out.

The skeletons are in ``worm.posture.skeleton.x`` and ``.y``, ``(n_points, n_frames)`` each. Files of MATLAB 7.3 are HDF5
inside. Any other variable is read by its name: a struct with x and y like those, or an array ``(n, n_points, 2)`` or
complex ``(n, n_points)``, or in another order of axes that the caller names.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_library
from shapelex._typing import ComplexArray
from shapelex._validation import points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.hdf5 import follow, read_values
from shapelex.io.formats.hdf5_points import as_rows, check_axes
from shapelex.io.formats.mat5 import find_variable
from shapelex.io.formats.time_series import check_max_gap, series_records
from shapelex.io.guards import read_bytes
from shapelex.io.records import Record, Remark

_SKELETON = "worm.posture.skeleton"


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
    with path.open("rb") as file:
        header = file.read(128)
    try:
        if header.startswith(b"MATLAB 7.3"):
            points = _from_hdf5(path, variable, axes)
        elif header.startswith(b"MATLAB 5.0"):
            points = _from_version_5(path, variable, axes)
        else:
            raise ShapeFileError(f"{path} is no MATLAB file of version 5 to 7.3: save it with '-v7' in MATLAB.")
    except (ShapeFileError, ImportError):
        raise
    except Exception as error:  # h5py raises nearly anything on damaged bytes
        raise ShapeFileError(f"{path} cannot be read as a MATLAB file: {error}.") from error
    yield from series_records(
        points.conj() if y_down else points,
        None,
        None,
        path.stem,
        max_gap=max_gap,
        closed=False if variable == _SKELETON else None,
    )


def _from_version_5(path: Path, variable: str, axes: str | None) -> ComplexArray:
    name, *fields = variable.split(".")
    found = find_variable(read_bytes(path), name)
    if found is None:
        raise ShapeFileError(f"{path} has no variable {name!r}: name another with variable=.")
    for field in fields:
        inner = found.fields() if found.is_struct else {}
        if field not in inner:
            raise ShapeFileError(
                f"{path}: {variable!r} is no struct with a field {field!r}: name another with variable=."
            )
        found = inner[field]
    if not found.is_struct:
        return as_rows(found.numbers(), f"{path}: {variable}", axes)
    inner = found.fields()
    if not {"x", "y"} <= set(inner):
        raise ShapeFileError(f"{path}: {variable!r} has no fields x and y, but {', '.join(list(inner)[:8])}.")
    return _from_columns(inner["x"].numbers(), inner["y"].numbers(), f"{path}: {variable}")


def _from_columns(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], source: str) -> ComplexArray:
    """Return frames as rows from x and y of shape ``(n_points, n_frames)``."""
    if x.dtype.kind not in "iuf" or y.dtype.kind not in "iuf" or x.ndim != 2 or x.shape != y.shape:
        raise ShapeFileError(
            f"{source} must have x and y of one shape (n_points, n_frames), got {x.dtype} {x.shape} and "
            f"{y.dtype} {y.shape}."
        )
    return points_to_complex(np.stack([x.T, y.T], axis=-1).astype(float))


def _from_hdf5(path: Path, variable: str, axes: str | None) -> ComplexArray:
    h5py = load_library("h5py", "h5py", "Reading MATLAB files of version 7.3")

    # MATLAB stores arrays column by column, so h5py sees the axes in reverse order.
    name = variable.replace(".", "/")
    with h5py.File(path, "r") as file:
        found = follow(file, name, path)
        if isinstance(found, h5py.Group):
            columns = [follow(file, f"{name}/{axis}", path) for axis in "xy"]
            if all(isinstance(column, h5py.Dataset) for column in columns):
                x, y = (read_values(column, name, path).T for column in columns)
                return _from_columns(x, y, f"{path}: {variable}")
        if isinstance(found, h5py.Dataset):
            return as_rows(read_values(found, name, path).T, f"{path}: {variable}", axes)
    raise ShapeFileError(f"{path} has no variable {variable!r}: name another with variable=.")
