"""Settings of coding, the registry of coders with an implementation for each backend, and prepared dictionaries."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_choice, check_count, check_flag, check_not_negative
from shapelex.coding.codes import SparseCodes
from shapelex.exceptions import DeviceError, ParameterError, SearchTooLargeError, ShapeInputError
from shapelex.kernels.compilation import aligned
from shapelex.kernels.exact import enumerate_batch
from shapelex.kernels.polish import polish_batch
from shapelex.kernels.pursuit import search_batch
from shapelex.kernels.pursuit_lanes import MAX_ENTRIES, pursue_lanes_batch
from shapelex.kernels.triangle import Limits
from shapelex.spaces.base import row_norms

if TYPE_CHECKING:
    from shapelex.kernels.torch.pursuit import Problem


@dataclass(frozen=True)
class Coding:
    """How to code: the dictionary as whitened rows of any norm, and the arguments of :func:`shapelex.encode`."""

    atom_rows: ComplexArray
    n_nonzero: int | None = None
    method: str = "auto"
    width: int | None = None
    tol: float | None = None
    path: bool = False
    polish: bool | None = None
    weight_penalty: float = 0.0
    n_threads: int | None = None
    device: str = "cpu"


def prepare_atoms(atom_rows: ComplexArray) -> tuple[ComplexArray, FloatArray, FloatArray]:
    """Return whitened atoms of norm 1 (or 0), the norms they had, and their Gram matrix.

    Copies of earlier atoms become zero. The Gram matrix ``(n_atoms, 2, width)`` has the real and imaginary parts of
    `atom_i^H atom_j`, padded with zeros to whole cache lines.
    """
    real_dtype, n_atoms = atom_rows.real.dtype, len(atom_rows)
    eps = np.finfo(real_dtype).eps
    norms = row_norms(atom_rows)
    # Atoms that are unit to rounding stay as they are.
    norms[np.abs(norms - 1) <= 8 * eps] = 1
    unit = atom_rows / np.where(norms > 0, norms, 1)[:, None]
    gram = unit.conj() @ unit.T
    # A copy, up to rotation and rounding, spans what its original does: without it the first of equals is chosen, and
    # beams waste no place. The product of nearly equal atoms says little: their difference decides.
    is_copy = np.zeros(n_atoms, dtype=bool)
    close = gram.real**2 + gram.imag**2 > 1 - 1e3 * eps
    for first, second in zip(*np.nonzero(np.triu(close, 1)), strict=True):
        if not (is_copy[first] or is_copy[second]):
            difference = np.abs(unit[second] - gram[first, second] * unit[first]).max()
            is_copy[second] = difference <= 8 * eps
    unit[is_copy] = 0
    gram[is_copy] = gram[:, is_copy] = 0
    # Rows of whole cache lines: loops over all atoms start on one and have no tail.
    n_line = 64 // real_dtype.itemsize
    width = -(-n_atoms // n_line) * n_line
    padded: FloatArray = aligned(n_atoms * 2 * width, norms).reshape((n_atoms, 2, width))
    padded[:] = 0
    padded[:, 0, :n_atoms], padded[:, 1, :n_atoms] = gram.real, gram.imag
    return unit, norms, padded


# Maximum number of supports, ``comb(n_atoms, n_nonzero)``, of ``"exact"``: about 8 ms per shape and core.
EXACT_MAX_SUPPORTS = 10_000_000

# Maximum number of supports for which ``"auto"`` is ``"exact"``: 40 µs per shape and core, about as long as a beam.
AUTO_MAX_SUPPORTS = 50_000

# Default width of ``"beam"``.
BEAM_WIDTH = 16

# Width of the beam of ``"auto"``, whose supports are polished: on average the error of 16 without, in less time.
AUTO_WIDTH = 8

# ``(independent, gain, refine)`` by precision, see :mod:`shapelex.kernels.triangle`.
# An atom within 1e-4 (3e-3 in single precision) of the span of the chosen ones counts as dependent, which also bounds
# the weights; a gain below 1e-12 (1e-5) of the norm is noise.
TOLERANCES = {"f": (1e-5, 1e-10, 1e-3), "d": (1e-8, 1e-24, 1e-3)}

# Sums of gains, and squared residuals that are differences to them, are only known to this many roundings.
# A rounding is the machine epsilon times the squared norm of the row. Two squared residuals closer than this, or one
# that is itself smaller, are compared by the residuals of the coordinates.
UNSURE_ROUNDINGS = 64


def make_limits(real_dtype: "np.dtype[Any]", tol: float | None) -> Limits:
    """Return the tolerances of all coders in a precision."""
    independent, gain, refine = TOLERANCES[real_dtype.char]
    eps = float(np.finfo(real_dtype).eps)
    target = -1.0 if tol is None else float(tol) ** 2
    limits = independent, gain, target, refine, eps, UNSURE_ROUNDINGS * eps
    return Limits(*map(real_dtype.type, limits))


class KernelInputs(NamedTuple):
    """The first arguments of every numba kernel.

    Real and imaginary parts are interleaved here. `rows` (n_rows, 2 * n_coordinates), of norm 1, are of length 0 where
    only their `correlations` (n_rows, 2 * n_atoms) with the atoms are at hand. `gram` and `atoms`
    (n_atoms, 2 * n_coordinates) are those of :func:`prepare_atoms`, `limits` those of :func:`make_limits`.
    """

    correlations: FloatArray
    gram: FloatArray
    rows: FloatArray
    atoms: FloatArray
    limits: Limits


class KernelOutputs(NamedTuple):
    """The last arguments of every numba kernel, which it fills.

    `coefs` (n_rows, n_levels, n_nonzero) are complex, `left` are the squared norms of the residuals; `needs_row` tells
    which rows must be coded again with their coordinates.
    """

    support: IntArray
    coefs: ComplexArray
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
        Whether the codes of smaller sparsities are the first atoms of larger ones, as a path needs.
    numba : callable, optional
        Codes a block of rows into preallocated arrays; the last argument is the width of a beam.
    torch : callable, optional
        Prepares a dictionary that is on a torch device; it imports what needs torch when it is called. The result has
        ``code(block)``, which returns supports and weights, and ``values_per_row``: complex numbers of scratch memory,
        beyond rows, correlations and codes, from which the size of blocks follows.
    """

    cost_ns: Callable[[int, int, int, int], float]
    is_nested: bool
    numba: Callable[[KernelInputs, KernelOutputs, int], None] | None = None
    torch: "Callable[[Problem], Any] | None" = None


