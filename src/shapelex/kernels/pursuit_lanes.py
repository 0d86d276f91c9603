"""ORMP and OMP of many rows side by side, for small dictionaries.

In and out as in :mod:`shapelex.kernels.pursuit`, same recurrences. There the atoms are the vector; with ten or
twenty of them, starting a loop costs more than running it. Here a lane of rows is the vector: every loop runs over
the rows of a lane, and only what depends on each row's own choice (which Gram row, which coefficients) is picked up one
by one.

Everything of a lane that one loop touches lies at known distances in one array: LLVM then needs a few alias checks for
a loop, and vectorizes it. The last lane is filled with zero rows: the bits of a code do not depend on the rows beside
it.
"""

import numpy as np

from shapelex.kernels.compilation import aligned_like, kernel
from shapelex.kernels.triangle import FAST, allocate_chosen, meets_target, solve_row, write_coefs

# A lane of real numbers; shorter ones spend their time on starting loops, longer ones leave the cache.
LANE_BYTES = 512
# Maximum number of atoms times non-zeros; beyond it tiles of atoms win, see :mod:`shapelex.kernels.pursuit`.
MAX_ENTRIES = 480


@kernel()
def lane_of(array):
    """Number of rows in a lane; a constant of the precision, known when the loops are compiled."""
    return 8 * LANE_BYTES // np.finfo(array.dtype).bits


@kernel(fastmath=FAST)
def compare_atom(state, atom, independent, by_correlation, best):
    """Let an atom compete with the leaders, by ``|corr|^2 / left`` or by ``|corr|^2``, for every row of the lane.

    ``best`` holds the numerators, the denominators and the atoms of the leaders. Fractions are compared by products: a
    division costs more than all the rest.
    """
    lane = lane_of(best)
    zero, one = best.dtype.type(0), best.dtype.type(1)
    for s in range(lane):
        # A spent atom may have slightly less than nothing left: 0 / positive never wins.
        re, im, left = state[s], state[lane + s], state[2 * lane + s]
        square = re * re + im * im
        square = square if left > independent else zero
        left = left if left > independent else independent
        left = one if by_correlation else left
        is_better = square * best[lane + s] > best[s] * left
        best[s] = square if is_better else best[s]
        best[lane + s] = left if is_better else best[lane + s]
        best[2 * lane + s] = atom if is_better else best[2 * lane + s]


@kernel(fastmath=FAST)
def start_step(best, level, gain, state, progress, out_atoms, out_along):
    """Decide which rows take their leader; return how many.

    ``progress`` holds the squared norms of the rows, what is left of them, the numbers of atoms chosen, and the inverse
    of the smallest norm that a chosen atom had left. ``along``
    gets the weights of the rows along their new directions, and the inverse of what the leaders have left, which is 0
    for rows that have ended: so becomes everything that follows from it.
    """
    lane = lane_of(best)
    zero, one = best.dtype.type(0), best.dtype.type(1)
    n_going = 0
    for s in range(lane):
        atom = np.int64(best[2 * lane + s])
        re, im, left = state[atom, s], state[atom, lane + s], state[atom, 2 * lane + s]
        square = re * re + im * im
        is_going = best[s] > 0 and progress[2 * lane + s] == level and square > gain * progress[s] * left
        inv_left = one / left if is_going else zero
        out_atoms[s] = atom
        out_along[s] = re * inv_left
        out_along[lane + s] = im * inv_left
        out_along[2 * lane + s] = inv_left
        progress[lane + s] -= square * inv_left
        progress[2 * lane + s] += one if is_going else zero
        progress[3 * lane + s] = max(progress[3 * lane + s], inv_left)
        n_going += is_going
    return n_going


@kernel(fastmath=FAST)
def project_lane(along, new, state):
    """Take the direction of the new basis entries of one atom out of its state; `along` as in :func:`start_step`."""
    lane = lane_of(new)
    for s in range(lane):
        re, im, c_re, c_im = new[s], new[lane + s], along[s], along[lane + s]
        state[s] -= re * c_re + im * c_im
        state[lane + s] -= re * c_im - im * c_re
        state[2 * lane + s] -= (re * re + im * im) * along[2 * lane + s]


@kernel(fastmath=FAST)
def gather_gram(gram, chosen, out_new):
    """Copy the Gram row of the atom that each row chose."""
    lane = lane_of(out_new)
    for s in range(lane):
        row = gram[chosen[s]]
        for j in range(out_new.shape[0]):
            out_new[j, s] = row[0, j]
            out_new[j, lane + s] = row[1, j]


@kernel(fastmath=FAST)
def subtract_product(factor, sign, coef, out):
    """Subtract ``factor * coef``, or with the sign -1 ``conj(factor) * coef``."""
    lane = lane_of(out)
    for s in range(lane):
        f_re, f_im = factor[s], sign * factor[lane + s]
        out[s] -= f_re * coef[s] - f_im * coef[lane + s]
        out[lane + s] -= f_re * coef[lane + s] + f_im * coef[s]


@kernel(fastmath=FAST)
def solve_lane(triangles, along, n_levels, out_coefs):
    """Coefficients of the first `n_levels` atoms of all rows of a lane, by back substitution."""
    lane = lane_of(along)
    for level in range(n_levels - 1, -1, -1):
        for s in range(2 * lane):
            out_coefs[level, s] = along[level, s]
        for i in range(level + 1, n_levels):
            subtract_product(triangles[i, level], along.dtype.type(1), out_coefs[i], out_coefs[level])


