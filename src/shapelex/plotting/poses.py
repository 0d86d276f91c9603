"""Poses in which shapes are easy to compare: rotations alone, which leave every shape what it is."""

import warnings
from typing import Literal, TypeAlias

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_choice
from shapelex.exceptions import NonUniqueMeanWarning
from shapelex.geometry import mean_shape, optimal_rotation
from shapelex.plotting.curves import checked_shape, curve_points
from shapelex.spaces import Space

Pose: TypeAlias = Literal["mean", "principal", "given"]

POSES = ("mean", "principal", "given")


def flat_rotation(Z: ComplexArray, space: Space) -> complex:
    """Return the one rotation that lays the long axis of all the curves together along x."""
    moment = np.sum(curve_points(space.centered(Z), space) ** 2)
    return complex(np.exp(-0.5j * np.angle(moment)))


def flat_mean(Z: ComplexArray, space: Space, weights: FloatArray | None = None) -> ComplexArray:
    """Return the mean shape, its long axis along x."""
    with warnings.catch_warnings():
        # Where several shapes are a mean, each is as good a pose as the others.
        warnings.simplefilter("ignore", NonUniqueMeanWarning)
        mean = mean_shape(Z, weights=weights, space=space)
    flat = flat_rotation(mean, space) * mean
    # Of the two flat poses, the one that turns the shapes less from how they came.
    agreement = float(np.real(space.inner(space.centered(Z), flat)).sum())
    return flat if agreement >= 0 else -flat


def pose_rotations(
    Z: ComplexArray, space: Space, pose: Pose | ArrayLike, weights: FloatArray | None = None
) -> ComplexArray:
    """Return the rotations that bring each shape into a common pose.

    ``"mean"`` rotates along the flat mean shape, an array along that configuration as it lies. ``"principal"`` lays
    each shape along its own long axis, headed like the mean. ``"given"`` leaves the shapes as they are.
    """
    if not isinstance(pose, str):
        reference, _ = checked_shape(pose, space, "pose")
        return _rotations_onto(Z, reference, space)
    check_choice(pose, POSES, "pose")
    if pose == "given":
        return np.ones(len(Z), dtype=complex)
    mean = flat_mean(Z, space, weights)
    if pose == "mean":
        return _rotations_onto(Z, mean, space)
    rotations = np.array([flat_rotation(z, space) for z in Z])
    # An axis has no head: of the two flat poses, the one nearer to the mean.
    turned_away = np.real(space.inner(rotations[:, None] * space.centered(Z), mean)) < 0
    return np.where(turned_away, -rotations, rotations)


def _rotations_onto(Z: ComplexArray, reference: ComplexArray, space: Space) -> ComplexArray:
    rotations: ComplexArray = np.exp(1j * optimal_rotation(Z, reference, space))
    return rotations
