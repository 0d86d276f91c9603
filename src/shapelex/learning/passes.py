"""One pass over the shapes: code every block, add up what the next update needs, forget the codes.

In come shapes, a dictionary and options; out goes a :class:`Survey`, of a size that does not depend on the number of
shapes. The CPU, a torch device and Dask workers fill the same :class:`PassSums`.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.coding import SparseCodes
from shapelex.coding.masked import masked_parts
from shapelex.coding.path_coder import PathCoder
from shapelex.coding.row_coder import MAX_PART_ROWS, RowCoder
from shapelex.coding.settings import Coding
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.kernels.nearest import nearest_batch
from shapelex.learning.distance_values import objective_slopes, objective_values
from shapelex.learning.incomplete_shapes import IncompleteShapes
from shapelex.learning.options import LearningOptions
from shapelex.learning.statistics import Statistics
from shapelex.learning.timed_shapes import TimedShapes
from shapelex.shapes.collection import BLOCK_ROWS, Block, Shapes
from shapelex.spaces.rows import row_norms

WORST_PER_ATOM = 4
"""Candidates for replacement, for each atom: enough that copies of one bad shape do not fill the list."""


@dataclass(frozen=True)
class Survey:
    """What one pass found out about a dictionary.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary, whitened rows.
    losses : ndarray of float, shape (n_sparsities,)
        Weighted means of the squared distances from the shapes to their approximations, for each sparsity; the last one
        plus `switch_loss`.
    mean_nearest_distance2 : float
        Mean over atoms of the squared full distance to the nearest shape; 0 where ``tie`` is 0.
    statistics : Statistics
        Sums over the shapes and their codes of the highest sparsity, each with the slope of its distance.
    combined : Statistics
        Sums of all sparsities that the next update needs, see
        :meth:`~shapelex.learning.objective.Objective.combine`.
    worst : ndarray of complex, shape (n_candidates, n_coordinates)
        The worst approximated shapes, worst first, as configurations.
    nearest : ndarray of complex, shape (n_atoms, n_coordinates)
        The shape nearest to each atom, whitened; no row where ``tie`` is 0.
    values : ndarray of float, shape (n_shapes,), or None
        Squared distance from each shape to its approximation at the highest sparsity, where it was asked for.
    switch_loss : float
        Costs of the changes of atoms along time, divided by the number of shapes.
    """

    atoms: ComplexArray
    losses: FloatArray
    mean_nearest_distance2: float
    statistics: Statistics
    combined: Statistics
    worst: ComplexArray
    nearest: ComplexArray
    values: FloatArray | None = None
    switch_loss: float = 0.0

    @property
    def loss(self) -> float:
        """Mean squared distance at the highest sparsity."""
        return float(self.losses[-1]) - self.switch_loss


@dataclass
class PassSums:
    """What a pass found in consecutive shapes; what it found in the shapes that follow can be added.

    Parameters
    ----------
    statistics : list of Statistics
        Sums over the shapes, for each sparsity.
    values : ndarray of float, shape (n_shapes,)
        Squared distance from each shape to its approximation at the highest sparsity; no entry where they are not kept.
    losses : ndarray of float, shape (n_sparsities,)
        Weighted sums of the squared distances at each sparsity.
    worst_values, worst_rows : ndarray
        The largest values among the shapes of positive weight, and these shapes as configurations.
    nearest_squares, nearest_rows : ndarray
        For each atom, the largest squared modulus of its products with the shapes, and that shape as a whitened row;
        no entry where ``tie`` is 0.
    switch_loss : float
        Sum of the costs of the changes of atoms along time.
    """

    statistics: list[Statistics]
    values: FloatArray
    losses: FloatArray
    worst_values: FloatArray
    worst_rows: ComplexArray
    nearest_squares: FloatArray
    nearest_rows: ComplexArray
    switch_loss: float = 0.0

    def add(self, later: "PassSums") -> "PassSums":
        """Add what was found in the shapes that follow, and return the sums."""
        self.statistics = [mine + other for mine, other in zip(self.statistics, later.statistics, strict=True)]
        self.losses = self.losses + later.losses
        self.switch_loss += later.switch_loss
        self.values = np.concatenate([self.values, later.values])
        values = np.concatenate([self.worst_values, later.worst_values])
        order = np.argsort(-values, kind="stable")[: WORST_PER_ATOM * len(self.statistics[0].gram)]
        self.worst_values = values[order]
        self.worst_rows = np.concatenate([self.worst_rows, later.worst_rows])[order]
        nearer = later.nearest_squares > self.nearest_squares
        self.nearest_squares = np.where(nearer, later.nearest_squares, self.nearest_squares)
        self.nearest_rows = np.where(nearer[:, None], later.nearest_rows, self.nearest_rows)
        return self


def survey(shapes: Shapes, atoms: ComplexArray, options: LearningOptions, *, keeps_values: bool = False) -> Survey:
    """Code all shapes over a dictionary of whitened rows of norm 1, and sum up what the next update needs."""
    if shapes.is_remote:
        options = replace(options, n_threads=1)
    found = shapes.reduce(partial(sum_shapes, atoms=atoms, options=options, keeps_values=keeps_values), merge)
    losses = found.losses / found.statistics[-1].weight
    switch_loss = found.switch_loss / found.statistics[-1].weight
    losses[-1] += switch_loss
    return Survey(
        atoms=atoms,
        losses=losses,
        mean_nearest_distance2=float(np.maximum(1 - found.nearest_squares, 0).mean()) if options.tie > 0 else 0.0,
        statistics=found.statistics[-1],
        combined=options.objective.combine(found.statistics, losses),
        worst=found.worst_rows,
        nearest=found.nearest_rows,
        values=found.values if keeps_values else None,
        switch_loss=switch_loss,
    )


def sum_shapes(shapes: Shapes, atoms: ComplexArray, options: LearningOptions, keeps_values: bool) -> PassSums:
    """Code shapes on the device that the options name, and sum up what was found."""
    if isinstance(shapes, IncompleteShapes):
        return _sum_incomplete(shapes, atoms, options, keeps_values)
    if options.device != "cpu":
        from shapelex.learning.device_passes import sum_on_device

        return sum_on_device(shapes, atoms, options, keeps_values)
    dtype = np.result_type(shapes.dtype, atoms.dtype)
    coders = [
        RowCoder(
            Coding(atoms, size, options.coder, max_weight=options.max_weight), shapes.space, dtype, for_learning=True
        )
        for size in options.sparsities
    ]
    supports: IntArray | None = None
    switch_loss = 0.0
    if isinstance(shapes, TimedShapes) and options.switch_cost:
        path_coder = PathCoder(coders[-1].coding, shapes.space, dtype, for_learning=True)
        supports, switch_loss = shapes.find_supports(path_coder, options.switch_cost, options.n_threads)
        coders[-1] = path_coder
    total: PassSums | None = None
    for block in shapes.blocks(BLOCK_ROWS):
        found = _sum_block(coders, block, options, keeps_values, supports)
        total = found if total is None else total.add(found)
    assert total is not None
    total.switch_loss = switch_loss
    # The shapes were neither centered nor whitened, so what they add up to is.
    total.statistics = [replace(part, products=shapes.space.whiten_rows(part.products)) for part in total.statistics]
    if len(total.nearest_rows):
        total.nearest_rows = shapes.space.whiten_rows(total.nearest_rows).astype(atoms.dtype, copy=False)
    return total


def merge(parts: list[PassSums]) -> PassSums:
    """Return what a pass found in all parts of a collection; the parts stay as they are."""
    # Dask may use the results of tasks again after a worker is lost.
    total = replace(parts[0])
    for part in parts[1:]:
        total.add(part)
    return total


def _sum_block(
    coders: list[RowCoder], block: Block, options: LearningOptions, keeps_values: bool, supports: IntArray | None
) -> PassSums:
    """Code the shapes of a block in parts, on several threads, and sum up what was found, in their own coordinates.

    Where `supports` of all shapes are given, they are those of the last coder.
    """
    n_rows, n_atoms = len(block), options.n_atoms
    n_nearest = n_atoms if options.tie > 0 else 0
    # Parts of about equal length, whatever the number of threads: the sums of parts are added in order.
    part_rows = -(-n_rows // -(-n_rows // MAX_PART_ROWS))
    coded = [coder.allocate(block.start, n_rows, with_squares=True) for coder in coders]
    if supports is not None:
        coded[-1].support[:] = supports[block.start : block.start + n_rows]
    values = np.empty((len(coders), n_rows))
    statistics: dict[int, list[Statistics]] = {}
    nearest: dict[int, tuple[FloatArray, ComplexArray]] = {}

    def sum_part(start: int, stop: int) -> None:
        part = slice(start, stop)
        statistics[start] = []
        for number, (coder, found) in enumerate(zip(coders, coded, strict=True)):
            rows, scales, correlations = coder.code_part(block, found, start, stop)
            values[number, part] = objective_values(found.squares[part], options.distance)
            slopes = None if options.distance == "full" else objective_slopes(found.squares[part], options.distance)
            codes = SparseCodes._from_coder(found.support[part], found.coefs[part, 0], n_atoms)
            statistics[start].append(Statistics.of(rows, codes, block.weights[part], slopes, scales))
        index, closeness = np.empty(n_nearest, dtype=np.int64), np.empty(n_nearest)
        nearest_batch(correlations, block.weights[part], index, closeness)
        # Of equal atoms the coder uses the first one alone.
        originals = coders[-1].prepared.originals[:n_nearest]
        index = index[originals]
        nearest[start] = closeness[originals], scales[index, None] * rows[index]

    # Statistics take about a nanosecond for each atom and coordinate.
    cost_ns = sum(coder.cost_ns + 2 * coder.n_nonzero * coder.n_coordinates for coder in coders)
    run_blocks(sum_part, n_rows, part_rows, count_threads(options.n_threads, cost_ns * n_rows))
    starts = sorted(statistics)
    worst = largest_values(values[-1], block.weights, WORST_PER_ATOM * n_atoms)
    closeness, nearest_rows = (np.array([nearest[start][which] for start in starts]) for which in (0, 1))
    best = closeness.argmax(axis=0), np.arange(n_nearest)
    return PassSums(
        statistics=[
            sum((statistics[start][number] for start in starts[1:]), statistics[0][number])
            for number in range(len(coders))
        ],
        values=values[-1] if keeps_values else values[-1, :0],
        losses=(block.weights * values).sum(axis=1),
        worst_values=values[-1, worst],
        worst_rows=block.configurations[worst],
        nearest_squares=closeness[best],
        nearest_rows=nearest_rows[best],
    )


def _sum_incomplete(
    shapes: IncompleteShapes, atoms: ComplexArray, options: LearningOptions, keeps_values: bool
) -> PassSums:
    """Code shapes by the landmarks that they have, and sum up what was found, with the others from the reconstructions.

    An update for given codes minimizes the sum of squared residuals of these completed shapes. It is an upper bound of
    the squared residuals on the landmarks present, and equal to it for the current atoms, since the residuals of the
    other landmarks are 0 there: so the update lowers the error on the landmarks present.
    """
    codings = [
        Coding(
            atoms,
            size,
            options.coder,
            max_weight=options.max_weight,
            n_threads=options.n_threads,
            device=options.device,
        )
        for size in options.sparsities
    ]
    total: PassSums | None = None
    for block in shapes.blocks(BLOCK_ROWS):
        found = _sum_incomplete_block(block, codings, options, keeps_values)
        total = found if total is None else total.add(found)
    assert total is not None
    return total


def _sum_incomplete_block(
    block: Block, codings: list[Coding], options: LearningOptions, keeps_values: bool
) -> PassSums:
    atoms = codings[0].atom_rows
    n_rows, dtype = len(block), np.result_type(block.configurations.dtype, atoms.dtype)
    statistics, losses = [], []
    for coding in codings:
        completed: ComplexArray = np.empty(block.configurations.shape, dtype=dtype)
        support: IntArray = np.empty((n_rows, coding.n_nonzero or 0), dtype=np.int32)
        coefs: ComplexArray = np.empty(support.shape, dtype=dtype)
        squares = np.empty(n_rows)
        for part in masked_parts(block, ~np.isnan(block.configurations), coding, with_errors=True):
            completed[part.numbers] = part.completed(atoms)
            support[part.numbers], coefs[part.numbers] = part.coded.support, part.coded.coefs[:, 0]
            squares[part.numbers] = part.coded.squares
        values = objective_values(squares, options.distance)
        slopes = None if options.distance == "full" else objective_slopes(squares, options.distance)
        codes = SparseCodes._from_coder(support, coefs, len(atoms))
        statistics.append(Statistics.of(completed, codes, block.weights, slopes))
        losses.append((block.weights * values).sum())
    units = completed / row_norms(completed)[:, None]
    closeness = np.where(block.weights > 0, np.abs(atoms.conj() @ units.T) ** 2, -1)
    closeness = closeness if options.tie > 0 else closeness[:0]
    worst = largest_values(values, block.weights, WORST_PER_ATOM * len(atoms))
    return PassSums(
        statistics=statistics,
        values=values if keeps_values else values[:0],
        losses=np.array(losses),
        worst_values=values[worst],
        worst_rows=completed[worst],
        nearest_squares=closeness.max(axis=1),
        nearest_rows=units[closeness.argmax(axis=1)].astype(atoms.dtype, copy=False),
    )


def largest_values(values: FloatArray, weights: FloatArray, n_largest: int) -> IntArray:
    """Return the places of the largest values of positive weight, the largest first."""
    places = np.flatnonzero(weights > 0)
    if len(places) > n_largest:
        places = places[np.argpartition(values[places], -n_largest)[-n_largest:]]
    return places[np.argsort(-values[places], kind="stable")]
