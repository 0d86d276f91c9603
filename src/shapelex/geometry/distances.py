"""The three distances of the shape space (paper, section 3.2).

All are functions of the full distance ``d_F = |w − (z* Phi w) z|``. Where ``1 − |z* Phi w|²`` would cancel it is
computed from that residual: shapes 1e-7 apart are measured as 1e-7 apart.
"""

from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, DistanceKind, FloatArray
from shapelex._validation import check_choice, check_same_count
from shapelex.geometry.missing_landmarks import allows_missing, incomplete_rows, shared_pairs, shared_products
from shapelex.geometry.preshapes import preshape_pair, resolve_space
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.rows import row_inner, row_norms

DISTANCE_KINDS = ("full", "partial", "geodesic")
_BLOCK_ENTRIES = 2_000_000


def distance(
    z: ArrayLike,
    w: ArrayLike,
    kind: DistanceKind = "full",
    space: Space | None = None,
    *,
    missing: str = "error",
) -> Any:
    """Distance between the shapes of `z` and `w`, row by row.

    For pre-shapes: full ``d_F = sqrt(1 − |z* Phi w|²)``, partial ``d_P = sqrt(2 − 2 |z* Phi w|)``, geodesic
    ``rho = arccos |z* Phi w|`` (paper, eqs. d_F_expr, d_P_expr, rho_expr); ``d_F = sin rho``, ``d_P = 2 sin(rho / 2)``.

    Parameters
    ----------
    z, w : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations; a single one goes with every row of the other.
    kind : {"full", "partial", "geodesic"}, default "full"
        Which distance.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    missing : {"error", "allow"}, default "error"
        Whether landmarks may be NaN. Then two shapes are compared on the landmarks that both have, at least three,
        re-centered and scaled there. Distances over other landmarks need not obey the triangle inequality.

    Returns
    -------
    float or ndarray of float, shape (n_shapes,)
        The distances.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([0, 1, 1j])
    >>> float(distance(triangle, 2j * triangle + 1)) < 1e-15
    True
    >>> round(float(distance(triangle, triangle.conj(), kind="geodesic")), 4)
    1.0472
    """
    check_choice(kind, DISTANCE_KINDS, "kind")
    if allows_missing(missing, space, z=z, w=w):
        first, second, is_single = _shared_pair(z, w, space)
    else:
        pair = preshape_pair(z, w, space)
        first, second, is_single = pair.first, pair.second, pair.is_single
    distances = _row_distances(first, second, kind)
    return distances[0] if is_single else distances


def pairwise_distances(
    Z: ArrayLike,
    W: ArrayLike | None = None,
    kind: DistanceKind = "full",
    space: Space | None = None,
    *,
    missing: str = "error",
) -> FloatArray:
    """Distances between all shapes of `Z` and all shapes of `W`.

    Works in blocks of rows: beside the result, the memory does not grow with the number of shapes.

    Parameters
    ----------
    Z : array_like of complex, shape (n_first, n_coordinates)
        Configurations.
    W : array_like of complex, shape (n_second, n_coordinates), optional
        Configurations; `Z` itself when not given, and then the result is symmetric with a zero diagonal.
    kind : {"full", "partial", "geodesic"}, default "full"
        Which distance, see :func:`distance`.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    missing : {"error", "allow"}, default "error"
        Whether landmarks may be NaN, see :func:`distance`.

    Returns
    -------
    ndarray of float, shape (n_first, n_second)
        The distances.

    Examples
    --------
    >>> import numpy as np
    >>> triangles = np.array([[0, 1, 1j], [0, 2j, -2], [0, 1, 2j]])
    >>> pairwise_distances(triangles).round(3)
    array([[0.   , 0.   , 0.274],
           [0.   , 0.   , 0.274],
           [0.274, 0.274, 0.   ]])
    """
    check_choice(kind, DISTANCE_KINDS, "kind")
    if allows_missing(missing, space, Z=Z, W=W):
        return _incomplete_pairwise(Z, W, kind, space)
    space = resolve_space(space, Z, "Z")
    first = space.whitened_preshapes(Z, "Z")
    return pairwise_row_distances(first, None if W is None else space.whitened_preshapes(W, "W"), kind)


