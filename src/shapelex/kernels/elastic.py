"""Elastic matching of closed outlines: the cheapest monotone path between two cyclic sequences of descriptors.

The path may stretch and compress one outline against the other, but not move away from the rigid match by more than
`width` points. Several rigid matches are tried, each given by the number of the first point of the other outline.
"""

import numpy as np
from numba import njit

from shapelex.kernels.triangle import FAST


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def match_batch(descriptors, others, candidates, starts, width, out_costs):
    """Write the least mean cost of the paths between each row and its candidates, over all starts.

    Parameters
    ----------
    descriptors : ndarray of float32, shape (n_rows, n_variants, n_points, n_values)
        Descriptors of the points of each row, and of its mirror image where there are two variants.
    others : ndarray of float32, shape (n_others, n_points, n_values)
        Descriptors of outlines to compare them with.
    candidates : ndarray of int64, shape (n_rows, n_candidates)
        Numbers of the others that each row is compared with.
    starts : ndarray of int64, shape (n_rows, n_candidates, n_starts)
        Points of the other outline that lie opposite the first point of the row, plus ``n_points`` for variant 1.
    width : int
        Largest distance of a path from the rigid match, in points; less than half of their number.
    out_costs : ndarray of float32, shape (n_rows, n_candidates)
        Sums of absolute differences along the cheapest path, divided by the number of points.
    """
    n_points, n_values = descriptors.shape[2:]
    n_columns = 2 * width + 1
    infinite = np.float32(np.finfo(np.float32).max)
    before = np.empty(n_columns + 2, dtype=np.float32)
    now = np.empty(n_columns + 2, dtype=np.float32)
    for row in range(descriptors.shape[0]):
        for place in range(candidates.shape[1]):
            other = others[candidates[row, place]]
            least = infinite
            for start in starts[row, place]:
                points = descriptors[row, start // n_points]
                before[:] = infinite
                before[width + 1] = np.float32(0)
                for i in range(n_points):
                    now[:] = infinite
                    first = 1 if i else width + 1
                    at = (i + first - 1 - width + start) % n_points
                    for column in range(first, n_columns + 1):
                        cost = np.float32(0)
                        for value in range(n_values):
                            cost += abs(points[i, value] - other[at, value])
                        # From the point before on both outlines, or on one of them.
                        now[column] = cost + min(before[column], before[column + 1] if i else infinite, now[column - 1])
                        at = at + 1 if at < n_points - 1 else 0
                    before, now = now, before
                least = min(least, before[width + 1])
            out_costs[row, place] = least / np.float32(n_points)
