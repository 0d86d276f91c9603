"""Sparse real weights that sum to one: the codes of intrinsic dictionaries (Xie et al. 2013).

In come Gram matrices of tangent vectors, one a sample; out go weights. All samples are solved side by side.
"""

import warnings

import numpy as np

from shapelex._typing import BoolArray, FloatArray
from shapelex.exceptions import ConvergenceWarning

# Rounds of alternating iterations, which find the support of most samples; after each the penalty is looked at.
_ROUNDS = 4
_ROUND = 20
_RELAXATION = 1.6
# Added to the diagonal, as a share of the largest entry: it keeps a matrix definite that is singular to rounding, and
# settles which of many solutions is taken. It shows in the optimality conditions at its own size, far below `tol`.
_RIDGE = 1e-12
# The residuals of the two halves may differ by this factor before the penalty follows.
_IMBALANCE = 4.0


def affine_lasso(grams: FloatArray, alpha: float, *, tol: float = 1e-9, max_iter: int = 1_000) -> FloatArray:
    """Weights that solve ``min a' G a + alpha |a|₁  subject to  Σ_j a_j = 1``, for each Gram matrix ``G``.

    Some steps of alternating directions (ADMM) guess the support and its signs, which leaves a linear system. From
    there atoms leave one by one, where a weight would change its sign on the way to the solution, and enter one by one,
    where the optimality conditions are missed (active set). No step raises the objective.




    Examples
    --------
    >>> import numpy as np
    >>> affine_lasso(np.diag([1.0, 3.0, 100.0])[None], alpha=0.0).round(3)
    array([[0.744, 0.248, 0.007]])
    >>> affine_lasso(np.array([[[1.0, 1.2], [1.2, 4.0]]]), alpha=1.0)
    array([[1., 0.]])
    """
    n_samples = len(grams)
    sizes = np.abs(grams).max(axis=(1, 2))
    scales = np.where(2 * sizes + alpha > 0, 2 * sizes + alpha, 1)
    quadratic = 2 * grams.astype(np.float64) / scales[:, None, None]
    prices = alpha / scales
    solved = _guess(quadratic, prices)
    remaining = np.arange(n_samples)
    state = _ActiveSet(quadratic, prices, solved.copy())
    for _ in range(max_iter):
        is_done = state.advance(tol)
        solved[remaining[is_done]] = state.weights[is_done]
        remaining = remaining[~is_done]
        if remaining.size == 0:
            return solved
        state.keep(~is_done)
    solved[remaining] = state.weights
    warnings.warn(
        f"The weights of {remaining.size} of {n_samples} shapes did not reach tol={tol:g} in {max_iter} steps: "
        "raise alpha, or take fewer atoms.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return solved


def _guess(quadratic: FloatArray, prices: FloatArray) -> FloatArray:
    """Return weights of sum one near the minimum, by alternating directions."""
    n_samples, n_atoms = quadratic.shape[:2]
    values, vectors = np.linalg.eigh(quadratic)
    values = np.maximum(values, 0)
    sparse, dual = np.full((n_samples, n_atoms), 1 / n_atoms), np.zeros((n_samples, n_atoms))
    # Between the smallest and the largest curvature, where both halves gain about the same.
    penalty = np.maximum(np.sqrt(values[:, 0] * values[:, -1]), 1e-2)[:, None]
    for _ in range(_ROUNDS):
        inverse = 1 / (values + penalty)
        ones = np.einsum("kij,kj->ki", vectors, inverse * vectors.sum(axis=1))
        for _ in range(_ROUND):
            target = inverse * np.einsum("kij,ki->kj", vectors, penalty * (sparse - dual))
            plane = np.einsum("kij,kj->ki", vectors, target)
            plane += ((1 - plane.sum(axis=1)) / ones.sum(axis=1))[:, None] * ones
            previous = sparse
            shifted = _RELAXATION * plane + (1 - _RELAXATION) * previous + dual
            sparse = np.sign(shifted) * np.maximum(np.abs(shifted) - prices[:, None] / penalty, 0)
            dual = shifted - sparse
        primal = np.linalg.norm(plane - sparse, axis=1, keepdims=True)
        change = penalty * np.linalg.norm(sparse - previous, axis=1, keepdims=True)
        factor = np.where(primal > _IMBALANCE * change, 2.0, np.where(change > _IMBALANCE * primal, 0.5, 1.0))
        penalty, dual = penalty * factor, dual / factor
    is_used = sparse != 0
    is_used[~is_used.any(axis=1)] = True
    missing = (1 - sparse.sum(axis=1)) / is_used.sum(axis=1)
    weights: FloatArray = np.where(is_used, sparse + missing[:, None], 0)
    return weights


class _ActiveSet:
    """Weights of sum one, and the signs they may have, of all samples that are not solved yet."""

    def __init__(self, quadratic: FloatArray, prices: FloatArray, weights: FloatArray) -> None:
        self.quadratic = quadratic
        self.prices = prices
        self.weights = weights
        self.signs = np.sign(weights)

    def advance(self, tol: float) -> BoolArray:
        """Go towards the minimum for the signs, up to the first weight that would change its own.

        Where none does, an atom enters. Returns which samples are solved.
        """
        target = _solve_for_signs(self.quadratic, self.prices, self.signs)
        crosses = (self.signs != 0) & (target * self.signs <= 0)
        distance = np.where(crosses, np.abs(self.weights - target), 1)
        ways = np.where(crosses, np.abs(self.weights) / np.where(distance > 0, distance, 1), np.inf)
        leaving = np.argmin(ways, axis=1)
        is_blocked = crosses.any(axis=1)
        step = np.where(is_blocked, ways[np.arange(len(ways)), leaving], 1)[:, None]
        self.weights = np.where(is_blocked[:, None], (1 - step) * self.weights + step * target, target)
        blocked = np.flatnonzero(is_blocked)
        self.weights[blocked, leaving[blocked]] = 0
        self.signs[blocked, leaving[blocked]] = 0
        is_done: BoolArray = ~is_blocked & (optimality_gaps(self.quadratic, self.prices, self.weights) <= tol)
        self._enter(~is_blocked & ~is_done)
        return is_done

    def keep(self, is_kept: BoolArray) -> None:
        """Go on with some samples only."""
        for name, value in vars(self).items():
            setattr(self, name, value[is_kept])

    def _enter(self, is_open: BoolArray) -> None:
        """Give the atom that misses its condition most the sign that lowers the objective."""
        gradient = np.einsum("kij,kj->ki", self.quadratic, self.weights)
        slopes = gradient - _levels(gradient, self.prices, self.weights)[:, None]
        entering = np.argmax(np.where(self.signs == 0, np.abs(slopes), 0), axis=1)
        rows = np.flatnonzero(is_open)
        self.signs[rows, entering[rows]] = -np.sign(slopes[rows, entering[rows]])


def _solve_for_signs(quadratic: FloatArray, prices: FloatArray, signs: FloatArray) -> FloatArray:
    """Return the minimum over weights of the support of `signs`, as if they kept these signs: a linear system."""
    n_samples, n_atoms = signs.shape
    is_used = signs != 0
    pairs = is_used[:, :, None] & is_used[:, None, :]
    system = np.zeros((n_samples, n_atoms + 1, n_atoms + 1))
    diagonal = np.where(is_used, _RIDGE, 1)[:, :, None] * np.eye(n_atoms)
    system[:, :n_atoms, :n_atoms] = np.where(pairs, quadratic, 0) + diagonal
    system[:, :n_atoms, n_atoms] = system[:, n_atoms, :n_atoms] = is_used
    right = np.zeros((n_samples, n_atoms + 1, 1))
    right[:, :n_atoms, 0] = -prices[:, None] * signs
    right[:, n_atoms, 0] = 1
    weights: FloatArray = np.linalg.solve(system, right)[:, :n_atoms, 0]
    return np.where(is_used, weights, 0)


def _levels(gradient: FloatArray, prices: FloatArray, codes: FloatArray) -> FloatArray:
    """Return the number ``nu`` that fits the conditions on the support best."""
    is_used = codes != 0
    levels = gradient + prices[:, None] * np.sign(codes)
    level: FloatArray = np.sum(levels, axis=1, where=is_used) / np.maximum(is_used.sum(axis=1), 1)
    return level


def optimality_gaps(quadratic: FloatArray, prices: FloatArray, codes: FloatArray) -> FloatArray:
    """Return how far weights are from the optimality conditions of ``min a' Q a / 2 + price |a|₁`` at sum one.

    They are a minimum if and only if a number ``nu`` has ``(Q a)_j + price sign(a_j) = nu`` where ``a_j ≠ 0``, and
    ``|(Q a)_j − nu| ≤ price`` elsewhere. The gap is the largest amount by which a condition is missed, for the ``nu``
    that fits the support best.

    Examples
    --------
    >>> import numpy as np
    >>> optimality_gaps(2 * np.eye(2)[None], np.array([0.5]), np.array([[0.5, 0.5], [1.0, 0.0]]))
    array([0., 2.])
    """
    gradient = np.einsum("kij,kj->ki", quadratic, codes)
    slopes = gradient - _levels(gradient, prices, codes)[:, None]
    on_support = np.abs(slopes + prices[:, None] * np.sign(codes))
    gaps: FloatArray = np.maximum(np.where(codes != 0, on_support, np.abs(slopes) - prices[:, None]), 0).max(axis=1)
    return gaps
