"""Short descents on a sample of the shapes, to compare many dictionaries.

In comes a dictionary; out goes the one that a few updates make of it, with its objective on the sample. The sample
stays in memory as whitened pre-shapes, supports are compared in single precision, and nothing is allocated between two
updates, so that a small sample takes tenths of a millisecond per update.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding.coders import (
    CODERS,
    KernelInputs,
    KernelOutputs,
    Search,
    bound_on_cpu,
    choose_search,
    implementation,
    make_limits,
    polish_cost_ns,
    polish_on_cpu,
)
from shapelex.kernels.alignment import aligned_zeros
from shapelex.kernels.sample import (
    best_supports,
    correlate_sample,
    nearest_distance2,
    solve_supports,
    sum_sample,
    update_sample,
)
from shapelex.kernels.triangle import REFINE
from shapelex.learning.distance_values import objective_slopes, objective_values
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey
from shapelex.learning.problem import LearningProblem
from shapelex.learning.update import RELAXATION, normalized
from shapelex.shapes.collection import ArrayShapes
from shapelex.spaces.plain import PlainRows

WEIGHT_PRICE = 0.01
"""A dictionary is judged by the objective times ``1 + 0.01 mean_k |a_k|²``: accuracy that needs large opposite weights
of nearly equal atoms is not worth having."""

LEAST_DEVICE_NS = 10_000_000.0
"""A pass over a sample that takes less on one core of the CPU is made there, whatever the device: 10 ms."""

# A trial is given up once so many times the last improvement would not reach the dictionary it has to beat.
PATIENCE = 4.0
SETTLED = 1e-5
# Single precision tells supports apart whose squared errors differ by more than about 1e-7.
_LEAST_LOSS_FOR_SINGLE = 1e-5


def rounding_of(dtype: "np.dtype[Any]") -> float:
    """Return the loss below which shapes in this precision count as approximated perfectly."""
    return max(float(64 * np.finfo(dtype).eps) ** 2, float(np.finfo(np.float64).eps))


@dataclass(frozen=True, eq=False)
class Trial:
    """A dictionary after a short descent on the sample.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary, whitened rows.
    objective : float
        Its objective on the sample.
    losses : ndarray of float, shape (n_sparsities,)
        Mean squared distances from the shapes to their approximations, for each sparsity.
    judgement : float
        The objective with the price of large weights.
    values : ndarray of float, shape (n_shapes,)
        Squared distance from each shape to its approximation, at the highest sparsity.
    energies : ndarray of float, shape (n_atoms,)
        Sums over the shapes of the squared moduli of the weights of each atom, at the highest sparsity.
    n_passes : int
        Number of passes over the sample that it took.
    """

    atoms: ComplexArray
    objective: float
    losses: FloatArray
    judgement: float
    values: FloatArray
    energies: FloatArray
    n_passes: int


class Trials:
    """A sample of shapes, and descents on it.

    Parameters
    ----------
    rows : ndarray of complex, shape (n_shapes, n_coordinates)
        Whitened pre-shapes.
    weights : ndarray of float, shape (n_shapes,)
        Their weights.
    options : LearningOptions
        What to learn; coders other than ``"exact"`` work in double precision.
    """

    def __init__(self, rows: ComplexArray, weights: FloatArray, options: LearningOptions) -> None:
        self.rows: ComplexArray = np.ascontiguousarray(rows, dtype=np.complex128)
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.total_weight = float(self.weights.sum())
        self.options = options
        # Of losses: that of the rows, and that of squared errors, which are differences of numbers near 1.
        self.rounding = rounding_of(rows.dtype)
        self._idle: list[_Descent] = []
        self.searches = [choose_search(options.coder, options.n_atoms, size) for size in options.sparsities]
        # Estimated nanoseconds of a pass on one core.
        self.cost_ns = 40_000 + len(rows) * sum(map(self._cost_ns, self.searches, options.sparsities))
        if self.cost_ns < LEAST_DEVICE_NS or options.device == "torch":
            self.options = replace(options, device="cpu")
        self.kept: dict[Any, Any] = {}

    def descend(self, atoms: ComplexArray, n_updates: int, limit: float = np.inf) -> Trial:
        """Make up to `n_updates` updates; stop where they do not lower the objective, or will not reach `limit`."""
        try:
            # One step: another thread may take the last one.
            descent = self._idle.pop()
        except IndexError:
            descent = self._make_descent()
        try:
            return descent.run(np.array(atoms, dtype=np.complex128), n_updates, limit)
        finally:
            self._idle.append(descent)

    def _make_descent(self) -> "_Descent":
        return _HostDescent(self) if self.options.device == "cpu" else _DeviceDescent(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_idle": [], "kept": {}}

    def _cost_ns(self, search: Search, size: int) -> float:
        if search.coder == "exact":
            return 300 + 0.55 * comb(self.options.n_atoms, size)
        n_atoms = self.options.n_atoms
        cost_ns = CODERS[search.coder].cost_ns(self.rows.shape[1], n_atoms, size, search.width)
        return cost_ns + (polish_cost_ns(n_atoms, size) if search.polishes else 0)


class _Descent(ABC):
    """Passes over the sample; a pass is kept before the update that follows from it."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._updated: ComplexArray
        self._beyond: ComplexArray
        # Whether single precision is enough to compare supports, by the loss of the last pass.
        self._is_single = True

    @abstractmethod
    def _survey(self, atoms: ComplexArray) -> float:
        """Code the sample over a dictionary, and return the objective."""

    @abstractmethod
    def _keep(self) -> None:
        """Take the dictionary of the last pass as the current one."""

    @abstractmethod
    def _update(self, atoms: ComplexArray) -> None:
        """Compute the least-squares dictionary of the current codes, and one that goes beyond it."""

    @abstractmethod
    def _describe(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return losses, values and energies of the current dictionary."""

    def run(self, current: ComplexArray, n_updates: int, limit: float) -> Trial:
        """Descend from a dictionary, whose array is used again."""
        self._is_single = True
        objective = self._survey(current)
        self._keep()
        n_passes = 1
        for number in range(n_updates):
            self._update(current)
            # The first update after a swap or crossover is large, and in a direction that the next one changes.
            following = self._beyond if number > 0 else self._updated
            reached = self._survey(following)
            n_passes += 1
            if number > 0 and not reached < objective:
                following = self._updated
                reached = self._survey(following)
                n_passes += 1
            gain = objective - reached
            if not gain > 0:
                break
            objective = reached
            current[:] = following
            self._keep()
            if gain <= SETTLED * objective or (number > 0 and objective - PATIENCE * gain > limit):
                break
        losses, values, energies = self._describe()
        price = 1 + WEIGHT_PRICE * float(energies.sum()) / self._trials.total_weight
        return Trial(current, objective, losses, objective * price, values, energies, n_passes)


class _DeviceDescent(_Descent):
    """Passes on a torch device."""

    def __init__(self, trials: Trials) -> None:
        super().__init__(trials)
        sample = ArrayShapes(trials.rows, PlainRows(trials.rows.shape[1]), trials.weights)
        sample.kept = trials.kept
        self._problem = LearningProblem(sample, trials.options, keeps_values=True)
        self._last: Survey | None = None
        self._kept: Survey | None = None

    def _survey(self, atoms: ComplexArray) -> float:
        self._last = self._problem.survey(atoms.copy())
        return self._problem.objective(self._last)

    def _keep(self) -> None:
        self._kept = self._last

    def _update(self, atoms: ComplexArray) -> None:
        assert self._kept is not None
        self._updated = self._problem.update(self._kept)
        self._beyond = normalized(self._updated + RELAXATION * (self._updated - atoms), self._updated)

    def _describe(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        found = self._kept
        assert found is not None
        assert found.values is not None
        return found.losses, found.values, found.statistics.gram.diagonal().real


class _Found:
    """What a pass over the sample found, in arrays that are filled again."""

    def __init__(self, n_rows: int, n_atoms: int, n_coordinates: int, n_sparsities: int) -> None:
        self.losses = np.empty(n_sparsities)
        self.values = np.empty(n_rows)
        self.grams = np.empty((n_sparsities, n_atoms, n_atoms), dtype=np.complex128)
        self.products = np.empty((n_sparsities, n_atoms, n_coordinates), dtype=np.complex128)
        self.correlations = np.empty((n_rows, n_atoms), dtype=np.complex128)
        self.nearest = np.zeros(n_atoms, dtype=np.int64)
        # Real and imaginary parts interleaved, as kernels take them.
        self.correlation_reals = self.correlations.view(np.float64)
        self.gram_reals = [gram.view(np.float64) for gram in self.grams]
        self.product_reals = [products.view(np.float64) for products in self.products]


class _HostDescent(_Descent):
    """Passes by compiled kernels, with the arrays that they need."""

    def __init__(self, trials: Trials) -> None:
        super().__init__(trials)
        options = trials.options
        (n_rows, n_coordinates), n_atoms = trials.rows.shape, options.n_atoms
        self._objective = options.objective
        sizes = (n_rows, n_atoms, n_coordinates, len(options.sparsities))
        self._last, self._kept = _Found(*sizes), _Found(*sizes)
        self._updated, self._beyond = (np.empty((n_atoms, n_coordinates), dtype=np.complex128) for _ in range(2))
        self._closeness, self._usage = np.empty(n_atoms), np.empty(n_atoms)
        self._gram = aligned_zeros((n_atoms, 2, -(-n_atoms // 8) * 8), np.float64)
        self._search_gram = aligned_zeros((n_atoms, 2, -(-n_atoms // 16) * 16), np.float32)
        self._ones = np.ones(n_rows)
        self._reals = trials.rows.view(np.float64)
        self._limits = make_limits(np.dtype(np.float64), None)
        # Correlations give the weights of nearly dependent atoms well enough to compare dictionaries.
        self._limits[REFINE] = 0
        max_weight = options.max_weight
        self._bounds = None if max_weight is None else np.full(n_atoms, float(max_weight))
        self._search_limits = make_limits(np.dtype(np.float32), None)
        self._outputs = [
            KernelOutputs(
                np.empty((n_rows, size), dtype=np.int32),
                np.empty((n_rows, 1, 2 * size)),
                np.empty(n_rows),
                np.zeros(n_rows, dtype=bool),
            )
            for size in options.sparsities
        ]
        self._coefs = [outputs.coefs[:, 0] for outputs in self._outputs]
        self._no_rows = np.empty((n_rows, 0))

    def _survey(self, atoms: ComplexArray) -> float:
        trials, found, distance = self._trials, self._last, self._trials.options.distance
        correlate_sample(trials.rows, atoms, found.correlations, self._gram, self._search_gram)
        for number, outputs in enumerate(self._outputs):
            self._search(trials.searches[number], atoms, outputs, self._coefs[number])
            weights, values = trials.weights, outputs.left
            if distance != "full":
                weights = weights * objective_slopes(outputs.left, distance)
                values = objective_values(outputs.left, distance)
            sum_sample(
                outputs.support,
                self._coefs[number],
                self._reals,
                self._ones,
                weights,
                found.gram_reals[number],
                found.product_reals[number],
                self._usage,
            )
            found.losses[number] = trials.weights @ values / trials.total_weight
        found.values[:] = values
        self._is_single = bool(found.losses[-1] > _LEAST_LOSS_FOR_SINGLE)
        distance2 = 0.0
        if self._objective.tie > 0:
            distance2 = nearest_distance2(found.correlation_reals, trials.weights, found.nearest, self._closeness)
        return self._objective.value(found.losses, distance2)

    def _keep(self) -> None:
        self._last, self._kept = self._kept, self._last

    def _update(self, atoms: ComplexArray) -> None:
        trials, found, objective = self._trials, self._kept, self._objective
        update_sample(
            found.grams,
            found.products,
            objective.factors(found.losses),
            trials.total_weight * objective.nearest_weight(found.losses, len(atoms)),
            found.nearest,
            found.correlations,
            trials.rows,
            atoms,
            RELAXATION,
            self._updated,
            self._beyond,
        )

    def _describe(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        found = self._kept
        return found.losses.copy(), found.values.copy(), found.grams[-1].diagonal().real.copy()

    def _search(self, search: Search, atoms: ComplexArray, outputs: KernelOutputs, coefs: FloatArray) -> None:
        """Code the sample for one sparsity; `coefs` are those of the outputs."""
        correlations = self._last.correlation_reals
        if search.coder == "exact" and self._bounds is None:
            gram, limits = self._gram, self._limits
            if self._is_single:
                gram, limits = self._search_gram, self._search_limits
            best_supports(correlations, gram, limits, outputs.support)
            solve_supports(correlations, self._gram, outputs.support, self._limits, coefs, outputs.left)
            return
        inputs = KernelInputs(correlations, self._ones, self._gram, self._no_rows, atoms.view(np.float64), self._limits)
        # Bounded weights need supports without atoms that depend on others.
        implementation(search.coder, "numba")(inputs, outputs, search.width)
        if search.polishes:
            polish_on_cpu(inputs, outputs)
        if self._bounds is not None:
            bound_on_cpu(inputs, outputs, self._bounds, search.tries_all)
        np.maximum(outputs.left, 0, out=outputs.left)
