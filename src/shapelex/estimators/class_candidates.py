"""The methods that :class:`~shapelex.ShapeClassifier` chooses from.

Each prepares its features once, from all training shapes without their labels, and gives scores of all classes for
held-out rows and for new shapes. A setting is what the folds choose within a method.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.estimators.error_calibration import ErrorCalibration, calibrate
from shapelex.estimators.outline_convolutions import OutlineConvolutions
from shapelex.estimators.procrustes_kernel import ProcrustesKernel
from shapelex.estimators.score_calibration import ScoreCalibration, calibrate_scores
from shapelex.estimators.shape_dictionary_classifier import ShapeDictionaryClassifier
from shapelex.estimators.tangent_pca import TangentPCA
from shapelex.spaces import Space

Calibration = ScoreCalibration | ErrorCalibration

MAX_KERNEL_SHAPES = 4000
"""Number of shapes from which methods that compare all pairs learn, at most."""

_SHRINKAGES = (0.01, 0.03, 0.1, 0.3, 0.7)
_COSTS = (1.0, 10.0, 100.0, 1000.0)
_PENALTIES = tuple(np.logspace(-1, 5, 13).tolist())
# Atoms per class, maximum number per shape, and weight of the product of the space against the learned one.
_DICTIONARIES = ((1, 1, 0.1), (8, 3, 0.3))
_MIN_DEVIATION = 1e-6
_BLOCK_ROWS = 2048
_QUICK: dict[str, Any] = {"coder": "ormp", "tie": 0, "n_swaps": 0, "max_iter": 10, "tol": 1e-2}


class Candidate(ABC):
    """A method with several settings; ``name`` and ``settings`` are shown to the user."""

    name: str
    settings: Sequence[Any]
    max_shapes: int | None = None
    """Number of shapes beyond which the method learns from a sample; None where it can learn from all."""

    def can_learn(self, numbers: IntArray) -> bool:
        """Return whether there are enough shapes of every class."""
        del numbers
        return True

    @abstractmethod
    def prepare(self, X: ComplexArray, space: Space, random_state: int) -> None:
        """Compute the features of all training shapes."""

    @abstractmethod
    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Return the scores of held-out rows in the classes of the kept ones, sorted, for every setting."""

    @abstractmethod
    def fit(self, numbers: IntArray, setting: Any) -> None:
        """Fit to all training shapes."""

    @abstractmethod
    def scores(self, X: ComplexArray) -> FloatArray:
        """Return the scores of new shapes in all classes."""

    def calibrate(self, scores: FloatArray, numbers: IntArray) -> Calibration:
        """Return what turns scores into log-probabilities."""
        return calibrate_scores(scores, numbers)

    def worst(self, scores: FloatArray) -> FloatArray:
        """Return the score, as a column, of a class that had no shape to learn from."""
        least: FloatArray = scores.min(axis=1, keepdims=True)
        return least

    @classmethod
    @abstractmethod
    def describe(cls, setting: Any) -> str:
        """Return a setting in words."""

    @classmethod
    def calibration(cls, scale: FloatArray, offsets: FloatArray) -> Calibration:
        """Return a calibration with these numbers."""
        return ScoreCalibration(scale, offsets)


class TangentDiscriminant(Candidate):
    """Linear discriminant analysis of tangent coordinates, with a shrunk covariance."""

    name = "tangent LDA"
    settings = _SHRINKAGES

    def can_learn(self, numbers: IntArray) -> bool:
        """Return whether there are more shapes than classes."""
        return len(numbers) > len(np.unique(numbers))

    def prepare(self, X: ComplexArray, space: Space, random_state: int) -> None:
        """Map shapes to the tangent space at their mean."""
        del random_state
        self._tangent = TangentPCA(space=space).fit(X)
        self._rows = self._tangent.transform(X)

    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Fit every shrinkage."""
        models = [_discriminant(value, self._rows[kept], numbers[kept]) for value in self.settings]
        return [_one_column_per_class(model.decision_function(self._rows[held])) for model in models]

    def fit(self, numbers: IntArray, setting: Any) -> None:
        """Fit one shrinkage."""
        self._model = _discriminant(setting, self._rows, numbers)
        del self._rows

    def scores(self, X: ComplexArray) -> FloatArray:
        """Return the discriminant functions."""
        return _one_column_per_class(self._model.decision_function(self._tangent.transform(X)))

    @classmethod
    def describe(cls, setting: Any) -> str:
        """Return the shrinkage."""
        return f"shrinkage={setting:g}"


class KernelMachine(Candidate):
    """Support vector machine with a kernel matrix that is computed once."""

    settings = _COSTS
    max_shapes = MAX_KERNEL_SHAPES

    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Fit every cost."""
        known, new = self._gram[np.ix_(kept, kept)], self._gram[np.ix_(held, kept)]
        models = [SVC(C=cost, kernel="precomputed").fit(known, numbers[kept]) for cost in self.settings]
        return [_one_column_per_class(model.decision_function(new)) for model in models]

    def fit(self, numbers: IntArray, setting: Any) -> None:
        """Fit one cost."""
        self._model = SVC(C=setting, kernel="precomputed").fit(self._gram, numbers)
        del self._gram

    def scores(self, X: ComplexArray) -> FloatArray:
        """Return the decision function."""
        return _one_column_per_class(self._model.decision_function(self._kernel(X)))

    @classmethod
    def describe(cls, setting: Any) -> str:
        """Return the cost."""
        return f"C={setting:g}"

    @abstractmethod
    def _kernel(self, X: ComplexArray) -> FloatArray:
        """Return kernel values of new shapes with the training shapes."""

    _gram: FloatArray


