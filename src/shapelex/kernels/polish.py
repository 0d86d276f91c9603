"""Exchange polish: the support that a search found is improved by exchanges of one atom for another.

In: what a search got and gave (see :mod:`shapelex.kernels.pursuit`). Out: the same arrays; rows whose support an
exchange improves are written again, the others keep their bits. Of all pairs of a chosen and another atom
(:mod:`shapelex.kernels.exchange`) the best is exchanged, as long as the error falls by more than rounding.

With an error target, a row that meets it also tries fewer atoms: the atom that costs least is dropped, and the rest is
polished. The smaller support is kept where it still meets the target, and the next atom is tried. A row never gets
more atoms, nor a larger error with as many.
"""

import numpy as np

from shapelex.kernels.compilation import kernel
from shapelex.kernels.exact import pursue_among
from shapelex.kernels.exchange import (
    allocate_exchange,
    apply_exchange,
    best_exchange,
    combine,
    factor_support,
    invert_factor,
)
from shapelex.kernels.pursuit import squared_norms
from shapelex.kernels.triangle import (
    EPS,
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
def read_support(support, out_support):
    """Copy a support that is padded with -1; return its size."""
    for level in range(support.shape[0]):
        if support[level] < 0:
            return level
        out_support[level] = support[level]
    return support.shape[0]


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
