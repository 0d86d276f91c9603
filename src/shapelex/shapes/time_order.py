"""The order of shapes in time, and how long after the shape before it each shape follows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shapelex._typing import BoolArray, FloatArray, IntArray
from shapelex.exceptions import ShapeInputError
from shapelex.shapes.storage import Block, Shapes


@dataclass(frozen=True, eq=False)
class TimeOrder:
    """Rows in the order of their series and of time.

    Parameters
    ----------
    order : ndarray of int, shape (n_used,)
        Numbers of the rows, series after series; rows that are left out are not in it.
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
    series: IntArray
    moments: np.ndarray[Any, Any]
    usual_step: float
    remarks: tuple[str, ...] = ()

    @cached_property
    def steps(self) -> FloatArray:
        """Time since the row before in `order`, in units of the usual step; 0 for the first row of a series."""
        steps = np.zeros(len(self.order))
        inside = np.diff(self.series[self.order]) == 0
        steps[1:] = np.where(inside, np.diff(self.moments[self.order]) / self.usual_step, 0.0)
        return steps

    @property
    def is_next(self) -> BoolArray:
        """Which entries of `order` follow the one before without a gap, in the same series."""
        return np.asarray((self.steps > 0) & (self.steps < 1.5))

    def without(self, is_left_out: BoolArray) -> "TimeOrder":
        """Return the order of the other rows; the time between them grows."""
        return replace(self, order=self.order[~is_left_out[self.order]])

    def switch_costs(self, switch_cost: float) -> FloatArray:
        """Return the cost of a change before each entry of `order`: `switch_cost`, divided by the length of a gap."""
        return np.where(self.steps > 0, switch_cost / np.maximum(self.steps, 1), 0.0)

    def blocks(self, shapes: Shapes, n_rows: int) -> Iterator[tuple[IntArray, Block]]:
        """Yield the shapes in the order of time, with their row numbers."""
        is_sorted = bool((np.diff(self.order) > 0).all())
        if len(self.order) == len(shapes) and is_sorted:
            for block in shapes.blocks(n_rows):
                yield np.arange(block.start, block.start + len(block)), block
            return
        if shapes.is_sequential and not is_sorted:
            raise ShapeInputError(
                f"{shapes.name} is read from its beginning each time, so its shapes must be in the order of series and "
                "time: sort them, or store them in a file."
            )
        for start in range(0, len(self.order), n_rows):
            rows = self.order[start : start + n_rows]
            yield rows, Block(start, shapes[rows], shapes.weights_of(rows), None, shapes.name, 0)
