"""Suggests the number of atoms of a dictionary, and the maximum number of atoms per shape.

Input: configurations. Output: a suggestion with its reasons: errors of held-out shapes for many sizes and sparsities,
their elbow, and the stability of the atoms of some sizes.
"""

import logging
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import check_count, check_flag, check_number
from shapelex.estimators.base import as_generator, count_jobs
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.learning import LearningOptions, learn
from shapelex.learning.options import NESTED_FROM, default_target_share, default_tie
from shapelex.learning.stability import TrainingSample, measure_stability
from shapelex.selection.atom_stability import AtomStability
from shapelex.selection.elbow import choose, close_sizes, most_stable
from shapelex.selection.error_surface import ErrorSurface, SurfaceMeasurer
from shapelex.selection.folds import check_counts, make_folds
from shapelex.selection.row_order import describe_order
from shapelex.selection.suggestion_reasons import (
    FEW_SHAPES,
    explain_error,
    explain_few_shapes,
    explain_size,
    explain_sparsity,
    explain_stability,
)
from shapelex.shapes.opening import read_configurations
from shapelex.shapes.thumbnails import html_text
from shapelex.spaces import Space
from shapelex.spaces.plain import PlainRows

logger = logging.getLogger("shapelex")

DEFAULT_SIZES = (3, 4, 6, 8, 11, 15, 20)
MOST_NONZERO = 10

# The elbow and its neighbors.
_N_REFINED = 5

