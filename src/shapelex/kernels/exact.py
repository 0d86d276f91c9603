"""The best of all supports, by enumeration.

In: correlations of a block of rows, the Gram matrix of the atoms (unit norm, or zero) and the rows. Out: the
support of least error of every row, and its coefficients.

The supports are walked in lexicographic order, depth first. What a chosen prefix does to the other atoms
(`basis`, `left` of :mod:`shapelex.kernels.pursuit`) does not depend on the row, so it is computed once for a whole
lane of rows; for each row a step down the tree costs one complex multiply-add an atom, and a leaf the same and its
score. Every support is visited: the result is the minimum because nothing was left out.

Rows of a lane are the contiguous axis here, and every lane is full (the last one is padded with zeros): the bits
of a code do not depend on the rows beside it.
"""

import numpy as np
from numba import njit

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.triangle import (
    EPS,
    GAIN,
    INDEPENDENT,
    TARGET,
    meets_target,
    solve_row,
    sum_of_squares,
    write_coefs,
    write_support,
)

FAST = {"contract", "reassoc", "nsz", "arcp"}


# Rows that go through the tree together. Everything of a lane that one loop touches lies at multiples of this
# known number in one array: LLVM then needs two alias checks for a loop, not twenty, and vectorizes it.
LANE = 128


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def descend(gram, basis, left, depth, atom, independent):
    """Project the atoms after `atom` onto the prefix that ends in it.

    Writes ``basis[depth, :, j]`` and ``left[depth + 1, j]`` for ``j > atom``; gives back ``1 / sqrt(left)`` of
    `atom`, or 0 when the prefix before it already spans it. Then nothing changes below: such a support does as well
    as the one without the atom.
    """
    n_atoms = gram.shape[0]
    zero = gram.dtype.type(0)
    remaining = left[depth, atom]
    if not remaining > independent:
        for j in range(atom + 1, n_atoms):
            basis[depth, 0, j] = 0
            basis[depth, 1, j] = 0
            left[depth + 1, j] = left[depth, j]
        return zero
    inv_norm = gram.dtype.type(1) / np.sqrt(remaining)
    for j in range(atom + 1, n_atoms):
        re = gram[atom, 0, j]
        im = gram[atom, 1, j]
        for i in range(depth):
            a_re, a_im = basis[i, 0, atom], basis[i, 1, atom]
            re -= a_re * basis[i, 0, j] + a_im * basis[i, 1, j]
            im -= a_re * basis[i, 1, j] - a_im * basis[i, 0, j]
        re *= inv_norm
        im *= inv_norm
        basis[depth, 0, j] = re
        basis[depth, 1, j] = im
        left[depth + 1, j] = left[depth, j] - (re * re + im * im)
    return inv_norm


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def enter(corr, inv_norm, gain, out_along):
    """Coordinates of the rows along a new direction, and their gains with it.

    A row of ``along`` holds, for all rows of the lane, the real parts, the imaginary parts and the gains.
    """
    for s in range(LANE):
        re = corr[s] * inv_norm
        im = corr[LANE + s] * inv_norm
        out_along[s] = re
        out_along[LANE + s] = im
        out_along[2 * LANE + s] = gain[2 * LANE + s] + (re * re + im * im)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def step_down(corr, along, b_re, b_im, out_corr):
    """Take one direction out of the correlations of one atom with all rows of the lane."""
    for s in range(LANE):
        re, im = along[s], along[LANE + s]
        out_corr[s] = corr[s] - (b_re * re + b_im * im)
        out_corr[LANE + s] = corr[LANE + s] - (b_re * im - b_im * re)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def score_leaf(corr, along, b_re, b_im, inv_left, rank, margin, best):
    """Compare one leaf with the best so far, for all rows of the lane.

    ``best`` holds the gains to beat, which are `margin` (a factor a few roundings above 1) times the best gains, then
    the ranks, as floats: the comparison and both choices run in one vector type.
    """
    for s in range(LANE):
        re = corr[s] - (b_re * along[s] + b_im * along[LANE + s])
        im = corr[LANE + s] - (b_re * along[LANE + s] - b_im * along[s])
        total = along[2 * LANE + s] + (re * re + im * im) * inv_left
        is_better = total > best[s]
        best[s] = total * margin if is_better else best[s]
        best[LANE + s] = rank if is_better else best[LANE + s]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def score_two_leaves(corr, next_corr, along, b_re, b_im, inv_left, c_re, c_im, next_inv_left, rank, margin, best):
    """Do the work of two calls of :func:`score_leaf` with half the loads."""
    next_rank = rank + best.dtype.type(1)
    for s in range(LANE):
        t_re, t_im, gain = along[s], along[LANE + s], along[2 * LANE + s]
        re = corr[s] - (b_re * t_re + b_im * t_im)
        im = corr[LANE + s] - (b_re * t_im - b_im * t_re)
        total = gain + (re * re + im * im) * inv_left
        re = next_corr[s] - (c_re * t_re + c_im * t_im)
        im = next_corr[LANE + s] - (c_re * t_im - c_im * t_re)
        next_total = gain + (re * re + im * im) * next_inv_left
        is_next = next_total > total * margin
        larger = next_total if is_next else total
        larger_rank = next_rank if is_next else rank
        is_better = larger > best[s]
        best[s] = larger * margin if is_better else best[s]
        best[LANE + s] = larger_rank if is_better else best[LANE + s]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def enumerate_lane(gram, independent, margin, size, basis, left, corr, along, following, best):
    """Find the best support of `size` atoms for every row of a lane.

    ``corr[0]`` holds the correlations ``(n_atoms, 2 * LANE)``, ``along[0]`` zeros. ``best`` gets `margin` times
    the gains, then the lexicographic ranks of the best supports, the first of those that are equal up to `margin`.
    Returns whether atoms other than zero were skipped because those before them in a support span them.
    """
    n_atoms = gram.shape[0]
    zero = gram.dtype.type(0)
    one = gram.dtype.type(1)
    for j in range(n_atoms):
        left[0, j] = gram[j, 0, j]
    rank = zero
    best[:LANE] = -one
    best[LANE:] = 0
    if size == 1:
        for j in range(n_atoms):
            inv_left = one / left[0, j] if left[0, j] > independent else zero
            score_leaf(corr[0, j], along[0], zero, zero, inv_left, rank, margin, best)
            rank += one
        return False
    has_skipped = False
    depth = 0
    following[0] = 0
    while depth >= 0:
        atom = following[depth]
        if atom > n_atoms - (size - depth):
            depth -= 1
            continue
        following[depth] = atom + 1
        inv_norm = descend(gram, basis, left, depth, atom, independent)
        has_skipped |= inv_norm == 0 and left[0, atom] > independent
        here = along[depth + 1]
        enter(corr[depth, atom], inv_norm, along[depth], here)
        b_re, b_im, remaining = basis[depth, 0], basis[depth, 1], left[depth + 1]
        if depth + 2 < size:
            for j in range(atom + 1, n_atoms):
                step_down(corr[depth, j], here, b_re[j], b_im[j], corr[depth + 1, j])
            depth += 1
            following[depth] = atom + 1
            continue
        j = atom + 1
        while j < n_atoms:
            inv_left = one / remaining[j] if remaining[j] > independent else zero
            has_skipped |= inv_left == 0 and left[0, j] > independent
            if j + 1 == n_atoms:
                score_leaf(corr[depth, j], here, b_re[j], b_im[j], inv_left, rank, margin, best)
                rank += one
                break
            next_inv_left = one / remaining[j + 1] if remaining[j + 1] > independent else zero
            has_skipped |= next_inv_left == 0 and left[0, j + 1] > independent
            score_two_leaves(
                corr[depth, j],
                corr[depth, j + 1],
                here,
                b_re[j],
                b_im[j],
                inv_left,
                b_re[j + 1],
                b_im[j + 1],
                next_inv_left,
                rank,
                margin,
                best,
            )
            rank += one + one
            j += 2
    return has_skipped


