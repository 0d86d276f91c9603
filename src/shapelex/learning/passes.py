"""One pass over the shapes: code every block, add up what the next update needs, forget the codes.

In come shapes, a dictionary and options; out goes a :class:`Survey`, of a size that does not depend on the number of
shapes. The CPU, a torch device and Dask workers fill the same :class:`PassSums`.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.coding import RowCoder, SparseCodes
from shapelex.coding.settings import Coding
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.kernels.nearest import nearest_batch
from shapelex.learning.objectives import objective_slopes, objective_values
from shapelex.learning.options import LearningOptions
from shapelex.learning.statistics import Statistics
from shapelex.shapes.collection import BLOCK_ROWS, Block, Shapes

# Shapes that are coded and summed by one thread in one go. The sums are added in order, so the bits do not depend on
# the number of threads.
_PART_ROWS = 1024

WORST_PER_ATOM = 4
"""Candidates for replacement, for each atom: enough that copies of one bad shape do not fill the list."""


@dataclass(frozen=True)
class Survey:
    """What one pass found out about a dictionary; all rows are whitened.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    loss : float
        Weighted mean of the squared distances from the shapes to their approximations.
    mean_nearest_distance2 : float
        Mean over atoms of the squared full distance to the nearest shape; 0 where ``tie`` is 0.
    statistics : Statistics
        Sums over the shapes, each with the slope of its distance.
    worst : ndarray of complex, shape (n_candidates, n_coordinates)
        The worst approximated shapes, worst first.
    nearest : ndarray of complex, shape (n_atoms, n_coordinates)
        The shape nearest to each atom; no row where ``tie`` is 0.
    values : ndarray of float, shape (n_shapes,), or None
        Squared distance from each shape to its approximation, where it was asked for.
    """

    atoms: ComplexArray
    loss: float
    mean_nearest_distance2: float
    statistics: Statistics
    worst: ComplexArray
    nearest: ComplexArray
    values: FloatArray | None = None


@dataclass
class PassSums:
    """What a pass found in consecutive shapes; what it found in the shapes that follow can be added.

    Parameters
    ----------
    statistics : Statistics
        Sums over the shapes.
    values : ndarray of float, shape (n_shapes,)
        Squared distance from each shape to its approximation; no entry where they are not kept.
    loss : float
        Weighted sum of these.
    worst_values, worst_rows : ndarray
        The largest of them among the shapes of positive weight, and these shapes.
    nearest_squares, nearest_rows : ndarray
        For each atom, the largest squared modulus of its products with the shapes, and that shape.
    """

    statistics: Statistics
    values: FloatArray
    loss: float
    worst_values: FloatArray
    worst_rows: ComplexArray
    nearest_squares: FloatArray
    nearest_rows: ComplexArray

    def add(self, later: "PassSums") -> None:
        """Add what was found in the shapes that follow."""
        self.statistics += later.statistics
        self.loss += later.loss
        self.values = np.concatenate([self.values, later.values])
        values = np.concatenate([self.worst_values, later.worst_values])
        order = np.argsort(-values, kind="stable")[: WORST_PER_ATOM * len(self.statistics.gram)]
        self.worst_values = values[order]
        self.worst_rows = np.concatenate([self.worst_rows, later.worst_rows])[order]
        nearer = later.nearest_squares > self.nearest_squares
        self.nearest_squares = np.where(nearer, later.nearest_squares, self.nearest_squares)
        self.nearest_rows = np.where(nearer[:, None], later.nearest_rows, self.nearest_rows)


def survey(shapes: Shapes, atoms: ComplexArray, options: LearningOptions, *, keeps_values: bool = False) -> Survey:
    """Code all shapes over a dictionary of whitened rows of norm 1, and sum up what the next update needs."""
    if shapes.is_remote:
        options = replace(options, n_threads=1)
    found = shapes.reduce(partial(sum_shapes, atoms=atoms, options=options, keeps_values=keeps_values), _merge)
    nearest = found.nearest_rows if options.tie > 0 else atoms[:0]
    return Survey(
        atoms=atoms,
        loss=found.loss / found.statistics.weight,
        mean_nearest_distance2=mean_nearest_distance2(atoms, nearest),
        statistics=found.statistics,
        worst=found.worst_rows,
        nearest=nearest,
        values=found.values if keeps_values else None,
    )


def mean_nearest_distance2(atoms: ComplexArray, nearest: ComplexArray) -> float:
    """Return the mean squared full distance of each atom to the row beside it; 0 without rows."""
    if not len(nearest):
        return 0.0
    remaining = nearest - np.vecdot(atoms, nearest)[:, None] * atoms
    return float(np.vecdot(remaining, remaining).real.astype(np.float64).mean())


def sum_shapes(shapes: Shapes, atoms: ComplexArray, options: LearningOptions, keeps_values: bool) -> PassSums:
    """Code shapes on the device that the options name, and sum up what was found, in whitened coordinates."""
    if options.device != "cpu":
        from shapelex.learning.device_passes import sum_on_device

        return sum_on_device(shapes, atoms, options, keeps_values)
    dtype = np.result_type(shapes.dtype, atoms.dtype)
    coder = RowCoder(Coding(atoms, options.n_nonzero, options.coder), shapes.space, dtype)
    total: PassSums | None = None
    for block in shapes.blocks(BLOCK_ROWS):
        found = _sum_block(coder, block, shapes, options)
        if not keeps_values:
            found.values = found.values[:0]
        if total is None:
            total = found
        else:
            total.add(found)
    assert total is not None
    return _whitened(total, shapes)


def _sum_block(coder: RowCoder, block: Block, shapes: Shapes, options: LearningOptions) -> PassSums:
    """Code the shapes of a block in parts, on several threads, and sum up what was found, in their own coordinates."""
    n_rows, n_atoms = len(block), coder.n_atoms
    # Parts of about equal length, whatever the number of threads.
    part_rows = -(-n_rows // -(-n_rows // _PART_ROWS))
    values = np.empty(n_rows)
    statistics: dict[int, Statistics] = {}
    nearest: dict[int, tuple[FloatArray, IntArray]] = {}

    def sum_part(start: int, stop: int) -> None:
        part = slice(start, stop)
        support, coefs = coder.allocate(stop - start)
        squares = np.empty(stop - start, dtype=coefs.real.dtype)
        rows, scales, correlations = coder.code_block(
            block.configurations[part],
            support,
            coefs,
            squares,
            scales=None if block.scales is None else block.scales[part],
            name=shapes.name,
            first_row=shapes.first_row + block.start + start,
        )
        values[part] = objective_values(squares, options.distance)
        slopes = None if options.distance == "full" else objective_slopes(squares, options.distance)
        codes = SparseCodes._from_coder(support, coefs[:, 0], n_atoms)
        statistics[start] = Statistics.of(rows, codes, block.weights[part], slopes, scales)
        index, closeness = np.empty(n_atoms, dtype=np.int64), np.empty(n_atoms)
        nearest_batch(correlations, block.weights[part], index, closeness)
        # Of equal atoms the coder uses the first one alone.
        nearest[start] = closeness[coder.prepared.originals], start + index[coder.prepared.originals]

    # Statistics take about a nanosecond for each atom and coordinate.
    cost_ns = coder.cost_ns + 2 * coder.n_nonzero * coder.n_coordinates
    run_blocks(sum_part, n_rows, part_rows, count_threads(options.n_threads, cost_ns * n_rows))
    starts = sorted(statistics)
    counted = np.flatnonzero(block.weights > 0)
    worst = counted[np.argsort(-values[counted], kind="stable")[: WORST_PER_ATOM * n_atoms]]
    best_part = np.argmax([nearest[start][0] for start in starts], axis=0)
    chosen = np.array([nearest[start][1] for start in starts])[best_part, np.arange(n_atoms)]
    return PassSums(
        statistics=sum((statistics[start] for start in starts[1:]), statistics[0]),
        values=values,
        loss=float((block.weights * values).sum()),
        worst_values=values[worst],
        worst_rows=block.configurations[worst],
        nearest_squares=np.max([nearest[start][0] for start in starts], axis=0),
        nearest_rows=block.configurations[chosen],
    )


def _whitened(found: PassSums, shapes: Shapes) -> PassSums:
    """Return sums over configurations as those over whitened pre-shapes."""
    statistics = replace(found.statistics, products=shapes.space.whiten(found.statistics.products))
    rows = np.concatenate([found.worst_rows, found.nearest_rows])
    whitened = shapes.space.whitened_preshapes(rows, shapes.name)
    n_worst = len(found.worst_rows)
    return replace(found, statistics=statistics, worst_rows=whitened[:n_worst], nearest_rows=whitened[n_worst:])


def _merge(parts: list[PassSums]) -> PassSums:
    # Results of other tasks must stay as they are: Dask may use them again after a worker is lost.
    total = replace(parts[0])
    for part in parts[1:]:
        total.add(part)
    return total
