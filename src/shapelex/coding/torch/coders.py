"""The torch implementations of the coders; loaded only when a torch device is used.

In come blocks of rows on a device; out go supports ``(B, n_nonzero)`` padded with −1 and weights of the normalized
atoms ``(B, 1, n_nonzero)``, or ``(B, n_nonzero, n_nonzero)`` for a path. The loops are in ``kernels/torch/``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb
from typing import Protocol

import torch
from torch import Tensor

from shapelex.kernels.torch.beam import search
from shapelex.kernels.torch.exact import SUPPORTS_AT_ONCE, best_supports, prepare_supports
from shapelex.kernels.torch.fused import FusedPursuit, fused_pursuit
from shapelex.kernels.torch.fused_exact import FusedExact, fused_exact
from shapelex.kernels.torch.pursuit import pursue
from shapelex.kernels.torch.weights import Block, Problem, refine_path, solve_support, squared_errors


class TorchCoder(Protocol):
    """Codes blocks of rows over the dictionary that it was made for."""

    values_per_row: int
    """Complex numbers of scratch memory per row, beyond rows, correlations and codes; decides the size of blocks."""

    def code(self, block: Block) -> tuple[Tensor, Tensor]:
        """Supports and weights of a block."""


class PursuitCoder:
    """ORMP, or OMP, which chooses atoms by their correlation: one fused kernel where it applies."""

    def __init__(self, problem: Problem, by_correlation: bool) -> None:
        self._problem, self._by_correlation = problem, by_correlation
        self._fused = fused_pursuit(problem, problem.n_nonzero, by_correlation=by_correlation)
        self.values_per_row = 2 * problem.n_nonzero * len(problem.atoms) if self._fused is None else 0

    def code(self, block: Block) -> tuple[Tensor, Tensor]:
        """Supports and weights of a block."""
        if self._fused is None:
            return pursue(block, self._problem, self._problem.n_nonzero, by_correlation=self._by_correlation)
        found = self._fused(block)
        coefs = refine_path(block, self._problem, found.support, found.coefs, found.lowest)
        if self._problem.has_target:
            # Within rounding of the target the true residual decides.
            unsure = torch.nonzero(found.lowest < 0)[:, 0]
            if len(unsure):
                support, weights = pursue(
                    block[unsure], self._problem, self._problem.n_nonzero, by_correlation=self._by_correlation
                )
                found.support[unsure], coefs[unsure] = support.int(), weights
        return found.support, coefs


class BeamCoder:
    """Beam search."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.values_per_row = problem.width * len(problem.atoms) * (2 * problem.n_nonzero + 12)

    def code(self, block: Block) -> tuple[Tensor, Tensor]:
        """Supports and weights of a block."""
        return _code_to_target(block, self._problem, self.code_size)

    def code_size(self, block: Block, size: int) -> tuple[Tensor, Tensor]:
        """Supports of at most `size` atoms, and weights, whatever the target."""
        support = search(block, self._problem, size)
        return support, solve_support(block, self._problem, support)[:, None]


