"""A product in which the shapes of a class vary by about the same amount in all directions.

Input: whitened pre-shapes with the numbers of their classes, and their space. Output: a space of the same
configurations with another Gram matrix.
"""

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.geometry.means import full_mean_row
from shapelex.spaces import CustomSpace, Space


def within_class_space(
    rows: ComplexArray, numbers: IntArray, weights: FloatArray, space: Space, shrinkage: float
) -> Space:
    """Return the space whose product is the inverse of the shrunk covariance within classes.

    Let ``r`` be the part of a pre-shape orthogonal to the full mean of its class, and ``W`` the sum of all ``r r*``,
    scaled to trace 1. In whitened coordinates the new Gram matrix is ``((1 − shrinkage) W + shrinkage I / N)⁻¹``. It is
    complex linear, so rotations stay rotations, and ``W`` has no part along the shift, so centers stay centers.
    """
    scatter = _scatter_within(rows, numbers, weights)
    total = float(np.trace(scatter).real)
    # Rounding errors of copies of one shape have this size.
    rounding = (rows.shape[1] * float(np.finfo(rows.dtype).eps)) ** 2 * float(weights.sum())
    if shrinkage == 1 or total <= rounding:
        return space
    n_coordinates = rows.shape[1]
    covariance = (1 - shrinkage) * scatter / total + shrinkage * np.eye(n_coordinates) / n_coordinates
    # Columns are the whitened images of the coordinates, which have no part along the shift.
    images = space.whiten(np.eye(n_coordinates, dtype=np.complex128)).T
    along_shift = space.gram @ space.shift
    squared_shift = float((space.shift.conj() @ along_shift).real)
    gram = images.conj().T @ np.linalg.solve(covariance, images)
    gram += np.outer(along_shift, along_shift.conj()) / squared_shift
    return CustomSpace((gram + gram.conj().T) / 2, space.shift, closed=space.closed)


def _scatter_within(rows: ComplexArray, numbers: IntArray, weights: FloatArray) -> ComplexArray:
    """Return ``Σ weight r r*`` over all shapes, in double precision."""
    n_coordinates = rows.shape[1]
    scatter = np.zeros((n_coordinates, n_coordinates), np.complex128)
    for number in np.unique(numbers):
        is_member = numbers == number
        members = rows[is_member].astype(np.complex128)
        mean, _ = full_mean_row(members, weights[is_member])
        across = members - (members @ mean.conj())[:, None] * mean
        scatter += (across * weights[is_member, None]).T @ across.conj()
    return scatter
