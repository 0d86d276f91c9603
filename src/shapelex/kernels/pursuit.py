"""ORMP, OMP and beams of ORMP, one row after another, for dictionaries of many atoms.

With `q_l` the orthonormal vectors that the chosen atoms span, the kernel keeps for all atoms `d_j` at once
``basis[l, j] = q_l^H d_j``, the correlations ``d_j^H r`` with the residual `r`, and the squared norms ``left[j]`` of
the parts of `d_j` outside the chosen span; :mod:`shapelex.kernels.tile` adds a level.

A member of a beam is a pursuit of its own; members share the basis rows of the steps they have in common. The first
member is always the path of ORMP, so that the result is never worse than ORMP's; the others are the best supports that
one more atom gives, each once.

Atoms are in tiles: T real parts, then T imaginary parts. The state of a member is one array of ``4 W`` numbers for
``W`` atoms, padding included: the correlations in tiles, the norms left, and the scores.
"""

from typing import Any, NamedTuple

import numpy as np

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.compilation import kernel
from shapelex.kernels.tile import TILE_BITS, step_tile
from shapelex.kernels.triangle import (
    EPS,
    FAST,
    GAIN,
    INDEPENDENT,
    TARGET,
    UNSURE,
    Chosen,
    allocate_chosen,
    meets_target,
    solve_levels,
    sum_of_squares,
    write_support,
)


class Beam(NamedTuple):
    """Two generations of members, and what they share.

    ``bits`` are the states of members as integers, ``ints`` the basis places and the atoms of their steps, ``floats``
    the inverse diagonal, the smallest norm left and the two parts of the targets, ``gains`` what they have gained, and
    ``keys`` name their supports. ``favorite`` is the atom that each member would take next, -1 once it has ended.
    """

    basis: Any
    bits: Any
    ints: Any
    floats: Any
    gains: Any
    keys: Any
    favorite: Any
    parameters: Any


@kernel()
def tile_of(array):
    """Return the number of atoms in a tile, a constant of the precision."""
    return TILE_BITS // np.finfo(array.dtype).bits


@kernel()
def tile_gram(gram):
    """Return the rows of the Gram matrix in tiles, ``(n_atoms, 2 W)``."""
    n_atoms, tile = gram.shape[0], tile_of(gram)
    n_tiles = (n_atoms + tile - 1) // tile
    tiled = aligned_like(n_atoms * n_tiles * 2 * tile, gram).reshape((n_atoms, n_tiles, 2, tile))
    tiled[:] = 0
    for p in range(n_atoms):
        for t in range(n_tiles):
            first = t * tile
            for j in range(min(tile, n_atoms - first)):
                tiled[p, t, 0, j] = gram[p, 0, first + j]
                tiled[p, t, 1, j] = gram[p, 1, first + j]
    return tiled.reshape((n_atoms, n_tiles * 2 * tile))


@kernel()
def first_largest(bits):
    """Return the place of the first largest of non-negative floats, given by their bits.

    Non-negative floats are ordered as the integers of the same bits, and a maximum of integers
    vectorizes without a promise that no NaN occurs.
    """
    largest = bits[0]
    for j in range(bits.shape[0]):
        largest = max(largest, bits[j])
    for j in range(bits.shape[0]):
        if bits[j] == largest:
            return j
    return 0


@kernel()
def squared_norms(gram):
    """Return the diagonal of the Gram matrix; read once for all rows, as every entry is on another cache line."""
    found = np.empty(gram.shape[0], dtype=gram.dtype)
    for j in range(gram.shape[0]):
        found[j] = gram[j, 0, j]
    return found


@kernel(fastmath=FAST)
def start_state(correlations, atom_norms2, independent, by_correlation, out_state):
    """Write the state of a row before any atom is chosen."""
    tile, width = tile_of(out_state), out_state.shape[0] // 4
    out_state[:] = 0
    for j in range(atom_norms2.shape[0]):
        re, im, left = correlations[2 * j], correlations[2 * j + 1], atom_norms2[j]
        at = j // tile * tile + j
        out_state[at] = re
        out_state[at + tile] = im
        out_state[2 * width + j] = left
        if left > independent:
            square = re * re + im * im
            out_state[3 * width + j] = square if by_correlation else square / left


