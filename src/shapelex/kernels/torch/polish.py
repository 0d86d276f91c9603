"""Exchange polish on any torch device, for many rows at once.

In: a block of rows with their correlations, a dictionary, and supports. Out: supports that no exchange of one atom for
another improves. All pairs of a chosen and another atom are scored at once, and the best is exchanged while the error
falls by more than rounding. A gain is known to roundings of the norm of the row, times the root of what is gained
before the cost is subtracted.

With ``M`` the inverse of the Gram matrix of the chosen atoms, ``a = M c_S``, ``B = M G_S.``, ``r = c - G_.S a`` and
``left_j = G_jj - G_jS M G_Sj``, dropping the atom at place `p` costs ``|a_p|² / M_pp``. Then ``r_j`` becomes
``r_j + conj(B_pj) a_p / M_pp``, ``left_j`` becomes ``left_j + |B_pj|² / M_pp``, and adding atom `j` gains
``|r_j|² / left_j``.
"""

import torch
from torch import Tensor

from shapelex.kernels.torch.pursuit import first_largest
from shapelex.kernels.torch.weights import Block, Problem, gather_gram, squares

# A bound on the work of one row, far above the exchanges that shapes need.
MOST_EXCHANGES = 256


def polish(block: Block, problem: Problem, support: Tensor) -> Tensor:
    """Supports ``(B, S)`` after exchanges; they are padded with −1, and so are the given ones."""
    support = support.clone()
    active = torch.arange(len(support), device=support.device)
    for _ in range(MOST_EXCHANGES):
        if not len(active):
            break
        part, chosen = block[active], support[active]
        gain, cost, place, atom = _best_exchange(part, problem, chosen)
        improves = gain > 16 * problem.limits.eps * (part.norms2 * (gain + cost).clamp_min(0)).sqrt()
        active = active[improves]
        support[active, place[improves]] = atom[improves].to(support.dtype)
    return support


def _best_exchange(block: Block, problem: Problem, support: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gain, cost of the drop, place and atom of the best exchange of every row, the first of those that are equal."""
    # The inverse of a Gram matrix has the square of the condition number of the atoms: too much for single precision.
    gram, corr, limits = problem.gram.to(torch.complex128), block.correlations.to(torch.complex128), problem.limits
    n_atoms = len(gram)
    used, places = support >= 0, support.clamp_min(0).long()
    inverse = torch.linalg.inv(gather_gram(gram, support))
    gram_rows = gram[places] * used[:, :, None]
    weights = torch.einsum("bpq,bq->bp", inverse, corr.gather(1, places) * used)
    combined = inverse @ gram_rows
    remaining = corr - torch.einsum("bqj,bq->bj", gram_rows.conj(), weights)
    left = gram.diagonal().real - (gram_rows.conj() * combined).real.sum(dim=1)
    inv_pivots = 1 / inverse.diagonal(dim1=1, dim2=2).real
    costs = squares(weights) * inv_pivots
    new_corr = remaining[:, None] + combined.conj() * (weights * inv_pivots)[:, :, None]
    new_left = left[:, None] + squares(combined) * inv_pivots[:, :, None]
    is_open = (new_left > limits.independent) & used[:, :, None]
    is_chosen = torch.zeros((len(support), n_atoms + 1), dtype=torch.bool, device=support.device)
    is_chosen.scatter_(1, torch.where(used, places, n_atoms), True)
    is_open &= ~is_chosen[:, None, :n_atoms]
    gains = torch.where(is_open, squares(new_corr) / torch.where(is_open, new_left, 1) - costs[:, :, None], -torch.inf)
    gain, number = first_largest(gains.flatten(1))
    place = number // n_atoms
    return gain, costs.gather(1, place[:, None])[:, 0], place, number % n_atoms
