"""A dictionary made ready for the kernels: packed once, used for every block of rows."""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.kernels.alignment import aligned_zeros
from shapelex.kernels.correlations import correlate_batch, correlation_width, half_width, pack_atoms


@dataclass(frozen=True)
class PreparedAtoms:
    """Atoms of norm 1 (or 0), their packed form and their Gram matrix.

    Parameters
    ----------
    atoms : ndarray of float, shape (n_atoms, 2 * n_coordinates)
        Normalized atoms, real and imaginary parts interleaved.
    norms : ndarray of float, shape (n_atoms,)
        Norms that the atoms had.
    packed : ndarray of float
        Atoms as the correlation kernel reads them.
    gram : ndarray of float, shape (n_atoms, 2, width)
        Real and imaginary parts of `atom_i^H atom_j`, padded with zeros.
    """

    atoms: FloatArray
    norms: FloatArray
    packed: FloatArray
    gram: FloatArray

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return int(self.atoms.shape[0])

    @property
    def width(self) -> int:
        """Number of atoms, padding included."""
        return int(self.gram.shape[2])


def prepare_atoms(atom_rows: ComplexArray) -> PreparedAtoms:
    """Normalize and pack atoms, and take their Gram matrix; copies of earlier atoms become zero.

    Parameters
    ----------
    atom_rows : ndarray of complex, shape (n_atoms, n_coordinates)
        Whitened atoms; zero atoms are allowed.

    Returns
    -------
    PreparedAtoms
        What the kernels need.
    """
    real_dtype = atom_rows.real.dtype
    unit, norms = _normalize(atom_rows)
    packed = pack_atoms(unit)
    gram = _gram(unit, packed)
    is_copy = _find_copies(unit, gram)
    if is_copy.any():
        # A copy spans what its original does: without it the first of equals is chosen, and beams waste no place.
        unit[is_copy] = 0
        gram[is_copy] = 0
        gram[:, :, : len(is_copy)][:, :, is_copy] = 0
        packed = pack_atoms(unit)
    return PreparedAtoms(unit.view(real_dtype), norms, packed, gram)


def _normalize(atom_rows: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """Atoms of norm 1 or 0, and the norms they had; atoms that are unit to rounding stay as they are."""
    dtype = atom_rows.real.dtype
    eps = np.finfo(dtype).eps
    reals = atom_rows.view(dtype)
    norms2: FloatArray = np.einsum("jn,jn->j", reals, reals)
    is_unit = np.abs(norms2 - 1) <= 16 * eps
    norms = np.ones(len(atom_rows), dtype=dtype)
    unit = atom_rows.copy()
    if not is_unit.all():
        others = atom_rows[~is_unit]
        # Scaling by the largest entry first: squares of very small or large atoms stay finite.
        largest = np.abs(others.view(dtype)).max(axis=1, keepdims=True)
        scale = np.where(largest > 0, largest, 1).astype(dtype)
        scaled = others / scale
        scaled_norms = np.sqrt((scaled.real**2 + scaled.imag**2).sum(axis=1, keepdims=True))
        unit[~is_unit] = scaled / np.where(scaled_norms > 0, scaled_norms, 1)
        norms[~is_unit] = (scaled_norms * scale)[:, 0]
    return unit, norms


def _gram(unit: ComplexArray, packed: FloatArray) -> FloatArray:
    n_atoms, dtype = unit.shape[0], unit.real.dtype
    correlations = np.empty((n_atoms, correlation_width(packed, unit.shape[1])), dtype=dtype)
    correlate_batch(unit.view(dtype), packed, correlations, np.empty(n_atoms, dtype=dtype))
    # The kernel gives atom_j^H atom_i in row i; the Gram matrix wants its conjugate.
    half = half_width(n_atoms, dtype.itemsize)
    # Rows of whole cache lines: loops over all atoms start on one and have no tail.
    n_line = 64 // dtype.itemsize
    gram = aligned_zeros((n_atoms, 2, -(-n_atoms // n_line) * n_line), dtype)
    gram[:, 0, :n_atoms] = correlations[:, :n_atoms]
    gram[:, 1, :n_atoms] = -correlations[:, half : half + n_atoms]
    return gram


def _find_copies(unit: ComplexArray, gram: FloatArray) -> BoolArray:
    """Atoms that are an earlier one, turned and scaled, up to rounding."""
    n_atoms = unit.shape[0]
    eps = np.finfo(gram.dtype).eps
    re, im = gram[:, 0, :n_atoms], gram[:, 1, :n_atoms]
    close = re * re + im * im > 1 - 1e3 * eps
    is_copy = np.zeros(n_atoms, dtype=bool)
    if np.count_nonzero(close) <= n_atoms:
        return is_copy
    close = np.triu(close, k=1)
    # The product of nearly equal atoms says little: their difference decides.
    for first, second in zip(*np.nonzero(close), strict=True):
        if not is_copy[first]:
            difference = np.abs(unit[second] - (re[first, second] + 1j * im[first, second]) * unit[first]).max()
            is_copy[second] |= bool(difference <= 8 * eps)
    return is_copy
