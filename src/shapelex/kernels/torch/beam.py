"""Beam search on any torch device: the twin of :mod:`shapelex.kernels.beam`.

In: a block of rows with their correlations, and a dictionary. Out: for every row the best support that a beam finds.
The path of ORMP is always a member; the others are the best supports that one more atom gives, each once.
"""

import torch
from torch import Tensor

from shapelex.kernels.torch.pursuit import first_largest, score_atoms
from shapelex.kernels.torch.weights import Block, Problem, squares

_MULTIPLIERS = (-0x61C8864680B583EB, -0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15)


def atom_keys(n_atoms: int, device: torch.device) -> Tensor:
    """Well mixed 64-bit keys of atoms; the keys of a support add up to its own, whatever the order."""
    keys = torch.arange(1, n_atoms + 1, dtype=torch.int64, device=device) * _MULTIPLIERS[0]
    for shift, multiplier in zip((30, 27), _MULTIPLIERS[1:], strict=True):
        keys = (keys ^ ((keys >> shift) & ((1 << (64 - shift)) - 1))) * multiplier
    return keys ^ ((keys >> 31) & ((1 << 33) - 1))


def search(block: Block, problem: Problem, size: int) -> Tensor:
    """Supports ``(B, size)`` of the best members of the beam, padded with −1; a target is not heeded."""
    norms2, gram, limits, width = block.norms2, problem.gram, problem.limits, problem.width
    n_rows, n_atoms = block.correlations.shape
    device = gram.device
    margin = 16 * limits.eps * norms2
    stop_gain = (limits.gain * norms2)[:, None]
    rows = torch.arange(n_rows, device=device)[:, None]
    keys_of_atoms = atom_keys(n_atoms, device)
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
        scores = score_atoms(corr, left, limits.independent, by_correlation=False)
        scores = torch.where(alive[:, :, None] & (scores > stop_gain[:, :, None]), scores, -torch.inf)
        top, favorite = first_largest(scores)
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
            best_gain, best = first_largest(finals)
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
        _, place = first_largest(open_totals)
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
