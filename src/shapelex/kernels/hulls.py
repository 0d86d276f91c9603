"""Convex hulls of planar points: area, perimeter, and the largest and smallest distance between parallel tangents."""

import numpy as np

from shapelex.kernels.compilation import kernel


@kernel()
def hull_measures_batch(points, out_measures):
    """Write area, perimeter, greatest and least Feret diameter of the hull of each row.

    `points` (n_shapes, n_points, 2) has the points of each row in the order of x, then of y; `out_measures` is
    (n_shapes, 4). Hulls of points on a line have no area, and a least diameter of 0.
    """
    n_points = points.shape[1]
    hull = np.empty((2 * n_points + 1, 2))
    for k in range(points.shape[0]):
        size = lower = 0
        # The lower chain from left to right, then the upper one back.
        for step in range(2 * n_points - 1):
            place = step if step < n_points else 2 * n_points - 2 - step
            least = 2 if step < n_points else lower + 1
            x, y = points[k, place, 0], points[k, place, 1]
            while size >= least and (
                (hull[size - 1, 0] - hull[size - 2, 0]) * (y - hull[size - 2, 1])
                - (hull[size - 1, 1] - hull[size - 2, 1]) * (x - hull[size - 2, 0])
                <= 0
            ):
                size -= 1
            hull[size, 0], hull[size, 1] = x, y
            size += 1
            if step == n_points - 1:
                lower = size
        # The last point is the first one again.
        size -= 1
        area = perimeter = greatest = 0.0
        least_width = np.inf
        far = 1
        for i in range(size):
            x, y = hull[i, 0] - hull[0, 0], hull[i, 1] - hull[0, 1]
            dx, dy = hull[i + 1, 0] - hull[i, 0], hull[i + 1, 1] - hull[i, 1]
            length = np.hypot(dx, dy)
            area += 0.5 * (x * dy - y * dx)
            perimeter += length
            width = dx * (hull[far, 1] - hull[i, 1]) - dy * (hull[far, 0] - hull[i, 0])
            # Heights over an edge rise up to the farthest vertex; that of the next edge is never before it.
            for _ in range(size):
                after = (far + 1) % size
                height = dx * (hull[after, 1] - hull[i, 1]) - dy * (hull[after, 0] - hull[i, 0])
                if height < width:
                    break
                far, width = after, height
                for end in (i, i + 1):
                    greatest = max(greatest, np.hypot(hull[far, 0] - hull[end, 0], hull[far, 1] - hull[end, 1]))
            for end in (i, i + 1):
                greatest = max(greatest, np.hypot(hull[far, 0] - hull[end, 0], hull[far, 1] - hull[end, 1]))
            if length > 0:
                least_width = min(least_width, width / length)
        out_measures[k, 0], out_measures[k, 1] = area, perimeter
        out_measures[k, 2], out_measures[k, 3] = greatest, least_width if size > 1 else 0.0
