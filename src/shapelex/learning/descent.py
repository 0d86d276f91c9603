"""Learning a dictionary: passes over the shapes and updates of the atoms take turns.

This is algorithm 1 of the paper (section 5.1, "Dictionary update with MOD"). A fit is a sequence of *stages*, each a
descent from some atoms, over a sample or over all shapes; mini-batches are a stage whose updates remember the batches
before. All that a fit needs to go on is its :class:`LearningState`, which a checkpoint stores.

Nothing here depends on the Gram matrix of the space: it cancels from the update (paper, appendix, "Two lemmas").
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import lapack, pinvh

from shapelex._messages import parameter
from shapelex._typing import BoolArray, ComplexArray, DistanceKind, FloatArray
from shapelex._validation import check_choice, check_count, check_not_negative, check_number
from shapelex.coding.coders import AUTO_MAX_SUPPORTS, CODERS, Coding
from shapelex.coding.torch.device_coder import has_device
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError
from shapelex.geometry.distances import DISTANCE_KINDS
from shapelex.geometry.matching import DictionaryStability, matched_distances
from shapelex.learning import sampling
from shapelex.learning.one_pass import PassSums, one_pass
from shapelex.learning.sampling import check_enough, draw_index, draw_rows, initial_atoms, normalized, take_part
from shapelex.shapes.storage import ArrayShapes, Shapes
from shapelex.spaces.base import Space, row_norms

logger = logging.getLogger("shapelex")

STARTS = ("auto", "random")
# Number of swaps for each unit of `effort` above 1.
SWAPS_PER_EFFORT = 50
# Updates of the sample go so many times as far as to the least-squares dictionary: for given codes, every factor below
# 2 lowers the error.
STEP = 1.9
_FIRST_PASSES, _SAMPLE_PASSES, _SWAP_PASSES, _FULL_PASSES = 15, 45, 8, 3
_SWAP_TOL = 1e-3

# Number of shapes of the sample, or 20 for each atom if that is more.
SAMPLE_ROWS = 2000

# Each atom of the start counts as so many shapes of mean weight where atoms are held near it, as long as the loss is at
# least half of that of the start; with smaller losses as fewer, so that shapes that some dictionary approximates
# perfectly get it. Three, with the tails preferred to the tree unless that is 3 % better, gives atoms that come back
# more often, and held-out errors that are 0.8 % larger (21 sets of 15 to 150 shapes).
HOLD = 1.0

# A swap is kept where the error is at most so much larger.
LOOSE = 0.01

# Before batch ``t`` the old sums are multiplied by ``1 − t^(−power)``. The memory then reaches back some ``t^power``
# batches: it grows, so the dictionary settles, but slower than ``t``, so the codes of the first poor dictionaries fade.
FORGETTING_POWER = 0.7

# Two atoms ``d, e`` are duplicates where ``|d* e|`` is above this: they are less than 0.032 apart in full distance, and
# a code that tells them apart needs opposite weights of up to 32.
DUPLICATE_COHERENCE = 0.9995

# An atom counts as unused where fewer shapes use it than this share of the average atom's.
UNUSED_SHARE = 0.01

# Losses of a sample, or of batches, say nothing about those of all shapes.
_LAST_KINDS = ("all", "batches")
# The shortest step towards an update that would raise the objective, before none is taken.
_LEAST_STEP = 0.0625
# Root mean squared distances that are rounding errors.
_PERFECT_RMSE = 1.5e-8
# Relative to a diagonal of ones. Above it, Cholesky loses at most ten of its sixteen digits; below it, the rank is in
# question, and eigenvalues decide.
_LEAST_PIVOT = 1e-10
# Copies to rounding are duplicates even where shapes are approximated perfectly.
_LEAST_DUPLICATE_DISTANCE2 = 1e-8

# Number of shapes that both halves have together at most, or 20 for each atom if that is more.
STABILITY_ROWS = 4000

# Pairs of random draws of shapes whose matched distances are averaged.
_N_CHANCE_PAIRS = 20


@dataclass(eq=False, repr=False)
class LearningParameters:
    """Parameters of all estimators that learn dictionaries."""

    n_atoms: int = 20
    n_nonzero: int = 5
    _: KW_ONLY
    space: Space | None = None
    coder: str = "auto"
    tie: float | None = None
    n_swaps: int | None = None
    n_restarts: int = 1
    max_iter: int = 100
    tol: float = 1e-5
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool | int = False


@dataclass(eq=False)
class LearningOptions(LearningParameters):
    """What to learn and how.

    The parameters are those of :class:`~shapelex.ShapeDictionary`, but `init` is one of the names or whitened rows,
    `tie` is 0 where atoms are not held near their start, `n_swaps` follows from `effort` where it is not given, and
    `n_threads` takes the place of ``n_jobs``. `is_fast` says whether learning codes by a faster method than the
    dictionary: ``"auto"``, where exact codes are slow.
    """

    weight_penalty: float = 0.0
    distance: DistanceKind = "full"
    init: str | ComplexArray = "auto"
    effort: float = 1
    batch_size: int | None = None
    n_threads: int | None = None
    device: str = "cpu"
    is_fast: bool = field(init=False)

    def __post_init__(self) -> None:
        counts = {"n_atoms": 1, "n_nonzero": 1, "n_restarts": 1, "max_iter": 0, "n_swaps": 0, "batch_size": 1}
        for name, least in counts.items():
            if name not in ("n_swaps", "batch_size") or getattr(self, name) is not None:
                check_count(getattr(self, name), least, name)
        for name in ("weight_penalty", "tol"):
            check_not_negative(getattr(self, name), name)
        if self.n_nonzero > self.n_atoms:
            n_atoms = parameter("n_atoms", self.n_atoms)
            raise ParameterError(f"{parameter('n_nonzero')} must be between 1 and {n_atoms}, got {self.n_nonzero}.")
        check_choice(self.coder, ("auto", *CODERS), "coder")
        check_choice(self.distance, DISTANCE_KINDS, "distance")
        if isinstance(self.init, str):
            check_choice(self.init, STARTS, "init")
        if self.tie is not None and check_not_negative(self.tie, "tie"):
            raise ParameterError(
                f"{parameter('tie', self.tie)} has no meaning any more, as atoms are not tied to the nearest shapes: "
                f"leave it out to hold atoms near their start, or give {parameter('tie', 0)} not to."
            )
        if not 1 <= check_number(self.effort, "effort", "a number from 1 on, such as 2") < np.inf:
            raise ParameterError(
                f"{parameter('effort')} must be a number from 1 on, got {self.effort}; {parameter('effort', 1)} and "
                f"{parameter('n_swaps', 0)} try no swaps."
            )
        if self.batch_size is not None and self.n_restarts != 1:
            raise ParameterError(f"learning from batches needs {parameter('n_restarts', 1)}, got {self.n_restarts}.")
        if not isinstance(self.device, str):
            raise ParameterTypeError(f'{parameter("device")} must be text like "cpu" or "cuda", got {self.device!r}.')
        if self.n_swaps is None:
            self.n_swaps = round(SWAPS_PER_EFFORT * (self.effort - 1))
        self.is_fast = self.coder == "auto" and comb(self.n_atoms, self.n_nonzero) > AUTO_MAX_SUPPORTS

    def for_local_shapes(self) -> "LearningOptions":
        """Return options for shapes of a remote collection that were brought here; the device may be a worker's."""
        return self if has_device(self.device) else replace(self, device="cpu")


