"""How to code shapes, and what coders of every backend prepare once for a dictionary."""

from dataclasses import dataclass

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_flag, check_number, check_positive
from shapelex.coding.coders import CODERS, choose_search, implementation, make_limits, polish_cost_ns
from shapelex.coding.codes import SparseCodes
from shapelex.coding.prepared import prepare_atoms
from shapelex.exceptions import DeviceError, ParameterError, ParameterTypeError, ShapeInputError


@dataclass(frozen=True)
class Coding:
    """How to code: the dictionary as whitened rows of any norm, and the arguments of :func:`shapelex.encode`.

    A `max_weight` of its own for each atom is what shapes with missing landmarks need.
    """

    atom_rows: ComplexArray
    n_nonzero: int | None = None
    method: str = "auto"
    width: int | None = None
    tol: float | None = None
    path: bool = False
    polish: bool | None = None
    max_weight: float | FloatArray | None = None
    n_threads: int | None = None
    device: str = "cpu"


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
        atoms = as_rows(coding.atom_rows, "atom_rows")
        self.coding = coding
        self.dtype: np.dtype[np.complexfloating] = np.dtype(dtype)
        self.n_atoms, self.n_coordinates = atoms.shape
        self.n_nonzero = check_nonzero(coding.n_nonzero, self.n_atoms, self.n_coordinates, coding.tol)
        self.n_levels = self.n_nonzero if coding.path else 1
        width = None if coding.width is None else check_count(coding.width, 1, "width")
        if coding.polish is not None:
            check_flag(coding.polish, "polish")
        method = _check_nested(coding.method, coding.polish) if coding.path else coding.method
        self.search = choose_search(
            method,
            self.n_atoms,
            self.n_nonzero,
            width,
            has_target=coding.tol is not None,
            polish=coding.polish,
            backend=backend,
        )
        self.implementation = implementation(self.search.coder, backend)
        sizes = self.n_coordinates, self.n_atoms, self.n_nonzero, self.search.width
        self.cost_ns = CODERS[self.search.coder].cost_ns(*sizes)
        if self.search.polishes:
            self.cost_ns += polish_cost_ns(self.n_atoms, self.n_nonzero)
        with single_blas_thread():
            self.prepared = prepare_atoms(np.ascontiguousarray(atoms, dtype=self.dtype))
        norms = self.prepared.norms
        self.limits = make_limits(norms.dtype, coding.tol)
        self.bounds: FloatArray | None = None
        if coding.max_weight is not None:
            _check_max_weight(coding, backend)
            self.bounds = np.full(self.n_atoms, coding.max_weight, dtype=norms.dtype)
        # Weights are divided by the norms that the atoms had.
        factors: FloatArray = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0).astype(norms.dtype)
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
    if tol is not None and not (np.isfinite(check_number(tol, "tol", "a distance")) and tol >= 0):
        raise ParameterError(f"{parameter('tol')} must be a distance, finite and not negative, got {tol}.")
    if n_nonzero is None:
        if tol is None:
            raise ParameterError(
                f"give {parameter('n_nonzero')}, {parameter('tol')} or both: without them no pursuit knows where to "
                "stop."
            )
        return min(n_atoms, n_coordinates)
    if type(n_nonzero) is bool or not isinstance(n_nonzero, int | np.integer):
        raise ParameterTypeError(f"{parameter('n_nonzero')} must be an integer, got {n_nonzero!r}.")
    if not 1 <= n_nonzero <= n_atoms:
        raise ParameterError(
            f"{parameter('n_nonzero')} must be between 1 and {parameter('n_atoms', n_atoms)}, got {n_nonzero}."
        )
    return int(n_nonzero)


def _check_max_weight(coding: Coding, backend: str) -> None:
    """Refuse bounds that are none, and what does not go with bounded weights."""
    name = parameter("max_weight")
    if coding.max_weight is not None and not isinstance(coding.max_weight, np.ndarray):
        check_positive(coding.max_weight, "max_weight")
    if coding.path:
        raise ParameterError(f"{name} has no path of codes: leave out {parameter('path')} or {name}.")
    if coding.tol is not None:
        raise ParameterError(
            f"{name} codes with a number of atoms, not with an error target: give {parameter('n_nonzero')}, and leave "
            f"out {parameter('tol')} or {name}."
        )
    if backend != "numba":
        raise DeviceError(
            f"{name} has no implementation for the {backend} backend: use {parameter('device', 'cpu')}, or leave it "
            "out."
        )


def _check_nested(method: str, polish: bool | None) -> str:
    """Return the pursuit to use for a path of codes; refuse methods that give none."""
    if polish:
        raise ParameterError(
            f"{parameter('path', True)} needs supports that contain each other, and polishing exchanges atoms: leave "
            f"out {parameter('path')} or {parameter('polish')}."
        )
    if method == "auto":
        return "ormp"
    if method in CODERS and not CODERS[method].is_nested:
        nested = " or ".join(f'"{name}"' for name, entry in CODERS.items() if entry.is_nested)
        raise ParameterError(
            f"{parameter('path', True)} needs a nested pursuit, {parameter('method')} {nested}, got {method!r}."
        )
    return method
