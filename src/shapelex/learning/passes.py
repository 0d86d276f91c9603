"""One pass over the shapes: code every block, add its statistics, forget its codes.

In come a source, a dictionary and options; out goes a :class:`Survey`, of a size that does not depend on the number of
shapes: the loss of the dictionary, the statistics of its codes, the worst approximated shapes, and the shapes nearest
to the atoms.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding import RowCoder, squared_residuals
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.kernels.nearest import nearest_batch
from shapelex.learning.objectives import objective_slopes, objective_values
from shapelex.learning.options import LearningOptions
from shapelex.learning.sources import RowBlocks
from shapelex.learning.statistics import Statistics

# Most rows that are coded and summed in one go. Each such sum is made by one thread and they are added in order, so
# the bits do not depend on the number of threads.
_MOST_PART_ROWS = 1024

WORST_PER_ATOM = 4
"""Candidates for replacement, for each atom: enough that copies of one bad shape do not fill the list."""


@dataclass(frozen=True)
class Survey:
    """What one pass found out about a dictionary.

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
    values : ndarray of float, shape (n_samples,), or None
        Squared distance from each shape to its approximation, where it was asked for.
    """

    atoms: ComplexArray
    loss: float
    mean_nearest_distance2: float
    statistics: Statistics
    worst: ComplexArray
    nearest: ComplexArray
    values: FloatArray | None = None


class LargestRows:
    """The rows of the `n_kept` largest scores seen so far, the largest first."""

    def __init__(self, n_kept: int, n_coordinates: int) -> None:
        self.n_kept = n_kept
        self.scores: FloatArray = np.empty(0)
        self.rows: ComplexArray = np.empty((0, n_coordinates), dtype=np.complex64)

    def add(self, scores: FloatArray, rows: ComplexArray) -> None:
        """Consider more rows."""
        if scores.size > self.n_kept:
            chosen = np.argpartition(scores, -self.n_kept)[-self.n_kept :]
            scores, rows = scores[chosen], rows[chosen]
        all_scores = np.concatenate([self.scores, scores])
        all_rows = np.concatenate([self.rows, rows])
        order = np.argsort(-all_scores, kind="stable")[: self.n_kept]
        self.scores, self.rows = all_scores[order], all_rows[order]


class NearestRows:
    """The row nearest to each atom seen so far."""

    def __init__(self, atoms: ComplexArray) -> None:
        self._atoms = np.ascontiguousarray(atoms)
        self.squares: FloatArray = np.full(len(atoms), -1.0)
        self.rows: ComplexArray = np.zeros_like(self._atoms)

    def add(self, rows: ComplexArray) -> None:
        """Consider more rows."""
        atoms = self._atoms.astype(rows.dtype)
        found = np.empty(len(atoms), dtype=np.int64)
        squares = np.empty(len(atoms), dtype=rows.real.dtype)
        nearest_batch(_as_reals(rows), _as_reals(atoms), _as_reals(1j * atoms), found, squares)
        self._take(squares, rows[found])

    def merge(self, later: "NearestRows") -> None:
        """Consider the rows that another one has seen."""
        self._take(later.squares, later.rows)

    def _take(self, squares: FloatArray, rows: ComplexArray) -> None:
        nearer = squares > self.squares
        self.squares = np.where(nearer, squares, self.squares)
        self.rows[nearer] = rows[nearer]


def mean_nearest_distance2(atoms: ComplexArray, nearest: ComplexArray) -> float:
    """Return the mean squared full distance of each atom to the row beside it; 0 without rows."""
    if not len(nearest):
        return 0.0
    remaining = nearest - np.vecdot(atoms, nearest)[:, None] * atoms
    return float(np.vecdot(remaining, remaining).real.astype(np.float64).mean())


def survey(source: RowBlocks, atoms: ComplexArray, options: LearningOptions, *, keeps_values: bool = False) -> Survey:
    """Code all shapes over a dictionary of rows of norm 1, and sum up what the next update needs."""
    return sum_blocks(source, atoms, options, keeps_values=keeps_values).finish()


class SurveySums:
    """What a pass has found so far; sums over neighboring stretches of rows add up."""

    def __init__(self, atoms: ComplexArray, options: LearningOptions, *, keeps_values: bool = False) -> None:
        self.atoms = atoms
        self.options = options
        self.statistics = Statistics.zeros(*atoms.shape)
        self.loss = 0.0
        self.worst = LargestRows(WORST_PER_ATOM * len(atoms), atoms.shape[1])
        self.nearest = NearestRows(atoms) if options.tie > 0 else None
        self.values: list[FloatArray] | None = [] if keeps_values else None

    def add(self, rows: ComplexArray, weights: FloatArray, parts: "list[_Part]") -> None:
        """Add a block of coded rows."""
        for part in parts:
            self.statistics += part.statistics
        values = np.concatenate([part.values for part in parts])
        self.loss += float((weights * values).sum())
        if self.values is not None:
            self.values.append(values)
        counted = weights > 0
        if not counted.all():
            rows, values = rows[counted], values[counted]
        if len(rows):
            self.worst.add(values, rows)
            if self.nearest is not None:
                self.nearest.add(rows)

    def merge(self, later: "SurveySums") -> None:
        """Add the sums over the rows that follow."""
        self.statistics += later.statistics
        self.loss += later.loss
        self.worst.add(later.worst.scores, later.worst.rows)
        if self.nearest is not None and later.nearest is not None:
            self.nearest.merge(later.nearest)

    def finish(self) -> Survey:
        """Return the survey of all rows."""
        nearest = self.atoms[:0] if self.nearest is None else self.nearest.rows
        return Survey(
            atoms=self.atoms,
            loss=self.loss / self.statistics.weight,
            mean_nearest_distance2=mean_nearest_distance2(self.atoms, nearest),
            statistics=self.statistics,
            worst=self.worst.rows,
            nearest=nearest,
            values=None if self.values is None else np.concatenate(self.values),
        )


def sum_blocks(
    source: RowBlocks, atoms: ComplexArray, options: LearningOptions, *, keeps_values: bool = False
) -> SurveySums:
    """Code all rows of a source and add them up."""
    coder = RowCoder(atoms, options.n_nonzero, method=options.coder)
    sums = SurveySums(atoms, options, keeps_values=keeps_values)
    for rows, weights in source.blocks():
        sums.add(rows, weights, _code_parts(coder, atoms, rows, weights, options))
    return sums


@dataclass(frozen=True)
class _Part:
    """What one stretch of rows adds to a survey."""

    statistics: Statistics
    values: FloatArray


def _code_parts(
    coder: RowCoder, atoms: ComplexArray, rows: ComplexArray, weights: FloatArray, options: LearningOptions
) -> list[_Part]:
    """Code rows in stretches of about equal length, on several threads; the sums do not depend on their number."""
    parts: dict[int, _Part] = {}

    def code_part(start: int, stop: int) -> None:
        stretch = rows[start:stop]
        codes = coder.encode(stretch, n_threads=1)
        squares = squared_residuals(stretch, atoms, codes)
        slopes = None if options.distance == "full" else objective_slopes(squares, options.distance)
        statistics = Statistics.of(stretch, codes, weights[start:stop], slopes)
        parts[start] = _Part(statistics, objective_values(squares, options.distance))

    # Residuals and statistics take about a nanosecond for each atom and coordinate.
    cost_ns = coder.cost_ns + 2 * coder.n_nonzero * coder.n_coordinates
    part_rows = -(-len(rows) // -(-len(rows) // _MOST_PART_ROWS))
    run_blocks(code_part, len(rows), part_rows, count_threads(options.n_threads, cost_ns * len(rows)))
    return [parts[start] for start in sorted(parts)]


def _as_reals(rows: ComplexArray) -> FloatArray:
    reals: FloatArray = np.ascontiguousarray(rows).view(rows.real.dtype)
    return reals
