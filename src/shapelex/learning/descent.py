"""Learning a dictionary: passes over the shapes and updates of the atoms take turns.

This is algorithm 1 of the paper (section 5.1, "Dictionary update with MOD"). A fit is a sequence of *stages*, each a
descent from some atoms, over a sample or over all shapes; mini-batches are a stage whose updates remember the batches
before. All that a fit needs to go on is its :class:`LearningState`; a checkpoint stores it, callbacks get it, and the
attributes of an estimator come from it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.learning.one_pass import PassSums, one_pass
from shapelex.learning.options import LearningOptions
from shapelex.learning.sampling import draw_rows, shuffled_batches, take_part
from shapelex.learning.start import check_enough, draw_index, initial_atoms, tails, tree
from shapelex.learning.update import mutual_coherences, normalized, replace_atoms, solve_mod
from shapelex.shapes.storage import ArrayShapes, Shapes

SAMPLE_ROWS = 2000
"""Number of shapes of the sample, or 20 for each atom if that is more."""

STEP = 1.9
"""Updates of the sample go so many times as far as to the least-squares dictionary: for given codes, every factor below
2 lowers the error."""

HOLD = 1.0
"""Each atom of the start counts as so many shapes of mean weight where atoms are held near it, as long as the loss is
at least half of that of the start; with smaller losses as fewer, so that shapes that some dictionary approximates
perfectly get it. Three, with the tails preferred to the tree unless that is 3 % better, gives atoms that come back more
often, and held-out errors that are 0.8 % larger (21 sets of 15 to 150 shapes)."""

LOOSE = 0.01
"""A swap is kept where the error is at most so much larger."""

FORGETTING_POWER = 0.7
"""Before batch ``t`` the old sums are multiplied by ``1 − t^(−power)``. The memory then reaches back some ``t^power``
batches: it grows, so the dictionary settles, but slower than ``t``, so the codes of the first poor dictionaries fade.
"""

_FIRST_PASSES, _SAMPLE_PASSES, _SWAP_PASSES, _FULL_PASSES = 15, 45, 8, 3
_SWAP_TOL = 1e-3
# Losses of a sample, or of batches, say nothing about those of all shapes.
_LAST_KINDS = ("all", "batches")
# The shortest step towards an update that would raise the objective, before none is taken.
_LEAST_STEP = 0.0625
# Root mean squared distances that are rounding errors.
_PERFECT_RMSE = 1.5e-8


@dataclass(frozen=True)
class Stage:
    """A part of a fit: a descent of at most `n_passes` passes from atoms that `kind` says.

    ``"tails"``, ``"tree"`` and ``"first"`` (drawn or given) are starts, ``"settle"`` goes on from the present
    dictionary, ``"swap"`` from the present one with another atom, ``"best"`` from the best one, ``"all"`` from the best
    one over all shapes, and ``"batches"`` reads all shapes in mini-batches.
    """

    kind: str
    n_passes: int
    tol: float
    on_sample: bool = True
    step: float = STEP


@dataclass
class LearningState:
    """Where a fit stands.

    Parameters
    ----------
    plan : list of Stage
        The stages of the fit.
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

    plan: list[Stage]
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

    @property
    def result(self) -> PassSums | None:
        """The best dictionary so far, at any moment: during a callback, or after an interruption."""
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
        return (self.stage + self.n_passes / max(self.plan[self.stage].n_passes, 1)) / len(self.plan)


Callback = Callable[[LearningState], bool | None]
"""Called after every pass over the shapes; returning True ends the run."""