# What selects a backend, for errors.
_DEVICES = {"numba": ("device", "cpu"), "torch": ("device", "cuda")}

# Arguments that have no meaning together, and why.
_CONFLICTS = {
    ("path", "polish"): "a path needs supports that contain each other, and polishing exchanges atoms",
    ("path", "mask"): "a path needs complete shapes",
    ("mask", "device"): "shapes with missing landmarks are coded on the CPU",
    # Without a method that is named, supports are then not polished.
    ("polish", "tol", "device"): "torch devices do not look for smaller supports that meet a target",
}


def refuse_conflicts(**given: Any) -> None:
    """Refuse arguments that have no meaning together, of those that are given."""
    given = {name: value for name, value in given.items() if value not in (None, False, "cpu")}
    for names, reason in _CONFLICTS.items():
        if given.keys() >= set(names):
            *others, last = (parameter(name, given[name]) if name in given else name for name in names)
            error = DeviceError if "device" in names else ParameterError
            raise error(f"{', '.join(others)} and {last} cannot be combined: {reason}. Leave one of them out.")


class Search(NamedTuple):
    """What a method does: a coder of ``CODERS``, the width of a beam, and whether its supports are polished."""

    coder: str
    width: int
    polishes: bool


def choose_search(coding: Coding, n_nonzero: int, backend: str) -> Search:
    """Resolve ``"auto"`` and defaults; refuse unknown names and searches that would take too long."""
    method, width, polish, has_target = coding.method, coding.width, coding.polish, coding.tol is not None
    n_atoms = len(coding.atom_rows)
    check_choice(method, ("auto", *CODERS), "method")
    if coding.path:
        method = "ormp" if method == "auto" else method
        if not CODERS[method].is_nested:
            nested = " or ".join(f'"{name}"' for name, entry in CODERS.items() if entry.is_nested)
            raise ParameterError(
                f"{parameter('path', True)} needs a nested pursuit, {parameter('method')} {nested}, got {method!r}."
            )
    sizes = range(1, n_nonzero + 1) if has_target else [n_nonzero]
    n_supports = sum(map(partial(comb, n_atoms), sizes))
    if method == "auto" and n_supports <= AUTO_MAX_SUPPORTS:
        method = "exact"
    elif method == "auto":
        polish = polish is not False and (backend == "numba" or not has_target)
        # On GPUs, ORMP and polish are fused kernels, and take a thousandth of the time of a beam.
        method = "ormp" if backend == "torch" and polish and width is None else "beam"
        width = width or (AUTO_WIDTH if polish else None)
    if method == "exact" and n_supports > EXACT_MAX_SUPPORTS:
        what = "the supports of up to" if has_target else "the supports of"
        raise SearchTooLargeError(
            f"{parameter('method', 'exact')} searches at most {EXACT_MAX_SUPPORTS} supports, but {what} {n_nonzero} of "
            f"{n_atoms} atoms are {n_supports}: use {parameter('method', 'beam')}, fewer atoms or a smaller "
            f"{parameter('n_nonzero')}."
        )
    # An exact search leaves nothing to polish.
    polishes = bool(polish) and method != "exact"
    width = 1 if method in ("ormp", "omp") else width or BEAM_WIDTH
    return Search("ormp" if method == "beam" and width == 1 else method, width, polishes)


