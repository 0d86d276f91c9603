"""Codes of a sample of rows that stays in memory, where speed counts more than the last digits.

In: rows and atoms of norm 1. Out: supports, which may be compared in single precision, and their weights in double
precision.
"""

import numpy as np

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.compilation import kernel
from shapelex.kernels.nearest import nearest_batch
from shapelex.kernels.statistics import accumulate_batch
from shapelex.kernels.support_tree import LANE, count_supports, enumerate_lane, unrank
from shapelex.kernels.triangle import EPS, FAST, INDEPENDENT


@kernel()
def correlate_sample(rows, atoms, out_correlations, out_gram, out_search_gram):
    """Write the correlations of all rows with all atoms, and the Gram matrix of the atoms in two precisions.

    `rows` (n_rows, n_coordinates) and `atoms` (n_atoms, n_coordinates) are complex, and so are `out_correlations`. The
    Gram matrices have the layout of :func:`shapelex.kernels.pursuit.pursue_batch`; their padding is not touched.
    """
    n_atoms = atoms.shape[0]
    folded = np.ascontiguousarray(np.conj(atoms).T)
    np.dot(rows, folded, out_correlations)
    gram = np.dot(atoms, folded)
    for i in range(n_atoms):
        for j in range(n_atoms):
            # gram[j, i] is the product atom_i^H atom_j.
            out_gram[i, 0, j] = gram[j, i].real
            out_gram[i, 1, j] = gram[j, i].imag
            out_search_gram[i, 0, j] = gram[j, i].real
            out_search_gram[i, 1, j] = gram[j, i].imag


@kernel()
def best_supports(correlations, gram, limits, out_support):
    """Write the support of least error of every row, in lexicographic order, in the precision of `gram`.

    Parameters
    ----------
    correlations : ndarray of float, shape (n_rows, 2 * n_atoms)
        ``atom_j^H row_k``, real and imaginary parts interleaved, in any precision.
    gram, limits
        As in :func:`shapelex.kernels.pursuit.pursue_batch`.
    out_support : ndarray of int32, shape (n_rows, n_nonzero)
        Atoms; a support may have atoms without use.
    """
    n_rows, n_nonzero = out_support.shape
    n_atoms = gram.shape[0]
    dtype = gram.dtype
    basis = np.empty((n_nonzero, 2, n_atoms), dtype=dtype)
    left = np.empty((n_nonzero + 1, n_atoms), dtype=dtype)
    n_kept = max(n_nonzero - 1, 1)
    corr = aligned_like(n_kept * n_atoms * 2 * LANE, gram).reshape((n_kept, n_atoms, 2 * LANE))
    along = aligned_like((n_nonzero + 1) * 3 * LANE, gram).reshape((n_nonzero + 1, 3 * LANE))
    along[0] = 0
    following = np.empty(n_nonzero + 1, dtype=np.int64)
    best = aligned_like(2 * LANE, gram)
    margin = dtype.type(1) + dtype.type(4) * limits[EPS]
    counts = count_supports(n_atoms, n_nonzero)
    for first in range(0, n_rows, LANE):
        n_here = min(LANE, n_rows - first)
        if n_here < LANE:
            corr[0] = 0
        for s in range(n_here):
            for j in range(n_atoms):
                corr[0, j, s] = correlations[first + s, 2 * j]
                corr[0, j, LANE + s] = correlations[first + s, 2 * j + 1]
        enumerate_lane(gram, limits[INDEPENDENT], margin, n_nonzero, basis, left, corr, along, following, best)
        for s in range(n_here):
            unrank(np.int64(best[LANE + s]), counts, n_nonzero, out_support[first + s])