class Learner:
    """Learns a dictionary.

    Parameters
    ----------
    shapes : Shapes
        What to learn from.
    options : LearningOptions
        What to learn and how.
    generator : numpy.random.Generator
        The only source of randomness.
    callback : callable, optional
        Called after every pass.
    """

    def __init__(
        self,
        shapes: Shapes,
        options: LearningOptions,
        generator: np.random.Generator,
        callback: Callback | None = None,
    ) -> None:
        self.shapes, self.options, self.generator, self.callback = shapes, options, generator, callback
        self.sample: Shapes = shapes
        self.sample_options = options.for_local_shapes() if shapes.is_remote else options
        self.n_sample = max(SAMPLE_ROWS, 20 * options.n_atoms)
        self.state = LearningState(make_plan(options, len(shapes) > self.n_sample))
        self._mean_weight = 1.0 if shapes.weights is None else float(shapes.weights[shapes.weights > 0].mean())

    def run(self) -> PassSums:
        """Make the stages that are left, and return the best dictionary."""
        state, options = self.state, self.options
        self._prepare()
        is_stopped = False
        for stage in state.plan[state.stage :]:
            # A resumed stage has its atoms.
            if state.atoms is None:
                self._begin(stage)
            while state.n_passes < stage.n_passes and not state.converged and not is_stopped:
                batches: Iterable[Shapes] = [self.sample if stage.on_sample else self.shapes]
                if stage.kind == "batches":
                    assert options.batch_size is not None
                    batches = shuffled_batches(self.shapes, options.batch_size, self.generator)
                loss = weight = 0.0
                for batch in batches:
                    found = self._learn(batch, stage)
                    loss += found.loss
                    weight += found.weight
                self._judge(stage, loss / weight)
                is_stopped = self.callback is not None and bool(self.callback(state))
            self._end(stage)
            if is_stopped:
                break
        best = state.result
        if best is not None and options.batch_size is None and not options.is_fast:
            return best
        # What is known is about other codes, or about batches.
        atoms = self._first_atoms() if best is None else best.atoms
        found = one_pass(self.shapes, options.coding(atoms, fast=False), options.distance)
        curve = [] if best is None else best.curve
        return replace(found, curve=curve if options.batch_size is None else [*curve, found.mean_loss])

    def learn_batch(self) -> PassSums:
        """Update the dictionary of the state by the shapes as one batch; without one they give the first dictionary."""
        state = self.state
        *starts, stage = state.plan
        if state.atoms is None:
            self._prepare()
            for start in starts:
                self._begin(start)
                self._learn(self.sample, start)
                self._end(start)
            self._begin(stage)
        state.stage = len(starts)
        state.curve.append(self._learn(self.shapes, stage).mean_loss)
        assert state.result is not None
        return state.result

    def _prepare(self) -> None:
        """Check the shapes, and draw the sample."""
        state, shapes = self.state, self.shapes
        if isinstance(shapes, ArrayShapes):
            shapes.keep_scales()
        if state.stage == 0 and state.atoms is None:
            check_enough(shapes, self.options.n_atoms)
            state.seed = int(self.generator.integers(2**31))
        if state.plan[0].on_sample:
            chosen = draw_rows(shapes, self.n_sample, np.random.default_rng(state.seed))
            if not isinstance(shapes, ArrayShapes) or len(chosen) < len(shapes):
                self.sample = take_part(shapes, chosen)
                self.sample.keep_scales()

    def _begin(self, stage: Stage) -> None:
        """Find the atoms of the first pass of a stage."""
        state, options, sample = self.state, self.options, self.sample
        state.n_passes, state.step, state.converged = 0, 1.0, False
        state.curve, state.start, state.found = [], None, None
        if stage.kind in ("tails", "tree"):
            rows = sample.space.unit_rows(sample.take(np.arange(len(sample))))
            weights = sample.weights_of(slice(None))
            if stage.kind == "tails":
                made = tails(rows, weights, options.n_atoms, self.generator)
            else:
                made = tree(rows, weights, options.n_atoms)
            state.atoms = made.astype(rows.dtype)
            if options.tie is None and options.swaps == 0:
                state.start = state.atoms
            return
        before = state.best if stage.kind in ("all", "best") else state.current
        if before is None or stage.kind == "first":
            state.atoms = self._first_atoms()
            return
        state.atoms = self._swapped(before) if stage.kind == "swap" else before.atoms
        if stage.kind != "batches":
            state.curve, state.start = [*before.curve], before.start

    def _learn(self, batch: Shapes, stage: Stage) -> PassSums:
        """Code some shapes, and update the atoms for the next pass."""
        state = self.state
        options = self.options if batch is self.shapes else self.sample_options
        assert state.atoms is not None
        atoms = state.atoms.astype(np.result_type(state.atoms.dtype, batch.dtype), copy=False)
        keeps_values = options.swaps > 0 and stage.on_sample
        found = one_pass(batch, options.coding(atoms), options.distance, keeps_values=keeps_values)
        candidates, found.worst_rows = found.worst_rows, found.worst_rows[:0]
        found.worst_values, found.start = found.worst_values[:0], state.start
        if stage.kind == "batches":
            state.n_batches += 1
            kept = 1 - state.n_batches**-FORGETTING_POWER
            memory = found if state.memory is None else state.memory.plus(found, kept)
            state.memory = replace(memory)
            state.atoms = self._updated(memory, candidates, 1.0)
            state.found = replace(state.memory, atoms=state.atoms)
            return found
        base = found
        if state.found is None or found.loss < state.found.loss:
            state.found = found
        elif options.distance != "full":
            # The reweighted update solves a linear model of the other distances, which may promise too much.
            base, state.step = state.found, state.step / 2
        state.atoms = self._updated(base, candidates, state.step * (1.0 if state.n_passes == 0 else stage.step))
        return found

    def _updated(self, sums: PassSums, candidates: ComplexArray, step: float) -> ComplexArray:
        """Return the dictionary that follows from the sums of a pass; `candidates` take the places of idle atoms."""
        state, atoms, start = self.state, sums.atoms, self.state.start
        gram, products, loss = sums.gram, sums.products, sums.mean_loss
        if start is not None:
            # Each atom of the start, rotated onto its atom, is one more shape, coded by it alone.
            share = min(1.0, 2 * loss / max(*state.curve[:1], loss, np.finfo(float).tiny))
            turns = np.vecdot(start, atoms)
            turns = turns / np.maximum(np.abs(turns), np.finfo(float).tiny)
            weight = HOLD * share * self._mean_weight
            gram, products = gram + weight * np.eye(len(gram)), products + weight * turns[:, None] * start
        updated = normalized(solve_mod(gram, products), atoms)
        if step != 1:
            updated = normalized(atoms + step * (updated - atoms), updated)
        updated, is_replaced = replace_atoms(updated, sums.usage, candidates, loss, self.options.n_nonzero)
        state.n_replaced = int(is_replaced.sum())
        if state.n_replaced and start is not None:
            state.start = np.where(is_replaced[:, None], updated, start)
        if state.n_replaced and state.memory is not None:
            # What is remembered of atoms that were replaced is about their predecessors.
            memory, kept = state.memory, ~is_replaced
            memory.gram = memory.gram * kept[:, None] * kept
            memory.products, memory.usage = memory.products * kept[:, None], memory.usage * kept
        return updated

    def _judge(self, stage: Stage, loss: float) -> None:
        """Note the mean loss of a pass, and whether the stage has settled."""
        state = self.state
        assert state.atoms is not None
        rounding = 64 * float(np.finfo(state.atoms.dtype).eps)
        state.n_passes += 1
        state.curve.append(loss)
        if state.n_passes == 1:
            return
        before, rmse = float(np.sqrt(state.curve[-2])), state.rmse
        is_settled = abs(before - rmse) <= stage.tol * before + rounding
        is_perfect = max(before, rmse) <= max(rounding, _PERFECT_RMSE)
        state.converged = is_perfect or (is_settled and state.n_replaced == 0) or state.step < _LEAST_STEP

    def _end(self, stage: Stage) -> None:
        """Keep what a stage found where it is good enough; later stages go on from it."""
        state, found = self.state, self.state.found
        if found is not None:
            found.curve = state.curve
            limit = {"tree": 1.0, "swap": 1 + LOOSE}.get(stage.kind, np.inf)
            if state.current is None or found.rmse < limit * state.current.rmse:
                state.current = found
            is_better = state.best is None or found.loss < state.best.loss
            if stage.kind in _LAST_KINDS or (is_better and stage.kind not in ("tails", "tree")):
                state.best = found
        state.stage += 1
        state.atoms = state.found = None

    def _first_atoms(self) -> ComplexArray:
        return initial_atoms(self.shapes, self.options.n_atoms, self.options.init, self.generator)

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


