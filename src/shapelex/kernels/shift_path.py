"""The smoothest path of start points through time.

In: for consecutive outlines, the squared distance for every difference of their start points, and the squared distance
of each outline to a target for every start point. Out: the start points of least sum.
"""

import numpy as np

from shapelex.kernels.compilation import kernel


@kernel()
def follow_shifts(to_target, to_previous, starts, out_shift):
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
    pointers = np.zeros((n_frames, n_points), dtype=np.int32)
    cost = np.zeros(n_points)
    following = np.empty(n_points)
    for t in range(n_frames):
        if starts[t] or t == 0:
            best = np.argmin(cost)
            for s in range(n_points):
                pointers[t, s] = best
                following[s] = to_target[t, s]
        else:
            for s in range(n_points):
                least = np.inf
                place = 0
                for before in range(n_points):
                    u = s - before
                    if u < 0:
                        u += n_points
                    value = cost[before] + to_previous[t, u]
                    if value < least:
                        least = value
                        place = before
                pointers[t, s] = place
                following[s] = least + to_target[t, s]
        # An assignment to a slice would compile the message of its error, which takes longer than all of this.
        cost, following = following, cost
    state = np.argmin(cost)
    for t in range(n_frames - 1, -1, -1):
        out_shift[t] = state
        state = pointers[t, state]
