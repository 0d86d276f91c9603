"""The best of all supports, by enumeration.

In: correlations of a block of rows, the Gram matrix of the atoms (unit norm, or zero) and the rows. Out: the
support of least error of every row, found by :mod:`shapelex.kernels.support_tree`, and its coefficients.

Every lane of rows is full (the last one is padded with zeros): the bits of a code do not depend on the rows beside it.
"""

import numpy as np

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.compilation import kernel
from shapelex.kernels.support_tree import LANE, count_supports, enumerate_lane, unrank
from shapelex.kernels.triangle import (
    EPS,
    FAST,
    GAIN,
    INDEPENDENT,
    TARGET,
    UNSURE,
    allocate_chosen,
    meets_target,
    solve_row,
    sum_of_squares,
    write_coefs,
    write_support,
)


@kernel(fastmath=FAST)
def pursue_among(correlations, norm2, gram, candidates, limits, size, basis, state, chosen):
    """Choose up to `size` of a few candidates by ORMP, in plain loops; return their number."""
    target, triangle = chosen.target, chosen.triangle
    n_candidates = len(candidates)
    zero = gram.dtype.type(0)
    one = gram.dtype.type(1)
    for a in range(n_candidates):
        state[0, a] = correlations[2 * candidates[a]]
        state[1, a] = correlations[2 * candidates[a] + 1]
        state[2, a] = gram[candidates[a], 0, candidates[a]]
    lowest = one
    for level in range(size):
        best = 0
        best_gain = zero
        for a in range(n_candidates):
            if state[2, a] > limits[INDEPENDENT]:
                gain = (state[0, a] * state[0, a] + state[1, a] * state[1, a]) / state[2, a]
                if gain > best_gain:
                    best_gain = gain
                    best = a
        if not best_gain > limits[GAIN] * norm2:
            return level
        atom = candidates[best]
        inv_norm = one / np.sqrt(state[2, best])
        lowest = min(lowest, state[2, best])
        t_re, t_im = state[0, best] * inv_norm, state[1, best] * inv_norm
        chosen.support[level] = atom
        chosen.inv_diag[level] = inv_norm
        chosen.smallest_left[level] = lowest
        target[0, level] = t_re
        target[1, level] = t_im
        for i in range(level):
            triangle[level, 0, i] = basis[i, 0, best]
            triangle[level, 1, i] = basis[i, 1, best]
        for a in range(n_candidates):
            re, im = gram[atom, 0, candidates[a]], gram[atom, 1, candidates[a]]
            for i in range(level):
                w_re, w_im = triangle[level, 0, i], triangle[level, 1, i]
                re -= w_re * basis[i, 0, a] + w_im * basis[i, 1, a]
                im -= w_re * basis[i, 1, a] - w_im * basis[i, 0, a]
            re *= inv_norm
            im *= inv_norm
            basis[level, 0, a] = re
            basis[level, 1, a] = im
            state[0, a] -= re * t_re + im * t_im
            state[1, a] -= re * t_im - im * t_re
            state[2, a] -= re * re + im * im
        state[2, best] = 0
    return size


@kernel()
def drop_unused(norm2, limits, support, n_chosen, coef):
    """Drop atoms whose weight is rounding; return how many stay."""
    n_kept = 0
    for level in range(n_chosen):
        if coef[0, level] ** 2 + coef[1, level] ** 2 > limits[GAIN] * norm2:
            support[n_kept] = support[level]
            coef[0, n_kept] = coef[0, level]
            coef[1, n_kept] = coef[1, level]
            n_kept += 1
    return n_kept


