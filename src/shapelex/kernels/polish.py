"""Exchange polish: the support that a search found is improved by exchanges of one atom for another.

Of all pairs of a chosen and another atom the best is exchanged, as long as the error falls by more than rounding. Rows
whose support an exchange improves are written again, the others keep their bits.

For a row with the correlations ``c`` and a support `S`, with ``M`` the inverse of
``G_SS``, ``a = M c_S``, ``B = M G_S.`` (k × n_atoms), ``r = c - G_.S a`` and ``left_j = G_jj - G_jS M
G_Sj``, dropping the atom at place `p` raises the squared error by ``|a_p|^2 / M_pp``. Then ``r_j`` becomes
``r_j + conj(B_pj) a_p / M_pp``, ``left_j`` becomes ``left_j + |B_pj|^2 / M_pp``, and adding atom `j` lowers it by
``|r_j|^2 / left_j``. All pairs cost ``k n_atoms`` operations, and so does the update after an exchange.

Complex numbers are pairs of real arrays, and atoms are the contiguous axis.

All is in double precision: the inverse of a Gram matrix has the square of the condition number of the atoms, and single
precision keeps no digit of the gains of exchanges of similar atoms. ``limits`` are those of the precision of the rows.

With an error target, a row that meets it also tries fewer atoms: the atom that costs least is dropped, and the rest is
polished. The smaller support is kept where it still meets the target, and the next atom is tried. A row never gets
more atoms, nor a larger error with as many.
"""

from typing import Any, NamedTuple

