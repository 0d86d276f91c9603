"""Poses in files of Neurodata Without Borders (extension ndx-pose): a record for each animal and frame goes out.

Each ``PoseEstimation`` under ``/processing`` is one animal, and has a series of points with times for each landmark,
which may leave out times at which the landmark was not seen. Frames are counted by the rate of the times.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex._validation import points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.deeplabcut import Poses, check_options, pose_records, read_hdf5
from shapelex.io.formats.hdf5 import attributes_of, follow, opens_as_hdf5, read_texts, read_values
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.shapes.columns import FPS

if TYPE_CHECKING:
    import h5py

_MOST_LANDMARKS = 1 << 26
# Times are this near to whole frames, or are not those of a video of one rate.
_MOST_UNEVEN = 0.1


def recognizes(path: Path) -> bool:
    """Tell whether an HDF5 file is one of NWB."""
    return opens_as_hdf5(path, lambda file: "nwb_version" in file.attrs)


def read_records(
    path: Path, *, likelihood: float | None = None, max_gap: int | None = None, y_down: bool = True
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each animal in each frame in which it is seen, ordered by animal.

    Parameters
    ----------
    path : Path
        File to read.
    likelihood : float, optional
        Landmarks whose confidence is below this are missing; None takes all.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps each animal in one sequence.
    y_down : bool, default: True
        Whether y points down in the file, as in images; it is then negated.
    """
    check_options(likelihood, max_gap)
    poses, rate, left_out = read_hdf5(path, _read_poses, "NWB")
    for record in pose_records(poses, path, likelihood, max_gap, y_down):
        if isinstance(record, Record) and rate is not None:
            yield replace(record, metadata={**record.metadata, FPS: rate})
        else:
            yield record
    if rate is None:
        yield Remark("times", "not those of frames at one rate, so frames were counted in their order.")
    if left_out:
        told = ", ".join(left_out)[:200]
        yield Remark(f"animals {told}", f"left out, since their landmarks are not those of {poses.individuals[0]}.")


def _read_poses(file: "h5py.File", path: Path) -> tuple[Poses, float | None, list[str]]:
    """Return the poses, the frames per second, and the animals that have other landmarks than the first."""
    animals = {}
    for module in _names(file, "processing", path):
        for name in _names(file, f"processing/{module}", path):
            place = f"processing/{module}/{name}"
            series = _series_of(file, place, path)
            if series:
                animals[f"{module}-{name}" if name in animals else name] = series
    if not animals:
        raise ShapeFileError(f"{path} has no poses: expected a PoseEstimation of ndx-pose under /processing.")
    landmarks = list(next(iter(animals.values())))
    left_out = [name for name, series in animals.items() if {*series} != {*landmarks}]
    chosen = {name: series for name, series in animals.items() if name not in left_out}
    every = [one for series in chosen.values() for one in series.values()]
    times = np.unique(np.concatenate([one[0] for one in every]).round(9))
    steps = np.diff(times)
    rate = 1 / float(np.median(steps)) if len(steps) else None
    frames = np.arange(len(times), dtype=np.int64)
    if rate is not None:
        counted = (times - times[0]) * rate
        if np.abs(counted - np.rint(counted)).max() < _MOST_UNEVEN and times[-1] * rate < 2**53:
            frames = np.rint(counted).astype(np.int64)
        else:
            rate = None
    shape = len(chosen), len(times), len(landmarks)
    if np.prod(shape, dtype=object) > _MOST_LANDMARKS:
        raise ShapeFileError(
            f"{path} has {shape[0]} animals at {shape[1]} times, too many to hold: save one recording."
        )
    xy, scores = np.full((*shape, 2), np.nan), np.full(shape, np.nan)
    for row, series in enumerate(chosen.values()):
        for column, landmark in enumerate(landmarks):
            when, points, confidence = series[landmark]
            places = np.searchsorted(times, when.round(9))
            xy[row, places, column] = points
            scores[row, places, column] = np.nan if confidence is None else confidence
    has_scores = all(one[2] is not None for one in every)
    names = [name.removeprefix("track=") for name in chosen]
    is_tracked = len(names) == 1 or not any(name.startswith("untracked") for name in names)
    poses = Poses(points_to_complex(xy), scores if has_scores else None, frames, names, landmarks, is_tracked)
    return poses, None if rate is None else float(f"{rate:.9g}"), left_out


def _names(file: "h5py.File", name: str, path: Path) -> list[str]:
    group = follow(file, name, path)
    return list(group) if hasattr(group, "keys") else []


def _series_of(
    file: "h5py.File", place: str, path: Path
) -> dict[str, tuple[FloatArray, FloatArray, FloatArray | None]]:
    """Return times, points and confidences of each landmark of an animal; nothing where a group is no animal."""
    group = follow(file, place, path)
    if group is None or _kind(group, path) != "PoseEstimation":
        return {}
    found = {
        name: _read_series(file, f"{place}/{name}", path)
        for name in group
        if (one := follow(file, f"{place}/{name}", path)) is not None and _kind(one, path) == "PoseEstimationSeries"
    }
    order = _order(file, place, path)
    return {name: found[name] for name in order} if {*order} == {*found} and len(order) == len(found) else found


def _kind(found: Any, path: Path) -> str:
    kind = attributes_of(found, path).get("neurodata_type", "")
    return kind.decode("utf-8", "replace") if isinstance(kind, bytes) else str(kind)


def _order(file: "h5py.File", place: str, path: Path) -> list[str]:
    """Return the names of the landmarks in the order of the skeleton, where the file has one."""
    groups = [f"{place}/{name}" for name in _names(file, place, path)]
    for name in [f"{place}/nodes", *(f"{one}/nodes" for one in groups)]:
        nodes = follow(file, name, path)
        if hasattr(nodes, "dtype") and nodes.ndim == 1 and nodes.dtype.kind in "SO":
            return read_texts(nodes, path)
    return []


def _read_series(file: "h5py.File", place: str, path: Path) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    def values(name: str) -> Any:
        found = follow(file, f"{place}/{name}", path)
        return None if found is None else read_values(found, f"{place}/{name}", path).astype(float)

    points, times, confidence = values("data"), values("timestamps"), values("confidence")
    if points is None or points.ndim != 2 or points.shape[1] != 2:
        shape = None if points is None else points.shape
        raise ShapeFileError(
            f"{path}: {place} must have x and y of each time, got {shape}; poses in space are not planar."
        )
    if times is None:
        start = follow(file, f"{place}/starting_time", path)
        rate = 0.0 if start is None else float(attributes_of(start, path).get("rate", 0))
        if not 0 < rate < np.inf:
            raise ShapeFileError(f"{path}: {place} has neither timestamps nor a starting time with a rate.")
        times = float(start[()]) + np.arange(len(points)) / rate
    if times.shape != (len(points),) or (confidence is not None and confidence.shape != times.shape):
        raise ShapeFileError(f"{path}: {place} has {len(points)} points, but {times.size} times.")
    if not np.isfinite(times).all() or len(np.unique(times.round(9))) < len(times):
        raise ShapeFileError(f"{path}: the times of {place} are not different numbers.")
    return times, points, confidence
