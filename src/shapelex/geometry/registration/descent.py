"""Turns of registering shapes to their mean and averaging them.

In comes a search over the changes of pre-shapes; out go the changes that lie closest to their common mean. Both halves
of a turn lower ``Σ_k d_F(m, g_k(z_k))²``, so it ends where neither changes anything.
"""

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry.means import full_mean_row, turned_along
from shapelex.geometry.registration.cyclic_search import Changes, CyclicSearch
from shapelex.geometry.registration.subsample_shifts import closest_fractions, shift_landmarks
from shapelex.spaces import Space

# Shapes on which the starts compete.
_MOST_TRIAL_SHAPES = 300

# Fractions of a point that change by no more are settled.
_FRACTION_TOL = 1e-4


def mean_preshape(Z: ComplexArray, space: Space) -> ComplexArray:
    """Return the full mean of pre-shapes, turned along the first of them, as a stack of one."""
    rows = space.whiten(Z)
    mean, _ = full_mean_row(rows, np.full(len(rows), 1 / len(rows), dtype=rows.real.dtype))
    return space.unwhiten(turned_along(mean, rows[0]).astype(rows.dtype))[None]


def register_to_mean(
    search: CyclicSearch, n_starts: int, max_iter: int, generator: np.random.Generator
) -> tuple[Changes, int, bool]:
    """Register shapes to their own mean; return the changes, the iterations over all shapes, and whether they settled.

    Of `n_starts` first means, which `generator` draws, the best goes on with all shapes.
    """
    mean = mean_preshape(search.Z, search.space)
    n_shapes = len(search.Z)
    if n_starts > 1 and n_shapes > 1:
        drawn = generator.permutation(n_shapes)
        trial = search if n_shapes <= _MOST_TRIAL_SHAPES else search.of(np.sort(drawn[:_MOST_TRIAL_SHAPES]))
        first_means = [mean, *(search.Z[number][None] for number in drawn[: n_starts - 1])]
        means, losses, _, _ = zip(*(_descend(trial, first, max_iter) for first in first_means), strict=True)
        # The first of equals, so that shapes that are registered already stay.
        mean = means[np.argmax(np.array(losses) <= min(losses) * (1 + 1e-9) + 1e-15)]
    mean, _, n_iter, converged = _descend(search, mean, max_iter)
    return search.settle(mean).as_most_are(search.n_points), n_iter, converged


def _descend(search: CyclicSearch, mean: ComplexArray, max_iter: int) -> tuple[ComplexArray, float, int, bool]:
    """Register and average in turn; return the mean, its loss, the iterations, and whether nothing changed any more."""
    previous: Changes | None = None
    exact = converged = False
    for n_iter in range(max_iter + 1):
        changes, squares = search.closest(mean)
        settled = previous is not None and changes == previous
        converged = settled and exact and n_iter < max_iter
        if converged or n_iter == max_iter:
            break
        changed = changes.apply(search.Z, search.space)
        # One step of the power method already lowers the loss, at a small part of the price of an eigenvector.
        mean = mean_preshape(changed, search.space) if settled else _power_step(changed, mean, search.space)
        previous, exact = changes, settled
    return mean, 1 - float(squares.mean(dtype=np.float64)), n_iter, converged


def _power_step(Z: ComplexArray, mean: ComplexArray, space: Space) -> ComplexArray:
    """Return ``Σ_k z_k (z_k* Phi m)``, of norm 1."""
    # Not by BLAS: its threads cost more than these two passes over the shapes.
    products = np.vecdot(Z, space.gram.astype(Z.dtype) @ mean[0])
    raised = np.einsum("k,kn->n", products, Z)[None]
    following: ComplexArray = raised / np.asarray(space.norm(raised))[:, None]
    return following


def _around_zero(shifts: FloatArray, n_points: int) -> FloatArray:
    """Return the same start points, at most half of the points away either way."""
    wrapped: FloatArray = (shifts + n_points / 2) % n_points - n_points / 2
    return np.where(np.abs(shifts) <= n_points / 2, shifts, wrapped)


def refine_with_mean(
    Z: ComplexArray, mean: ComplexArray, space: Space, max_iter: int, converged: bool
) -> tuple[FloatArray, ComplexArray, int, bool]:
    """Shift registered closed landmarks by fractions of a point, in turn with their mean.

    Returns the shifts, that of the first shape being 0, the mean of the shifted shapes, the iterations, and whether
    the whole shifts had `converged` and the fractions settled to 1e-4 of a point.
    """
    fractions: FloatArray = np.zeros(len(Z))
    for n_iter in range(1, max_iter + 1):
        following = closest_fractions(Z, mean)
        # The mean would drift along the outlines: only what shapes differ by counts.
        following = _around_zero(following - following[0], Z.shape[1])
        moved = float(np.abs(_around_zero(following - fractions, Z.shape[1])).max())
        fractions = following
        mean = mean_preshape(shift_landmarks(Z, fractions), space)
        if moved <= _FRACTION_TOL:
            return fractions, mean, n_iter, converged
    return fractions, mean, max_iter, False
