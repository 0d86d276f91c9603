"""One pass over the shapes: code every block, add its statistics, forget its codes.

In come a source and a dictionary; out goes a :class:`Survey`, of a size that does not depend on the number of shapes:
the loss of this very dictionary, the statistics of its codes, the worst-reconstructed shapes, and the shapes nearest
to the atoms.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import ComplexArray, DistanceKind, FloatArray
from shapelex.coding import RowCoder, SparseCodes, squared_residuals
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.kernels.nearest import nearest_batch
from shapelex.learning.objectives import objective_slopes, objective_values
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
        Weighted mean of the squared distances of the shapes to their reconstructions.
    mean_nearest_distance2 : float
        Mean over atoms of the squared full distance to the nearest shape; 0 where it was not asked for.
    statistics : Statistics
        Sums over the shapes, each weighted by the slope of its distance.
    usage : ndarray of float, shape (n_atoms,)
        Weight of the shapes that use each atom.
    weight : float
        Weight of all shapes.
    worst : ndarray of complex, shape (n_candidates, n_coordinates)
        The worst-reconstructed shapes, worst first.
    nearest : ndarray of complex, shape (n_atoms, n_coordinates)
        The shape nearest to each atom; no row where it was not asked for.
    details : Details or None
        What is known of every single shape, where it was asked for.
    """

    atoms: ComplexArray
    loss: float
    mean_nearest_distance2: float
    statistics: Statistics
    usage: FloatArray
    weight: float
    worst: ComplexArray
    nearest: ComplexArray
    details: "Details | None"


@dataclass(frozen=True)
class Details:
    """What a pass found out about every shape.

    Parameters
    ----------
    codes : SparseCodes
        The codes.
    values : ndarray of float, shape (n_samples,)
        Squared distances to the reconstructions.
    slope_weights : ndarray of float, shape (n_samples,)
        Weights, times the slopes of the distances.
    """

    codes: SparseCodes
    values: FloatArray
    slope_weights: FloatArray

    @classmethod
    def concatenate(cls, parts: "list[Details]") -> "Details":
        """Join what is known of consecutive shapes.

        Parameters
        ----------
        parts : list of Details
            In order.

        Returns
        -------
        Details
            Of all shapes.
        """
        return cls(
            SparseCodes.concatenate([part.codes for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.slope_weights for part in parts]),
        )


class LargestRows:
    """The rows of the largest scores seen so far.

    Parameters
    ----------
    n_kept : int
        How many.
    """

    def __init__(self, n_kept: int) -> None:
        self.n_kept = n_kept
        self._scores: FloatArray = np.empty(0)
        self._rows: ComplexArray | None = None

    def add(self, scores: FloatArray, rows: ComplexArray) -> None:
        """Look at more rows.

        Parameters
        ----------
        scores : ndarray of float, shape (n_rows,)
            Their scores.
        rows : ndarray of complex, shape (n_rows, n_coordinates)
            The rows.
        """
        if scores.size > self.n_kept:
            chosen = np.argpartition(scores, -self.n_kept)[-self.n_kept :]
            scores, rows = scores[chosen], rows[chosen]
        all_scores = np.concatenate([self._scores, scores])
        all_rows = rows if self._rows is None else np.concatenate([self._rows, rows])
        order = np.argsort(-all_scores, kind="stable")[: self.n_kept]
        self._scores, self._rows = all_scores[order], all_rows[order]

    @property
    def scores(self) -> FloatArray:
        """The scores of the rows."""
        return self._scores

    @property
    def rows(self) -> ComplexArray:
        """The rows, that of the largest score first."""
        return np.empty((0, 0), dtype=np.complex128) if self._rows is None else self._rows


