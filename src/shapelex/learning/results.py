"""What a learner reports: where it stands after a pass, and the best dictionary at the end."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.learning.statistics import Statistics


@dataclass(frozen=True)
class Iteration:
    """Where a learner stands, for callbacks.

    Parameters
    ----------
    restart, n_restarts : int
        Number of the descent, from 0, and the number of descents.
    iteration, max_iter : int
        Number of updates made in this descent, and the maximum.
    loss : float
        Weighted mean squared distance from the shapes to their approximations over `atoms`.
    objective : float
        What the descent lowers: the root of `loss`, plus the penalty.
    best_rmse, best_objective : float
        Root mean squared distance and objective of the dictionary of least objective so far, of all descents.
    n_replaced : int
        Number of idle atoms that the last update replaced.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary, whitened rows.
    swap : int or None
        While swaps are tried before the first update: how many were tried; loss and objective are then those of a
        sample of the shapes, and the return value of the callback is ignored. None after a pass over the shapes.
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
"""Called after every pass over the shapes; returning True ends the run."""


@dataclass(frozen=True)
class LearnedDictionary:
    """The best dictionary that a learner visited.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        Atoms, whitened rows of norm 1.
    rmse : float
        Root of the weighted mean squared distance from the shapes to their approximations.
    usage : ndarray of float, shape (n_atoms,)
        Fraction of the shapes, by weight, that use each atom.
    statistics : Statistics
        Sums over the shapes and their codes, to which later batches are added.
    loss_curve : ndarray of float, shape (n_iter + 1,)
        Weighted mean squared distances of the dictionaries of its descent; the first dictionary comes first.
    n_iter : int
        Number of updates of its descent.
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
