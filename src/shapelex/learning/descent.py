"""Learning a dictionary: code all shapes, update the dictionary, repeat (paper, algorithm 2DKSD).

In come a source of whitened rows and options; out goes the best dictionary that any descent visited.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex.learning.exploration import Exploration, explore
from shapelex.learning.initialization import initial_atoms
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey
from shapelex.learning.problem import LearningProblem
from shapelex.learning.sources import RowBlocks
from shapelex.learning.states import (
    LearnerState,
    Moment,
    Saver,
    describe_generator,
    describe_state,
    describe_survey,
    generator_state,
    restore_generator,
    restore_survey,
)
from shapelex.learning.statistics import Statistics


@dataclass(frozen=True)
class Iteration:
    """Where a learner stands, for callbacks.

    Parameters
    ----------
    restart, n_restarts : int
        Number of the descent, from 0, and how many there will be.
    iteration, max_iter : int
        Updates made in this descent, and the most there will be.
    loss : float
        Weighted mean squared distance of the shapes to their reconstructions over `atoms`.
    objective : float
        What the descent lowers: the root of `loss`, and the tie of atoms to shapes.
    best_rmse, best_objective : float
        Root mean squared distance and objective of the best dictionary so far, of all descents. The best is
        the one of the least objective.
    n_replaced : int
        Idle atoms that the last update replaced.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary, whitened rows.
    swap : int or None
        While swaps are tried before the first update: how many were; loss and objective are then those of a sample of
        the shapes, and the answer of the callback is not heeded. None after a pass over the shapes.
    """

    restart: int
    n_restarts: int
    iteration: int
    max_iter: int
    loss: float
    objective: float
    best_rmse: float
    best_objective: float
    n_replaced: int
    atoms: ComplexArray
    swap: int | None = None

    @property
    def rmse(self) -> float:
        """Root of the loss."""
        return float(np.sqrt(self.loss))


Callback = Callable[[Iteration], bool | None]


@dataclass(frozen=True)
class LearnedDictionary:
    """The best dictionary that a learner visited.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        Atoms, whitened rows of norm 1.
    rmse : float
        Root of the weighted mean squared distance of the shapes to their reconstructions.
    usage : ndarray of float, shape (n_atoms,)
        Share of the shapes, by weight, that use each atom.
    statistics : Statistics
        Sums over the shapes and their codes: what later batches add to.
    loss_curve : ndarray of float, shape (n_iter + 1,)
        Weighted mean squared distances of the dictionaries of its descent, each with codes of its own; the first
        dictionary comes first.
    n_iter : int
        Updates that its descent made.
    converged : bool
        Whether its descent ended by `tol`.
    restart : int
        Number of its descent.
    """

    atoms: ComplexArray
    rmse: float
    usage: FloatArray
    statistics: Statistics
    loss_curve: FloatArray
    n_iter: int
    converged: bool
    restart: int


class Learner:
    """Descents from one or more first dictionaries, and the best dictionary they visit.

    Parameters
    ----------
    source : RowBlocks
        The shapes.
    options : LearningOptions
        What to learn and how.
    generator : numpy.random.Generator
        The source of chance; nothing else is random.
    callback : callable, optional
        Called with an :class:`Iteration` after every pass over the shapes; returning True ends the run.
    saver : callable, optional
        Is offered the state of the learner after every swap and every iteration, see
        :mod:`shapelex.learning.states`.

    Examples
    --------
    >>> import numpy as np
    >>> source = RowBlocks.from_rows(np.eye(4, dtype=complex))
    >>> learner = Learner(source, LearningOptions(n_atoms=4, n_nonzero=1), np.random.default_rng(0))
    >>> learner.run().rmse
    0.0
    """

    def __init__(
        self,
        source: RowBlocks,
        options: LearningOptions,
        generator: np.random.Generator,
        callback: Callback | None = None,
        saver: Saver | None = None,
    ) -> None:
        self.source = source
        self.options = options
        self.generator = generator
        self.callback = callback
        self.saver = saver
        self._problem = LearningProblem(source, options)
        self._best: Survey | None = None
        self._best_restart = 0
        self._curves: list[list[float]] = []
        self._converged: list[bool] = []
        # Where a descent of an earlier run goes on: its dictionary, and how far its swaps came.
        self._current_atoms: ComplexArray | None = None
        self._reached: Exploration | None = None

    def resume(self, state: LearnerState) -> None:
        """Go on where an earlier run was cut off; comes before :meth:`run`.

        Parameters
        ----------
        state : LearnerState
            What its `saver` was offered, from a run on the same shapes with the same options.
        """
        numbers, arrays = state.numbers, state.arrays
        self._best, self._best_restart = restore_survey(state), numbers["best_restart"]
        self._curves = [list(curve) for curve in numbers["curves"]]
        self._converged = list(numbers["converged"])
        restore_generator(self.generator, numbers["generator"])
        # A descent that only ran out of iterations goes on when there are more of them.
        has_room = not self._converged[-1] and len(self._curves[-1]) <= self.options.max_iter
        self._current_atoms = arrays["atoms"] if has_room else None
        if numbers["n_swaps"] is not None:
            first_state = generator_state(numbers["first_generator"])
            self._reached = Exploration(numbers["n_swaps"], arrays["swapped_atoms"], first_state)

    @property
    def best(self) -> LearnedDictionary | None:
        """The best dictionary so far, at any moment: during a callback, or after an interrupted run."""
        if self._best is None:
            return None
        curve = self._curves[self._best_restart]
        return LearnedDictionary(
            atoms=self._best.atoms,
            rmse=float(np.sqrt(self._best.loss)),
            usage=self._best.usage / self._best.weight,
            statistics=self._best.statistics,
            loss_curve=np.array(curve),
            n_iter=len(curve) - 1,
            converged=self._converged[self._best_restart],
            restart=self._best_restart,
        )

    def run(self) -> LearnedDictionary:
        """Make all descents.

        Returns
        -------
        LearnedDictionary
            The best dictionary, by the objective: the loss, and the tie of atoms to shapes.

        Raises
        ------
        ShapeInputError
            If there are fewer shapes than atoms, or a given first dictionary does not fit.
        KeyboardInterrupt
            As it comes; :attr:`best` then holds what was reached.
        """
        # From given atoms and without swaps, every descent would be the same.
        is_fixed = not isinstance(self.options.init, str) and self.options.swap_count == 0
        first = len(self._curves) - (self._current_atoms is not None)
        for restart in range(first, 1 if is_fixed else self.options.n_restarts):
            if self._descend(restart):
                break
        assert self.best is not None
        return self.best

    def _descend(self, restart: int) -> bool:
        """Return whether the callback asked to stop."""
        if self._current_atoms is not None:
            current = self._problem.survey(self._current_atoms)
            self._current_atoms = None
        else:
            self._curves.append([])
            self._converged.append(False)
            atoms = initial_atoms(self.source, self.options.n_atoms, self.options.init, self.generator)
            current = self._problem.survey(atoms)
            if self._record(restart, current, 0):
                return True
            self._save("iteration", current)
        for iteration in range(len(self._curves[restart]) - 1, self.options.max_iter):
            explores = iteration == 0 and self.options.swap_count > 0
            following, n_replaced = self._explore(current) if explores else self._problem.improve(current)
            if following is not None and self._record(restart, following, n_replaced):
                return True
            if following is None or (n_replaced == 0 and not explores and self._has_settled(current, following)):
                self._converged[restart] = True
                self._save("end", current if following is None else following)
                return False
            current = following
            self._save("iteration" if iteration + 1 < self.options.max_iter else "end", current)
        return False

    def _explore(self, current: Survey) -> tuple[Survey, int]:
        best = current
        reached, self._reached = self._reached, None
        first_state = self.generator.bit_generator.state if reached is None else reached.first_state
        n_before = 0 if reached is None else reached.n_swaps + 1
        if reached is not None:
            best = replace(current, atoms=reached.atoms)
        swaps = explore(self.source, self.options, current.atoms, self.generator, reached)
        try:
            for swap, best in enumerate(swaps, n_before):
                if self.callback is not None:
                    self.callback(self._iteration(len(self._curves) - 1, best, 0, swap))
                self._save("step", current, Exploration(swap, best.atoms, first_state))
        except KeyboardInterrupt:
            surveyed = self._problem.survey(best.atoms)
            if self._best is None or self._problem.objective(surveyed) < self._problem.objective(self._best):
                self._best, self._best_restart = surveyed, len(self._curves) - 1
            raise
        return self._problem.survey(best.atoms), 0

    def _save(self, moment: Moment, current: Survey, reached: Exploration | None = None) -> None:
        if self.saver is not None:
            n_updates = sum(len(curve) - 1 for curve in self._curves)
            self.saver(moment, n_updates, lambda: self._state(current, reached))

    def _state(self, current: Survey, reached: Exploration | None) -> LearnerState:
        assert self._best is not None
        numbers, arrays = describe_survey(self._best)
        numbers |= {
            "best_restart": self._best_restart,
            "curves": self._curves,
            "converged": self._converged,
            "generator": describe_generator(self.generator),
            "n_swaps": None if reached is None else reached.n_swaps,
        }
        arrays["atoms"] = current.atoms
        if reached is not None:
            numbers["first_generator"] = describe_state(reached.first_state)
            arrays["swapped_atoms"] = reached.atoms
        return LearnerState(numbers, arrays)

    def _has_settled(self, before: Survey, after: Survey) -> bool:
        objective = self._problem.objective(before)
        rounding = 64 * float(np.finfo(before.atoms.dtype).eps)
        return abs(objective - self._problem.objective(after)) <= self.options.tol * objective + rounding

    def _record(self, restart: int, found: Survey, n_replaced: int) -> bool:
        """Keep the dictionary if it is the best so far; return whether the callback asks to stop."""
        self._curves[restart].append(found.loss)
        if self._best is None or self._problem.objective(found) < self._problem.objective(self._best):
            self._best, self._best_restart = found, restart
        if self.callback is None:
            return False
        return bool(self.callback(self._iteration(restart, found, n_replaced, None)))

    def _iteration(self, restart: int, found: Survey, n_replaced: int, swap: int | None) -> Iteration:
        assert self._best is not None
        return Iteration(
            restart=restart,
            n_restarts=self.options.n_restarts,
            iteration=len(self._curves[restart]) - 1,
            max_iter=self.options.max_iter,
            loss=found.loss,
            objective=self._problem.objective(found),
            best_rmse=float(np.sqrt(self._best.loss)),
            best_objective=self._problem.objective(self._best),
            n_replaced=n_replaced,
            atoms=found.atoms,
            swap=swap,
        )


def learn(
    source: RowBlocks | ComplexArray,
    n_atoms: int,
    n_nonzero: int,
    *,
    generator: np.random.Generator | int | None = None,
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> LearnedDictionary:
    """Learn a dictionary of whitened rows of norm 1; further `options` are those of :class:`LearningOptions`."""
    if not isinstance(source, RowBlocks):
        source = RowBlocks.from_rows(source, sample_weight)
    elif sample_weight is not None:
        raise ValueError("sample_weight belongs to the source: give it to RowBlocks.")
    learning = LearningOptions(n_atoms, n_nonzero, **options)
    return Learner(source, learning, np.random.default_rng(generator), callback).run()
