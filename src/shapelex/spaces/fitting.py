"""Least-squares fit of a basis to densely sampled curves.

In come points ``(K, P)`` along curves; out go the coefficients ``(K, N)`` of the basis.
"""

from collections.abc import Callable

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_not_collapsed, name_rows
from shapelex.exceptions import NonFiniteError, ShapeInputError, UndeterminedFitError

_BLOCK_ENTRIES = 4_000_000

Basis = Callable[[FloatArray], ComplexArray | FloatArray]


def arc_length_parameters(points: ComplexArray, closed: bool) -> FloatArray:
    """Return the parameters in [0, 1] that grow with the length of the polygon through the points.

    The last point of a closed curve is joined to the first by one more edge; the last point of an
    open curve has parameter 1.
    """
    check_not_collapsed(np.abs(points - points[:, :1]).max(axis=1), np.abs(points).max(axis=1), "points")
    following = np.roll(points, -1, axis=1) if closed else points[:, 1:]
    edges = np.abs(following - points[:, : following.shape[1]])
    lengths = np.cumsum(edges, axis=1, dtype=np.float64)
    total = lengths[:, -1]
    starts = np.zeros((len(points), 1))
    inner = lengths[:, :-1] if closed else lengths
    parameters: FloatArray = np.concatenate([starts, inner], axis=1) / total[:, None]
    return parameters


def fit_least_squares(basis: Basis, n_coordinates: int, points: ComplexArray, parameters: FloatArray) -> ComplexArray:
    """Return the coefficients whose curves pass closest to `points` at `parameters`.

    `parameters` has shape ``(P,)`` when all curves share them, else ``(K, P)``.
    """
    n_curves, n_points = points.shape
    if parameters.ndim == 1:
        matrix = basis(parameters)
        orthogonal, triangular = np.linalg.qr(matrix)
        _check_rank(triangular[None], "all rows")
        projected = points @ orthogonal.conj()
        return np.ascontiguousarray(np.linalg.solve(triangular, projected.T).T, dtype=points.dtype)
    coefficients = np.empty((n_curves, n_coordinates), dtype=points.dtype)
    block = max(1, _BLOCK_ENTRIES // (n_points * n_coordinates))
    for start in range(0, n_curves, block):
        part = slice(start, min(start + block, n_curves))
        matrices = basis(parameters[part].ravel()).reshape(-1, n_points, n_coordinates)
        orthogonal, triangular = np.linalg.qr(matrices)
        _check_rank(triangular, None, first_row=start)
        projected = np.einsum("kpn,kp->kn", orthogonal.conj(), points[part])
        coefficients[part] = np.linalg.solve(triangular, projected[:, :, None])[:, :, 0]
    return coefficients


def check_point_count(points: ComplexArray, n_coordinates: int) -> None:
    """Refuse curves of fewer points than coordinates."""
    n_points = points.shape[1]
    if n_points < n_coordinates:
        raise UndeterminedFitError(
            f"points has {n_points} points a curve, too few for {n_coordinates} coordinates: sample more densely."
        )


def check_parameters(t: ArrayLike, points: ComplexArray) -> FloatArray:
    """Refuse curve parameters that are no finite real numbers, or do not match `points`."""
    given = as_numeric_array(t, "t")
    if np.iscomplexobj(given) or given.shape not in (points.shape, points.shape[1:]):
        raise ShapeInputError(
            f"t must have one real parameter for each of the {points.shape[1]} points, shared or per curve, "
            f"got shape {given.shape}, dtype {given.dtype}."
        )
    finite = np.isfinite(np.atleast_2d(given)).all(axis=1)
    if not finite.all():
        raise NonFiniteError(f"t has NaN or infinite parameters in {name_rows(~finite)}.")
    return given.astype(np.float64)


def _check_rank(triangular: ComplexArray | FloatArray, where: str | None, first_row: int = 0) -> None:
    diagonal = np.abs(np.diagonal(triangular, axis1=1, axis2=2))
    precision = np.finfo(diagonal.dtype).eps * triangular.shape[1] * 100
    deficient = diagonal.min(axis=1) <= precision * diagonal.max(axis=1)
    if deficient.any():
        padded = np.concatenate([np.zeros(first_row, dtype=bool), deficient])
        raise UndeterminedFitError(
            f"points leave some coefficients undetermined in {where or name_rows(padded)}: parts of the curve hold too "
            "few points; sample it more evenly, or use fewer coordinates."
        )
