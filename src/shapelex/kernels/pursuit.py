"""Greedy pursuits of one row after another, ORMP and OMP, for dictionaries of many atoms.

With `q_l` the orthonormal vectors that the chosen atoms span, the kernels keep for all atoms `d_j` at once
``basis[l, j] = q_l^H d_j``, the correlations ``d_j^H r`` with the residual `r`, and the squared norms ``left[j]`` of
the parts of `d_j` outside the chosen span; :mod:`shapelex.kernels.tile` adds a level.

Atoms are in tiles: T real parts, then T imaginary parts. The state of a row is one array of ``4 W`` numbers for ``W``
atoms, padding included: the correlations in tiles, the norms left, and the scores.
"""

import numpy as np

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.compilation import kernel
from shapelex.kernels.tile import TILE_BITS, step_tile
from shapelex.kernels.triangle import (
    FAST,
    GAIN,
    INDEPENDENT,
    TARGET,
    allocate_chosen,
    meets_target,
    solve_levels,
    sum_of_squares,
    write_support,
)


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
        for j in range(n_atoms):
            tiled[p, j // tile, 0, j % tile] = gram[p, 0, j]
            tiled[p, j // tile, 1, j % tile] = gram[p, 1, j]
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
def pursue(
    correlations, norm2, gram, atom_norms2, row, atoms, limits, by_correlation, basis, places, bits, parameters, chosen,
    needs_row,
):  # fmt: skip
    """Choose the atoms of one row; return their number."""
    state = bits.view(basis.dtype)
    tile, width = tile_of(basis), state.shape[0] // 4
    target = chosen.target
    one = basis.dtype.type(1)
    n_nonzero = chosen.support.shape[0]
    start_state(correlations, atom_norms2, limits[INDEPENDENT], by_correlation, state)
    parameters[3] = limits[INDEPENDENT]
    parameters[4] = by_correlation
    left_norm2, lowest = norm2, one
    for level in range(n_nonzero):
        if limits[TARGET] >= 0 and meets_target(left_norm2, norm2, limits, row, atoms, chosen, level, needs_row):
            return level
        best = first_largest(bits[3 * width :])
        at = best // tile * tile + best
        re, im, left = state[at], state[at + tile], state[2 * width + best]
        if not (state[3 * width + best] > 0 and re * re + im * im > limits[GAIN] * norm2 * left):
            return level
        inv_norm = one / np.sqrt(left)
        lowest = min(lowest, left)
        chosen.support[level] = best
        chosen.inv_diag[level] = inv_norm
        chosen.smallest_left[level] = lowest
        target[0, level] = re * inv_norm
        target[1, level] = im * inv_norm
        left_norm2 -= target[0, level] ** 2 + target[1, level] ** 2
        read_column(basis, places, level, best, n_nonzero, chosen.triangle[level])
        if level < n_nonzero - 1:
            parameters[0] = inv_norm
            parameters[1] = target[0, level]
            parameters[2] = target[1, level]
            take_atom(gram, basis, places, level, best, n_nonzero, chosen.triangle[level], parameters, state)
    return n_nonzero


@kernel()
def pursue_batch(
    correlations, norms2, gram, rows, atoms, limits, by_correlation, score_bits,
    out_support, out_coefs, out_left, out_needs_row,
):  # fmt: skip
    """Code a block of rows by ORMP or OMP.

    Parameters
    ----------
    correlations : ndarray of float, shape (n_samples, 2 * n_atoms)
        ``atom_j^H row_k``, real and imaginary parts interleaved.
    norms2 : ndarray of float, shape (n_samples,)
        Squared norms of the rows.
    gram : ndarray of float, shape (n_atoms, 2, width)
        ``gram[i, :, j]`` is `atom_i^H atom_j`; columns from ``n_atoms`` on are zero.
    rows, atoms : ndarray of float, shapes (n_samples, 2 * N), (n_atoms, 2 * N)
        Rows and atoms, real and imaginary parts interleaved. Atoms have norm 1 or 0. Rows may have length 0.
    limits : ndarray of float, shape (6,)
        Tolerances; see :mod:`shapelex.kernels.triangle`.
    by_correlation : int
        0 for ORMP, 1 for OMP.
    score_bits : ndarray of int
        Any array of integers as wide as the floats.
    out_support : ndarray of int32, shape (n_samples, n_nonzero)
        Chosen atoms in order of choice, then -1.
    out_coefs : ndarray of float, shape (n_samples, n_levels, 2 * n_nonzero)
        Coefficients, interleaved. One level: those of the full support. As many levels as
        ``n_nonzero``: level ``s - 1`` has the coefficients of the first ``s`` atoms.
    out_left : ndarray of float, shape (n_samples,)
        Squared norms of the residuals, with errors of a few roundings of the squared norms of the rows.
    out_needs_row : ndarray of bool, shape (n_samples,)
        Set where `rows` have length 0 and the code must be computed again with the row.
    """
    n_samples, n_nonzero = out_support.shape
    tiled = tile_gram(gram)
    width = tiled.shape[1] // 2
    basis = aligned_like(n_nonzero * 2 * width, rows)
    bits = aligned_like(4 * width, score_bits)
    places = np.arange(n_nonzero)
    parameters = np.empty(5, dtype=rows.dtype)
    chosen = allocate_chosen(n_nonzero, rows)
    atom_norms2 = squared_norms(gram)
    for k in range(n_samples):
        row, needs_row = rows[k], out_needs_row[k : k + 1]
        n_chosen = pursue(
            correlations[k], norms2[k], tiled, atom_norms2, row, atoms, limits, by_correlation, basis, places, bits,
            parameters, chosen, needs_row,
        )  # fmt: skip
        out_left[k] = norms2[k] - sum_of_squares(chosen.target, n_chosen)
        write_support(chosen.support, n_chosen, out_support[k])
        solve_levels(row, atoms, limits, chosen, n_chosen, out_coefs[k], needs_row)
