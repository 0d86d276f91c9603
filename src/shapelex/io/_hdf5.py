"""Skeletons in HDF5: a file of Tierpsy, WormPose or anyone's comes in, one record for each frame goes out.

Tierpsy keeps skeletons in ``/coordinates/skeletons`` or ``/skeleton``, with a table that tells the worm and frame of
each row; others use ``/skeletons``. Any other dataset is read by its name: ``(n, n_points, 2)`` or complex ``(n,
n_points)``, or in another order of axes that the caller names. Datasets whose values lie in other files are refused, as
is one that declares far more than its file holds.
"""

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray, IntArray
from shapelex._validation import check_choice, points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.io._extras import load_library
from shapelex.io._time_series import check_max_gap, series_records
from shapelex.io.records import BadRecord, Record

if TYPE_CHECKING:
    import h5py

_SKELETONS = ("/coordinates/skeletons", "/skeleton", "/skeletons")
_TABLES = ("/trajectories_data", "/timeseries_data", "/features_timeseries")
_WORM_COLUMNS = ("worm_index_joined", "worm_index", "worm_id")
_FRAME_COLUMNS = ("frame_number", "timestamp")
# Of n shapes, p points, c coordinates.
_ORDERS = tuple("".join(order) for letters in ("npc", "np") for order in permutations(letters))
_MAX_BYTES = 2**31
# Deflate packs at most 1,032 to one; a chunk that was never written takes no room at all.
_MAX_RATIO = 1100
_SMALL = 2**24


def read_records(
    path: Path,
    *,
    dataset: str | None = None,
    axes: str | None = None,
    max_gap: int | None = None,
    y_down: bool = False,
) -> Iterator[Record | BadRecord]:
    """Yield a record for each row of skeletons that has one, ordered by worm and frame.

    Parameters
    ----------
    path : Path
        File to read.
    dataset : str, optional
        Name of the dataset; None looks for those of known programs, then for the only one that may hold points.
    axes : str, optional
        Order of the axes n (shapes), p (points) and c (x and y), such as "pcn"; "npc" when not given.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps each worm in one sequence.
    y_down : bool, default: False
        Whether y points down in the file; it is then negated. Trackers differ, so the default takes values as they are.
    """
    h5py = load_library("h5py", "h5py", "Reading HDF5 files")
    check_max_gap(max_gap)
    check_axes(axes)
    try:
        with h5py.File(path, "r") as file:
            name, found = _choose(file, dataset, path)
            points = as_rows(read_values(found, name, path), f"{path}: dataset {name!r}", axes)
            worms, frames = _times(file, len(points), name, path) if name in _SKELETONS else (None, None)
    except (ShapeFileError, ImportError):
        raise
    except Exception as error:  # h5py raises nearly anything on damaged bytes
        raise ShapeFileError(f"{path} cannot be read as HDF5: {error}.") from error
    yield from series_records(
        points.conj() if y_down else points,
        worms,
        frames,
        path.stem,
        max_gap=max_gap,
        closed=None if dataset else False,
    )


def check_axes(axes: str | None) -> None:
    """Refuse an order of axes that is none."""
    if axes is not None:
        check_choice(axes, _ORDERS, "axes")


def as_rows(values: np.ndarray[Any, Any], source: str, axes: str | None = None) -> ComplexArray:
    """Return an array of points as complex rows ``(n, n_points)``; refuse one whose axes do not tell x and y.

    Which of the two long axes of ``(a, 2, b)`` counts the shapes cannot be seen, so `axes` must say it.
    """
    is_complex = np.iscomplexobj(values)
    if axes is not None:
        if values.ndim != len(axes) or is_complex == ("c" in axes):
            raise ShapeFileError(f"{source} is {values.dtype} {values.shape}, which axes={axes!r} does not fit.")
        values = values.transpose([axes.index(letter) for letter in "npc"[: len(axes)]])
    if is_complex and values.ndim in (1, 2):
        return np.array(np.atleast_2d(values), dtype=np.complex128, order="C")
    if values.dtype.kind in "iuf" and values.ndim in (2, 3) and values.shape[-1] == 2:
        return points_to_complex(np.asarray(values[None] if values.ndim == 2 else values, dtype=float))
    raise ShapeFileError(
        f"{source} must be real (n, n_points, 2) or complex (n, n_points), got {values.dtype} {values.shape}; for "
        'another order of axes give axes=, such as axes="pcn" for (n_points, 2, n).'
    )


def _choose(file: "h5py.File", dataset: str | None, path: Path) -> tuple[str, "h5py.Dataset"]:
    import h5py

    if dataset is not None:
        found = follow(file, dataset, path)
        if not isinstance(found, h5py.Dataset):
            raise ShapeFileError(f"{path} has no dataset {dataset!r}; it has {_listed(_point_like(file))}.")
        return dataset, found
    for name in _SKELETONS:
        found = follow(file, name, path)
        if isinstance(found, h5py.Dataset):
            return name, found
    names = _point_like(file)
    if len(names) != 1:
        raise ShapeFileError(
            f"{path} has no skeletons under a known name, and {_listed(names)} that may hold points: "
            "name one with dataset=."
        )
    return names[0], file[names[0]]


