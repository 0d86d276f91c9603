"""Compute the three distances of the shape space (section 3.2 of the paper)."""

from typing import Any

import numpy as np

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, DistanceKind, FloatArray
from shapelex._validation import check_choice
from shapelex.geometry.alignment import preshape_pair, resolve_space
from shapelex.geometry.missing import shared_pairs, shared_products, unit_rows
from shapelex.spaces.base import Space, row_norms

DISTANCE_KINDS = ("full", "partial", "geodesic")
_BLOCK_ENTRIES = 2_000_000


@keeps_array_kind
def distance(
    z: ArrayLike, w: ArrayLike, kind: DistanceKind = "full", space: Space | None = None, *, missing: str = "error"
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
    first, second, _, is_single = preshape_pair(z, w, space, missing)
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
    space = resolve_space(space, Z, "Z")
    first = unit_rows(Z, "Z", space, missing)
    second = None if W is None else unit_rows(W, "W", space, missing)
    return pairwise_row_distances(first, second, kind, has_missing=missing == "allow")


def pairwise_row_distances(
    first: ComplexArray, other: ComplexArray | None = None, kind: DistanceKind = "full", *, has_missing: bool = False
) -> FloatArray:
    """Return the distances between whitened pre-shapes, see :func:`pairwise_distances`.

    Missing landmarks are NaN.
    """
    second = first if other is None else other
    distances = np.empty((len(first), len(second)), dtype=np.result_type(first.real.dtype, second.real.dtype))
    n_temporaries = 4 if has_missing else 1
    rows_per_block = max(1, _BLOCK_ENTRIES // (n_temporaries * len(second)))
    for start in range(0, len(first), rows_per_block):
        block, columns = slice(start, start + rows_per_block), slice(start if other is None else 0, None)
        first_pair = (start, columns.start) if has_missing else None
        distances[block, columns] = _block_distances(first[block], second[columns], kind, first_pair)
        if other is None:
            # The lower half is the upper one mirrored: half the work, and symmetric to the bit.
            distances[start:, block] = distances[block, start:].T
            corner = distances[block, block]
            upper = np.triu(corner, 1)
            corner[...] = upper + upper.T
    return distances


def row_distances(first: ComplexArray, second: ComplexArray, kind: DistanceKind = "full") -> FloatArray:
    """Return the distances of whitened pre-shapes, pair by pair."""
    products = np.vecdot(first, second)
    return _from_parts(row_residuals(first, second, products), np.abs(products), kind)


def row_residuals(first: ComplexArray, second: ComplexArray, products: ComplexArray) -> FloatArray:
    """Return ``|second − (first* second) first|`` for rows of norm 1."""
    return row_norms(second - products[:, None] * first)


def _block_distances(
    first: ComplexArray, second: ComplexArray, kind: DistanceKind, first_pair: tuple[int, int] | None
) -> FloatArray:
    """Return the distances of all pairs of a block from their products, or from the rows where products cancel.

    Where landmarks may be missing, `first_pair` tells the numbers of the first pair.
    """
    products = first.conj() @ second.T if first_pair is None else shared_products(first, second, first_pair)
    cosines = np.minimum(np.abs(products), 1)
    squares = (1 - cosines) * (1 + cosines)
    distances = _from_parts(np.sqrt(squares), cosines, kind)
    # Below this bound 1 − |p|² cancels: the residual is taken. Above it, its relative error is a few eps^(3/4).
    rows, columns = np.nonzero(squares < np.finfo(squares.dtype).eps ** 0.25)
    pairs_per_chunk = max(1, _BLOCK_ENTRIES // first.shape[1])
    for start in range(0, len(rows), pairs_per_chunk):
        row, column = rows[start : start + pairs_per_chunk], columns[start : start + pairs_per_chunk]
        pairs = first[row], second[column]
        if first_pair is not None:
            pairs = shared_pairs(*pairs)
        distances[row, column] = row_distances(*pairs, kind)
    return distances


def _from_parts(sines: FloatArray, cosines: FloatArray, kind: DistanceKind) -> FloatArray:
    """Return the distance of angle rho, given ``sin rho`` and ``cos rho``."""
    if kind == "full":
        return np.minimum(sines, 1)
    if kind == "partial":
        return np.asarray(sines * np.sqrt(2 / (1 + cosines)))
    return np.arctan2(sines, cosines)
