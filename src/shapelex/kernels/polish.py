"""Exchange polish: the support that a search found is improved by exchanges of one atom for another.

Of all pairs of a chosen and another atom the best is exchanged, as long as the error falls by more than rounding. Rows
whose support an exchange improves are written again, the others keep their bits.

For a row with the correlations ``c`` and a support `S`, with ``M`` the inverse of
``G_SS``, ``a = M c_S``, ``B = M G_S.`` (k × n_atoms), ``r = c - G_.S a`` and ``left_j = G_jj - G_jS M
G_Sj``, dropping the atom at place `p` raises the squared error by ``|a_p|^2 / M_pp``. Then ``r_j`` becomes
``r_j + conj(B_pj) a_p / M_pp``, ``left_j`` becomes ``left_j + |B_pj|^2 / M_pp``, and adding atom `j` lowers it by
``|r_j|^2 / left_j``. All pairs cost ``k n_atoms`` operations, and so does the update after an exchange, which drops
one atom and adds another. ``M`` is kept as more columns of ``B``, those of the chosen atoms in the identity matrix.

Complex numbers are pairs of real arrays, and atoms are the contiguous axis.

All is in double precision: the inverse of a Gram matrix has the square of the condition number of the atoms, and single
precision keeps no digit of the gains of exchanges of similar atoms. ``limits`` are those of the precision of the rows.

With an error target, a row that meets it also tries fewer atoms: the atom that costs least is dropped, and the rest is
polished. The smaller support is kept where it still meets the target, and the next atom is tried. A row never gets
more atoms, nor a larger error with as many.
"""

from typing import Any, NamedTuple

import numpy as np

from shapelex.kernels.compilation import aligned_like, kernel
from shapelex.kernels.exact import allocate_candidates, pursue_among, read_support, write_used
from shapelex.kernels.pursuit import first_largest
from shapelex.kernels.triangle import FAST, allocate_chosen, meets_target, sum_of_squares


class Exchange(NamedTuple):
    """The quantities of the module's formulas, for one support of one row.

    ``support`` (k,), ``weights`` = a (k,), ``combined`` = B and M (k, 2, width + k), ``state`` = the parts of r, then
    left (3, width + k). ``score_bits`` are workspace, integers as wide as the floats.
    """

    support: Any
    weights: Any
    combined: Any
    state: Any
    score_bits: Any


@kernel()
def allocate_exchange(n_nonzero, gram, coefs):
    """Uninitialized arrays for up to `n_nonzero` atoms."""
    # Rows of whole cache lines.
    width = gram.shape[2] + (n_nonzero + 7) // 8 * 8
    return Exchange(
        np.empty(n_nonzero, dtype=np.int64),
        np.empty(n_nonzero, dtype=coefs.dtype),
        aligned_like(n_nonzero * 2 * width, gram).reshape((n_nonzero, 2, width)),
        aligned_like(3 * width, gram).reshape((3, width)),
        np.empty(gram.shape[2], dtype=np.int64),
    )


@kernel(fastmath=FAST)
def subtract_row(row, factor, n_columns, out):
    """Subtract a multiple of a complex row, given by its parts, in the first columns."""
    a_re, a_im = factor.real, factor.imag
    row_re, row_im, out_re, out_im = row[0], row[1], out[0], out[1]
    for j in range(n_columns):
        x, y = row_re[j], row_im[j]
        out_re[j] -= a_re * x - a_im * y
        out_im[j] -= a_re * y + a_im * x


@kernel(fastmath=FAST)
def eliminate(size, place, column, inv_pivot, a, exchange):
    """Clear a column of all rows but that of a place, by this row, which has the weight `a` times the pivot."""
    combined, weights = exchange.combined, exchange.weights
    pivot_row = combined[place]
    for q in range(size):
        if q != place:
            b = complex(combined[q, 0, column], combined[q, 1, column])
            subtract_row(pivot_row, b * inv_pivot, pivot_row.shape[1], combined[q])
            weights[q] -= b * a


