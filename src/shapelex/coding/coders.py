"""The registry of coders: one entry for each, with an implementation for each backend that it supports.

A coder turns the correlations of a block of rows with a dictionary into supports and weights. CONTRIBUTING.md says how
to add one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import BoolArray, FloatArray, IntArray
from shapelex._validation import check_choice
from shapelex.coding.prepared import PreparedAtoms
from shapelex.exceptions import DeviceError, SearchTooLargeError
from shapelex.kernels.beam import beam_batch
from shapelex.kernels.exact import enumerate_batch
from shapelex.kernels.pursuit import pursue_batch
from shapelex.kernels.pursuit_lanes import MAX_ATOMS, pursue_lanes_batch
from shapelex.kernels.triangle import EPS, TARGET

if TYPE_CHECKING:
    from shapelex.coding.torch_coders import TorchCoder
    from shapelex.kernels.weights_torch import Problem

_OUTPUTS = ("support", "coefs", "left", "needs_row")

EXACT_MAX_SUPPORTS = 10_000_000
"""Maximum number of supports, ``comb(n_atoms, n_nonzero)``, of ``"exact"``: about 8 ms per shape and core."""

AUTO_MAX_SUPPORTS = 50_000
"""Maximum number of supports for which ``"auto"`` is ``"exact"``: 40 µs per shape and core, about as long as a beam."""

TOLERANCES = {"f": (1e-5, 1e-10, 1e-3), "d": (1e-8, 1e-24, 1e-3)}
"""``(independent, gain, refine)`` by precision, see :mod:`shapelex.kernels.triangle`.

An atom within 1e-4 (3e-3 in single precision) of the span of the chosen ones counts as dependent, which also bounds the
weights; a gain below 1e-12 (1e-5) of the norm is noise.
"""

UNSURE_ROUNDINGS = 64
"""Sums of gains, and squared residuals that are differences to them, are only known to this many roundings.

A rounding is the machine epsilon times the squared norm of the row. Two squared residuals closer than this, or one
that is itself smaller, are compared by the residuals of the coordinates.
"""

# What selects the other backend, for errors.
_OTHER_DEVICE = {"numba": 'a torch device such as device="cuda"', "torch": 'device="cpu"'}


def make_limits(real_dtype: "np.dtype[Any]", tol: float | None) -> FloatArray:
    """Tolerances of all coders, in the order that :mod:`shapelex.kernels.triangle` names."""
    independent, gain, refine = TOLERANCES[real_dtype.char]
    eps = float(np.finfo(real_dtype).eps)
    target = -1.0 if tol is None else float(tol) ** 2
    return np.array([independent, gain, target, refine, eps, UNSURE_ROUNDINGS * eps], dtype=real_dtype)


@dataclass(frozen=True)
class CoderOptions:
    """What a numba coder is asked for: the width of a beam, and the tolerances of :func:`make_limits`."""

    width: int
    limits: FloatArray


@dataclass(frozen=True)
class KernelBlock:
    """A block of rows, what every numba coder needs of them, and the arrays that it fills.

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


@dataclass(frozen=True)
class Coder:
    """One way to code, and its implementation for each backend, None where there is none.

    Parameters
    ----------
    cost_ns : callable
        Estimated nanoseconds per shape on one core, from ``(n_coordinates, n_atoms, n_nonzero, width)``; it only
        decides how many threads are worth starting.
    is_nested : bool
        Whether the codes of smaller sparsities are the first atoms of larger ones.
    numba : callable, optional
        Codes a block of rows into its preallocated arrays.
    torch : callable, optional
        Prepares a dictionary that is on a torch device; it imports what needs torch when it is called.
    """

    cost_ns: Callable[[int, int, int, int], float]
    is_nested: bool
    numba: Callable[[PreparedAtoms, KernelBlock, CoderOptions], None] | None = None
    torch: "Callable[[Problem], TorchCoder] | None" = None


def choose_coder(method: str, n_atoms: int, n_nonzero: int, width: int, has_target: bool) -> str:
    """Name in ``CODERS``: resolve ``"auto"``, and refuse unknown names and searches that would take too long."""
    check_choice(method, ("auto", *CODERS), "method")
    sizes = range(1, n_nonzero + 1) if has_target else [n_nonzero]
    n_supports = sum(comb(n_atoms, size) for size in sizes)
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


