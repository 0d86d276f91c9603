"""Weights of bounded modulus: least squares over a support with ``|a_i| <= w_i``, and supports chosen by its error.

In: what a search got and gave (see :mod:`shapelex.kernels.pursuit`), and a bound for each atom. Out: the same arrays;
rows whose weights obey the bounds keep their bits, because no other weights of these atoms do better.

For one support the problem is convex. Its dual is ``max g(m)`` over multipliers ``m >= 0``, with ``a(m) =
(G_SS + diag(m))^-1 c_S``, ``g(m) = |x|^2 - c_S^H a(m) - sum_i m_i w_i^2`` and the gradient ``|a_i|^2 - w_i^2``. Newton
steps on the free multipliers solve it; the gap between the error of the clipped weights and ``g`` tells when to stop.

Supports are improved by exchanges of one atom for another. With the multipliers kept, and 0 for the new atom, the dual
gives a lower bound of the bounded error after each exchange: all of them cost as much as one scan of
:mod:`shapelex.kernels.exchange`. The promising ones are solved. An exact search also solves every support whose
unbounded error, a lower bound too, is below the best error so far.
"""

import numpy as np

from shapelex.kernels.compilation import kernel
from shapelex.kernels.exchange import (
    allocate_exchange,
    combine,
    factor_support,
    invert_factor,
    score_place,
)
from shapelex.kernels.polish import read_support
from shapelex.kernels.pursuit import first_largest, score_atoms, squared_norms
from shapelex.kernels.triangle import EPS, FAST, GAIN, INDEPENDENT

# Newton steps for one support; ten are usual, and a bound that is not met only leaves a gap in the last digits.
MAX_STEPS = 60
# Sweeps over the weights of one support, where Newton steps do not reach the last digits.
MAX_SWEEPS = 2000
# Halvings of a Newton step that does not raise the dual.
MAX_HALVINGS = 30
# Exchanges that are solved before a support counts as good, those of the lowest bound first.
MAX_TRIES = 32


@kernel(fastmath=FAST)
def dual_value(norm2, bounds, size, exchange):
    """Value of the dual for ``exchange.extra``, whose factor must be there; a lower bound of the squared error."""
    value = norm2
    for level in range(size):
        value -= exchange.target[0, level] ** 2 + exchange.target[1, level] ** 2
        value -= exchange.extra[level] * bounds[exchange.support[level]] ** 2
    return value


@kernel(fastmath=FAST)
def clip_weights(correlations, norm2, gram, bounds, limits, size, exchange, out_coef):
    """Write the weights of ``exchange``, clipped to their bounds, and return the squared error."""
    one = gram.dtype.type(1)
    for p in range(size):
        re, im = exchange.weights[0, p], exchange.weights[1, p]
        modulus = np.sqrt(re * re + im * im)
        # A little less than the bound, so that rounding does not exceed it.
        bound = bounds[exchange.support[p]] * (one - 4 * limits[EPS])
        scale = bound / modulus if modulus > bound else one
        out_coef[0, p] = re * scale
        out_coef[1, p] = im * scale
    value = norm2
    for p in range(size):
        atom = exchange.support[p]
        # Half of the gradient, and the correlation once more.
        re, im = -2 * correlations[2 * atom], -2 * correlations[2 * atom + 1]
        for q in range(size):
            other = exchange.support[q]
            g_re, g_im = gram[atom, 0, other], gram[atom, 1, other]
            re += g_re * out_coef[0, q] - g_im * out_coef[1, q]
            im += g_re * out_coef[1, q] + g_im * out_coef[0, q]
        value += out_coef[0, p] * re + out_coef[1, p] * im
    return value


@kernel(fastmath=FAST)
def newton_step(bounds, size, exchange, matrix, step):
    """Newton step of the multipliers: free ones are positive, or belong to weights that exceed their bounds.

    Solves ``1 / |a_i| = 1 / w_i``, which is nearly linear in the multipliers, by elimination.
    """
    weights, inverse = exchange.weights, exchange.inverse
    for i in range(size):
        a_re, a_im = weights[0, i], weights[1, i]
        modulus2 = a_re * a_re + a_im * a_im
        bound = bounds[exchange.support[i]]
        is_free = exchange.extra[i] > 0 or modulus2 > bound * bound
        step[i] = modulus2 * (np.sqrt(modulus2) / bound - 1) if is_free else 0
        for j in range(size):
            # conj(a_i) M_ij a_j
            m_re = inverse[i, 0, j] * weights[0, j] - inverse[i, 1, j] * weights[1, j]
            m_im = inverse[i, 0, j] * weights[1, j] + inverse[i, 1, j] * weights[0, j]
            matrix[i, j] = a_re * m_re + a_im * m_im
    for i in range(size):
        modulus2 = weights[0, i] ** 2 + weights[1, i] ** 2
        if not (exchange.extra[i] > 0 or modulus2 > bounds[exchange.support[i]] ** 2) or not matrix[i, i] > 0:
            matrix[i, :size] = 0
            matrix[:size, i] = 0
            matrix[i, i] = 1
            step[i] = 0
    for i in range(size):
        pivot = matrix[i, i]
        if not pivot > 0:
            return False
        for k in range(i + 1, size):
            factor = matrix[k, i] / pivot
            if factor != 0:
                for j in range(i + 1, size):
                    matrix[k, j] -= factor * matrix[i, j]
                step[k] -= factor * step[i]
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            step[i] -= matrix[i, j] * step[j]
        step[i] /= matrix[i, i]
    return True


