"""All supports of a size, tried for a lane of rows at once.

In: correlations of a lane of rows, and the Gram matrix of the atoms (unit norm, or zero). Out: the gain and the
lexicographic rank of the best support of every row.

The supports are visited in lexicographic order, depth first. What a chosen prefix does to the other atoms
(`basis`, `left` of :mod:`shapelex.kernels.pursuit`) does not depend on the row, so it is computed once for a whole
lane of rows; for each row a step down the tree costs one complex multiply-add per atom, and a leaf the same and its
score. Every support is visited: the result is the minimum because nothing was left out.

Rows of a lane are the contiguous axis here.
"""

import numpy as np

from shapelex.kernels.compilation import kernel
from shapelex.kernels.triangle import FAST

# Rows that go through the tree together. Everything of a lane that one loop touches lies at multiples of this
# known number in one array: LLVM then needs two alias checks for a loop, not twenty, and vectorizes it.
LANE = 128


@kernel(fastmath=FAST)
def descend(gram, basis, left, depth, atom, independent):
    """Project the atoms after `atom` onto the prefix that ends in it.

    Writes ``basis[depth, :, j]`` and ``left[depth + 1, j]`` for ``j > atom``; gives back ``1 / sqrt(left)`` of
    `atom`, or 0 when the prefix before it already spans it. Then nothing changes below: such a support does as well
    as the one without the atom.
    """
    n_atoms = gram.shape[0]
    zero = gram.dtype.type(0)
    remaining = left[depth, atom]
    if not remaining > independent:
        for j in range(atom + 1, n_atoms):
            basis[depth, 0, j] = 0
            basis[depth, 1, j] = 0
            left[depth + 1, j] = left[depth, j]
        return zero
    inv_norm = gram.dtype.type(1) / np.sqrt(remaining)
    for j in range(atom + 1, n_atoms):
        re = gram[atom, 0, j]
        im = gram[atom, 1, j]
        for i in range(depth):
            a_re, a_im = basis[i, 0, atom], basis[i, 1, atom]
            re -= a_re * basis[i, 0, j] + a_im * basis[i, 1, j]
            im -= a_re * basis[i, 1, j] - a_im * basis[i, 0, j]
        re *= inv_norm
        im *= inv_norm
        basis[depth, 0, j] = re
        basis[depth, 1, j] = im
        left[depth + 1, j] = left[depth, j] - (re * re + im * im)
    return inv_norm


@kernel(fastmath=FAST)
def enter(corr, inv_norm, gain, out_along):
    """Coordinates of the rows along a new direction, and their gains with it.

    A row of ``along`` holds, for all rows of the lane, the real parts, the imaginary parts and the gains.
    """
    for s in range(LANE):
        re = corr[s] * inv_norm
        im = corr[LANE + s] * inv_norm
        out_along[s] = re
        out_along[LANE + s] = im
        out_along[2 * LANE + s] = gain[2 * LANE + s] + (re * re + im * im)


@kernel(fastmath=FAST)
def step_down(corr, along, b_re, b_im, out_corr):
    """Take one direction out of the correlations of one atom with all rows of the lane."""
    for s in range(LANE):
        re, im = along[s], along[LANE + s]
        out_corr[s] = corr[s] - (b_re * re + b_im * im)
        out_corr[LANE + s] = corr[LANE + s] - (b_re * im - b_im * re)


@kernel(fastmath=FAST)
def score_leaf(corr, along, b_re, b_im, inv_left, rank, margin, best):
    """Compare one leaf with the best so far, for all rows of the lane.

    ``best`` holds the gains to beat, which are `margin` (a factor a few roundings above 1) times the best gains, then
    the ranks, as floats: the comparison and both choices run in one vector type.
    """
    for s in range(LANE):
        re = corr[s] - (b_re * along[s] + b_im * along[LANE + s])
        im = corr[LANE + s] - (b_re * along[LANE + s] - b_im * along[s])
        total = along[2 * LANE + s] + (re * re + im * im) * inv_left
        is_better = total > best[s]
        best[s] = total * margin if is_better else best[s]
        best[LANE + s] = rank if is_better else best[LANE + s]


