"""Weights of supports that are given, and their squared errors, with bounds on the weights or without.

In: correlations of a block of rows, the Gram matrix of the atoms, and supports. Out: weights and squared errors.
"""

import numpy as np

from shapelex.kernels.bounded import solve_bounded, write_by_number
from shapelex.kernels.compilation import kernel
from shapelex.kernels.exact import drop_unused, pursue_among
from shapelex.kernels.exchange import allocate_exchange
from shapelex.kernels.polish import read_support
from shapelex.kernels.triangle import EPS, allocate_chosen, solve_row, sum_of_squares, write_coefs, write_support


@kernel()
def solve_given_batch(correlations, norms2, gram, rows, atoms, limits, out_support, out_coefs, out_left, out_needs_row):
    """Compute the weights of the supports that are in ``out_support``; the arguments are those of all coders.

    The atoms are left in order of gain; those without use drop out.
    """
    n_samples, n_nonzero = out_support.shape
    dtype = rows.dtype
    basis = np.empty((n_nonzero, 2, n_nonzero), dtype=dtype)
    state = np.empty((3, n_nonzero), dtype=dtype)
    given = np.empty(n_nonzero, dtype=np.int64)
    chosen = allocate_chosen(n_nonzero, rows)
    for k in range(n_samples):
        row, norm2, needs_row = rows[k], norms2[k], out_needs_row[k : k + 1]
        size = read_support(out_support[k], given)
        n_chosen = pursue_among(correlations[k], norm2, gram, given[:size], limits, size, basis, state, chosen)
        solve_row(row, atoms, limits, chosen, n_chosen, needs_row)
        out_left[k] = norm2 - sum_of_squares(chosen.target, n_chosen)
        n_chosen = drop_unused(norm2, limits, chosen.support, n_chosen, chosen.coef)
        write_support(chosen.support, n_chosen, out_support[k])
        write_coefs(chosen.coef, n_chosen, out_coefs[k, 0])


@kernel()
def bound_given_batch(
    correlations, norms2, gram, limits, bounds, score_bits, out_support, out_coefs, out_left, out_needs_row
):
    """Compute again the weights of rows that exceed their bounds, over the same supports, in double precision."""
    n_samples, n_nonzero = out_support.shape
    dtype = gram.dtype
    exchange = allocate_exchange(n_nonzero, gram, score_bits)
    matrix = np.empty((n_nonzero, n_nonzero), dtype=dtype)
    step = np.empty(n_nonzero, dtype=dtype)
    start = np.empty(n_nonzero, dtype=dtype)
    coef = np.empty((2, n_nonzero), dtype=dtype)
    for k in range(n_samples):
        size = read_support(out_support[k], exchange.support)
        exceeds = False
        for level in range(size):
            modulus2 = out_coefs[k, 0, 2 * level] ** 2 + out_coefs[k, 0, 2 * level + 1] ** 2
            exceeds |= modulus2 > (bounds[exchange.support[level]] * (1 - 4 * limits[EPS])) ** 2
        if out_needs_row[k] or not exceeds:
            continue
        exchange.extra[:size] = 0
        out_left[k] = solve_bounded(
            correlations[k], norms2[k], gram, bounds, limits, size, exchange, matrix, step, start, coef
        )
        write_by_number(norms2[k], limits, size, exchange.support, coef, out_support[k], out_coefs[k, 0])


@kernel()
def bound_all_batch(correlations, gram, limits, bounds, supports, slacks, score_bits, squares):
    """Replace the squared errors of all supports by those with bounded weights, in double precision.

    The unbounded error is a lower bound. Supports whose unbounded error is more than the slack of the row above the
    least bounded error get infinity: no best path goes through them.
    """
    n_rows, n_supports = squares.shape
    size = supports.shape[1]
    dtype = gram.dtype
    one = dtype.type(1)
    exchange = allocate_exchange(size, gram, score_bits)
    matrix = np.empty((size, size), dtype=dtype)
    step = np.empty(size, dtype=dtype)
    start = np.empty(size, dtype=dtype)
    coef = np.empty((2, size), dtype=dtype)
    for k in range(n_rows):
        least = np.inf
        order = np.argsort(squares[k])
        for place in range(n_supports):
            s = order[place]
            if squares[k, s] > least + slacks[k]:
                squares[k, s] = np.inf
                continue
            exchange.support[:size] = supports[s]
            exchange.extra[:size] = 0
            error = solve_bounded(correlations[k], one, gram, bounds, limits, size, exchange, matrix, step, start, coef)
            squares[k, s] = error
            least = min(least, error)
