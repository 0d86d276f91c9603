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

from typing import Any

import numpy as np

from shapelex.kernels.compilation import aligned_like, kernel
from shapelex.kernels.tile import TILE_BITS, step_tile
from shapelex.kernels.triangle import FAST, allocate_chosen, meets_target, solve_row, sum_of_squares, write_coefs


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
        for part in range(2):
            for j in range(n_atoms):
                tiled[p, j // tile, part, j % tile] = gram[p, part, j]
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


@kernel(fastmath=FAST)
def start_state(correlations, atom_norms2, parameters, out_state):
    """Write the state of a row before any atom is chosen."""
    tile, width = tile_of(out_state), out_state.shape[0] // 4
    independent, by_correlation = parameters[3], parameters[4] != 0
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
def read_column(basis, ints, member, level, n_rows, triangle):
    """Read the entries of the atom of one step in the rows of the basis; there is room for `n_rows` of them."""
    tile, atom = tile_of(basis), ints[member, 1, level]
    start = atom // tile * n_rows * 2 * tile + atom % tile
    for i in range(level):
        at = start + 2 * tile * ints[member, 0, i]
        triangle[level, i] = complex(basis[at], basis[at + tile])


@kernel(fastmath=FAST)
def read_chosen(basis, ints, floats, member, n_chosen, n_rows, chosen):
    """Read the chosen atoms of a member."""
    for level in range(n_chosen):
        chosen.support[level] = ints[member, 1, level]
        chosen.inv_diag[level] = floats[member, 0, level]
        chosen.smallest_left[level] = floats[member, 1, level]
        chosen.target[level] = complex(floats[member, 2, level], floats[member, 3, level])
        read_column(basis, ints, member, level, n_rows, chosen.triangle)


@kernel(fastmath=FAST)
def take_atom(gram, basis, places, level, atom, n_rows, weights, parameters, states, member):
    """Add an atom to the basis, and take its direction out of the state of a member."""
    tile, size = tile_of(basis), states.shape[1]
    width = size // 4
    start = member * size
    for t in range(width // tile):
        step_tile(  # type: ignore[call-arg]
            gram, basis, places, weights, states, parameters, atom * 2 * width + t * 2 * tile, t * n_rows * 2 * tile,
            level, start + t * 2 * tile, start + 2 * width + t * tile, start + 3 * width + t * tile,
        )  # fmt: skip
    states[member, 2 * width + atom] = 0
    states[member, 3 * width + atom] = 0


@kernel(fastmath=FAST)
def next_atom(bits, states, member, stop_gain):
    """Return the atom of the best score, -1 where it gains too little."""
    tile, width = tile_of(states), states.shape[1] // 4
    atom = first_largest(bits[member, 3 * width :])
    at = atom // tile * tile + atom
    re, im, left = states[member, at], states[member, at + tile], states[member, 2 * width + atom]
    return atom if states[member, 3 * width + atom] > 0 and re * re + im * im > stop_gain * left else -1


@kernel()
def atom_key(atom):
    """Well mixed 64-bit key of an atom; the keys of a support add up to its own, whatever the order."""
    key = np.uint64(atom + 1) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@kernel(fastmath=FAST)
def copy_history(level, ints, floats, source, target):
    """Copy the steps of one member to another."""
    for i in range(level):
        ints[target, 0, i] = ints[source, 0, i]
        ints[target, 1, i] = ints[source, 1, i]
        for part in range(4):
            floats[target, part, i] = floats[source, part, i]


@kernel(fastmath=FAST)
def write_step(level, atom, place, states, ints, floats, member):
    """Note a new step of a member; give back its gain."""
    tile, width = tile_of(states), states.shape[1] // 4
    at = atom // tile * tile + atom
    corr_re, corr_im, left = states[member, at], states[member, at + tile], states[member, 2 * width + atom]
    inv_norm = states.dtype.type(1) / np.sqrt(left)
    lowest = left if level == 0 else min(left, floats[member, 1, level - 1])
    ints[member, 0, level] = place
    ints[member, 1, level] = atom
    floats[member, 0, level] = inv_norm
    floats[member, 1, level] = min(lowest, states.dtype.type(1))
    floats[member, 2, level] = corr_re * inv_norm
    floats[member, 3, level] = corr_im * inv_norm
    return (corr_re * corr_re + corr_im * corr_im) / left


@kernel(fastmath=FAST)
def best_member(first, n_members, greedy, advantage, gains, favorite, states):
    """Return the member that has most after its next atom, and how much; `greedy` gets an advantage."""
    scores = 3 * states.shape[1] // 4
    best = -1
    best_gain = gains.dtype.type(0)
    for m in range(first, first + n_members):
        if favorite[m] >= 0:
            gain = gains[m] + states[m, scores + favorite[m]]
            if m == greedy:
                gain += advantage
            if best < 0 or gain > best_gain:
                best_gain = gain
                best = m
    return best, best_gain


@kernel(fastmath=FAST, forceinline=True)
def search(
    correlations, gram, atom_norms2, row, atoms, limits, beam_width, parameters, basis, bits, ints, floats, gains, keys,
    favorite, chosen, needs_row,
):  # fmt: skip
    """Search one row; return the best member of the beam, and the number of its steps.

    There are two generations of `beam_width` members. ``bits`` are their states as integers, ``ints`` the basis places
    and the atoms of their steps, ``floats`` the inverse diagonal, the smallest norm left and the two parts of the
    targets, ``gains`` what they have gained, and ``keys`` name their supports. ``favorite`` is the atom that each would
    take next, -1 once it has ended. `ints` and `floats` have one member more, the best of those that have ended.
    """
    n_nonzero = ints.shape[2]
    done = 2 * beam_width
    states = bits.view(basis.dtype)
    scores = 3 * states.shape[1] // 4
    n_rows = n_nonzero * beam_width
    one = basis.dtype.type(1)
    margin = 16 * limits.eps
    # The first member of the present generation, and the path of ORMP, -1 once it has ended. For integers that are
    # literal, numba would compile the functions that take them once more.
    old: Any = np.int64(0)
    greedy: Any = np.int64(0)
    n_members: Any = np.int64(1)
    start_state(correlations, atom_norms2, parameters, states[0])
    gains[0] = 0
    keys[0] = np.uint64(0)
    done_gain = -one
    done_length = 0
    for level in range(n_nonzero):
        best = old
        for m in range(old + 1, old + n_members):
            if gains[m] > gains[best] + margin:
                best = m
        left = one - gains[best]
        if left <= limits.target + limits.unsure:
            read_chosen(basis, ints, floats, best, level, n_rows, chosen)
            if meets_target(left, limits, row, atoms, chosen, level, needs_row):
                return best, level
        # What each member would take next; a member with nothing to gain has ended.
        n_going = 0
        for m in range(old, old + n_members):
            favorite[m] = next_atom(bits, states, m, limits.gain)
            if favorite[m] >= 0:
                n_going += 1
                continue
            advantage = margin if m != greedy else -margin
            if gains[m] > done_gain + advantage:
                done_gain = gains[m]
                done_length = level
                copy_history(level, ints, floats, m, done)
        if greedy >= 0 and favorite[greedy] < 0:
            greedy = -1
        if n_going == 0 or done_gain >= one - margin:
            return done, done_length
        if level == n_nonzero - 1:
            best, best_gain = best_member(old, n_members, greedy, margin, gains, favorite, states)
            if done_gain > best_gain:
                return done, done_length
            write_step(level, favorite[best], level * beam_width, states, ints, floats, best)
            return best, n_nonzero
        # A single path goes on in place.
        new = beam_width - old if beam_width > 1 else old
        n_new = 0
        while n_new < beam_width:
            best, _ = best_member(old, n_members, greedy, np.inf if n_new == 0 else 0.0, gains, favorite, states)
            if best < 0:
                break
            atom = favorite[best]
            key = keys[best] + atom_key(atom)
            is_new = True
            for m in range(new, new + n_new):
                if keys[m] == key:
                    is_new = False
            if is_new:
                child = new + n_new
                if child != best:
                    for i in range(states.shape[1]):
                        states[child, i] = states[best, i]
                    copy_history(level, ints, floats, best, child)
                place = level * beam_width + n_new
                gains[child] = gains[best] + write_step(level, atom, place, states, ints, floats, child)
                keys[child] = key
                read_column(basis, ints, child, level, n_rows, chosen.triangle)
                parameters[0] = floats[child, 0, level]
                parameters[1] = floats[child, 2, level]
                parameters[2] = floats[child, 3, level]
                weights = chosen.triangle[level].view(basis.dtype)
                take_atom(gram, basis, ints[child, 0], level, atom, n_rows, weights, parameters, states, child)
                n_new += 1
            if n_new < beam_width:
                states[best, scores + atom] = 0
                favorite[best] = next_atom(bits, states, best, limits.gain)
        greedy = new if greedy >= 0 else -1
        n_members = n_new
        old = new
    return done, done_length


@kernel()
def search_batch(
    correlations, gram, rows, atoms, limits, beam_width, by_correlation, bits_dtype,
    out_support, out_coefs, out_left, out_needs_row,
):  # fmt: skip
    """Code a block of rows by a beam of ORMP, by ORMP, which is a beam of width 1, or by OMP.

    Parameters
    ----------
    correlations : ndarray of float, shape (n_samples, 2 * n_atoms)
        ``atom_j^H row_k``, real and imaginary parts interleaved. Rows have norm 1.
    gram : ndarray of float, shape (n_atoms, 2, width)
        ``gram[i, :, j]`` is `atom_i^H atom_j`; columns from ``n_atoms`` on are zero.
    rows, atoms : ndarray of float, shapes (n_samples, 2 * N), (n_atoms, 2 * N)
        Rows and atoms, real and imaginary parts interleaved. Atoms have norm 1 or 0. Rows may have length 0.
    limits : Limits
        Tolerances, in the precision of the rows.
    beam_width : int
        Number of supports that are kept.
    by_correlation : int
        0 for ORMP, 1 for OMP, which has width 1.
    bits_dtype : ndarray of int
        Any array of integers as wide as the floats.
    out_support : ndarray of int32, shape (n_samples, n_nonzero)
        Chosen atoms in order of choice, then -1.
    out_coefs : ndarray of complex, shape (n_samples, n_levels, n_nonzero)
        Coefficients. One level: those of the full support. As many levels as ``n_nonzero``: level ``s - 1`` has the
        coefficients of the first ``s`` atoms.
    out_left : ndarray of float, shape (n_samples,)
        Squared norms of the residuals, with errors of a few roundings of 1.
    out_needs_row : ndarray of bool, shape (n_samples,)
        Set where `rows` have length 0 and the code must be computed again with the row.
    """
    (n_samples, n_nonzero), n_levels = out_support.shape, out_coefs.shape[1]
    dtype = rows.dtype
    tiled = tile_gram(gram)
    width = tiled.shape[1] // 2
    # Those of `step_tile`; the first three belong to a step.
    parameters = np.zeros(5, dtype=dtype)
    parameters[3] = limits.independent
    parameters[4] = by_correlation
    n_members = 2 * beam_width
    basis = aligned_like(n_nonzero * beam_width * 2 * width, rows)
    bits = aligned_like(n_members * 4 * width, bits_dtype).reshape((n_members, 4 * width))
    ints = np.empty((n_members + 1, 2, n_nonzero), dtype=np.int64)
    floats = np.empty((n_members + 1, 4, n_nonzero), dtype=dtype)
    gains = np.empty(n_members, dtype=dtype)
    keys = np.empty(n_members, dtype=np.uint64)
    favorite = np.empty(n_members, dtype=np.int64)
    chosen = allocate_chosen(n_nonzero, rows, out_coefs)
    # Read once for all rows: every entry is on another cache line.
    atom_norms2 = np.diag(gram[:, 0])
    for k in range(n_samples):
        row, needs_row = rows[k], out_needs_row[k : k + 1]
        member, n_chosen = search(
            correlations[k], tiled, atom_norms2, row, atoms, limits, beam_width, parameters, basis, bits, ints, floats,
            gains, keys, favorite, chosen, needs_row,
        )  # fmt: skip
        read_chosen(basis, ints, floats, member, n_chosen, n_nonzero * beam_width, chosen)
        out_left[k] = dtype.type(1) - sum_of_squares(chosen.target, n_chosen)
        for level in range(n_nonzero):
            out_support[k, level] = chosen.support[level] if level < n_chosen else -1
        for out_level in range(n_levels):
            n_here = n_chosen if n_levels == 1 else min(out_level + 1, n_chosen)
            solve_row(row, atoms, limits, chosen, n_here, needs_row)
            write_coefs(chosen.coef, n_here, out_coefs[k, out_level])
