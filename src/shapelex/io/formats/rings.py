"""Polygons as image programs store them: ``(n, 2)`` points with y down in, complex points with y up out."""

from collections.abc import Sequence

import numpy as np

from shapelex._typing import ComplexArray, FloatArray


def ring_area(points: FloatArray) -> float:
    """Return the area that closed points ``(n, 2)`` enclose, whatever their direction."""
    if len(points) < 3:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        # Moved to the origin first: products of large coordinates would cancel.
        x, y = (points - points[0]).T
        area = 0.5 * abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))))
    return area if np.isfinite(area) else np.inf


def path_length(points: FloatArray) -> float:
    """Return the length of an open path ``(n, 2)``."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.hypot(*np.diff(points, axis=0).T).sum())


def largest_ring(rings: Sequence[FloatArray]) -> FloatArray:
    """Return the ring of the largest area, the first of them in a tie."""
    return max(rings, key=ring_area)


def to_complex(points: FloatArray, *, closed: bool, y_down: bool) -> ComplexArray:
    """Return points ``(n, 2)`` as ``x + iy`` with y up; a closed ring loses its repeated last point.

    Raises
    ------
    ValueError
        Fewer distinct points are left than a shape needs.
    """
    # ImageJ repeats the first point of a part twice: as its last, and again where the path is closed.
    while closed and len(points) > 1 and np.array_equal(points[0], points[-1]):
        points = points[:-1]
    if not np.isfinite(points).all():
        raise ValueError("a coordinate is not finite")
    n_needed = 3 if closed else 2
    if len(points) < n_needed:
        kind = "a closed outline" if closed else "a shape"
        raise ValueError(f"{kind} needs at least {n_needed} points, this one has {len(points)}")
    y = -points[:, 1] if y_down else points[:, 1]
    # Adding zero turns the -0.0 that negation leaves into 0.0.
    return np.asarray(points[:, 0] + 1j * (y + 0.0), dtype=np.complex128)
