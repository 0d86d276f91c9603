"""The methods that :class:`~shapelex.ShapeClassifier` chooses from."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.estimators.calibration import Calibration, choose_scores
from shapelex.estimators.folds import Fold
from shapelex.estimators.outline_convolutions import OutlineConvolutions
from shapelex.estimators.principal_components import TangentPCA
from shapelex.estimators.procrustes_kernel import ProcrustesKernel
from shapelex.estimators.shape_dictionary_classifier import ShapeDictionaryClassifier
from shapelex.spaces import Space

MAX_COMPARED_SHAPES = 4000
"""Number of shapes, at most, that methods are compared on, and that support vector machines learn from."""

_COSTS = (1.0, 10.0, 100.0, 1000.0)
_PENALTIES = tuple(np.logspace(-1, 5, 13).tolist())
_MIN_DEVIATION = 1e-6
_BLOCK_ROWS = 2048
_QUICK: dict[str, Any] = {"coder": "ormp", "tie": 0, "n_swaps": 0, "max_iter": 3, "tol": 1e-2}


class Method(ABC):
    """A method with several settings, of which the folds choose one; the name and settings are shown to the user.

    `view` names the registration of the shapes that it sees. What the folds choose are ``setting``, the ``calibration``
    of its scores, and its ``weight`` in the prediction; ``held_out`` are its log-probabilities of the held-out shapes.
    """

    name: ClassVar[str]
    settings: Sequence[Any]
    setting_names: ClassVar[str]
    learns_from_sample: ClassVar[bool] = False
    calibrates_classes: ClassVar[bool] = False
    setting: Any = None
    calibration: Calibration
    held_out: FloatArray
    weight: float = 0.0

    def __init__(self, space: Space, seed: int, view: str) -> None:
        self.space, self.seed, self.view = space, seed, view

    @classmethod
    def can_learn(cls, counts: IntArray) -> bool:
        """Return whether classes of these numbers of shapes are enough."""
        del counts
        return True

    @abstractmethod
    def prepare(self, X: ComplexArray) -> None:
        """Compute what does not depend on labels, from all shapes that the method may learn from."""

    @abstractmethod
    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Return the scores of held-out rows in the classes of the kept ones, sorted, for every setting."""

    @abstractmethod
    def fit(self, numbers: IntArray) -> None:
        """Fit the chosen setting to all shapes, and forget what only held-out scores need."""

    @abstractmethod
    def scores(self, X: ComplexArray) -> FloatArray:
        """Return the scores of new shapes in all classes."""

    def choose(self, numbers: IntArray, folds: list[Fold]) -> None:
        """Choose the setting of least log loss of held-out shapes."""
        scores = np.zeros((len(self.settings), len(numbers), int(numbers.max()) + 1))
        for kept, held in folds:
            known = np.unique(numbers[kept])
            for number, found in enumerate(self.held_out_scores(numbers, kept, held)):
                # A class that had no shape to learn from is as unlikely as the least likely one.
                scores[number, held] = found.min(axis=1, keepdims=True)
                scores[number][np.ix_(held, known)] = found
        best, self.calibration, self.held_out = choose_scores(scores, numbers, by_class=self.calibrates_classes)
        self.setting = self.settings[best]

    def log_probabilities(self, X: ComplexArray) -> FloatArray:
        """Return the log-probabilities of new shapes."""
        return self.calibration.log_probabilities(self.scores(X))

    def described_setting(self) -> str:
        """Return the setting in words."""
        parts = self.setting if isinstance(self.setting, tuple) else (self.setting,)
        return self.setting_names.format(*parts)


