"""ORMP that keeps several supports at each step.

In and out as in :mod:`shapelex.kernels.pursuit`, whose steps it takes. A member of the beam is a pursuit of its own;
members share the basis rows of the steps they have in common. The first member is always the path of ORMP, so
that the result is never worse than ORMP's; the others are the best supports that one more atom gives, each once.
"""

import numpy as np

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.compilation import kernel
from shapelex.kernels.pursuit import (
    first_largest,
    read_column,
    squared_norms,
    start_state,
    take_atom,
    tile_gram,
    tile_of,
)
from shapelex.kernels.triangle import (
    EPS,
    FAST,
    GAIN,
    INDEPENDENT,
    TARGET,
    Chosen,
    allocate_chosen,
    meets_target,
    solve_levels,
    sum_of_squares,
    write_support,
)


@kernel()
def atom_key(atom):
    """Well mixed 64-bit key of an atom; the keys of a support add up to its own, whatever the order."""
    key = np.uint64(atom + 1) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@kernel(fastmath=FAST)
def copy_history(level, ints, floats, out_ints, out_floats):
    """Copy the steps of a member: basis places and atoms; diagonal, smallest left and targets."""
    for i in range(level):
        out_ints[0, i] = ints[0, i]
        out_ints[1, i] = ints[1, i]
        for part in range(4):
            out_floats[part, i] = floats[part, i]


@kernel(fastmath=FAST)
def write_step(level, atom, place, state, ints, floats):
    """Note a new step of a member; give back its gain."""
    tile, width = tile_of(state), state.shape[0] // 4
    at = atom // tile * tile + atom
    corr_re, corr_im, left = state[at], state[at + tile], state[2 * width + atom]
    inv_norm = state.dtype.type(1) / np.sqrt(left)
    lowest = left if level == 0 else min(left, floats[1, level - 1])
    ints[0, level] = place
    ints[1, level] = atom
    floats[0, level] = inv_norm
    floats[1, level] = min(lowest, state.dtype.type(1))
    floats[2, level] = corr_re * inv_norm
    floats[3, level] = corr_im * inv_norm
    return (corr_re * corr_re + corr_im * corr_im) / left


@kernel()
def read_chosen(basis, ints, floats, n_chosen, n_rows, space):
    """The chosen atoms of a member, with their triangular factor; `space` lends the other arrays."""
    for level in range(n_chosen):
        read_column(basis, ints[0], level, ints[1, level], n_rows, space.triangle[level])
    return Chosen(
        ints[1], space.triangle, floats[0], floats[1], floats[2:],
        space.coef, space.residual, space.step, space.update,
    )  # fmt: skip