@dataclass(frozen=True)
class Stage:
    """A part of a fit: a descent of at most `n_passes` passes from atoms that `kind` says.

    ``"tails"``, ``"tree"`` and ``"first"`` (drawn or given) are starts, ``"settle"`` goes on from the present
    dictionary, ``"swap"`` from the present one with another atom, ``"best"`` from the best one, ``"all"`` from the best
    one over all shapes, and ``"batches"`` reads all shapes in mini-batches.
    """

    kind: str
    n_passes: int
    on_sample: bool = True


def make_plan(options: LearningOptions, has_more: bool) -> list[Stage]:
    """Return the stages of a fit; `has_more` says whether there are more shapes than the sample has."""
    most, swaps = options.max_iter + 1, options.n_swaps or 0
    is_auto = isinstance(options.init, str) and options.init == "auto"
    if options.batch_size is not None and options.max_iter > 0:
        starts = [Stage("tails", 1), Stage("tree", 1)] if is_auto else []
        return [*starts, Stage("batches", options.max_iter, on_sample=False)]
    if not is_auto and swaps == 0:
        # From given atoms every descent would be the same.
        n_descents = options.n_restarts if isinstance(options.init, str) else 1
        return [Stage("first", most, on_sample=False)] * n_descents
    longest, short = min(_SAMPLE_PASSES, most), min(_FIRST_PASSES, most)
    search = [Stage("first", longest)]
    if is_auto:
        search = [Stage("tails", short), Stage("tree", short), *[Stage("settle", longest)] * (most > 1)]
    plan = search
    if swaps:
        search = [*search, *[Stage("swap", min(_SWAP_PASSES, most))] * swaps]
        plan = [*search * options.n_restarts, Stage("best", longest)]
    return [*plan, Stage("all", min(_FULL_PASSES, most), on_sample=False)] if has_more else plan