class _Learner(Method):
    """A method whose settings are those of an estimator, fitted to features or to a kernel matrix of the shapes."""

    rows: Any
    is_kernel: ClassVar[bool] = False

    @abstractmethod
    def learn(self, setting: Any, rows: Any, numbers: IntArray) -> Any:
        """Return a fitted estimator."""

    @abstractmethod
    def features(self, X: ComplexArray) -> Any:
        """Return the features of new shapes, or their kernel values with the training shapes."""

    def decide(self, model: Any, rows: Any) -> FloatArray:
        """Return a column of scores for each class."""
        decisions: FloatArray = model.decision_function(rows)
        return np.stack([-decisions, decisions], axis=1) if decisions.ndim == 1 else decisions

    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Fit every setting."""
        columns = kept if self.is_kernel else slice(None)
        known, new = self.rows[kept][:, columns], self.rows[held][:, columns]
        return [self.decide(self.learn(setting, known, numbers[kept]), new) for setting in self.settings]

    def fit(self, numbers: IntArray) -> None:
        """Fit one setting."""
        self.model = self.learn(self.setting, self.rows, numbers)
        del self.rows

    def scores(self, X: ComplexArray) -> FloatArray:
        """Score the features."""
        return self.decide(self.model, self.features(X))


class TangentDiscriminant(_Learner):
    """Linear discriminant analysis of tangent coordinates, with a shrunk covariance."""

    name = "tangent LDA"
    settings: Sequence[Any] = (0.01, 0.03, 0.1, 0.3, 0.7)
    setting_names = "shrinkage={:g}"

    def prepare(self, X: ComplexArray) -> None:
        """Map shapes to the tangent space at their mean."""
        self._tangent = TangentPCA(space=self.space).fit(X)
        self.rows = self.features(X)

    @classmethod
    def can_learn(cls, counts: IntArray) -> bool:
        """Return whether there are more shapes than classes."""
        return int(counts.sum()) > len(counts)

    def features(self, X: ComplexArray) -> FloatArray:
        """Return tangent coordinates."""
        coordinates: FloatArray = self._tangent.transform(X)
        return coordinates

    def learn(self, setting: Any, rows: Any, numbers: IntArray) -> Any:
        """Fit one shrinkage."""
        with warnings.catch_warnings():
            # A class that has one shape in a fold adds nothing to the covariance.
            warnings.filterwarnings("ignore", "Only one sample available", UserWarning)
            return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=setting).fit(rows, numbers)


class TangentMachine(TangentDiscriminant):
    """Support vector machine with a Gaussian kernel of tangent coordinates."""

    name = "tangent SVM"
    settings = _COSTS
    setting_names = "C={:g}"
    learns_from_sample = True

    def prepare(self, X: ComplexArray) -> None:
        """Map shapes to the tangent space, and choose the width of the kernel."""
        super().prepare(X)
        # As gamma="scale" of scikit-learn, for all shapes.
        self._gamma = 1 / (self.rows.shape[1] * float(self.rows.var()))

    def learn(self, setting: Any, rows: Any, numbers: IntArray) -> Any:
        """Fit one cost."""
        return SVC(C=setting, gamma=self._gamma).fit(rows, numbers)


class ProcrustesMachine(_Learner):
    """Support vector machine with a Gaussian kernel of full Procrustes distances."""

    name = "Procrustes kernel"
    settings = _COSTS
    setting_names = "C={:g}"
    learns_from_sample = True
    is_kernel = True

    def prepare(self, X: ComplexArray) -> None:
        """Compute the kernel of all pairs."""
        self._kernel = ProcrustesKernel(space=self.space)
        self.rows = self._kernel.fit_transform(X)

    def features(self, X: ComplexArray) -> FloatArray:
        """Return kernel values."""
        return self._kernel.transform(X)

    def learn(self, setting: Any, rows: Any, numbers: IntArray) -> Any:
        """Fit one cost."""
        return SVC(C=setting, kernel="precomputed").fit(rows, numbers)


class ClassDictionaries(_Learner):
    """One dictionary for each class."""

    name = "class dictionaries"
    # Atoms per class, maximum number per shape, and weight of the product of the space against the learned one.
    settings = ((1, 1, 0.1), (8, 3, 0.3))
    setting_names = "n_atoms={}, n_nonzero={}, shrinkage={:g}"
    calibrates_classes = True

    def prepare(self, X: ComplexArray) -> None:
        """Keep the shapes."""
        self.rows = X

    def features(self, X: ComplexArray) -> Any:
        """Return the shapes."""
        return X

    @classmethod
    def can_learn(cls, counts: IntArray) -> bool:
        """Return whether every class has two shapes."""
        return int(counts.min()) > 1

    def learn(self, setting: Any, rows: Any, numbers: IntArray) -> Any:
        """Learn the dictionaries of one size and product."""
        n_atoms, n_nonzero, shrinkage = setting
        model = ShapeDictionaryClassifier(
            n_atoms, n_nonzero, space=self.space, shrinkage=shrinkage, random_state=self.seed, **_QUICK
        )
        with warnings.catch_warnings():
            # More updates would hardly change which class is nearest.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(rows, numbers)

    def decide(self, model: Any, rows: Any) -> FloatArray:
        """Return the negative squared errors."""
        return -(np.asarray(model.class_errors(rows), dtype=np.float64) ** 2)


class ConvolutionRidge(Method):
    """Ridge regression of the classes on features by convolutions, each scaled to variance 1."""

    name = "convolutions"
    settings = tuple((mirror, penalty) for mirror in (False, True) for penalty in _PENALTIES)
    setting_names = "mirror={}, alpha={:.3g}"

    def prepare(self, X: ComplexArray) -> None:
        """Keep the shapes; features are computed where they are needed."""
        self._X = X
        self._grams: dict[bool, FloatArray] = {}

    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Solve for all penalties with one decomposition."""
        targets = _targets(numbers[kept])
        average = targets.mean(axis=0)
        found = []
        for mirror in (False, True):
            if mirror not in self._grams:
                rows = self._standardize(mirror)
                self._grams[mirror] = rows @ rows.T
            gram = self._grams[mirror]
            values, vectors = np.linalg.eigh(gram[np.ix_(kept, kept)])
            projected = vectors.T @ (targets - average)
            left = gram[np.ix_(held, kept)] @ vectors
            found += [left @ (projected / (np.maximum(values, 0) + one)[:, None]) + average for one in _PENALTIES]
        return found

    def fit(self, numbers: IntArray) -> None:
        """Solve for one penalty: in the space of shapes, or of features where there are fewer of them."""
        mirror, penalty = self.setting
        targets = _targets(numbers)
        self._average = targets.mean(axis=0)
        targets -= self._average
        rows = self._standardize(mirror)
        if len(rows) == len(numbers):
            self._weights: FloatArray = rows.T @ np.linalg.solve(rows @ rows.T + penalty * np.eye(len(rows)), targets)
        else:
            n_features = len(self._means)
            products, with_targets = penalty * np.eye(n_features), np.zeros((n_features, targets.shape[1]))
            for start in range(0, len(numbers), _BLOCK_ROWS):
                rows = self._features(self._X[start : start + _BLOCK_ROWS])
                products += rows.T @ rows
                with_targets += rows.T @ targets[start : start + _BLOCK_ROWS]
            self._weights = np.linalg.solve(products, with_targets)
        del self._X, self._grams

    def scores(self, X: ComplexArray) -> FloatArray:
        """Return the regression."""
        found: FloatArray = self._features(X) @ self._weights + self._average
        return found

    def _standardize(self, mirror: bool) -> FloatArray:
        """Learn features and their scales, and return those of at most MAX_COMPARED_SHAPES shapes."""
        self._convolutions = OutlineConvolutions(self.space, mirror, self.seed).fit(self._X)
        step = -(-len(self._X) // MAX_COMPARED_SHAPES)
        features = np.asarray(self._convolutions.transform(self._X[::step]), dtype=np.float64)
        self._means = features.mean(axis=0)
        # A constant feature stays 0 but for rounding.
        self._scales = features.std(axis=0) + _MIN_DEVIATION
        rows: FloatArray = (features - self._means) / self._scales
        return rows

    def _features(self, X: ComplexArray) -> FloatArray:
        features: FloatArray = (np.asarray(self._convolutions.transform(X)) - self._means) / self._scales
        return features


def _targets(numbers: IntArray) -> FloatArray:
    """Return 1 for the class of a shape and −1 for all others."""
    return np.where(numbers[:, None] == np.unique(numbers), 1.0, -1.0)


METHODS: tuple[type[Method], ...] = (
    TangentDiscriminant,
    TangentMachine,
    ProcrustesMachine,
    ClassDictionaries,
    ConvolutionRidge,
)
