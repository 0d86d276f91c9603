"""Squared errors of all supports of one size, for every row of a block.

In: correlations of a block of rows of norm 1 with the atoms, and the Gram matrix of these. Out: an array (n_rows,
n_supports), supports in lexicographic order. The supports are visited as in :mod:`shapelex.kernels.support_tree`, whose
steps it takes; a leaf is written instead of compared.
"""

import numpy as np

from shapelex.kernels.alignment import aligned_like
from shapelex.kernels.compilation import kernel
from shapelex.kernels.support_tree import LANE, descend, enter, step_down
from shapelex.kernels.triangle import FAST, INDEPENDENT


@kernel(fastmath=FAST)
def write_leaf(corr, along, b_re, b_im, inv_left, out):
    """Write the squared residuals of one support for all rows of the lane; rows have norm 1."""
    one = corr.dtype.type(1)
    for s in range(LANE):
        re = corr[s] - (b_re * along[s] + b_im * along[LANE + s])
        im = corr[LANE + s] - (b_re * along[LANE + s] - b_im * along[s])
        out[s] = one - (along[2 * LANE + s] + (re * re + im * im) * inv_left)


@kernel(fastmath=FAST)
def write_lane(gram, independent, size, basis, left, corr, along, following, out):
    """Write the squared residuals of all supports for the rows of a lane, ``out`` (n_supports, LANE)."""
    n_atoms = gram.shape[0]
    zero = gram.dtype.type(0)
    one = gram.dtype.type(1)
    for j in range(n_atoms):
        left[0, j] = gram[j, 0, j]
    rank = 0
    if size == 1:
        for j in range(n_atoms):
            inv_left = one / left[0, j] if left[0, j] > independent else zero
            write_leaf(corr[0, j], along[0], zero, zero, inv_left, out[rank])
            rank += 1
        return
    depth = 0
    following[0] = 0
    while depth >= 0:
        atom = following[depth]
        if atom > n_atoms - (size - depth):
            depth -= 1
            continue
        following[depth] = atom + 1
        inv_norm = descend(gram, basis, left, depth, atom, independent)
        here = along[depth + 1]
        enter(corr[depth, atom], inv_norm, along[depth], here)
        b_re, b_im, remaining = basis[depth, 0], basis[depth, 1], left[depth + 1]
        if depth + 2 < size:
            for j in range(atom + 1, n_atoms):
                step_down(corr[depth, j], here, b_re[j], b_im[j], corr[depth + 1, j])
            depth += 1
            following[depth] = atom + 1
            continue
        for j in range(atom + 1, n_atoms):
            inv_left = one / remaining[j] if remaining[j] > independent else zero
            write_leaf(corr[depth, j], here, b_re[j], b_im[j], inv_left, out[rank])
            rank += 1


@kernel()
def all_errors_batch(correlations, gram, limits, size, out_squares):
    """Write the squared errors of all supports of `size` atoms for rows of norm 1.

    Parameters
    ----------
    correlations : ndarray of float, shape (n_rows, 2 * n_atoms)
        Products of the rows with the atoms, real and imaginary parts interleaved.
    gram, limits
        As in :func:`shapelex.kernels.pursuit.pursue_batch`.
    size : int
        Number of atoms of a support.
    out_squares : ndarray of float64, shape (n_rows, n_supports)
        Gets the squared errors; an atom that the others of a support span adds nothing.
    """
    n_rows, n_supports = out_squares.shape
    n_atoms = gram.shape[0]
    dtype = gram.dtype
    basis = np.empty((size, 2, n_atoms), dtype=dtype)
    left = np.empty((size + 1, n_atoms), dtype=dtype)
    n_kept = max(size - 1, 1)
    corr = aligned_like(n_kept * n_atoms * 2 * LANE, gram).reshape((n_kept, n_atoms, 2 * LANE))
    along = aligned_like((size + 1) * 3 * LANE, gram).reshape((size + 1, 3 * LANE))
    along[0] = 0
    following = np.empty(size + 1, dtype=np.int64)
    squares = aligned_like(n_supports * LANE, gram).reshape((n_supports, LANE))
    for first in range(0, n_rows, LANE):
        n_here = min(LANE, n_rows - first)
        if n_here < LANE:
            corr[0] = 0
        for j in range(n_atoms):
            for s in range(n_here):
                corr[0, j, s] = correlations[first + s, 2 * j]
                corr[0, j, LANE + s] = correlations[first + s, 2 * j + 1]
        write_lane(gram, limits[INDEPENDENT], size, basis, left, corr, along, following, squares)
        for s in range(n_here):
            for rank in range(n_supports):
                out_squares[first + s, rank] = squares[rank, s]