@njit(cache=True, nogil=True, error_model="numpy")
def unrank(rank, n_atoms, size, out_support):
    """Support with a lexicographic rank among the supports of `size` atoms."""
    atom = 0
    for level in range(size):
        while True:
            # Supports that go on with `atom` here: comb(n_atoms - atom - 1, size - level - 1).
            count = 1
            below = n_atoms - atom - 1
            chosen = size - level - 1
            for i in range(chosen):
                count = count * (below - i) // (i + 1)
            if rank < count:
                break
            rank -= count
            atom += 1
        out_support[level] = atom
        atom += 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def pursue_among(
    correlations,
    norm2,
    gram,
    candidates,
    n_candidates,
    limits,
    size,
    basis,
    state,
    inv_diag,
    smallest_left,
    target,
    triangle,
    support,
):
    """Choose up to `size` of a few candidates by ORMP, in plain loops; give back their number.

    Leaves what :func:`shapelex.kernels.triangle.solve_row` needs.
    """
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
        support[level] = atom
        inv_diag[level] = inv_norm
        smallest_left[level] = lowest
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


@njit(cache=True, nogil=True, error_model="numpy")
def drop_unused(norm2, limits, support, n_chosen, coef):
    """Drop atoms whose weight is rounding; give back how many stay."""
    n_kept = 0
    for level in range(n_chosen):
        if coef[0, level] ** 2 + coef[1, level] ** 2 > limits[GAIN] * norm2:
            support[n_kept] = support[level]
            coef[0, n_kept] = coef[0, level]
            coef[1, n_kept] = coef[1, level]
            n_kept += 1
    return n_kept


