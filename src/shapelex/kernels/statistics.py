"""Sufficient statistics of sparse codes.

In: supports, coefficients, rows and weights, complex numbers as interleaved reals. Out: what the dictionary update
needs, added to the arrays given, in the order of the rows and in double precision whatever the input is.
"""

from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def accumulate_batch(support, coefs, rows, weights, out_gram, out_products, out_usage):
    """Add ``w a* a^T``, ``w a* x^T`` and the use of atoms of every row.

    Parameters
    ----------
    support : ndarray of int32, shape (n_samples, n_nonzero)
        Atoms; negative entries are skipped.
    coefs : ndarray of float, shape (n_samples, 2 * n_nonzero)
        Their weights in the codes ``a``.
    rows : ndarray of float, shape (n_samples, 2 * n_coordinates)
        The rows ``x``.
    weights : ndarray of float64, shape (n_samples,)
        Weights ``w`` of the rows.
    out_gram : ndarray of float64, shape (n_atoms, 2 * n_atoms)
        Hermitian; only its upper triangle is added to.
    out_products : ndarray of float64, shape (n_atoms, 2 * n_coordinates)
        Products of codes and rows.
    out_usage : ndarray of float64, shape (n_atoms,)
        Weight of the rows that use each atom.
    """
    n_samples, n_nonzero = support.shape
    n_reals = rows.shape[1]
    for k in range(n_samples):
        weight = weights[k]
        row = rows[k]
        for first in range(n_nonzero):
            i = support[k, first]
            if i < 0:
                continue
            a_re = weight * coefs[k, 2 * first]
            a_im = weight * coefs[k, 2 * first + 1]
            out_usage[i] += weight
            products = out_products[i]
            for n in range(0, n_reals, 2):
                x_re, x_im = row[n], row[n + 1]
                products[n] += a_re * x_re + a_im * x_im
                products[n + 1] += a_re * x_im - a_im * x_re
            for second in range(first, n_nonzero):
                j = support[k, second]
                if j < 0:
                    continue
                b_re, b_im = coefs[k, 2 * second], coefs[k, 2 * second + 1]
                re = a_re * b_re + a_im * b_im
                im = a_re * b_im - a_im * b_re
                if i <= j:
                    out_gram[i, 2 * j] += re
                    out_gram[i, 2 * j + 1] += im
                else:
                    out_gram[j, 2 * i] += re
                    out_gram[j, 2 * i + 1] -= im
