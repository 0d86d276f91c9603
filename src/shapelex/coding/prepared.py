"""A dictionary made ready for the kernels: normalized once, used for every block of rows."""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.kernels.alignment import aligned_zeros


@dataclass(frozen=True)
class PreparedAtoms:
    """Atoms of norm 1 (or 0) and their Gram matrix.

    Parameters
    ----------
    atoms : ndarray of float, shape (n_atoms, 2 * n_coordinates)
        Normalized atoms, real and imaginary parts interleaved.
    norms : ndarray of float, shape (n_atoms,)
        Norms that the atoms had.
    originals : ndarray of int, shape (n_atoms,)
        For a copy of an earlier atom, which was set to zero, the number of that atom; its own number for all others.
    folded : ndarray of complex, shape (n_coordinates, n_atoms)
        Conjugate transpose of the normalized atoms: rows times this are their correlations.
    gram : ndarray of float, shape (n_atoms, 2, width)
        Real and imaginary parts of `atom_i^H atom_j`, padded with zeros to whole cache lines.
    """

    atoms: FloatArray
    norms: FloatArray
    originals: IntArray
    folded: ComplexArray
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
    """Normalize whitened atoms and compute their Gram matrix; copies of earlier atoms become zero."""
    unit, norms = _normalize(atom_rows)
    gram = unit.conj() @ unit.T
    # A copy spans what its original does: without it the first of equals is chosen, and beams waste no place.
    originals = _find_originals(unit, gram)
    is_copy = originals != np.arange(len(unit))
    if is_copy.any():
        unit[is_copy] = 0
        gram[is_copy] = gram[:, is_copy] = 0
    # Rows of whole cache lines: loops over all atoms start on one and have no tail.
    real_dtype, n_atoms = unit.real.dtype, len(unit)
    n_line = 64 // real_dtype.itemsize
    padded = aligned_zeros((n_atoms, 2, -(-n_atoms // n_line) * n_line), real_dtype)
    padded[:, 0, :n_atoms], padded[:, 1, :n_atoms] = gram.real, gram.imag
    return PreparedAtoms(unit.view(real_dtype), norms, originals, np.ascontiguousarray(unit.conj().T), padded)


def _normalize(atom_rows: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """Return atoms of norm 1 or 0, and the norms they had; atoms that are unit to rounding stay as they are."""
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


def _find_originals(unit: ComplexArray, gram: ComplexArray) -> IntArray:
    """Return, for each atom, the first one that equals it up to rotation and rounding."""
    eps = np.finfo(gram.dtype).eps
    originals = np.arange(len(unit))
    close = gram.real**2 + gram.imag**2 > 1 - 1e3 * eps
    # The product of nearly equal atoms says little: their difference decides.
    for first, second in zip(*np.nonzero(close), strict=True):
        if first < second and originals[first] == first and originals[second] == second:
            difference = np.abs(unit[second] - gram[first, second] * unit[first]).max()
            if difference <= 8 * eps:
                originals[second] = first
    return originals