@kernel(fastmath=FAST)
def solve_supports(correlations, gram, support, limits, out_coefs, out_squares):
    """Write the least-squares weights of given supports, and the squared residuals, of rows of norm 1.

    `correlations` and `out_coefs` (n_rows, 2 * n_nonzero) have real and imaginary parts interleaved. Negative entries
    of a support, and atoms that those before them span, get the weight 0.
    """
    n_rows, n_nonzero = support.shape
    factor = np.zeros((n_nonzero, 2, n_nonzero))
    inverse = np.zeros(n_nonzero)
    along = np.zeros((2, n_nonzero))
    for k in range(n_rows):
        square = 1.0
        for i in range(n_nonzero):
            inverse[i] = 0.0
            along[0, i] = 0.0
            along[1, i] = 0.0
            atom = support[k, i]
            if atom < 0:
                continue
            remaining = gram[atom, 0, atom]
            re, im = correlations[k, 2 * atom], correlations[k, 2 * atom + 1]
            for j in range(i):
                # q_j^H d_i, of the orthonormal vectors q_j that the atoms before span
                other = support[k, j]
                f_re, f_im = 0.0, 0.0
                if inverse[j] > 0:
                    f_re, f_im = gram[other, 0, atom], gram[other, 1, atom]
                    for m in range(j):
                        g_re, g_im = factor[j, 0, m], factor[j, 1, m]
                        h_re, h_im = factor[i, 0, m], factor[i, 1, m]
                        f_re -= g_re * h_re + g_im * h_im
                        f_im -= g_re * h_im - g_im * h_re
                    f_re *= inverse[j]
                    f_im *= inverse[j]
                factor[i, 0, j] = f_re
                factor[i, 1, j] = f_im
                remaining -= f_re * f_re + f_im * f_im
                re -= f_re * along[0, j] + f_im * along[1, j]
                im -= f_re * along[1, j] - f_im * along[0, j]
            if remaining > limits[INDEPENDENT]:
                inverse[i] = 1 / np.sqrt(remaining)
                along[0, i] = re * inverse[i]
                along[1, i] = im * inverse[i]
                square -= along[0, i] * along[0, i] + along[1, i] * along[1, i]
        for i in range(n_nonzero - 1, -1, -1):
            re, im = along[0, i] * inverse[i], along[1, i] * inverse[i]
            out_coefs[k, 2 * i] = re
            out_coefs[k, 2 * i + 1] = im
            for j in range(i):
                along[0, j] -= factor[i, 0, j] * re - factor[i, 1, j] * im
                along[1, j] -= factor[i, 0, j] * im + factor[i, 1, j] * re
        out_squares[k] = max(square, 0.0)


@kernel()
def sum_sample(support, coefs, rows, ones, weights, out_gram, out_products, out_usage):
    """Set the statistics of the codes of all rows, as :func:`accumulate_batch` adds them up."""
    out_gram[:] = 0
    out_products[:] = 0
    out_usage[:] = 0
    accumulate_batch(support, coefs, rows, ones, weights, out_gram, out_products, out_usage)


@kernel(fastmath=FAST)
def nearest_distance2(correlations, weights, out_index, out_closeness):
    """Find the row nearest to each atom; return the mean squared full distance."""
    nearest_batch(correlations, weights, out_index, out_closeness)
    total = 0.0
    for j in range(len(out_index)):
        total += max(1 - out_closeness[j], 0.0)
    return total / len(out_index)


@kernel(fastmath=FAST)
def solve_positive(gram, rows):
    """Solve ``gram X = rows`` by Cholesky, in place; a pivot that is not positive leaves out its row.

    For the few unknowns of a dictionary, LAPACK would take longer to call than this takes to compute.
    """
    n_atoms, n_coordinates = rows.shape
    for i in range(n_atoms):
        for j in range(i + 1):
            entry = gram[i, j]
            for k in range(j):
                entry -= gram[i, k] * np.conj(gram[j, k])
            if j < i:
                gram[i, j] = entry * gram[j, j].real
            else:
                # The inverse of the pivot stays on the diagonal.
                gram[i, i] = 1 / np.sqrt(entry.real) if entry.real > 1e-12 else 0.0
    for i in range(n_atoms):
        for k in range(i):
            factor = gram[i, k]
            for n in range(n_coordinates):
                rows[i, n] -= factor * rows[k, n]
        for n in range(n_coordinates):
            rows[i, n] *= gram[i, i].real
    for i in range(n_atoms - 1, -1, -1):
        for k in range(i + 1, n_atoms):
            factor = np.conj(gram[k, i])
            for n in range(n_coordinates):
                rows[i, n] -= factor * rows[k, n]
        for n in range(n_coordinates):
            rows[i, n] *= gram[i, i].real