class TangentMachine(KernelMachine):
    """Support vector machine with a Gaussian kernel of tangent coordinates."""

    name = "tangent SVM"

    def prepare(self, X: ComplexArray, space: Space, random_state: int) -> None:
        """Map shapes to the tangent space at their mean."""
        del random_state
        self._tangent = TangentPCA(space=space).fit(X)
        self._rows = self._tangent.transform(X)
        # As gamma="scale" of scikit-learn.
        self._gamma = 1 / (self._rows.shape[1] * float(self._rows.var()))
        self._gram = self._kernel(X)

    def _kernel(self, X: ComplexArray) -> FloatArray:
        new = self._tangent.transform(X)
        squares = (new**2).sum(axis=1)[:, None] + (self._rows**2).sum(axis=1) - 2 * new @ self._rows.T
        values: FloatArray = np.exp(-self._gamma * np.maximum(squares, 0))
        return values


class ProcrustesMachine(KernelMachine):
    """Support vector machine with a Gaussian kernel of full Procrustes distances."""

    name = "Procrustes kernel"

    def prepare(self, X: ComplexArray, space: Space, random_state: int) -> None:
        """Compute the kernel of all pairs."""
        del random_state
        self._transformer = ProcrustesKernel(space=space)
        self._gram = self._transformer.fit_transform(X)

    def _kernel(self, X: ComplexArray) -> FloatArray:
        return np.asarray(self._transformer.transform(X))


class ClassDictionaries(Candidate):
    """One dictionary for each class."""

    name = "class dictionaries"
    settings = _DICTIONARIES

    def can_learn(self, numbers: IntArray) -> bool:
        """Return whether every class has two shapes."""
        return int(np.unique(numbers, return_counts=True)[1].min()) > 1

    def prepare(self, X: ComplexArray, space: Space, random_state: int) -> None:
        """Keep the shapes."""
        self._X, self._space, self._seed = X, space, random_state

    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Learn dictionaries of every size and product."""
        models = [self._fit_setting(setting, self._X[kept], numbers[kept]) for setting in self.settings]
        return [np.asarray(model.class_errors(self._X[held]), dtype=np.float64) for model in models]

    def fit(self, numbers: IntArray, setting: Any) -> None:
        """Learn the dictionaries of one setting."""
        self.model = self._fit_setting(setting, self._X, numbers)
        del self._X

    def scores(self, X: ComplexArray) -> FloatArray:
        """Return the errors, which are least in the nearest class."""
        return np.asarray(self.model.class_errors(X), dtype=np.float64)

    def calibrate(self, scores: FloatArray, numbers: IntArray) -> Calibration:
        """Return a scale of the errors of each class."""
        return calibrate(scores, numbers, np.ones(len(numbers)))

    @classmethod
    def calibration(cls, scale: FloatArray, offsets: FloatArray) -> Calibration:
        """Return a calibration whose scales are temperatures."""
        return ErrorCalibration(scale, offsets)

    def worst(self, scores: FloatArray) -> FloatArray:
        """Return the largest possible error."""
        return np.ones((len(scores), 1))

    @classmethod
    def describe(cls, setting: Any) -> str:
        """Return the size and the product."""
        n_atoms, n_nonzero, shrinkage = setting
        return f"n_atoms={n_atoms}, n_nonzero={n_nonzero}, shrinkage={shrinkage:g}"

    def _fit_setting(self, setting: Any, X: ComplexArray, numbers: IntArray) -> ShapeDictionaryClassifier:
        n_atoms, n_nonzero, shrinkage = setting
        model = ShapeDictionaryClassifier(
            n_atoms, n_nonzero, space=self._space, shrinkage=shrinkage, random_state=self._seed, **_QUICK
        )
        with warnings.catch_warnings():
            # More updates would hardly change which class is nearest.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, numbers)


class ConvolutionRidge(Candidate):
    """Ridge regression of the classes on features by convolutions."""

    name = "convolutions"
    settings = tuple((mirror, penalty) for mirror in (False, True) for penalty in _PENALTIES)

    def prepare(self, X: ComplexArray, space: Space, random_state: int) -> None:
        """Keep the shapes; features are computed where they are needed."""
        self._make = partial(_Standardized, X, space, random_state=random_state)
        self._known: dict[bool, tuple[_Standardized, FloatArray]] = {}

    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Solve for all penalties with one decomposition."""
        found = []
        for mirror in (False, True):
            if mirror not in self._known:
                features = self._make(mirror)
                self._known[mirror] = features, features.rows @ features.rows.T
            gram = self._known[mirror][1]
            weights, average = _ridge_weights(gram[np.ix_(kept, kept)], numbers[kept], _PENALTIES)
            found += [gram[np.ix_(held, kept)] @ weight + average for weight in weights]
        return found

    def fit(self, numbers: IntArray, setting: Any) -> None:
        """Solve for one penalty: in the space of shapes, or of features where there are fewer of them."""
        mirror, penalty = setting
        targets = _targets(numbers)
        self._average = targets.mean(axis=0)
        if len(numbers) <= MAX_KERNEL_SHAPES:
            self.features = self._known[mirror][0] if mirror in self._known else self._make(mirror)
            rows = self.features.rows
            (weights,), _ = _ridge_weights(rows @ rows.T, numbers, [penalty])
            self.weights: FloatArray = rows.T @ weights
        else:
            self.features = self._make(mirror, keeps_rows=False)
            products, with_targets = self.features.products(targets - self._average)
            products[np.diag_indices_from(products)] += penalty
            self.weights = np.linalg.solve(products, with_targets)
        self.features.forget()
        del self._make, self._known

    def scores(self, X: ComplexArray) -> FloatArray:
        """Return the regression."""
        found: FloatArray = self.features.transform(X) @ self.weights + self._average
        return found

    @classmethod
    def describe(cls, setting: Any) -> str:
        """Return whether mirror images count as the same, and the penalty."""
        mirror, penalty = setting
        return f"mirror={mirror}, alpha={penalty:.3g}"