@kernel(fastmath=FAST)
def descend_weights(correlations, gram, bounds, limits, size, support, error, norm2, coef):
    """Minimize over one weight after the other until the error stands still; return it.

    It converges from any weights, slowly for similar atoms, and takes over where rounding ends the Newton steps.
    """
    one = gram.dtype.type(1)
    for _ in range(MAX_SWEEPS):
        gain = gram.dtype.type(0)
        for p in range(size):
            atom = support[p]
            re, im = correlations[2 * atom], correlations[2 * atom + 1]
            for q in range(size):
                if q != p:
                    g_re, g_im = gram[atom, 0, support[q]], gram[atom, 1, support[q]]
                    re -= g_re * coef[0, q] - g_im * coef[1, q]
                    im -= g_re * coef[1, q] + g_im * coef[0, q]
            modulus = np.sqrt(re * re + im * im)
            bound = bounds[atom] * (one - 4 * limits[EPS])
            scale = bound / modulus if modulus > bound else one
            new_re, new_im = re * scale, im * scale
            # Of ``|a|^2 - 2 Re(conj(a) t)``, with atoms of norm 1, before and after.
            d_re, d_im = coef[0, p] - new_re, coef[1, p] - new_im
            gain += d_re * (coef[0, p] + new_re - 2 * re) + d_im * (coef[1, p] + new_im - 2 * im)
            coef[0, p] = new_re
            coef[1, p] = new_im
        error -= gain
        if not gain > limits[EPS] * norm2:
            break
    return error


@kernel()
def solve_bounded(correlations, norm2, gram, bounds, limits, size, exchange, matrix, step, start, out_coef):
    """Weights of ``exchange.support`` within their bounds, and the squared error; infinity for dependent atoms.

    ``exchange.extra`` holds the multipliers to start from, and gets those of the solution, with factor, inverse and
    weights of ``exchange`` to match.
    """
    zero = gram.dtype.type(0)
    infinity = gram.dtype.type(np.inf)
    independent = limits[INDEPENDENT]
    if not factor_support(correlations, gram, independent, size, exchange):
        exchange.extra[:size] = zero
        return infinity
    value = dual_value(norm2, bounds, size, exchange)
    error = infinity
    for _ in range(MAX_STEPS):
        invert_factor(size, exchange)
        error = clip_weights(correlations, norm2, gram, bounds, limits, size, exchange, out_coef)
        if error - value <= 8 * limits[EPS] * norm2:
            break
        start[:size] = exchange.extra[:size]
        if not newton_step(bounds, size, exchange, matrix, step):
            break
        has_risen = False
        scale = gram.dtype.type(1)
        for halving in range(MAX_HALVINGS):
            if halving == 3:
                # Not an ascent direction far from the solution: the gradient is one.
                for i in range(size):
                    modulus2 = exchange.weights[0, i] ** 2 + exchange.weights[1, i] ** 2
                    step[i] = (modulus2 - bounds[exchange.support[i]] ** 2) / max(modulus2, limits[EPS])
                scale = gram.dtype.type(1)
            for i in range(size):
                exchange.extra[i] = max(start[i] + scale * step[i], zero)
            if factor_support(correlations, gram, independent, size, exchange):
                now = dual_value(norm2, bounds, size, exchange)
                if now > value:
                    has_risen = True
                    value = now
                    break
            scale /= 2
        if not has_risen:
            exchange.extra[:size] = start[:size]
            factor_support(correlations, gram, independent, size, exchange)
            break
    if error - value > 8 * limits[EPS] * norm2:
        error = descend_weights(correlations, gram, bounds, limits, size, exchange.support, error, norm2, out_coef)
    return error


