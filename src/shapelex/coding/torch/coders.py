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
from shapelex.kernels.torch.fused import EXCHANGES_AT_ONCE, FusedPursuit, fused_polish, fused_pursuit
from shapelex.kernels.torch.fused_exact import FusedExact, fused_exact
from shapelex.kernels.torch.polish import MOST_EXCHANGES, polish
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
        self._polish = _Polish.of(problem)
        self.values_per_row = 2 * problem.n_nonzero * len(problem.atoms) if self._fused is None else 0
        if self._polish is not None:
            self.values_per_row += self._polish.values_per_row

    def code(self, block: Block) -> tuple[Tensor, Tensor]:
        """Supports and weights of a block."""
        if self._polish is not None:
            if self._polish.is_fused and not self._by_correlation:
                return self._polish.pursue(block)
            return self._polish.improve(block, *self._pursue(block))
        return self._pursue(block)

    def _pursue(self, block: Block) -> tuple[Tensor, Tensor]:
        size = self._problem.n_nonzero
        if self._fused is None:
            return pursue(block, self._problem, size, by_correlation=self._by_correlation)
        found = self._fused(block)
        coefs = refine_path(block, self._problem, found.support, found.coefs, found.lowest)
        if self._problem.has_target:
            # Within rounding of the target the true residual decides.
            unsure = torch.nonzero(found.lowest < 0)[:, 0]
            if len(unsure):
                support, weights = pursue(block[unsure], self._problem, size, by_correlation=self._by_correlation)
                found.support[unsure], coefs[unsure] = support.int(), weights
        return found.support, coefs


class BeamCoder:
    """Beam search."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._polish = _Polish.of(problem)
        self.values_per_row = problem.width * len(problem.atoms) * (2 * problem.n_nonzero + 12)
        if self._polish is not None:
            self.values_per_row += self._polish.values_per_row

    def code(self, block: Block) -> tuple[Tensor, Tensor]:
        """Supports and weights of a block."""
        support, coefs = _code_to_target(block, self._problem, self.code_size)
        return (support, coefs) if self._polish is None else self._polish.improve(block, support, coefs)

    def code_size(self, block: Block, size: int) -> tuple[Tensor, Tensor]:
        """Supports of at most `size` atoms, and weights, whatever the target."""
        support = search(block, self._problem, size)
        return support, solve_support(block, self._problem, support)[:, None]


class _Polish:
    """Improves supports by exchanges of atoms: fused kernels where they apply."""

    @classmethod
    def of(cls, problem: Problem) -> "_Polish | None":
        """Return what polishes supports over a dictionary, or None where they are not polished."""
        return cls(problem) if problem.polishes and not problem.path and not problem.has_target else None

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._from_given, self._from_ormp = fused_polish(problem, is_given=True), fused_polish(problem)
        self._among = fused_pursuit(problem, problem.n_nonzero, n_candidates=problem.n_nonzero)
        self.is_fused = not (self._from_given is None or self._from_ormp is None or self._among is None)
        self.values_per_row = 0 if self.is_fused else 20 * problem.n_nonzero * len(problem.atoms)

    def pursue(self, block: Block) -> tuple[Tensor, Tensor]:
        """Supports of ORMP after exchanges, and their weights, by fused kernels."""
        assert self._from_ormp is not None
        assert self._among is not None
        found = self._from_ormp(block)
        support = self._continue(block, found.support, found.n_exchanges)
        codes = self._among(block, support)
        # What many rank-one updates promise may be lost to rounding.
        is_broken = (found.n_exchanges > 0) & ~(codes.left <= found.left + 16 * self._problem.limits.eps)
        if bool(is_broken.any()):
            broken = torch.nonzero(is_broken)[:, 0]
            again = self._among(block[broken], found.first[broken])
            for mine, theirs in zip(codes, again, strict=True):
                mine[broken] = theirs
        return codes.support, refine_path(block, self._problem, codes.support, codes.coefs, codes.lowest)

    def improve(self, block: Block, support: Tensor, coefs: Tensor) -> tuple[Tensor, Tensor]:
        """Codes that exchanges of atoms improve, and the given ones where they do not."""
        if self._from_given is not None:
            found = self._from_given(block, support)
            polished = self._continue(block, found.support, found.n_exchanges)
        else:
            polished = polish(block, self._problem, support)
        changed = torch.nonzero((polished != support).any(dim=1))[:, 0]
        if not len(changed):
            return support, coefs
        part, chosen = block[changed], polished[changed]
        if self._among is not None:
            codes = self._among(part, chosen.int())
            found_codes = codes.support, refine_path(part, self._problem, codes.support, codes.coefs, codes.lowest)
        else:
            allowed = torch.zeros_like(part.correlations, dtype=torch.bool)
            # Padding marks the first atom, which is then taken back unless the support has it.
            allowed.scatter_(1, chosen.clamp_min(0).long(), True)
            allowed[:, 0] = (chosen == 0).any(dim=1)
            found_codes = pursue(part, self._problem, self._problem.n_nonzero, allowed=allowed)
        given = support[changed], coefs[changed]
        support[changed], coefs[changed] = better_codes(part, self._problem, given, found_codes, 0)
        return support, coefs

    def _continue(self, block: Block, support: Tensor, n_exchanges: Tensor) -> Tensor:
        """Go on with rows that reached the maximum number of exchanges of one launch."""
        assert self._from_given is not None
        going = torch.nonzero(n_exchanges == EXCHANGES_AT_ONCE)[:, 0]
        for _ in range(MOST_EXCHANGES // EXCHANGES_AT_ONCE):
            if not len(going):
                break
            found = self._from_given(block[going], support[going])
            support[going] = found.support
            going = going[found.n_exchanges == EXCHANGES_AT_ONCE]
        return support


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
            suspects = suspects[errors <= limits.unsure * part.norms2]
        if len(suspects):
            part = block[suspects]
            found, pursued = (support[suspects], coefs[suspects]), pursue(part, self._without_target, size)
            support[suspects], coefs[suspects] = better_codes(part, self._problem, found, pursued, 0)
        if self._beam is not None:
            found = self._beam.code_size(block, size)
            return better_codes(block, self._problem, (support, coefs), found, 16 * limits.eps)
        return support, coefs


def better_codes(
    block: Block, problem: Problem, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], margin: float
) -> tuple[Tensor, Tensor]:
    """Codes of least squared error; the first where the second are not better by `margin` times the norm."""
    errors, others = (
        squared_errors(block.rows, problem.atoms, support, coefs[:, 0]) for support, coefs in (first, second)
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
        support[going, :size], coefs[going, :, :size] = found.to(support.dtype), weights
        errors = squared_errors(part.rows, problem.atoms, found, weights[:, 0])
        going = going[errors > stop[going]]
    return support, coefs