@kernel(fastmath=FAST)
def add_atom(gram, size, place, atom, independent, exchange):
    """Add an atom at a free place, beside those at the other places; tell whether it is independent of them."""
    combined, weights, state = exchange.combined, exchange.weights, exchange.state
    width = gram.shape[2]
    # What the other atoms leave of the Gram row of the new one.
    new = combined[place]
    new[:, width:] = 0
    for part in range(2):
        for j in range(width):
            new[part, j] = gram[atom, part, j]
    new[0, width + place] = 1
    # From rows of the Gram matrix itself: in single precision it is not Hermitian to the digits that count here.
    for q in range(size):
        if q != place:
            b = complex(combined[q, 0, atom], -combined[q, 1, atom])
            subtract_row(gram[exchange.support[q]], b, width, new)
            new[0, width + q] = -b.real
            new[1, width + q] = -b.imag
    norm2 = new[0, atom]
    if not norm2 > independent:
        return False
    inv_norm2 = gram.dtype.type(1) / norm2
    a = complex(state[0, atom], state[1, atom]) * inv_norm2
    eliminate(size, place, atom, inv_norm2, a, exchange)
    put_back(new, -inv_norm2, -a, state)
    for part in range(2):
        row = new[part]
        for j in range(row.shape[0]):
            row[j] *= inv_norm2
    weights[place] = a
    exchange.support[place] = atom
    return True


@kernel(fastmath=FAST)
def drop_atom(width, size, place, exchange):
    """Drop the atom at a place, which becomes free."""
    dropped = exchange.combined[place]
    inv_pivot = dropped.dtype.type(1) / dropped[0, width + place]
    a = exchange.weights[place] * inv_pivot
    eliminate(size, place, width + place, inv_pivot, a, exchange)
    put_back(dropped, inv_pivot, a, exchange.state)


@kernel()
def start_exchanges(correlations, gram, atom_norms2, independent, size, exchange):
    """Compute everything for ``exchange.support``; tell whether its atoms are independent in this order."""
    state = exchange.state
    state[:] = 0
    for j in range(atom_norms2.shape[0]):
        state[0, j] = correlations[2 * j]
        state[1, j] = correlations[2 * j + 1]
        state[2, j] = atom_norms2[j]
    is_independent = True
    for place in range(size):
        is_independent = is_independent and add_atom(gram, place, place, exchange.support[place], independent, exchange)
    return is_independent


@kernel(fastmath=FAST)
def put_back(row, factor, x, state):
    """Add ``conj(row) x`` to the correlations of all atoms, and ``factor |row|^2`` to their norms."""
    row_re, row_im, x_re, x_im = row[0], row[1], x.real, x.imag
    r_re, r_im, left = state[0], state[1], state[2]
    for j in range(row_re.shape[0]):
        u, v = row_re[j], row_im[j]
        r_re[j] += u * x_re + v * x_im
        r_im[j] += u * x_im - v * x_re
        left[j] += (u * u + v * v) * factor


@kernel(fastmath=FAST)
def score_exchanges(combined_row, state, inv_pivot, x, independent, out_score):
    """What adding each atom gains once one chosen atom is dropped."""
    b_re, b_im, x_re, x_im = combined_row[0], combined_row[1], x.real, x.imag
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
def best_exchange(size, limits, exchange):
    """Place and atom of the exchange that lowers the squared error most, and by how much; -1 where none does.

    The first of equal ones is taken, in order of places, then atoms. Correlations are known to roundings of the norm
    of the row, so a gain must exceed roundings of that norm times the root of what is gained before the loss.
    """
    combined, weights, state = exchange.combined, exchange.weights, exchange.state
    score = exchange.score_bits.view(state.dtype)
    best_gain = state.dtype.type(0)
    best_place = -1
    best_atom = -1
    for p in range(size):
        inv_pivot = state.dtype.type(1) / combined[p, 0, score.shape[0] + p]
        cost = (weights[p].real ** 2 + weights[p].imag ** 2) * inv_pivot
        score_exchanges(combined[p], state, inv_pivot, weights[p] * inv_pivot, limits.independent, score)
        for q in range(size):
            score[exchange.support[q]] = 0
        atom = first_largest(exchange.score_bits)
        gain = score[atom] - cost
        if gain > best_gain and gain > 16 * limits.eps * np.sqrt(score[atom]):
            best_gain = gain
            best_place = p
            best_atom = atom
    return best_place, best_atom, best_gain


# The error of a support is known to double precision, whatever that of its row is.
DOUBLE_EPS = np.finfo(np.float64).eps
# Rank-one updates add up their roundings: after so many exchanges all is computed again.
EXCHANGES_PER_FACTOR = 16
# A bound on the work of one row, far above the exchanges that shapes need.
MAX_FACTORS = 16


