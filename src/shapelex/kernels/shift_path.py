"""The smoothest path of start points through time.

In: for consecutive outlines, the squared distance for every difference of their start points, and the squared distance
of each outline to a target for every start point. Out: the start points of least sum.
"""

import numpy as np

from shapelex._typing import BoolArray, FloatArray, IntArray


def follow_shifts(to_target: FloatArray, to_previous: FloatArray, starts: BoolArray, out_shift: IntArray) -> None:
    """Find the start points of least ``Σ_t to_target[t, s_t] + Σ_t to_previous[t, (s_t − s_(t−1)) mod n]``.

    Parameters
    ----------
    to_target, to_previous : ndarray of float64, shape (n_frames, n_points)
        Squared distances; entry `u` of a row of `to_previous` is for a start point `u` points after that of the frame
        before, if that is at 0.
    starts : ndarray of bool, shape (n_frames,)
        Which frames begin a series: their row of `to_previous` is not used.
    out_shift : ndarray of int64, shape (n_frames,)
        Gets the start points.
    """
    n_frames, n_points = to_target.shape
    pointers = np.empty((n_frames, n_points), dtype=np.int32)
    cost = np.zeros(n_points)
    for t in range(n_frames):
        if starts[t] or t == 0:
            pointers[t] = cost.argmin()
            cost = to_target[t]
            continue
        # Row s of all steps is to_previous[t, (s - before) mod n] for each point before.
        backwards = np.tile(to_previous[t, ::-1], 2)
        steps = np.lib.stride_tricks.sliding_window_view(backwards, n_points)[n_points - 1 :: -1]
        totals = cost + steps
        pointers[t] = totals.argmin(axis=1)
        cost = totals[np.arange(n_points), pointers[t]] + to_target[t]
    state = int(cost.argmin())
    for t in range(n_frames - 1, -1, -1):
        out_shift[t] = state
        state = int(pointers[t, state])
