"""Sums of atoms for rows, and sums over rows: their norms once centered, and what an update needs of their codes.

Sums over rows are added in double precision, in their order. Complex numbers have real and imaginary parts interleaved.
"""

import numpy as np

from shapelex.kernels.compilation import kernel
from shapelex.kernels.triangle import FAST


@kernel(fastmath=FAST)
def accumulate_batch(support, coefs, rows, scales, weights, slopes, out_gram, out_products, out_usage):
    """Add ``w s a* a^T``, ``w s a* x^T`` and the use ``w`` of atoms of every row.

    Row `k` has the atoms ``support[k]`` (negative entries are skipped), their weights ``coefs[k]`` in the code ``a``,
    the vector ``x = scales[k] rows[k]``, the weight ``w = weights[k]`` and the slope ``s = slopes[k]``. `out_gram` is
    (n_atoms, 2 * n_atoms), `out_products` (n_atoms, 2 * n_coordinates).
    """
    n_samples, n_nonzero = support.shape
    n_reals = rows.shape[1]
    row = np.empty(n_reals)
    # -i x: with it, a complex product is a sum of real ones, free of shuffles.
    turned = np.empty(n_reals)
    for k in range(n_samples):
        weight, scale = weights[k] * slopes[k], scales[k]
        for n in range(0, n_reals, 2):
            row[n] = scale * rows[k, n]
            row[n + 1] = scale * rows[k, n + 1]
            turned[n] = row[n + 1]
            turned[n + 1] = -row[n]
        for first in range(n_nonzero):
            i = support[k, first]
            if i < 0:
                continue
            a_re = weight * coefs[k, 2 * first]
            a_im = weight * coefs[k, 2 * first + 1]
            out_usage[i] += weights[k]
            for n in range(n_reals):
                out_products[i, n] += a_re * row[n] + a_im * turned[n]
            for second in range(first, n_nonzero):
                j = support[k, second]
                if j < 0:
                    continue
                b_re, b_im = coefs[k, 2 * second], coefs[k, 2 * second + 1]
                re = a_re * b_re + a_im * b_im
                out_gram[i, 2 * j] += re
                if second > first:
                    im = a_re * b_im - a_im * b_re
                    out_gram[i, 2 * j + 1] += im
                    out_gram[j, 2 * i] += re
                    out_gram[j, 2 * i + 1] -= im


@kernel(fastmath=FAST)
def unit_scales_batch(rows, unit_shift, limits, out_scales):
    """Write one over the norm of every centered row, without centering it; 0 where it cannot be trusted.

    With ``v`` the unit vector along which translations move a row ``x``, the squared norm of the centered row is
    ``|x|² − |v* x|²``. It is finite exactly when the row is, up to overflow. `rows` (n_rows, 2 * n_coordinates) and
    `unit_shift` are interleaved; `limits` are the smallest share of ``|x|²`` that must remain, and the range of
    ``|x|²``.
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
        is_usable = remaining > limits[0] * total and limits[1] < total < limits[2]
        out_scales[k] = 1 / np.sqrt(remaining) if is_usable else 0.0


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
    # i times the atoms, see above.
    turned = np.empty_like(atoms)
    for j in range(atoms.shape[0]):
        for n in range(0, atoms.shape[1], 2):
            turned[j, n] = -atoms[j, n + 1]
            turned[j, n + 1] = atoms[j, n]
    out_rows[:] = 0
    for k in range(support.shape[0]):
        # Rows of arrays are indexed, not taken out: a view a step costs more than the sum of a short one.
        for level in range(support.shape[1]):
            j = support[k, level]
            if j >= 0:
                re, im = coefs[k, 2 * level], coefs[k, 2 * level + 1]
                for n in range(out_rows.shape[1]):
                    out_rows[k, n] += re * atoms[j, n] + im * turned[j, n]
