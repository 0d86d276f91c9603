"""The Gaussian kernel of the full distance (Jayasumana et al. 2013).

In come whitened pre-shapes; out go kernel values between 0 and 1.
"""

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry.distances import pairwise_row_distances


def gaussian_kernel(rows: ComplexArray, other: ComplexArray | None = None, *, gamma: float) -> FloatArray:
    """Return kernel values ``exp(−gamma d_F²)`` between all shapes of one set and all shapes of another.

    It is positive definite for every ``gamma > 0``: ``d_F² = 1 − |x* y|²`` for whitened pre-shapes, and ``|x* y|²`` is
    the product of the matrices ``x x*`` and ``y y*``.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.spaces import Landmarks
    >>> triangles = np.array([[0, 1, 1j], [0, 2j, -2], [0, 1, 2j]])
    >>> gaussian_kernel(Landmarks(3).whitened_preshapes(triangles), gamma=2.0).round(3)
    array([[1.   , 1.   , 0.861],
           [1.   , 1.   , 0.861],
           [0.861, 0.861, 1.   ]])
    """
    return from_distances(pairwise_row_distances(rows, other), gamma)


def from_distances(distances: FloatArray, gamma: float) -> FloatArray:
    """Return the kernel values of full distances."""
    values: FloatArray = np.exp(-gamma * distances**2)
    return values


def scale_gamma(distances: FloatArray) -> float:
    """Return one over half the mean squared distance of all pairs; 1 for shapes that are all the same.

    For small distances that half is the variance in the tangent space, so this is what scikit-learn calls "scale".
    """
    mean = float(np.mean(distances.astype(np.float64) ** 2))
    # Two copies of a shape are a few roundings apart.
    rounding = 64 * float(np.finfo(distances.dtype).eps)
    return 2 / mean if mean > rounding**2 else 1.0
