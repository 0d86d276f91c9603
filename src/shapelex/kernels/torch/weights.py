"""Weights of chosen supports on any torch device: the twin of :mod:`shapelex.kernels.triangle`.

In: supports ``(B, S)`` padded with −1 and their triangular factors, or the atoms themselves. Out: complex weights
``(B, S)``, zero where the support is padded.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Limits:
    """Tolerances of all coders, in the order of :mod:`shapelex.kernels.triangle`."""

    independent: float
    gain: float
    target: float
    refine: float
    eps: float
    unsure: float


@dataclass(frozen=True)
class Problem:
    """A dictionary on a device, and what is asked of codes over it.

    ``atoms`` is ``(J, N)`` with rows of norm 1 or 0, and ``gram[i, j] = d_i^H d_j``. With `polishes`, supports of
    searches that are not exact are improved by exchanges of atoms; not those of paths, nor with an error target.
    """

    atoms: Tensor
    gram: Tensor
    limits: Limits
    n_nonzero: int
    width: int
    path: bool
    polishes: bool = False

    @property
    def has_target(self) -> bool:
        """Whether a row needs no more atoms than reach an error target."""
        return self.limits.target >= 0


@dataclass(frozen=True)
class Block:
    """Rows ``(B, N)`` on a device, and their correlations ``(B, J)`` with the atoms, ``d_j^H x``."""

    rows: Tensor
    correlations: Tensor

    @cached_property
    def norms2(self) -> Tensor:
        """Squared norms of the rows."""
        return squares(self.rows).sum(dim=1)

    def __getitem__(self, chosen: Tensor) -> "Block":
        return Block(self.rows[chosen], self.correlations[chosen])


def squares(values: Tensor) -> Tensor:
    """Squared moduli."""
    return values.real.square() + values.imag.square()


def densify(support: Tensor, coefs: Tensor, n_atoms: int) -> Tensor:
    """Codes as a dense matrix ``(B, J)``."""
    dense = torch.zeros((len(support), n_atoms + 1), dtype=coefs.dtype, device=coefs.device)
    # Padding goes to a column of its own.
    dense.scatter_(1, torch.where(support < 0, n_atoms, support).long(), coefs)
    return dense[:, :n_atoms]


def residuals(rows: Tensor, atoms: Tensor, support: Tensor, coefs: Tensor) -> Tensor:
    """Rows minus what their codes stand for."""
    return rows - densify(support, coefs, len(atoms)) @ atoms


def squared_errors(rows: Tensor, atoms: Tensor, support: Tensor, coefs: Tensor) -> Tensor:
    """Squared norms of the residuals, from the rows themselves."""
    return squares(residuals(rows, atoms, support, coefs)).sum(dim=1)


def gather_gram(gram: Tensor, support: Tensor) -> Tensor:
    """Gram matrices ``(B, S, S)`` of supports; padding is one more atom, orthogonal to all others."""
    used = support >= 0
    places = support.clamp_min(0).long()
    both = used[:, :, None] & used[:, None, :]
    identity = torch.eye(support.shape[1], dtype=gram.dtype, device=gram.device)
    return torch.where(both, gram[places[:, :, None], places[:, None, :]], identity)


def solve_support(block: Block, problem: Problem, support: Tensor) -> Tensor:
    """Weights ``(B, 1, S)`` of given supports of independent atoms, refined where the atoms are nearly dependent.

    For a path, weights are ``(B, S, S)``: those of the first atom, of the first two, and so on.
    """
    size = support.shape[1]
    factor, _ = torch.linalg.cholesky_ex(gather_gram(problem.gram, support))
    levels = range(1, size + 1) if problem.path else [size]
    coefs = block.rows.new_zeros((len(support), len(levels), size))
    for place, n_chosen in enumerate(levels):
        # A leading block of a Cholesky factor is that of the same block of the matrix.
        leading = factor[:, :n_chosen, :n_chosen]
        coefs[:, place, :n_chosen] = _solve_factor(leading, block.correlations, support[:, :n_chosen])
    lowest = factor.diagonal(dim1=1, dim2=2).real.square().amin(dim=1)
    return refine_weights(block, problem, support, coefs, lowest)


def refine_weights(block: Block, problem: Problem, support: Tensor, coefs: Tensor, lowest: Tensor) -> Tensor:
    """Correct weights ``(B, 1, S)``, or ``(B, S, S)`` of a path, where a chosen atom had little left, `lowest`.

    This is done once, in place, by the true residuals (the corrected seminormal equations).
    """
    # One number tells whether there are such rows at all, faster than a list of them.
    if len(lowest) == 0 or not float(lowest.amin()) < problem.limits.refine:
        return coefs
    unsure = torch.nonzero(lowest < problem.limits.refine)[:, 0]
    n_levels, size = coefs.shape[1:]
    for level in range(n_levels):
        n_chosen = size if n_levels == 1 else level + 1
        chosen, given = support[unsure, :n_chosen], coefs[unsure, level, :n_chosen]
        remaining = residuals(block.rows[unsure], problem.atoms, chosen, given)
        factor, _ = torch.linalg.cholesky_ex(gather_gram(problem.gram, chosen))
        steps = _solve_factor(factor, remaining @ problem.atoms.mH, chosen)
        # A factor that broke down has no correction to offer.
        steps = torch.where(torch.isfinite(steps.real) & torch.isfinite(steps.imag), steps, 0)
        coefs[unsure, level, :n_chosen] = given + steps
    return coefs


def _solve_factor(factor: Tensor, correlations: Tensor, support: Tensor) -> Tensor:
    """Solve the normal equations of every support by a Cholesky factor; 0 where the support is padded."""
    used = support >= 0
    right = correlations.gather(1, support.clamp_min(0).long()) * used
    solved: Tensor = torch.cholesky_solve(right[..., None], factor)[..., 0] * used
    return solved
