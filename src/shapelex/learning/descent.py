"""Learning a dictionary: algorithm 1 of the paper (section 5.1, "Dictionary update with MOD").

In come shapes and options; out goes the best dictionary that any descent visited. One iteration
codes all shapes and accumulates statistics (``survey``), updates the atoms and replaces idle ones (``improve``); the
best dictionary is kept. Callbacks and checkpoints are called after an iteration and never inside one.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex.learning.initialization import initial_atoms
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey
from shapelex.learning.population import Exploration, explore
from shapelex.learning.problem import LearningProblem
from shapelex.learning.states import Callback, Iteration, LearnedDictionary, LearnerState, Record, Saver, check_state
from shapelex.learning.trials import rounding_of
from shapelex.shapes.collection import Shapes
from shapelex.shapes.opening import as_shapes
from shapelex.spaces.plain import PlainRows


class Learner:
    """Descents from one or more first dictionaries, and the best dictionary they visit.

    Parameters
    ----------
    shapes : Shapes
        What to learn from.
    options : LearningOptions
        What to learn and how.
    generator : numpy.random.Generator
        The only source of randomness.
    callback : callable, optional
        Called with an :class:`Iteration` after every pass over the shapes; returning True ends the run.
    saver : callable, optional
        Called with the state after every pass, see :mod:`shapelex.learning.states`.
    """

    def __init__(
        self,
        shapes: Shapes,
        options: LearningOptions,
        generator: np.random.Generator,
        callback: Callback | None = None,
        saver: Saver | None = None,
    ) -> None:
        self.shapes = shapes
        self.options = options
        self.generator = generator
        self.callback = callback
        self.saver = saver
        self._problem = LearningProblem(shapes, options)
        self._record = Record()
        self._is_stopped = False

    def resume(self, state: LearnerState) -> None:
        """Continue an earlier run on the same shapes with the same options; call it before :meth:`run`."""
        check_state(state, ("atoms", "best_atoms"), self.options.n_atoms, self.shapes.space.n_coordinates)
        self._record = Record.restore(state, self.generator)

    @property
    def best(self) -> LearnedDictionary | None:
        """The best dictionary so far, at any moment: during a callback, or after an interrupted run."""
        record = self._record
        if record.best is None:
            return None
        curve = record.curves[record.best_restart]
        return LearnedDictionary(
            atoms=record.best.atoms,
            rmse=float(np.sqrt(record.best.loss)),
            usage=record.best.statistics.usage / record.best.statistics.weight,
            statistics=record.best.statistics,
            combined=record.best.combined,
            loss_curve=np.array(curve),
            n_iter=len(curve) - 1,
            converged=record.converged[record.best_restart],
            restart=record.best_restart,
        )

    def run(self) -> LearnedDictionary:
        """Make all descents and return the best dictionary; after an interruption it is in :attr:`best`."""
        record = self._record
        if record.curves and not self._is_done():
            assert record.atoms is not None
            self._descend(record.atoms)
        # From given atoms and without swaps, every descent would be the same.
        is_fixed = not isinstance(self.options.init, str) and self.options.n_trials == 0
        while len(record.curves) < (1 if is_fixed else self.options.n_restarts) and not self._is_stopped:
            record.curves.append([])
            record.converged.append(False)
            self._descend(initial_atoms(self.shapes, self.options.n_atoms, self.options.init, self.generator))
        assert self.best is not None
        return self.best

    def _descend(self, atoms: ComplexArray) -> None:
        """Lower the objective, from new atoms or from those of a resumed descent."""
        curve = self._record.curves[-1]
        current = self._problem.survey(atoms)  # code, accumulate
        if not curve:
            self._finish_iteration(current)
        while not self._is_done():
            if len(curve) == 1 and self.options.n_trials != 0:
                following, n_replaced = self._problem.survey(self._explore(current)), 0
            else:
                following, n_replaced = self._problem.improve(current)  # update, replace, code, accumulate
                self._record.converged[-1] = n_replaced == 0 and self._has_settled(current, following)
            current = following
            self._finish_iteration(current, n_replaced)

    def _is_done(self) -> bool:
        """Return whether the last descent has ended."""
        record = self._record
        return self._is_stopped or record.converged[-1] or len(record.curves[-1]) > self.options.max_iter

    def _has_settled(self, before: Survey, after: Survey) -> bool:
        if max(before.losses.max(), after.losses.max()) <= rounding_of(before.atoms.dtype):
            return True
        objective = self._problem.objective(before)
        rounding = 64 * float(np.finfo(before.atoms.dtype).eps)
        return abs(objective - self._problem.objective(after)) <= self.options.settled_change * objective + rounding

    def _explore(self, current: Survey) -> ComplexArray:
        atoms = current.atoms
        try:
            for found in explore(self.shapes, self.options, atoms, self.generator):
                atoms = found.best.atoms.astype(current.atoms.dtype)
                if self.callback is not None:
                    tried = replace(current, atoms=atoms, losses=found.best.losses, switch_loss=0.0)
                    self.callback(self._describe(tried, exploration=found))
        except KeyboardInterrupt:
            self._keep_best(self._problem.survey(atoms))
            raise
        return atoms

    def _keep_best(self, found: Survey) -> None:
        record = self._record
        if record.best is None or self._problem.objective(found) < self._problem.objective(record.best):
            record.best, record.best_restart = found, len(record.curves) - 1

    def _finish_iteration(self, found: Survey, n_replaced: int = 0) -> None:
        """Record a dictionary, keep it if it is the best so far, and call the hooks."""
        self._record.curves[-1].append(found.loss)
        self._record.atoms = found.atoms
        self._keep_best(found)
        if self.saver is not None:
            self.saver(self._record.describe(self.generator))
        if self.callback is not None:
            self._is_stopped = bool(self.callback(self._describe(found, n_replaced)))

    def _describe(self, found: Survey, n_replaced: int = 0, exploration: Exploration | None = None) -> Iteration:
        record = self._record
        assert record.best is not None
        return Iteration(
            restart=len(record.curves) - 1,
            n_restarts=self.options.n_restarts,
            iteration=len(record.curves[-1]) - 1,
            max_iter=self.options.max_iter,
            loss=found.loss,
            objective=self._problem.objective(found) if exploration is None else exploration.best.objective,
            best_rmse=float(np.sqrt(record.best.loss)),
            best_objective=self._problem.objective(record.best),
            n_replaced=n_replaced,
            atoms=found.atoms,
            n_trials=None if exploration is None else exploration.n_trials,
            explored=None if exploration is None else exploration.share,
        )


def learn(
    rows: ComplexArray,
    n_atoms: int,
    n_nonzero: int,
    *,
    generator: np.random.Generator | int | None = None,
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> LearnedDictionary:
    """Learn a dictionary of whitened rows; further `options` are those of :class:`LearningOptions`."""
    shapes = as_shapes(rows, PlainRows(rows.shape[1]), sample_weight, "rows")
    learning = LearningOptions(n_atoms, n_nonzero, **options)
    return Learner(shapes, learning, np.random.default_rng(generator), callback).run()
