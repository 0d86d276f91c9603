"""Pair up shapes as whitened pre-shapes, and rotate and scale one along another (section 3.2 of the paper)."""

from typing import Any

import numpy as np

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_complex_rows, as_numeric_array, check_same_count
from shapelex.exceptions import SpaceError
from shapelex.geometry.missing import shared_pairs, unit_rows
from shapelex.shapes.opening import choose_space
from shapelex.spaces import Landmarks, Space


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
    first, second, _, is_single = preshape_pair(z, w, space)
    angles: FloatArray = np.angle(phases(np.vecdot(first, second)))
    return angles[0] if is_single else angles


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
    first, second, space, is_single = preshape_pair(z, w, space)
    rotated = phases(np.vecdot(first, second))[:, None] * space.preshape(z)
    return rotated[0] if is_single else rotated


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
    first, second, space, is_single = preshape_pair(z, w, space)
    aligned: ComplexArray = np.vecdot(first, second)[:, None] * space.preshape(z)
    return aligned[0] if is_single else aligned


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


def resolve_space(space: Space | None, Z: ArrayLike, name: str) -> Space:
    """Return `space`, or that of the set `Z`, or the landmarks that the last axis of `Z` counts."""
    chosen = choose_space(space, Z)
    if chosen is not None:
        chosen.check_space_of(Z, name)
        return chosen
    return Landmarks(as_complex_rows(Z, name=name).shape[1])


def preshape_pair(
    z: ArrayLike, w: ArrayLike, space: Space | None, missing: str = "error"
) -> tuple[ComplexArray, ComplexArray, Space, bool]:
    """Return the whitened pre-shapes of two arguments, broadcast, their space, and whether both are single shapes.

    Where landmarks may be missing, the pre-shapes of a pair are those of the landmarks that both have, 0 elsewhere.
    """
    space = resolve_space(space, z, "z")
    first, second = unit_rows(z, "z", space, missing), unit_rows(w, "w", space, missing)
    check_same_count(len(first), len(second), "z", "w")
    first, second = np.broadcast_arrays(first, second)
    if missing == "allow":
        first, second = shared_pairs(first, second)
    return first, second, space, np.ndim(z) == np.ndim(w) == 1


def phases(products: ComplexArray) -> ComplexArray:
    """Return ``p / |p|``; 1 where the product is zero to rounding, so no rotation is better than another."""
    moduli = np.abs(products)
    negligible = moduli <= 4 * np.finfo(moduli.dtype).eps
    return np.where(negligible, 1, products / np.where(negligible, 1, moduli)).astype(products.dtype)


def rotations_onto(rows: ComplexArray, base: ComplexArray) -> ComplexArray:
    """Return, as a column, the phases that rotate whitened pre-shapes as close as possible to `base`."""
    return phases(np.vecdot(rows, base))[:, None].astype(rows.dtype, copy=False)


def remove_along(base: ComplexArray, rows: ComplexArray) -> ComplexArray:
    """Return what of `rows` is orthogonal to the unit rows of `base`."""
    remaining: ComplexArray = rows - np.vecdot(base, rows)[:, None] * base
    # Once more, for what rounding left where most of a row was taken away.
    remaining -= np.vecdot(base, remaining)[:, None] * base
    return remaining
