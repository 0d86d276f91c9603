"""The best of all supports on NVIDIA GPUs: prepares the tree of supports that ``exact.cu`` walks, and launches it.

In and out as in :mod:`shapelex.kernels.torch.exact`, which does the same wherever this kernel does not apply.
"""

from functools import lru_cache
from math import comb

import numpy as np
import torch
from torch import Tensor

from shapelex.kernels.torch.exact import extend_supports
from shapelex.kernels.torch.fused import MOST_STATIC_BYTES, Kernel, compile_kernel
from shapelex.kernels.torch.weights import Block, Problem, squares

# Memory of the tree while it is prepared; the tree of all supports that "auto" searches takes a hundredth.
_MOST_TREE_BYTES = 1 << 31


class FusedExact:
    """Finds the best supports of `size` atoms, two or more, by the kernel of ``exact.cu``."""

    def __init__(self, problem: Problem, kernel: Kernel, size: int) -> None:
        self._kernel, self._size, self._eps = kernel, size, problem.limits.eps
        self._entries, self._starts, self.has_skipped = prepare_tree(problem, size)

    def __call__(self, block: Block) -> Tensor:
        """Supports ``(B, size)`` of int32, in increasing order."""
        n_rows, real = len(block.rows), np.dtype(f"f{self._entries.element_size()}").type
        support = torch.empty((n_rows, self._size), dtype=torch.int32, device=block.rows.device)
        if n_rows:
            inputs = block.rows, block.correlations, self._entries, self._starts, real(self._eps)
            self._kernel(-(-n_rows // self._kernel.n_threads), *inputs, n_rows, support)
        return support


def fused_exact(problem: Problem, size: int) -> FusedExact | None:
    """Return a function that finds the best supports of `size` atoms; None where there is no kernel for them."""
    n_atoms, n_coordinates = problem.atoms.shape
    n_bytes = torch.finfo(problem.gram.real.dtype).bits // 8
    n_rows = next((n for n in (128, 64, 32) if 2 * n_bytes * n_atoms * n < MOST_STATIC_BYTES), 0)
    n_tree = comb(n_atoms - 1, size - 1) * n_atoms * (size + 4) * 16
    if problem.gram.device.type != "cuda" or size < 2 or not n_rows or n_tree > _MOST_TREE_BYTES:
        return None
    defines = {
        "REAL": "float" if n_bytes == 4 else "double",
        "N_ATOMS": n_atoms,
        "N_NONZERO": size,
        "N_COORDINATES": n_coordinates,
        "THREADS": 1,
        "ROWS": n_rows,
        "CORR_STRIDE": n_atoms,
    }
    kernel = compile_kernel("enumerate", "exact.cu", defines, problem.gram.device)
    return None if kernel is None else FusedExact(problem, kernel, size)


def prepare_tree(problem: Problem, size: int) -> tuple[Tensor, Tensor, bool]:
    """Entries ``(n, 4)`` of all nodes in the order of ``exact.cu``, the first of each size, and if atoms are skipped.

    An entry has the parts of ``q^H d_j``, and the inverse norm, and its square, of what a node leaves of atom `j`.
    """
    gram, independent = problem.gram.to(torch.complex128), problem.limits.independent
    norms2 = gram.diagonal().real
    left, basis = norms2[None], gram.new_zeros((1, 0, len(gram)))
    own = torch.zeros_like(gram[:1])
    entries, starts, n_before = [], [], 0
    has_skipped = torch.zeros((), dtype=torch.bool, device=gram.device)
    for parents, last, is_later in _nodes(len(gram), size, gram.device):
        if parents is not None:
            chosen = left[parents, last]
            inv_norm = torch.where(chosen > independent, chosen.rsqrt(), 0)
            basis, left = basis[parents], left[parents]
            column = basis.gather(2, last[:, None, None].expand(-1, basis.shape[1], 1))[..., 0]
            own = (gram[last] - torch.einsum("nl,nlj->nj", column.conj(), basis)) * inv_norm[:, None]
            left = left - squares(own)
            basis = torch.cat([basis, own[:, None]], dim=1)
        usable = left > independent
        inverse = torch.where(usable, left.clamp_min(independent).rsqrt(), 0)
        has_skipped |= (is_later & ~usable & (norms2 > independent)).any()
        parts = torch.stack([own.real, own.imag, inverse, inverse.square()], dim=2)[is_later]
        entries.append(parts.to(problem.gram.real.dtype))
        starts.append(n_before)
        n_before += len(parts)
    return torch.cat(entries), torch.tensor(starts, device=gram.device), bool(has_skipped)


@lru_cache(maxsize=8)
def _nodes(n_atoms: int, size: int, device: torch.device) -> list[tuple[Tensor | None, Tensor, Tensor]]:
    """Nodes of 0 to ``size - 1`` atoms: places of their parents, last atoms, and which atoms come later.

    Only nodes that begin a support of `size` atoms are among them.
    """
    places = np.arange(n_atoms)
    nodes: list[tuple[Tensor | None, Tensor, Tensor]] = []
    supports = np.empty((1, 0), dtype=np.int64)
    later = np.ones((1, n_atoms), dtype=bool)
    nodes.append((None, torch.empty(0, dtype=torch.int64, device=device), torch.from_numpy(later).to(device)))
    for n_chosen in range(1, size):
        supports, parents = extend_supports(supports, n_atoms)
        begins = supports[:, -1] <= n_atoms - 1 - (size - n_chosen)
        supports, parents = supports[begins], parents[begins]
        later = places > supports[:, -1:]
        places_of, last, is_later = (
            torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in (parents, supports[:, -1], later)
        )
        nodes.append((places_of, last, is_later))
    return nodes