Progress = Callable[[int, int, dict[str, Any]], bool | None]


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion:
    """Suggested size and sparsity of a dictionary, with reasons; the result of :func:`~shapelex.suggest`.

    Printed, it gives the suggestion and its reasons in words.

    Parameters
    ----------
    n_atoms, n_nonzero : int
        Suggested parameters of :class:`~shapelex.ShapeDictionary`.
    surface : ErrorSurface
        Held-out errors: a tidy table with the columns ``n_atoms``, ``n_nonzero``, ``fold``, ``rmse``, ``train_rmse``,
        ``energy`` and ``seconds``.
    stability : AtomStability
        Stability of the atoms: a tidy table with the columns ``n_atoms``, ``n_nonzero``, ``distance``, ``chance``,
        ``n_named`` and ``stability``.
    reasons : list of str
        Reasons as sentences, the most important first.
    """

    n_atoms: int
    n_nonzero: int
    surface: ErrorSurface
    stability: AtomStability
    reasons: list[str] = field(default_factory=list)

    @property
    def rmse(self) -> float:
        """Held-out error at the suggested size and sparsity."""
        return self.surface.rmse(self.n_atoms, self.n_nonzero)

    def __repr__(self) -> str:
        return f"<Suggestion: n_atoms={self.n_atoms}, n_nonzero={self.n_nonzero}>"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the suggestion as it is printed."""
        return html_text(str(self))

    def __str__(self) -> str:
        lines = [f"Suggested: n_atoms={self.n_atoms}, n_nonzero={self.n_nonzero}", ""]
        lines += [f"- {reason}" for reason in self.reasons]
        lines += ["", "Held-out error in percent", str(self.surface)]
        if len(self.stability):
            n_nonzero = self.stability["n_nonzero"][0]
            matches = "their matches in dictionaries learned from random halves of the shapes"
            lines += ["", f"Distance from atoms to {matches}, at most {n_nonzero} atoms per shape", str(self.stability)]
        return "\n".join(lines)


def suggest(
    X: ArrayLike,
    n_atoms: Iterable[int] | None = None,
    n_nonzero: Iterable[int] | None = None,
    *,
    space: Space | None = None,
    cv: Any = 3,
    groups: ArrayLike | None = None,
    max_shapes: int = 1500,
    stability: bool = True,
    min_gain: float = 0.03,
    n_jobs: int | None = None,
    random_state: Any = None,
    callback: Progress | None = None,
) -> Suggestion:
    """Suggest the number of atoms of a dictionary, and the maximum number of atoms per shape.

    Learns dictionaries of several sizes and sparsities from part of the shapes, and measures their errors on the
    others. The number of atoms per shape is increased while the description of a held-out shape (code and residual)
    gets shorter, and the number of atoms while one more lowers the held-out error by `min_gain`. Where shapes are
    sparse sums over a true dictionary, the suggestion is its size and sparsity; otherwise larger numbers would improve
    little.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        Configurations.
    n_atoms : iterable of int, optional
        Numbers of atoms to try. By default 3 to 20 in growing steps, at most half the number of shapes learned from,
        then every size around the elbow.
    n_nonzero : iterable of int, optional
        Numbers of atoms per shape to try. By default 1 to 10, for each size until two in a row improve little.
    space : Space, optional
        Space of the configurations; when not given, that of a `ShapeSet`, otherwise landmarks.
    cv : int, splitter or iterable of pairs of rows, default 3
        Shapes to hold out. A number of folds holds out contiguous blocks of rows, or whole `groups`: consecutive shapes
        of a recording are similar, and a random split would hold out near copies of shapes learned from. Where a
        `ShapeSet` is sorted by label or file, and consecutive shapes of the same kind are not similar, a number of
        folds holds out random rows, and the reasons say so; ``KFold(3)`` always holds out blocks.
    groups : array_like of shape (n_shapes,), optional
        Group of each shape, such as a recording or a specimen; a group is held out as a whole.
    max_shapes : int, default 1500
        Maximum number of shapes to use, evenly spaced over the rows.
    stability : bool, default True
        Whether to measure which atoms are found again from halves of the shapes, as
        :attr:`ShapeDictionary.stability_ <shapelex.ShapeDictionary.stability_>` does. It is measured for all given
        `n_atoms`, otherwise for the elbow and for smaller sizes of nearly the same error; not for fewer than 30 shapes.
    min_gain : float, default 0.03
        Fraction of the held-out error by which a further atom of the dictionary must lower it.
    n_jobs : int, optional
        Maximum number of threads; −1 or None for all processors. Results do not depend on it.
    random_state : int, Generator, RandomState or None, default None
        Seed of all random draws.
    callback : callable, optional
        Called as ``callback(n_done, n_at_most, row)`` after every dictionary; returning True ends the search with
        a suggestion from the measurements so far.

    Returns
    -------
    Suggestion
        ``n_atoms``, ``n_nonzero``, the error ``surface``, the ``stability`` of atoms, and the reasons in words.

    Raises
    ------
    ShapeInputError
        If there are too few shapes to hold some out.
    TypeError, ValueError
        If an argument is out of range.

    Notes ----- The description of a shape of ``n`` complex dimensions by ``s`` of ``J`` atoms takes ``n log(mse)`` for
    the residual, ``s log(n |a|² / mse)`` for weights at the precision of the residual, and ``log C(J, s)`` for the
    choice of atoms (two-part minimum description length). Finely sampled outlines have far fewer degrees of freedom
    than coordinates, which favors many weights; therefore a further atom per shape must also lower the error by a
    tenth.

    Errors come from quick fits, and are somewhat larger than those of :class:`~shapelex.ShapeDictionary` with its
    defaults; the stability of atoms is measured with its defaults.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> atoms = rng.normal(size=(4, 9, 2)) @ [1, 1j]
    >>> pairs = np.array([rng.choice(4, 2, replace=False) for _ in range(200)])
    >>> weights = rng.normal(size=(200, 2, 2)) @ [1, 1j]
    >>> X = np.einsum("ks,ksn->kn", weights, atoms[pairs]) + 0.02 * rng.normal(size=(200, 9))
    >>> found = sx.suggest(X, n_atoms=[3, 4, 5], n_nonzero=[1, 2, 3], stability=False, random_state=0)
    >>> found.n_atoms, found.n_nonzero
    (4, 2)
    """
    configurations, space = read_configurations(X, space)
    gain = check_number(min_gain, "min_gain")
    if not 0 < gain < 1:
        raise ParameterError(f"{parameter('min_gain')} must be between 0 and 1, got {min_gain}.")
    chosen = _spaced_rows(len(configurations), check_count(max_shapes, 6, "max_shapes"))
    rows = space.whitened_preshapes(configurations, "X")
    part = None if groups is None else np.asarray(groups)
    if part is not None and part.shape == (len(rows),):
        part = part[chosen]
    if cv is None:
        raise ParameterError(
            f"{parameter('cv')} must hold out some shapes, got None: give a number of folds, for example "
            f"{parameter('cv', 3)}."
        )
    generator = as_generator(random_state)
    order = describe_order(X, configurations, rows, generator)
    is_shuffled = order.needs_shuffling and groups is None and isinstance(cv, int | np.integer)
    folds = make_folds(cv, part, len(chosen), int(generator.integers(2**31)) if is_shuffled else None)
    most = min(len(learned_from) for learned_from, _ in folds) // 2
    sizes = _check_sizes(n_atoms, most)
    sparsities = check_counts(range(1, MOST_NONZERO + 1) if n_nonzero is None else n_nonzero, "n_nonzero")
    measures_stability = check_flag(stability, "stability")
    seeds = generator.integers(2**31, size=len(folds) + 1)
    search = _Search(rows[chosen], folds, seeds, count_jobs(n_jobs), callback)
    n_cells = sum(min(size, len(sparsities)) for size in sizes) + min(_N_REFINED, len(sizes) * len(sparsities))
    n_compared = 1 if n_atoms is None else len(sizes)
    search.n_at_most = n_cells * len(folds) + (2 * n_compared if measures_stability else 0)
    try:
        search.measure(sizes, sparsities, stops_early=n_nonzero is None)
        search.refine(gain, range(1, most + 1) if n_atoms is None else sizes, sparsities)
        if measures_stability:
            search.measure_stability(gain, None if n_atoms is None else sizes)
    except _StoppedError:
        logger.info("suggest: stopped after %d dictionaries", search.n_done)
    explained_order = order.explain(folds, groups is not None, is_shuffled)
    return _conclude(search, gain, explained_order, len(folds), groups is not None, len(configurations))


class _StoppedError(Exception):
    """The callback asked to stop."""


class _Search:
    """The measurements so far, and the steps of the search."""

    def __init__(
        self,
        rows: ComplexArray,
        folds: Sequence[Any],
        seeds: Any,
        n_threads: int | None,
        callback: Progress | None,
    ) -> None:
        self.rows = rows
        self.n_done = 0
        self.n_at_most = 0
        self.stability_rows: list[dict[str, Any]] = []
        self._stability_seed = int(seeds[-1])
        self._n_threads = n_threads
        self._callback = callback
        self.measurer = SurfaceMeasurer(rows, folds, seeds[:-1], n_threads, self._report)

    def _report(self, row: dict[str, Any]) -> None:
        self.n_done += 1
        self.n_at_most = max(self.n_at_most, self.n_done)
        logger.info("suggest: %d of at most %d dictionaries, %s", self.n_done, self.n_at_most, row)
        if self._callback is not None and self._callback(self.n_done, self.n_at_most, dict(row)):
            raise _StoppedError

    def measure(self, sizes: Sequence[int], sparsities: Sequence[int], stops_early: bool) -> None:
        for size in sizes:
            self.measurer.measure_size(size, sparsities, stops_early)

    def refine(self, gain: float, sizes: Container[int], sparsities: Container[int]) -> None:
        """Measure the elbow and its neighbors with many swaps, until it does not move."""
        refined: set[tuple[int, int]] = set()
        while True:
            size, n_nonzero = choose(self.measurer.surface, gain)
            nearby = [(size, n_nonzero), (size - 1, n_nonzero), (size + 1, n_nonzero)]
            # The reasons compare one atom per shape more or less at this size.
            nearby += [(size, n_nonzero - 1), (size, n_nonzero + 1)]
            missing = [
                (one, few)
                for one, few in nearby
                if one in sizes and few in sparsities and few <= one and (one, few) not in refined
            ]
            if not missing:
                return
            self.measurer.measure(*missing[0], is_decisive=True)
            refined.add(missing[0])

    def measure_stability(self, gain: float, sizes: Sequence[int] | None) -> None:
        """Learn sizes again from halves, at the sparsity of the elbow and with the defaults of an estimator.

        Without given sizes, only those between which stability decides.
        """
        if len(self.rows) < FEW_SHAPES:
            return
        surface = self.measurer.surface
        elbow, n_nonzero = choose(surface, gain)
        seed, space = self._stability_seed, PlainRows(self.rows.shape[1])
        for size in close_sizes(surface, elbow, n_nonzero) if sizes is None else sizes:
            if n_nonzero not in surface.sparsities(size):
                continue
            cell = {"n_atoms": size, "n_nonzero": n_nonzero}
            options: dict[str, Any] = {
                "nested": len(self.rows) >= NESTED_FROM * size,
                "target_share": default_target_share(size, len(self.rows)),
                "tie": default_tie(size, n_nonzero, len(self.rows)),
                "n_threads": self._n_threads,
            }
            with single_blas_thread():
                learned = learn(self.rows, size, n_nonzero, generator=seed, **options)
            self._report({**cell, "train_rmse": learned.rmse})
            with single_blas_thread():
                found = measure_stability(
                    learned.atoms,
                    TrainingSample(
                        self.rows, None, space, LearningOptions(size, n_nonzero, **options), batch_size=None, seed=seed
                    ),
                )
            if found.is_known:
                distance, chance = float(found.distances.mean()), float(found.chance.mean())
                measured = {"distance": distance, "chance": chance, "n_named": int(found.can_be_named.sum())}
                stability = float(np.clip(1 - distance / chance, 0, 1)) if chance > 0 else 1.0
                self.stability_rows.append({**cell, **measured, "stability": stability})
            self._report(cell)


def _conclude(
    search: _Search, gain: float, explained_order: str, n_folds: int, has_groups: bool, n_shapes: int
) -> Suggestion:
    learned = search.measurer.surface
    n_atoms, n_nonzero = choose(learned, gain)
    stability = AtomStability(sorted(search.stability_rows, key=lambda row: row["n_atoms"]))
    elbow, n_atoms = n_atoms, most_stable(learned, stability, n_atoms, n_nonzero)
    reasons = [
        explain_few_shapes(len(search.rows)),
        explain_error(learned, n_atoms, n_nonzero, n_folds, has_groups, len(search.rows), n_shapes),
        explain_sparsity(learned, n_atoms, n_nonzero),
        explain_size(learned, n_atoms, n_nonzero, elbow, gain),
        explain_stability(stability, n_atoms),
        explained_order,
    ]
    return Suggestion(n_atoms, n_nonzero, learned, stability, [reason for reason in reasons if reason])


def _spaced_rows(n_rows: int, most: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).round().astype(np.intp))


def _check_sizes(n_atoms: Iterable[int] | None, most: int) -> list[int]:
    if most < 1:
        raise ShapeInputError("X holds too few shapes to hold some out and learn from the others: give at least 6.")
    if n_atoms is None:
        return [size for size in DEFAULT_SIZES if size <= most] or list(range(1, most + 1))
    given = check_counts(n_atoms, "n_atoms")
    if given[-1] > 2 * most:
        raise ParameterError(
            f"{parameter('n_atoms')} must be at most {2 * most}, the number of shapes learned from, got {given[-1]}."
        )
    return given