@kernel(fastmath=FAST)
def read_column(basis, places, level, atom, n_rows, out_weights):
    """Read the entries of one atom in the rows of the basis; there is room for `n_rows` of them."""
    tile = tile_of(basis)
    start = atom // tile * n_rows * 2 * tile + atom % tile
    for i in range(level):
        out_weights[0, i] = basis[start + 2 * tile * places[i]]
        out_weights[1, i] = basis[start + 2 * tile * places[i] + tile]


@kernel()
def step_parameters(limits, by_correlation):
    """The parameters of `step_tile`; the first three are those of a step."""
    parameters = np.zeros(5, dtype=limits.dtype)
    parameters[3] = limits[INDEPENDENT]
    parameters[4] = by_correlation
    return parameters


@kernel(fastmath=FAST)
def take_atom(gram, basis, places, level, atom, n_rows, weights, parameters, state):
    """Add an atom to the basis, and take its direction out of the state."""
    tile, width = tile_of(basis), state.shape[0] // 4
    for t in range(width // tile):
        step_tile(  # type: ignore[call-arg]
            gram, basis, places, weights, state, parameters, atom * 2 * width + t * 2 * tile, t * n_rows * 2 * tile,
            level, t * 2 * tile, 2 * width + t * tile, 3 * width + t * tile,
        )  # fmt: skip
    state[2 * width + atom] = 0
    state[3 * width + atom] = 0


@kernel(fastmath=FAST)
def next_atom(bits, state, stop_gain):
    """Return the atom of the best score, -1 where it gains too little."""
    tile, width = tile_of(state), state.shape[0] // 4
    atom = first_largest(bits[3 * width :])
    at = atom // tile * tile + atom
    re, im, left = state[at], state[at + tile], state[2 * width + atom]
    return atom if state[3 * width + atom] > 0 and re * re + im * im > stop_gain * left else -1


@kernel(fastmath=FAST)
def pursue(
    correlations, gram, atom_norms2, row, atoms, limits, by_correlation, basis, places, bits, parameters, chosen,
    needs_row,
):  # fmt: skip
    """Choose the atoms of one row, each the best one; return their number."""
    state = bits.view(basis.dtype)
    tile, width = tile_of(basis), state.shape[0] // 4
    target = chosen.target
    one = basis.dtype.type(1)
    n_nonzero = chosen.support.shape[0]
    start_state(correlations, atom_norms2, limits[INDEPENDENT], by_correlation, state)
    left_norm2, lowest = one, one
    for level in range(n_nonzero):
        if limits[TARGET] >= 0 and meets_target(left_norm2, limits, row, atoms, chosen, level, needs_row):
            return level
        atom = next_atom(bits, state, limits[GAIN])
        if atom < 0:
            return level
        at = atom // tile * tile + atom
        left = state[2 * width + atom]
        inv_norm = one / np.sqrt(left)
        lowest = min(lowest, left)
        chosen.support[level] = atom
        chosen.inv_diag[level] = inv_norm
        chosen.smallest_left[level] = lowest
        target[0, level] = state[at] * inv_norm
        target[1, level] = state[at + tile] * inv_norm
        left_norm2 -= target[0, level] ** 2 + target[1, level] ** 2
        read_column(basis, places, level, atom, n_nonzero, chosen.triangle[level])
        if level < n_nonzero - 1:
            parameters[0] = inv_norm
            parameters[1] = target[0, level]
            parameters[2] = target[1, level]
            take_atom(gram, basis, places, level, atom, n_nonzero, chosen.triangle[level], parameters, state)
    return n_nonzero


@kernel()
def atom_key(atom):
    """Well mixed 64-bit key of an atom; the keys of a support add up to its own, whatever the order."""
    key = np.uint64(atom + 1) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@kernel(fastmath=FAST)
def copy_history(level, ints, floats, out_ints, out_floats):
    """Copy the steps of a member."""
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
def best_member(n_members, greedy, greedy_margin, gains, favorite, scores):
    """Return the member that has most after its next atom, and how much; `greedy` comes first within a margin."""
    best = -1
    best_gain = gains.dtype.type(0)
    if greedy >= 0:
        best = greedy
        best_gain = gains[greedy] + scores[greedy, favorite[greedy]] + greedy_margin
    for m in range(n_members):
        if favorite[m] >= 0 and m != greedy:
            gain = gains[m] + scores[m, favorite[m]]
            if best < 0 or gain > best_gain:
                best_gain = gain
                best = m
    return best, best_gain


@kernel(fastmath=FAST)
def search(correlations, gram, atom_norms2, row, atoms, limits, beam, space, out_ints, out_floats, needs_row):
    """Search one row; leave the steps of the best member in ``out_ints``, ``out_floats`` and return their number."""
    basis, bits, ints, floats, gains, keys, favorite, parameters = beam
    n_nonzero = out_ints.shape[1]
    beam_width = bits.shape[1]
    states = bits.view(basis.dtype)
    width = states.shape[2] // 4
    n_rows = n_nonzero * beam_width
    one = basis.dtype.type(1)
    margin = 16 * limits[EPS]
    old = 0
    start_state(correlations, atom_norms2, limits[INDEPENDENT], 0, states[0, 0])
    gains[0, 0] = 0
    keys[0, 0] = np.uint64(0)
    n_members = 1
    greedy = 0  # place of the path of ORMP, -1 once it has ended
    done_gain = -one
    done_length = 0
    for level in range(n_nonzero):
        best = 0
        for m in range(1, n_members):
            if gains[old, m] > gains[old, best] + margin:
                best = m
        left = one - gains[old, best]
        if left <= limits[TARGET] + limits[UNSURE]:
            chosen = read_chosen(basis, ints[old, best], floats[old, best], level, n_rows, space)
            if meets_target(left, limits, row, atoms, chosen, level, needs_row):
                copy_history(level, ints[old, best], floats[old, best], out_ints, out_floats)
                return level
        # What each member would take next; a member with nothing to gain has ended.
        n_going = 0
        scores = states[old, :, 3 * width :]
        for m in range(n_members):
            favorite[m] = next_atom(bits[old, m], states[old, m], limits[GAIN])
            if favorite[m] >= 0:
                n_going += 1
                continue
            advantage = margin if m != greedy else -margin
            if gains[old, m] > done_gain + advantage:
                done_gain = gains[old, m]
                done_length = level
                copy_history(level, ints[old, m], floats[old, m], out_ints, out_floats)
        if greedy >= 0 and favorite[greedy] < 0:
            greedy = -1
        if n_going == 0 or done_gain >= one - margin:
            return done_length
        if level == n_nonzero - 1:
            best, best_gain = best_member(n_members, greedy, margin, gains[old], favorite, scores)
            if done_gain > best_gain:
                return done_length
            copy_history(level, ints[old, best], floats[old, best], out_ints, out_floats)
            write_step(level, favorite[best], 0, states[old, best], out_ints, out_floats)
            return n_nonzero
        new = 1 - old
        n_new = 0
        while n_new < beam_width:
            if n_new == 0 and greedy >= 0:
                best = greedy
            else:
                best, _ = best_member(n_members, -1, margin, gains[old], favorite, scores)
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
                child, history, steps = states[new, n_new], ints[new, n_new], floats[new, n_new]
                for i in range(child.shape[0]):
                    child[i] = states[old, best, i]
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
            if n_new < beam_width:
                scores[best, atom] = 0
                favorite[best] = next_atom(bits[old, best], states[old, best], limits[GAIN])
        greedy = 0 if greedy >= 0 else -1
        n_members = n_new
        old = new
    return done_length


@kernel()
def pursue_batch(
    correlations, gram, rows, atoms, limits, by_correlation, bits_dtype,
    out_support, out_coefs, out_left, out_needs_row,
):  # fmt: skip
    """Code a block of rows by ORMP or OMP.

    Parameters
    ----------
    correlations : ndarray of float, shape (n_samples, 2 * n_atoms)
        ``atom_j^H row_k``, real and imaginary parts interleaved. Rows have norm 1.
    gram : ndarray of float, shape (n_atoms, 2, width)
        ``gram[i, :, j]`` is `atom_i^H atom_j`; columns from ``n_atoms`` on are zero.
    rows, atoms : ndarray of float, shapes (n_samples, 2 * N), (n_atoms, 2 * N)
        Rows and atoms, real and imaginary parts interleaved. Atoms have norm 1 or 0. Rows may have length 0.
    limits : ndarray of float, shape (6,)
        Tolerances; see :mod:`shapelex.kernels.triangle`.
    by_correlation : int
        0 for ORMP, 1 for OMP.
    bits_dtype : ndarray of int
        Any array of integers as wide as the floats.
    out_support : ndarray of int32, shape (n_samples, n_nonzero)
        Chosen atoms in order of choice, then -1.
    out_coefs : ndarray of float, shape (n_samples, n_levels, 2 * n_nonzero)
        Coefficients, interleaved. One level: those of the full support. As many levels as
        ``n_nonzero``: level ``s - 1`` has the coefficients of the first ``s`` atoms.
    out_left : ndarray of float, shape (n_samples,)
        Squared norms of the residuals, with errors of a few roundings of 1.
    out_needs_row : ndarray of bool, shape (n_samples,)
        Set where `rows` have length 0 and the code must be computed again with the row.
    """
    n_samples, n_nonzero = out_support.shape
    tiled = tile_gram(gram)
    width = tiled.shape[1] // 2
    basis = aligned_like(n_nonzero * 2 * width, rows)
    bits = aligned_like(4 * width, bits_dtype)
    parameters = step_parameters(limits, by_correlation)
    places = np.arange(n_nonzero)
    chosen = allocate_chosen(n_nonzero, rows)
    atom_norms2 = squared_norms(gram)
    for k in range(n_samples):
        row, needs_row = rows[k], out_needs_row[k : k + 1]
        n_chosen = pursue(
            correlations[k], tiled, atom_norms2, row, atoms, limits, by_correlation, basis, places, bits, parameters,
            chosen, needs_row,
        )  # fmt: skip
        out_left[k] = rows.dtype.type(1) - sum_of_squares(chosen.target, n_chosen)
        write_support(chosen.support, n_chosen, out_support[k])
        solve_levels(row, atoms, limits, chosen, n_chosen, out_coefs[k], needs_row)


@kernel()
def search_batch(
    correlations, gram, rows, atoms, limits, beam_width, bits_dtype,
    out_support, out_coefs, out_left, out_needs_row,
):  # fmt: skip
    """Code a block of rows by a beam of ORMP that keeps `beam_width` supports; the rest is as in `pursue_batch`."""
    n_samples, n_nonzero = out_support.shape
    dtype = rows.dtype
    tiled = tile_gram(gram)
    width = tiled.shape[1] // 2
    beam = Beam(
        aligned_like(n_nonzero * beam_width * 2 * width, rows),
        aligned_like(2 * beam_width * 4 * width, bits_dtype).reshape((2, beam_width, 4 * width)),
        np.empty((2, beam_width, 2, n_nonzero), dtype=np.int64),
        np.empty((2, beam_width, 4, n_nonzero), dtype=dtype),
        np.empty((2, beam_width), dtype=dtype),
        np.empty((2, beam_width), dtype=np.uint64),
        np.empty(beam_width, dtype=np.int64),
        step_parameters(limits, 0),
    )
    space = allocate_chosen(n_nonzero, rows)
    history = np.empty((2, n_nonzero), dtype=np.int64)
    steps = np.empty((4, n_nonzero), dtype=dtype)
    atom_norms2 = squared_norms(gram)
    for k in range(n_samples):
        row, needs_row = rows[k], out_needs_row[k : k + 1]
        n_chosen = search(
            correlations[k], tiled, atom_norms2, row, atoms, limits, beam, space, history, steps, needs_row
        )
        chosen = read_chosen(beam.basis, history, steps, n_chosen, n_nonzero * beam_width, space)
        out_left[k] = dtype.type(1) - sum_of_squares(chosen.target, n_chosen)
        write_support(chosen.support, n_chosen, out_support[k])
        solve_levels(row, atoms, limits, chosen, n_chosen, out_coefs[k], needs_row)