@kernel()
def exchange_bounded(
    correlations, norm2, gram, atom_norms2, bounds, limits, size, exchange, trial, matrix, step, start, scores, costs,
    coef, trial_coef,
):  # fmt: skip
    """Add and exchange atoms while the bounded error falls; return it and the number of atoms.

    Support and weights are left in ``exchange`` and `coef`. Atoms are added where a search stopped early, at a good
    fit whose weights were not bounded.
    """
    error = solve_bounded(correlations, norm2, gram, bounds, limits, size, exchange, matrix, step, start, coef)
    margin = 16 * limits[EPS] * norm2
    score = exchange.score_bits.view(gram.dtype)
    while size < exchange.support.shape[0] and error > margin and np.isfinite(error):
        combine(correlations, gram, atom_norms2, size, exchange)
        score_atoms(exchange.state, limits[INDEPENDENT], 0, score)
        score[exchange.support[:size]] = 0
        atom = first_largest(exchange.score_bits)
        if not score[atom] > margin:
            break
        exchange.support[size] = atom
        exchange.extra[size] = 0
        size += 1
        error = solve_bounded(correlations, norm2, gram, bounds, limits, size, exchange, matrix, step, start, coef)
    is_improving = np.isfinite(error)
    while is_improving:
        is_improving = False
        combine(correlations, gram, atom_norms2, size, exchange)
        for p in range(size):
            bound = bounds[exchange.support[p]]
            costs[p] = score_place(size, p, limits, exchange) + exchange.extra[p] * bound * bound
            scores[p] = score
        value = dual_value(norm2, bounds, size, exchange)
        for _ in range(MAX_TRIES):
            place = -1
            atom = -1
            best = value - error + margin
            for p in range(size):
                j = first_largest(scores[p].view(exchange.score_bits.dtype))
                if scores[p, j] - costs[p] > best:
                    best = scores[p, j] - costs[p]
                    place = p
                    atom = j
            if place < 0:
                break
            scores[place, atom] = 0
            trial.support[:size] = exchange.support[:size]
            trial.extra[:size] = exchange.extra[:size]
            trial.support[place] = atom
            trial.extra[place] = 0
            now = solve_bounded(correlations, norm2, gram, bounds, limits, size, trial, matrix, step, start, trial_coef)
            if now < error - margin:
                error = now
                take_trial(size, trial, exchange)
                coef[:, :size] = trial_coef[:, :size]
                is_improving = True
                break
    return error, size


@kernel()
def take_trial(size, trial, exchange):
    """Copy a solved support with all that belongs to it."""
    exchange.support[:size] = trial.support[:size]
    exchange.extra[:size] = trial.extra[:size]
    exchange.inverse[:size] = trial.inverse[:size]
    exchange.weights[:, :size] = trial.weights[:, :size]
    exchange.target[:, :size] = trial.target[:, :size]


@kernel(fastmath=FAST)
def enumerate_bounded(
    correlations, norm2, gram, bounds, limits, size, error, exchange, trial, matrix, step, start, basis, levels,
    following, coef, trial_coef,
):  # fmt: skip
    """Improve on a squared error by all supports of a size; as :func:`exchange_bounded` otherwise.

    The supports are visited in lexicographic order. ``levels[depth]`` holds what the atoms before leave of the
    correlations and norms of the others.
    """
    n_atoms = gram.shape[0]
    margin = 16 * limits[EPS] * norm2
    one = gram.dtype.type(1)
    for j in range(n_atoms):
        levels[0, 0, j] = correlations[2 * j]
        levels[0, 1, j] = correlations[2 * j + 1]
        levels[0, 2, j] = gram[j, 0, j]
    gains = basis[size, 0]  # by depth
    gains[0] = 0
    depth = 0
    following[0] = 0
    while depth >= 0:
        atom = following[depth]
        if atom > n_atoms - (size - depth):
            depth -= 1
            continue
        following[depth] = atom + 1
        here, below = levels[depth], levels[depth + 1]
        left = here[2, atom]
        if not left > limits[INDEPENDENT]:
            continue
        gain = gains[depth] + (here[0, atom] * here[0, atom] + here[1, atom] * here[1, atom]) / left
        if depth + 1 == size:
            if norm2 - gain < error - margin:
                for level in range(size):
                    trial.support[level] = following[level] - 1
                    trial.extra[level] = 0
                now = solve_bounded(
                    correlations, norm2, gram, bounds, limits, size, trial, matrix, step, start, trial_coef
                )
                if now < error - margin:
                    error = now
                    take_trial(size, trial, exchange)
                    coef[:, :size] = trial_coef[:, :size]
            continue
        inv_norm = one / np.sqrt(left)
        t_re, t_im = here[0, atom] * inv_norm, here[1, atom] * inv_norm
        for j in range(atom + 1, n_atoms):
            re, im = gram[atom, 0, j], gram[atom, 1, j]
            for i in range(depth):
                a_re, a_im = basis[i, 0, atom], basis[i, 1, atom]
                re -= a_re * basis[i, 0, j] + a_im * basis[i, 1, j]
                im -= a_re * basis[i, 1, j] - a_im * basis[i, 0, j]
            re *= inv_norm
            im *= inv_norm
            basis[depth, 0, j] = re
            basis[depth, 1, j] = im
            below[0, j] = here[0, j] - (re * t_re + im * t_im)
            below[1, j] = here[1, j] - (re * t_im - im * t_re)
            below[2, j] = here[2, j] - (re * re + im * im)
        depth += 1
        gains[depth] = gain
        following[depth] = atom + 1
    return error