@dataclass(eq=False)
class LearningState:
    """Where a fit stands.

    Parameters
    ----------
    seed : int
        Seed of the draw of the sample.
    stage : int
        Number of the present stage, from 0.
    n_passes : int
        Number of passes made in this stage.
    n_batches : int
        Number of mini-batches learned.
    step : float
        Factor of the steps of this stage, below 1 where longer ones raised the objective.
    converged : bool
        Whether this stage has settled.
    n_replaced : int
        Number of idle atoms that the last update replaced.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates), or None
        The dictionary for the next pass; None between two stages.
    start : ndarray of complex, shape (n_atoms, n_coordinates), or None
        The dictionary that the atoms of this stage are held near.
    curve : list of float
        Mean losses of the passes of this stage, after those that led to it.
    found : PassSums or None
        The best dictionary of this stage.
    current : PassSums or None
        The dictionary that stages go on from.
    best : PassSums or None
        The best dictionary of the stages before.
    memory : PassSums or None
        Sums of the mini-batches that are remembered.
    """

    seed: int = 0
    stage: int = 0
    n_passes: int = 0
    n_batches: int = 0
    step: float = 1.0
    converged: bool = False
    n_replaced: int = 0
    atoms: ComplexArray | None = None
    start: ComplexArray | None = None
    curve: list[float] = field(default_factory=list)
    found: PassSums | None = None
    current: PassSums | None = None
    best: PassSums | None = None
    memory: PassSums | None = None


