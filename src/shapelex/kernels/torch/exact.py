"""The best of all supports on any torch device: the twin of :mod:`shapelex.kernels.exact`.

In: a block of rows with their correlations, and a dictionary. Out: for every row, the atoms of the support with the
largest gain. The last orthonormal vector of a support is a fixed combination of its atoms, whatever the row: with these
combinations as the rows of a matrix, the coordinates of all rows along all such vectors are one matrix product, and
the gain of a support is that of the support without its last atom, plus one squared coordinate.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from shapelex.kernels.torch.pursuit import Block, Problem, gather_gram, squares

# Supports of the largest size that are scored in one go: bounds the scratch memory, not the result.
SUPPORTS_AT_ONCE = 16384


class Supports(NamedTuple):
    """All supports of one size, in lexicographic order.

    ``atoms`` has shape (n, size), ``parents`` the place of the support without its last atom among those of
    one atom less, ``directions`` (n, J) the conjugated combination that makes its last orthonormal vector: zero where
    the other atoms span the last.
    """

    atoms: Tensor
    parents: Tensor
    directions: Tensor


def extend_supports(supports: np.ndarray, n_atoms: int) -> tuple[np.ndarray, np.ndarray]:
    """Supports of one more atom, in lexicographic order, and the places of their parents."""
    n_children = n_atoms - 1 - supports[:, -1] if supports.shape[1] else np.array([n_atoms])
    parents = np.repeat(np.arange(len(supports)), n_children)
    first = np.repeat(np.cumsum(n_children) - n_children, n_children)
    added = n_atoms - np.repeat(n_children, n_children) + np.arange(len(parents)) - first
    return np.concatenate([supports[parents], added[:, None]], axis=1), parents


def prepare_supports(problem: Problem) -> tuple[list[Supports], bool]:
    """Tables of all supports up to a size, which serve all rows, and whether some supports were skipped.

    An atom that those before it span is passed over, as if it were not in the support.
    """
    gram, independent = problem.gram, problem.limits.independent
    device, n_atoms = gram.device, len(gram)
    precise = gram.to(torch.complex128)
    has_skipped = False
    found = np.empty((1, 0), dtype=np.int64)
    used = torch.empty((1, 0), dtype=torch.bool, device=device)
    tables = []
    for n_chosen in range(1, problem.n_nonzero + 1):
        found, parent_places = extend_supports(found, n_atoms)
        atoms, parents = torch.from_numpy(found).to(device), torch.from_numpy(parent_places).to(device)
        used = torch.cat([used[parents], torch.ones((len(atoms), 1), dtype=torch.bool, device=device)], dim=1)
        factor, failed = torch.linalg.cholesky_ex(gather_gram(precise, torch.where(used, atoms, -1)))
        used[:, -1] = (failed == 0) & (factor[:, -1, -1].real.square() > independent)
        is_atom = gram.diagonal().real[atoms[:, -1]] > independent
        has_skipped |= bool((is_atom & ~used[:, -1]).any())
        identity = torch.eye(n_chosen, dtype=factor.dtype, device=device)
        factor = torch.where(used[:, -1, None, None], factor, identity)
        # Last row of the inverse factor: q^H x = Σ_i last_i (d_i^H x).
        last = torch.linalg.solve_triangular(factor.mH, identity[:, -1:].expand(len(atoms), -1, -1), upper=True)
        weights = torch.where(used & used[:, -1:], last[..., 0].conj(), 0)
        directions = torch.zeros((len(atoms), n_atoms), dtype=factor.dtype, device=device)
        directions.scatter_(1, atoms, weights)
        tables.append(Supports(atoms, parents, directions.to(gram.dtype)))
    return tables, has_skipped


def best_supports(block: Block, tables: list[Supports], eps: float) -> Tensor:
    """Support of the largest gain of every row, the first of those that are equal to rounding."""
    correlations, norms2 = block.correlations, block.norms2
    n_rows = len(correlations)
    gains = torch.zeros((n_rows, 1), dtype=norms2.dtype, device=norms2.device)
    margin = 16 * eps * norms2
    for table in tables[:-1]:
        gains = gains[:, table.parents] + squares(correlations @ table.directions.T)
    last = tables[-1]
    best_gain = torch.full((n_rows,), -torch.inf, dtype=norms2.dtype, device=norms2.device)
    best = torch.zeros(n_rows, dtype=torch.int64, device=norms2.device)
    for start in range(0, len(last.atoms), SUPPORTS_AT_ONCE):
        part = slice(start, start + SUPPORTS_AT_ONCE)
        found = gains[:, last.parents[part]] + squares(correlations @ last.directions[part].T)
        top = found.amax(dim=1)
        places = torch.arange(found.shape[1], device=found.device)
        first = torch.where(found >= (top - margin)[:, None], places, found.shape[1]).amin(dim=1)
        better = top > best_gain + margin
        best = torch.where(better, first + start, best)
        best_gain = torch.where(better, top, best_gain)
    return last.atoms[best]
