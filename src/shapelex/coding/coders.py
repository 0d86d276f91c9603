"""The registry of coders: one entry for each, with an implementation for each backend that it supports.

A coder turns the correlations of a block of rows with a dictionary into supports and weights. CONTRIBUTING.md says how
to add one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import BoolArray, FloatArray, IntArray
from shapelex._validation import check_choice
from shapelex.exceptions import DeviceError, SearchTooLargeError
from shapelex.kernels.beam import beam_batch
from shapelex.kernels.bounded import bound_batch
from shapelex.kernels.exact import enumerate_batch
from shapelex.kernels.polish import polish_batch
from shapelex.kernels.pursuit import pursue_batch
from shapelex.kernels.pursuit_lanes import MAX_ENTRIES, pursue_lanes_batch
from shapelex.kernels.triangle import EPS, TARGET

if TYPE_CHECKING:
    from shapelex.coding.torch.coders import TorchCoder
    from shapelex.kernels.torch.weights import Problem

EXACT_MAX_SUPPORTS = 10_000_000
"""Maximum number of supports, ``comb(n_atoms, n_nonzero)``, of ``"exact"``: about 8 ms per shape and core."""

AUTO_MAX_SUPPORTS = 50_000
"""Maximum number of supports for which ``"auto"`` is ``"exact"``: 40 µs per shape and core, about as long as a beam."""

AUTO_MAX_BOUNDED_SUPPORTS = 1_000
"""Maximum number of supports that ``"auto"`` searches for bounded weights, whose solution takes microseconds each."""

BEAM_WIDTH = 16
"""Default width of ``"beam"``."""

AUTO_WIDTH = 8
"""Width of the beam of ``"auto"``, whose supports are polished: on average the error of 16 without, in less time."""

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
_OTHER_DEVICE = {"numba": f"a torch device such as {parameter('device', 'cuda')}", "torch": parameter("device", "cpu")}


def make_limits(real_dtype: "np.dtype[Any]", tol: float | None) -> FloatArray:
    """Tolerances of all coders, in the order that :mod:`shapelex.kernels.triangle` names."""
    independent, gain, refine = TOLERANCES[real_dtype.char]
    eps = float(np.finfo(real_dtype).eps)
    target = -1.0 if tol is None else float(tol) ** 2
    return np.array([independent, gain, target, refine, eps, UNSURE_ROUNDINGS * eps], dtype=real_dtype)


class KernelInputs(NamedTuple):
    """The first arguments of every numba kernel.

    Complex numbers have real and imaginary parts interleaved. `rows` (n_rows, 2 * n_coordinates) are of length 0 where
    only the `correlations` (n_rows, 2 * n_atoms) with the atoms are at hand; `norms2` are the squared norms of the
    rows, `gram` and `atoms` those of :class:`~shapelex.coding.prepared.PreparedAtoms`, `limits` those of
    :func:`make_limits`.
    """

    correlations: FloatArray
    norms2: FloatArray
    gram: FloatArray
    rows: FloatArray
    atoms: FloatArray
    limits: FloatArray


class KernelOutputs(NamedTuple):
    """The last arguments of every numba kernel, which it fills.

    `left` are the squared norms of the residuals; `needs_row` tells which rows must be coded again with their
    coordinates.
    """

    support: IntArray
    coefs: FloatArray
    left: FloatArray
    needs_row: BoolArray


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
        Codes a block of rows into preallocated arrays; the last argument is the width of a beam.
    torch : callable, optional
        Prepares a dictionary that is on a torch device; it imports what needs torch when it is called.
    """

    cost_ns: Callable[[int, int, int, int], float]
    is_nested: bool
    numba: Callable[[KernelInputs, KernelOutputs, int], None] | None = None
    torch: "Callable[[Problem], TorchCoder] | None" = None


class Search(NamedTuple):
    """What a method does: a coder of ``CODERS``, the width of a beam, and whether its supports are polished.

    With bounded weights, `tries_all` tells whether all supports are searched for the least bounded error.
    """

    coder: str
    width: int
    polishes: bool
    tries_all: bool


def choose_search(
    method: str,
    n_atoms: int,
    n_nonzero: int,
    width: int | None = None,
    *,
    has_target: bool = False,
    polish: bool | None = None,
    backend: str = "numba",
) -> Search:
    """Resolve ``"auto"`` and defaults; refuse unknown names and searches that would take too long, or have no twin."""
    check_choice(method, ("auto", *CODERS), "method")
    # The torch coders polish supports themselves, but do not look for smaller ones that meet a target.
    can_polish = backend == "numba" or not has_target
    if polish and not can_polish:
        raise DeviceError(
            f"{parameter('polish', True)} with an error target has no implementation for the {backend} backend: use "
            f"{_OTHER_DEVICE[backend]}, or leave out {parameter('polish')} or {parameter('tol')}."
        )
    sizes = range(1, n_nonzero + 1) if has_target else [n_nonzero]
    n_supports = sum(comb(n_atoms, size) for size in sizes)
    tries_all = method == "exact" or (method == "auto" and n_supports <= AUTO_MAX_BOUNDED_SUPPORTS)
    if method == "auto" and n_supports <= AUTO_MAX_SUPPORTS:
        method = "exact"
    elif method == "auto":
        polish = can_polish if polish is None else polish
        # On GPUs, ORMP and polish are fused kernels, and take a thousandth of the time of a beam.
        method = "ormp" if backend == "torch" and polish and width is None else "beam"
        width = width or (AUTO_WIDTH if polish else None)
    width = width or BEAM_WIDTH
    if method == "exact" and n_supports > EXACT_MAX_SUPPORTS:
        what = (
            f"the supports of up to {n_nonzero} of {n_atoms} atoms are {n_supports}"
            if has_target
            else f"{n_nonzero} of {n_atoms} atoms have {n_supports} supports"
        )
        raise SearchTooLargeError(
            f"{parameter('method', 'exact')} searches at most {EXACT_MAX_SUPPORTS} supports, but {what}: use "
            f"{parameter('method', 'beam')}, fewer atoms or a smaller {parameter('n_nonzero')}."
        )
    # An exact search leaves nothing to polish.
    polishes = bool(polish) and method != "exact"
    return Search("ormp" if method == "beam" and width == 1 else method, width, polishes, tries_all)


