"""The cost of a change of atoms, chosen by held-out error.

Every second frame of a sample is left out, and the path is found for the others. A frame that was left out is then
approximated with the atoms of the frames before and after it. Paths that change atoms to follow noise predict the atoms
of their neighbors badly, and so do paths that do not follow the motion.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import BoolArray, FloatArray, IntArray
from shapelex.coding.paths import PathCoder, PathFinder, SupportLattice
from shapelex.shapes.storage import Shapes
from shapelex.shapes.time_order import TimeOrder

SLACK = 0.01
"""The largest cost is taken whose held-out error is at most this part above the least one."""

RELATIVE_COSTS = 2.0 ** np.arange(-4, 6.5, 0.5)
"""Costs that are tried, in units of the mean squared error of frame-by-frame codes."""

# Larger costs are not tried once the held-out error is so much above the least one.
_HOPELESS = 1.1
_SAMPLE_FRAMES = 10_000
_SAMPLE_BYTES = 1 << 26
_STRETCH = 500


@dataclass(frozen=True, eq=False)
class CostChoice:
    """A cost, and a table of those that were tried."""

    switch_cost: float
    table: dict[str, FloatArray]


def choose_switch_cost(shapes: Shapes, time: TimeOrder, coder: PathCoder, n_threads: int | None) -> CostChoice:
    """Return the largest cost whose held-out error is within 1 % of the least; 0 where no frames are consecutive."""
    lattice = SupportLattice.of(coder.n_atoms, coder.n_nonzero)
    sample = _draw_stretches(time, min(_SAMPLE_FRAMES, max(_SAMPLE_BYTES // (8 * len(lattice.supports)), 200)))
    if not (sample.steps > 0).any():
        return CostChoice(0.0, {})
    ((_, block),) = sample.blocks(shapes, max(len(sample.order), len(shapes)))
    squares = coder.all_squares(block, lattice.supports, n_threads)
    tried: list[tuple[float, float, float, float]] = []
    for cost in (0.0, *(RELATIVE_COSTS * squares.min(axis=1).mean()).tolist()):
        held_out = _held_out_error(squares, sample, lattice, cost)
        path = _path(squares, sample, lattice, cost)
        error = float(np.sqrt(squares[np.arange(len(path)), path].mean()))
        is_next = sample.is_next[1:]
        flicker = float((np.diff(path) != 0)[is_next].mean()) if is_next.any() else np.nan
        tried.append((cost, held_out, error, flicker))
        if held_out > _HOPELESS * min(row[1] for row in tried):
            break
    costs, errors = np.array(tried)[:, 0], np.array(tried)[:, 1]
    chosen = np.flatnonzero(errors <= (1 + SLACK) * errors.min())[-1]
    names = ("switch_cost", "held_out_rmse", "rmse", "flicker")
    return CostChoice(float(costs[chosen]), dict(zip(names, np.array(tried).T, strict=True)))


def _draw_stretches(time: TimeOrder, n_most: int) -> TimeOrder:
    """Return the whole order, or stretches that are spread evenly over it."""
    n_frames = len(time.order)
    if n_frames <= n_most:
        return time
    n_stretches = max(n_most // _STRETCH, 1)
    length = min(n_most // n_stretches, n_frames // n_stretches)
    firsts = np.linspace(0, n_frames - length, n_stretches).astype(np.int64)
    kept = np.zeros(len(time.series), dtype=bool)
    kept[time.order[(firsts[:, None] + np.arange(length)).ravel()]] = True
    return time.without(~kept)


def _path(squares: FloatArray, time: TimeOrder, lattice: SupportLattice, switch_cost: float) -> IntArray:
    finder = PathFinder(lattice)
    decided = finder.add(squares, time.switch_costs(switch_cost))
    return np.concatenate([decided, finder.finish()])


def _held_out_error(squares: FloatArray, time: TimeOrder, lattice: SupportLattice, switch_cost: float) -> float:
    """Return the root mean squared error of frames left out, over the atoms of the frames before and after them."""
    n_frames, total, count = len(time.order), 0.0, 0
    starts = time.steps == 0
    places = np.arange(n_frames)
    parity = (places - np.maximum.accumulate(np.where(starts, places, 0))) % 2
    is_near = time.is_next if time.is_next.any() else time.steps > 0
    for fold in (0, 1):
        is_kept: BoolArray = parity == fold
        left_out = np.zeros(len(time.series), dtype=bool)
        left_out[time.order[~is_kept]] = True
        path = np.full(n_frames, -1)
        path[is_kept] = _path(squares[is_kept], time.without(left_out), lattice, switch_cost)
        # Over a gap, the atoms of a neighbor say little.
        later = np.flatnonzero(is_near[1:] & is_kept[:-1]) + 1
        earlier = np.flatnonzero(is_near[1:] & is_kept[1:])
        total += float(squares[later, path[later - 1]].sum() + squares[earlier, path[earlier + 1]].sum())
        count += len(later) + len(earlier)
    return float(np.sqrt(total / count))