class _NearestRows:
    """The row nearest to each atom seen so far."""

    def __init__(self, atoms: ComplexArray) -> None:
        self._atoms = np.ascontiguousarray(atoms)
        self._squares: FloatArray = np.full(len(atoms), -1.0)
        self.rows: ComplexArray = np.zeros_like(self._atoms)

    def add(self, rows: ComplexArray) -> None:
        atoms = self._atoms.astype(rows.dtype)
        found = np.empty(len(atoms), dtype=np.int64)
        squares = np.empty(len(atoms), dtype=rows.real.dtype)
        nearest_batch(_as_reals(rows), _as_reals(atoms), _as_reals(1j * atoms), found, squares)
        nearer = squares > self._squares
        self._squares = np.where(nearer, squares, self._squares)
        self.rows[nearer] = rows[found[nearer]]

    def merge(self, later: "_NearestRows") -> None:
        nearer = later._squares > self._squares
        self._squares = np.where(nearer, later._squares, self._squares)
        self.rows[nearer] = later.rows[nearer]

    def squared_distances(self, atoms: ComplexArray) -> FloatArray:
        products = np.vecdot(atoms, self.rows)
        remaining = self.rows - products[:, None] * atoms
        squares: FloatArray = np.vecdot(remaining, remaining).real.astype(np.float64)
        return squares


def survey(
    source: RowBlocks,
    atoms: ComplexArray,
    n_nonzero: int,
    *,
    coder: str = "auto",
    distance: DistanceKind = "full",
    with_nearest: bool = False,
    with_details: bool = False,
    n_threads: int | None = None,
) -> Survey:
    """Code all shapes over a dictionary and sum up what the next update needs.

    Parameters
    ----------
    source : RowBlocks
        The shapes.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary, rows of norm 1.
    n_nonzero : int
        Most atoms a shape.
    coder : str
        A method of :func:`shapelex.coding.encode_rows`.
    distance : {"full", "partial", "geodesic"}
        Distance whose squares are summed.
    with_nearest : bool, default False
        Whether to look for the shapes nearest to the atoms.
    with_details : bool, default False
        Whether to keep the codes and distances of all shapes: memory that grows with their number.
    n_threads : int, optional
        Most threads; the result does not depend on it.

    Returns
    -------
    Survey
        Loss, statistics, worst and nearest shapes.

    Examples
    --------
    >>> import numpy as np
    >>> source = RowBlocks.from_rows(np.eye(3, dtype=complex))
    >>> found = survey(source, np.eye(3, dtype=complex)[:2], 1)
    >>> round(found.loss, 6), found.usage
    (0.333333, array([1., 1.]))
    """
    options = PassOptions(n_nonzero, coder, distance, with_nearest, with_details)
    return sum_blocks(source, atoms, options, n_threads).finish()


@dataclass(frozen=True)
class PassOptions:
    """What a pass looks for, as in :func:`survey`.

    Parameters
    ----------
    n_nonzero, coder, distance, with_nearest, with_details
        As in :func:`survey`.
    """

    n_nonzero: int
    coder: str = "auto"
    distance: DistanceKind = "full"
    with_nearest: bool = False
    with_details: bool = False


