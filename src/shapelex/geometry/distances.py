"""Compute the three distances of the shape space (section 3.2 of the paper)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, DistanceKind, FloatArray, IntArray
from shapelex._validation import check_choice, check_same_count
from shapelex.geometry.alignment import preshape_pair, resolve_space
from shapelex.geometry.missing import allows_missing, incomplete_rows, shared_pairs, shared_products
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.coordinates import row_norms

DISTANCE_KINDS = ("full", "partial", "geodesic")
_BLOCK_ENTRIES = 2_000_000


@keeps_array_kind
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
    ``rho = arccos |z* Phi w|`` (paper [1]_, section 3.2, "Distances in the shape space", equations 20 to 22);
    ``d_F = sin rho``, ``d_P = 2 sin(rho / 2)``.

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

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

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
    distances = row_distances(first, second, kind)
    return distances[0] if is_single else distances


@keeps_array_kind
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
    """Return the distances between whitened pre-shapes, see :func:`pairwise_distances`."""
    second = first if other is None else other

    def compute(block: slice, columns: slice) -> FloatArray:
        rows, others = first[block], second[columns]
        return _block_distances(rows.conj() @ others.T, lambda r, c: (rows[r], others[c]), rows.shape[1], kind)

    return _in_blocks(first, second, compute, n_temporaries=1)


def row_distances(first: ComplexArray, second: ComplexArray, kind: DistanceKind = "full") -> FloatArray:
    """Return the distances of whitened pre-shapes, pair by pair."""
    products = np.vecdot(first, second)
    return _from_parts(row_residuals(first, second, products), np.abs(products), kind)


def row_residuals(first: ComplexArray, second: ComplexArray, products: ComplexArray) -> FloatArray:
    """Return ``|second − (first* second) first|`` for rows of norm 1."""
    return row_norms(second - products[:, None] * first)


def _shared_pair(z: ArrayLike, w: ArrayLike, space: Space | None) -> tuple[ComplexArray, ComplexArray, bool]:
    first, first_present, first_is_single = incomplete_rows(z, "z", space)
    second, second_present, second_is_single = incomplete_rows(w, "w", space or Landmarks(first.shape[1]))
    check_same_count(len(first), len(second), "z", "w")
    stacks = np.broadcast_arrays(first, second)
    masks = np.broadcast_arrays(first_present, second_present)
    return *shared_pairs(stacks[0], masks[0], stacks[1], masks[1]), first_is_single and second_is_single


def _incomplete_pairwise(Z: ArrayLike, W: ArrayLike | None, kind: DistanceKind, space: Space | None) -> FloatArray:
    first, first_present, _ = incomplete_rows(Z, "Z", space)
    second, second_present = first, first_present
    if W is not None:
        second, second_present, _ = incomplete_rows(W, "W", space or Landmarks(first.shape[1]))

    def compute(block: slice, columns: slice) -> FloatArray:
        rows, present = first[block], first_present[block]
        others, others_present = second[columns], second_present[columns]
        products = shared_products(rows, present, others, others_present, (block.start, columns.start))

        def pairs_at(r: IntArray, c: IntArray) -> tuple[ComplexArray, ComplexArray]:
            return shared_pairs(rows[r], present[r], others[c], others_present[c])

        return _block_distances(products, pairs_at, rows.shape[1], kind)

    return _in_blocks(first, second, compute, n_temporaries=4)


def _in_blocks(
    first: ComplexArray, second: ComplexArray, compute: Callable[[slice, slice], FloatArray], n_temporaries: int
) -> FloatArray:
    """Return the distances of all pairs, from a function that computes a block of rows and columns."""
    dtype = np.result_type(first.real.dtype, second.real.dtype)
    distances = np.empty((len(first), len(second)), dtype=dtype)
    rows_per_block = max(1, _BLOCK_ENTRIES // (n_temporaries * len(second)))
    for start in range(0, len(first), rows_per_block):
        block = slice(start, start + rows_per_block)
        if second is not first:
            distances[block] = compute(block, slice(0, None))
            continue
        # The lower half is the upper one mirrored: half the work, and symmetric to the bit.
        distances[block, start:] = compute(block, slice(start, None))
        distances[start:, block] = distances[block, start:].T
        corner = distances[block, block]
        upper = np.triu(corner, 1)
        corner[...] = upper + upper.T
    return distances


def _block_distances(
    products: ComplexArray,
    pairs_at: Callable[[IntArray, IntArray], tuple[ComplexArray, ComplexArray]],
    n_coordinates: int,
    kind: DistanceKind,
) -> FloatArray:
    """Return the distances of all pairs of a block from their products, or from the rows where products cancel."""
    cosines = np.minimum(np.abs(products), 1)
    squares = (1 - cosines) * (1 + cosines)
    distances = _from_parts(np.sqrt(squares), cosines, kind)
    # Below this bound 1 − |p|² cancels: the residual is taken. Above it, its relative error is a few eps^(3/4).
    rows, columns = np.nonzero(squares < np.finfo(squares.dtype).eps ** 0.25)
    pairs_per_chunk = max(1, _BLOCK_ENTRIES // n_coordinates)
    for start in range(0, len(rows), pairs_per_chunk):
        row, column = rows[start : start + pairs_per_chunk], columns[start : start + pairs_per_chunk]
        distances[row, column] = row_distances(*pairs_at(row, column), kind)
    return distances


def _from_parts(sines: FloatArray, cosines: FloatArray, kind: DistanceKind) -> FloatArray:
    """Return the distance of angle rho, given ``sin rho`` and ``cos rho``."""
    if kind == "full":
        return np.minimum(sines, 1)
    if kind == "partial":
        partial: FloatArray = sines * np.sqrt(2 / (1 + cosines))
        return partial
    return np.arctan2(sines, cosines)
