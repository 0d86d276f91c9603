"""Skeletons in HDF5: a file of Tierpsy, WormPose or anyone's comes in, one record for each frame goes out.

Tierpsy keeps skeletons in ``/coordinates/skeletons`` or ``/skeleton``, with a table that tells the worm and frame of
each row; others use ``/skeletons``. Any other dataset is read by its name: ``(n, n_points, 2)`` or complex ``(n,
n_points)``, or in another order of axes that the caller names. A large dataset is read in parts, so it may be larger
than memory. Datasets whose values lie in other files are refused, as is one that declares far more than its file holds.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._extras import load_library
from shapelex._typing import ComplexArray, IntArray
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.hdf5_points import check_axes, find_axes
from shapelex.io.formats.hdf5_rows import DatasetRows
from shapelex.io.formats.time_series import block_records, check_max_gap, series_order
from shapelex.io.guards import LARGE_RATIO, read_head
from shapelex.io.records import Record, Remark

if TYPE_CHECKING:
    import h5py

_MARK = b"\x89HDF\r\n\x1a\n"
_SKELETONS = ("/coordinates/skeletons", "/skeleton", "/skeletons")
_TABLES = ("/trajectories_data", "/timeseries_data", "/features_timeseries")
_WORM_COLUMNS = ("worm_index_joined", "worm_index", "worm_id")
_FRAME_COLUMNS = ("frame_number", "timestamp")
# The most that is held in memory, and the most that is held though it could be read in parts.
_MAX_BYTES = 2**31
_HELD_BYTES = 2**26
_MOST_TIMES_READ = 4
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
) -> Iterator[Record | Remark]:
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
    with ExitStack() as stack:
        try:
            file = stack.enter_context(h5py.File(path, "r"))
            name, found = _choose(file, dataset, path)
            _check_numbers(found, name, path)
            source = f"{path}: dataset {name!r}"
            shaped = find_axes(found.dtype, found.shape, source, axes)
            # Before anything is made that is as long as the dataset says to be.
            n_bytes = check_size(found, name, path, is_held=False)
            if not n_bytes:
                return
            n_rows = 1 if shaped.is_single else found.shape[shaped.shape_axis]
            if n_bytes > n_rows * _MAX_BYTES:
                raise ShapeFileError(f"{source} is {found.shape}: one of its shapes alone does not fit in memory.")
            worms, frames = _times(file, n_rows, name, path) if name in _SKELETONS else (None, None)
            order = series_order(n_rows, worms, frames)
            rows = DatasetRows(found, shaped, source)
            is_read_often = n_bytes > _HELD_BYTES and rows.times_read(order) > _MOST_TIMES_READ
            if shaped.is_single or n_bytes <= _HELD_BYTES or (is_read_often and n_bytes <= _MAX_BYTES):
                points = shaped.as_rows(read_values(found, name, path))
                blocks: Iterable[tuple[IntArray, ComplexArray]] = [(order, points[order])]
                stack.close()
            else:
                blocks = rows.blocks(order)
        except (ShapeFileError, ImportError):
            raise
        except Exception as error:  # h5py raises nearly anything on damaged bytes
            raise ShapeFileError(f"{path} cannot be read as HDF5: {error}.") from error
        if y_down:
            blocks = ((numbers, points.conj()) for numbers, points in blocks)
        closed = None if dataset else False
        yield from block_records(blocks, n_rows, worms, frames, path.stem, max_gap=max_gap, closed=closed)


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


def opens_as_hdf5(path: Path, holds: Callable[["h5py.File"], bool]) -> bool:
    """Tell whether a file is HDF5 and `holds` something; False where that cannot be found out."""
    if read_head(path, len(_MARK)) != _MARK:
        return False
    try:
        h5py = load_library("h5py", "h5py", "Reading HDF5 files")
        with h5py.File(path, "r") as file:
            return holds(file)
    except Exception:  # h5py raises nearly anything on damaged bytes
        return False


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
    _check_numbers(found, name, path)
    check_size(found, name, path)
    return np.asarray(found[()])


def _check_numbers(found: "h5py.Dataset", name: str, path: Path) -> None:
    if found.is_virtual or found.external:
        raise ShapeFileError(f"{path} is refused: the values of {name!r} lie in another file.")
    if found.shape is None or found.dtype.kind not in "iufc":
        raise ShapeFileError(f"{path}: {name!r} must hold numbers, got {found.dtype}.")


def check_size(found: "h5py.Dataset", name: str, path: Path, *, is_held: bool = True) -> int:
    """Return the size of a dataset; refuse one that declares more than it holds, or that does not fit in memory."""
    n_bytes = int(found.size) * int(found.dtype.itemsize)
    n_stored = int(found.id.get_storage_size())
    n_chunk = int(np.prod([int(side) for side in found.chunks or (0,)], dtype=object)) * found.dtype.itemsize
    is_large = n_bytes > _MAX_BYTES
    ratio = LARGE_RATIO if is_large else _MAX_RATIO
    is_swollen = n_bytes > _SMALL and n_bytes > ratio * n_stored
    if n_chunk > _MAX_BYTES or is_swollen or (is_held and is_large):
        raise ShapeFileError(f"{path} is refused: {name!r} declares {found.shape} but holds {n_stored} bytes.")
    return n_bytes


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
        check_size(found, table, path, is_held=False)
        # Tables of features have hundreds of columns.
        worms, frames = (_integers(found.fields(key)[()]) for key in (worm, frame))
        rows = _integers(found.fields("skeleton_id")[()]) if "skeleton_id" in columns else np.arange(len(worms))
        has_skeleton = rows >= 0
        if np.array_equal(np.sort(rows[has_skeleton]), np.arange(n_rows)):
            order = np.argsort(rows[has_skeleton])
            return worms[has_skeleton][order], frames[has_skeleton][order]
        if len(worms) == n_rows:
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
        raise ValueError("a column of the table must hold one number per row")
    numbers = np.where(np.isfinite(column) & (np.abs(column.astype(float)) < 2**53), column, -1)
    return np.asarray(numbers, dtype=np.int64)