def make_plan(options: LearningOptions, has_more: bool) -> list[Stage]:
    """Return the stages of a fit; `has_more` says whether there are more shapes than the sample has."""
    most, tol, swaps = options.max_iter + 1, options.tol, options.swaps
    is_auto = isinstance(options.init, str) and options.init == "auto"
    if options.batch_size is not None:
        starts = [Stage("tails", 1, tol), Stage("tree", 1, tol)] if is_auto else []
        return [*starts, Stage("batches", options.max_iter, tol, on_sample=False)]
    if not is_auto and swaps == 0:
        # From given atoms every descent would be the same.
        n_descents = options.n_restarts if isinstance(options.init, str) else 1
        return [Stage("first", most, tol, on_sample=False, step=1.0)] * n_descents
    starts = [Stage("first", min(_SAMPLE_PASSES, most), tol)]
    settle = Stage("settle", min(_SAMPLE_PASSES, most), tol)
    if is_auto:
        first = Stage("tails", min(_FIRST_PASSES, most), tol)
        starts = [first, replace(first, kind="tree"), *[settle] * (most > 1)]
    search = [*starts, *[Stage("swap", min(_SWAP_PASSES, most), _SWAP_TOL)] * swaps]
    plan = [*search * options.n_restarts, replace(settle, kind="best")] if swaps else search
    return [*plan, Stage("all", min(_FULL_PASSES, most), tol, on_sample=False, step=1.0)] if has_more else plan