@kernel()
def enumerate_batch(correlations, norms2, gram, rows, atoms, limits, out_support, out_coefs, out_left, out_needs_row):
    """Code a block of rows by the best of all supports.

    The support found is pursued once more by itself, so that atoms without use drop out, and the rest comes in order
    of gain. Where only rounding is left of a row, the support must beat ORMP, whose residuals are smaller than the sums
    of gains can tell apart. With an error target, sizes are tried from 1 on, and a row stops at the first that
    meets it.

    Parameters
    ----------
    correlations, norms2, gram, rows, atoms, limits
        As in :func:`shapelex.kernels.pursuit.pursue_batch`.
    out_support, out_coefs, out_left, out_needs_row
        As there, with one level.

    Returns
    -------
    bool
        Whether some support has atoms that count as dependent in lexicographic order, so that it was not searched.
    """
    n_samples, n_nonzero = out_support.shape
    n_atoms = gram.shape[0]
    dtype = rows.dtype
    tree_basis = np.empty((n_nonzero, 2, n_atoms), dtype=dtype)
    tree_left = np.empty((n_nonzero + 1, n_atoms), dtype=dtype)
    n_kept = max(n_nonzero - 1, 1)
    corr = aligned_like(n_kept * n_atoms * 2 * LANE, rows).reshape((n_kept, n_atoms, 2 * LANE))
    along = aligned_like((n_nonzero + 1) * 3 * LANE, rows).reshape((n_nonzero + 1, 3 * LANE))
    along[0] = 0
    following = np.empty(n_nonzero + 1, dtype=np.int64)
    best = aligned_like(2 * LANE, rows)
    pending = np.empty(LANE, dtype=np.bool_)

    basis = np.empty((n_nonzero, 2, n_atoms), dtype=dtype)
    state = np.empty((3, n_atoms), dtype=dtype)
    everything = np.arange(n_atoms)
    best_support = np.empty(n_nonzero, dtype=np.int64)
    chosen = allocate_chosen(n_nonzero, rows)

    counts = count_supports(n_atoms, n_nonzero)
    has_skipped = False
    has_target = limits[TARGET] >= 0
    # Sums of gains round: a support that wins by less is equal, and the first of equals is taken.
    # In the precision of the rows: a product with an integer would be in double precision.
    margin = dtype.type(1) + dtype.type(4) * limits[EPS]
    unsure = limits[UNSURE]
    for first in range(0, n_samples, LANE):
        n_here = min(LANE, n_samples - first)
        if n_here < LANE:
            corr[0] = 0
        for j in range(n_atoms):
            for s in range(n_here):
                corr[0, j, s] = correlations[first + s, 2 * j]
                corr[0, j, LANE + s] = correlations[first + s, 2 * j + 1]
        n_pending = n_here
        pending[:] = True
        for size in range(1 if has_target else n_nonzero, n_nonzero + 1):
            if n_pending == 0:
                break
            has_skipped |= enumerate_lane(
                gram, limits[INDEPENDENT], margin, size, tree_basis, tree_left, corr, along, following, best
            )
            for s in range(n_here):
                if not pending[s]:
                    continue
                k = first + s
                row, norm2, needs_row = rows[k], norms2[k], out_needs_row[k : k + 1]
                n_chosen = 0
                is_found = True
                gain = best[s] / margin
                if norm2 - gain <= unsure * norm2:
                    n_chosen = pursue_among(
                        correlations[k], norm2, gram, everything, limits, size, basis, state, chosen
                    )
                    is_found = gain > sum_of_squares(chosen.target, n_chosen) + 16 * limits[EPS] * norm2
                if is_found:
                    found = best_support[:size]
                    unrank(np.int64(best[LANE + s]), counts, size, found)
                    n_chosen = pursue_among(correlations[k], norm2, gram, found, limits, size, basis, state, chosen)
                solve_row(row, atoms, limits, chosen, n_chosen, needs_row)
                out_left[k] = norm2 - sum_of_squares(chosen.target, n_chosen)
                if has_target and meets_target(out_left[k], norm2, limits, row, atoms, chosen, n_chosen, needs_row):
                    pending[s] = False
                    n_pending -= 1
                n_chosen = drop_unused(norm2, limits, chosen.support, n_chosen, chosen.coef)
                write_support(chosen.support, n_chosen, out_support[k])
                write_coefs(chosen.coef, n_chosen, out_coefs[k, 0])
    return has_skipped
