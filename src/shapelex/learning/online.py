"""Learning from batches: for sets too large to go through at every update, or that arrive bit by bit.

In come batches of whitened rows; out goes the dictionary of the moment. Every batch is coded anew over it, its
statistics join the old ones, and one update follows.
"""

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.learning.descent import Callback, Iteration, LearnedDictionary
from shapelex.learning.initialization import initial_atoms
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey
from shapelex.learning.replacement import replace_atoms
from shapelex.learning.sources import RowBlocks
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
    ) -> None:
        check_online(options)
        self.options = options
        self.generator = generator
        self.source = source
        self.batch_size = batch_size
        self.callback = callback
        self.atoms: ComplexArray | None = None
        self.n_batches = 0
        self._statistics = Statistics.zeros(options.n_atoms, 0)
        self._usage: FloatArray = np.zeros(options.n_atoms)
        self._loss = self._weight = 0.0
        self._curve: list[float] = []
        self._converged = False

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
        losses: list[float] = []
        for epoch in range(self.options.max_iter):
            losses.append(self._go_through(self.source))
            if self.callback is not None and self.callback(self._iteration(epoch + 1, losses)):
                break
            if epoch > 0 and abs(losses[-2] - losses[-1]) <= self.options.tol * losses[-2]:
                self._converged = True
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
        order = self.generator.permutation(source.n_samples)
        loss = weight = 0.0
        for start in range(0, source.n_samples, self.batch_size):
            chosen = np.sort(order[start : start + self.batch_size])
            weights = None if source.sample_weight is None else source.sample_weight[chosen]
            if weights is not None and not weights.any():
                continue
            batch = RowBlocks.from_rows(source.take(chosen), weights)
            batch_weight = float(len(chosen) if weights is None else weights.sum())
            loss += batch_weight * self.learn_batch(batch)
            weight += batch_weight
        return loss / weight

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
