"""ORMP and OMP of many rows side by side, for small dictionaries.

In and out as in :mod:`shapelex.kernels.pursuit`, same recurrences. There the atoms are the vector; with ten or
twenty of them, starting a loop costs more than running it. Here a lane of rows is the vector: every loop runs over
``LANE`` rows, and only what depends on each row's own choice (which Gram row, which coefficients) is picked up one by
one.

Everything of a lane that one loop touches lies at multiples of the known number ``LANE`` in one array: LLVM then needs
one or two alias checks for a loop, and vectorizes it. The last lane is filled with zero rows: the bits of
a code do not depend on the rows beside it.
"""

import numpy as np
from numba import njit

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.triangle import (
    FAST,
    GAIN,
    INDEPENDENT,
    REFINE,
    TARGET,
    UNSURE,
    allocate_chosen,
    meets_target,
    refine,
    solve_triangle,
    write_coefs,
)

LANE = 32
MAX_ATOMS = 32
"""Largest dictionary for which lanes are the faster way; beyond it their arrays leave the cache."""


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def compare_gains(state, atom, independent, best):
    """Let one atom compete, by its gain ``|corr|^2 / left``, for every row of the lane.

    ``best`` holds the squares, the norms left and the atoms of the leaders. Fractions are compared by
    products: a division costs more than all the rest.
    """
    zero = best.dtype.type(0)
    for s in range(LANE):
        left = state[2 * LANE + s]
        square = state[s] * state[s] + state[LANE + s] * state[LANE + s]
        # A spent atom may have slightly less than nothing left: 0 / positive never wins.
        square = square if left > independent else zero
        left = left if left > independent else independent
        is_better = square * best[LANE + s] > best[s] * left
        best[s] = square if is_better else best[s]
        best[LANE + s] = left if is_better else best[LANE + s]
        best[2 * LANE + s] = atom if is_better else best[2 * LANE + s]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def compare_correlations(state, atom, independent, best):
    """Let one atom compete by ``|corr|^2``, for every row of the lane."""
    zero = best.dtype.type(0)
    for s in range(LANE):
        left = state[2 * LANE + s]
        square = state[s] * state[s] + state[LANE + s] * state[LANE + s]
        square = square if left > independent else zero
        is_better = square > best[s]
        best[s] = square if is_better else best[s]
        best[LANE + s] = left if is_better else best[LANE + s]
        best[2 * LANE + s] = atom if is_better else best[2 * LANE + s]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def invert_norms(best, out_along):
    """Inverse norms of what the leaders have left."""
    one = best.dtype.type(1)
    for s in range(LANE):
        out_along[2 * LANE + s] = one / np.sqrt(best[LANE + s])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def subtract_level(weight, basis, new):
    """Subtract ``conj(weight) * basis`` from the new basis entries of one atom."""
    for s in range(LANE):
        a_re, a_im = weight[s], weight[LANE + s]
        new[s] -= a_re * basis[s] + a_im * basis[LANE + s]
        new[LANE + s] -= a_re * basis[LANE + s] - a_im * basis[s]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def project_lane(along, new, state):
    """Scale the new basis entries of one atom, and take their direction out of its state.

    ``along`` holds the targets of the rows (real, imaginary parts) and the inverse norms of their chosen atoms.
    """
    for s in range(LANE):
        t_re, t_im, inv_norm = along[s], along[LANE + s], along[2 * LANE + s]
        u_re = new[s] * inv_norm
        u_im = new[LANE + s] * inv_norm
        new[s] = u_re
        new[LANE + s] = u_im
        state[s] -= u_re * t_re + u_im * t_im
        state[LANE + s] -= u_re * t_im - u_im * t_re
        state[2 * LANE + s] -= u_re * u_re + u_im * u_im


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def gather_gram(gram_rows, chosen, out_new):
    """Copy the Gram row of the atom that each row chose; ``gram_rows[p, j]`` is `atom_p^H atom_j`, interleaved."""
    for s in range(LANE):
        row = gram_rows[chosen[s]]
        for j in range(out_new.shape[0]):
            out_new[j, s] = row[2 * j]
            out_new[j, LANE + s] = row[2 * j + 1]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def subtract_product(factor, coef, out):
    """Subtract ``factor * coef``."""
    for s in range(LANE):
        f_re, f_im = factor[s], factor[LANE + s]
        out[s] -= f_re * coef[s] - f_im * coef[LANE + s]
        out[LANE + s] -= f_re * coef[LANE + s] + f_im * coef[s]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def scale_coef(along, out):
    """Multiply by the inverse norms; they are 0 for rows that have ended, and so become the coefficients."""
    for s in range(LANE):
        out[s] *= along[2 * LANE + s]
        out[LANE + s] *= along[2 * LANE + s]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def solve_lane(triangles, along, n_levels, out_coefs):
    """Coefficients of the first `n_levels` atoms of all rows of a lane, by back substitution."""
    for level in range(n_levels - 1, -1, -1):
        for s in range(2 * LANE):
            out_coefs[level, s] = along[level, s]
        for i in range(level + 1, n_levels):
            subtract_product(triangles[i, level], out_coefs[i], out_coefs[level])
        scale_coef(along[level], out_coefs[level])


