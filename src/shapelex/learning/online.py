"""Learning from batches: for sets too large to read at every update, or that arrive piece by piece.

In come batches of shapes; out goes the current dictionary. Every batch is coded over it, its statistics are
added to the old ones, and one update follows.
"""

from dataclasses import replace

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.learning.initialization import initial_atoms
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import survey
from shapelex.learning.sampling import shuffled_batches
from shapelex.learning.states import (
    Callback,
    Iteration,
    LearnedDictionary,
    LearnerState,
    Saver,
    check_numbers,
    check_state,
    describe_generator,
    describe_statistics,
    restore_generator,
    restore_statistics,
)
from shapelex.learning.statistics import Statistics
from shapelex.learning.update import replace_atoms, update_mod
from shapelex.shapes.collection import Shapes

FORGETTING_POWER = 0.7
"""Before batch ``t`` the old statistics are multiplied by ``1 − t^(−power)``. The memory then reaches back some
``t^power`` batches: it grows, so the dictionary settles, but slower than ``t``, so the codes of the first poor
dictionaries fade."""


class OnlineLearner:
    """A dictionary that follows batches of shapes.

    Parameters
    ----------
    options : LearningOptions
        What to learn and how. Restarts, swaps and the penalty do not apply.
    generator : numpy.random.Generator
        The only source of randomness.
    shapes : Shapes, optional
        For :meth:`run`: the shapes.
    batch_size : int, optional
        For :meth:`run`: number of shapes of a batch.
    callback : callable, optional
        For :meth:`run`: called with an :class:`Iteration` after every pass over the shapes; True ends the run.
    saver : callable, optional
        For :meth:`run`: called with the state after every pass.

    Raises
    ------
    ValueError
        If the options ask for restarts.
    """

    def __init__(
        self,
        options: LearningOptions,
        generator: np.random.Generator,
        shapes: Shapes | None = None,
        batch_size: int = 4096,
        callback: Callback | None = None,
        saver: Saver | None = None,
    ) -> None:
        self.set_options(options)
        self.generator = generator
        self.shapes = shapes
        self.batch_size = batch_size
        self.callback = callback
        self.saver = saver
        self.atoms: ComplexArray | None = None
        self.n_batches = 0
        # Of the highest sparsity, and of all sparsities as an update needs them.
        self._statistics = self._combined = Statistics.zeros(options.n_atoms, 0)
        # Of the batches that are remembered: sum of weights times squared distances, and of weights.
        self._loss = self._weight = 0.0
        self._curve: list[float] = []
        self._epoch_losses: list[float] = []
        self._converged = False

    @classmethod
    def resume(
        cls,
        options: LearningOptions,
        generator: np.random.Generator,
        atoms: ComplexArray,
        statistics: Statistics,
        n_batches: int,
        rmse: float,
        combined: Statistics | None = None,
    ) -> "OnlineLearner":
        """Return a learner that continues from a dictionary; its statistics count as those of `n_batches` batches.

        Without `combined`, what was learned before counts at the highest sparsity alone.
        """
        learner = cls(options, generator)
        learner.atoms = atoms
        learner.n_batches = max(n_batches, 1)
        learner._statistics, learner._combined = statistics, combined or statistics
        learner._weight, learner._loss = statistics.weight, rmse**2 * statistics.weight
        return learner

    def set_options(self, options: LearningOptions) -> None:
        """Learn with other options from now on."""
        if options.n_restarts != 1:
            raise ParameterError(f"learning from batches needs {parameter('n_restarts', 1)}, got {options.n_restarts}.")
        self.options = replace(options, tie=0.0)

    @property
    def best(self) -> LearnedDictionary | None:
        """The current dictionary, with loss and usage of the batches that are remembered; None before the first."""
        if self.atoms is None or self._weight == 0:
            return None
        return LearnedDictionary(
            atoms=self.atoms,
            rmse=float(np.sqrt(self._loss / self._weight)),
            usage=self._statistics.usage / self._statistics.weight,
            statistics=self._statistics,
            loss_curve=np.array(self._curve),
            n_iter=self.n_batches,
            converged=self._converged,
            restart=0,
            combined=self._combined,
        )

    def learn_batch(self, batch: Shapes) -> float:
        """Update the dictionary by one batch, and return the loss of the batch before the update.

        The first batch gives the first dictionary, so it needs at least as many shapes as there are atoms.
        """
        if self.atoms is None:
            self._start(batch)
        assert self.atoms is not None
        self.atoms = self.atoms.astype(np.result_type(self.atoms.dtype, batch.dtype), copy=False)
        is_brought_here = self.shapes is not None and self.shapes.is_remote
        options = self.options.for_local_shapes() if is_brought_here else self.options
        found = survey(batch, self.atoms, options)
        self.n_batches += 1
        kept = 1 - self.n_batches**-FORGETTING_POWER
        self._statistics = self._statistics.scaled(kept) + found.statistics
        self._combined = self._combined.scaled(kept) + found.combined
        self._weight = kept * self._weight + found.statistics.weight
        self._loss = kept * self._loss + found.loss * found.statistics.weight
        self._curve.append(found.loss)
        updated = update_mod(self._combined, self.atoms)
        self.atoms, n_replaced = replace_atoms(updated, self._statistics.usage, found.worst, batch.space)
        if n_replaced:
            # What is remembered of atoms that were replaced is about their predecessors.
            is_replaced = (self.atoms != updated).any(axis=1)
            self._statistics = self._statistics.without_atoms(is_replaced)
            self._combined = self._combined.without_atoms(is_replaced)
        return found.loss

    def run(self) -> LearnedDictionary:
        """Read the shapes in random batches, at most `max_iter` times, and return the last dictionary.

        Loss and usage are those of all shapes. The loss curve has the mean loss of the batches of each pass, then
        that final loss.
        """
        assert self.shapes is not None
        if self.atoms is None:
            self._start(self.shapes)
        losses = self._epoch_losses
        is_stopped = False
        while len(losses) < self.options.max_iter and not self._converged and not is_stopped:
            losses.append(self._learn_epoch(self.shapes))
            if len(losses) > 1:
                self._converged = abs(losses[-2] - losses[-1]) <= self.options.tol * losses[-2]
            if self.saver is not None:
                self.saver(self._describe())
            is_stopped = self.callback is not None and bool(self.callback(self._iteration()))
        assert self.atoms is not None
        found = survey(self.shapes, self.atoms, self.options)
        return LearnedDictionary(
            atoms=self.atoms,
            rmse=float(np.sqrt(found.loss)),
            usage=found.statistics.usage / found.statistics.weight,
            statistics=self._statistics if losses else found.statistics,
            loss_curve=np.array([*losses, found.loss]),
            n_iter=len(losses),
            converged=self._converged,
            restart=0,
            combined=self._combined if losses else None,
        )

    def resume_run(self, state: LearnerState) -> None:
        """Continue an earlier run on the same shapes with the same options; call it before :meth:`run`."""
        numbers = state.numbers
        assert self.shapes is not None
        check_state(state, ("atoms",), self.options.n_atoms, self.shapes.space.n_coordinates)
        self.atoms = state.arrays["atoms"]
        self._statistics = restore_statistics(state)
        self._combined = replace(
            self._statistics, gram=state.arrays["combined_gram"], products=state.arrays["combined_products"]
        )
        if type(numbers["n_batches"]) is not int or numbers["n_batches"] < 1 or type(numbers["converged"]) is not bool:
            raise ValueError("it must say how many batches were learned, and whether the fit has converged")
        self.n_batches, self._converged = numbers["n_batches"], numbers["converged"]
        self._loss, self._weight = check_numbers([numbers["loss"], numbers["loss_weight"]])
        self._curve, self._epoch_losses = check_numbers(numbers["curve"]), check_numbers(numbers["losses"])
        restore_generator(self.generator, numbers["generator"])

    def _start(self, shapes: Shapes) -> None:
        self.atoms = initial_atoms(shapes, self.options.n_atoms, self.options.init, self.generator)
        self._statistics = self._combined = Statistics.zeros(*self.atoms.shape)

    def _learn_epoch(self, shapes: Shapes) -> float:
        """Learn from every shape once; return the mean loss of the batches."""
        loss = weight = 0.0
        for batch in shuffled_batches(shapes, self.batch_size, self.generator):
            batch_weight = float(batch.weights_of(slice(None)).sum())
            try:
                loss += batch_weight * self.learn_batch(batch)
            except ShapeInputError:
                # A batch does not know the numbers of its shapes.
                shapes.check_all()
                raise
            weight += batch_weight
        return loss / weight

    def _describe(self) -> LearnerState:
        numbers, arrays = describe_statistics(self._statistics)
        numbers |= {
            "n_batches": self.n_batches,
            "loss": self._loss,
            "loss_weight": self._weight,
            "curve": list(self._curve),
            "losses": list(self._epoch_losses),
            "converged": self._converged,
            "generator": describe_generator(self.generator),
        }
        assert self.atoms is not None
        arrays |= {"combined_gram": self._combined.gram, "combined_products": self._combined.products}
        return LearnerState(numbers, arrays | {"atoms": self.atoms})

    def _iteration(self) -> Iteration:
        assert self.atoms is not None
        losses = self._epoch_losses
        return Iteration(
            restart=0,
            n_restarts=1,
            iteration=len(losses),
            max_iter=self.options.max_iter,
            loss=losses[-1],
            objective=losses[-1],
            best_rmse=float(np.sqrt(min(losses))),
            best_objective=min(losses),
            n_replaced=0,
            atoms=self.atoms,
        )
