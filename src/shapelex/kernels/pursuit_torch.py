"""Greedy pursuits on any torch device, for many rows at once: the twin of :mod:`shapelex.kernels.pursuit`.

In: correlations ``(B, J)`` of rows with atoms, the Gram matrix ``(J, J)`` of the atoms (unit norm, or zero). Out:
supports in the order of choice, and what it takes to solve for the weights (:mod:`shapelex.kernels.weights_torch`).
The arithmetic, the tolerances and the rules for ties are those of the numba kernels; sums may round otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from shapelex.kernels.weights_torch import solve_triangle

Reached = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Limits:
    """Tolerances of all coders, as in :mod:`shapelex.kernels.triangle`."""

    independent: float
    gain: float
    target: float
    refine: float
    eps: float


@dataclass(frozen=True)
class Chosen:
    """What a pursuit leaves: supports ``(B, S)`` padded with −1, and their triangular factors.

    ``triangle[b, i, l] = q_i^H d_l`` is upper triangular with ones on the diagonal of unused levels, ``targets[b, l]``
    is ``q_l^H x``, and ``lowest[b]`` the smallest squared norm that a chosen atom had left.
    """

    support: Tensor
    triangle: Tensor
    targets: Tensor
    lowest: Tensor


def squares(values: Tensor) -> Tensor:
    """Squared moduli."""
    return values.real.square() + values.imag.square()


def first_largest(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Largest score of each row and the first place that has it: ties go to the lowest index on every device."""
    largest = scores.amax(dim=-1, keepdim=True)
    places = torch.arange(scores.shape[-1], device=scores.device)
    first = torch.where(scores == largest, places, scores.shape[-1]).amin(dim=-1)
    return largest[..., 0], first


def score_atoms(corr: Tensor, left: Tensor, independent: float, by_correlation: bool) -> Tensor:
    """Gain ``|corr|² / left`` of every atom (ORMP), or ``|corr|²`` (OMP); 0 for those that the chosen ones span."""
    usable = left > independent
    gains = squares(corr)
    if not by_correlation:
        gains = gains / torch.where(usable, left, 1)
    return torch.where(usable, gains, 0)


def pursue(
    correlations: Tensor,
    norms2: Tensor,
    gram: Tensor,
    limits: Limits,
    n_nonzero: int,
    *,
    by_correlation: bool = False,
    allowed: Tensor | None = None,
    reached: Reached | None = None,
) -> Chosen:
    """Choose the atoms of every row.

    Parameters
    ----------
    correlations : Tensor of complex, shape (B, J)
        ``d_j^H x``.
    norms2 : Tensor of float, shape (B,)
        Squared norms of the rows.
    gram : Tensor of complex, shape (J, J)
        ``gram[i, j] = d_i^H d_j``.
    limits : Limits
        Tolerances.
    n_nonzero : int
        Most atoms a row.
    by_correlation : bool
        False for ORMP, True for OMP.
    allowed : Tensor of bool, shape (B, J), optional
        Atoms that a row may choose. Default: all.
    reached : callable, optional
        Tells from ``(row numbers, support, coefs)`` which rows have reached the target error; asked where the tracked
        error is too close to it to tell. Needed when ``limits.target`` is not negative.
    """
    n_rows, n_atoms = correlations.shape
    device, real = correlations.device, norms2.dtype
    corr = correlations.clone()
    left = gram.diagonal().real.expand(n_rows, n_atoms).clone()
    if allowed is not None:
        left = torch.where(allowed, left, 0)
    basis = torch.zeros((n_rows, n_nonzero, n_atoms), dtype=corr.dtype, device=device)
    support = torch.full((n_rows, n_nonzero), -1, dtype=torch.int64, device=device)
    triangle = torch.eye(n_nonzero, dtype=corr.dtype, device=device).repeat(n_rows, 1, 1)
    targets = torch.zeros((n_rows, n_nonzero), dtype=corr.dtype, device=device)
    lowest = torch.ones(n_rows, dtype=real, device=device)
    going = torch.ones(n_rows, dtype=torch.bool, device=device)
    left_norm2 = norms2.clone()
    every = torch.arange(n_rows, device=device)
    for level in range(n_nonzero):
        if limits.target >= 0:
            stop = limits.target * norms2
            asked = torch.nonzero(going & (left_norm2 <= stop + 64 * limits.eps * norms2))[:, 0]
            if len(asked):
                assert reached is not None
                coefs = solve_triangle(triangle[asked, :level, :level], targets[asked, :level])
                going[asked[reached(asked, support[asked, :level], coefs)]] = False
        scores = score_atoms(corr, left, limits.independent, by_correlation)
        top, best = first_largest(scores)
        best_corr, best_left = corr[every, best], left[every, best]
        going &= (top > 0) & (squares(best_corr) > limits.gain * norms2 * best_left)
        inv_norm = torch.where(going, best_left, 1).rsqrt() * going
        support[:, level] = torch.where(going, best, -1)
        lowest = torch.where(going, torch.minimum(lowest, best_left), lowest)
        targets[:, level] = best_corr * inv_norm
        left_norm2 = left_norm2 - squares(targets[:, level])
        column = basis[every, :level, best]
        triangle[:, :level, level] = column * going[:, None]
        triangle[:, level, level] = torch.where(going, best_left.clamp_min(0).sqrt(), 1)
        if level == n_nonzero - 1:
            break
        new = gram[best] - torch.einsum("bl,blj->bj", column.conj(), basis[:, :level])
        new = new * inv_norm[:, None]
        basis[:, level] = new
        corr = corr - new.conj() * targets[:, level, None]
        left = left - squares(new)
        left[every, best] = torch.where(going, 0, left[every, best])
    return Chosen(support, triangle, targets, lowest)
