"""Suggest the number of atoms of a dictionary, and the maximum number of atoms per shape.

The order of rows decides which are held out together: neighbors that are similar, as in a recording, in blocks. Blocks
of a set that is only sorted by label or file would lack some kinds of shapes and be full of others.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, IntArray
from shapelex._validation import check_count, check_flag, check_number
from shapelex.estimators.base import as_generator
from shapelex.estimators.folds import Fold, check_units, make_folds
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.geometry.distances import row_distances
from shapelex.selection.comparison import check_counts
from shapelex.selection.tables import PRECISION, AtomStability, ErrorSurface, Progress, Row, collect
from shapelex.shapes.opening import read_configurations
from shapelex.shapes.set import fold_groups
from shapelex.shapes.summary import html_text
from shapelex.spaces import Space

DEFAULT_SIZES = (3, 4, 6, 8, 11, 15, 20)
MOST_NONZERO = 10

# Smallest fraction by which one more atom per shape must lower the held-out error.
_LEAST_STEP = 0.1

# A smaller size of similar error is preferred only where the stability of its atoms is higher by this much.
_WORTHWHILE_STABILITY = 0.15
_CLOSE_ERROR = 1.03

# The elbow has that many neighbors.
_N_NEIGHBORS = 4

# Sets of fewer shapes do not allow conclusions on a size or on the stability of atoms.
_FEW_SHAPES = 30

# Rows are taken to be ordered where neighbors are closer than random pairs by this factor.
_ORDERED = 0.7

# A column is taken to be sorted where its value changes at most this often, relative to a random order.
_SORTED = 0.5


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
        Group of each shape, such as a recording or a specimen; a group is held out as a whole. By default the units of
        a set, see ``ShapeSet.study``; fewer folds are made where these are fewer than `cv`.
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

    Notes
    -----
    The description of a shape of ``n`` complex dimensions by ``s`` of ``J`` atoms takes ``n log(mse)`` for
    the residual, ``s log(n |a|² / mse)`` for weights at the precision of the residual, and ``log C(J, s)`` for the
    choice of atoms (two-part minimum description length). Finely sampled outlines have far fewer degrees of freedom
    than coordinates, which favors many weights; therefore a further atom per shape must also lower the error by a
    tenth.

    Errors and the stability of atoms are those of :class:`~shapelex.ShapeDictionary` with its defaults.

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
    if not 0 < check_number(min_gain, "min_gain") < 1:
        raise ParameterError(f"{parameter('min_gain')} must be between 0 and 1, got {min_gain}.")
    n_shapes, n_used = len(configurations), min(len(configurations), check_count(max_shapes, 6, "max_shapes"))
    chosen = np.linspace(0, n_shapes - 1, n_used).round().astype(np.intp)
    units = check_units(fold_groups(X, groups), n_shapes)
    if cv is None:
        raise ParameterError(f"{parameter('cv')} must hold out some shapes, got None: try {parameter('cv', 3)}.")
    generator = as_generator(random_state)
    order, sorted_by = _describe_order(X, configurations, space, generator)
    is_shuffled = bool(sorted_by) and units is None and isinstance(cv, int | np.integer)
    order += [f"the rows are sorted by {sorted_by}"] if is_shuffled else []
    fold_seed = int(generator.integers(2**31)) if is_shuffled else None
    units = None if units is None else units[chosen]
    if units is not None and groups is None and isinstance(cv, int):
        cv = min(cv, len(np.unique(units)))
    folds = make_folds(cv, n_used, units, seed=fold_seed)
    most = min(len(learned_from) for learned_from, _ in folds) // 2
    if most < 1:
        raise ShapeInputError("X holds too few shapes to hold some out and learn from the others: give at least 6.")
    sizes = [size for size in DEFAULT_SIZES if size <= most] or list(range(1, most + 1))
    if n_atoms is not None:
        sizes = check_counts(n_atoms, "n_atoms")
    if sizes[-1] > 2 * most:
        raise ParameterError(
            f"{parameter('n_atoms')} must be at most {2 * most}, the number of shapes learned from, got {sizes[-1]}."
        )
    sparsities = check_counts(range(1, MOST_NONZERO + 1) if n_nonzero is None else n_nonzero, "n_nonzero")
    seeds = generator.integers(2**31, size=len(folds) + 1).tolist()
    measures_stability = check_flag(stability, "stability") and n_used >= _FEW_SHAPES
    surface, table = ErrorSurface([], space.n_coordinates - 1), AtomStability([])
    search = _Search(configurations[chosen], space, folds, seeds, n_jobs, min_gain, surface, table)

    def measurements() -> Iterator[Row]:
        for size in sizes:
            yield from search.measure_size(size, sparsities, stops_early=n_nonzero is None)
        yield from search.measure_neighbors(sizes if n_atoms is not None else range(1, most + 1), sparsities)
        if measures_stability:
            yield from search.measure_stability(None if n_atoms is None else sizes)

    n_cells = sum(min(size, len(sparsities)) for size in sizes) + (_N_NEIGHBORS if n_atoms is None else 0)
    n_stabilities = len(sizes) if n_atoms is not None else 1
    collect(measurements(), n_cells * len(folds) + measures_stability * n_stabilities, callback, "suggest")
    elbow, sparsity = choose(surface, min_gain)
    size = most_stable(surface, table, elbow, sparsity)
    reasons = [
        *_explain_error(surface, size, sparsity, len(folds), units is not None, n_used, n_shapes),
        *_explain_sparsity(surface, size, sparsity),
        _explain_size(surface, size, sparsity, elbow, min_gain),
        *(_explain_stability(row) for row in table.rows() if row["n_atoms"] == size),
        *_explain_order(order, folds, units is not None, is_shuffled),
    ]
    return Suggestion(size, sparsity, surface, table, reasons)


@dataclass
class _Search:
    """The measurements so far, and the steps of the search, which yield them one by one."""

    configurations: ComplexArray
    space: Space
    folds: Sequence[Fold]
    seeds: Sequence[int]
    n_jobs: int | None
    min_gain: float
    surface: ErrorSurface
    stability: AtomStability

    def measure_size(self, n_atoms: int, sparsities: Sequence[int], stops_early: bool) -> Iterator[Row]:
        """Measure one size at ascending sparsities; stop early where two in a row would not be chosen.

        That is where the description does not get shorter, or the error decreases by less than _LEAST_STEP.
        """
        shortest, last, n_idle = np.inf, np.inf, 0
        for n_nonzero in (count for count in sparsities if count <= n_atoms):
            yield from self._measure(n_atoms, n_nonzero)
            length = self.surface.description_length(n_atoms, n_nonzero)
            error = self.surface.rmse(n_atoms, n_nonzero)
            improves = length < shortest and error <= (1 - _LEAST_STEP) * last
            shortest, last, n_idle = min(length, shortest), error, 0 if improves else n_idle + 1
            if stops_early and n_idle == 2:
                break

    def measure_neighbors(self, sizes: Sequence[int], sparsities: Sequence[int]) -> Iterator[Row]:
        """Measure the neighbors of the elbow, which the reasons compare it with, until it does not move."""
        while True:
            size, n_nonzero = choose(self.surface, self.min_gain)
            for one, few in (size - 1, n_nonzero), (size + 1, n_nonzero), (size, n_nonzero - 1), (size, n_nonzero + 1):
                if one in sizes and few in sparsities and few <= one and one not in self.surface.sizes(few):
                    yield from self._measure(one, few)
                    break
            else:
                return

    def measure_stability(self, sizes: Sequence[int] | None) -> Iterator[Row]:
        """Learn sizes again from halves, at the sparsity of the elbow; by default those between which it decides."""
        surface = self.surface
        elbow, n_nonzero = choose(surface, self.min_gain)
        tried = surface.sizes(n_nonzero)
        for size in close_sizes(surface, elbow, n_nonzero) if sizes is None else [one for one in sizes if one in tried]:
            found = self._learn(self.configurations, size, n_nonzero, self.seeds[-1]).stability_
            if found.is_known:
                distance, chance = float(found.distances.mean()), float(found.chance.mean())
                stability = float(np.clip(1 - distance / chance, 0, 1)) if chance > 0 else 1.0
                self.stability.add(size, n_nonzero, distance, chance, int(found.can_be_named.sum()), stability)
            yield {"n_atoms": size, "n_nonzero": n_nonzero}

    def _measure(self, n_atoms: int, n_nonzero: int) -> Iterator[Row]:
        """Learn and measure one size and sparsity on all folds."""
        for fold, ((learned_from, held_out), seed) in enumerate(zip(self.folds, self.seeds, strict=False)):
            start = time.perf_counter()
            model = self._learn(self.configurations[learned_from], n_atoms, n_nonzero, seed)
            held = self.configurations[held_out]
            energy = float(np.mean(np.abs(model.encode(held).coefs.astype(np.complex128)) ** 2))
            errors = -model.score(held), model.rmse_
            yield self.surface.add(n_atoms, n_nonzero, fold, *errors, energy, time.perf_counter() - start)

    def _learn(self, X: ComplexArray, n_atoms: int, n_nonzero: int, seed: int) -> ShapeDictionary:
        model = ShapeDictionary(n_atoms, n_nonzero, space=self.space, n_jobs=self.n_jobs, random_state=seed)
        return model.fit(X)


def choose(surface: ErrorSurface, min_gain: float) -> tuple[int, int]:
    """Return size and sparsity at the elbow of a surface."""
    cells = sorted({(int(row["n_atoms"]), int(row["n_nonzero"])) for row in surface.rows()})
    _, n_nonzero = min(cells, key=lambda cell: (surface.description_length(*cell), cell))
    n_atoms = choose_size(surface, n_nonzero, min_gain)
    # With many coordinates the weights add little to the description, so the error must fall by _LEAST_STEP as well.
    while n_nonzero > 1 and (n_atoms, n_nonzero - 1) in cells:
        step = surface.rmse(n_atoms, n_nonzero) / surface.rmse(n_atoms, n_nonzero - 1)
        if step <= 1 - _LEAST_STEP:
            break
        n_nonzero -= 1
        n_atoms = choose_size(surface, n_nonzero, min_gain)
    return n_atoms, n_nonzero


def choose_size(surface: ErrorSurface, n_nonzero: int, min_gain: float) -> int:
    """Return the size beyond which each further atom lowers the error by less than `min_gain`, at one sparsity.

    The decrease is measured along the lower convex hull of the logarithm of the error, so that a size whose dictionary
    was learned badly does not hide the decrease at larger sizes.
    """
    sizes = np.array(surface.sizes(n_nonzero))
    errors = np.log([max(surface.rmse(size, n_nonzero), PRECISION) for size in sizes])
    here = 0
    while here < len(sizes) - 1:
        slopes = (errors[here + 1 :] - errors[here]) / (sizes[here + 1 :] - sizes[here])
        if slopes.min() > np.log1p(-min_gain):
            break
        # The next point of the hull is that of the steepest descent.
        here += 1 + int(slopes.argmin())
    return int(sizes[here])


def close_sizes(surface: ErrorSurface, n_atoms: int, n_nonzero: int) -> list[int]:
    """Return a size and the smaller ones of nearly the same error, in ascending order."""
    limit = _CLOSE_ERROR * surface.rmse(n_atoms, n_nonzero)
    return [size for size in surface.sizes() if size <= n_atoms and surface.rmse(size, n_nonzero) <= limit]


def most_stable(surface: ErrorSurface, stability: AtomStability, n_atoms: int, n_nonzero: int) -> int:
    """Return a smaller size of nearly the same error and clearly higher stability, if there is one."""
    best = n_atoms
    for size in close_sizes(surface, n_atoms, n_nonzero):
        if stability.of(size) > stability.of(best) + _WORTHWHILE_STABILITY:
            best = size
    return best


def _describe_order(
    X: Any, configurations: ComplexArray, space: Space, generator: np.random.Generator
) -> tuple[list[str], str]:
    """Return what is special about the order of rows, and the column by which rows that are not alike are sorted.

    Consecutive rows are compared with random pairs; only exact copies of configurations count as copies. `X` is what
    was given: where it has labels or files, and the rows are sorted by these, pairs are of the same kind.
    """
    preshapes = space.whitened_preshapes(configurations, "X")
    sorted_by, kinds = _sorted_column(X, len(preshapes))
    shuffled = np.lexsort((generator.random(len(preshapes)), kinds))
    near, far = (_consecutive_distance(preshapes[order], kinds[order]) for order in (slice(None), shuffled))
    n_copies = len(preshapes) - len({configuration.tobytes() for configuration in configurations})
    found = [f"{n_copies} of {len(preshapes)} rows are copies of others"] if n_copies else []
    if near < _ORDERED * far:
        distances = f"median distance {near:.3f}, random pairs {far:.3f}"
        found.append(f"consecutive rows are similar ({distances}), as in a recording or a sorted set")
        sorted_by = ""
    return found, sorted_by


def _consecutive_distance(rows: ComplexArray, kinds: IntArray) -> float:
    """Return the median distance of consecutive rows of the same kind; NaN where there are none."""
    is_same = kinds[:-1] == kinds[1:]
    return float(np.median(row_distances(rows[:-1][is_same], rows[1:][is_same]))) if is_same.any() else float("nan")


def _sorted_column(X: Any, n_shapes: int) -> tuple[str, IntArray]:
    """Return the column that a set is sorted by, in words, and its values as numbers; none for series and arrays.

    Equal values of such a column follow each other much more often than in a random order.
    """
    # Arrays of other libraries may have attributes of these names too, but not a mapping of columns.
    metadata = getattr(X, "metadata", None)
    if isinstance(metadata, Mapping) and (X.sequence is None or len(np.unique(X.sequence)) == 1):
        files = metadata.get("file")
        # Files of one kind often differ only by a number: control_01.png, control_02.png.
        kinds_of_files = None if files is None else [re.sub(r"\d+", "", str(file)) for file in files]
        for name, column in ("label", X.labels), ("file", files), ("name of file", kinds_of_files):
            if column is not None:
                kinds = np.unique(np.asarray(column).astype(str), return_inverse=True)[1]
                expected_changes = n_shapes - float(np.sum(np.bincount(kinds) ** 2)) / n_shapes
                if 0 < np.count_nonzero(np.diff(kinds)) <= _SORTED * expected_changes:
                    return name, kinds
    return "", np.zeros(n_shapes, dtype=np.intp)


def _explain_error(
    surface: ErrorSurface, n_atoms: int, n_nonzero: int, n_folds: int, has_groups: bool, n_used: int, n_shapes: int
) -> list[str]:
    """Return sentences on the error of held-out shapes, and on a set that is too small for conclusions."""
    held_out = "whole groups" if has_groups else "parts of the set"
    used = f"{n_used} of {n_shapes} shapes, evenly spaced" if n_used < n_shapes else f"all {n_shapes} shapes"
    spread = surface.spread(n_atoms, n_nonzero)
    margin = "" if np.isnan(spread) else f" ± {100 * spread:.2f}"
    error = (
        f"Error: held-out shapes have an error of {100 * surface.rmse(n_atoms, n_nonzero):.2f}{margin} % "
        f"(root mean squared full distance; {n_folds} {held_out} held out in turn; {used})."
    )
    few = (
        f"Few shapes: {n_used} shapes are too few to choose a size reliably, and nothing can be said about the "
        f"stability of the atoms. Take the suggestion as a first guess; use at least {_FEW_SHAPES} shapes to decide."
    )
    return [few, error] if n_used < _FEW_SHAPES else [error]


def _explain_sparsity(surface: ErrorSurface, n_atoms: int, n_nonzero: int) -> list[str]:
    """Return a sentence on one atom per shape less and more; none where neither was measured."""
    here, tried = surface.rmse(n_atoms, n_nonzero), surface.sparsities(n_atoms)
    parts = []
    if n_nonzero - 1 in tried:
        gain = 1 - here / surface.rmse(n_atoms, n_nonzero - 1)
        parts.append(f"the last of {n_nonzero} lowers the error by {100 * gain:.0f} %")
    if n_nonzero + 1 in tried:
        # At this error, with n − s − 1 dimensions left, both descriptions would have the same length.
        excess = surface.description_length(n_atoms, n_nonzero + 1) - surface.description_length(n_atoms, n_nonzero)
        error = surface.rmse(n_atoms, n_nonzero + 1)
        even = max(error, PRECISION) * exp(-excess / (2 * max(surface.n_dimensions - n_nonzero - 1, 1)))
        threshold = max(1 - even / max(here, PRECISION), _LEAST_STEP)
        parts.append(f"one more would gain {100 * (1 - error / here):.0f} % (threshold: {100 * threshold:.0f} %)")
    elif n_nonzero == max(surface.sparsities()) and n_nonzero < n_atoms:
        parts.append("more were not tried, and may be better: give a longer range of n_nonzero")
    return [f"Atoms per shape: {', '.join(parts)}."] if parts else []


def _explain_size(surface: ErrorSurface, n_atoms: int, n_nonzero: int, elbow: int, gain: float) -> str:
    """Return a sentence on fewer and more atoms."""
    sizes = surface.sizes(n_nonzero)
    smaller = [size for size in sizes if size < n_atoms]
    shown = sorted({*smaller[-1:], n_atoms, sizes[-1]})
    errors = ", ".join(f"{100 * surface.rmse(size, n_nonzero):.2f} % with {size}" for size in shown)
    if n_atoms == sizes[-1]:
        last = "no larger size was tried, and more atoms may be better: give larger n_atoms"
    else:
        last = f"beyond {elbow} a further atom lowers it by less than {100 * gain:.0f} %"
    if elbow != n_atoms:
        last += f", and {n_atoms} atoms are more stable than {elbow}"
    return f"Atoms: the error is {errors}; {last}."


def _explain_stability(row: Row) -> str:
    """Return a sentence on which atoms are reproducible, from what was measured at one size."""
    n_named, n_atoms = row["n_named"], row["n_atoms"]
    text = (
        f"Stability: {n_named} of {n_atoms} atoms are reproducible (found again in both halves of the data); on "
        f"average an atom is {row['distance']:.3f} from its match, and {row['chance']:.3f} from random shapes."
    )
    if n_named == 0:
        text += " Use the codes and reconstructions, but do not interpret single atoms."
    elif n_named < n_atoms:
        text += " stability_ of the final dictionary shows which of its atoms are reproducible."
    return text


def _explain_order(order: list[str], folds: Sequence[Fold], has_groups: bool, is_shuffled: bool) -> list[str]:
    """Return a sentence on what the order of rows means for the folds; none where nothing is special about it."""
    if not order:
        return []
    if has_groups:
        advice = "whole groups were held out, so that no held-out shape had a near copy among the others"
    elif is_shuffled:
        advice = (
            "blocks of rows would differ in their kinds of shapes, so the rows were shuffled and held out at random; "
            "where several shapes come from one recording or specimen, give these as groups"
        )
    elif all((np.diff(np.sort(held_out)) == 1).all() for _, held_out in folds):
        advice = (
            "a random split would hold out near copies of shapes learned from, so whole blocks of rows were held out; "
            "where recordings or specimens are known, give them as groups"
        )
    else:
        advice = (
            "the given folds separate such rows, so these errors are too small: hold out blocks of rows (cv=3), or "
            "recordings or specimens as groups"
        )
    return [f"Order: {', and '.join(order)}: {advice}."]
