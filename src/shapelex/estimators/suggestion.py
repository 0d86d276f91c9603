"""How many atoms, and how many a shape: what a set of shapes says about it.

In come configurations; out goes a suggestion with its reasons: errors of held-out shapes for many sizes and
sparsities, their elbow, and how well the atoms of each size come back from other seeds.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_configurations, check_count
from shapelex.coding.threads import single_blas_thread
from shapelex.estimators.atom_stability import AtomStability, measure_stability
from shapelex.estimators.configurations import as_generator, count_jobs
from shapelex.estimators.error_surface import PRECISION, ErrorSurface, SurfaceMeasurer
from shapelex.estimators.folds import make_folds
from shapelex.estimators.row_order import RowOrder, describe_order
from shapelex.exceptions import ShapeInputError
from shapelex.learning import learn
from shapelex.spaces import Landmarks, Space

logger = logging.getLogger("shapelex")

DEFAULT_SIZES = (3, 4, 6, 8, 11, 15, 20)
MOST_NONZERO = 10

LEAST_STEP = 0.1
"""One more atom per shape must lower the held-out error at least by this share, also where it costs less."""

# A size close to the elbow is preferred for its atoms only where they come back this much better.
_WORTHWHILE_STABILITY = 0.15
_CLOSE_ERROR = 1.03

Progress = Callable[[int, int, dict[str, Any]], bool | None]


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion:
    """Suggested size and sparsity of a dictionary, with reasons; what :func:`suggest` returns.

    Printed, it says in words what it suggests and why.

    Parameters
    ----------
    n_atoms, n_nonzero : int
        The suggestion, as :class:`ShapeDictionary` takes it.
    surface : ErrorSurface
        Held-out errors: a tidy table of the columns ``n_atoms``, ``n_nonzero``, ``fold``, ``rmse``, ``train_rmse``,
        ``energy`` and ``seconds``.
    stability : AtomStability
        Stability of the atoms: a tidy table of the columns ``n_atoms``, ``n_nonzero``, ``distance``, ``chance`` and
        ``stability``.
    reasons : list of str
        Sentences that say why, in order of weight.
    """

    n_atoms: int
    n_nonzero: int
    surface: ErrorSurface
    stability: AtomStability
    reasons: list[str] = field(default_factory=list)

    @property
    def rmse(self) -> float:
        """Held-out error at the suggestion."""
        return self.surface.rmse(self.n_atoms, self.n_nonzero)

    def __repr__(self) -> str:
        return f"<Suggestion: n_atoms={self.n_atoms}, n_nonzero={self.n_nonzero}>"

    def __str__(self) -> str:
        lines = [f"Suggested: n_atoms={self.n_atoms}, n_nonzero={self.n_nonzero}", ""]
        lines += [f"- {reason}" for reason in self.reasons]
        lines += ["", "Held-out error in percent", str(self.surface)]
        if len(self.stability):
            n_nonzero = self.stability["n_nonzero"][0]
            lines += ["", f"Distance of atoms to their partners from another seed, {n_nonzero} a shape"]
            lines.append(str(self.stability))
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
    n_seeds: int = 3,
    min_gain: float = 0.03,
    n_jobs: int | None = None,
    random_state: Any = None,
    callback: Progress | None = None,
) -> Suggestion:
    """Suggest how many atoms a dictionary should have, and how many a shape may use.

    Learns dictionaries of several sizes and sparsities from part of the shapes, and measures the others. One more
    atom per shape is worth it while the description of a held-out shape, code and rest, gets shorter; one more atom
    in the dictionary while it lowers the held-out error by `min_gain`. Where shapes are sums of a few of the atoms of
    one dictionary, both are its numbers; where no number is right, they are where more brings little.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        Configurations.
    n_atoms : iterable of int, optional
        Sizes to try. By default 3 to 20 in growing steps, at most half the shapes that are learned from, then every
        size around the elbow.
    n_nonzero : iterable of int, optional
        Sparsities to try. By default 1 to 10, for each size until two in a row did not pay.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    cv : int, splitter or iterable of pairs of rows, default 3
        What to hold out. A number of folds holds out contiguous blocks of rows, or whole `groups`: rows that follow
        each other in time are alike, and a random split would hold out shapes that were all but seen.
    groups : array_like of shape (n_shapes,), optional
        What each shape belongs to, such as a recording or a specimen: held out together.
    max_shapes : int, default 1500
        Most shapes to use, evenly spaced over the rows.
    n_seeds : int, default 3
        Dictionaries of each size that are compared for the stability of their atoms; 0 or 1 leaves it out.
    min_gain : float, default 0.03
        Share of the held-out error that a further atom of the dictionary must save.
    n_jobs : int, optional
        Most threads; −1 or None for all processors. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default None
        Seed of all that is random.
    callback : callable, optional
        Called as ``callback(n_done, n_at_most, row)`` after every dictionary; returning True ends the search with
        a suggestion from what was measured.

    Returns
    -------
    Suggestion
        ``n_atoms``, ``n_nonzero``, the error ``surface``, the ``stability`` of atoms, and as text the reasons.

    Raises
    ------
    ShapeInputError
        If there are too few shapes to hold some out.
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    The description of a shape of ``n`` complex dimensions by ``s`` of ``J`` atoms takes ``n log(mse)`` for the rest,
    ``s log(n |a|² / mse)`` for weights at the precision of the rest, and ``log C(J, s)`` for the choice of atoms
    (two-part minimum description length). Finely sampled outlines have far fewer degrees of freedom than coordinates,
    so that many weights seem to pay: there a further atom per shape must also lower the error by a tenth.

    Errors are those of quick fits, somewhat above those of :class:`ShapeDictionary` at its defaults; the stability of
    atoms is that of its defaults.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> atoms = rng.normal(size=(4, 9, 2)) @ [1, 1j]
    >>> pairs = np.array([rng.choice(4, 2, replace=False) for _ in range(200)])
    >>> weights = rng.normal(size=(200, 2, 2)) @ [1, 1j]
    >>> X = np.einsum("ks,ksn->kn", weights, atoms[pairs]) + 0.02 * rng.normal(size=(200, 9))
    >>> found = sx.suggest(X, n_atoms=[3, 4, 5], n_nonzero=[1, 2, 3], n_seeds=0, random_state=0)
    >>> found.n_atoms, found.n_nonzero
    (4, 2)
    """
    if space is not None and not isinstance(space, Space):
        raise TypeError(f"space must be a space such as BSpline(40), or None for landmarks, got {space!r}.")
    configurations, _ = as_configurations(X, n_coordinates=None if space is None else space.n_coordinates)
    gain = _check_gain(min_gain)
    chosen = _spaced_rows(len(configurations), check_count(max_shapes, 6, "max_shapes"))
    rows = (space or Landmarks(configurations.shape[1])).whitened_preshapes(configurations, "X")
    part = None if groups is None else np.asarray(groups)
    if part is not None and part.shape == (len(rows),):
        part = part[chosen]
    if cv is None:
        raise ValueError("cv must hold out some shapes, got None: give a number of folds, as cv=3.")
    folds = make_folds(cv, part, len(chosen))
    most = min(len(learned_from) for learned_from, _ in folds) // 2
    sizes = _check_sizes(n_atoms, most)
    sparsities = _check_sparsities(n_nonzero)
    generator = as_generator(random_state)
    seeds = generator.integers(2**31, size=len(folds) + check_count(n_seeds, 0, "n_seeds"))
    order = describe_order(configurations, rows, generator)
    search = _Search(rows[chosen], folds, seeds, generator, count_jobs(n_jobs), callback)
    search.n_at_most = sum(min(size, len(sparsities)) for size in sizes) * len(folds) + len(sizes) * max(n_seeds, 0)
    try:
        search.measure(sizes, sparsities, stops_early=n_nonzero is None)
        if n_atoms is None:
            search.refine(gain, most)
        search.compare_seeds(gain)
    except _StoppedError:
        logger.info("suggest: stopped after %d dictionaries", search.n_done)
    return _conclude(search, gain, order, folds, groups is not None, len(configurations))


class _StoppedError(Exception):
    """The callback asked to stop."""


class _Search:
    """What was measured so far, and what comes next."""

    def __init__(
        self,
        rows: ComplexArray,
        folds: Sequence[Any],
        seeds: Any,
        generator: np.random.Generator,
        n_threads: int | None,
        callback: Progress | None,
    ) -> None:
        self.rows = rows
        self.n_done = 0
        self.n_at_most = 0
        self.stability_rows: list[dict[str, Any]] = []
        self._seeds = seeds[len(folds) :]
        self._generator = generator
        self._n_threads = n_threads
        self._callback = callback
        self.measurer = SurfaceMeasurer(rows, folds, seeds[: len(folds)], n_threads, self._tell)

    def _tell(self, row: dict[str, Any]) -> None:
        self.n_done += 1
        self.n_at_most = max(self.n_at_most, self.n_done)
        logger.info("suggest: %d of at most %d dictionaries, %s", self.n_done, self.n_at_most, row)
        if self._callback is not None and self._callback(self.n_done, self.n_at_most, dict(row)):
            raise _StoppedError

    def measure(self, sizes: Sequence[int], sparsities: Sequence[int], stops_early: bool) -> None:
        for size in sizes:
            self.measurer.measure_size(size, sparsities, stops_early)

    def refine(self, gain: float, most: int) -> None:
        """Measure the sizes between the elbow and the one before, the next one, and one atom per shape more or less."""
        while True:
            size, n_nonzero = choose(self.measurer.surface, gain)
            sizes = [one for one in self.measurer.surface.sizes() if n_nonzero in self.measurer.surface.sparsities(one)]
            before = max((one for one in sizes if one < size), default=n_nonzero - 1)
            after = min(size + 1, most)
            missing = [one for one in (*range(size - 1, max(before, n_nonzero - 1), -1), after) if one not in sizes]
            if missing:
                self.measurer.measure(missing[0], n_nonzero)
                continue
            # What one atom per shape more or less would do is said of this very size.
            tried = self.measurer.surface.sparsities(size)
            nearby = [one for one in (n_nonzero - 1, n_nonzero + 1) if 1 <= one <= size and one not in tried]
            if not nearby:
                return
            self.measurer.measure(size, nearby[0])

    def compare_seeds(self, gain: float) -> None:
        """Learn every size anew from several seeds, at the sparsity of the elbow, as an estimator would."""
        if len(self._seeds) < 2:
            return
        surface = self.measurer.surface
        _, n_nonzero = choose(surface, gain)
        for size in surface.sizes():
            if n_nonzero not in surface.sparsities(size):
                continue
            dictionaries = []
            for seed in self._seeds:
                with single_blas_thread():
                    learned = learn(self.rows, size, n_nonzero, generator=int(seed), n_threads=self._n_threads)
                dictionaries.append(learned.atoms)
                self._tell({"n_atoms": size, "n_nonzero": n_nonzero, "seed": int(seed), "train_rmse": learned.rmse})
            found = measure_stability(dictionaries, self.rows, self._generator)
            self.stability_rows.append({"n_atoms": size, "n_nonzero": n_nonzero, **found})


def choose(surface: ErrorSurface, min_gain: float) -> tuple[int, int]:
    """Return size and sparsity at the elbow of a surface.

    Parameters
    ----------
    surface : ErrorSurface
        Held-out errors.
    min_gain : float
        Share of the error that a further atom must save.

    Returns
    -------
    n_atoms, n_nonzero : int
        The elbow.
    """
    cells = sorted({(int(row["n_atoms"]), int(row["n_nonzero"])) for row in surface.rows()})
    _, n_nonzero = min(cells, key=lambda cell: (surface.description_length(*cell), cell))
    n_atoms = choose_size(surface, n_nonzero, min_gain)
    # Each atom of a shape must earn its place, also where coordinates are many and weights cost next to nothing.
    while n_nonzero > 1 and (n_atoms, n_nonzero - 1) in cells:
        step = surface.rmse(n_atoms, n_nonzero) / surface.rmse(n_atoms, n_nonzero - 1)
        if step <= 1 - LEAST_STEP:
            break
        n_nonzero -= 1
        n_atoms = choose_size(surface, n_nonzero, min_gain)
    return n_atoms, n_nonzero


def choose_size(surface: ErrorSurface, n_nonzero: int, min_gain: float) -> int:
    """Return the size beyond which further atoms save less than `min_gain` each, at one sparsity.

    Savings are those along the lower convex hull of the logarithm of the error, so that sizes that happened to be
    learned badly do not hide what larger ones save.

    Parameters
    ----------
    surface : ErrorSurface
        Held-out errors.
    n_nonzero : int
        Sparsity.
    min_gain : float
        Share of the error that a further atom must save.

    Returns
    -------
    int
        The size.
    """
    sizes = [size for size in surface.sizes() if n_nonzero in surface.sparsities(size)]
    errors = np.log([max(surface.rmse(size, n_nonzero), PRECISION) for size in sizes])
    hull = _lower_hull(np.array(sizes, dtype=float), errors)
    for here, beyond in pairwise(hull):
        slope = (errors[beyond] - errors[here]) / (sizes[beyond] - sizes[here])
        if slope > np.log1p(-min_gain):
            return sizes[here]
    return sizes[hull[-1]]


def _lower_hull(x: FloatArray, y: FloatArray) -> list[int]:
    hull: list[int] = []
    for k in range(len(x)):
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            if (y[j] - y[i]) * (x[k] - x[i]) < (y[k] - y[i]) * (x[j] - x[i]):
                break
            hull.pop()
        hull.append(k)
    return hull


def _conclude(
    search: _Search, gain: float, order: RowOrder, folds: Sequence[Any], has_groups: bool, n_shapes: int
) -> Suggestion:
    learned = search.measurer.surface
    n_atoms, n_nonzero = choose(learned, gain)
    stability = AtomStability(sorted(search.stability_rows, key=lambda row: row["n_atoms"]))
    elbow, n_atoms = n_atoms, _most_stable(learned, stability, n_atoms, n_nonzero)
    reasons = [
        _say_error(learned, n_atoms, n_nonzero, len(folds), has_groups, len(search.rows), n_shapes),
        _say_sparsity(learned, n_atoms, n_nonzero),
        _say_size(learned, n_atoms, n_nonzero, elbow, gain),
        _say_stability(stability, n_atoms),
        order.say(folds, has_groups),
    ]
    return Suggestion(n_atoms, n_nonzero, learned, stability, [reason for reason in reasons if reason])


def _most_stable(surface: ErrorSurface, stability: AtomStability, n_atoms: int, n_nonzero: int) -> int:
    """Return a smaller size of nearly the same error whose atoms come back clearly better, if there is one."""
    best = n_atoms
    for row in stability.rows():
        size = int(row["n_atoms"])
        is_close = surface.rmse(size, n_nonzero) <= _CLOSE_ERROR * surface.rmse(n_atoms, n_nonzero)
        if size < n_atoms and is_close and row["stability"] > stability.of(best) + _WORTHWHILE_STABILITY:
            best = size
    return best


def _say_error(
    surface: ErrorSurface, n_atoms: int, n_nonzero: int, n_folds: int, has_groups: bool, n_used: int, n_shapes: int
) -> str:
    held_out = "whole groups" if has_groups else "parts of the set"
    used = f"{n_used} of {n_shapes} shapes, evenly spaced" if n_used < n_shapes else f"all {n_shapes} shapes"
    spread = surface.spread(n_atoms, n_nonzero)
    margin = "" if np.isnan(spread) else f" ± {100 * spread:.2f}"
    return (
        f"Error: shapes that were held out are rebuilt to {100 * surface.rmse(n_atoms, n_nonzero):.2f}{margin} % "
        f"(root mean squared full distance; {n_folds} {held_out} held out in turn; {used})."
    )


def _say_sparsity(surface: ErrorSurface, n_atoms: int, n_nonzero: int) -> str:
    here, tried = surface.rmse(n_atoms, n_nonzero), surface.sparsities(n_atoms)
    parts = []
    if n_nonzero - 1 in tried:
        parts.append(
            f"the last of {n_nonzero} lowers the error by {_percent(here, surface.rmse(n_atoms, n_nonzero - 1))}"
        )
    if n_nonzero + 1 in tried:
        # With n − s − 1 dimensions left, this error would make both descriptions equally long.
        excess = surface.description_length(n_atoms, n_nonzero + 1) - surface.description_length(n_atoms, n_nonzero)
        there = max(surface.rmse(n_atoms, n_nonzero + 1), PRECISION)
        even = there * exp(-excess / (2 * max(surface.n_dimensions - n_nonzero - 1, 1)))
        needed = max(1 - even / max(here, PRECISION), LEAST_STEP)
        parts.append(
            f"one more would lower it by {_percent(surface.rmse(n_atoms, n_nonzero + 1), here)}, where "
            f"{100 * needed:.0f} % would pay for the longer code"
        )
    elif n_nonzero == max(surface.sparsities()) and n_nonzero < n_atoms:
        parts.append("more were not tried, and may pay: give a longer range of n_nonzero")
    return f"Atoms per shape: {', '.join(parts)}." if parts else ""


def _say_size(surface: ErrorSurface, n_atoms: int, n_nonzero: int, elbow: int, gain: float) -> str:
    sizes = [size for size in surface.sizes() if n_nonzero in surface.sparsities(size)]
    here = surface.rmse(n_atoms, n_nonzero)
    smaller, larger = [size for size in sizes if size < n_atoms], [size for size in sizes if size > n_atoms]
    parts = []
    if smaller:
        parts.append(f"with {smaller[-1]}, the error is {100 * surface.rmse(smaller[-1], n_nonzero):.2f} %")
    parts.append(f"with {n_atoms}, {100 * here:.2f} %")
    if larger:
        parts.append(f"with {larger[-1]}, {100 * surface.rmse(larger[-1], n_nonzero):.2f} %")
        last = f"beyond {elbow} a further atom saves less than {100 * gain:.0f} % of it"
    else:
        last = "no larger size was tried, and more atoms may pay: give larger n_atoms"
    if elbow != n_atoms:
        last += f", and the atoms of {n_atoms} come back better than those of {elbow}"
    return f"Atoms: {', '.join(parts)}; {last}."


def _say_stability(stability: AtomStability, n_atoms: int) -> str:
    value = stability.of(n_atoms)
    if np.isnan(value):
        return ""
    row = next(row for row in stability.rows() if row["n_atoms"] == n_atoms)
    verdict = (
        "the same atoms come back: they can be named and interpreted"
        if value > 0.8
        else "most atoms come back, some change: interpret those that do"
        if value > 0.5
        else "atoms change from seed to seed: use the codes and reconstructions, but do not interpret single atoms"
    )
    return (
        f"Stability: learned again from another seed, an atom is {row['distance']:.3f} from its partner on average, "
        f"where random shapes would be {row['chance']:.3f} apart; {verdict}."
    )


def _percent(value: float, before: float) -> str:
    return f"{100 * (1 - value / before):.0f} %"


def _spaced_rows(n_rows: int, most: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).round().astype(np.intp))


def _check_gain(min_gain: float) -> float:
    if isinstance(min_gain, bool) or not isinstance(min_gain, int | float | np.integer | np.floating):
        raise TypeError(f"min_gain must be a number, got {min_gain!r}.")
    if not 0 < min_gain < 1:
        raise ValueError(f"min_gain must be a share between 0 and 1, got {min_gain}.")
    return float(min_gain)


def _check_sizes(n_atoms: Iterable[int] | None, most: int) -> list[int]:
    if most < 1:
        raise ShapeInputError("X holds too few shapes to hold some out and learn from the others: give at least 6.")
    if n_atoms is None:
        return [size for size in DEFAULT_SIZES if size <= most] or list(range(1, most + 1))
    given = sorted({check_count(size, 1, "n_atoms") for size in _as_list(n_atoms)})
    if not given:
        raise ValueError("n_atoms must name at least one size, got none.")
    if given[-1] > 2 * most:
        raise ValueError(f"n_atoms must be at most {2 * most}, the shapes that are learned from, got {given[-1]}.")
    return given


def _check_sparsities(n_nonzero: Iterable[int] | None) -> list[int]:
    if n_nonzero is None:
        return list(range(1, MOST_NONZERO + 1))
    given = sorted({check_count(value, 1, "n_nonzero") for value in _as_list(n_nonzero)})
    if not given:
        raise ValueError("n_nonzero must name at least one number of atoms per shape, got none.")
    return given


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, Iterable) else [values]
