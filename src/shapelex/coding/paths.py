"""Paths of supports over time: the least sum of squared errors and of costs of changes."""

from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from math import comb

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import FloatArray, IntArray
from shapelex.coding.coders import CodedBlock, Coding, KernelInputs, KernelOutputs
from shapelex.coding.cpu import RowCoder, count_threads, run_blocks
from shapelex.exceptions import SearchTooLargeError
from shapelex.kernels.exact import advance_batch, all_errors_batch, solve_given_batch
from shapelex.shapes.storage import Block, Shapes
from shapelex.shapes.time_order import TimeOrder
from shapelex.spaces import Space


def _solve_given(inputs: KernelInputs, outputs: KernelOutputs, _: int) -> None:
    solve_given_batch(*inputs, *outputs)


class PathCoder(RowCoder):
    """Computes weights over supports that the caller chose; the method of its `coding` is not used."""

    def __init__(self, coding: Coding, space: Space, dtype: np.dtype[np.complexfloating]) -> None:
        super().__init__(coding, space, dtype)
        self.implementation, self.search = _solve_given, self.search._replace(polishes=False)

    def code_given(self, block: Block, support: IntArray, n_threads: int | None) -> CodedBlock:
        """Code all shapes of a block, each over the atoms of its row of `support` (padded with −1)."""
        coded = self.allocate(block.start, len(block), with_squares=True)
        coded.support[:] = support
        n_workers = count_threads(n_threads, 1000.0 * len(block))
        run_blocks(partial(self.code_part, block, coded), len(block), self.part_rows, n_workers)
        return coded

    def all_squares(self, block: Block, supports: IntArray, n_threads: int | None) -> FloatArray:
        """Return the squared errors of all shapes of a block over all supports, shape (n_rows, n_supports).

        With a price on weights, that of the best weights is added.
        """
        squares: FloatArray = np.empty((len(block), len(supports)))

        def fill(start: int, stop: int) -> None:
            _, _, correlations = self.correlate(block, start, stop)
            all_errors_batch(correlations, self.gram, self.limits, supports.shape[1], squares[start:stop])

        run_blocks(fill, len(block), self.part_rows, count_threads(n_threads, 2.0 * squares.size))
        return squares


# Maximum number of supports, ``comb(n_atoms, n_nonzero)``, of a path: about 0.3 ms per frame.
MAX_SUPPORTS = 20_000

_BLOCK_BYTES = 1 << 25
_POINTER_BYTES = 1 << 28
_MAX_BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class SupportLattice:
    """All sets of up to `size` atoms, by size and then in lexicographic order, and those with one atom less.

    Parameters
    ----------
    supports : ndarray of int32, shape (n_supports, size)
        The sets of `size` atoms.
    starts : ndarray of int, shape (size + 2,)
        Number of the first set of each size, and the number of sets.
    below : ndarray of int32, shape (n_sets, size)
        For each set, the sets without its first, second, … atom.
    """

    supports: IntArray
    starts: IntArray
    below: IntArray

    @staticmethod
    @lru_cache(maxsize=8)
    def of(n_atoms: int, size: int) -> "SupportLattice":
        """Return the lattice of a dictionary; refuse one that is too large."""
        n_supports = comb(n_atoms, size)
        if n_supports > MAX_SUPPORTS:
            raise SearchTooLargeError(
                f"a path over time searches at most {MAX_SUPPORTS} supports, but {size} of {n_atoms} atoms have "
                f"{n_supports}: use fewer atoms, or a smaller {parameter('n_nonzero')}."
            )
        subsets = [subset for k in range(size + 1) for subset in combinations(range(n_atoms), k)]
        numbers = {subset: number for number, subset in enumerate(subsets)}
        starts = np.cumsum([0, *(comb(n_atoms, k) for k in range(size + 1))])
        below = np.zeros((len(subsets), size), dtype=np.int32)
        for number, subset in enumerate(subsets):
            below[number, : len(subset)] = [numbers[subset[:i] + subset[i + 1 :]] for i in range(len(subset))]
        return SupportLattice(np.array(subsets[starts[size] :], dtype=np.int32), starts.astype(np.int64), below)


class PathFinder:
    """Finds the cheapest path of supports while frames are added block by block.

    A frame is decided as soon as the best paths to all supports of the last frame agree on it; the frames that are not
    decided yet are kept. Where they would take too much memory, the older half is decided by the best path so far, and
    `is_exact` becomes False.
    """

    def __init__(self, lattice: SupportLattice, max_bytes: int = _POINTER_BYTES) -> None:
        self.lattice = lattice
        self.is_exact = True
        self._max_bytes = max_bytes
        self._cost = np.zeros(len(lattice.supports))
        dtype = np.int16 if len(lattice.supports) <= np.iinfo(np.int16).max else np.int32
        self._pointers: IntArray = np.empty((0, len(lattice.supports)), dtype=dtype)

    def add(self, squares: FloatArray, switch_costs: FloatArray) -> IntArray:
        """Add frames, and return the supports of those that are decided, which follow those returned before."""
        lattice = self.lattice
        pointers: IntArray = np.empty(squares.shape, dtype=self._pointers.dtype)
        advance_batch(squares, switch_costs, lattice.starts, lattice.below, self._cost, pointers)
        self._pointers = np.concatenate([self._pointers, pointers]) if len(self._pointers) else pointers
        alive = np.arange(len(self._cost))
        for frame in range(len(self._pointers) - 1, -1, -1):
            if len(alive) == 1:
                return self._decide(frame, int(alive[0]))
            is_alive = np.zeros(len(self._cost), dtype=bool)
            is_alive[self._pointers[frame, alive]] = True
            alive = np.flatnonzero(is_alive)
        middle = len(self._pointers) // 2
        if self._pointers.nbytes > self._max_bytes and middle > 0:
            self.is_exact = False
            state = int(self._cost.argmin())
            for pointers in self._pointers[: middle - 1 : -1]:
                state = int(pointers[state])
            return self._decide(middle - 1, state)
        return np.empty(0, dtype=np.int32)

    def finish(self) -> IntArray:
        """Return the supports of all frames that were not decided before."""
        return self._decide(len(self._pointers) - 1, int(self._cost.argmin()))

    def _decide(self, frame: int, state: int) -> IntArray:
        """Return the path up to a frame, at which it is in a support, and keep what is after it."""
        path: IntArray = np.empty(frame + 1, dtype=np.int32)
        for t in range(frame, -1, -1):
            path[t] = state
            state = int(self._pointers[t, state])
        self._pointers = self._pointers[frame + 1 :]
        return path


def find_path(
    shapes: Shapes, time: TimeOrder, coder: PathCoder, switch_cost: float, n_threads: int | None = None
) -> tuple[IntArray, bool]:
    """Return the supports of least ``Σ_t squared error + Σ_t cost of the change before t``, in the order of time.

    Also tells whether no other path has a smaller sum. A change of `m` atoms costs ``switch_cost (1 + m) / 2``, divided
    by the length of a gap.
    """
    lattice = SupportLattice.of(coder.n_atoms, coder.n_nonzero)
    costs = time.switch_costs(switch_cost)
    finder, parts, start = PathFinder(lattice), [], 0
    n_frames = min(max(_BLOCK_BYTES // (8 * len(lattice.supports)), 64), _MAX_BLOCK_ROWS)
    for _, block in time.blocks(shapes, n_frames):
        stop = start + len(block)
        squares = coder.all_squares(block, lattice.supports, n_threads)
        parts.append(finder.add(squares, costs[start:stop]))
        start = stop
    parts.append(finder.finish())
    return lattice.supports[np.concatenate(parts)], finder.is_exact
