"""The registry of coders: one entry each, one dispatcher.

A coder turns the correlations of a block of rows with a prepared dictionary into supports and weights. To add one,
write its kernel, a function with the arguments of :func:`_code_beam`, and an entry in ``CODERS``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np

from shapelex._typing import BoolArray, FloatArray, IntArray
from shapelex._validation import check_choice
from shapelex.coding.prepared import PreparedAtoms
from shapelex.exceptions import SearchTooLargeError
from shapelex.kernels.beam import beam_batch
from shapelex.kernels.exact import enumerate_batch
from shapelex.kernels.pursuit import pursue_batch
from shapelex.kernels.pursuit_lanes import MAX_ATOMS, pursue_lanes_batch
from shapelex.kernels.triangle import EPS, TARGET

_OUTPUTS = ("support", "coefs", "left", "needs_row")

EXACT_MAX_SUPPORTS = 10_000_000
"""Most supports, ``comb(n_atoms, n_nonzero)``, that ``"exact"`` will search: about 8 ms a shape and core."""

AUTO_MAX_SUPPORTS = 50_000
"""Most supports for which ``"auto"`` means ``"exact"``: at most 40 µs a shape and core, about the price of a beam."""


@dataclass(frozen=True)
class CoderOptions:
    """What a coder is asked for.

    Parameters
    ----------
    width : int
        Width of a beam.
    limits : ndarray of float, shape (5,)
        Tolerances, in the order that :mod:`shapelex.kernels.triangle` names.
    """

    width: int
    limits: FloatArray


@dataclass(frozen=True)
class KernelBlock:
    """A block of rows, what every coder needs of them, and the arrays that it fills.

    Parameters
    ----------
    correlations : ndarray of float, shape (n_rows, 2 * n_atoms)
        With the atoms, real and imaginary parts interleaved.
    norms2 : ndarray of float, shape (n_rows,)
        Squared norms of the rows.
    rows : ndarray of float, shape (n_rows, 2 * n_coordinates)
        The rows, real and imaginary parts interleaved; of length 0 where only correlations are at hand.
    support, coefs : ndarray
        Filled with atoms and weights.
    left : ndarray of float, shape (n_rows,)
        Filled with the squared norms of the residuals.
    needs_row : ndarray of bool, shape (n_rows,)
        Set where a row must be coded again with its coordinates.
    """

    correlations: FloatArray
    norms2: FloatArray
    rows: FloatArray
    support: IntArray
    coefs: FloatArray
    left: FloatArray
    needs_row: BoolArray

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The arrays that a coder fills, in the order of the kernels."""
        return self.support, self.coefs, self.left, self.needs_row


CodeBlock = Callable[[PreparedAtoms, KernelBlock, CoderOptions], None]


@dataclass(frozen=True)
class Coder:
    """One way to code.

    Parameters
    ----------
    code_block : callable
        Codes a block of rows into its preallocated arrays.
    cost_ns : callable
        Estimated nanoseconds a shape, from ``(n_coordinates, n_atoms, n_nonzero, width)``; it only
        decides how many threads are worth starting.
    is_nested : bool
        Whether the codes of smaller sparsities are the first atoms of larger ones.
    """

    code_block: CodeBlock
    cost_ns: Callable[[int, int, int, int], float]
    is_nested: bool


def choose_coder(method: str, n_atoms: int, n_nonzero: int, width: int, has_target: bool) -> str:
    """Resolve ``"auto"``, and refuse what cannot be done.

    Parameters
    ----------
    method : str
        A name in ``CODERS``, or ``"auto"``.
    n_atoms, n_nonzero, width : int
        The size of the problem.
    has_target : bool
        Whether an error target is given: then all smaller supports are searched as well.

    Returns
    -------
    str
        A name in ``CODERS``.

    Raises
    ------
    ValueError
        If no coder has this name.
    SearchTooLargeError
        If ``"exact"`` would visit more than ``EXACT_MAX_SUPPORTS`` supports.
    """
    check_choice(method, ("auto", *CODERS), "method")
    n_supports = count_supports(n_atoms, n_nonzero, has_target)
    if method == "auto":
        return "exact" if n_supports <= AUTO_MAX_SUPPORTS else "beam"
    if method == "exact" and n_supports > EXACT_MAX_SUPPORTS:
        what = (
            f"the supports of up to {n_nonzero} of {n_atoms} atoms are {n_supports}"
            if has_target
            else f"comb(n_atoms={n_atoms}, n_nonzero={n_nonzero}) = {n_supports} supports"
        )
        raise SearchTooLargeError(
            f'method="exact" searches at most {EXACT_MAX_SUPPORTS} supports, but {what}: use method="beam", fewer '
            "atoms or a smaller n_nonzero."
        )
    return "ormp" if method == "beam" and width == 1 else method