def follow(file: "h5py.File", name: str, path: Path, n_links: int = 8) -> Any:
    """Return the object of that name, or None; links within the file are followed, those out of it refused."""
    import h5py

    group: Any = file
    parts = [part for part in name.split("/") if part not in ("", ".")]
    for position, part in enumerate(parts):
        link = group.get(part, getlink=True) if isinstance(group, h5py.Group) else None
        if isinstance(link, h5py.ExternalLink):
            raise ShapeFileError(f"{path} is refused: {name!r} is a link into another file.")
        if isinstance(link, h5py.SoftLink):
            if n_links == 0:
                raise ShapeFileError(f"{path} is refused: {name!r} is a chain of links without end.")
            start = "" if link.path.startswith("/") else "/".join(parts[:position]) + "/"
            return follow(file, "/".join([start + link.path, *parts[position + 1 :]]), path, n_links - 1)
        if link is None:
            return None
        group = group[part]
    return group


def _point_like(file: "h5py.File") -> list[str]:
    import h5py

    names: list[str] = []

    def look(name: str, found: Any) -> None:
        if isinstance(found, h5py.Dataset) and found.dtype.kind in "fc":
            is_real = found.ndim == 3 and found.shape[2] == 2
            if is_real or (found.dtype.kind == "c" and found.ndim == 2):
                names.append(f"/{name}")

    file.visititems(look)
    return names


def _listed(names: list[str]) -> str:
    return "no dataset" if not names else f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}"


def read_values(found: "h5py.Dataset", name: str, path: Path) -> np.ndarray[Any, Any]:
    """Return all values, once it is sure that they are in this file and fit in memory."""
    if found.is_virtual or found.external:
        raise ShapeFileError(f"{path} is refused: the values of {name!r} lie in another file.")
    if found.shape is None or found.dtype.kind not in "iufc":
        raise ShapeFileError(f"{path}: {name!r} must hold numbers, got {found.dtype}.")
    _check_size(found, name, path)
    return np.asarray(found[()])


def _check_size(found: "h5py.Dataset", name: str, path: Path) -> None:
    n_bytes = int(found.size) * found.dtype.itemsize
    n_stored = int(found.id.get_storage_size())
    n_chunk = int(np.prod([int(side) for side in found.chunks or (0,)], dtype=object)) * found.dtype.itemsize
    if n_bytes > _MAX_BYTES or n_chunk > _MAX_BYTES or (n_bytes > _SMALL and n_bytes > _MAX_RATIO * n_stored):
        raise ShapeFileError(f"{path} is refused: {name!r} declares {found.shape} but holds {n_stored} bytes.")


def _times(file: "h5py.File", n_rows: int, name: str, path: Path) -> tuple[IntArray | None, IntArray | None]:
    """Return worm and frame of each row of skeletons from the first table that covers them."""
    import h5py

    tables = [(table, follow(file, table, path)) for table in _TABLES]
    tables = [(table, found) for table, found in tables if isinstance(found, h5py.Dataset) and found.dtype.names]
    for table, found in tables:
        columns = {key: key for key in found.dtype.names}
        worm = next((key for key in _WORM_COLUMNS if key in columns), None)
        frame = next((key for key in _FRAME_COLUMNS if key in columns), None)
        if worm is None or frame is None or found.ndim != 1 or found.is_virtual or found.external:
            continue
        _check_size(found, table, path)
        values = found[()]
        worms, frames = _integers(values[worm]), _integers(values[frame])
        rows = _integers(values["skeleton_id"]) if "skeleton_id" in columns else np.arange(len(values))
        has_skeleton = rows >= 0
        if np.array_equal(np.sort(rows[has_skeleton]), np.arange(n_rows)):
            order = np.argsort(rows[has_skeleton])
            return worms[has_skeleton][order], frames[has_skeleton][order]
        if len(values) == n_rows:
            # The numbers count the skeletons of another file, from which these rows were taken.
            return worms, frames
    if tables:
        raise ShapeFileError(
            f"{path}: none of {_listed([table for table, _ in tables])} tells the worm and frame of the "
            f"{n_rows} rows of {name!r}; dataset={name.lstrip('/')!r} reads them as one series."
        )
    return None, None


def _integers(column: np.ndarray[Any, Any]) -> IntArray:
    """Return a column as integers, −1 where it holds no whole number."""
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        raise ValueError("a column of the table must hold one number a row")
    numbers = np.where(np.isfinite(column) & (np.abs(column.astype(float)) < 2**53), column, -1)
    return np.asarray(numbers, dtype=np.int64)
