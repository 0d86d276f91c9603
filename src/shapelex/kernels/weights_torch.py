"""Weights of chosen supports on any torch device: the twin of :mod:`shapelex.kernels.triangle`.

In: supports ``(B, S)`` padded with −1 and their triangular factors, or the atoms themselves. Out: complex weights
``(B, S)``, zero where the support is padded.
"""

import torch
from torch import Tensor


def solve_triangle(triangle: Tensor, targets: Tensor) -> Tensor:
    """Solve ``R a = y`` for upper triangular ``R`` of every row."""
    if targets.shape[-1] == 0:
        return targets
    solved: Tensor = torch.linalg.solve_triangular(triangle, targets[..., None], upper=True)[..., 0]
    return solved


def residuals(rows: Tensor, atoms: Tensor, support: Tensor, coefs: Tensor) -> Tensor:
    """Rows minus what their codes stand for."""
    return rows - densify(support, coefs, len(atoms)) @ atoms


def densify(support: Tensor, coefs: Tensor, n_atoms: int) -> Tensor:
    """Codes as a dense matrix ``(B, J)``."""
    dense = torch.zeros((len(support), n_atoms + 1), dtype=coefs.dtype, device=coefs.device)
    # Padding goes to a column of its own.
    dense.scatter_(1, torch.where(support < 0, n_atoms, support).long(), coefs)
    return dense[:, :n_atoms]


def gather_gram(gram: Tensor, support: Tensor) -> Tensor:
    """Gram matrices ``(B, S, S)`` of supports; padding is one more atom, orthogonal to all others."""
    used = support >= 0
    places = support.clamp_min(0).long()
    both = used[:, :, None] & used[:, None, :]
    identity = torch.eye(support.shape[1], dtype=gram.dtype, device=gram.device)
    return torch.where(both, gram[places[:, :, None], places[:, None, :]], identity)


def refine(rows: Tensor, atoms: Tensor, gram: Tensor, support: Tensor, coefs: Tensor) -> Tensor:
    """Correct weights once, from the true residuals (the corrected seminormal equations)."""
    used = support >= 0
    remaining = residuals(rows, atoms, support, coefs)
    right = (remaining @ atoms.mH).gather(1, support.clamp_min(0).long()) * used
    factor, _ = torch.linalg.cholesky_ex(gather_gram(gram, support))
    steps: Tensor = torch.cholesky_solve(right[..., None], factor)[..., 0]
    # A factor that broke down has no correction to offer.
    steps = torch.where(torch.isfinite(steps.real) & torch.isfinite(steps.imag), steps, 0)
    return coefs + steps * used


def solve_support(
    rows: Tensor, correlations: Tensor, atoms: Tensor, gram: Tensor, support: Tensor, refine_below: float
) -> Tensor:
    """Weights of given supports of independent atoms, refined where the atoms are nearly dependent."""
    used = support >= 0
    right = correlations.gather(1, support.clamp_min(0)) * used
    factor, _ = torch.linalg.cholesky_ex(gather_gram(gram, support))
    coefs: Tensor = torch.cholesky_solve(right[..., None], factor)[..., 0] * used
    unsure = torch.nonzero(factor.diagonal(dim1=1, dim2=2).real.square().amin(dim=1) < refine_below)[:, 0]
    if len(unsure):
        coefs[unsure] = refine(rows[unsure], atoms, gram, support[unsure], coefs[unsure])
    return coefs