@njit(cache=True, nogil=True, error_model="numpy")
def read_lane(triangles, along, supports, s, n_chosen, out_chosen):
    """Take the chosen atoms of row `s`, with their triangular factor and targets, out of its lane."""
    for level in range(n_chosen):
        out_chosen.support[level] = supports[level, s]
        out_chosen.target[0, level] = along[level, s]
        out_chosen.target[1, level] = along[level, LANE + s]
        out_chosen.inv_diag[level] = along[level, 2 * LANE + s]
        for i in range(level):
            out_chosen.triangle[level, 0, i] = triangles[level, i, s]
            out_chosen.triangle[level, 1, i] = triangles[level, i, LANE + s]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def has_small_diagonal(along, s, n_chosen, threshold):
    """Whether an atom of row `s` had less than `threshold` left when it was chosen."""
    for level in range(n_chosen):
        inv_norm = along[level, 2 * LANE + s]
        if inv_norm * inv_norm * threshold > 1:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def pursue_lanes_batch(
    correlations, norms2, gram, rows, atoms, limits, by_correlation, out_support, out_coefs, out_left, out_needs_row
):
    """Code a block of rows by ORMP or OMP, a lane at a time.

    Parameters
    ----------
    correlations, norms2, gram, rows, atoms, limits, by_correlation
        As in :func:`shapelex.kernels.pursuit.pursue_batch`.
    out_support, out_coefs, out_left, out_needs_row
        As there.
    """
    n_samples, n_nonzero = out_support.shape
    n_atoms = gram.shape[0]
    dtype = rows.dtype
    gram_rows = np.empty((n_atoms, 2 * n_atoms), dtype=dtype)
    for p in range(n_atoms):
        for j in range(n_atoms):
            gram_rows[p, 2 * j] = gram[p, 0, j]
            gram_rows[p, 2 * j + 1] = gram[p, 1, j]
    state = aligned_like(n_atoms * 3 * LANE, rows).reshape((n_atoms, 3 * LANE))
    basis = aligned_like(n_nonzero * n_atoms * 2 * LANE, rows).reshape((n_nonzero, n_atoms, 2 * LANE))
    along = aligned_like(n_nonzero * 3 * LANE, rows).reshape((n_nonzero, 3 * LANE))
    best = aligned_like(3 * LANE, rows)
    triangles = aligned_like(n_nonzero * n_nonzero * 2 * LANE, rows).reshape((n_nonzero, n_nonzero, 2 * LANE))
    coefs = aligned_like(n_nonzero * 2 * LANE, rows).reshape((n_nonzero, 2 * LANE))
    supports = np.empty((n_nonzero, LANE), dtype=np.int64)
    lengths = np.empty(LANE, dtype=np.int64)
    left_norms2 = np.empty(LANE, dtype=dtype)

    chosen = allocate_chosen(n_nonzero, rows)
    independent = limits[INDEPENDENT]
    has_target = limits[TARGET] >= 0
    unsure_target = limits[TARGET] + limits[UNSURE]

    for first in range(0, n_samples, LANE):
        n_here = min(LANE, n_samples - first)
        for s in range(LANE):
            lengths[s] = n_nonzero if s < n_here else 0
            left_norms2[s] = norms2[first + s] if s < n_here else 0
        if n_here < LANE:
            state[:] = 0
        for s in range(n_here):
            for j in range(n_atoms):
                state[j, s] = correlations[first + s, 2 * j]
                state[j, LANE + s] = correlations[first + s, 2 * j + 1]
        for j in range(n_atoms):
            for s in range(LANE):
                state[j, 2 * LANE + s] = gram[j, 0, j]
        for level in range(n_nonzero):
            for s in range(LANE):
                best[s] = 0
                best[LANE + s] = 1
                best[2 * LANE + s] = 0
            if by_correlation:
                for j in range(n_atoms):
                    compare_correlations(state[j], dtype.type(j), independent, best)
            else:
                for j in range(n_atoms):
                    compare_gains(state[j], dtype.type(j), independent, best)
            invert_norms(best, along[level])
            n_going = 0
            for s in range(LANE):
                square, left = best[s], best[LANE + s]
                atom = np.int64(best[2 * LANE + s]) if square > 0 else 0
                supports[level, s] = atom
                inv_norm = along[level, 2 * LANE + s]
                is_going = lengths[s] == n_nonzero
                k = first + s
                if is_going and has_target and left_norms2[s] <= unsure_target * norms2[k]:
                    read_lane(triangles, along, supports, s, level, chosen)
                    is_going = not meets_target(
                        left_norms2[s], norms2[k], limits, rows[k], atoms, chosen, level, out_needs_row[k : k + 1]
                    )
                if is_going:
                    is_going = square > limits[GAIN] * norms2[k] * left
                if is_going:
                    n_going += 1
                    along[level, s] = state[atom, s] * inv_norm
                    along[level, LANE + s] = state[atom, LANE + s] * inv_norm
                    left_norms2[s] -= along[level, s] ** 2 + along[level, LANE + s] ** 2
                else:
                    # Zeros leave everything below as it is: the row has ended.
                    lengths[s] = min(lengths[s], level)
                    along[level, s] = 0
                    along[level, LANE + s] = 0
                    along[level, 2 * LANE + s] = 0
            if n_going == 0:
                break
            for i in range(level):
                for s in range(LANE):
                    triangles[level, i, s] = basis[i, supports[level, s], s]
                    triangles[level, i, LANE + s] = basis[i, supports[level, s], LANE + s]
            if level == n_nonzero - 1:
                break
            gather_gram(gram_rows, supports[level], basis[level])
            for j in range(n_atoms):
                for i in range(level):
                    subtract_level(triangles[level, i], basis[i, j], basis[level, j])
                project_lane(along[level], basis[level, j], state[j])
            for s in range(LANE):
                if lengths[s] == n_nonzero:
                    state[supports[level, s], 2 * LANE + s] = 0
        n_longest = 0
        for s in range(n_here):
            n_longest = max(n_longest, lengths[s])
            for level in range(n_nonzero):
                out_support[first + s, level] = supports[level, s] if level < lengths[s] else -1
            out_left[first + s] = left_norms2[s]
        n_levels = out_coefs.shape[1]
        for out_level in range(n_levels):
            n_solved = n_longest if n_levels == 1 else min(out_level + 1, n_longest)
            solve_lane(triangles, along, n_solved, coefs)
            for s in range(n_here):
                k = first + s
                for level in range(n_solved):
                    out_coefs[k, out_level, 2 * level] = coefs[level, s]
                    out_coefs[k, out_level, 2 * level + 1] = coefs[level, LANE + s]
                for level in range(n_solved, n_nonzero):
                    out_coefs[k, out_level, 2 * level] = 0
                    out_coefs[k, out_level, 2 * level + 1] = 0
                n_chosen = min(lengths[s], n_solved)
                if not has_small_diagonal(along, s, n_chosen, limits[REFINE]):
                    continue
                if rows.shape[1] == 0:
                    out_needs_row[k] = True
                    continue
                read_lane(triangles, along, supports, s, n_chosen, chosen)
                solve_triangle(chosen.triangle, chosen.inv_diag, n_chosen, chosen.target, chosen.coef)
                refine(rows[k], atoms, chosen, n_chosen)
                write_coefs(chosen.coef, n_chosen, out_coefs[k, out_level])
