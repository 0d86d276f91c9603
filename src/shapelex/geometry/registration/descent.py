"""Turns of registering shapes to their mean and averaging them.

In comes a search over the changes of pre-shapes; out go the changes that lie closest to their common mean. Both halves
of a turn lower ``Σ_k d_F(m, g_k(z_k))²``, so it ends where neither changes anything.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry.means import full_mean_row
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
    product = np.vdot(mean, rows[0])
    turned = mean * (product / abs(product)) if abs(product) > 0 else mean
    return space.unwhiten(turned.astype(rows.dtype))[None]


@dataclass(frozen=True)
class _Descent:
    """Where a descent ended."""

    mean: ComplexArray
    changes: Changes
    loss: float
    n_iter: int
    converged: bool


def register_to_mean(
    search: CyclicSearch, n_starts: int, max_iter: int, generator: np.random.Generator
) -> tuple[Changes, int, bool]:
    """Register shapes to their own mean.

    Parameters
    ----------
    search : CyclicSearch
        The shapes and the changes to try.
    n_starts : int
        From how many first means to begin.
    max_iter : int
        Most iterations of each.
    generator : Generator
        Chooses the shapes that are first means, and those on which they compete.

    Returns
    -------
    changes : Changes
        What to do to each shape.
    n_iter : int
        Iterations of the descent over all shapes.
    converged : bool
        Whether its last iteration changed nothing.
    """
    first_means = [mean_preshape(search.Z, search.space)]
    n_shapes = len(search.Z)
    if n_starts > 1 and n_shapes > 1:
        drawn = generator.permutation(n_shapes)
        trial = search if n_shapes <= _MOST_TRIAL_SHAPES else search.of(np.sort(drawn[:_MOST_TRIAL_SHAPES]))
        first_means += [search.Z[number][None] for number in drawn[: n_starts - 1]]
        ends = [_descend(trial, mean, max_iter) for mean in first_means]
        # The first of equals, so that shapes that are registered already stay.
        least = min(end.loss for end in ends)
        best = next(end for end in ends if end.loss <= least * (1 + 1e-9) + 1e-15)
        first_means = [best.mean]
    end = _descend(search, first_means[0], max_iter)
    settled = search.settle(end.mean).as_most_are(search.n_points)
    return settled, end.n_iter, end.converged


def _descend(search: CyclicSearch, mean: ComplexArray, max_iter: int) -> _Descent:
    previous: Changes | None = None
    exact = False
    for n_iter in range(1, max_iter + 1):
        changes, squares = search.closest(mean)
        settled = previous is not None and changes == previous
        if settled and exact:
            return _Descent(mean, changes, 1 - float(squares.mean(dtype=np.float64)), n_iter - 1, True)
        changed = changes.apply(search.Z, search.space)
        # One step of the power method already lowers the loss, at a small part of the price of an eigenvector.
        mean = mean_preshape(changed, search.space) if settled else _power_step(changed, mean, search.space)
        previous, exact = changes, settled
    changes, squares = search.closest(mean)
    return _Descent(mean, changes, 1 - float(squares.mean(dtype=np.float64)), max_iter, False)


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
    """Shift registered closed landmarks by fractions of a point, by turns with their mean.

    Parameters
    ----------
    Z : ndarray of complex, shape (n_shapes, n_points)
        Pre-shapes that are registered by whole points.
    mean : ndarray of complex, shape (1, n_points)
        Their mean.
    space : Space
        Their space.
    max_iter : int
        Most iterations.
    converged : bool
        Whether the whole shifts had settled.

    Returns
    -------
    fractions : ndarray of float, shape (n_shapes,)
        Shifts that follow; that of the first shape is 0.
    mean : ndarray of complex, shape (1, n_points)
        The mean of the shifted shapes.
    n_iter : int
        Iterations.
    converged : bool
        Whether shifts have settled to 1e-4 of a point.
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