def implementation(name: str, backend: str) -> Any:
    """Implementation of a coder for the backend ``"numba"`` or ``"torch"``; raise DeviceError where there is none."""
    found = getattr(CODERS[name], backend)
    if found is None:
        raise DeviceError(
            f"{parameter('coder', name)} has no implementation for the {backend} backend: use "
            f"{_OTHER_DEVICE[backend]}, or {parameter('coder', 'ormp')}, which has one for every backend."
        )
    return found


def score_workspace(inputs: KernelInputs) -> IntArray:
    """Return integers as wide as the floats, one per atom."""
    return np.empty(inputs.gram.shape[2], dtype=np.int32 if inputs.gram.dtype == np.float32 else np.int64)


def _numba_pursuit(inputs: KernelInputs, outputs: KernelOutputs, width: int, by_correlation: int) -> None:
    del width
    if len(inputs.atoms) * outputs.support.shape[1] <= MAX_ENTRIES:
        pursue_lanes_batch(*inputs, by_correlation, *outputs)
    else:
        pursue_batch(*inputs, by_correlation, score_workspace(inputs), *outputs)


def _numba_beam(inputs: KernelInputs, outputs: KernelOutputs, width: int) -> None:
    beam_batch(*inputs, width, score_workspace(inputs), *outputs)


def polish_on_cpu(inputs: KernelInputs, outputs: KernelOutputs) -> None:
    """Improve the codes of a search by exchanges of atoms."""
    with in_double(inputs, outputs) as (inputs, outputs):
        polish_batch(*inputs, score_workspace(inputs), *outputs)


def bound_on_cpu(inputs: KernelInputs, outputs: KernelOutputs, bounds: FloatArray, tries_all: bool) -> None:
    """Code again the rows whose weights exceed the `bounds` of their atoms."""
    with in_double(inputs, outputs) as (inputs, outputs):
        problem = inputs.correlations, inputs.norms2, inputs.gram, inputs.limits
        bounds = bounds.astype(np.float64, copy=False)
        bound_batch(*problem, bounds, int(tries_all), score_workspace(inputs), *outputs)


@contextmanager
def in_double(inputs: KernelInputs, outputs: KernelOutputs) -> Iterator[tuple[KernelInputs, KernelOutputs]]:
    """Give the arrays in double precision, which exchanges of atoms need; what they write is rounded at the end."""
    doubles = KernelInputs(*(array.astype(np.float64, copy=False) for array in inputs))
    coefs, left = (array.astype(np.float64, copy=False) for array in (outputs.coefs, outputs.left))
    yield doubles, outputs._replace(coefs=coefs, left=left)
    outputs.coefs[:], outputs.left[:] = coefs, left


def _numba_exact(inputs: KernelInputs, outputs: KernelOutputs, width: int) -> None:
    has_skipped = enumerate_batch(*inputs, *outputs)
    # With an error target the smallest support that meets it is wanted, and a beam might use more atoms.
    if not has_skipped or inputs.limits[TARGET] >= 0:
        return
    # Which atoms count as dependent depends on their order. A beam adds them in another order than the enumeration, so
    # it may use supports that the enumeration skipped.
    copies: list[Any] = [np.zeros_like(array) for array in outputs]
    others = KernelOutputs(*copies)
    _numba_beam(inputs, others, width)
    is_better = others.left < outputs.left - 16 * inputs.limits[EPS] * inputs.norms2
    for mine, found in zip(outputs, others, strict=True):
        mine[is_better] = found[is_better]
    outputs.needs_row[:] |= others.needs_row


def _torch_pursuit(problem: "Problem", by_correlation: bool) -> "TorchCoder":
    from shapelex.coding.torch.coders import PursuitCoder

    return PursuitCoder(problem, by_correlation)


def _torch_beam(problem: "Problem") -> "TorchCoder":
    from shapelex.coding.torch.coders import BeamCoder

    return BeamCoder(problem)


def _torch_exact(problem: "Problem") -> "TorchCoder":
    from shapelex.coding.torch.coders import ExactCoder

    return ExactCoder(problem)


def _cost_pursuit(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    del width
    return 100.0 + n_atoms * (n_coordinates / 5.0 + n_nonzero * (n_nonzero / 6.0 + 2.0))


def _cost_beam(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    return width * _cost_pursuit(n_coordinates, n_atoms, n_nonzero, width)


def _cost_exact(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    return _cost_pursuit(n_coordinates, n_atoms, n_nonzero, width) + 0.8 * comb(n_atoms, n_nonzero)


def polish_cost_ns(n_atoms: int, n_nonzero: int) -> float:
    """Estimate the nanoseconds per shape and core that polishing takes."""
    return 2000.0 + n_atoms * n_nonzero * (n_nonzero / 4.0 + 15.0)


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
