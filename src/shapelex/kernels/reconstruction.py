"""Sums of atoms, and residuals against rows.

In: supports, coefficients, atoms and rows, complex numbers as interleaved reals. Out: reconstructions, or squared
norms of residuals.
"""

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def add_atoms(support, coefs, atoms, sign, out):
    """Add ``sign * sum_l coefs[l] atoms[support[l]]`` to one row."""
    for level in range(support.shape[0]):
        if support[level] >= 0:
            a_re = sign * coefs[2 * level]
            a_im = sign * coefs[2 * level + 1]
            atom = atoms[support[level]]
            for n in range(0, out.shape[0], 2):
                d_re, d_im = atom[n], atom[n + 1]
                out[n] += a_re * d_re - a_im * d_im
                out[n + 1] += a_re * d_im + a_im * d_re


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def reconstruct_batch(support, coefs, atoms, out_rows):
    """Write the sum of atoms of every row.

    Parameters
    ----------
    support : ndarray of int32, shape (n_samples, n_nonzero)
        Atoms; negative entries are skipped.
    coefs : ndarray of float, shape (n_samples, 2 * n_nonzero)
        Their weights.
    atoms : ndarray of float, shape (n_atoms, 2 * n_coordinates)
        The dictionary.
    out_rows : ndarray of float, shape (n_samples, 2 * n_coordinates)
        The sums.
    """
    for k in range(support.shape[0]):
        out_rows[k] = 0
        add_atoms(support[k], coefs[k], atoms, atoms.dtype.type(1), out_rows[k])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def squared_residuals_batch(support, coefs, atoms, rows, out_squares):
    """Write the squared norm of what the sum of atoms leaves of every row.

    Parameters
    ----------
    support, coefs, atoms
        As in :func:`reconstruct_batch`.
    rows : ndarray of float, shape (n_samples, 2 * n_coordinates)
        The rows.
    out_squares : ndarray of float, shape (n_samples,)
        Squared norms of the residuals.
    """
    residual = np.empty(rows.shape[1], dtype=rows.dtype)
    for k in range(support.shape[0]):
        for n in range(residual.shape[0]):
            residual[n] = rows[k, n]
        add_atoms(support[k], coefs[k], atoms, atoms.dtype.type(-1), residual)
        square = rows.dtype.type(0)
        for n in range(residual.shape[0]):
            square += residual[n] * residual[n]
        out_squares[k] = square