class Learner(LearningState):
    """Learns a dictionary: ``for _ in learner.passes(): ...``, then ``learner.finish()``.

    Parameters
    ----------
    shapes : Shapes
        What to learn from.
    options : LearningOptions
        What to learn and how.
    generator : numpy.random.Generator
        The only source of randomness.
    """

    def __init__(self, shapes: Shapes, options: LearningOptions, generator: np.random.Generator) -> None:
        super().__init__()
        self.shapes, self.options, self.generator = shapes, options, generator
        self.sample: Shapes = shapes
        self.n_sample = max(SAMPLE_ROWS, 20 * options.n_atoms)
        self.plan = make_plan(options, len(shapes) > self.n_sample)

    @property
    def result(self) -> PassSums | None:
        """The best dictionary so far, at any moment: between two passes, or after an interruption."""
        best = self.best or self.current
        if self.found is not None and (
            best is None or self.plan[self.stage].kind in _LAST_KINDS or self.found.loss < best.loss
        ):
            return replace(self.found, curve=self.curve)
        return best

    @property
    def rmse(self) -> float:
        """Root mean squared distance of the last pass."""
        return float(np.sqrt(self.curve[-1]))

    @property
    def share(self) -> float:
        """About which part of the fit is done."""
        return (self.stage + self.n_passes / self.plan[self.stage].n_passes) / len(self.plan)

    def passes(self) -> Iterator[None]:
        """Make the passes that are left, one at a time; the fit may be stopped after each."""
        options = self.options
        try:
            self._prepare()
            for stage in self.plan[self.stage :]:
                # A resumed stage has its atoms.
                if self.atoms is None:
                    self._begin(stage)
                assert self.atoms is not None
                rounding = 64 * float(np.finfo(self.atoms.dtype).eps)
                keeps_values = bool(options.n_swaps) and stage.on_sample
                tol = _SWAP_TOL if stage.kind == "swap" else options.tol
                while self.n_passes < stage.n_passes and not self.converged:
                    batches: Iterable[Shapes] = [self.sample if stage.on_sample else self.shapes]
                    if stage.kind == "batches":
                        size = options.batch_size or len(self.shapes)
                        batches = sampling.shuffled_batches(self.shapes, size, self.generator)
                    loss = weight = 0.0
                    for batch in batches:
                        coding = self._coding(batch, self.atoms, is_fast=options.is_fast)
                        found = one_pass(batch, coding, options.distance, keeps_values=keeps_values)
                        self._update(found, stage)
                        loss += found.loss
                        weight += found.weight
                    self.n_passes += 1
                    self.curve.append(loss / weight)
                    if self.n_passes > 1:
                        before, rmse = np.sqrt(self.curve[-2:])
                        is_perfect = max(before, rmse) <= max(rounding, _PERFECT_RMSE)
                        is_settled = abs(before - rmse) <= tol * before + rounding and self.n_replaced == 0
                        self.converged = bool(is_perfect or is_settled or self.step < _LEAST_STEP)
                    yield
                self._end(stage)
        except ShapeInputError:
            # A sample or a batch does not know the numbers of its shapes.
            self.shapes.check_all()
            raise

    def finish(self) -> PassSums:
        """Return the best dictionary, with what is known of all shapes."""
        best, options = self.result, self.options
        assert best is not None
        if options.batch_size is None and not options.is_fast:
            return best
        # What is known is about other codes, or about batches.
        found = one_pass(self.shapes, self._coding(self.shapes, best.atoms, is_fast=False), options.distance)
        found.curve = best.curve if options.batch_size is None else [*best.curve, found.loss / found.weight]
        return found

    def _prepare(self) -> None:
        """Check the shapes, and draw the sample."""
        shapes = self.shapes
        if isinstance(shapes, ArrayShapes):
            shapes.keep_scales()
        if self.stage == 0 and self.atoms is None:
            check_enough(shapes, self.options.n_atoms)
            self.seed = int(self.generator.integers(2**31))
        # Stages over the sample come before those over all shapes.
        if self.plan[self.stage].on_sample:
            chosen = draw_rows(shapes, self.n_sample, np.random.default_rng(self.seed))
            if not isinstance(shapes, ArrayShapes) or len(chosen) < len(shapes):
                self.sample = take_part(shapes, chosen)
                self.sample.keep_scales()

    def _begin(self, stage: Stage) -> None:
        """Find the atoms of the first pass of a stage."""
        options, sample = self.options, self.sample
        self.n_passes, self.step, self.converged = 0, 1.0, False
        self.curve, self.start, self.found = [], None, None
        before = self.best if stage.kind in ("all", "best") else self.current
        if stage.kind in ("tails", "tree"):
            rows = sample.space.unit_rows(sample.take(np.arange(len(sample))))
            weights = sample.weights_of(slice(None))
            if stage.kind == "tails":
                made = sampling.tails(rows, weights, options.n_atoms, self.generator)
            else:
                made = sampling.tree(rows, weights, options.n_atoms)
            self.atoms = made.astype(rows.dtype)
            if options.tie is None and options.n_swaps == 0:
                self.start = self.atoms
        elif before is None or stage.kind == "first":
            self.atoms = initial_atoms(self.shapes, options.n_atoms, options.init, self.generator)
        else:
            self.atoms = self._swapped(before) if stage.kind == "swap" else before.atoms
            if stage.kind != "batches":
                self.curve, self.start = [*before.curve], before.start

    def _coding(self, batch: Shapes, atoms: ComplexArray, *, is_fast: bool) -> Coding:
        """Return how to code some shapes over a dictionary; `is_fast` if by the faster method of learning."""
        options = self.options
        if self.shapes.is_remote and batch is not self.shapes:
            options = options.for_local_shapes()
        return Coding(
            atoms.astype(np.result_type(atoms.dtype, batch.dtype), copy=False),
            options.n_nonzero,
            "ormp" if is_fast else options.coder,
            polish=True if is_fast else None,
            weight_penalty=options.weight_penalty,
            n_threads=options.n_threads,
            device=options.device,
        )

    def _update(self, found: PassSums, stage: Stage) -> None:
        """Keep what a pass found where it is the best of its stage, and set the atoms that follow from it."""
        candidates, found.worst_rows = found.worst_rows, found.worst_rows[:0]
        found.worst_values, found.start = found.worst_values[:0], self.start
        sums, start, is_batch = found, self.start, stage.kind == "batches"
        if is_batch:
            self.n_batches += 1
            kept = 1 - self.n_batches**-FORGETTING_POWER
            sums = self.memory = found if self.memory is None else self.memory.plus(found, kept)
        elif self.found is None or found.loss < self.found.loss:
            self.found = found
        elif self.options.distance != "full":
            # The reweighted update solves a linear model of the other distances, which may promise too much.
            sums, self.step = self.found, self.step / 2
        step = self.step * (STEP if stage.on_sample and self.n_passes else 1.0)
        atoms, loss = sums.atoms, sums.loss / sums.weight
        gram, products = sums.gram, sums.products
        if start is not None:
            # Each atom of the start, rotated onto its atom, is one more shape, coded by it alone.
            share = min(1.0, 2 * loss / max(*self.curve[:1], loss, np.finfo(float).tiny))
            turns = np.vecdot(start, atoms)
            turns = turns / np.maximum(np.abs(turns), np.finfo(float).tiny)
            given = self.shapes.weights
            weight = HOLD * share * (1.0 if given is None else float(given[given > 0].mean()))
            gram, products = gram + weight * np.eye(len(gram)), products + weight * turns[:, None] * start
        updated = normalized(solve_mod(gram, products), atoms)
        if step != 1:
            updated = normalized(atoms + step * (updated - atoms), updated)
        self.atoms, is_replaced = replace_atoms(updated, sums.usage, candidates, loss, self.options.n_nonzero)
        self.n_replaced = int(is_replaced.sum())
        if self.n_replaced and start is not None:
            self.start = np.where(is_replaced[:, None], self.atoms, start)
        if is_batch:
            # What is remembered of atoms that were replaced is about their predecessors.
            stays = ~is_replaced
            sums.gram = sums.gram * stays[:, None] * stays
            sums.products, sums.usage = sums.products * stays[:, None], sums.usage * stays
            self.found = replace(sums, atoms=self.atoms)

    def _end(self, stage: Stage) -> None:
        """Keep what a stage found where it is good enough; later stages go on from it."""
        found = self.found
        assert found is not None
        found.curve = self.curve
        limit = {"tree": 1.0, "swap": 1 + LOOSE}.get(stage.kind, np.inf)
        if self.current is None or found.rmse < limit * self.current.rmse:
            self.current = found
        is_better = self.best is None or found.loss < self.best.loss
        if stage.kind in _LAST_KINDS or (is_better and stage.kind not in ("tails", "tree")):
            self.best = found
        self.stage += 1
        self.atoms = self.found = None

    def _swapped(self, current: PassSums) -> ComplexArray:
        """Replace an atom of little worth by a badly coded shape, both drawn."""
        coherences = mutual_coherences(current.atoms).astype(np.float64)
        worth = current.gram.diagonal().real * (1 - np.minimum(coherences.max(axis=1), 1) ** 2)
        chances = 1 / np.maximum(worth, 1e-3 * worth.max() + np.finfo(float).tiny)
        atom = draw_index(chances, self.generator)
        values = current.values * self.sample.weights_of(slice(None))
        row = draw_index(values if values.any() else np.ones(len(values)), self.generator)
        atoms = current.atoms.copy()
        atoms[atom] = self.sample.space.unit_rows(self.sample.take(np.array([row])))[0]
        return atoms


