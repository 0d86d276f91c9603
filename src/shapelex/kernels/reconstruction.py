"""Sums of atoms, and residuals against rows.

In: supports, coefficients, atoms and rows, complex numbers as interleaved reals. Out: reconstructions, or squared
norms of residuals.
"""

import numpy as np

from shapelex.kernels.compilation import kernel
from shapelex.kernels.triangle import FAST


@kernel(fastmath=FAST)
def quarter_turned(rows):
    """Return ``i x`` of interleaved rows: with it, a complex product is a sum of real ones, free of shuffles."""
    turned = np.empty_like(rows)
    for k in range(rows.shape[0]):
        for n in range(0, rows.shape[1], 2):
            turned[k, n] = -rows[k, n + 1]
            turned[k, n + 1] = rows[k, n]
    return turned


@kernel(fastmath=FAST)
def add_atoms(support, coefs, k, atoms, turned, sign, out):
    """Add ``sign * sum_l coefs[k, l] atoms[support[k, l]]`` to one row."""
    # Rows of arrays are indexed, not taken out: a view a step costs more than the sum of a short one.
    for level in range(support.shape[1]):
        j = support[k, level]
        if j >= 0:
            a_re = sign * coefs[k, 2 * level]
            a_im = sign * coefs[k, 2 * level + 1]
            for n in range(out.shape[0]):
                out[n] += a_re * atoms[j, n] + a_im * turned[j, n]


@kernel(fastmath=FAST)
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
    turned = quarter_turned(atoms)
    for k in range(support.shape[0]):
        out_rows[k] = 0
        add_atoms(support, coefs, k, atoms, turned, atoms.dtype.type(1), out_rows[k])


@kernel(fastmath=FAST)
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
    turned = quarter_turned(atoms)
    residual = np.empty(rows.shape[1], dtype=rows.dtype)
    for k in range(support.shape[0]):
        for n in range(residual.shape[0]):
            residual[n] = rows[k, n]
        add_atoms(support, coefs, k, atoms, turned, atoms.dtype.type(-1), residual)
        square = rows.dtype.type(0)
        for n in range(residual.shape[0]):
            square += residual[n] * residual[n]
        out_squares[k] = square