class SurveySums:
    """What a pass has found so far; sums over neighboring stretches of rows add up.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    options : PassOptions
        What to look for.
    """

    def __init__(self, atoms: ComplexArray, options: PassOptions) -> None:
        self.atoms = atoms
        self.options = options
        self._statistics = Statistics.zeros(*atoms.shape)
        self._usage: FloatArray = np.zeros(len(atoms))
        self._weight = self._loss = 0.0
        self._worst = LargestRows(WORST_PER_ATOM * len(atoms))
        self._nearest = _NearestRows(atoms) if options.with_nearest else None
        self._details: list[Details] = []

    def add(self, rows: ComplexArray, weights: FloatArray, parts: "list[_Part]") -> None:
        """Add a block of coded rows.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_rows, n_coordinates)
            The rows.
        weights : ndarray of float, shape (n_rows,)
            Their weights.
        parts : list
            Their codes and statistics, in order.
        """
        for part in parts:
            self._statistics += part.statistics
            self._usage += part.usage
        values = np.concatenate([part.details.values for part in parts])
        self._loss += float((weights * values).sum())
        self._weight += float(weights.sum())
        if self.options.with_details:
            self._details += [part.details for part in parts]
        counted = weights > 0
        if not counted.all():
            rows, values = rows[counted], values[counted]
        if len(rows):
            self._worst.add(values, rows)
            if self._nearest is not None:
                self._nearest.add(rows)

    def merge(self, later: "SurveySums") -> None:
        """Add the sums over the rows that follow.

        Parameters
        ----------
        later : SurveySums
            Of the same dictionary.
        """
        self._statistics += later._statistics
        self._usage = self._usage + later._usage
        self._loss += later._loss
        self._weight += later._weight
        self._details += later._details
        if len(later._worst.rows):
            self._worst.add(later._worst.scores, later._worst.rows)
        if self._nearest is not None and later._nearest is not None:
            self._nearest.merge(later._nearest)

    def finish(self) -> Survey:
        """Survey of all rows.

        Returns
        -------
        Survey
            Loss, statistics, worst and nearest shapes.
        """
        atoms, nearest = self.atoms, self._nearest
        return Survey(
            atoms=atoms,
            loss=self._loss / self._weight,
            mean_nearest_distance2=0.0 if nearest is None else float(nearest.squared_distances(atoms).mean()),
            statistics=self._statistics,
            usage=self._usage,
            weight=self._weight,
            worst=self._worst.rows,
            nearest=np.zeros((0, atoms.shape[1]), dtype=atoms.dtype) if nearest is None else nearest.rows,
            details=Details.concatenate(self._details) if self.options.with_details else None,
        )


def sum_blocks(
    source: RowBlocks, atoms: ComplexArray, options: PassOptions, n_threads: int | None = None
) -> SurveySums:
    """Code all rows of a source and add them up.

    Parameters
    ----------
    source : RowBlocks
        The shapes, or some of them.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    options : PassOptions
        What to look for.
    n_threads : int, optional
        Most threads.

    Returns
    -------
    SurveySums
        The sums.
    """
    row_coder = RowCoder(atoms, options.n_nonzero, method=options.coder)
    sums = SurveySums(atoms, options)
    for rows, weights in source.blocks():
        sums.add(rows, weights, _code_parts(row_coder, atoms, rows, weights, options.distance, n_threads))
    return sums


@dataclass(frozen=True)
class _Part:
    """What one stretch of rows adds to a survey."""

    statistics: Statistics
    usage: FloatArray
    details: Details


def _code_parts(
    coder: RowCoder,
    atoms: ComplexArray,
    rows: ComplexArray,
    weights: FloatArray,
    distance: DistanceKind,
    n_threads: int | None,
) -> list[_Part]:
    """Code rows in stretches of about equal length, on several threads; the sums do not depend on who makes them."""
    parts: dict[int, _Part] = {}

    def code_part(start: int, stop: int) -> None:
        stretch = rows[start:stop]
        codes = coder.encode(stretch, n_threads=1)
        squares = squared_residuals(stretch, atoms, codes)
        values = objective_values(squares, distance)
        slope_weights = weights[start:stop] * objective_slopes(squares, distance)
        statistics = Statistics.of(stretch, codes, slope_weights)
        usage = statistics.usage if distance == "full" else _usage(codes, weights[start:stop])
        parts[start] = _Part(statistics, usage, Details(codes, values, slope_weights))

    # Residuals and statistics take about a nanosecond for each atom and coordinate.
    cost_ns = coder.cost_ns + 2 * coder.n_nonzero * coder.n_coordinates
    part_rows = -(-len(rows) // -(-len(rows) // _MOST_PART_ROWS))
    run_blocks(code_part, len(rows), part_rows, count_threads(n_threads, cost_ns * len(rows)))
    return [parts[start] for start in sorted(parts)]


def _as_reals(rows: ComplexArray) -> FloatArray:
    reals: FloatArray = np.ascontiguousarray(rows).view(rows.real.dtype)
    return reals


def _usage(codes: SparseCodes, weights: FloatArray) -> FloatArray:
    used = codes.support >= 0
    shares = np.broadcast_to(weights[:, None], used.shape)[used]
    usage: FloatArray = np.bincount(codes.support[used], shares, minlength=codes.n_atoms).astype(np.float64)
    return usage