def solve_mod(gram: ComplexArray, products: ComplexArray) -> ComplexArray:
    """Return the least-squares dictionary of given codes, before normalization: rows of unused atoms are zero.

    ``D = A⁺ X``, from ``S D = T``: by Cholesky where ``S`` has full rank, else by its pseudo-inverse. No dictionary has
    a smaller loss with these codes.
    """
    solution = np.zeros_like(products)
    used = np.flatnonzero(gram.diagonal().real > 0)
    if not len(used):
        return solution
    gram, products = gram[np.ix_(used, used)], products[used]
    # Unit diagonal first: how often an atom is used should not count as ill-conditioning.
    scale = 1 / np.sqrt(gram.diagonal().real)[:, None]
    factor, info = lapack.zpotrf(scale * gram * scale.T, lower=1)
    if info == 0 and factor.diagonal().real.min() ** 2 > _LEAST_PIVOT:
        solution[used] = scale * lapack.zpotrs(factor, scale * products, lower=1)[0]
        return solution
    # Least norm is a matter of the unscaled unknowns.
    solution[used] = pinvh(gram, check_finite=False) @ products
    return solution


def mutual_coherences(atoms: ComplexArray) -> FloatArray:
    """Return the moduli ``|d_i* d_j|`` of all pairs of atoms, with zeros on the diagonal."""
    moduli: FloatArray = np.abs(atoms.conj() @ atoms.T)
    np.fill_diagonal(moduli, 0)
    return moduli


