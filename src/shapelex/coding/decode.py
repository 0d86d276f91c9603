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
from shapelex.kernels.reconstruction import reconstruct_batch, squared_residuals_batch


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
    _check_atoms(codes, atom_rows)
    dtype = np.result_type(codes.coefs.dtype, atom_rows.dtype)
    support, coefs, real_atoms = _as_reals(codes, atom_rows, dtype)
    configurations = np.empty((len(codes), atom_rows.shape[1]), dtype=dtype)
    reconstruct_batch(support, coefs, real_atoms, configurations.view(real_atoms.dtype))
    return configurations


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
    _check_atoms(codes, atom_rows)
    if len(codes) != rows.shape[0]:
        raise CodesError(f"codes and rows must have the same number of rows, got {len(codes)} and {rows.shape[0]}.")
    dtype = np.result_type(rows.dtype, atom_rows.dtype, codes.coefs.dtype)
    support, coefs, real_atoms = _as_reals(codes, atom_rows, dtype)
    out = np.empty(len(codes), dtype=real_atoms.dtype)
    real_rows = np.ascontiguousarray(rows, dtype=dtype).view(real_atoms.dtype)
    squared_residuals_batch(support, coefs, real_atoms, real_rows, out)
    return out


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


def _check_atoms(codes: SparseCodes, atom_rows: ComplexArray) -> None:
    if codes.n_atoms != atom_rows.shape[0]:
        raise CodesError(f"codes are over {codes.n_atoms} atoms, but {atom_rows.shape[0]} were given.")


def _as_reals(
    codes: SparseCodes, atom_rows: ComplexArray, dtype: np.dtype[np.complexfloating]
) -> tuple[np.ndarray, FloatArray, FloatArray]:
    atoms = np.ascontiguousarray(atom_rows, dtype=dtype)
    real_dtype = atoms.real.dtype
    coefs = np.ascontiguousarray(codes.coefs, dtype=dtype).view(real_dtype)
    return np.ascontiguousarray(codes.support), coefs, atoms.view(real_dtype)
