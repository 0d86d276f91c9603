"""Compare and average shapes with missing landmarks over the landmarks that are present."""

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, ComplexArray
from shapelex._validation import as_incomplete_configurations, check_choice, check_not_collapsed, name_rows
from shapelex.exceptions import NonFiniteError, UnsupportedBySpaceError
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import row_norms

_MIN_SHARED = 3


def allows_missing(missing: str, space: Space) -> bool:
    """Tell whether NaN landmarks are allowed; refuse a space that has no landmarks to leave out."""
    check_choice(missing, ("error", "allow"), "missing")
    if missing == "allow":
        check_landmarks(space, f"{parameter('missing', 'allow')} leaves out")
    return missing == "allow"


def check_landmarks(space: Space, action: str) -> None:
    """Refuse a space of curves for what acts on single landmarks."""
    if not isinstance(space, Landmarks):
        raise UnsupportedBySpaceError(
            f"{action} landmarks, but the space is {space}, whose coefficients hang together: fit the curve to the "
            "points that are there, by space.fit(points, t)."
        )


def unit_rows(Z: ArrayLike, name: str, space: Space, missing: str) -> ComplexArray:
    """Return whitened pre-shapes; where landmarks may be missing, those are NaN, and the others a pre-shape."""
    if not allows_missing(missing, space):
        return space.whitened_preshapes(Z, name)
    space.check_space_of(Z, name)
    configurations, present = as_incomplete_configurations(Z, name=name, n_coordinates=space.n_coordinates)
    return np.where(present, normalized_on(configurations, present, name), np.nan).astype(configurations.dtype)


def normalized_on(Z: ComplexArray, present: BoolArray, name: str) -> ComplexArray:
    """Return rows centered on the entries present, of norm 1 there, and 0 elsewhere."""
    centers, centered = centered_on(Z, present)
    sizes = row_norms(centered)
    check_not_collapsed(sizes, np.abs(centers) * np.sqrt(present.sum(axis=1)).astype(sizes.dtype), name)
    return np.asarray(centered / sizes[:, None])


def shared_pairs(first: ComplexArray, second: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Return both stacks, row by row centered on the landmarks that a pair shares, of norm 1 there and 0 elsewhere."""
    shared = ~(np.isnan(first) | np.isnan(second))
    too_few = np.count_nonzero(shared, axis=1) < min(_MIN_SHARED, shared.shape[1])
    if too_few.any():
        raise NonFiniteError(f"z and w share fewer than three landmarks in {name_rows(too_few)}: too few to compare.")
    return normalized_on(first, shared, "z"), normalized_on(second, shared, "w")


def shared_products(first: ComplexArray, second: ComplexArray, first_pair: tuple[int, int]) -> ComplexArray:
    """Return products ``z* w`` of all pairs, each re-centered and of norm 1 on the landmarks that it shares.

    They come from sums over the shared landmarks, which are matrix products; near 1 they are only as good as those
    sums. Errors count pairs from `first_pair`.
    """
    real = first.real.dtype
    a, b = (~np.isnan(first)).astype(real), (~np.isnan(second)).astype(real)
    first, second = np.nan_to_num(first), np.nan_to_num(second)
    counts = a @ b.T
    too_few = counts < min(_MIN_SHARED, a.shape[1]) - 0.5
    if too_few.any():
        row, column = np.argwhere(too_few)[0] + first_pair
        raise NonFiniteError(
            f"shapes {row} and {column} share fewer than three landmarks, as do {np.count_nonzero(too_few)} pairs in "
            "all: too few to compare their shapes; remove the least complete ones."
        )
    first_sums, second_sums = first @ b.T, a @ second.T
    first_squares = np.abs(first) ** 2 @ b.T - np.abs(first_sums) ** 2 / counts
    second_squares = a @ (np.abs(second) ** 2).T - np.abs(second_sums) ** 2 / counts
    products = first.conj() @ second.T - first_sums.conj() * second_sums / counts
    tiny = np.finfo(real).tiny
    return np.asarray(products / np.sqrt(np.maximum(first_squares, tiny) * np.maximum(second_squares, tiny)))


def complete_by(mean: ComplexArray, rows: ComplexArray, present: BoolArray) -> ComplexArray:
    """Return pre-shapes whose missing landmarks are those of `mean`, aligned to the landmarks that are present."""
    offsets, base = centered_on(np.broadcast_to(mean, rows.shape), present)
    squares = np.vecdot(base, base).real
    factors = np.vecdot(base, rows) / np.where(squares > 0, squares, 1)
    laid = factors[:, None] * (mean - offsets[:, None])
    completed = np.where(present, rows, laid)
    return normalized_on(completed, np.ones_like(present), "Z")


def check_landmarks_present(present: BoolArray, name: str) -> None:
    """Refuse landmarks that no shape has."""
    never = ~present.any(axis=0)
    if never.any():
        raise NonFiniteError(
            f"{name} has NaN in every shape for landmark{'s' if never.sum() > 1 else ''} "
            f"{', '.join(map(str, np.flatnonzero(never)))}: leave these columns out."
        )


def centered_on(Z: ComplexArray, present: BoolArray) -> tuple[ComplexArray, ComplexArray]:
    """Return the centers of the landmarks that are present, and rows centered there, 0 where landmarks are missing."""
    counts = present.sum(axis=1).astype(Z.real.dtype)
    centers = np.where(present, Z, 0).sum(axis=1) / counts
    centered = np.where(present, Z - centers[:, None], 0)
    # What the first pass leaves is its rounding error, large where the shape lies far from the origin.
    centered = np.where(present, centered - (centered.sum(axis=1) / counts)[:, None], 0)
    return centers, centered.astype(Z.dtype)