@kernel(fastmath=FAST)
def search(
    correlations, norm2, gram, atom_norms2, row, atoms, limits, basis, bits, ints, floats, gains, keys, favorite,
    parameters, space, out_ints, out_floats, needs_row,
):  # fmt: skip
    """Search one row; leave the steps of the best member in ``out_ints``, ``out_floats`` and return their number.

    ``bits`` (the states of members), ``ints``, ``floats``, ``gains``, ``keys`` hold two generations of members.
    """
    n_nonzero = out_ints.shape[1]
    beam_width = bits.shape[1]
    states = bits.view(basis.dtype)
    width = states.shape[2] // 4
    n_rows = n_nonzero * beam_width
    parameters[3] = limits[INDEPENDENT]
    parameters[4] = 0
    stop_gain = limits[GAIN] * norm2
    margin = 16 * limits[EPS] * norm2
    start_state(correlations, atom_norms2, limits[INDEPENDENT], False, states[0, 0])
    gains[0, 0] = 0
    keys[0, 0] = np.uint64(0)
    n_members = 1
    greedy = 0  # place of the path of ORMP, -1 once it has ended
    done_gain = -norm2
    done_length = 0
    for level in range(n_nonzero):
        old = level % 2
        new = 1 - old
        if limits[TARGET] >= 0:
            best = 0
            for m in range(1, n_members):
                if gains[old, m] > gains[old, best] + margin:
                    best = m
            chosen = read_chosen(basis, ints[old, best], floats[old, best], level, n_rows, space)
            if meets_target(norm2 - gains[old, best], norm2, limits, row, atoms, chosen, level, needs_row):
                copy_history(level, ints[old, best], floats[old, best], out_ints, out_floats)
                return level
        # What each member would take next; a member with nothing to gain has ended.
        n_going = 0
        scores = states[old, :, 3 * width :]
        for m in range(n_members):
            favorite[m] = first_largest(bits[old, m, 3 * width :])
            if scores[m, favorite[m]] > stop_gain:
                n_going += 1
                continue
            favorite[m] = -1
            advantage = margin if m != greedy else -margin
            if gains[old, m] > done_gain + advantage:
                done_gain = gains[old, m]
                done_length = level
                copy_history(level, ints[old, m], floats[old, m], out_ints, out_floats)
        if greedy >= 0 and favorite[greedy] < 0:
            greedy = -1
        if n_going == 0 or done_gain >= norm2 - margin:
            return done_length
        if level == n_nonzero - 1:
            best = greedy
            best_gain = -norm2
            if greedy >= 0:
                best_gain = gains[old, greedy] + scores[greedy, favorite[greedy]] + margin
            for m in range(n_members):
                if favorite[m] >= 0 and m != greedy:
                    gain = gains[old, m] + scores[m, favorite[m]]
                    if gain > best_gain:
                        best_gain = gain
                        best = m
            if done_gain > best_gain:
                return done_length
            copy_history(level, ints[old, best], floats[old, best], out_ints, out_floats)
            write_step(level, favorite[best], 0, states[old, best], out_ints, out_floats)
            return n_nonzero
        n_new = 0
        while n_new < beam_width:
            best = -1
            if n_new == 0 and greedy >= 0:
                best = greedy
            else:
                best_gain = -norm2
                for m in range(n_members):
                    if favorite[m] >= 0:
                        gain = gains[old, m] + scores[m, favorite[m]]
                        if gain > best_gain:
                            best_gain = gain
                            best = m
                if best < 0:
                    break
            atom = favorite[best]
            key = keys[old, best] + atom_key(atom)
            is_new = True
            for m in range(n_new):
                if keys[new, m] == key:
                    is_new = False
            if is_new:
                place = level * beam_width + n_new
                child = states[new, n_new]
                parent = states[old, best]
                child[:] = parent
                steps = floats[new, n_new]
                history = ints[new, n_new]
                copy_history(level, ints[old, best], floats[old, best], history, steps)
                gains[new, n_new] = gains[old, best] + write_step(level, atom, place, child, history, steps)
                keys[new, n_new] = key
                weights = space.triangle[level]
                read_column(basis, history[0], level, atom, n_rows, weights)
                parameters[0] = steps[0, level]
                parameters[1] = steps[2, level]
                parameters[2] = steps[3, level]
                take_atom(gram, basis, history[0], level, atom, n_rows, weights, parameters, child)
                n_new += 1
            scores[best, atom] = 0
            favorite[best] = first_largest(bits[old, best, 3 * width :])
            if not scores[best, favorite[best]] > stop_gain:
                favorite[best] = -1
        greedy = 0 if greedy >= 0 else -1
        n_members = n_new
    return done_length


@kernel()
def beam_batch(
    correlations, norms2, gram, rows, atoms, limits, beam_width, bits_dtype,
    out_support, out_coefs, out_left, out_needs_row,
):  # fmt: skip
    """Code a block of rows by beam search.

    Parameters
    ----------
    correlations, norms2, gram, rows, atoms, limits
        As in :func:`shapelex.kernels.pursuit.pursue_batch`.
    beam_width : int
        Supports that are kept at each step.
    bits_dtype : ndarray of int
        Any array of integers as wide as the floats.
    out_support, out_coefs, out_left, out_needs_row
        As there, with one level.
    """
    n_samples, n_nonzero = out_support.shape
    dtype = rows.dtype
    tiled = tile_gram(gram)
    width = tiled.shape[1] // 2
    basis = aligned_like(n_nonzero * beam_width * 2 * width, rows)
    bits = aligned_like(2 * beam_width * 4 * width, bits_dtype).reshape((2, beam_width, 4 * width))
    ints = np.empty((2, beam_width, 2, n_nonzero), dtype=np.int64)
    floats = np.empty((2, beam_width, 4, n_nonzero), dtype=dtype)
    gains = np.empty((2, beam_width), dtype=dtype)
    keys = np.empty((2, beam_width), dtype=np.uint64)
    parameters = np.empty(5, dtype=dtype)
    favorite = np.empty(beam_width, dtype=np.int64)
    space = allocate_chosen(n_nonzero, rows)
    history = np.empty((2, n_nonzero), dtype=np.int64)
    steps = np.empty((4, n_nonzero), dtype=dtype)
    atom_norms2 = squared_norms(gram)
    for k in range(n_samples):
        row, needs_row = rows[k], out_needs_row[k : k + 1]
        n_chosen = search(
            correlations[k], norms2[k], tiled, atom_norms2, row, atoms, limits, basis, bits, ints, floats, gains, keys,
            favorite, parameters, space, history, steps, needs_row,
        )  # fmt: skip
        chosen = read_chosen(basis, history, steps, n_chosen, n_nonzero * beam_width, space)
        write_support(chosen.support, n_chosen, out_support[k])
        out_left[k] = norms2[k] - sum_of_squares(chosen.target, n_chosen)
        solve_levels(row, atoms, limits, chosen, n_chosen, out_coefs[k], needs_row)
