"""The pose in which a page shows all shapes and atoms."""

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.plotting.poses import flat_mean
from shapelex.spaces import Space

# Length of the mean of unit vectors along the poses: 1 where all lie alike, near 0 where they lie anyhow.
_SAME_POSE = 0.8


def common_pose(Z: ComplexArray, space: Space) -> ComplexArray:
    """Return the mean shape in the pose that the others are turned along.

    Parameters
    ----------
    Z : ndarray of complex, shape (n_shapes, n_coordinates)
        Pre-shapes, in the poses in which they were given.
    space : Space
        Their space.

    Returns
    -------
    ndarray of complex, shape (n_coordinates,)
        A pre-shape: upright where the shapes were given upright, else with its long axis along x.

    Examples
    --------
    >>> from shapelex.spaces import Landmarks
    >>> space = Landmarks(3)
    >>> upright = space.preshape(np.array([[-1, 1, 5j], [-1, 1, 6j]]))
    >>> bool(np.abs(common_pose(upright, space) - upright[0]).max() < 0.1)
    True
    """
    mean = flat_mean(Z, space)
    products = np.atleast_1d(space.inner(mean, Z))
    poses = products / np.maximum(np.abs(products), np.finfo(np.float64).tiny)
    direction = complex(poses.mean())
    return mean if abs(direction) < _SAME_POSE else direction / abs(direction) * mean