def implementation(name: str, backend: str) -> Any:
    """Implementation of a coder for the backend ``"numba"`` or ``"torch"``; raise DeviceError where there is none."""
    found = getattr(CODERS[name], backend)
    if found is None:
        others = [parameter(*device) for other, device in _DEVICES.items() if getattr(CODERS[name], other)]
        everywhere = [parameter("coder", other) for other, coder in CODERS.items() if coder.numba and coder.torch]
        raise DeviceError(
            f"{parameter('coder', name)} has no implementation for the {backend} backend: use {' or '.join(others)}, "
            f"or {everywhere[0]}, which has one for every backend."
        )
    return found


def _numba_pursuit(inputs: KernelInputs, outputs: KernelOutputs, width: int, by_correlation: int = 0) -> None:
    if width == 1 and len(inputs.atoms) * outputs.support.shape[1] <= MAX_ENTRIES:
        pursue_lanes_batch(*inputs, by_correlation, *outputs)
    else:
        integers: IntArray = np.empty(0, dtype=np.int32 if inputs.gram.dtype == np.float32 else np.int64)
        search_batch(*inputs, width, by_correlation, integers, *outputs)


def polish_on_cpu(inputs: KernelInputs, outputs: KernelOutputs) -> None:
    """Improve the codes of a search by exchanges of atoms, which need double precision."""
    *arrays, limits = inputs
    arrays = [array.astype(np.float64, copy=False) for array in arrays]
    coefs = outputs.coefs.astype(np.complex128, copy=False)
    left = outputs.left.astype(np.float64, copy=False)
    polish_batch(*arrays, Limits(*map(float, limits)), outputs.support, coefs, left, outputs.needs_row)
    outputs.coefs[:], outputs.left[:] = coefs, left


def _numba_exact(inputs: KernelInputs, outputs: KernelOutputs, width: int) -> None:
    has_skipped = enumerate_batch(*inputs, *outputs)
    # With an error target the smallest support that meets it is wanted, and a beam might use more atoms.
    if not has_skipped or inputs.limits.target >= 0:
        return
    # Which atoms count as dependent depends on their order. A beam adds them in another order than the enumeration, so
    # it may use supports that the enumeration skipped.
    copies: list[Any] = [np.zeros_like(array) for array in outputs]
    others = KernelOutputs(*copies)
    _numba_pursuit(inputs, others, width)
    is_better = others.left < outputs.left - 16 * inputs.limits.eps
    for mine, found in zip(outputs, others, strict=True):
        mine[is_better] = found[is_better]
    outputs.needs_row[:] |= others.needs_row


def _on_torch(method: str, problem: "Problem") -> Any:
    """Return a coder for a dictionary on a torch device; torch is imported only here."""
    from shapelex.coding.torch.coders import ExactCoder, SearchCoder

    return ExactCoder(problem) if method == "exact" else SearchCoder(problem, method)


def _cost_pursuit(n_coordinates: int, n_atoms: int, n_nonzero: int, width: int) -> float:
    return width * (100.0 + n_atoms * (n_coordinates / 5.0 + n_nonzero * (n_nonzero / 6.0 + 2.0)))


def _cost_exact(n_coordinates: int, n_atoms: int, n_nonzero: int, _: int) -> float:
    return _cost_pursuit(n_coordinates, n_atoms, n_nonzero, 1) + 0.8 * comb(n_atoms, n_nonzero)


_numba_omp = partial(_numba_pursuit, by_correlation=1)

