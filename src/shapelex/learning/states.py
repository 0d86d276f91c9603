"""What a learner reports after a pass and at the end, and its state: all that it needs to continue to the same bits.

A state consists of plain numbers and arrays. A pass over the shapes is a function of the dictionary alone, so codes and
the statistics of the current dictionary are not kept: the first pass after resuming computes them again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.learning.passes import Survey
from shapelex.learning.statistics import Statistics

# How far the norms of atoms may be from 1, in either precision.
_ROUNDING = 1e-3


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
        What the descent lowers: the geometric mean of the RMSE at all sparsities, plus the penalty; while the set is
        learned in batches, the loss.
    best_rmse, best_objective : float
        Root mean squared distance and objective of the dictionary of least objective so far, of all descents.
    n_replaced : int
        Number of idle atoms that the last update replaced.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary, whitened rows.
    n_trials : int or None
        Before the first update: how many swaps and crossovers of dictionaries were tried. Loss and objective are then
        those of a sample of the shapes, for nested dictionaries at first those of one atom per shape, and the return
        value of the callback is ignored. None after a pass over the shapes.
    explored : float or None
        Before the first update: which part of these trials is done.
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
    n_trials: int | None = None
    explored: float | None = None

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
        Sums over the shapes and their codes of the highest sparsity, to which later batches are added.
    combined : Statistics or None
        The sums of all sparsities that updates by later batches need, where it was learned in batches.
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
    combined: Statistics | None = None


@dataclass(frozen=True)
class LearnerState:
    """A state that can be written to a file: JSON values and arrays."""

    numbers: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray[Any, Any]]


Saver = Callable[[LearnerState], None]
"""Called with the state of the learner after every iteration."""


@dataclass
class Record:
    """What the descents of a run have found so far.

    Parameters
    ----------
    curves : list of list of float
        Losses of all dictionaries of each descent.
    converged : list of bool
        Whether each descent ended by `tol`.
    best : Survey or None
        The dictionary of least objective.
    best_restart : int
        Number of its descent.
    atoms : ndarray of complex or None
        Current dictionary of the last descent.
    """

    curves: list[list[float]] = field(default_factory=list)
    converged: list[bool] = field(default_factory=list)
    best: Survey | None = None
    best_restart: int = 0
    atoms: ComplexArray | None = None

    def describe(self, generator: np.random.Generator) -> LearnerState:
        """Return the state to resume from."""
        assert self.best is not None
        assert self.atoms is not None
        numbers, arrays = describe_statistics(self.best.statistics)
        numbers |= {
            "losses": [float(loss) for loss in self.best.losses],
            "mean_nearest_distance2": self.best.mean_nearest_distance2,
            "switch_loss": self.best.switch_loss,
            "best_restart": self.best_restart,
            "curves": [list(curve) for curve in self.curves],
            "converged": list(self.converged),
            "generator": describe_generator(generator),
        }
        arrays |= {"best_atoms": self.best.atoms, "atoms": self.atoms}
        arrays |= {"combined_gram": self.best.combined.gram, "combined_products": self.best.combined.products}
        return LearnerState(numbers, arrays)

    @classmethod
    def restore(cls, state: LearnerState, generator: np.random.Generator) -> "Record":
        """Return what an earlier run had found, and put the generator into its state."""
        numbers, arrays = state.numbers, state.arrays
        none, statistics = arrays["best_atoms"][:0], restore_statistics(state)
        best = Survey(
            atoms=arrays["best_atoms"],
            losses=np.array(check_numbers(numbers["losses"])),
            mean_nearest_distance2=check_numbers([numbers["mean_nearest_distance2"]])[0],
            statistics=statistics,
            # No update starts from it.
            combined=replace(statistics, gram=arrays["combined_gram"], products=arrays["combined_products"]),
            worst=none,
            nearest=none,
            switch_loss=check_numbers([numbers.get("switch_loss", 0.0)])[0],
        )
        if not len(best.losses):
            raise ValueError("its losses must not be empty")
        curves = [check_numbers(curve) for curve in numbers["curves"]]
        converged, best_restart = list(numbers["converged"]), numbers["best_restart"]
        if not all(curves) or len(converged) != len(curves) or not set(map(type, converged)) <= {bool}:
            raise ValueError("its curves must be lists of losses, and each must have ended by tol or not")
        if type(best_restart) is not int or not 0 <= best_restart < len(curves):
            raise ValueError(f"its best descent must be one of {len(curves)}, got {best_restart!r}")
        restore_generator(generator, numbers["generator"])
        return cls(curves, converged, best, best_restart, arrays["atoms"])


def describe_statistics(statistics: Statistics) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return statistics as numbers and arrays."""
    arrays = {"gram": statistics.gram, "products": statistics.products, "usage": statistics.usage}
    return {"weight": statistics.weight}, arrays


def restore_statistics(state: LearnerState) -> Statistics:
    """Return the statistics that :func:`describe_statistics` described."""
    gram, products, usage = (state.arrays[name] for name in ("gram", "products", "usage"))
    return Statistics(gram, products, usage, state.numbers["weight"])


def check_state(state: LearnerState, dictionaries: Sequence[str], n_atoms: int, n_coordinates: int) -> None:
    """Refuse, by a ValueError, arrays of a state that no fit has; `dictionaries` names those of atoms of norm 1."""
    square, rows = (n_atoms, n_atoms), (n_atoms, n_coordinates)
    shapes = {"gram": square, "combined_gram": square, "products": rows, "combined_products": rows, "usage": (n_atoms,)}
    shapes |= dict.fromkeys(dictionaries, rows)
    for name, shape in shapes.items():
        array = state.arrays[name]
        if array.shape != shape or array.dtype.kind != ("f" if name == "usage" else "c"):
            raise ValueError(f"its {name} must have shape {shape}, got {array.dtype} {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"its {name} must be finite")
    for name in dictionaries:
        lengths = np.linalg.norm(state.arrays[name], axis=1)
        if not (np.abs(lengths - 1) < _ROUNDING).all():
            raise ValueError(f"its {name} must have norm 1")
    if not (state.arrays["usage"] >= 0).all() or not check_numbers([state.numbers["weight"]])[0] >= 0:
        raise ValueError("its usage and weight must not be negative")


def check_numbers(values: Any) -> list[float]:
    """Return a list of finite numbers; anything else is a ValueError."""
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ValueError(f"expected a list of numbers, got {values!r:.40}")
    if not np.isfinite(values).all():
        raise ValueError("its numbers must be finite")
    return list(values)


def describe_generator(generator: np.random.Generator) -> Any:
    """Return the state of a generator as JSON values: arrays become lists."""
    return _without_arrays(generator.bit_generator.state)


def restore_generator(generator: np.random.Generator, described: Any) -> None:
    """Put a generator into a state that :func:`describe_generator` described."""
    generator.bit_generator.state = _with_arrays(described)


def _without_arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_arrays(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return [int(entry) for entry in value]
    return int(value) if isinstance(value, np.integer) else value


def _with_arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_arrays(part) for name, part in value.items()}
    return np.array(value, dtype=np.uint64) if isinstance(value, list) else value
