"""The best of all supports, their errors, the weights of given ones, and the cheapest path of supports through time.

The supports are visited in lexicographic order, depth first. What a chosen prefix does to the other atoms (`basis`,
`left` of :mod:`shapelex.kernels.pursuit`) does not depend on the row, so it is computed once for a whole lane of rows;
for each row a step down the tree costs one complex multiply-add per atom, and a leaf the same and its score. Every
support is visited: the result is the minimum because nothing was left out.

Rows of a lane are the contiguous axis. Every lane is full, the last one padded with zeros: the bits of a code do not
depend on the rows beside it.

The cheapest path of supports through time is the one of least sum of squared errors and of costs of changes (dynamic
programming, the algorithm of Viterbi). A change that exchanges ``m`` of ``k`` atoms costs ``c (1 + m) / 2``. The best
predecessor of a support ``S'`` is ``S'`` itself, or the support ``S`` of least ``cost(S) + c (1 + k − |S ∩ S'|) / 2``.
With ``m(R)`` the least cost of all supports that contain a subset ``R``, the second is the minimum of
``m(R) + c (1 + k − |R|) / 2`` over the subsets ``R`` of ``S'``. Two sweeps over the lattice of subsets, one downwards
for ``m`` and one upwards for the minimum, take ``2 Σ_j j comb(n, j)`` comparisons instead of ``comb(n, k)²``.
"""

from typing import Any, NamedTuple

import numpy as np

from shapelex.kernels.compilation import aligned_like, kernel
from shapelex.kernels.triangle import FAST, allocate_chosen, meets_target, solve_row, sum_of_squares

# Rows that go through the tree together. Everything of a lane that one loop touches lies at multiples of this
# known number in one array: LLVM then needs two alias checks for a loop, not twenty, and vectorizes it.
LANE = 128


