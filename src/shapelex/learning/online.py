"""Learning from batches: for sets too large to go through at every update, or that arrive bit by bit.

In come batches of whitened rows; out goes the dictionary of the moment. Every batch is coded anew over it, its
statistics join the old ones, and one update follows.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.learning.descent import Callback, Iteration, LearnedDictionary
from shapelex.learning.initialization import initial_atoms
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey
from shapelex.learning.replacement import replace_atoms
from shapelex.learning.sources import RowBlocks
from shapelex.learning.states import (
    LearnerState,
    Moment,
    Saver,
    describe_state,
    describe_statistics,
    restore_generator,
    restore_statistics,
)
from shapelex.learning.statistics import Statistics
from shapelex.learning.surveyors import surveyor
from shapelex.learning.update import update_mod

FORGETTING_POWER = 0.7
"""Before batch ``t`` the old statistics are multiplied by ``1 − t^(−power)``. The memory then reaches back some
``t^power`` batches: it grows, so the dictionary settles, but slower than ``t``, so the codes of the first poor
dictionaries fade."""


class OnlineLearner:
    """A dictionary that follows batches of shapes.

    Parameters
    ----------
    options : LearningOptions
        What to learn and how. Restarts and ties of atoms to shapes do not apply.
    generator : numpy.random.Generator
        The source of chance.
    source : RowBlocks, optional
        For :meth:`run`: the shapes.
    batch_size : int, optional
        For :meth:`run`: shapes of a batch.
    callback : callable, optional
        For :meth:`run`: called with an :class:`Iteration` after every time through the shapes; True ends the run.
    saver : callable, optional
        For :meth:`run`: is offered the state of the learner after every batch, see :mod:`shapelex.learning.states`.

    Raises
    ------
    ValueError
        If the options ask for K-SVD, which needs all shapes at once.

    Examples
    --------
    >>> import numpy as np
    >>> learner = OnlineLearner(LearningOptions(n_atoms=2, n_nonzero=1), np.random.default_rng(0))
    >>> round(learner.learn_batch(RowBlocks.from_rows(np.eye(2, dtype=complex))), 12)
    0.0
    """

    def __init__(
        self,
        options: LearningOptions,
        generator: np.random.Generator,
        source: RowBlocks | None = None,
        batch_size: int = 4096,
        callback: Callback | None = None,
        saver: Saver | None = None,
    ) -> None:
        check_online(options)
        self.options = options
        self.generator = generator
        self.source = source
        self.batch_size = batch_size
        self.callback = callback
        self.saver = saver
        self.atoms: ComplexArray | None = None
        self.n_batches = 0
        self._statistics = Statistics.zeros(options.n_atoms, 0)
        self._usage: FloatArray = np.zeros(options.n_atoms)
        self._loss = self._weight = 0.0
        self._curve: list[float] = []
        self._converged = False
        self._losses: list[float] = []
        # Where a time through the shapes was cut off: its first row, loss and weight so far.
        self._cut: tuple[int, float, float] = (0, 0.0, 0.0)

    @classmethod
    def resume(
        cls,
        options: LearningOptions,
        generator: np.random.Generator,
        atoms: ComplexArray,
        statistics: Statistics,
        n_batches: int,
    ) -> "OnlineLearner":
        """Go on from a dictionary that was learned before.

        Parameters
        ----------
        options, generator
            As in the class.
        atoms : ndarray of complex, shape (n_atoms, n_coordinates)
            The dictionary.
        statistics : Statistics
            What is remembered of the shapes it was learned from.
        n_batches : int
            How many batches they count as: the next one is number ``n_batches + 1``.

        Returns
        -------
        OnlineLearner
            A learner for further batches.
        """
        learner = cls(options, generator)
        learner.atoms = atoms
        learner.n_batches = max(n_batches, 1)
        learner._statistics = statistics
        learner._usage = statistics.usage.copy()
        return learner

    @property
    def best(self) -> LearnedDictionary | None:
        """The dictionary of the moment, with loss and usage of the batches it remembers; None before the first."""
        if self.atoms is None or self._weight == 0:
            return None
        return LearnedDictionary(
            atoms=self.atoms,
            rmse=float(np.sqrt(self._loss / self._weight)),
            usage=self._usage / self._statistics.weight,
            statistics=self._statistics,
            loss_curve=np.array(self._curve),
            n_iter=self.n_batches,
            converged=self._converged,
            restart=0,
        )

    def learn_batch(self, batch: RowBlocks) -> float:
        """Follow one more batch.

        Parameters
        ----------
        batch : RowBlocks
            Its shapes. The first batch gives the first dictionary, so it must have as many as there are atoms.

        Returns
        -------
        float
            Weighted mean squared distance of its shapes to their reconstructions, before the update.
        """
        if self.atoms is None:
            self.atoms = initial_atoms(batch, self.options.n_atoms, self.options.init, self.generator)
            self._statistics = Statistics.zeros(self.options.n_atoms, batch.n_coordinates)
        found = self._survey(batch, self.atoms)
        self.n_batches += 1
        kept = 1 - self.n_batches**-FORGETTING_POWER
        self._statistics = self._statistics.scaled(kept) + found.statistics
        self._usage = kept * self._usage + found.usage
        self._weight = kept * self._weight + found.weight
        self._loss = kept * self._loss + found.loss * found.weight
        self._curve.append(found.loss)
        updated = update_mod(self._statistics, self.atoms)
        replaced, n_replaced = replace_atoms(updated, self._usage, found.worst)
        if n_replaced:
            self._forget_atoms((replaced != updated).any(axis=1))
        self.atoms = replaced
        return found.loss

    def run(self) -> LearnedDictionary:
        """Go through the source in random batches until the loss settles or `max_iter` times.

        Returns
        -------
        LearnedDictionary
            The last dictionary, with the loss and usage of the whole source. Its loss curve has the mean loss of the
            batches of each time through, then that final loss.
        """
        assert self.source is not None
        losses = self._losses
        for epoch in range(len(losses), self.options.max_iter if not self._converged else 0):
            losses.append(self._go_through(self.source))
            if self.callback is not None and self.callback(self._iteration(epoch + 1, losses)):
                break
            if epoch > 0 and abs(losses[-2] - losses[-1]) <= self.options.tol * losses[-2]:
                self._converged = True
            is_last = self._converged or epoch + 1 == self.options.max_iter
            self._save("end" if is_last else "iteration", (0, 0.0, 0.0), self.generator.bit_generator.state)
            if self._converged:
                break
        if self.atoms is None:
            self.atoms = initial_atoms(self.source, self.options.n_atoms, self.options.init, self.generator)
        found = self._survey(self.source, self.atoms)
        return LearnedDictionary(
            atoms=self.atoms,
            rmse=float(np.sqrt(found.loss)),
            usage=found.usage / found.weight,
            statistics=self._statistics,
            loss_curve=np.array([*losses, found.loss]),
            n_iter=len(losses),
            converged=self._converged,
            restart=0,
        )

    def _go_through(self, source: RowBlocks) -> float:
        """Learn from every shape once; return the mean loss of the batches."""
        if self.atoms is None:
            self.atoms = initial_atoms(source, self.options.n_atoms, self.options.init, self.generator)
            self._statistics = Statistics.zeros(self.options.n_atoms, source.n_coordinates)
        before = self.generator.bit_generator.state
        order = self.generator.permutation(source.n_samples)
        (first, loss, weight), self._cut = self._cut, (0, 0.0, 0.0)
        for start in range(first, source.n_samples, self.batch_size):
            chosen = np.sort(order[start : start + self.batch_size])
            weights = None if source.sample_weight is None else source.sample_weight[chosen]
            if weights is not None and not weights.any():
                continue
            batch = RowBlocks.from_rows(source.take(chosen), weights)
            batch_weight = float(len(chosen) if weights is None else weights.sum())
            loss += batch_weight * self.learn_batch(batch)
            weight += batch_weight
            self._save("step", (start + self.batch_size, loss, weight), before)
        return loss / weight

    def resume_run(self, state: LearnerState) -> None:
        """Go on where an earlier run was cut off; comes before :meth:`run`.

        Parameters
        ----------
        state : LearnerState
            What its `saver` was offered, from a run on the same shapes with the same options.
        """
        numbers = state.numbers
        self.atoms, self._usage = state.arrays["atoms"], state.arrays["usage"]
        self._statistics = restore_statistics(state, "memory")
        self.n_batches, self._loss, self._weight = numbers["n_batches"], numbers["loss"], numbers["weight"]
        self._curve, self._losses = list(numbers["curve"]), list(numbers["losses"])
        self._converged = numbers["converged"]
        self._cut = (numbers["cut"][0], numbers["cut"][1], numbers["cut"][2])
        restore_generator(self.generator, numbers["generator"])

    def _save(self, moment: Moment, cut: tuple[int, float, float], generator: Mapping[str, Any]) -> None:
        if self.saver is not None:
            self.saver(moment, len(self._losses), lambda: self._state(cut, generator))

    def _state(self, cut: tuple[int, float, float], generator: Mapping[str, Any]) -> LearnerState:
        numbers, arrays = describe_statistics(self._statistics, "memory")
        numbers |= {
            "n_batches": self.n_batches,
            "loss": self._loss,
            "weight": self._weight,
            "curve": self._curve,
            "losses": self._losses,
            "converged": self._converged,
            "cut": cut,
            "generator": describe_state(generator),
        }
        return LearnerState(numbers, arrays | {"atoms": self.atoms, "usage": self._usage})

    def _survey(self, source: RowBlocks, atoms: ComplexArray) -> Survey:
        options = self.options
        return surveyor(source, options)(atoms, options.n_nonzero, coder=options.coder, distance=options.distance)

    def _forget_atoms(self, is_new: BoolArray) -> None:
        """Clear what is remembered of atoms that gave way: it speaks of their predecessors."""
        kept = ~is_new
        self._statistics = Statistics(
            self._statistics.gram * kept[:, None] * kept,
            self._statistics.products * kept[:, None],
            self._statistics.usage * kept,
            self._statistics.weight,
        )
        self._usage = self._usage * kept

    def _iteration(self, epoch: int, losses: list[float]) -> Iteration:
        assert self.atoms is not None
        return Iteration(
            restart=0,
            n_restarts=1,
            iteration=epoch,
            max_iter=self.options.max_iter,
            loss=losses[-1],
            objective=losses[-1],
            best_rmse=float(np.sqrt(min(losses))),
            best_objective=min(losses),
            n_replaced=0,
            atoms=self.atoms,
        )


def check_online(options: LearningOptions) -> None:
    """Refuse what batches cannot do.

    Parameters
    ----------
    options : LearningOptions
        What is asked for.

    Raises
    ------
    ValueError
        For K-SVD, which needs all shapes at once, and for restarts.
    """
    if options.update != "mod":
        raise ValueError(f'learning from batches needs update="mod", got {options.update!r}.')
    if options.n_restarts != 1:
        raise ValueError(f"learning from batches needs n_restarts=1, got {options.n_restarts}.")
