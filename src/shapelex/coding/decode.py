"""Shapes from codes, and how far they are from the originals.

In: codes and atoms. Out: configurations, or squared residuals taken from the residuals themselves, so that
errors near zero keep their digits.
"""

import numpy as np

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_configurations
from shapelex.coding.codes import SparseCodes
from shapelex.exceptions import CodesError
from shapelex.kernels.statistics import reconstruct_batch


@keeps_array_kind
def decode(codes: SparseCodes, atoms: ArrayLike) -> ComplexArray:
    """Reconstruct configurations ``sum_j alpha_j atoms_j``.

    Parameters
    ----------
    codes : SparseCodes
        Codes of the shapes.
    atoms : array_like of complex, shape (n_atoms, n_coordinates)
        The dictionary they were coded over.

    Returns
    -------
    ndarray of complex, shape (n_samples, n_coordinates)
        Configurations; centered when the atoms are.

    Raises
    ------
    CodesError
        If the codes belong to another number of atoms.

    Examples
    --------
    >>> from shapelex.coding import SparseCodes, decode
    >>> decode(SparseCodes([[1]], [[2j]], n_atoms=2), [[1, -1 + 0j], [1, 1j]])
    array([[ 0.+2.j, -2.+0.j]])
    """
    atom_rows, _ = as_configurations(atoms, name="atoms")
    return _sum_atoms(codes, atom_rows, np.result_type(codes.coefs.dtype, atom_rows.dtype))


def squared_residuals(rows: ComplexArray, atom_rows: ComplexArray, codes: SparseCodes) -> FloatArray:
    """Squared norms of ``rows - sum_j alpha_j atom_rows_j``, without cancellation.

    Parameters
    ----------
    rows : ndarray of complex, shape (n_samples, n_coordinates)
        Whitened rows.
    atom_rows : ndarray of complex, shape (n_atoms, n_coordinates)
        Whitened atoms.
    codes : SparseCodes
        Codes of the rows.

    Returns
    -------
    ndarray of float, shape (n_samples,)
        For rows of norm 1 coded by least squares, squared full distances.

    Raises
    ------
    CodesError
        If the codes belong to another number of atoms or rows.
    """
    if len(codes) != rows.shape[0]:
        raise CodesError(f"codes and rows must have the same number of rows, got {len(codes)} and {rows.shape[0]}.")
    residuals = rows - _sum_atoms(codes, atom_rows, np.result_type(rows.dtype, atom_rows.dtype, codes.coefs.dtype))
    reals = residuals.view(residuals.real.dtype)
    squares: FloatArray = np.einsum("kn,kn->k", reals, reals)
    return squares


def residual_norms(rows: ComplexArray, atom_rows: ComplexArray, codes: SparseCodes) -> FloatArray:
    """Norms of ``rows - sum_j alpha_j atom_rows_j``; see :func:`squared_residuals`.

    Parameters
    ----------
    rows, atom_rows, codes
        As in :func:`squared_residuals`.

    Returns
    -------
    ndarray of float, shape (n_samples,)
        For rows of norm 1 coded by least squares, full distances.
    """
    norms: FloatArray = np.sqrt(squared_residuals(rows, atom_rows, codes))
    return norms


def _sum_atoms(codes: SparseCodes, atom_rows: ComplexArray, dtype: np.dtype[np.complexfloating]) -> ComplexArray:
    """Return the sums of atoms, computed in a precision."""
    if codes.n_atoms != atom_rows.shape[0]:
        raise CodesError(f"codes are over {codes.n_atoms} atoms, but {atom_rows.shape[0]} were given.")
    atoms = np.ascontiguousarray(atom_rows, dtype=dtype)
    coefs = np.ascontiguousarray(codes.coefs, dtype=dtype)
    sums: ComplexArray = np.empty((len(codes), atoms.shape[1]), dtype=dtype)
    arrays = (array.view(atoms.real.dtype) for array in (coefs, atoms, sums))
    reconstruct_batch(np.ascontiguousarray(codes.support), *arrays)
    return sums
