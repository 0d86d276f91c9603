"""Time along the x axis: frame numbers and a frame rate come in, times in a readable unit and their gaps go out."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ArrayLike, FloatArray, IntArray
from shapelex._validation import check_positive
from shapelex.exceptions import ShapeInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Units of time, each used for series that last longer than so many of its seconds.
_UNITS = (("d", 86400.0, 4.0), ("h", 3600.0, 2.0), ("min", 60.0, 10.0), ("s", 1.0, 0.0))


@dataclass(frozen=True)
class TimeAxis:
    """Times of the frames of one series.

    Attributes
    ----------
    order : ndarray of int
        Rows in the order of time.
    frames : ndarray of int
        Frame numbers in that order.
    times : ndarray of float
        Times in that order, in `unit`.
    step : float
        Time from one frame to the next.
    unit : str
        Unit of time; empty where times are frame numbers.
    """

    order: IntArray
    frames: IntArray
    times: FloatArray
    step: float
    unit: str

    @property
    def label(self) -> str:
        """Name of the axis."""
        return f"time ({self.unit})" if self.unit else "frame"

    @property
    def bounds(self) -> tuple[float, float]:
        """Begin of the first frame and end of the last one."""
        return float(self.times[0]), float(self.times[-1]) + self.step

    def pieces(self) -> list[slice]:
        """Return the stretches of rows without a missing frame."""
        starts = [0, *(np.flatnonzero(np.diff(self.frames) > 1) + 1).tolist(), len(self.frames)]
        return [slice(start, stop) for start, stop in pairwise(starts)]

    def say(self, place: int) -> str:
        """Return the time of a row in words."""
        return f"{self.times[place]:.4g} {self.unit}" if self.unit else f"frame {self.frames[place]}"

    def set_up(self, ax: "Axes", fontsize: float) -> None:
        """Name the time axis and set its limits."""
        ax.set_xlim(*self.bounds)
        ax.set_xlabel(self.label, fontsize=fontsize)
        ax.tick_params(labelsize=fontsize)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)


def time_axis(n_rows: int, frames: ArrayLike | None, fps: float | None) -> TimeAxis:
    """Return the times of the rows of one series; frames are numbered from 0 when not given."""
    numbers = np.arange(n_rows) if frames is None else np.asarray(frames)
    if n_rows == 0:
        raise ShapeInputError("there is no frame to draw.")
    if numbers.shape != (n_rows,) or not np.array_equal(numbers, np.rint(numbers)):
        raise ShapeInputError(
            f"frames must be one whole number for each of the {n_rows} rows, got shape {numbers.shape}, "
            f"dtype {numbers.dtype}."
        )
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order].astype(np.int64)
    is_repeated = np.diff(ordered) == 0
    if is_repeated.any():
        raise ShapeInputError(
            f"frames must differ, but frame {ordered[:-1][is_repeated][0]} occurs more than once: draw one series at a "
            "time, such as the rows where sequence == 0."
        )
    scale, unit = 1.0, ""
    if fps is not None:
        rate = check_positive(fps, "fps")
        seconds = (ordered[-1] - ordered[0] + 1) / rate
        unit, length = next((name, length) for name, length, least in _UNITS if seconds >= least * length)
        scale = 1 / (rate * length)
    return TimeAxis(order, ordered, ordered * scale, scale, unit)