@kernel()
def read_lane(triangles, along, supports, s, n_chosen, out_chosen):
    """Take the chosen atoms of row `s`, with their triangular factor and targets, out of its lane.

    A lane has the factor with ones on its diagonal, and the squares of the diagonal apart.
    """
    lane = lane_of(along)
    one = along.dtype.type(1)
    lowest = one
    for level in range(n_chosen):
        inv_left = along[level, 2 * lane + s]
        norm = one / np.sqrt(inv_left)
        lowest = min(lowest, one / inv_left)
        out_chosen.support[level] = supports[level, s]
        out_chosen.inv_diag[level] = one / norm
        out_chosen.smallest_left[level] = lowest
        out_chosen.target[level] = complex(along[level, s] * norm, along[level, lane + s] * norm)
        for i in range(level):
            norm = one / out_chosen.inv_diag[i]
            out_chosen.triangle[level, i] = complex(triangles[level, i, s] * norm, triangles[level, i, lane + s] * norm)


@kernel()
def pursue_lanes_batch(
    correlations, gram, rows, atoms, limits, by_correlation, out_support, out_coefs, out_left, out_needs_row
):
    """Code a block of rows by ORMP or OMP, a lane at a time.

    Parameters
    ----------
    correlations, gram, rows, atoms, limits, by_correlation
        As in :func:`shapelex.kernels.pursuit.search_batch`.
    out_support, out_coefs, out_left, out_needs_row
        As there.
    """
    lane = lane_of(rows)
    n_samples, n_nonzero = out_support.shape
    n_atoms = gram.shape[0]
    dtype = rows.dtype
    # One more cache line keeps the entries of one row, for all atoms, out of the same few sets of the cache.
    line = lane // 8
    state = aligned_like(n_atoms * (3 * lane + line), rows).reshape((n_atoms, 3 * lane + line))
    n_entries = n_nonzero * n_atoms * (2 * lane + line)
    basis = aligned_like(n_entries, rows).reshape((n_nonzero, n_atoms, 2 * lane + line))
    along = aligned_like(n_nonzero * 3 * lane, rows).reshape((n_nonzero, 3 * lane))
    best = aligned_like(3 * lane, rows)
    progress = aligned_like(4 * lane, rows)
    triangles = aligned_like(n_nonzero * n_nonzero * 2 * lane, rows).reshape((n_nonzero, n_nonzero, 2 * lane))
    coefs = aligned_like(n_nonzero * 2 * lane, rows).reshape((n_nonzero, 2 * lane))
    supports = np.empty((n_nonzero, lane), dtype=np.int64)

    chosen = allocate_chosen(n_nonzero, rows, out_coefs)
    independent = limits.independent
    has_target = limits.target >= 0
    unsure_target = limits.target + limits.unsure

    for first in range(0, n_samples, lane):
        n_here = min(lane, n_samples - first)
        if n_here < lane:
            state[:] = 0
        progress[:] = 0
        for s in range(n_here):
            progress[s] = 1
            progress[lane + s] = 1
            for j in range(n_atoms):
                state[j, s] = correlations[first + s, 2 * j]
                state[j, lane + s] = correlations[first + s, 2 * j + 1]
        for j in range(n_atoms):
            state[j, 2 * lane : 3 * lane] = gram[j, 0, j]
        for level in range(n_nonzero):
            best[:] = 0
            best[lane : 2 * lane] = 1
            for j in range(n_atoms):
                compare_atom(state[j], dtype.type(j), independent, by_correlation, best)
            if has_target:
                for s in range(n_here):
                    k = first + s
                    left = progress[lane + s]
                    if progress[2 * lane + s] == level and left <= unsure_target:
                        read_lane(triangles, along, supports, s, level, chosen)
                        if meets_target(left, limits, rows[k], atoms, chosen, level, out_needs_row[k : k + 1]):
                            best[s] = 0
            chosen_atoms, here = supports[level], along[level]
            if start_step(best, dtype.type(level), limits.gain, state, progress, chosen_atoms, here) == 0:
                break
            weights = triangles[level]
            for i in range(level):
                for s in range(lane):
                    atom, inv_left = supports[level, s], along[i, 2 * lane + s]
                    weights[i, s] = basis[i, atom, s] * inv_left
                    weights[i, lane + s] = basis[i, atom, lane + s] * inv_left
            if level == n_nonzero - 1:
                break
            gather_gram(gram, supports[level], basis[level])
            for j in range(n_atoms):
                new = basis[level, j]
                for i in range(level):
                    subtract_product(weights[i], dtype.type(-1), basis[i, j], new)
                project_lane(here, new, state[j])
            for s in range(lane):
                state[supports[level, s], 2 * lane + s] = 0
        n_longest = 0
        for s in range(n_here):
            n_chosen = int(progress[2 * lane + s])
            n_longest = max(n_longest, n_chosen)
            for level in range(n_nonzero):
                out_support[first + s, level] = supports[level, s] if level < n_chosen else -1
            out_left[first + s] = progress[lane + s]
        n_levels = out_coefs.shape[1]
        for out_level in range(n_levels):
            n_solved = n_longest if n_levels == 1 else min(out_level + 1, n_longest)
            solve_lane(triangles, along, n_solved, coefs)
            for s in range(n_here):
                k = first + s
                for level in range(n_solved):
                    out_coefs[k, out_level, level] = complex(coefs[level, s], coefs[level, lane + s])
                out_coefs[k, out_level, n_solved:] = 0
                if progress[3 * lane + s] * limits.refine > 1:
                    n_chosen = min(int(progress[2 * lane + s]), n_solved)
                    read_lane(triangles, along, supports, s, n_chosen, chosen)
                    solve_row(rows[k], atoms, limits, chosen, n_chosen, out_needs_row[k : k + 1])
                    write_coefs(chosen.coef, n_chosen, out_coefs[k, out_level])