@kernel()
def exchange_atoms(correlations, gram, atom_norms2, limits, size, verified, work, chosen, exchange):
    """Exchange atoms of a support while the error falls; tell whether any was exchanged.

    What the updates promise is checked by a new pursuit, and the last support that kept its promise is in `verified`.
    """
    independent, support = limits.independent, exchange.support
    left = promised = 1.0
    is_better = is_done = False
    for turn in range(MAX_FACTORS):
        n_chosen = pursue_among(correlations, gram, support[:size], limits, size, work, chosen)
        now = 1 - sum_of_squares(chosen.target, n_chosen)
        if turn > 0 and not now < left - 16 * DOUBLE_EPS:
            break
        for level in range(size):
            verified[level] = support[level]
        is_better = turn > 0
        # Updates without visible drift have seen all exchanges of this support.
        has_seen_all = is_done and abs(now - promised) <= limits.unsure
        if has_seen_all or not start_exchanges(correlations, gram, atom_norms2, independent, size, exchange):
            break
        left = promised = now
        n_done = 0
        while n_done < EXCHANGES_PER_FACTOR:
            place, atom, gain = best_exchange(size, limits, exchange)
            is_done = place < 0
            if is_done:
                break
            drop_atom(gram.shape[2], size, place, exchange)
            if not add_atom(gram, size, place, atom, independent, exchange):
                break
            promised -= gain
            n_done += 1
        if n_done == 0:
            break
    return is_better


@kernel()
def drop_cheapest(width, size, exchange):
    """Drop the atom that costs least from the support."""
    cheapest = 0
    lowest = np.inf
    for p in range(size):
        weight = exchange.weights[p]
        cost = (weight.real**2 + weight.imag**2) / exchange.combined[p, 0, width + p]
        if cost < lowest:
            lowest = cost
            cheapest = p
    for level in range(cheapest, size - 1):
        exchange.support[level] = exchange.support[level + 1]


@kernel()
def polish_batch(correlations, gram, rows, atoms, limits, out_support, out_coefs, out_left, out_needs_row):
    """Improve the codes of a block of rows.

    Parameters
    ----------
    correlations, gram, rows, atoms, limits
        As in :func:`shapelex.kernels.pursuit.search_batch`, in double precision.
    out_support, out_coefs, out_left, out_needs_row
        As there, with one level, filled by a search. Rows that need their coordinates are skipped.
    """
    n_samples, n_nonzero = out_support.shape
    width = gram.shape[2]
    exchange = allocate_exchange(n_nonzero, gram, out_coefs)
    chosen = allocate_chosen(n_nonzero, rows, out_coefs)
    work = allocate_candidates(n_nonzero, n_nonzero, rows, out_coefs)
    verified = np.empty(n_nonzero, dtype=np.int64)
    atom_norms2 = np.diag(gram[:, 0])
    has_target = limits.target >= 0
    for k in range(n_samples):
        row, needs_row = rows[k], out_needs_row[k : k + 1]
        n_before = size = read_support(out_support[k], exchange.support)
        # Where only rounding is left, gains tie.
        if needs_row[0] or size == 0 or (not has_target and not out_left[k] > limits.unsure):
            continue
        is_better = exchange_atoms(correlations[k], gram, atom_norms2, limits, size, verified, work, chosen, exchange)
        while is_better or has_target:
            # In order of gain, as an exact search writes its codes.
            n_chosen = pursue_among(correlations[k], gram, verified[:size], limits, size, work, chosen)
            left = 1 - sum_of_squares(chosen.target, n_chosen)
            meets = has_target and meets_target(left, limits, row, atoms, chosen, n_chosen, needs_row)
            # With a target, a support of fewer atoms must meet it; all others must be better, and stay so in the order
            # of gain, in which another atom may count as dependent.
            is_kept = is_better and left <= out_left[k] + 16 * limits.eps
            if meets if has_target and n_chosen < n_before else is_kept:
                write_used(row, atoms, limits, chosen, n_chosen, out_support[k], out_coefs[k, 0], needs_row)
                out_left[k] = left
            n_before = size = read_support(out_support[k], exchange.support)
            if not meets or size < 2:
                break
            if not start_exchanges(correlations[k], gram, atom_norms2, limits.independent, size, exchange):
                break
            drop_cheapest(width, size, exchange)
            size -= 1
            exchange_atoms(correlations[k], gram, atom_norms2, limits, size, verified, work, chosen, exchange)