CODERS: dict[str, Coder] = {
    "ormp": Coder(_cost_pursuit, is_nested=True, numba=_numba_pursuit, torch=partial(_on_torch, "ormp")),
    "omp": Coder(_cost_pursuit, is_nested=True, numba=_numba_omp, torch=partial(_on_torch, "omp")),
    "beam": Coder(_cost_pursuit, is_nested=False, numba=_numba_pursuit, torch=partial(_on_torch, "beam")),
    "exact": Coder(_cost_exact, is_nested=False, numba=_numba_exact, torch=partial(_on_torch, "exact")),
}


@dataclass(frozen=True)
class CodedBlock:
    """Consecutive shapes with their codes.

    Parameters
    ----------
    start : int
        Number of the first one.
    support : ndarray of int32, shape (n_rows, n_nonzero)
        Atoms, padded with −1.
    coefs : ndarray of complex, shape (n_rows, n_levels, n_nonzero)
        Weights: one level, or one for every sparsity of a path.
    squares : ndarray of float, shape (n_rows,)
        Squared full distances to the reconstructions; no entry where they were not asked for.
    n_atoms : int
        Number of atoms of the dictionary.
    """

    start: int
    support: IntArray
    coefs: ComplexArray
    squares: FloatArray
    n_atoms: int

    @property
    def codes(self) -> SparseCodes:
        """The codes, of the highest sparsity where they are a path."""
        return SparseCodes._from_coder(self.support, self.coefs[:, -1], self.n_atoms)

    @property
    def errors(self) -> FloatArray:
        """Full distances to the reconstructions."""
        return np.sqrt(self.squares)


class DictionaryCoder:
    """What the coders of all backends have: the arguments, checked, and the atoms, prepared in one precision."""

    def __init__(self, coding: Coding, backend: str, dtype: np.dtype[np.complexfloating]) -> None:
        atoms = coding.atom_rows
        self.coding = coding
        self.dtype: np.dtype[np.complexfloating] = np.dtype(dtype)
        self.n_atoms, self.n_coordinates = atoms.shape
        self.n_nonzero = check_nonzero(coding.n_nonzero, self.n_atoms, self.n_coordinates, coding.tol)
        self.n_levels = self.n_nonzero if coding.path else 1
        if coding.width is not None:
            check_count(coding.width, 1, "width")
        if coding.polish is not None:
            check_flag(coding.polish, "polish")
        self.search = choose_search(coding, self.n_nonzero, backend)
        self.implementation = implementation(self.search.coder, backend)
        sizes = self.n_coordinates, self.n_atoms, self.n_nonzero, self.search.width
        self.cost_ns = CODERS[self.search.coder].cost_ns(*sizes)
        if self.search.polishes:
            self.cost_ns += 2000.0 + self.n_atoms * self.n_nonzero * (self.n_nonzero / 4.0 + 15.0)
        penalty = check_not_negative(coding.weight_penalty, "weight_penalty")
        if penalty > 0:
            # |z - Da|^2 + p |a|^2 is the squared distance to a sum of atoms that have one more coordinate each, √p.
            atoms = np.hstack([atoms, np.sqrt(penalty) * np.eye(self.n_atoms)])
        with single_blas_thread():
            self.unit_atoms, norms, self.gram = prepare_atoms(np.ascontiguousarray(atoms, dtype=self.dtype))
        self.limits = make_limits(norms.dtype, coding.tol)
        # Weights are divided by the norms that the atoms had.
        factors: FloatArray = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
        self.factors = factors if (factors != 1).any() else None


def as_rows(rows: ComplexArray, name: str) -> ComplexArray:
    """Return the array; refuse what is no stack of complex rows."""
    array = np.asarray(rows)
    if array.ndim != 2 or not np.iscomplexobj(array) or array.shape[1] == 0:
        raise ShapeInputError(
            f"{name} must be a 2-D complex array (rows, n_coordinates), got shape {array.shape}, dtype {array.dtype}."
        )
    return array


def check_nonzero(n_nonzero: int | None, n_atoms: int, n_coordinates: int, tol: float | None) -> int:
    """Return the maximum number of atoms per shape; refuse sparsities that a dictionary does not have."""
    if tol is not None:
        check_not_negative(tol, "tol")
    if n_nonzero is None:
        if tol is None:
            raise ParameterError(
                f"give {parameter('n_nonzero')}, {parameter('tol')} or both: without them no pursuit knows where to "
                "stop."
            )
        return min(n_atoms, n_coordinates)
    if check_count(n_nonzero, 1, "n_nonzero") > n_atoms:
        raise ParameterError(
            f"{parameter('n_nonzero')} must be between 1 and {parameter('n_atoms', n_atoms)}, got {n_nonzero}."
        )
    return int(n_nonzero)
