"""The torch implementations of the coders; loaded only when a torch device is used.

Supports are ``(B, n_nonzero)`` padded with −1, and weights those of the normalized atoms ``(B, 1, n_nonzero)``, or
``(B, n_nonzero, n_nonzero)`` for a path. Rows have norm 1.
"""

from collections.abc import Callable
from functools import partial
from math import comb

import torch
from torch import Tensor

from shapelex.kernels.torch import pursuit
from shapelex.kernels.torch.exact import SUPPORTS_AT_ONCE, best_supports, prepare_supports
from shapelex.kernels.torch.fused import fused_exact, fused_polish, fused_pursuit
from shapelex.kernels.torch.pursuit import Block, Problem, squared_errors


class _Pursuit:
    """Pursuits of `size` atoms, of all or of those of given supports: one fused kernel where it applies."""

    def __init__(
        self, problem: Problem, size: int, *, by_correlation: bool = False, is_among_supports: bool = False
    ) -> None:
        self._problem = problem
        self._pursue = partial(pursuit.pursue, problem=problem, size=size, by_correlation=by_correlation)
        n_candidates = size if is_among_supports else 0
        self._fused = fused_pursuit(problem, size, by_correlation=by_correlation, n_candidates=n_candidates)
        self.values_per_row = 2 * size * len(problem.atoms) if self._fused is None else 0

    def __call__(self, block: Block, candidates: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return supports, weights, and the squared norms that are left, to rounding."""
        if self._fused is None:
            return self._pursue(block, candidates=candidates)
        support, coefs, lowest, left = self._fused(block, None if candidates is None else candidates.int())
        coefs = pursuit.refine_weights(block, self._problem, support, coefs, lowest)
        if self._problem.has_target:
            # Within rounding of the target the true residual decides.
            unsure = torch.nonzero(lowest < 0)[:, 0]
            if len(unsure):
                found, weights, _ = self._pursue(block[unsure])
                support[unsure], coefs[unsure] = found.int(), weights
        return support, coefs, left


class SearchCoder:
    """``"ormp"``, ``"omp"`` or ``"beam"``, and exchanges of atoms where asked for, by fused kernels if possible."""

    def __init__(self, problem: Problem, method: str) -> None:
        self._problem, self._method = problem, method
        self._search: Callable[[Block], tuple[Tensor, ...]]
        if method == "beam":
            code_size = partial(_code_by_beam, problem=problem)
            self._search = partial(_code_to_target, problem=problem, code_size=code_size)
            self.values_per_row = _beam_values(problem)
        else:
            pursue = _Pursuit(problem, problem.n_nonzero, by_correlation=method == "omp")
            self._search, self.values_per_row = pursue, pursue.values_per_row
        if problem.polishes:
            self._fused_polish = fused_polish(problem)
            self._pursue_among = _Pursuit(problem, problem.n_nonzero, is_among_supports=True)
            if self._fused_polish is None:
                self.values_per_row += 20 * problem.n_nonzero * len(problem.atoms)

    def code(self, block: Block) -> tuple[Tensor, Tensor]:
        """Return supports and weights of a block."""
        if self._problem.polishes and self._fused_polish is not None and self._method == "ormp":
            first, polished, first_left, n_exchanges = self._fused_polish(block, None)
            support, coefs, left = self._pursue_among(block, polished)
            # What many rank-one updates promise may be lost to rounding.
            is_broken = (n_exchanges > 0) & ~(left <= first_left + 16 * self._problem.limits.eps)
            if bool(is_broken.any()):
                broken = torch.nonzero(is_broken)[:, 0]
                support[broken], coefs[broken], _ = self._pursue_among(block[broken], first[broken])
            return support, coefs
        support, coefs, *_ = self._search(block)
        return self._improve(block, support, coefs) if self._problem.polishes else (support, coefs)

    def _improve(self, block: Block, support: Tensor, coefs: Tensor) -> tuple[Tensor, Tensor]:
        """Return codes that exchanges of atoms improve, and the given ones where they do not."""
        fused = self._fused_polish
        polished = pursuit.polish(block, self._problem, support) if fused is None else fused(block, support)[1]
        changed = torch.nonzero((polished != support).any(dim=1))[:, 0]
        if len(changed):
            part = block[changed]
            found, weights, _ = self._pursue_among(part, polished[changed])
            given = support[changed], coefs[changed]
            support[changed], coefs[changed] = _better_codes(part, self._problem, given, (found, weights), 0)
        return support, coefs


def _code_by_beam(block: Block, size: int, problem: Problem) -> tuple[Tensor, Tensor]:
    """Return supports of at most `size` atoms, and weights, whatever the target."""
    support = pursuit.beam_search(block, problem, size)
    return support, pursuit.solve_support(block, problem, support)


def _beam_values(problem: Problem) -> int:
    """Complex numbers of scratch memory per row of a beam."""
    return problem.width * len(problem.atoms) * (2 * problem.n_nonzero + 12)


class ExactCoder:
    """The best of all supports: fused kernels where they apply."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._without_target = problem._replace(limits=problem.limits._replace(target=-1.0))
        n_atoms, n_nonzero = len(problem.atoms), problem.n_nonzero
        sizes = range(1, n_nonzero + 1) if problem.has_target else [n_nonzero]
        # The best support of one atom is what a pursuit finds.
        fused = {size: fused_exact(self._without_target, size) for size in sizes if size > 1}
        self._find: dict[int, Callable[[Block], Tensor]]
        if all(fused.values()):
            self._find = {size: found[0] for size, found in fused.items() if found is not None}
            has_skipped = any(found[1] for found in fused.values() if found is not None)
            self.values_per_row = 0
        else:
            tables, has_skipped = prepare_supports(problem)
            self._find = {size: partial(best_supports, tables=tables[:size], eps=problem.limits.eps) for size in sizes}
            n_scored = min(comb(n_atoms, n_nonzero), SUPPORTS_AT_ONCE)
            self.values_per_row = 4 * n_scored + 2 * comb(n_atoms, n_nonzero - 1) + n_nonzero * n_atoms
        self._pursue = {
            size: _Pursuit(self._without_target, size, is_among_supports=size in self._find) for size in sizes
        }
        # Which atoms count as dependent depends on their order. A beam adds them in another order than the enumeration,
        # so it may use supports that the enumeration skipped. With an error target the smallest support that meets it
        # is wanted, and a beam might use more atoms.
        self._has_beam = has_skipped and not problem.has_target
        if self._has_beam:
            self.values_per_row += _beam_values(problem)

    def code(self, block: Block) -> tuple[Tensor, Tensor]:
        """Return supports and weights of a block."""
        return _code_to_target(block, self._problem, self._code_size)

    def _code_size(self, block: Block, size: int) -> tuple[Tensor, Tensor]:
        limits, find = self._problem.limits, self._find.get(size)
        # The support is pursued by itself, so that atoms without use drop out, and the rest comes in order of gain.
        support, coefs, left = self._pursue[size](block, None if find is None else find(block))
        suspects = torch.nonzero(left <= 2 * limits.unsure)[:, 0]
        if len(suspects):
            # Where hardly anything is left, gains tie to rounding: there the support must beat a plain pursuit.
            part = block[suspects]
            errors = squared_errors(part.rows, self._problem.atoms, support[suspects], coefs[suspects, 0])
            suspects = suspects[errors <= limits.unsure * part.norms2]
        if len(suspects):
            part, found = block[suspects], (support[suspects], coefs[suspects])
            pursued, weights, _ = pursuit.pursue(part, self._without_target, size)
            support[suspects], coefs[suspects] = _better_codes(part, self._problem, found, (pursued, weights), 0)
        if self._has_beam:
            found = _code_by_beam(block, size, self._problem)
            return _better_codes(block, self._problem, (support, coefs), found, 16 * limits.eps)
        return support, coefs


def _better_codes(
    block: Block, problem: Problem, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], margin: float
) -> tuple[Tensor, Tensor]:
    """Return codes of least squared error; the first where the second are not better by `margin` times the norm."""
    errors, others = (
        squared_errors(block.rows, problem.atoms, support, coefs[:, 0]) for support, coefs in (first, second)
    )
    is_better = others <= errors - margin * block.norms2
    support = torch.where(is_better[:, None], second[0], first[0]).to(first[0].dtype)
    return support, torch.where(is_better[:, None, None], second[1], first[1])


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