@kernel(fastmath=FAST)
def score_two_leaves(corr, next_corr, along, b_re, b_im, inv_left, c_re, c_im, next_inv_left, rank, margin, best):
    """Do the work of two calls of :func:`score_leaf` with half the loads."""
    next_rank = rank + best.dtype.type(1)
    for s in range(LANE):
        t_re, t_im, gain = along[s], along[LANE + s], along[2 * LANE + s]
        re = corr[s] - (b_re * t_re + b_im * t_im)
        im = corr[LANE + s] - (b_re * t_im - b_im * t_re)
        total = gain + (re * re + im * im) * inv_left
        re = next_corr[s] - (c_re * t_re + c_im * t_im)
        im = next_corr[LANE + s] - (c_re * t_im - c_im * t_re)
        next_total = gain + (re * re + im * im) * next_inv_left
        is_next = next_total > total * margin
        larger = next_total if is_next else total
        larger_rank = next_rank if is_next else rank
        is_better = larger > best[s]
        best[s] = larger * margin if is_better else best[s]
        best[LANE + s] = larger_rank if is_better else best[LANE + s]


@kernel(fastmath=FAST)
def enumerate_lane(gram, independent, margin, size, basis, left, corr, along, following, best):
    """Find the best support of `size` atoms for every row of a lane.

    ``corr[0]`` holds the correlations ``(n_atoms, 2 * LANE)``, ``along[0]`` zeros. ``best`` gets `margin` times
    the gains, then the lexicographic ranks of the best supports, the first of those that are equal up to `margin`.
    Returns whether atoms other than zero were skipped because those before them in a support span them.
    """
    n_atoms = gram.shape[0]
    zero = gram.dtype.type(0)
    one = gram.dtype.type(1)
    for j in range(n_atoms):
        left[0, j] = gram[j, 0, j]
    rank = zero
    best[:LANE] = -one
    best[LANE:] = 0
    if size == 1:
        for j in range(n_atoms):
            inv_left = one / left[0, j] if left[0, j] > independent else zero
            score_leaf(corr[0, j], along[0], zero, zero, inv_left, rank, margin, best)
            rank += one
        return False
    has_skipped = False
    depth = 0
    following[0] = 0
    while depth >= 0:
        atom = following[depth]
        if atom > n_atoms - (size - depth):
            depth -= 1
            continue
        following[depth] = atom + 1
        inv_norm = descend(gram, basis, left, depth, atom, independent)
        has_skipped |= inv_norm == 0 and left[0, atom] > independent
        here = along[depth + 1]
        enter(corr[depth, atom], inv_norm, along[depth], here)
        b_re, b_im, remaining = basis[depth, 0], basis[depth, 1], left[depth + 1]
        if depth + 2 < size:
            for j in range(atom + 1, n_atoms):
                step_down(corr[depth, j], here, b_re[j], b_im[j], corr[depth + 1, j])
            depth += 1
            following[depth] = atom + 1
            continue
        j = atom + 1
        while j < n_atoms:
            inv_left = one / remaining[j] if remaining[j] > independent else zero
            has_skipped |= inv_left == 0 and left[0, j] > independent
            if j + 1 == n_atoms:
                score_leaf(corr[depth, j], here, b_re[j], b_im[j], inv_left, rank, margin, best)
                rank += one
                break
            next_inv_left = one / remaining[j + 1] if remaining[j + 1] > independent else zero
            has_skipped |= next_inv_left == 0 and left[0, j + 1] > independent
            score_two_leaves(
                corr[depth, j],
                corr[depth, j + 1],
                here,
                b_re[j],
                b_im[j],
                inv_left,
                b_re[j + 1],
                b_im[j + 1],
                next_inv_left,
                rank,
                margin,
                best,
            )
            rank += one + one
            j += 2
    return has_skipped


@kernel()
def count_supports(n_atoms, size):
    """Table of the numbers of supports: entry ``[n, k]`` is ``comb(n, k)``."""
    counts = np.zeros((n_atoms + 1, size + 1), dtype=np.int64)
    counts[:, 0] = 1
    for n in range(1, n_atoms + 1):
        for k in range(1, size + 1):
            counts[n, k] = counts[n - 1, k - 1] + counts[n - 1, k]
    return counts


@kernel()
def unrank(rank, counts, size, out_support):
    """Support with a lexicographic rank among the supports of `size` atoms; `counts` as :func:`count_supports`."""
    n_atoms = len(counts) - 1
    atom = 0
    for level in range(size):
        # Supports that go on with `atom` here.
        count = counts[n_atoms - atom - 1, size - level - 1]
        while rank >= count:
            rank -= count
            atom += 1
            count = counts[n_atoms - atom - 1, size - level - 1]
        out_support[level] = atom
        atom += 1
