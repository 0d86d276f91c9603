"""Shapes of time series to learn from, whose sets of atoms should change seldom.

A pass codes them over the path of supports of least error and cost of changes. Samples that are drawn from them, such
as those of the search for a first dictionary, are shapes without time.
"""

from dataclasses import replace

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex.coding.path_coder import PathCoder
from shapelex.coding.support_paths import changes_cost, find_path
from shapelex.exceptions import ParameterError
from shapelex.shapes.collection import ArrayShapes, Shapes
from shapelex.shapes.time_order import TimeOrder, find_time_order


class TimedShapes(ArrayShapes):
    """Shapes in memory, in the order of time."""

    def __init__(self, configurations: ComplexArray, time: TimeOrder, like: Shapes) -> None:
        super().__init__(configurations, like.space, name=like.name)
        # The rows are in order already.
        n_shapes = len(configurations)
        self.time = replace(
            time, order=np.arange(n_shapes), series=time.series[time.order], moments=np.arange(n_shapes)
        )

    def find_supports(self, coder: PathCoder, switch_cost: float, n_threads: int | None) -> tuple[IntArray, float]:
        """Return the supports of the best path, and the sum of the costs of its changes."""
        supports = find_path(self, self.time, coder, switch_cost, n_threads).supports
        costs: FloatArray = self.time.switch_costs(switch_cost)
        return supports, changes_cost(supports, costs)


def open_timed(shapes: Shapes, frames: ArrayLike | None, sequence: ArrayLike | None) -> TimedShapes:
    """Return shapes of time series, read into memory in the order of time."""
    if shapes.is_remote:
        raise ParameterError(
            f"{parameter('switch_cost')} learns from shapes in memory: leave it out, or give an array instead of a "
            "Dask array."
        )
    if shapes.weights is not None:
        raise ParameterError(f"{parameter('switch_cost')} has no sample_weight: leave out one of them.")
    time = find_time_order(len(shapes), frames, sequence)
    whole = shapes[:]
    time = time.without(np.asarray(np.isnan(whole).any(axis=1)))
    return TimedShapes(np.ascontiguousarray(whole[time.order]), time, shapes)
