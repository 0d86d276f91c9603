"""Pursuits, beams, exchanges of atoms, and weights on any torch device, for many rows at once.

The arithmetic, the tolerances and the rules for ties are those of the numba kernels; sums may round otherwise. Supports
are ``(B, S)``, padded with −1, and complex weights ``(B, S)``, zero where the support is padded.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from shapelex.kernels.triangle import Limits

# A bound on the exchanges of one row, far above what shapes need.
_MOST_EXCHANGES = 256


class Problem(NamedTuple):
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
        return bool(self.limits.target >= 0)


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
    return torch.cholesky_solve(right[..., None], factor)[..., 0] * used


def _first_largest(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Largest score of each row and the first place that has it: ties go to the lowest index on every device."""
    largest = scores.amax(dim=-1, keepdim=True)
    places = torch.arange(scores.shape[-1], device=scores.device)
    first = torch.where(scores == largest, places, scores.shape[-1]).amin(dim=-1)
    return largest[..., 0], first


def _score_atoms(corr: Tensor, left: Tensor, independent: float, by_correlation: bool) -> Tensor:
    """Gain ``|corr|² / left`` of every atom (ORMP), or ``|corr|²`` (OMP); 0 for those that the chosen ones span."""
    usable = left > independent
    gains = squares(corr)
    if not by_correlation:
        gains = gains / torch.where(usable, left, 1)
    return torch.where(usable, gains, 0)


