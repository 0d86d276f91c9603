"""Norms of centered rows, without centering them.

Atoms are centered, so the correlations of a row with them do not depend on where the shape lies; only its norm does,
and that is a difference of two sums.
"""

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def normalize_batch(rows, unit_shift, limits, correlations, out_is_usable):
    """Divide correlations by the norms of the centered rows.

    With ``v`` the unit vector along which translations move a row ``x``, the squared norm of the centered row is
    ``|x|² − |v* x|²``. It is finite exactly when the row is, up to overflow. Where too many digits cancel, or where
    ``|x|²`` is not in the range of safe arithmetic (as for rows that are not finite), a row is marked as not usable.

    Parameters
    ----------
    rows : ndarray of float, shape (n_rows, 2 * n_coordinates)
        Whitened rows that need not be centered, real and imaginary parts interleaved.
    unit_shift : ndarray of float64, shape (2 * n_coordinates,)
        The unit vector ``v``.
    limits : ndarray of float64, shape (3,)
        Smallest share of ``|x|²`` that must remain, and the range of ``|x|²``.
    correlations : ndarray of float, shape (n_rows, 2 * n_atoms)
        Divided in place.
    out_is_usable : ndarray of bool, shape (n_rows,)
        Whether the correlations of a row can be used.
    """
    for k in range(rows.shape[0]):
        row = rows[k]
        total = along_re = along_im = 0.0
        # Written with 2 * n, the loop vectorizes; with a step of 2 it does not.
        for n in range(row.shape[0] // 2):
            re, im = np.float64(row[2 * n]), np.float64(row[2 * n + 1])
            v_re, v_im = unit_shift[2 * n], unit_shift[2 * n + 1]
            total += re * re + im * im
            along_re += v_re * re + v_im * im
            along_im += v_re * im - v_im * re
        remaining = total - (along_re * along_re + along_im * along_im)
        # Comparisons with NaN are false.
        out_is_usable[k] = remaining > limits[0] * total and limits[1] < total < limits[2]
        scale = correlations.dtype.type(1 / np.sqrt(remaining) if out_is_usable[k] else 0.0)
        for j in range(correlations.shape[1]):
            correlations[k, j] *= scale
