"""Configurations as the curves they stand for, ready to draw."""

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex.exceptions import ShapeInputError, UnsupportedBySpaceError
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space

_FEWEST_SAMPLES = 400
_FEWEST_SAMPLES_A_SPAN = 8


def checked_shape(z: ArrayLike, space: Space | None, name: str) -> tuple[ComplexArray, Space]:
    """Return one configuration, and its space."""
    configurations, space = read_configurations(z, space, name)
    if len(configurations) != 1:
        raise ShapeInputError(f"{name} must be one configuration, got {len(configurations)}: draw one row of them.")
    return configurations[0], space


def curve_parameters(space: Space) -> FloatArray:
    """Return parameters from 0 to 1, both ends included, so that a closed curve closes.

    Landmarks are sampled at their corners alone. Splines are sampled also at every knot, where a curve of low degree
    has its corners.
    """
    if isinstance(space, Landmarks):
        return np.linspace(0.0, 1.0, space.n_points + space.closed)
    if isinstance(space, BSpline):
        n_spans = space.n_points if space.closed else space.n_points - space.degree
    elif isinstance(space, HermiteSpline):
        n_spans = space.n_intervals
    else:
        n_spans = space.n_coordinates
    per_span = max(-(-_FEWEST_SAMPLES // n_spans), _FEWEST_SAMPLES_A_SPAN)
    return np.linspace(0.0, 1.0, n_spans * per_span + 1)


def curve_points(configurations: ComplexArray, space: Space) -> ComplexArray:
    """Return points along the curves, in the order of drawing, ``(n_shapes, n_parameters)`` or ``(n_parameters,)``."""
    return space.sample(configurations, curve_parameters(space))


def control_points(configurations: ComplexArray, space: Space) -> ComplexArray:
    """Return the coordinates that are points of the plane; the tangents of a Hermite spline are not."""
    if isinstance(space, HermiteSpline):
        return configurations[..., : space.n_points]
    if isinstance(space, Landmarks | BSpline):
        return configurations
    raise UnsupportedBySpaceError(
        f"points=True draws landmarks, knots or control points, but {type(space).__name__} has none; leave it out."
    )