def replace_atoms(
    atoms: ComplexArray, usage: FloatArray, candidates: ComplexArray, loss: float, n_nonzero: int
) -> tuple[ComplexArray, BoolArray]:
    """Put badly approximated shapes in the place of idle atoms; return the dictionary and which were replaced.

    An atom is idle where it is unused, zero, or the less used one of duplicates. `candidates` are whitened pre-shapes.
    A shape takes a place only if it is not a duplicate of another atom, so copies of one shape never fill two places.
    Where no distinct shape is left, atoms stay: they do no harm. Atoms that stand for shapes alone (`n_nonzero` is 1)
    may be close where all shapes are: they are duplicates where they are closer than a quarter of the distance from the
    shapes to them, whose mean square is `loss`.
    """
    coherence = DUPLICATE_COHERENCE
    if n_nonzero == 1:
        coherence = max(coherence, float(np.sqrt(max(1 - max(loss / 16, _LEAST_DUPLICATE_DISTANCE2), 0.0))))
    # A fresh atom has norm 1, a vanished one has not.
    idle: BoolArray = (row_norms(atoms) < 0.5) | (usage <= UNUSED_SHARE * usage.mean())
    duplicate = mutual_coherences(atoms) > coherence
    # The most used first; of equals the first. Each keeps its place unless it repeats one that kept its own.
    order = np.argsort(-usage, kind="stable")
    for position, j in enumerate(order if duplicate.any() else ()):
        earlier = order[:position]
        idle[j] |= bool((duplicate[j, earlier] & ~idle[earlier]).any())
    # A place that is to be filled must not keep a shape out.
    replaced = np.where(idle[:, None], 0, atoms)
    is_replaced = np.zeros(len(atoms), dtype=bool)
    remaining = iter(candidates)
    for place in np.flatnonzero(idle):
        for candidate in remaining:
            if np.abs(replaced.conj() @ candidate).max() <= coherence:
                replaced[place], is_replaced[place] = candidate, True
                break
    return np.where((idle & ~is_replaced)[:, None], atoms, replaced), is_replaced


def measure_stability(
    atoms: ComplexArray, shapes: ArrayShapes, options: LearningOptions, seed: int
) -> DictionaryStability:
    """Learn dictionaries from two halves of some shapes; compare whitened atoms with them, and them with each other.

    Progress is logged at level DEBUG, with the attributes ``iteration`` and ``half`` of the records. All draws follow
    from `seed`.
    """
    generator = np.random.default_rng((seed, 1))
    n_atoms, n_shapes = len(atoms), len(shapes)
    order = generator.permutation(n_shapes)
    try:
        halves = [take_part(shapes, np.sort(half)) for half in (order[: n_shapes // 2], order[n_shapes // 2 :])]
        pairs = [[initial_atoms(half, n_atoms, "random", generator) for half in halves] for _ in range(_N_CHANCE_PAIRS)]
    except (ParameterError, ShapeInputError):
        # A half has fewer shapes than atoms, or none that has a certain landmark.
        pairs = []
    draws = [draw for pair in pairs for draw in pair]
    # Where a half has too few distinct shapes, the last ones are repeats.
    if not draws or any(len(np.unique(draw, axis=0)) < n_atoms for draw in draws):
        nothing, nan = np.full(n_atoms, np.nan), float("nan")
        return DictionaryStability(nothing, nothing, nan, nan, n_shapes)
    learned = []
    for number, half in enumerate(halves):
        learner = Learner(half, options, generator)
        for _ in learner.passes():
            message, known = "stability: half %d of 2, RMSE %.6f", {"iteration": learner, "half": number}
            logger.debug(message, number + 1, learner.rmse, extra=known)
        learned.append(learner.finish().atoms)
    first, second = learned
    distances = (matched_distances(atoms, first) + matched_distances(atoms, second)) / 2
    chance = np.mean([matched_distances(atoms, draw) for draw in draws], axis=0)
    between_halves = float(matched_distances(first, second).mean())
    chance_between_halves = float(np.mean([matched_distances(*pair).mean() for pair in pairs]))
    return DictionaryStability(distances, chance, between_halves, chance_between_halves, n_shapes)
