"""Poses of SLEAP as it exports them for analysis: an HDF5 file comes in, a record for each animal and frame goes out.

``tracks`` holds the landmarks; the order of its axes is in the attribute ``dims`` of newer files, and (track, xy, node,
frame) in older ones. Where ``track_names`` is empty, animals were not followed from frame to frame.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._validation import points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.deeplabcut import Poses, check_options, pose_records, read_hdf5
from shapelex.io.formats.hdf5 import attributes_of, check_size, follow, opens_as_hdf5, read_texts, read_values
from shapelex.io.records import BadRecord, Record, Remark

if TYPE_CHECKING:
    import h5py

_DIMENSIONS = ("track", "frame", "node", "xy")
_OLD = ("track", "xy", "node", "frame")
_NOT_TRANSPOSED = ("frame", "node", "xy", "track")


def recognizes(path: Path) -> bool:
    """Tell whether an HDF5 file holds what SLEAP exports."""
    return opens_as_hdf5(path, lambda file: {"tracks", "node_names", "track_occupancy"} <= set(file))


def read_records(
    path: Path, *, likelihood: float | None = None, max_gap: int | None = None, y_down: bool = True
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each animal in each frame in which it is seen, ordered by animal.

    Parameters
    ----------
    path : Path
        File to read.
    likelihood : float, optional
        Landmarks whose score is below this are missing; None takes all.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps each animal in one sequence.
    y_down : bool, default: True
        Whether y points down in the file, as SLEAP has it; it is then negated.
    """
    check_options(likelihood, max_gap)
    poses = read_hdf5(path, _read_poses, "SLEAP")
    if not poses.tracked:
        yield Remark(
            f"{len(poses.individuals)} animals a frame",
            "the file has no names of tracks, so they belong to no sequence; track them in SLEAP for time series.",
        )
    yield from pose_records(poses, path, likelihood, max_gap, y_down)


def _read_poses(file: "h5py.File", path: Path) -> Poses:
    found = _dataset(file, "tracks", path)
    landmarks, tracks = (_read_names(_dataset(file, name, path), path) for name in ("node_names", "track_names"))
    told = attributes_of(found, path).get("dims")
    if told is not None:
        order = tuple(json.loads(told))
    else:
        order = _OLD if bool(attributes_of(file, path).get("transpose", True)) else _NOT_TRANSPOSED
    if found.ndim != 4 or sorted(map(str, order)) != sorted(_DIMENSIONS):
        raise ShapeFileError(f"{path}: tracks must have the axes {', '.join(_DIMENSIONS)}, got {order} {found.shape}.")
    sides = dict(zip(order, found.shape, strict=True))
    n_tracks = sides["track"]
    if sides["xy"] != 2 or sides["node"] != len(landmarks) or (tracks and n_tracks != len(tracks)):
        raise ShapeFileError(
            f"{path}: tracks is {found.shape} for axes {', '.join(order)}, {len(landmarks)} names of landmarks and "
            f"{len(tracks)} names of tracks, which does not fit: export the file again."
        )
    points = read_values(found, "tracks", path).astype(float).transpose([order.index(name) for name in _DIMENSIONS])
    scores = None
    if "point_scores" in file:
        kept = [name for name in order if name != "xy"]
        axes = [kept.index(name) for name in _DIMENSIONS[:3]]
        scores = read_values(_dataset(file, "point_scores", path), "point_scores", path).astype(float).transpose(axes)
        if scores.shape != points.shape[:3]:
            raise ShapeFileError(f"{path}: point_scores is {scores.shape}, but tracks holds {points.shape[:3]} points.")
    names = tracks or ([""] if n_tracks == 1 else [str(number) for number in range(1, n_tracks + 1)])
    is_tracked = bool(tracks) or n_tracks == 1
    return Poses(points_to_complex(points), scores, np.arange(sides["frame"]), names, landmarks, is_tracked)


def _dataset(file: "h5py.File", name: str, path: Path) -> Any:
    found = follow(file, name, path)
    if not hasattr(found, "dtype"):
        raise ShapeFileError(f"{path} is no SLEAP analysis file: it has no dataset {name!r}.")
    return found


def _read_names(found: "h5py.Dataset", path: Path) -> list[str]:
    # An empty list of names is stored as an array of numbers.
    if found.size == 0:
        return []
    if found.ndim != 1 or found.dtype.kind not in "SO" or found.is_virtual or found.external:
        raise ShapeFileError(f"{path}: {found.name!r} must be a list of names, got {found.dtype} {found.shape}.")
    check_size(found, str(found.name), path)
    return read_texts(found, path)