@kernel()
def write_by_number(norm2, limits, size, support, coef, out_support, out_coefs):
    """Write atoms and weights in order of the numbers of the atoms, without weights that are rounding.

    Several weights may be equal to their bounds, so an order by weight would depend on rounding.
    """
    out_support[:] = -1
    out_coefs[:] = 0
    last = -1
    for level in range(out_support.shape[0]):
        first = -1
        for p in range(size):
            is_used = coef[0, p] ** 2 + coef[1, p] ** 2 > limits[GAIN] * norm2
            if is_used and support[p] > last and (first < 0 or support[p] < support[first]):
                first = p
        if first < 0:
            return
        last = support[first]
        out_support[level] = last
        out_coefs[2 * level] = coef[0, first]
        out_coefs[2 * level + 1] = coef[1, first]


@kernel()
def bound_batch(
    correlations, norms2, gram, limits, bounds, tries_all, score_bits,
    out_support, out_coefs, out_left, out_needs_row,
):  # fmt: skip
    """Code again the rows of a block whose weights exceed their bounds.

    Parameters
    ----------
    correlations, norms2, gram, limits, score_bits
        As in :func:`shapelex.kernels.pursuit.pursue_batch`, in double precision; there is no error target, and rows
        that need their coordinates are skipped.
    bounds : ndarray of float, shape (n_atoms,)
        Largest modulus of the weights of each atom; rows have norm 1.
    tries_all : int
        1 to search all supports of full size, 0 to exchange atoms of the support that is there.
    out_support, out_coefs, out_left, out_needs_row
        As there, with one level, filled by a search.
    """
    n_samples, n_nonzero = out_support.shape
    n_atoms = gram.shape[0]
    dtype = gram.dtype
    exchange = allocate_exchange(n_nonzero, gram, score_bits)
    trial = allocate_exchange(n_nonzero, gram, score_bits)
    matrix = np.empty((n_nonzero, n_nonzero), dtype=dtype)
    step = np.empty(n_nonzero, dtype=dtype)
    start = np.empty(n_nonzero, dtype=dtype)
    scores = np.empty((n_nonzero, gram.shape[2]), dtype=dtype)
    costs = np.empty(n_nonzero, dtype=dtype)
    coef = np.empty((2, n_nonzero), dtype=dtype)
    trial_coef = np.empty((2, n_nonzero), dtype=dtype)
    basis = np.empty((n_nonzero + 1, 2, max(n_atoms, n_nonzero + 1)), dtype=dtype)
    levels = np.empty((n_nonzero + 1, 3, n_atoms), dtype=dtype)
    following = np.empty(n_nonzero + 1, dtype=np.int64)
    atom_norms2 = squared_norms(gram)
    for k in range(n_samples):
        norm2 = norms2[k]
        size = read_support(out_support[k], exchange.support)
        exceeds = False
        for level in range(size):
            modulus2 = out_coefs[k, 0, 2 * level] ** 2 + out_coefs[k, 0, 2 * level + 1] ** 2
            exceeds |= modulus2 > (bounds[exchange.support[level]] * (1 - 4 * limits[EPS])) ** 2
        if out_needs_row[k] or not exceeds:
            continue
        exchange.extra[:size] = 0
        error, size = exchange_bounded(
            correlations[k], norm2, gram, atom_norms2, bounds, limits, size, exchange, trial, matrix, step, start,
            scores, costs, coef, trial_coef,
        )  # fmt: skip
        if tries_all:
            exchange.support[size:] = -1
            error = enumerate_bounded(
                correlations[k], norm2, gram, bounds, limits, n_nonzero, error, exchange, trial, matrix, step, start,
                basis, levels, following, coef, trial_coef,
            )  # fmt: skip
            size = n_nonzero
        write_by_number(norm2, limits, size, exchange.support, coef, out_support[k], out_coefs[k, 0])
        out_left[k] = error