METHODS: tuple[type[Candidate], ...] = (
    TangentDiscriminant,
    TangentMachine,
    ProcrustesMachine,
    ClassDictionaries,
    ConvolutionRidge,
)


class _Standardized:
    """Features by convolutions, each with mean 0 and standard deviation 1 in the training shapes."""

    def __init__(self, X: ComplexArray, space: Space, mirror: bool, random_state: int, keeps_rows: bool = True) -> None:
        self._X = X
        self._convolutions = OutlineConvolutions(space, mirror, random_state).fit(X)
        self.rows: FloatArray = np.empty((0, 0))
        if keeps_rows:
            features = np.asarray(self._convolutions.transform(X), dtype=np.float64)
            self._set_scales(features.mean(axis=0), features.var(axis=0))
            self.rows = (features - self._means) / self._scales

    def products(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the products of standardized features with each other and with targets, computed block by block."""
        n_features = self._convolutions.thresholds_.size
        sums, squares = np.zeros(n_features), np.zeros((n_features, n_features))
        with_targets = np.zeros((n_features, targets.shape[1]))
        for start in range(0, len(self._X), _BLOCK_ROWS):
            rows = np.asarray(self._convolutions.transform(self._X[start : start + _BLOCK_ROWS]), dtype=np.float64)
            sums += rows.sum(axis=0)
            squares += rows.T @ rows
            with_targets += rows.T @ targets[start : start + _BLOCK_ROWS]
        n_shapes = len(self._X)
        means = sums / n_shapes
        squares -= n_shapes * np.outer(means, means)
        self._set_scales(means, np.maximum(np.diag(squares), 0) / n_shapes)
        squares /= np.outer(self._scales, self._scales)
        # The targets sum to 0, so the means of the features do not matter here.
        return squares, with_targets / self._scales[:, None]

    def transform(self, X: ComplexArray) -> FloatArray:
        """Return the features of new shapes."""
        found: FloatArray = (np.asarray(self._convolutions.transform(X)) - self._means) / self._scales
        return found

    def forget(self) -> None:
        """Keep only what new shapes need."""
        del self._X, self.rows

    def _set_scales(self, means: FloatArray, variances: FloatArray) -> None:
        self._means = means
        # A constant feature stays 0 but for rounding.
        self._scales = np.sqrt(variances) + _MIN_DEVIATION


def _targets(numbers: IntArray) -> FloatArray:
    """Return 1 for the class of a shape and −1 for all others."""
    return np.where(numbers[:, None] == np.unique(numbers), 1.0, -1.0)


def _ridge_weights(
    gram: FloatArray, numbers: IntArray, penalties: Sequence[float]
) -> tuple[list[FloatArray], FloatArray]:
    """Return the weights of the rows for each penalty, and the average target."""
    targets = _targets(numbers)
    average = targets.mean(axis=0)
    values, vectors = np.linalg.eigh(gram)
    projected = vectors.T @ (targets - average)
    weights = [vectors @ (projected / (np.maximum(values, 0) + penalty)[:, None]) for penalty in penalties]
    return weights, average


def _discriminant(shrinkage: float, rows: FloatArray, numbers: IntArray) -> LinearDiscriminantAnalysis:
    with warnings.catch_warnings():
        # A class that has one shape in a fold adds nothing to the covariance.
        warnings.filterwarnings("ignore", "Only one sample available", UserWarning)
        return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(rows, numbers)


def _one_column_per_class(decisions: FloatArray) -> FloatArray:
    """Return scores with a column for each class, of two classes too."""
    return np.stack([-decisions, decisions], axis=1) if decisions.ndim == 1 else decisions