class ExactCoder:
    """The best of all supports: fused kernels where they apply."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._without_target = replace(problem, limits=replace(problem.limits, target=-1.0))
        n_atoms, n_nonzero = len(problem.atoms), problem.n_nonzero
        sizes = range(1, n_nonzero + 1) if problem.has_target else [n_nonzero]
        self._fused = {size: _FusedSearch.of(self._without_target, size) for size in sizes}
        if all(self._fused.values()):
            has_skipped = any(search.has_skipped for search in self._fused.values() if search is not None)
            self.values_per_row = 0
        else:
            self._tables, has_skipped = prepare_supports(problem)
            n_scored = min(comb(n_atoms, n_nonzero), SUPPORTS_AT_ONCE)
            self.values_per_row = 4 * n_scored + 2 * comb(n_atoms, n_nonzero - 1) + n_nonzero * n_atoms
        # Which atoms count as dependent depends on their order. A beam adds them in another order than the enumeration,
        # so it may use supports that the enumeration skipped. With an error target the smallest support that meets it
        # is wanted, and a beam might use more atoms.
        self._beam = BeamCoder(problem) if has_skipped and not problem.has_target else None
        if self._beam is not None:
            self.values_per_row += self._beam.values_per_row

    def code(self, block: Block) -> tuple[Tensor, Tensor]:
        """Supports and weights of a block."""
        return _code_to_target(block, self._problem, self._code_size)

    def _code_size(self, block: Block, size: int) -> tuple[Tensor, Tensor]:
        limits, fused = self._problem.limits, self._fused[size]
        # The support is pursued by itself, so that atoms without use drop out, and the rest comes in order of gain.
        if fused is not None:
            support, coefs, suspects = fused.code(block)
        else:
            best = best_supports(block, self._tables[:size], limits.eps)
            allowed = torch.zeros_like(block.correlations, dtype=torch.bool).scatter_(1, best, True)
            support, coefs = pursue(block, self._without_target, size, allowed=allowed)
            suspects = torch.arange(len(support), device=support.device)
        if len(suspects):
            # Where hardly anything is left, gains tie to rounding: there the support must beat a plain pursuit.
            part = block[suspects]
            errors = squared_errors(part.rows, self._problem.atoms, support[suspects], coefs[suspects, 0])
            unsure = suspects[errors <= limits.unsure * part.norms2]
            part = block[unsure]
            found, pursued = (support[unsure], coefs[unsure]), pursue(part, self._without_target, size)
            support[unsure], coefs[unsure] = self._better(part, found, pursued, 0)
        if self._beam is not None:
            return self._better(block, (support, coefs), self._beam.code_size(block, size), 16 * limits.eps)
        return support, coefs

    def _better(
        self, block: Block, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], margin: float
    ) -> tuple[Tensor, Tensor]:
        """Codes of least squared error; the first where the second are not better by `margin` times the norm."""
        errors, others = (
            squared_errors(block.rows, self._problem.atoms, support, coefs[:, 0]) for support, coefs in (first, second)
        )
        is_better = others <= errors - margin * block.norms2
        support = torch.where(is_better[:, None], second[0], first[0]).to(first[0].dtype)
        return support, torch.where(is_better[:, None, None], second[1], first[1])


@dataclass(frozen=True)
class _FusedSearch:
    """Finds the best supports of one size by one fused kernel, and their weights by another."""

    problem: Problem
    find: FusedExact | None
    pursue: FusedPursuit

    @classmethod
    def of(cls, problem: Problem, size: int) -> "_FusedSearch | None":
        """Return the search in supports of `size` atoms, or None where the kernels do not apply."""
        # The best support of one atom is what a pursuit finds.
        find = fused_exact(problem, size) if size > 1 else None
        if size > 1 and find is None:
            return None
        pursuit = fused_pursuit(problem, size, n_candidates=size if size > 1 else 0)
        return None if pursuit is None else cls(problem, find, pursuit)

    @property
    def has_skipped(self) -> bool:
        """Whether some supports were skipped."""
        return self.find is not None and self.find.has_skipped

    def code(self, block: Block) -> tuple[Tensor, Tensor, Tensor]:
        """Supports, weights, and the rows whose residual may be unsure by rounding."""
        found = self.pursue(block, None if self.find is None else self.find(block))
        coefs = refine_path(block, self.problem, found.support, found.coefs, found.lowest)
        suspects = torch.nonzero(found.left <= 2 * self.problem.limits.unsure)[:, 0]
        return found.support, coefs, suspects


def _code_to_target(
    block: Block, problem: Problem, code_size: Callable[[Block, int], tuple[Tensor, Tensor]]
) -> tuple[Tensor, Tensor]:
    """Code by the smallest supports that reach the error target, or by the largest where there is none."""
    if not problem.has_target:
        return code_size(block, problem.n_nonzero)
    n_rows, n_nonzero = len(block.rows), problem.n_nonzero
    support = torch.full((n_rows, n_nonzero), -1, dtype=torch.int64, device=block.rows.device)
    coefs = block.rows.new_zeros((n_rows, 1, n_nonzero))
    stop = problem.limits.target * block.norms2
    going = torch.nonzero(block.norms2 > stop)[:, 0]
    for size in range(1, n_nonzero + 1):
        if not len(going):
            break
        part = block[going]
        found, weights = code_size(part, size)
        support[going, :size], coefs[going, :, :size] = found, weights
        errors = squared_errors(part.rows, problem.atoms, found, weights[:, 0])
        going = going[errors > stop[going]]
    return support, coefs