@kernel(fastmath=FAST)
def descend(gram, basis, left, depth, atom, independent):
    """Project the atoms after `atom` onto the prefix that ends in it.

    Writes ``basis[depth + 1, :, j]`` and ``left[depth + 1, j]`` for ``j > atom``; gives back ``1 / sqrt(left)`` of
    `atom`, or 0 when the prefix before it already spans it. Then nothing changes below: such a support does as well
    as the one without the atom.
    """
    n_atoms = gram.shape[0]
    zero = gram.dtype.type(0)
    remaining = left[depth, atom]
    if not remaining > independent:
        for j in range(atom + 1, n_atoms):
            basis[depth + 1, 0, j] = 0
            basis[depth + 1, 1, j] = 0
            left[depth + 1, j] = left[depth, j]
        return zero
    inv_norm = gram.dtype.type(1) / np.sqrt(remaining)
    for j in range(atom + 1, n_atoms):
        re = gram[atom, 0, j]
        im = gram[atom, 1, j]
        for i in range(1, depth + 1):
            a_re, a_im = basis[i, 0, atom], basis[i, 1, atom]
            re -= a_re * basis[i, 0, j] + a_im * basis[i, 1, j]
            im -= a_re * basis[i, 1, j] - a_im * basis[i, 0, j]
        re *= inv_norm
        im *= inv_norm
        basis[depth + 1, 0, j] = re
        basis[depth + 1, 1, j] = im
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
    """Compare a leaf with the best so far, for all rows of the lane.

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
def write_leaf(corr, along, b_re, b_im, inv_left, out):
    """Write the squared residuals of one support for all rows of the lane; rows have norm 1."""
    one = corr.dtype.type(1)
    for s in range(LANE):
        re = corr[s] - (b_re * along[s] + b_im * along[LANE + s])
        im = corr[LANE + s] - (b_re * along[LANE + s] - b_im * along[s])
        out[s] = one - (along[2 * LANE + s] + (re * re + im * im) * inv_left)


@kernel(fastmath=FAST)
def visit_leaves(corr, along, basis, inv_left, first, n_visited, margin, best, out):
    """Score the supports that end in each atom from `first` on, or write their errors to the next rows of `out`."""
    for j in range(first, inv_left.shape[0]):
        rank = n_visited + j - first
        if out.shape[0] > 0:
            write_leaf(corr[j], along, basis[0, j], basis[1, j], inv_left[j], out[rank])
        else:
            score_leaf(corr[j], along, basis[0, j], basis[1, j], inv_left[j], out.dtype.type(rank), margin, best)


class Tree(NamedTuple):
    """What is known of the atoms on the way to the present support, and of a lane of rows.

    ``basis[depth]`` and ``along[depth]``, as :func:`enter` writes it, belong to the last of `depth` atoms: 0 for no
    atom. ``corr`` (depth, n_atoms, 2 * LANE) are the correlations left, of which ``corr[0]`` is given; ``inv_left``
    (n_atoms,) are the inverse norms left at a leaf, 0 for atoms that are skipped, and ``following`` the next atom to
    take at each depth. ``best`` is described in :func:`score_leaf`.
    """

    basis: Any
    left: Any
    inv_left: Any
    corr: Any
    along: Any
    following: Any
    best: Any


@kernel()
def allocate_tree(size, gram):
    """Arrays for supports of up to `size` atoms."""
    n_atoms, dtype = gram.shape[0], gram.dtype
    n_kept = max(size - 1, 1)
    along = aligned_like(size * 3 * LANE, gram).reshape((size, 3 * LANE))
    along[0] = 0
    return Tree(
        np.zeros((size, 2, n_atoms), dtype=dtype),
        np.empty((size, n_atoms), dtype=dtype),
        np.empty(n_atoms, dtype=dtype),
        aligned_like(n_kept * n_atoms * 2 * LANE, gram).reshape((n_kept, n_atoms, 2 * LANE)),
        along,
        np.empty(size, dtype=np.int64),
        aligned_like(2 * LANE, gram),
    )


@kernel()
def read_lane(correlations, first, tree):
    """Read the correlations of a lane, the rows from `first` on; return their number."""
    n_here = min(LANE, correlations.shape[0] - first)
    corr = tree.corr[0]
    if n_here < LANE:
        corr[:] = 0
    for j in range(corr.shape[0]):
        for s in range(n_here):
            corr[j, s] = correlations[first + s, 2 * j]
            corr[j, LANE + s] = correlations[first + s, 2 * j + 1]
    return n_here


@kernel(fastmath=FAST)
def enumerate_lane(gram, independent, margin, size, tree, out):
    """Find the best support of `size` atoms for every row of a lane.

    ``tree.best`` gets `margin` times the gains, then the lexicographic ranks of the best supports, the first of those
    that are equal up to `margin`. Where `out` (n_supports, LANE) has rows, it gets the squared residuals of all
    supports instead. Returns whether atoms other than zero were skipped because those before them in a support span
    them.
    """
    basis, left, inv_left, corr, along, following, best = tree
    n_atoms = gram.shape[0]
    zero = gram.dtype.type(0)
    one = gram.dtype.type(1)
    for j in range(n_atoms):
        left[0, j] = gram[j, 0, j]
    best[:LANE] = -one
    best[LANE:] = 0
    n_visited = 0
    has_skipped = False
    # A literal integer would compile the functions that take it once more.
    depth: Any = np.int64(0)
    following[0] = 0
    while depth >= 0:
        atom = following[depth]
        if depth == size - 1:
            for j in range(atom, n_atoms):
                is_free = left[depth, j] > independent
                inv_left[j] = one / left[depth, j] if is_free else zero
                has_skipped |= not is_free and left[0, j] > independent
            # The last direction is taken out of the correlations before it as leaves are scored.
            before = corr[max(depth - 1, 0)]
            visit_leaves(before, along[depth], basis[depth], inv_left, atom, n_visited, margin, best, out)
            n_visited += n_atoms - atom
            depth -= 1
        elif atom > n_atoms - (size - depth):
            depth -= 1
        else:
            following[depth] = atom + 1
            inv_norm = descend(gram, basis, left, depth, atom, independent)
            has_skipped |= inv_norm == 0 and left[0, atom] > independent
            enter(corr[depth, atom], inv_norm, along[depth], along[depth + 1])
            depth += 1
            following[depth] = atom + 1
            if depth < size - 1:
                for j in range(atom + 1, n_atoms):
                    step_down(corr[depth - 1, j], along[depth], basis[depth, 0, j], basis[depth, 1, j], corr[depth, j])
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


@kernel(forceinline=True)
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


@kernel()
def allocate_candidates(n_nonzero, n_candidates, rows, coefs):
    """Workspace of :func:`pursue_among`: what candidates have in the basis, their correlations and norms left."""
    basis, corr = np.empty((n_nonzero, n_candidates), dtype=coefs.dtype), np.empty(n_candidates, dtype=coefs.dtype)
    return basis, corr, np.empty(n_candidates, dtype=rows.dtype)


@kernel(fastmath=FAST, forceinline=True)
def pursue_among(correlations, gram, candidates, limits, size, work, chosen):
    """Choose up to `size` of a few candidates by ORMP, in plain loops; return their number."""
    basis, corr, left = work
    triangle = chosen.triangle
    n_candidates = len(candidates)
    zero = gram.dtype.type(0)
    one = gram.dtype.type(1)
    for a in range(n_candidates):
        atom = candidates[a]
        corr[a] = complex(correlations[2 * atom], correlations[2 * atom + 1])
        left[a] = gram[atom, 0, atom]
    lowest = one
    for level in range(size):
        best = 0
        best_gain = zero
        for a in range(n_candidates):
            if left[a] > limits.independent:
                gain = (corr[a].real ** 2 + corr[a].imag ** 2) / left[a]
                if gain > best_gain:
                    best_gain = gain
                    best = a
        if not best_gain > limits.gain:
            return level
        atom = candidates[best]
        inv_norm = one / np.sqrt(left[best])
        lowest = min(lowest, left[best])
        along = corr[best] * inv_norm
        chosen.support[level] = atom
        chosen.inv_diag[level] = inv_norm
        chosen.smallest_left[level] = lowest
        chosen.target[level] = along
        for i in range(level):
            triangle[level, i] = basis[i, best]
        left[best] = 0
        for a in range(n_candidates):
            # Candidates that the chosen ones span stay so.
            if not left[a] > limits.independent:
                continue
            new = complex(gram[atom, 0, candidates[a]], gram[atom, 1, candidates[a]])
            for i in range(level):
                new -= np.conj(triangle[level, i]) * basis[i, a]
            new *= inv_norm
            basis[level, a] = new
            corr[a] -= np.conj(new) * along
            left[a] -= new.real**2 + new.imag**2
    return size


@kernel()
def read_support(support, out_support):
    """Copy a support that is padded with -1; return its size."""
    for level in range(support.shape[0]):
        if support[level] < 0:
            return level
        out_support[level] = support[level]
    return support.shape[0]


@kernel(forceinline=True)
def write_used(row, atoms, limits, chosen, n_chosen, out_support, out_coefs, needs_row):
    """Solve for the coefficients, and write a code without the atoms whose weight is rounding."""
    solve_row(row, atoms, limits, chosen, n_chosen, needs_row)
    out_support[:] = -1
    out_coefs[:] = 0
    n_used = 0
    for level in range(n_chosen):
        weight = chosen.coef[level]
        if weight.real**2 + weight.imag**2 > limits.gain:
            out_support[n_used] = chosen.support[level]
            out_coefs[n_used] = weight
            n_used += 1


@kernel()
def enumerate_batch(correlations, gram, rows, atoms, limits, out_support, out_coefs, out_left, out_needs_row):
    """Code a block of rows by the best of all supports.

    The support found is pursued once more by itself, so that atoms without use drop out, and the rest comes in order
    of gain. Where only rounding is left of a row, the support must beat ORMP, whose residuals are smaller than the sums
    of gains can tell apart. With an error target, sizes are tried from 1 on, and a row stops at the first that
    meets it.

    Parameters
    ----------
    correlations, gram, rows, atoms, limits
        As in :func:`shapelex.kernels.pursuit.search_batch`.
    out_support, out_coefs, out_left, out_needs_row
        As there, with one level.

    Returns
    -------
    bool
        Whether some support has atoms that count as dependent in lexicographic order, so that it was not searched.
    """
    n_samples, n_nonzero = out_support.shape
    n_atoms = gram.shape[0]
    dtype = rows.dtype
    tree = allocate_tree(n_nonzero, gram)
    pending = np.empty(LANE, dtype=np.bool_)
    nothing = np.empty((0, LANE), dtype=dtype)

    work = allocate_candidates(n_nonzero, n_atoms, rows, out_coefs)
    everything = np.arange(n_atoms)
    best_support = np.empty(n_nonzero, dtype=np.int64)
    chosen = allocate_chosen(n_nonzero, rows, out_coefs)

    counts = count_supports(n_atoms, n_nonzero)
    has_skipped = False
    has_target = limits.target >= 0
    # Sums of gains round: a support that wins by less is equal, and the first of equals is taken.
    # In the precision of the rows: a product with an integer would be in double precision.
    one = dtype.type(1)
    margin = one + dtype.type(4) * limits.eps
    for first in range(0, n_samples, LANE):
        n_here = read_lane(correlations, first, tree)
        pending[:] = True
        for size in range(1 if has_target else n_nonzero, n_nonzero + 1):
            if not pending[:n_here].any():
                break
            has_skipped |= enumerate_lane(gram, limits.independent, margin, size, tree, nothing)
            for s in range(n_here):
                if not pending[s]:
                    continue
                k = first + s
                row, needs_row = rows[k], out_needs_row[k : k + 1]
                n_chosen = 0
                is_found = True
                gain = tree.best[s] / margin
                if one - gain <= limits.unsure:
                    n_chosen = pursue_among(correlations[k], gram, everything, limits, size, work, chosen)
                    is_found = gain > sum_of_squares(chosen.target, n_chosen) + 16 * limits.eps
                if is_found:
                    found = best_support[:size]
                    unrank(np.int64(tree.best[LANE + s]), counts, size, found)
                    n_chosen = pursue_among(correlations[k], gram, found, limits, size, work, chosen)
                out_left[k] = one - sum_of_squares(chosen.target, n_chosen)
                if has_target and meets_target(out_left[k], limits, row, atoms, chosen, n_chosen, needs_row):
                    pending[s] = False
                write_used(row, atoms, limits, chosen, n_chosen, out_support[k], out_coefs[k, 0], needs_row)
    return has_skipped


@kernel()
def all_errors_batch(correlations, gram, limits, size, out_squares):
    """Write the squared errors of all supports of `size` atoms for rows of norm 1.

    Parameters
    ----------
    correlations : ndarray of float, shape (n_rows, 2 * n_atoms)
        Products of the rows with the atoms, real and imaginary parts interleaved.
    gram, limits
        As in :func:`shapelex.kernels.pursuit.search_batch`.
    size : int
        Number of atoms of a support.
    out_squares : ndarray of float64, shape (n_rows, n_supports)
        Gets the squared errors; an atom that the others of a support span adds nothing.
    """
    n_rows, n_supports = out_squares.shape
    tree = allocate_tree(size, gram)
    squares = aligned_like(n_supports * LANE, gram).reshape((n_supports, LANE))
    for first in range(0, n_rows, LANE):
        n_here = read_lane(correlations, first, tree)
        enumerate_lane(gram, limits.independent, limits.independent, size, tree, squares)
        for s in range(n_here):
            for i in range(n_supports):
                out_squares[first + s, i] = squares[i, s]


@kernel()
def solve_given_batch(correlations, gram, rows, atoms, limits, out_support, out_coefs, out_left, out_needs_row):
    """Compute the weights of the supports that are in ``out_support``; the arguments are those of all coders.

    The atoms are left in order of gain; those without use drop out.
    """
    n_samples, n_nonzero = out_support.shape
    dtype = rows.dtype
    work = allocate_candidates(n_nonzero, n_nonzero, rows, out_coefs)
    given = np.empty(n_nonzero, dtype=np.int64)
    chosen = allocate_chosen(n_nonzero, rows, out_coefs)
    for k in range(n_samples):
        row, needs_row = rows[k], out_needs_row[k : k + 1]
        size = read_support(out_support[k], given)
        n_chosen = pursue_among(correlations[k], gram, given[:size], limits, size, work, chosen)
        out_left[k] = dtype.type(1) - sum_of_squares(chosen.target, n_chosen)
        write_used(row, atoms, limits, chosen, n_chosen, out_support[k], out_coefs[k, 0], needs_row)


@kernel()
def step_lattice(cost, switch_cost, size, starts, below, least, source):
    """Least cost of reaching every support of the next frame, in ``least``, and from which support, in ``source``.

    Subsets are numbered by size, then in lexicographic order: those of `j` atoms begin at ``starts[j]``, and
    ``below[s, i]`` is subset `s` without its i-th atom. Of equally good predecessors, the support itself is taken.
    """
    first = starts[size]
    least[:first] = np.inf
    for i in range(len(cost)):
        least[first + i] = cost[i]
        source[first + i] = i
    for level in range(size, 0, -1):
        for s in range(starts[level], starts[level + 1]):
            value = least[s]
            for i in range(level):
                r = below[s, i]
                if value < least[r]:
                    least[r] = value
                    source[r] = source[s]
    half = switch_cost / 2
    least[0] += (1 + size) * half
    for level in range(1, size + 1):
        added = (1 + size - level) * half if level < size else 0.0
        for s in range(starts[level], starts[level + 1]):
            value = least[s] + added
            best = source[s]
            for i in range(level):
                r = below[s, i]
                if least[r] < value:
                    value = least[r]
                    best = source[r]
            least[s] = value
            source[s] = best


@kernel()
def advance_batch(squares, switch_costs, starts, below, cost, out_pointers):
    """Go through consecutive frames, from the costs of all supports before them to those after them, in `cost`.

    Parameters
    ----------
    squares : ndarray of float64, shape (n_frames, n_supports)
        Squared errors.
    switch_costs : ndarray of float64, shape (n_frames,)
        Cost ``c`` of a change between the frame before and each frame; 0 where a series begins.
    starts, below
        See :func:`step_lattice`.
    cost : ndarray of float64, shape (n_supports,)
        Least costs of paths that end in each support, up to a constant; updated.
    out_pointers : ndarray of int, shape (n_frames, n_supports)
        Gets the best support of the frame before, for each support of each frame.
    """
    size = below.shape[1]
    first = starts[size]
    least = np.empty(starts[size + 1])
    source = np.empty(starts[size + 1], dtype=np.int64)
    for t in range(len(squares)):
        step_lattice(cost, switch_costs[t], size, starts, below, least, source)
        for i in range(len(cost)):
            cost[i] = least[first + i] + squares[t, i]
            out_pointers[t, i] = source[first + i]
        cost -= cost.min()
