"""Postures: shapes as plain vectors, in which averages and directions have a meaning.

A posture does not depend on place, size and rotation: it is the tangent vector at the mean shape, or the tangent angle
along an open curve, minus its mean. Angles follow strong bends, and amplify noise.
"""

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry import log, mean_shape
from shapelex.spaces import Landmarks, Space

_CURVE_POINTS = 41


def curve_points(configurations: ComplexArray, space: Space) -> ComplexArray:
    """Return points along each curve: the landmarks, or points of a spline at equal steps of its parameter."""
    if isinstance(space, Landmarks):
        return np.asarray(configurations)
    return space.sample(configurations, space.parameters(_CURVE_POINTS))


def tangent_angles(configurations: ComplexArray, space: Space) -> FloatArray:
    """Return the angle of each segment of open curves, minus the mean over the curve, shape (n_shapes, n_segments)."""
    steps = np.diff(curve_points(configurations, space), axis=1)
    angles: FloatArray = np.unwrap(np.angle(steps), axis=1)
    return np.asarray(angles - angles.mean(axis=1, keepdims=True))


class PostureMap:
    """Turns shapes into postures, relative to the mean posture of the shapes that it was made with.

    The postures of open curves are tangent angles if `by_angles` is set; all others are tangent vectors.
    """

    def __init__(self, configurations: ComplexArray, space: Space, *, by_angles: bool) -> None:
        self.space = space
        self._base: ComplexArray | None = None
        if space.closed or not by_angles:
            self._base = mean_shape(configurations, space=space)
        self._center: FloatArray | float = 0.0
        self._center = self(configurations).mean(axis=0)

    def __call__(self, configurations: ComplexArray) -> FloatArray:
        """Return the postures, shape (n_shapes, n_entries)."""
        if self._base is None:
            return np.asarray(tangent_angles(configurations, self.space) - self._center)
        rows = self.space.whiten(log(self._base, configurations, self.space))
        return np.asarray(np.ascontiguousarray(rows).view(rows.real.dtype) - self._center)