@kernel(fastmath=FAST)
def update_sample(grams, products, factors, nearest_weight, index, correlations, rows, atoms, relaxation, out_updated,
                  out_beyond):  # fmt: skip
    """Write the normalized least-squares dictionary of several sparsities, and one that goes beyond it.

    Parameters
    ----------
    grams : ndarray of complex, shape (n_sparsities, n_atoms, n_atoms)
        ``Σ_k w_k conj(a_k) a_kᵀ`` of the codes of each sparsity.
    products : ndarray of complex, shape (n_sparsities, n_atoms, n_coordinates)
        ``Σ_k w_k conj(a_k) x_kᵀ``.
    factors : ndarray of float, shape (n_sparsities,)
        Their weights.
    nearest_weight : float
        Weight of one more sample for each atom: the row `index` of it, coded by this atom alone.
    correlations, rows : ndarray of complex
        Of all rows with all atoms, and the rows.
    relaxation : float
        How far to go beyond the least-squares dictionary, in units of the update.
    out_updated, out_beyond : ndarray of complex, shape (n_atoms, n_coordinates)
        The two dictionaries; atoms without use stay as they are.
    """
    n_atoms, n_coordinates = atoms.shape
    gram = np.zeros((n_atoms, n_atoms), dtype=np.complex128)
    product = np.zeros((n_atoms, n_coordinates), dtype=np.complex128)
    for s in range(len(factors)):
        gram += factors[s] * grams[s]
        product += factors[s] * products[s]
    if nearest_weight > 0:
        for j in range(n_atoms):
            c = correlations[index[j], j]
            gram[j, j] += nearest_weight * (c.real * c.real + c.imag * c.imag)
            for n in range(n_coordinates):
                product[j, n] += nearest_weight * np.conj(c) * rows[index[j], n]
    largest = 0.0
    for j in range(n_atoms):
        largest = max(largest, gram[j, j].real)
    scale = np.zeros(n_atoms)
    for j in range(n_atoms):
        if gram[j, j].real > 1e-12 * largest:
            scale[j] = 1 / np.sqrt(gram[j, j].real)
    for i in range(n_atoms):
        for j in range(n_atoms):
            gram[i, j] *= scale[i] * scale[j]
        gram[i, i] = 1 + 1e-10
        for n in range(n_coordinates):
            product[i, n] *= scale[i]
    solve_positive(gram, product)
    solution = product
    for j in range(n_atoms):
        norm2 = 0.0
        for n in range(n_coordinates):
            norm2 += solution[j, n].real ** 2 + solution[j, n].imag ** 2
        if scale[j] == 0 or not norm2 > 1e-24:
            out_updated[j] = atoms[j]
            out_beyond[j] = atoms[j]
            continue
        inverse = 1 / np.sqrt(norm2)
        norm2 = 0.0
        for n in range(n_coordinates):
            out_updated[j, n] = solution[j, n] * inverse
            out_beyond[j, n] = out_updated[j, n] + relaxation * (out_updated[j, n] - atoms[j, n])
            norm2 += out_beyond[j, n].real ** 2 + out_beyond[j, n].imag ** 2
        inverse = 1 / np.sqrt(norm2)
        for n in range(n_coordinates):
            out_beyond[j, n] *= inverse
