"""The cheapest path of supports through time: the least sum of squared errors and of costs of changes.

In: squared errors of all supports for consecutive frames, and the cost of a change at each. Out: for every support of a
frame, the best one of the frame before (dynamic programming, the algorithm of Viterbi).

A change that exchanges ``m`` of ``k`` atoms costs ``c (1 + m) / 2``. The best predecessor of a support ``S'`` is ``S'``
itself, or the support ``S`` of least ``cost(S) + c (1 + k − |S ∩ S'|) / 2``. With ``m(R)`` the least cost of all
supports that contain a subset ``R``, the second is the minimum of ``m(R) + c (1 + k − |R|) / 2`` over the subsets ``R``
of ``S'``. Two sweeps over the lattice of subsets, one downwards for ``m`` and one upwards for the minimum, take
``2 Σ_j j comb(n, j)`` comparisons instead of ``comb(n, k)²``.
"""

import numpy as np

from shapelex.kernels.compilation import kernel


@kernel()
def step_lattice(cost, switch_cost, size, starts, below, least, source):
    """Least cost of reaching every support of the next frame, in ``least``, and from which support, in ``source``.

    Subsets are numbered by size, then in lexicographic order: those of `j` atoms begin at ``starts[j]``, and
    ``below[s, i]`` is subset `s` without its i-th atom. Of equally good predecessors, the support itself is taken.
    """
    first = starts[size]
    least[:first] = np.inf
    least[first:] = cost
    source[first:] = np.arange(len(cost))
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
def advance_batch(squares, switch_costs, size, starts, below, cost, out_pointers):
    """Go through consecutive frames, from the costs of all supports before them to those after them, in `cost`.

    Parameters
    ----------
    squares : ndarray of float64, shape (n_frames, n_supports)
        Squared errors.
    switch_costs : ndarray of float64, shape (n_frames,)
        Cost ``c`` of a change between the frame before and each frame; 0 where a series begins.
    size, starts, below
        See :func:`step_lattice`.
    cost : ndarray of float64, shape (n_supports,)
        Least costs of paths that end in each support, up to a constant; updated.
    out_pointers : ndarray of int, shape (n_frames, n_supports)
        Gets the best support of the frame before, for each support of each frame.
    """
    first = starts[size]
    least = np.empty(starts[size + 1])
    source = np.empty(starts[size + 1], dtype=np.int64)
    for t in range(len(squares)):
        step_lattice(cost, switch_costs[t], size, starts, below, least, source)
        cost[:] = least[first:] + squares[t]
        cost -= cost.min()
        out_pointers[t] = source[first:]
