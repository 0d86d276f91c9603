"""When each shape of a set was recorded."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, FloatArray, IntArray
from shapelex._validation import check_positive
from shapelex.exceptions import ParameterError
from shapelex.shapes.columns import FPS, as_column, frame_rates
from shapelex.shapes.time_order import TimeOrder

_NAMED = 5
_MOST_FRAMES = 2**53


@dataclass(frozen=True, eq=False)
class Timing:
    """Order of shapes in time, their series, and times where they are known.

    Parameters
    ----------
    time : TimeOrder
        Order of the rows.
    sequence : ndarray, shape (n_shapes,)
        Series of each shape as it was given; 0 for all where there is none.
    times : ndarray of float, shape (n_shapes,), or None
        Times in seconds.
    fps : float or None
        Frames per second.
    """

    time: TimeOrder
    sequence: np.ndarray[Any, Any]
    times: FloatArray | None
    fps: float | None


def find_timing(
    X: Any, n_shapes: int, frames: ArrayLike | None, sequence: ArrayLike | None, fps: float | None = None
) -> Timing:
    """Return the timing of shapes: what the caller gave, else what the set has in its columns.

    The frame rate of a set is its column ``fps``.
    """
    found = moments_of(X, frames, sequence)
    time = find_time_order(n_shapes, found.frames, found.sequence)
    time = replace(time, remarks=(*time.remarks, *found.remarks))
    seconds = None if found.seconds is None else np.asarray(found.seconds, dtype=np.float64)
    if fps is None and seconds is None:
        fps, remarks = _column_rate(getattr(X, "metadata", {}))
        time = replace(time, remarks=(*time.remarks, *remarks))
    if fps is not None:
        fps = check_positive(fps, "fps")
        seconds = np.asarray(time.moments, dtype=np.float64) / fps if seconds is None else seconds
    elif seconds is not None:
        fps = _rate(time, seconds)
    column = as_column(
        np.zeros(n_shapes, dtype=np.int64) if found.sequence is None else found.sequence, n_shapes, "sequence"
    )
    return Timing(time, column, seconds, fps)


def _column_rate(metadata: Any) -> tuple[float | None, list[str]]:
    """Return the frame rate that a set has as a column; None, with a remark, where it is not the same for all rows."""
    rates = frame_rates({FPS: np.asarray(metadata[FPS][:])}) if FPS in metadata else None
    if rates is None:
        return None, []
    if (rates == rates[0]).all():
        return float(rates[0]), []
    known = rates[~np.isnan(rates)]
    return None, [
        f"The frame rates differ or are not all known ({known.min():g} to {known.max():g} frames per second), so that "
        "times are in frames: give fps, or code the series of each rate on their own."
    ]


def _rate(time: TimeOrder, seconds: FloatArray) -> float | None:
    """Return the usual number of frames per second."""
    steps = np.diff(seconds[time.order])[time.is_next[1:]]
    steps = steps[np.isfinite(steps)]
    usual = float(np.median(steps)) if len(steps) else 0.0
    return 1 / usual if usual > 0 else None


class Moments(NamedTuple):
    """Series, frames and times of shapes, as the caller or a set gives them; None where they are unknown."""

    sequence: Any
    frames: Any
    seconds: Any
    remarks: tuple[str, ...]


def moments_of(X: Any, frames: ArrayLike | None = None, sequence: ArrayLike | None = None) -> Moments:
    """Return when shapes were recorded: what the caller gave, else what a set has in its columns.

    The columns of a set are ``sequence``, ``frame`` (whole numbers from 0; −1 where unknown) and ``time`` (seconds). A
    shape of which neither is known belongs to no series. Frames that are no integers are times in seconds.
    """
    metadata = getattr(X, "metadata", {})
    if sequence is None:
        sequence = getattr(X, "sequence", None)
        sequence = None if sequence is None else np.asarray(sequence[:])
    if frames is not None:
        is_seconds = np.asarray(frames).dtype.kind == "f"
        return Moments(sequence, frames, frames if is_seconds else None, ())
    seconds, found = _known_moments(metadata, "time"), _known_moments(metadata, "frame")
    if found is None or (seconds is not None and np.isnan(found).sum() > np.isnan(seconds).sum()):
        found = seconds
    if found is None:
        return Moments(sequence, None, None, ())
    is_unknown = np.isnan(found)
    remarks = []
    if is_unknown.any():
        series = np.zeros(len(found), dtype=np.int64) if sequence is None else np.asarray(sequence)
        sequence = np.where(is_unknown, "" if series.dtype.kind == "U" else -1, series)
        found = np.where(is_unknown, -1, found)
        ids = np.asarray(getattr(X, "ids", np.arange(len(found)).astype(str))[:])[is_unknown].tolist()
        named = ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")
        subject = "1 shape has" if len(ids) == 1 else f"{len(ids)} shapes have"
        remarks.append(f"{subject} no time, or one that is no number, and was left out of its series: {named}.")
    if found is not seconds and (found == np.rint(found)).all() and found.max() < _MOST_FRAMES:
        found = found.astype(np.int64)
    return Moments(sequence, found, seconds, tuple(remarks))


def _known_moments(metadata: Any, name: str) -> FloatArray | None:
    """Return a column of times, read as a whole, with NaN where one is unknown; None where none is known."""
    if name not in metadata:
        return None
    column = np.asarray(metadata[name][:])
    if column.dtype.kind not in "iufU":
        return None
    import pandas as pd

    moments = pd.to_numeric(pd.Series(column.tolist()), errors="coerce").to_numpy(dtype=np.float64, copy=True)
    moments[~np.isfinite(moments) | ((moments < 0) & (name == "frame"))] = np.nan
    return None if np.isnan(moments).all() else moments


def find_time_order(n_shapes: int, frames: ArrayLike | None = None, sequence: ArrayLike | None = None) -> TimeOrder:
    """Return the order of shapes in time.

    Without `sequence` all shapes are one series; a series −1 or empty text stands for no series, and such a shape for
    itself. Without `frames` the rows of a series are in the order of time, one step apart.
    """
    series = np.zeros(n_shapes, dtype=np.int64) if sequence is None else _number_series(sequence, n_shapes)
    remarks: list[str] = []
    if frames is None:
        moments: np.ndarray[Any, Any] = np.empty(n_shapes, dtype=np.int64)
        order = np.argsort(series, kind="stable")
        starts = np.concatenate([[True], np.diff(series[order]) != 0])[: len(order)]
        places = np.arange(n_shapes)
        moments[order] = places - np.maximum.accumulate(np.where(starts, places, 0))
    else:
        moments = _check_moments(frames, n_shapes)
        order = np.lexsort([moments, series])
        _check_repeats(order, series, moments)
        by_series = np.argsort(series, kind="stable")
        unsorted = np.unique(series[order[order != by_series]])
        if len(unsorted):
            remarks.append(
                f"{len(unsorted)} of {series.max() + 1} series had rows that were not in the order of their frames; "
                "they were sorted by frame, and results are in the order of the rows."
            )
    inside = np.diff(series[order]) == 0
    differences = np.diff(moments[order])[inside]
    usual = float(np.median(differences)) if len(differences) else 1.0
    return TimeOrder(order, series, moments, usual, tuple(remarks))


def _number_series(sequence: ArrayLike, n_shapes: int) -> IntArray:
    """Return the series of each row from 0 on, in the order in which they appear."""
    column = as_column(sequence, n_shapes, "sequence")
    _, first, numbers = np.unique(column, return_index=True, return_inverse=True)
    numbers = numbers.reshape(-1)
    is_none = column == "" if column.dtype.kind == "U" else column == -1
    if is_none.any():
        # Every one of them is a series of its own.
        keys = np.where(is_none, len(first) + np.arange(n_shapes), numbers)
        _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
        numbers = numbers.reshape(-1)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(rank[numbers], dtype=np.int64)


def _check_moments(frames: ArrayLike, n_shapes: int) -> np.ndarray[Any, Any]:
    moments = as_column(frames, n_shapes, "frames")
    if moments.dtype.kind not in "iuf":
        raise ParameterError(
            f"{parameter('frames')} must be numbers, one frame number or time per shape, got dtype {moments.dtype}."
        )
    if not np.isfinite(moments).all():
        rows = np.flatnonzero(~np.isfinite(moments))
        raise ParameterError(
            f"{parameter('frames')} must be finite, but is {moments[rows[0]]} in row {rows[0]} and {len(rows)} rows in "
            "all: leave these shapes out, or number them."
        )
    return moments


def _check_repeats(order: IntArray, series: IntArray, moments: np.ndarray[Any, Any]) -> None:
    repeats = (np.diff(series[order]) == 0) & (np.diff(moments[order]) == 0)
    if repeats.any():
        place = int(np.flatnonzero(repeats)[0])
        first, second = sorted(order[place : place + 2].tolist())
        raise ParameterError(
            f"{parameter('frames')} must differ within a series, but rows {first} and {second} both have frame "
            f"{moments[first]}, and {int(repeats.sum())} rows repeat a frame in all: give {parameter('sequence')} if "
            "they belong to different animals or tracks, or leave the repeats out."
        )