import numpy as np

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.compilation import kernel
from shapelex.kernels.exact import pursue_among, read_support
from shapelex.kernels.pursuit import first_largest, squared_norms
from shapelex.kernels.triangle import (
    EPS,
    FAST,
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


class Exchange(NamedTuple):
    """The quantities of the module's formulas, for one support of one row.

    ``support`` (k,), ``inverse`` = M (k, 2, k), ``weights`` = a (2, k), ``combined`` = B (k, 2, width),
    ``state`` = the parts of r, then left (3, width). The others are workspace; ``triangle``, ``inv_diag`` and
    ``target`` are those of :class:`~shapelex.kernels.triangle.Chosen`.
    """

    support: Any
    inverse: Any
    weights: Any
    combined: Any
    state: Any
    triangle: Any
    inv_diag: Any
    target: Any
    columns: Any
    dropped: Any
    mixing: Any
    score_bits: Any


@kernel()
def allocate_exchange(n_nonzero, gram, score_bits):
    """Uninitialized arrays for up to `n_nonzero` atoms; `score_bits` are integers as wide as the floats."""
    width = gram.shape[2]
    dtype = gram.dtype
    return Exchange(
        np.empty(n_nonzero, dtype=np.int64),
        np.empty((n_nonzero, 2, n_nonzero), dtype=dtype),
        np.empty((2, n_nonzero), dtype=dtype),
        aligned_like(n_nonzero * 2 * width, gram).reshape((n_nonzero, 2, width)),
        aligned_like(3 * width, gram).reshape((3, width)),
        np.empty((n_nonzero, 2, n_nonzero), dtype=dtype),
        np.empty(n_nonzero, dtype=dtype),
        np.empty((2, n_nonzero), dtype=dtype),
        np.empty((n_nonzero, 2, n_nonzero), dtype=dtype),
        aligned_like(2 * width, gram).reshape((2, width)),
        np.empty((4, n_nonzero), dtype=dtype),
        score_bits,
    )


@kernel(fastmath=FAST)
def factor_support(correlations, gram, independent, size, exchange):
    """Factor ``G_SS`` in the order of the support; tell whether it is independent in this order."""
    triangle, inv_diag, target = exchange.triangle, exchange.inv_diag, exchange.target
    for level in range(size):
        atom = exchange.support[level]
        column_re, column_im = triangle[level, 0], triangle[level, 1]
        left = gram[atom, 0, atom]
        t_re, t_im = correlations[2 * atom], correlations[2 * atom + 1]
        for i in range(level):
            row_re, row_im = triangle[i, 0], triangle[i, 1]
            other = exchange.support[i]
            re, im = gram[other, 0, atom], gram[other, 1, atom]
            for m in range(i):
                re -= row_re[m] * column_re[m] + row_im[m] * column_im[m]
                im -= row_re[m] * column_im[m] - row_im[m] * column_re[m]
            re *= inv_diag[i]
            im *= inv_diag[i]
            column_re[i] = re
            column_im[i] = im
            left -= re * re + im * im
            t_re -= re * target[0, i] + im * target[1, i]
            t_im -= re * target[1, i] - im * target[0, i]
        if not left > independent:
            return False
        inv_diag[level] = gram.dtype.type(1) / np.sqrt(left)
        target[0, level] = t_re * inv_diag[level]
        target[1, level] = t_im * inv_diag[level]
    return True


@kernel(fastmath=FAST)
def invert_factor(size, exchange):
    """Write ``inverse`` and ``weights`` from the triangular factor."""
    triangle, inv_diag, target = exchange.triangle, exchange.inv_diag, exchange.target
    columns, inverse = exchange.columns, exchange.inverse
    zero = inv_diag.dtype.type(0)
    # Row `level` of `columns` is column `level` of the inverse of the triangular factor.
    for level in range(size):
        out_re, out_im = columns[level, 0], columns[level, 1]
        for i in range(size):
            out_re[i] = zero
            out_im[i] = zero
        out_re[level] = inv_diag.dtype.type(1)
        for i in range(level, -1, -1):
            re, im = out_re[i] * inv_diag[i], out_im[i] * inv_diag[i]
            out_re[i] = re
            out_im[i] = im
            row_re, row_im = triangle[i, 0], triangle[i, 1]
            for m in range(i):
                out_re[m] -= row_re[m] * re - row_im[m] * im
                out_im[m] -= row_re[m] * im + row_im[m] * re
    for p in range(size):
        row_re, row_im = inverse[p, 0], inverse[p, 1]
        for q in range(size):
            row_re[q] = zero
            row_im[q] = zero
        for level in range(p, size):
            v_re, v_im = columns[level, 0, p], columns[level, 1, p]
            of_re, of_im = columns[level, 0], columns[level, 1]
            for q in range(level + 1):
                row_re[q] += v_re * of_re[q] + v_im * of_im[q]
                row_im[q] += v_im * of_re[q] - v_re * of_im[q]
    for p in range(size):
        re = zero
        im = zero
        for level in range(p, size):
            v_re, v_im = columns[level, 0, p], columns[level, 1, p]
            re += v_re * target[0, level] - v_im * target[1, level]
            im += v_re * target[1, level] + v_im * target[0, level]
        exchange.weights[0, p] = re
        exchange.weights[1, p] = im


@kernel(fastmath=FAST)
def add_gram_rows(gram, support, size, re, im, out):
    """Add ``sum_q (re[q] + i im[q]) gram[support[q]]`` to the two parts of `out`, four rows in one pass."""
    out_re, out_im = out[0], out[1]
    width = gram.shape[2]
    q = 0
    while q + 4 <= size:
        g0, h0 = gram[support[q], 0], gram[support[q], 1]
        g1, h1 = gram[support[q + 1], 0], gram[support[q + 1], 1]
        g2, h2 = gram[support[q + 2], 0], gram[support[q + 2], 1]
        g3, h3 = gram[support[q + 3], 0], gram[support[q + 3], 1]
        a0, b0, a1, b1 = re[q], im[q], re[q + 1], im[q + 1]
        a2, b2, a3, b3 = re[q + 2], im[q + 2], re[q + 3], im[q + 3]
        for j in range(width):
            x0, y0 = g0[j], h0[j]
            x1, y1 = g1[j], h1[j]
            x2, y2 = g2[j], h2[j]
            x3, y3 = g3[j], h3[j]
            new_re = out_re[j] + (a0 * x0 - b0 * y0 + a1 * x1 - b1 * y1 + a2 * x2 - b2 * y2 + a3 * x3 - b3 * y3)
            new_im = out_im[j] + (a0 * y0 + b0 * x0 + a1 * y1 + b1 * x1 + a2 * y2 + b2 * x2 + a3 * y3 + b3 * x3)
            out_re[j] = new_re
            out_im[j] = new_im
        q += 4
    while q < size:
        g0, h0 = gram[support[q], 0], gram[support[q], 1]
        a0, b0 = re[q], im[q]
        for j in range(width):
            x0, y0 = g0[j], h0[j]
            new_re = out_re[j] + (a0 * x0 - b0 * y0)
            new_im = out_im[j] + (a0 * y0 + b0 * x0)
            out_re[j] = new_re
            out_im[j] = new_im
        q += 1


@kernel(fastmath=FAST)
def take_out(gram_row, combined_row, a_re, a_im, state):
    """Take one chosen atom out of the correlations and norms of all atoms."""
    g_re, g_im = gram_row[0], gram_row[1]
    b_re, b_im = combined_row[0], combined_row[1]
    r_re, r_im, left = state[0], state[1], state[2]
    for j in range(g_re.shape[0]):
        x, y = g_re[j], g_im[j]
        r_re[j] -= x * a_re + y * a_im
        r_im[j] -= x * a_im - y * a_re
        left[j] -= x * b_re[j] + y * b_im[j]


@kernel()
def combine(correlations, gram, atom_norms2, size, exchange):
    """Write ``combined`` and ``state`` from ``inverse`` and ``weights``."""
    state, combined, support = exchange.state, exchange.combined, exchange.support
    state[:] = 0
    for j in range(atom_norms2.shape[0]):
        state[0, j] = correlations[2 * j]
        state[1, j] = correlations[2 * j + 1]
        state[2, j] = atom_norms2[j]
    for p in range(size):
        combined[p] = 0
        add_gram_rows(gram, support, size, exchange.inverse[p, 0], exchange.inverse[p, 1], combined[p])
        take_out(gram[support[p]], combined[p], exchange.weights[0, p], exchange.weights[1, p], state)


@kernel(fastmath=FAST)
def score_exchanges(combined_row, state, inv_pivot, x_re, x_im, independent, out_score):
    """What adding each atom gains once one chosen atom is dropped."""
    b_re, b_im = combined_row[0], combined_row[1]
    r_re, r_im, left = state[0], state[1], state[2]
    zero = state.dtype.type(0)
    for j in range(out_score.shape[0]):
        u, v = b_re[j], b_im[j]
        re = r_re[j] + (u * x_re + v * x_im)
        im = r_im[j] + (u * x_im - v * x_re)
        remaining = left[j] + (u * u + v * v) * inv_pivot
        gain = (re * re + im * im) / remaining
        out_score[j] = gain if remaining > independent else zero


@kernel()
def score_place(size, place, limits, exchange):
    """Score all exchanges of the atom at one place; return what dropping it costs."""
    score = exchange.score_bits.view(exchange.state.dtype)
    inv_pivot = exchange.state.dtype.type(1) / exchange.inverse[place, 0, place]
    a_re, a_im = exchange.weights[0, place], exchange.weights[1, place]
    score_exchanges(
        exchange.combined[place], exchange.state, inv_pivot, a_re * inv_pivot, a_im * inv_pivot, limits[INDEPENDENT],
        score,
    )  # fmt: skip
    for q in range(size):
        score[exchange.support[q]] = 0
    return (a_re * a_re + a_im * a_im) * inv_pivot


@kernel()
def best_exchange(norm2, size, limits, exchange):
    """Place and atom of the exchange that lowers the squared error most, and by how much; -1 where none does.

    The first of equal ones is taken, in order of places, then atoms. Correlations are known to roundings of the norm
    of the row, so a gain must exceed roundings of that norm times the root of what is gained before the loss.
    """
    score = exchange.score_bits.view(exchange.state.dtype)
    best_gain = exchange.state.dtype.type(0)
    best_place = -1
    best_atom = -1
    for p in range(size):
        loss = score_place(size, p, limits, exchange)
        atom = first_largest(exchange.score_bits)
        gain = score[atom] - loss
        if gain > best_gain and gain > 16 * limits[EPS] * np.sqrt(norm2 * score[atom]):
            best_gain = gain
            best_place = p
            best_atom = atom
    return best_place, best_atom, best_gain


@kernel(fastmath=FAST)
def subtract_rows(first, second, a, b, c, d, out):
    """Subtract ``a first[0] + b first[1] + c second[0] + d second[1]``: one part of multiples of complex rows."""
    # Both parts in one loop would touch more arrays than LLVM checks for overlap, and would not be vectorized.
    first_re, first_im, second_re, second_im = first[0], first[1], second[0], second[1]
    for j in range(out.shape[0]):
        out[j] -= a * first_re[j] + b * first_im[j] + c * second_re[j] + d * second_im[j]


@kernel(fastmath=FAST)
def put_back(row, factor, x_re, x_im, state):
    """Add ``conj(row) x`` to the correlations of all atoms, and ``factor |row|^2`` to their norms."""
    row_re, row_im = row[0], row[1]
    r_re, r_im, left = state[0], state[1], state[2]
    for j in range(row_re.shape[0]):
        u, v = row_re[j], row_im[j]
        r_re[j] += u * x_re + v * x_im
        r_im[j] += u * x_im - v * x_re
        left[j] += (u * u + v * v) * factor


@kernel(fastmath=FAST)
def apply_exchange(gram, size, place, atom, limits, exchange):
    """Exchange the atom at a place for another; tell whether it is independent of the others."""
    support, inverse, combined, weights = exchange.support, exchange.inverse, exchange.combined, exchange.weights
    state, dropped = exchange.state, exchange.dropped
    one = gram.dtype.type(1)
    # Multiples of the dropped and of the new row, for each place.
    beta_re, beta_im, b_re, b_im = exchange.mixing[0], exchange.mixing[1], exchange.mixing[2], exchange.mixing[3]
    inv_pivot = one / inverse[place, 0, place]
    x_re, x_im = weights[0, place] * inv_pivot, weights[1, place] * inv_pivot
    drop_re, drop_im = combined[place, 0, atom], combined[place, 1, atom]
    for q in range(size):
        beta_re[q] = inverse[q, 0, place] * inv_pivot
        beta_im[q] = inverse[q, 1, place] * inv_pivot
        b_re[q] = combined[q, 0, atom] - (beta_re[q] * drop_re - beta_im[q] * drop_im)
        b_im[q] = combined[q, 1, atom] - (beta_re[q] * drop_im + beta_im[q] * drop_re)
    b_re[place] = 0
    b_im[place] = 0
    dropped[:] = combined[place]
    new = combined[place]
    new[:] = gram[atom]
    # The negated conjugates, in the place of the column of the factor, which is not needed here.
    minus_re, minus_im = exchange.target[0], exchange.target[1]
    for q in range(size):
        minus_re[q] = -b_re[q]
        minus_im[q] = b_im[q]
    add_gram_rows(gram, support, size, minus_re, minus_im, new)
    norm2 = new[0, atom]
    if not norm2 > limits[INDEPENDENT]:
        return False
    inv_norm2 = one / norm2
    for part in range(2):
        row = new[part]
        for j in range(row.shape[0]):
            row[j] *= inv_norm2
    r_re = state[0, atom] + (drop_re * x_re + drop_im * x_im)
    r_im = state[1, atom] + (drop_re * x_im - drop_im * x_re)
    alpha_re, alpha_im = r_re * inv_norm2, r_im * inv_norm2
    put_back(dropped, inv_pivot, x_re, x_im, state)
    # The new row times `norm2` is what the kept atoms leave of the Gram row of the new atom.
    put_back(new, -norm2, -r_re, -r_im, state)
    a_re, a_im = weights[0, place], weights[1, place]
    for q in range(size):
        if q != place:
            subtract_rows(dropped, new, beta_re[q], -beta_im[q], b_re[q], -b_im[q], combined[q, 0])
            subtract_rows(dropped, new, beta_im[q], beta_re[q], b_im[q], b_re[q], combined[q, 1])
            weights[0, q] -= beta_re[q] * a_re - beta_im[q] * a_im + b_re[q] * alpha_re - b_im[q] * alpha_im
            weights[1, q] -= beta_re[q] * a_im + beta_im[q] * a_re + b_re[q] * alpha_im + b_im[q] * alpha_re
    weights[0, place] = alpha_re
    weights[1, place] = alpha_im
    pivot = inverse[place, 0, place]
    for q in range(size):
        if q == place:
            continue
        p_re, p_im = beta_re[q] * pivot, beta_im[q] * pivot
        n_re, n_im = b_re[q] * inv_norm2, b_im[q] * inv_norm2
        row_re, row_im = inverse[q, 0], inverse[q, 1]
        for t in range(size):
            row_re[t] += (n_re * b_re[t] + n_im * b_im[t]) - (p_re * beta_re[t] + p_im * beta_im[t])
            row_im[t] += (n_im * b_re[t] - n_re * b_im[t]) - (p_im * beta_re[t] - p_re * beta_im[t])
        row_re[place] = -n_re
        row_im[place] = -n_im
    for q in range(size):
        inverse[place, 0, q] = -b_re[q] * inv_norm2
        inverse[place, 1, q] = b_im[q] * inv_norm2
    inverse[place, 0, place] = inv_norm2
    inverse[place, 1, place] = 0
    support[place] = atom
    return True


# The error of a support is known to double precision, whatever that of its row is.
DOUBLE_EPS = np.finfo(np.float64).eps
# Rank-one updates add up their roundings: after so many exchanges all is computed again.
EXCHANGES_PER_FACTOR = 16
# A bound on the work of one row, far above the exchanges that shapes need.
MAX_FACTORS = 16


@kernel()
def exchange_atoms(correlations, norm2, gram, atom_norms2, limits, size, verified, exchange):
    """Exchange atoms of a support while the error falls; tell whether any was exchanged.

    ``exchange.support`` gets the support. What the updates promise is checked with a new factor, and the last support
    that kept its promise, ``verified``, comes back where one does not.
    """
    margin = 16 * DOUBLE_EPS * norm2
    left = norm2
    promised = left
    is_done = False
    for turn in range(MAX_FACTORS):
        is_independent = factor_support(correlations, gram, limits[INDEPENDENT], size, exchange)
        now = norm2 - sum_of_squares(exchange.target, size)
        if turn > 0 and not (is_independent and now < left - margin):
            exchange.support[:size] = verified[:size]
            return turn > 1
        if not is_independent:
            return False
        left = now
        verified[:size] = exchange.support[:size]
        # Updates without visible drift have seen all exchanges of this support.
        if is_done and abs(now - promised) <= limits[UNSURE] * norm2:
            return turn > 0
        promised = now
        invert_factor(size, exchange)
        combine(correlations, gram, atom_norms2, size, exchange)
        n_done = 0
        while n_done < EXCHANGES_PER_FACTOR:
            place, atom, gain = best_exchange(norm2, size, limits, exchange)
            is_done = place < 0
            if is_done or not apply_exchange(gram, size, place, atom, limits, exchange):
                break
            promised -= gain
            n_done += 1
        if n_done == 0:
            return turn > 0
    exchange.support[:size] = verified[:size]
    return True


@kernel()
def drop_cheapest(size, exchange):
    """Drop the atom that costs least from the support; the inverse must be that of the support."""
    cheapest = 0
    lowest = np.inf
    for p in range(size):
        cost = (exchange.weights[0, p] ** 2 + exchange.weights[1, p] ** 2) / exchange.inverse[p, 0, p]
        if cost < lowest:
            lowest = cost
            cheapest = p
    for p in range(cheapest, size - 1):
        exchange.support[p] = exchange.support[p + 1]


@kernel()
def polish_batch(
    correlations, norms2, gram, rows, atoms, limits, score_bits, out_support, out_coefs, out_left, out_needs_row
):
    """Improve the codes of a block of rows.

    Parameters
    ----------
    correlations, norms2, gram, rows, atoms, limits, score_bits
        As in :func:`shapelex.kernels.pursuit.pursue_batch`, in double precision.
    out_support, out_coefs, out_left, out_needs_row
        As there, with one level, filled by a search. Rows that need their coordinates are skipped.
    """
    n_samples, n_nonzero = out_support.shape
    exchange = allocate_exchange(n_nonzero, gram, score_bits)
    chosen = allocate_chosen(n_nonzero, rows)
    basis = np.empty((n_nonzero, 2, n_nonzero), dtype=gram.dtype)
    state = np.empty((3, n_nonzero), dtype=gram.dtype)
    verified = np.empty(n_nonzero, dtype=np.int64)
    atom_norms2 = squared_norms(gram)
    has_target = limits[TARGET] >= 0
    for k in range(n_samples):
        row, norm2, needs_row = rows[k], norms2[k], out_needs_row[k : k + 1]
        size = read_support(out_support[k], exchange.support)
        # Where only rounding is left, gains tie.
        if needs_row[0] or size == 0 or (not has_target and not out_left[k] > limits[UNSURE] * norm2):
            continue
        is_better = exchange_atoms(correlations[k], norm2, gram, atom_norms2, limits, size, verified, exchange)
        while is_better or has_target:
            # In order of gain, as an exact search writes its codes.
            verified[:size] = exchange.support[:size]
            n_chosen = pursue_among(correlations[k], norm2, gram, verified[:size], limits, size, basis, state, chosen)
            left = norm2 - sum_of_squares(chosen.target, n_chosen)
            meets = has_target and meets_target(left, norm2, limits, row, atoms, chosen, n_chosen, needs_row)
            # With a target, a support of fewer atoms must meet it; all others must be better, and stay so in the order
            # of gain, in which another atom may count as dependent.
            is_smaller = n_chosen < read_support(out_support[k], verified)
            is_kept = is_better and left <= out_left[k] + 16 * limits[EPS] * norm2
            if meets if has_target and is_smaller else is_kept:
                solve_row(row, atoms, limits, chosen, n_chosen, needs_row)
                write_support(chosen.support, n_chosen, out_support[k])
                write_coefs(chosen.coef, n_chosen, out_coefs[k, 0])
                out_left[k] = left
            size = read_support(out_support[k], exchange.support)
            if not meets or size < 2 or not factor_support(correlations[k], gram, limits[INDEPENDENT], size, exchange):
                break
            invert_factor(size, exchange)
            drop_cheapest(size, exchange)
            size -= 1
            exchange_atoms(correlations[k], norm2, gram, atom_norms2, limits, size, verified, exchange)
