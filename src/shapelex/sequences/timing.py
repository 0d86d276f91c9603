"""When each shape of a set was recorded.

In: a set of shapes, or arrays, and what the caller says. Out: frames, series, times in seconds and the frame rate.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, FloatArray
from shapelex._validation import check_positive
from shapelex.shapes.columns import as_column
from shapelex.shapes.series import FPS, frame_rates
from shapelex.shapes.time_order import TimeOrder, find_time_order, moments_of


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
    usual = float(np.median(steps)) if len(steps) else 0.0
    return 1 / usual if usual > 0 else None
