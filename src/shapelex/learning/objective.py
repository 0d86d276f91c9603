"""The objectives of the general formulation, as functions of the squared full distance (paper, section 4).

A coder minimizes the full distance, and with it the other two, which grow with it. Only their sums over shapes differ:
a change of the dictionary weighs a shape by the slope ``d(dist²) / d(d_F²)``, 1 for the full distance.
"""

import numpy as np

from shapelex._typing import DistanceKind, FloatArray

DISTANCES = ("full", "partial", "geodesic")

# The slopes grow without bound where a shape is orthogonal to its reconstruction. The floor under cos² keeps
# one such shape from outweighing 100 others.
_LEAST_COSINE2 = 1e-4


def objective_values(squares: FloatArray, distance: DistanceKind) -> FloatArray:
    """Return squared distances of one kind from squared full distances ``s``, which are at most 1.

    They are ``s``, ``2 s / (1 + sqrt(1 − s))`` or ``arcsin(sqrt(s))²``.
    """
    values: FloatArray = np.clip(squares, 0, 1, dtype=np.float64)
    if distance == "partial":
        values = 2 * values / (1 + np.sqrt(1 - values))
    elif distance == "geodesic":
        values = np.arctan2(np.sqrt(values), np.sqrt(1 - values)) ** 2
    return values


def objective_slopes(squares: FloatArray, distance: DistanceKind) -> FloatArray:
    """Return the derivatives of :func:`objective_values` with respect to the squared full distance.

    They are ``1``, ``1 / cos`` or ``rho / (sin cos)``, for the geodesic distance ``rho``.
    """
    if distance == "full":
        return np.ones(len(squares))
    s = np.clip(squares, 0, 1, dtype=np.float64)
    slopes: FloatArray = 1 / np.sqrt(np.maximum(1 - s, _LEAST_COSINE2))
    if distance == "geodesic":
        angles = np.arctan2(np.sqrt(s), np.sqrt(1 - s))
        slopes /= np.sinc(angles / np.pi)
    return slopes