def pursue(
    block: Block, problem: Problem, size: int, *, by_correlation: bool = False, candidates: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Supports ``(B, size)`` by ORMP, or by OMP, weights ``(B, 1, size)``, and the squared norms that are left.

    For a path, weights are ``(B, size, size)``. Rows choose of all atoms, or of `candidates` ``(B, K)``, padded
    with −1.
    """
    corr, norms2, gram, limits = block.correlations, block.norms2, problem.gram, problem.limits
    n_rows, n_atoms = corr.shape
    device = corr.device
    left = gram.diagonal().real.expand(n_rows, n_atoms)
    if candidates is not None:
        left = torch.where(densify(candidates, torch.ones_like(candidates, dtype=torch.bool), n_atoms), left, 0)
    basis = torch.zeros((n_rows, size, n_atoms), dtype=corr.dtype, device=device)
    support = torch.full((n_rows, size), -1, dtype=torch.int64, device=device)
    stop = limits.target * norms2
    going = norms2 > stop
    left_norm2 = norms2
    every = torch.arange(n_rows, device=device)
    for level in range(size):
        if problem.has_target and level > 0:
            # Within rounding of the target the true residual decides.
            asked = torch.nonzero(going & (left_norm2 <= stop + limits.unsure * norms2))[:, 0]
            if len(asked):
                part, chosen = block[asked], support[asked, :level]
                errors = squared_errors(part.rows, problem.atoms, chosen, solve_support(part, problem, chosen)[:, -1])
                going[asked[errors <= stop[asked]]] = False
        scores = _score_atoms(corr, left, limits.independent, by_correlation)
        top, best = _first_largest(scores)
        best_corr, best_left = corr[every, best], left[every, best]
        going &= (top > 0) & (squares(best_corr) > limits.gain * norms2 * best_left)
        inv_norm = torch.where(going, best_left, 1).rsqrt() * going
        support[:, level] = torch.where(going, best, -1)
        target = best_corr * inv_norm
        left_norm2 = left_norm2 - squares(target)
        if level == size - 1:
            break
        column = basis[every, :level, best]
        new = gram[best] - torch.einsum("bl,blj->bj", column.conj(), basis[:, :level])
        new = new * inv_norm[:, None]
        basis[:, level] = new
        corr = corr - new.conj() * target[:, None]
        left = left - squares(new)
        left[every, best] = torch.where(going, 0, left[every, best])
    return support, solve_support(block, problem, support), left_norm2


def beam_search(block: Block, problem: Problem, size: int) -> Tensor:
    """Supports ``(B, size)`` of the best members of the beam, padded with −1; a target is not heeded."""
    norms2, gram, limits, width = block.norms2, problem.gram, problem.limits, problem.width
    n_rows, n_atoms = block.correlations.shape
    device = gram.device
    margin = 16 * limits.eps * norms2
    stop_gain = (limits.gain * norms2)[:, None]
    rows = torch.arange(n_rows, device=device)[:, None]
    # Keys of atoms: those of a support add up to its own, whatever the order.
    random_keys = np.random.default_rng(0).integers(-(1 << 63), 1 << 63, n_atoms, dtype=np.int64)
    keys_of_atoms = torch.from_numpy(random_keys).to(device)
    # Members: residual correlations, norms left, chosen basis rows, supports, gains, keys.
    corr = block.correlations[:, None]
    left = gram.diagonal().real.expand(n_rows, 1, n_atoms)
    basis = torch.zeros((n_rows, 1, 0, n_atoms), dtype=corr.dtype, device=device)
    support = torch.full((n_rows, 1, size), -1, dtype=torch.int64, device=device)
    gains = torch.zeros((n_rows, 1), dtype=norms2.dtype, device=device)
    keys = torch.zeros((n_rows, 1), dtype=torch.int64, device=device)
    alive = torch.ones((n_rows, 1), dtype=torch.bool, device=device)
    has_greedy = torch.ones(n_rows, dtype=torch.bool, device=device)  # member 0 is the path of ORMP
    done_gain = -norms2.clone()
    done_support = torch.full((n_rows, size), -1, dtype=torch.int64, device=device)
    for level in range(size):
        scores = _score_atoms(corr, left, limits.independent, by_correlation=False)
        scores = torch.where(alive[:, :, None] & (scores > stop_gain[:, :, None]), scores, -torch.inf)
        top, favorite = _first_largest(scores)
        has_ended = alive & torch.isinf(top)
        for member in range(alive.shape[1]):
            greedy = has_greedy if member == 0 else torch.zeros_like(has_greedy)
            better = has_ended[:, member] & (gains[:, member] > done_gain + torch.where(greedy, -margin, margin))
            done_gain = torch.where(better, gains[:, member], done_gain)
            done_support = torch.where(better[:, None], support[:, member], done_support)
        has_greedy = has_greedy & ~has_ended[:, 0]
        totals = gains[:, :, None] + scores
        if level == size - 1:
            finals, _ = totals.max(dim=2)
            finals[:, 0] = torch.where(has_greedy, finals[:, 0] + margin, finals[:, 0])
            best_gain, best = _first_largest(finals)
            winner = support[rows[:, 0], best]
            winner[:, level] = favorite[rows[:, 0], best]
            keep_done = torch.isinf(best_gain) | (done_gain > best_gain)
            return torch.where(keep_done[:, None], done_support, winner)
        parents, atoms, new_keys, exists = _choose_children(totals, favorite, keys, keys_of_atoms, has_greedy, width)
        old = rows, parents
        chosen_left = left[(*old, atoms)]
        inv_norm = torch.where(exists, chosen_left, 1).rsqrt() * exists
        targets = corr[(*old, atoms)] * inv_norm
        parent_basis = basis[old]
        column = parent_basis.gather(3, atoms[:, :, None, None].expand(-1, -1, level, 1))[..., 0]
        new = (gram[atoms] - torch.einsum("bml,bmlj->bmj", column.conj(), parent_basis)) * inv_norm[:, :, None]
        basis = torch.cat([parent_basis, new[:, :, None]], dim=2)
        gains = gains[old] + squares(targets)
        corr = corr[old] - new.conj() * targets[:, :, None]
        left = (left[old] - squares(new)).scatter(2, atoms[:, :, None], 0)
        support = support[old].clone()
        support[:, :, level] = torch.where(exists, atoms, -1)
        keys, alive = new_keys, exists
    return done_support


def _choose_children(
    totals: Tensor, favorite: Tensor, keys: Tensor, keys_of_atoms: Tensor, has_greedy: Tensor, width: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The next members: ORMP's first, then the best of the rest, each support once."""
    n_rows, n_members, n_atoms = totals.shape
    rows = torch.arange(n_rows, device=totals.device)
    open_totals = totals.reshape(n_rows, -1).clone()
    all_keys = (keys[:, :, None] + keys_of_atoms).reshape(n_rows, -1)
    n_children = min(width, n_members * n_atoms)
    places, exists = [], []
    for child in range(n_children):
        _, place = _first_largest(open_totals)
        if child == 0:
            place = torch.where(has_greedy, favorite[:, 0], place)
        found = torch.isfinite(open_totals[rows, place])
        places.append(place)
        exists.append(found)
        if child < n_children - 1:
            is_same = (all_keys == all_keys[rows, place][:, None]) & found[:, None]
            open_totals = torch.where(is_same, -torch.inf, open_totals)
    chosen = torch.stack(places, dim=1)
    return chosen // n_atoms, chosen % n_atoms, all_keys.gather(1, chosen), torch.stack(exists, dim=1)


def polish(block: Block, problem: Problem, support: Tensor) -> Tensor:
    """Return supports ``(B, S)``, padded with −1, after exchanges of one atom for another.

    All pairs of a chosen and another atom are scored at once, and the best is exchanged while the error falls by more
    than rounding. A gain is known to roundings of the norm of the row, times the root of what is gained before the cost
    is subtracted.
    """
    support = support.clone()
    active = torch.arange(len(support), device=support.device)
    for _ in range(_MOST_EXCHANGES):
        if not len(active):
            break
        part, chosen = block[active], support[active]
        gain, cost, place, atom = _best_exchange(part, problem, chosen)
        improves = gain > 16 * problem.limits.eps * (part.norms2 * (gain + cost).clamp_min(0)).sqrt()
        active = active[improves]
        support[active, place[improves]] = atom[improves].to(support.dtype)
    return support


def _best_exchange(block: Block, problem: Problem, support: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return gain, cost of the drop, place and atom of the best exchange of every row, the first of equal ones.

    With ``M`` the inverse of the Gram matrix of the chosen atoms, ``a = M c_S``, ``B = M G_S.``, ``r = c - G_.S a`` and
    ``left_j = G_jj - G_jS M G_Sj``, dropping the atom at place `p` costs ``|a_p|² / M_pp``. Then ``r_j`` becomes
    ``r_j + conj(B_pj) a_p / M_pp``, ``left_j`` becomes ``left_j + |B_pj|² / M_pp``, and adding atom `j` gains
    ``|r_j|² / left_j``.
    """
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
    is_open &= ~densify(support, torch.ones_like(used), n_atoms)[:, None]
    gains = torch.where(is_open, squares(new_corr) / torch.where(is_open, new_left, 1) - costs[:, :, None], -torch.inf)
    gain, number = _first_largest(gains.flatten(1))
    place = number // n_atoms
    return gain, costs.gather(1, place[:, None])[:, 0], place, number % n_atoms
