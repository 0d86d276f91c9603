"""Optimal rotation and alignment of one shape along another (paper, section 3.2, "Distances in the shape space")."""

from typing import Any

import numpy as np

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array
from shapelex.exceptions import SpaceError
from shapelex.geometry.preshapes import phases, preshape_pair
from shapelex.spaces import Space


@keeps_array_kind
def optimal_rotation(z: ArrayLike, w: ArrayLike, space: Space | None = None) -> Any:
    """Angle by which `z` is turned to lie closest to `w`.

    ``theta(z, w) = arg(z* Phi w)`` for pre-shapes (paper [1]_, section 3.2, "Distances in the shape space", proposition
    2).

    Parameters
    ----------
    z, w : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations; a single one goes with every row of the other.
    space : Space, optional
        Space of the configurations; landmarks when not given.

    Returns
    -------
    float or ndarray of float, shape (n_shapes,)
        Angles in (−π, π]; 0 where ``z* Phi w = 0`` and every angle is as good.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([0, 1, 1j])
    >>> round(float(np.degrees(optimal_rotation(triangle, 1j * triangle + 5))), 9)
    90.0
    """
    pair = preshape_pair(z, w, space)
    angles: FloatArray = np.angle(phases(pair.products))
    return angles[0] if pair.is_single else angles


@keeps_array_kind
def rotate_onto(z: ArrayLike, w: ArrayLike, space: Space | None = None) -> ComplexArray:
    """Pre-shapes of `z`, optimally rotated along `w`.

    ``e^{i theta(z, w)} z``, the representative of the shape of `z` that attains the partial distance (paper
    [1]_, section 3.2, "Distances in the shape space", equation 15).

    Parameters
    ----------
    z, w : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations; a single one goes with every row of the other.
    space : Space, optional
        Space of the configurations; landmarks when not given.

    Returns
    -------
    ndarray of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Pre-shapes.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([0, 1, 1j])
    >>> turned = rotate_onto(1j * triangle, triangle)
    >>> from shapelex import Landmarks
    >>> np.allclose(turned, Landmarks(3).preshape(triangle))
    True
    """
    pair = preshape_pair(z, w, space)
    rotated = phases(pair.products)[:, None] * pair.space.preshape(z)
    return rotated[0] if pair.is_single else rotated


@keeps_array_kind
def align_onto(z: ArrayLike, w: ArrayLike, space: Space | None = None) -> ComplexArray:
    """Pre-shapes of `z`, optimally scaled and rotated along the pre-shape of `w`.

    ``(z* Phi w) z``, the projection of `w` onto the complex line of `z`, which attains the full distance (paper
    [1]_, section 3.2, "Distances in the shape space", equation 17). Its norm is the optimal scaling factor, at most 1.

    Parameters
    ----------
    z, w : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations; a single one goes with every row of the other.
    space : Space, optional
        Space of the configurations; landmarks when not given.

    Returns
    -------
    ndarray of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Centered configurations.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([0, 1, 1j])
    >>> aligned = align_onto(triangle, 3j * triangle)
    >>> round(float(np.linalg.norm(aligned)), 12)
    1.0
    """
    pair = preshape_pair(z, w, space)
    aligned = pair.products[:, None] * pair.space.preshape(z)
    return aligned[0] if pair.is_single else aligned


def real_gram(gram: ArrayLike) -> FloatArray:
    """Matrix ``Psi`` of the real scalar product ``Re(z* Phi w)`` on stacked parts ``(Re z, Im z)``.

    ``Psi = [[A, −B], [B, A]]`` for ``Phi = A + iB`` (paper [1]_, appendix, "Hermitian products hold twice more
    information than scalar products").

    Parameters
    ----------
    gram : array_like, shape (n_coordinates, n_coordinates)
        Matrix ``Phi``, real or complex.

    Returns
    -------
    ndarray of float, shape (2 * n_coordinates, 2 * n_coordinates)
        Matrix ``Psi``.

    Raises
    ------
    SpaceError
        If `gram` is not a square matrix.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> real_gram([[2, 1j], [-1j, 2]])
    array([[ 2.,  0.,  0., -1.],
           [ 0.,  2.,  1.,  0.],
           [ 0.,  1.,  2.,  0.],
           [-1.,  0.,  0.,  2.]])
    """
    matrix = as_numeric_array(gram, "gram")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise SpaceError(f"gram must be a square matrix, got shape {matrix.shape}.")
    # Adding 0 makes −0 plain 0, which reads better and changes nothing else.
    return np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]]) + 0.0