def implementation(name: str, backend: str) -> Any:
    """Implementation of a coder for the backend ``"numba"`` or ``"torch"``; raise DeviceError where there is none."""
    found = getattr(CODERS[name], backend)
    if found is None:
        raise DeviceError(
            f'coder "{name}" has no implementation for the {backend} backend: use {_OTHER_DEVICE[backend]}, '
            'or a coder such as "ormp", which has one for every backend.'
        )
    return found


def _score_workspace(prepared: PreparedAtoms) -> IntArray:
    """Return integers as wide as the floats, one per atom."""
    return np.empty(prepared.width, dtype=np.int32 if prepared.gram.dtype == np.float32 else np.int64)


def _arguments(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions, *own: Any) -> tuple[Any, ...]:
    """Return the arguments of a kernel: what all kernels take, its own, and the arrays that it fills."""
    shared = (block.correlations, block.norms2, prepared.gram, block.rows, prepared.atoms, options.limits)
    return *shared, *own, *block.outputs


def _numba_pursuit(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions, by_correlation: int) -> None:
    if prepared.n_atoms <= MAX_ATOMS:
        pursue_lanes_batch(*_arguments(prepared, block, options, by_correlation))
    else:
        pursue_batch(*_arguments(prepared, block, options, by_correlation, _score_workspace(prepared)))


def _numba_beam(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions) -> None:
    beam_batch(*_arguments(prepared, block, options, options.width, _score_workspace(prepared)))


def _numba_exact(prepared: PreparedAtoms, block: KernelBlock, options: CoderOptions) -> None:
    has_skipped = enumerate_batch(*_arguments(prepared, block, options))
    # With an error target the smallest support that meets it is wanted, and a beam might use more atoms.
    if not has_skipped or options.limits[TARGET] >= 0:
        return
    # Which atoms count as dependent depends on their order. A beam adds them in another order than the enumeration, so
    # it may use supports that the enumeration skipped.
    other = replace(block, **{name: np.zeros_like(getattr(block, name)) for name in _OUTPUTS})
    _numba_beam(prepared, other, options)
    is_better = other.left < block.left - 16 * options.limits[EPS] * block.norms2
    for mine, found in zip(block.outputs, other.outputs, strict=True):
        mine[is_better] = found[is_better]
    block.needs_row[:] |= other.needs_row


def _torch_pursuit(problem: "Problem", by_correlation: bool) -> "TorchCoder":
    from shapelex.coding.torch_coders import PursuitCoder

    return PursuitCoder(problem, by_correlation)


def _torch_beam(problem: "Problem") -> "TorchCoder":
    from shapelex.coding.torch_coders import BeamCoder

    return BeamCoder(problem)


def _torch_exact(problem: "Problem") -> "TorchCoder":
    from shapelex.coding.torch_coders import ExactCoder

    return ExactCoder(problem)


def _cost_pursuit(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    del width
    return 100.0 + n_atoms * (n_coordinates / 5.0 + n_nonzero * (n_nonzero / 6.0 + 2.0))


def _cost_beam(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    return width * _cost_pursuit(n_coordinates, n_atoms, n_nonzero, width)


def _cost_exact(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    return _cost_pursuit(n_coordinates, n_atoms, n_nonzero, width) + 0.8 * comb(n_atoms, n_nonzero)


def _pursuit(by_correlation: bool) -> Coder:
    numba = partial(_numba_pursuit, by_correlation=int(by_correlation))
    torch = partial(_torch_pursuit, by_correlation=by_correlation)
    return Coder(_cost_pursuit, is_nested=True, numba=numba, torch=torch)


CODERS: dict[str, Coder] = {
    "ormp": _pursuit(by_correlation=False),
    "omp": _pursuit(by_correlation=True),
    "beam": Coder(_cost_beam, is_nested=False, numba=_numba_beam, torch=_torch_beam),
    "exact": Coder(_cost_exact, is_nested=False, numba=_numba_exact, torch=_torch_exact),
}