def pairwise_row_distances(
    first: ComplexArray, other: ComplexArray | None = None, kind: DistanceKind = "full"
) -> FloatArray:
    """Distances between whitened pre-shapes, see :func:`pairwise_distances`.

    Parameters
    ----------
    first : ndarray of complex, shape (n_first, n_coordinates)
        Whitened pre-shapes.
    other : ndarray of complex, shape (n_second, n_coordinates), optional
        Whitened pre-shapes; `first` itself when not given.
    kind : {"full", "partial", "geodesic"}, default "full"
        Which distance.

    Returns
    -------
    ndarray of float, shape (n_first, n_second)
        The distances.
    """
    second = first if other is None else other
    dtype = np.result_type(first.real.dtype, second.real.dtype)
    distances = np.empty((len(first), len(second)), dtype=dtype)
    rows_per_block = max(1, _BLOCK_ENTRIES // len(second))
    for start in range(0, len(first), rows_per_block):
        block = slice(start, start + rows_per_block)
        if other is not None:
            distances[block] = _block_distances(first[block], second, kind)
            continue
        # The lower half is the upper one mirrored: half the work, and symmetric to the bit.
        distances[block, start:] = _block_distances(first[block], second[start:], kind)
        distances[start:, block] = distances[block, start:].T
        corner = distances[block, block]
        upper = np.triu(corner, 1)
        corner[...] = upper + upper.T
    return distances


def _shared_pair(z: ArrayLike, w: ArrayLike, space: Space | None) -> tuple[ComplexArray, ComplexArray, bool]:
    first, first_present, first_is_single = incomplete_rows(z, "z", space)
    second, second_present, second_is_single = incomplete_rows(w, "w", space or Landmarks(first.shape[1]))
    check_same_count(len(first), len(second), "z", "w")
    stacks = np.broadcast_arrays(first, second)
    masks = np.broadcast_arrays(first_present, second_present)
    return *shared_pairs(stacks[0], masks[0], stacks[1], masks[1]), first_is_single and second_is_single


def _incomplete_pairwise(Z: ArrayLike, W: ArrayLike | None, kind: DistanceKind, space: Space | None) -> FloatArray:
    first, first_present, _ = incomplete_rows(Z, "Z", space)
    second, second_present, _ = (
        (first, first_present, False) if W is None else incomplete_rows(W, "W", space or Landmarks(first.shape[1]))
    )
    distances = np.empty((len(first), len(second)), dtype=np.result_type(first.real.dtype, second.real.dtype))
    rows_per_block = max(1, _BLOCK_ENTRIES // (4 * len(second)))
    for start in range(0, len(first), rows_per_block):
        block = slice(start, start + rows_per_block)
        rows, present = first[block], first_present[block]
        cosines = np.minimum(np.abs(shared_products(rows, present, second, second_present)), 1)
        squares = (1 - cosines) * (1 + cosines)
        distances[block] = _from_parts(np.sqrt(squares), cosines, kind)
        near_rows, near_columns = np.nonzero(squares < np.finfo(squares.dtype).eps ** 0.25)
        pairs_per_chunk = max(1, _BLOCK_ENTRIES // first.shape[1])
        for begin in range(0, len(near_rows), pairs_per_chunk):
            r, c = near_rows[begin : begin + pairs_per_chunk], near_columns[begin : begin + pairs_per_chunk]
            pairs = shared_pairs(rows[r], present[r], second[c], second_present[c])
            distances[start + r, c] = _row_distances(*pairs, kind)
    if W is None:
        upper = np.triu(distances, 1)
        return np.asarray(upper + upper.T)
    return distances


def _row_distances(first: ComplexArray, second: ComplexArray, kind: DistanceKind) -> FloatArray:
    """Return the distances of rows of norm 1, pair by pair."""
    products = row_inner(first, second)
    return _from_parts(row_residuals(first, second, products), np.abs(products), kind)


def row_residuals(first: ComplexArray, second: ComplexArray, products: ComplexArray) -> FloatArray:
    """Return ``|second − (first* second) first|`` for rows of norm 1."""
    return row_norms(second - products[:, None] * first)


def _block_distances(first: ComplexArray, second: ComplexArray, kind: DistanceKind) -> FloatArray:
    products = first.conj() @ second.T
    moduli = np.minimum(np.abs(products), 1)
    squares = (1 - moduli) * (1 + moduli)
    sines: FloatArray = np.sqrt(squares)
    # Below this bound 1 − |p|² cancels: the residual is taken. Above it, its relative error is a few eps^(3/4).
    cancelled = squares < np.finfo(squares.dtype).eps ** 0.25
    rows, columns = np.nonzero(cancelled)
    pairs_per_chunk = max(1, _BLOCK_ENTRIES // first.shape[1])
    for start in range(0, len(rows), pairs_per_chunk):
        row, column = rows[start : start + pairs_per_chunk], columns[start : start + pairs_per_chunk]
        sines[row, column] = row_residuals(first[row], second[column], products[row, column])
    return _from_parts(sines, moduli, kind)


def _from_parts(sines: FloatArray, cosines: FloatArray, kind: DistanceKind) -> FloatArray:
    """Return the distance of angle rho, given ``sin rho`` and ``cos rho``."""
    if kind == "full":
        return np.minimum(sines, 1)
    if kind == "partial":
        partial: FloatArray = sines * np.sqrt(2 / (1 + cosines))
        return partial
    return np.arctan2(sines, cosines)
