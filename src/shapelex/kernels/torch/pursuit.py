"""Greedy pursuits on any torch device, for many rows at once: the twin of :mod:`shapelex.kernels.pursuit`.

In: a block of rows with their correlations, and a dictionary. Out: supports in the order of choice, and weights. The
arithmetic, the tolerances and the rules for ties are those of the numba kernels; sums may round otherwise.
"""

import torch
from torch import Tensor

from shapelex.kernels.torch.weights import Block, Problem, refine_weights, solve_triangle, squared_errors, squares


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
    block: Block, problem: Problem, size: int, *, by_correlation: bool = False, allowed: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Supports ``(B, size)`` by ORMP, or by OMP, and weights ``(B, 1, size)``, or ``(B, size, size)`` for a path.

    Rows choose of all atoms, or of those that are `allowed` ``(B, J)``.
    """
    # triangle[b, i, l] = q_i^H d_l is upper triangular with ones on the diagonal of unused levels, targets[b, l] is
    # q_l^H x, and lowest[b] the smallest squared norm that a chosen atom had left.
    corr, norms2, gram, limits = block.correlations, block.norms2, problem.gram, problem.limits
    n_rows, n_atoms = corr.shape
    device = corr.device
    left = gram.diagonal().real.expand(n_rows, n_atoms)
    if allowed is not None:
        left = torch.where(allowed, left, 0)
    basis = torch.zeros((n_rows, size, n_atoms), dtype=corr.dtype, device=device)
    support = torch.full((n_rows, size), -1, dtype=torch.int64, device=device)
    triangle = torch.eye(size, dtype=corr.dtype, device=device).repeat(n_rows, 1, 1)
    targets = torch.zeros((n_rows, size), dtype=corr.dtype, device=device)
    lowest = torch.ones(n_rows, dtype=norms2.dtype, device=device)
    going = torch.ones(n_rows, dtype=torch.bool, device=device)
    left_norm2 = norms2
    every = torch.arange(n_rows, device=device)
    for level in range(size):
        if problem.has_target:
            stop = limits.target * norms2
            # Within rounding of the target the true residual decides.
            asked = torch.nonzero(going & (left_norm2 <= stop + limits.unsure * norms2))[:, 0]
            if len(asked):
                coefs = solve_triangle(triangle[asked, :level, :level], targets[asked, :level])
                errors = squared_errors(block.rows[asked], problem.atoms, support[asked, :level], coefs)
                going[asked[errors <= stop[asked]]] = False
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
        if level == size - 1:
            break
        new = gram[best] - torch.einsum("bl,blj->bj", column.conj(), basis[:, :level])
        new = new * inv_norm[:, None]
        basis[:, level] = new
        corr = corr - new.conj() * targets[:, level, None]
        left = left - squares(new)
        left[every, best] = torch.where(going, 0, left[every, best])
    levels = range(1, size + 1) if problem.path else [size]
    coefs = block.rows.new_zeros((n_rows, len(levels), size))
    for place, n_chosen in enumerate(levels):
        solved = solve_triangle(triangle[:, :n_chosen, :n_chosen], targets[:, :n_chosen])
        coefs[:, place, :n_chosen] = refine_weights(block, problem, support[:, :n_chosen], solved, lowest)
    return support, coefs