@njit(cache=True, nogil=True, error_model="numpy")
def enumerate_batch(correlations, norms2, gram, rows, atoms, limits, out_support, out_coefs, out_left, out_needs_row):
    """Code a block of rows by the best of all supports.

    The support found is pursued once more by itself, so that atoms without use drop out, and the rest comes in order
    of gain. Where hardly anything of a row is left, gains tie to rounding: there the support must beat ORMP, which sees
    smaller residuals than the sums of gains can tell apart. With an error target, sizes are tried from 1 on and a row
    stops at the first that meets it.

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

    # Sums of gains are sure to a few eps of the squared norm: residuals far above that need no second opinion.
    unsure = 64 * np.sqrt(limits[EPS])

    basis = np.empty((n_nonzero, 2, n_atoms), dtype=dtype)
    state = np.empty((3, n_atoms), dtype=dtype)
    everything = np.arange(n_atoms)
    inv_diag = np.empty(n_nonzero, dtype=dtype)
    smallest_left = np.empty(n_nonzero, dtype=dtype)
    target = np.empty((2, n_nonzero), dtype=dtype)
    triangle = np.empty((n_nonzero, 2, n_nonzero), dtype=dtype)
    coef = np.empty((2, n_nonzero), dtype=dtype)
    step = np.empty((2, n_nonzero), dtype=dtype)
    update = np.empty((2, n_nonzero), dtype=dtype)
    residual = np.empty(rows.shape[1], dtype=dtype)
    support = np.empty(n_nonzero, dtype=np.int64)
    chosen = np.empty(n_nonzero, dtype=np.int64)

    has_skipped = False
    has_target = limits[TARGET] >= 0
    # Sums of gains round: a support that wins by less is equal, and the first of equals is taken.
    margin = dtype.type(1) + 4 * limits[EPS]
    for first in range(0, n_samples, LANE):
        n_here = min(LANE, n_samples - first)
        for j in range(n_atoms):
            for s in range(LANE):
                here = s < n_here
                corr[0, j, s] = correlations[first + s, 2 * j] if here else 0
                corr[0, j, LANE + s] = correlations[first + s, 2 * j + 1] if here else 0
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
                n_chosen = 0
                is_found = True
                gain = best[s] / margin
                if norms2[k] - gain <= unsure * norms2[k]:
                    n_chosen = pursue_among(
                        correlations[k],
                        norms2[k],
                        gram,
                        everything,
                        n_atoms,
                        limits,
                        size,
                        basis,
                        state,
                        inv_diag,
                        smallest_left,
                        target,
                        triangle,
                        support,
                    )
                    incumbent = sum_of_squares(target, n_chosen)
                    is_found = gain > incumbent + 16 * limits[EPS] * norms2[k]
                if is_found:
                    unrank(np.int64(best[LANE + s]), n_atoms, size, chosen)
                    n_chosen = pursue_among(
                        correlations[k],
                        norms2[k],
                        gram,
                        chosen,
                        size,
                        limits,
                        size,
                        basis,
                        state,
                        inv_diag,
                        smallest_left,
                        target,
                        triangle,
                        support,
                    )
                solve_row(
                    rows[k],
                    atoms,
                    limits,
                    triangle,
                    inv_diag,
                    smallest_left,
                    support,
                    n_chosen,
                    target,
                    coef,
                    residual,
                    step,
                    update,
                    out_needs_row[k : k + 1],
                )
                out_left[k] = norms2[k] - sum_of_squares(target, n_chosen)
                if meets_target(
                    out_left[k],
                    norms2[k],
                    limits,
                    rows[k],
                    atoms,
                    triangle,
                    inv_diag,
                    support,
                    n_chosen,
                    target,
                    update,
                    residual,
                    out_needs_row[k : k + 1],
                ):
                    pending[s] = False
                    n_pending -= 1
                n_chosen = drop_unused(norms2[k], limits, support, n_chosen, coef)
                write_support(support, n_chosen, out_support[k])
                write_coefs(coef, n_chosen, out_coefs[k, 0])
    return has_skipped