def count_supports(n_atoms: int, n_nonzero: int, has_target: bool) -> int:
    """Supports that an exact search visits.

    Parameters
    ----------
    n_atoms, n_nonzero : int
        The size of the problem.
    has_target : bool
        Whether supports of fewer atoms are searched as well.

    Returns
    -------
    int
        ``comb(n_atoms, n_nonzero)``, or the sum of it over smaller sparsities.
    """
    if has_target:
        return sum(comb(n_atoms, size) for size in range(1, n_nonzero + 1))
    return comb(n_atoms, n_nonzero)


def _score_workspace(prepared: PreparedAtoms) -> IntArray:
    """Return integers as wide as the floats, one per atom."""
    return np.empty(prepared.width, dtype=np.int32 if prepared.gram.dtype == np.float32 else np.int64)


def _arguments(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions, *own: Any) -> tuple[Any, ...]:
    """Return the arguments of a kernel: what all kernels take, its own, and the arrays that it fills."""
    shared = (block.correlations, block.norms2, prepared.gram, block.rows, prepared.atoms, options.limits)
    return *shared, *own, *block.outputs


def _code_pursuit(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions, by_correlation: int) -> None:
    if prepared.n_atoms <= MAX_ATOMS:
        pursue_lanes_batch(*_arguments(prepared, block, options, by_correlation))
    else:
        pursue_batch(*_arguments(prepared, block, options, by_correlation, _score_workspace(prepared)))


def _code_ormp(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions) -> None:
    _code_pursuit(prepared, block, options, by_correlation=0)


def _code_omp(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions) -> None:
    _code_pursuit(prepared, block, options, by_correlation=1)


def _code_beam(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions) -> None:
    beam_batch(*_arguments(prepared, block, options, options.width, _score_workspace(prepared)))


def _code_exact(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions) -> None:
    has_skipped = enumerate_batch(*_arguments(prepared, block, options))
    # With an error target the smallest support that meets it is wanted, and a beam might use more atoms.
    if not has_skipped or options.limits[TARGET] >= 0:
        return
    # Which atoms count as dependent depends on their order. A beam adds them in another order than the enumeration, so
    # it may use supports that the enumeration skipped.
    other = replace(block, **{name: np.zeros_like(getattr(block, name)) for name in _OUTPUTS})
    _code_beam(prepared, other, options)
    is_better = other.left < block.left - 16 * options.limits[EPS] * block.norms2
    for mine, found in zip(block.outputs, other.outputs, strict=True):
        mine[is_better] = found[is_better]
    block.needs_row[:] |= other.needs_row


def _cost_pursuit(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    del width
    return 100.0 + n_atoms * (n_coordinates / 5.0 + n_nonzero * (n_nonzero / 6.0 + 2.0))


def _cost_beam(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    return width * _cost_pursuit(n_coordinates, n_atoms, n_nonzero, width)


def _cost_exact(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    return _cost_pursuit(n_coordinates, n_atoms, n_nonzero, width) + 0.8 * comb(n_atoms, n_nonzero)


CODERS: dict[str, Coder] = {
    "ormp": Coder(_code_ormp, _cost_pursuit, is_nested=True),
    "omp": Coder(_code_omp, _cost_pursuit, is_nested=True),
    "beam": Coder(_code_beam, _cost_beam, is_nested=False),
    "exact": Coder(_code_exact, _cost_exact, is_nested=False),
}
