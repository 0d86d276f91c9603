"""Which shapes follow each other in time.

In: the number of the series of each shape and its frame or time. Out: the order of the rows in time, and how long after
the shape before it each shape follows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, FloatArray, IntArray
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.shapes.collection import Block, Shapes
from shapelex.shapes.columns import as_column


@dataclass(frozen=True, eq=False)
class TimeOrder:
    """Rows in the order of their series and of time.

    Parameters
    ----------
    order : ndarray of int, shape (n_used,)
        Numbers of the rows, series after series; rows that are left out are not in it.
    steps : ndarray of float, shape (n_used,)
        Time since the row before in `order`, in units of the usual step between two frames of the set; 0 for the first
        one of a series.
    series : ndarray of int, shape (n_shapes,)
        Series of each row, from 0, in the order of `order`.
    moments : ndarray, shape (n_shapes,)
        Frame number or time of each row.
    usual_step : float
        Median difference of two consecutive moments of a series; 1 where no series has two shapes.
    remarks : tuple of str
        Remarks for the user.
    """

    order: IntArray
    steps: FloatArray
    series: IntArray
    moments: np.ndarray[Any, Any]
    usual_step: float
    remarks: tuple[str, ...] = ()

    @property
    def is_sorted(self) -> bool:
        """Whether `order` is the order of the rows."""
        return bool((np.diff(self.order) > 0).all())

    @property
    def is_next(self) -> BoolArray:
        """Which entries of `order` follow the one before without a gap, in the same series."""
        return np.asarray((self.steps > 0) & (self.steps < 1.5))

    def without(self, is_left_out: BoolArray) -> "TimeOrder":
        """Return the order of the other rows; the time between them grows."""
        if not is_left_out.any():
            return self
        order = self.order[~is_left_out[self.order]]
        return replace(self, order=order, steps=_steps(order, self.series, self.moments, self.usual_step))

    def switch_costs(self, switch_cost: float) -> FloatArray:
        """Return the cost of a change before each entry of `order`: `switch_cost`, divided by the length of a gap."""
        steps = np.maximum(self.steps, 1)
        return np.where(self.steps > 0, switch_cost / steps, 0.0)

    def blocks(self, shapes: Shapes, n_rows: int) -> Iterator[tuple[IntArray, Block]]:
        """Yield the shapes in the order of time, with their row numbers."""
        if len(self.order) == len(shapes) and self.is_sorted:
            for block in shapes.blocks(n_rows):
                yield np.arange(block.start, block.start + len(block)), block
            return
        if shapes.is_sequential and not self.is_sorted:
            raise ShapeInputError(
                f"{shapes.name} is read from its beginning each time, so its shapes must be in the order of series and "
                "time: sort them, or store them in a file."
            )
        for start in range(0, len(self.order), n_rows):
            rows = self.order[start : start + n_rows]
            ascending = np.argsort(rows)
            taken = np.empty((len(rows), shapes.shape[1]), dtype=shapes.dtype)
            taken[ascending] = shapes.take(rows[ascending])
            yield rows, Block(start, taken, shapes.weights_of(rows), None, shapes.name, 0)


class Moments(NamedTuple):
    """Series, frames and times of shapes, as the caller or a set gives them; None where they are unknown."""

    sequence: Any
    frames: Any
    seconds: Any
    remarks: tuple[str, ...]


def moments_of(X: Any, frames: ArrayLike | None = None, sequence: ArrayLike | None = None) -> Moments:
    """Return when shapes were recorded: what the caller gave, else what a set has in its columns.

    The columns of a set are ``sequence``, ``frame`` (whole numbers from 0; −1 where unknown) and ``time`` (seconds).
    Frames that are no integers are times in seconds.
    """
    metadata = getattr(X, "metadata", {})
    if sequence is None:
        sequence = getattr(X, "sequence", None)
        sequence = None if sequence is None else np.asarray(sequence[:])
    if frames is not None:
        is_seconds = np.asarray(frames).dtype.kind == "f"
        return Moments(sequence, frames, frames if is_seconds else None, ())
    seconds, found = _finite_column(metadata, "time"), _finite_column(metadata, "frame")
    if found is not None and bool((found < 0).any()):
        told = "Some frames are unknown (−1): the rows of a series were taken to be in the order of time."
        return Moments(sequence, seconds, seconds, () if seconds is not None else (told,))
    return Moments(sequence, seconds if found is None else found, seconds, ())


def _finite_column(metadata: Any, name: str) -> np.ndarray[Any, Any] | None:
    """Return a column of numbers of a set, read as a whole; None where it has none, or some are not finite."""
    if name not in metadata:
        return None
    column = np.asarray(metadata[name][:])
    return column if column.dtype.kind in "iuf" and bool(np.isfinite(column).all()) else None


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
    return TimeOrder(order, _steps(order, series, moments, usual), series, moments, usual, tuple(remarks))


def _steps(order: IntArray, series: IntArray, moments: np.ndarray[Any, Any], usual: float) -> FloatArray:
    steps = np.zeros(len(order))
    inside = np.diff(series[order]) == 0
    steps[1:] = np.where(inside, np.diff(moments[order]) / usual, 0.0)
    return steps


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
