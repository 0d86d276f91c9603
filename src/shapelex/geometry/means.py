"""Average shapes: the pre-shape of least weighted squared distances (appendix of the paper, "Mean shape")."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import chain

import numpy as np
from scipy.linalg import eigh

from shapelex._arrays import keeps_array_kind
from shapelex._messages import Message, parameter
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, DistanceKind, FloatArray
from shapelex._validation import check_choice, check_count, check_weights
from shapelex.exceptions import NonUniqueMeanWarning, ParameterError
from shapelex.geometry.alignment import phases, rotate_onto
from shapelex.geometry.distances import DISTANCE_KINDS, row_distances
from shapelex.geometry.geodesics import exp_rows, log_rows
from shapelex.geometry.missing import allows_missing, check_landmarks_present, complete_by, unit_rows
from shapelex.shapes.opening import as_shapes
from shapelex.shapes.storage import ArrayShapes, Shapes
from shapelex.spaces import Space

# A function that reads blocks of whitened pre-shapes with the shares of their weights, from the first one on.
WeightedBlocks = Callable[[], Iterable[tuple[ComplexArray, FloatArray]]]


@keeps_array_kind
def mean_shape(
    Z: ArrayLike,
    kind: DistanceKind = "full",
    weights: ArrayLike | None = None,
    space: Space | None = None,
    *,
    tol: float | None = None,
    max_iter: int = 1000,
    missing: str = "error",
) -> ComplexArray:
    """Pre-shape that minimizes ``Σ_k weight_k dist([mean], [z_k])²``.

    Parameters
    ----------
    Z : array_like of complex, shape (n_shapes, n_coordinates)
        Configurations; memory maps, Zarr arrays, HDF5 datasets and blocks of shapes are read piece by piece, for the
        partial and the geodesic mean once per iteration.
    kind : {"full", "partial", "geodesic"}, default "full"
        Which distance. The full mean is the leading eigenvector of ``Σ z_k z_k* Phi``, in one step. The other
        two start from it and iterate: averages of optimally rotated pre-shapes for the partial mean, of
        logarithms for the geodesic one.
    weights : array_like of float, shape (n_shapes,), optional
        Non-negative weights; all equal when not given.
    space : Space, optional
        Space of the configurations; when not given, that of a `ShapeSet`, else landmarks.
    tol : float, optional
        The iterations stop when the mean moves by no more, in geodesic distance; by default ``64 eps sqrt(N)``, about
        1e-13 for complex128 and 1e-4 for complex64.
    max_iter : int, default 1000
        Most iterations.
    missing : {"error", "allow"}, default "error"
        Whether landmarks may be NaN. Then the mean is found by turns: every missing landmark is taken from the mean,
        laid over the landmarks that the shape has, and the completed shapes are averaged, until the mean stays. Each
        shape needs three landmarks, and each landmark a shape. All shapes are in memory then, stored ones too.

    Returns
    -------
    ndarray of complex, shape (n_coordinates,)
        The mean, as the pre-shape that is optimally rotated along the first shape.

    Warns
    -----
    NonUniqueMeanWarning
        If other shapes are as good a full mean.
    ConvergenceWarning
        If `max_iter` iterations did not reach `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([0, 1, 1j])
    >>> mean = mean_shape([triangle, 1j * triangle + 2])
    >>> from shapelex.geometry import distance
    >>> float(distance(mean, triangle)) < 1e-15
    True
    """
    check_choice(kind, DISTANCE_KINDS, "kind")
    check_count(max_iter, 1, "max_iter")
    if tol is not None and not tol > 0:
        raise ParameterError(f"{parameter('tol')} must be positive, got {tol}.")
    shapes = as_shapes(Z, space, name="Z")
    if allows_missing(missing, shapes.space):
        return incomplete_mean(shapes, kind, weights, tol, max_iter)[0]
    first = shapes.space.whitened_preshapes(shapes[:1], "Z")
    blocks = _preshape_blocks(shapes, check_weights(weights, len(shapes), first.real.dtype))
    mean = _mean_row(blocks, kind, tol, max_iter, warn=True)
    return shapes.space.unwhiten(turned_along(mean, first[0]))


@keeps_array_kind
def align_to_mean(
    Z: ArrayLike,
    kind: DistanceKind = "full",
    weights: ArrayLike | None = None,
    space: Space | None = None,
    *,
    missing: str = "error",
) -> ComplexArray:
    """Pre-shapes of `Z`, each optimally rotated along their mean shape.

    Parameters
    ----------
    Z : array_like of complex, shape (n_shapes, n_coordinates)
        Configurations.
    kind : {"full", "partial", "geodesic"}, default "full"
        Which mean, see :func:`mean_shape`.
    weights : array_like of float, shape (n_shapes,), optional
        Weights of the mean.
    space : Space, optional
        Space of the configurations; when not given, that of a `ShapeSet`, else landmarks.
    missing : {"error", "allow"}, default "error"
        Whether landmarks may be NaN, see :func:`mean_shape`. A shape that misses some gets the place, size and angle
        of its completed shape, and the missing ones stay NaN.

    Returns
    -------
    ndarray of complex, shape (n_shapes, n_coordinates)
        Pre-shapes in a common pose.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([0, 1, 1j])
    >>> aligned = align_to_mean([triangle, 1j * triangle + 2])
    >>> bool(np.allclose(aligned[0], aligned[1]))
    True
    """
    shapes = as_shapes(Z, space, name="Z")
    if allows_missing(missing, shapes.space):
        mean, completed, present = incomplete_mean(shapes, kind, weights)
        return np.where(present, rotate_onto(completed, mean, shapes.space), np.nan).astype(mean.dtype)
    mean = mean_shape(shapes, kind, weights)
    return np.concatenate([rotate_onto(block.configurations, mean, shapes.space) for block in shapes.blocks()])


def incomplete_mean(
    shapes: Shapes, kind: DistanceKind, weights: ArrayLike | None, tol: float | None = None, max_iter: int = 1000
) -> tuple[ComplexArray, ComplexArray, BoolArray]:
    """Return the mean of incomplete shapes, their completed pre-shapes, and which landmarks are present."""
    rows = unit_rows(shapes[:], shapes.name, shapes.space, "allow")
    shares = check_weights(weights, len(rows), rows.real.dtype)
    present = ~np.isnan(rows)
    check_landmarks_present(present, shapes.name)
    rows = np.nan_to_num(rows)

    def average_completed(mean: ComplexArray) -> ComplexArray:
        completed = complete_by(mean, rows, present)
        return _mean_row(lambda: [(completed, shares)], kind, tol, max_iter, warn=False)

    # The most complete shape is the first mean; what it misses starts at its center.
    mean = _iterate(average_completed, rows[int(np.argmax(present.sum(axis=1)))], kind, tol, max_iter)
    completed = complete_by(mean, rows, present)
    return turned_along(mean, completed[0]), completed, present


def turned_along(mean: ComplexArray, first: ComplexArray) -> ComplexArray:
    """Return the mean in the pose that is documented: optimally rotated along the first shape."""
    return np.asarray(phases(np.vecdot(mean[None], first[None])) * mean)


def _mean_row(
    blocks: WeightedBlocks, kind: DistanceKind, tol: float | None, max_iter: int, *, warn: bool
) -> ComplexArray:
    mean, is_unique = full_mean(blocks())
    if kind == "full":
        if warn and not is_unique:
            warnings.warn(
                "The full mean shape is not unique: several shapes are equally close to the set; one of them is "
                "returned.",
                NonUniqueMeanWarning,
                stacklevel=4,
            )
        return mean

    def step(mean: ComplexArray) -> ComplexArray:
        if kind == "partial":
            # The average of optimally rotated pre-shapes lowers the objective.
            moved = reduce(np.add, (shares @ (phases(rows.conj() @ mean)[:, None] * rows) for rows, shares in blocks()))
        else:
            # The shape space has non-negative curvature, so half the squared distance has no second derivative above 1,
            # and a full step along the average of the logarithms never raises the objective.
            velocity = reduce(np.add, (shares @ log_rows(mean[None], rows) for rows, shares in blocks()))
            moved = exp_rows(mean[None], velocity[None])[0]
        return np.asarray(moved / np.linalg.norm(moved))

    return _iterate(step, mean, kind, tol, max_iter)


def _iterate(
    step: Callable[[ComplexArray], ComplexArray], mean: ComplexArray, kind: str, tol: float | None, max_iter: int
) -> ComplexArray:
    """Replace the mean by the next one until it moves by no more than `tol`."""
    tol = 64 * float(np.finfo(mean.dtype).eps) * float(np.sqrt(len(mean))) if tol is None else tol
    for _ in range(max_iter):
        last, mean = mean, step(mean)
        moved = float(row_distances(last[None], mean[None], "geodesic")[0])
        if moved <= tol:
            return mean
    # Here, as it loads scikit-learn.
    from shapelex.exceptions import ConvergenceWarning

    message = Message(
        f"The {kind} mean still moved by {moved:.2g} after {max_iter} iterations, more than {tol:.2g}; raise "
        f"{parameter('max_iter')}, or {parameter('tol')}."
    )
    warnings.warn(message, ConvergenceWarning, stacklevel=6)
    return mean


def _preshape_blocks(shapes: Shapes, shares: FloatArray) -> WeightedBlocks:
    """Return a function that reads the pre-shapes of a collection; those of shapes in memory are kept."""

    def read() -> Iterator[tuple[ComplexArray, FloatArray]]:
        for block in shapes.blocks():
            rows = shapes.space.whitened_preshapes(block.configurations, shapes.name, first_row=block.start)
            yield rows, shares[block.start : block.start + len(block)]

    if not isinstance(shapes, ArrayShapes):
        return read
    kept = list(read())
    return lambda: kept


def full_mean(blocks: Iterable[tuple[ComplexArray, FloatArray]]) -> tuple[ComplexArray, bool]:
    """Return the full mean of whitened pre-shapes with shares, and whether no other shape is as good.

    It is the leading eigenvector of ``Σ share_k x_k x_k*``, found from the smaller of its two Gram matrices where all
    rows come in one block.
    """
    scaled = (np.sqrt(shares)[:, None] * rows for rows, shares in blocks)
    first, second = next(scaled), next(scaled, None)
    if second is None and len(first) < first.shape[1]:
        leading, is_unique = leading_row(first.conj() @ first.T)
        mean = first.T @ leading
        return np.asarray(mean / np.linalg.norm(mean)), is_unique
    parts = chain([first], [] if second is None else [second], scaled)
    return leading_row(reduce(np.add, (part.T @ part.conj() for part in parts)))


def leading_row(matrix: ComplexArray) -> tuple[ComplexArray, bool]:
    """Return the leading eigenvector of a Hermitian matrix, of norm 1, and whether it is the only one."""
    size = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=[max(size - 2, 0), size - 1], check_finite=False)
    is_unique = size == 1 or bool(values[1] - values[0] > 100 * np.finfo(values.dtype).eps * size)
    leading = vectors[:, -1]
    return np.asarray(leading / np.linalg.norm(leading)), is_unique
