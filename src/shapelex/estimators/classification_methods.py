"""The methods that :class:`~shapelex.ShapeClassifier` chooses from."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.estimators.folds import Calibration, Fold, choose_scores
from shapelex.estimators.outlines import OutlineConvolutions
from shapelex.estimators.principal_components import TangentPCA
from shapelex.estimators.procrustes_kernel import ProcrustesKernel
from shapelex.estimators.shape_dictionary_classifier import ShapeDictionaryClassifier
from shapelex.spaces import Space

# Number of shapes, at most, that methods are compared on, and that support vector machines learn from.
MAX_COMPARED_SHAPES = 4000

_COSTS = (1.0, 10.0, 100.0, 1000.0)
_PENALTIES = tuple(np.logspace(-1, 5, 13).tolist())
_MIN_DEVIATION = 1e-6
_BLOCK_ROWS = 2048
_QUICK: dict[str, Any] = {"coder": "ormp", "tie": 0, "n_swaps": 0, "tol": 1e-2}


class Method:
    """An estimator of several settings, of which the folds choose one, fitted to features or to a kernel of the shapes.

    Its name and settings are shown to the user. `view` names the registration of the shapes that it sees. What the
    folds choose are ``setting``, the ``calibration`` of its scores, and its ``weight`` in the prediction; ``held_out``
    are its log-probabilities of the held-out shapes.
    """

    name: ClassVar[str]
    settings: ClassVar[Sequence[Any]]
    setting_names: ClassVar[str]
    # Makes the features of shapes, or their kernel values with the training shapes; None for the shapes themselves.
    transformer: ClassVar[Callable[..., Any] | None] = None
    is_kernel: ClassVar[bool] = False
    learns_from_sample: ClassVar[bool] = False
    calibrates_classes: ClassVar[bool] = False
    # Whether classes of these numbers of shapes are enough.
    can_learn: "ClassVar[staticmethod[[IntArray], bool]]" = staticmethod(lambda counts: len(counts) > 0)
    setting: Any
    calibration: Calibration
    held_out: FloatArray
    weight: float = 0.0

    def __init__(self, space: Space, seed: int, view: str) -> None:
        self.space, self.seed, self.view = space, seed, view

    def make(self, setting: Any) -> Any:
        """Return an estimator that is not fitted."""
        raise NotImplementedError

    def learn(self, setting: Any, rows: Any, numbers: IntArray) -> Any:
        """Return a fitted estimator."""
        with warnings.catch_warnings():
            # A class that has one shape in a fold adds nothing to the covariance.
            warnings.filterwarnings("ignore", "Only one sample available", UserWarning)
            # More updates of dictionaries would hardly change which class is nearest.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self.make(setting).fit(rows, numbers)

    def decide(self, model: Any, rows: Any) -> FloatArray:
        """Return a column of scores for each class."""
        decisions: FloatArray = model.decision_function(rows)
        return np.stack([-decisions, decisions], axis=1) if decisions.ndim == 1 else decisions

    def prepare(self, X: ComplexArray) -> None:
        """Compute what does not depend on labels, from all shapes that the method may learn from."""
        self.rows: Any = X
        if self.transformer is not None:
            self._fitted_transformer = self.transformer(space=self.space)
            self.rows = self._fitted_transformer.fit_transform(X)

    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Return the scores of held-out rows in the classes of the kept ones, sorted, for every setting."""
        columns = kept if self.is_kernel else slice(None)
        known, new = self.rows[kept][:, columns], self.rows[held][:, columns]
        return [self.decide(self.learn(setting, known, numbers[kept]), new) for setting in self.settings]

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

    def fit(self, numbers: IntArray) -> None:
        """Fit the chosen setting to all shapes, and forget what only held-out scores need."""
        self.model = self.learn(self.setting, self.rows, numbers)
        del self.rows

    def log_probabilities(self, X: ComplexArray) -> FloatArray:
        """Return the log-probabilities of new shapes."""
        rows = X if self.transformer is None else self._fitted_transformer.transform(X)
        return self.calibration.log_probabilities(self.decide(self.model, rows))

    def described(self) -> dict[str, Any]:
        """Return what the folds chose, as JSON values."""
        factors, offsets = self.calibration.factors.tolist(), self.calibration.offsets.tolist()
        chosen = {"method": self.name, "view": self.view, "setting": self.setting, "weight": self.weight}
        return {**chosen, "factors": factors, "offsets": offsets}

    def described_setting(self) -> str:
        """Return the setting in words."""
        parts = self.setting if isinstance(self.setting, tuple) else (self.setting,)
        return self.setting_names.format(*parts)


class TangentDiscriminant(Method):
    """Linear discriminant analysis of tangent coordinates, with a shrunk covariance."""

    name = "tangent LDA"
    settings = (0.01, 0.03, 0.1, 0.3, 0.7)
    setting_names = "shrinkage={:g}"
    transformer = TangentPCA

    can_learn = staticmethod(lambda counts: counts.max() > 1)

    def make(self, setting: Any) -> Any:
        """Set the shrinkage."""
        return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=setting)


class TangentMachine(Method):
    """Support vector machine with a Gaussian kernel of tangent coordinates."""

    name = "tangent SVM"
    settings = _COSTS
    setting_names = "C={:g}"
    transformer = TangentPCA
    learns_from_sample = True

    def make(self, setting: Any) -> Any:
        """Set the cost."""
        return SVC(C=setting, kernel="precomputed" if self.is_kernel else "rbf")


class ProcrustesMachine(TangentMachine):
    """Support vector machine with a Gaussian kernel of full Procrustes distances."""

    name = "Procrustes kernel"
    transformer = ProcrustesKernel
    is_kernel = True


class ClassDictionaries(Method):
    """One dictionary for each class."""

    name = "class dictionaries"
    # Atoms per class, maximum number per shape, and weight of the product of the space against the learned one.
    settings = ((1, 1, 0.1), (8, 3, 0.3))
    setting_names = "n_atoms={}, n_nonzero={}, shrinkage={:g}"
    calibrates_classes = True

    can_learn = staticmethod(lambda counts: counts.min() > 1)

    def make(self, setting: Any) -> Any:
        """Set the size and the product."""
        n_atoms, n_nonzero, shrinkage = setting
        # A single atom is the mean of its class before any update.
        options = {"max_iter": 0 if n_atoms == 1 else 2, "random_state": self.seed, **_QUICK}
        return ShapeDictionaryClassifier(n_atoms, n_nonzero, space=self.space, shrinkage=shrinkage, **options)

    def decide(self, model: Any, rows: Any) -> FloatArray:
        """Return the negative squared errors."""
        return -(np.asarray(model.class_errors(rows), dtype=np.float64) ** 2)


class ConvolutionRidge(Method):
    """Ridge regression of the classes on features by convolutions, each scaled to variance 1."""

    name = "convolutions"
    settings = tuple((mirror, penalty) for mirror in (False, True) for penalty in _PENALTIES)
    setting_names = "mirror={}, alpha={:.3g}"

    def choose(self, numbers: IntArray, folds: list[Fold]) -> None:
        """Compute the products of the features of all shapes first."""
        features = (self._standardize(self.rows, mirror) for mirror in (False, True))
        self._grams = [rows @ rows.T for rows in features]
        super().choose(numbers, folds)
        del self._grams

    def held_out_scores(self, numbers: IntArray, kept: IntArray, held: IntArray) -> list[FloatArray]:
        """Solve for all penalties with one decomposition."""
        targets, average = _centered_targets(numbers[kept])
        found = []
        for gram in self._grams:
            values, vectors = np.linalg.eigh(gram[np.ix_(kept, kept)])
            projected = vectors.T @ targets
            left = gram[np.ix_(held, kept)] @ vectors
            found += [left @ (projected / (np.maximum(values, 0) + one)[:, None]) + average for one in _PENALTIES]
        return found

    def learn(self, setting: Any, rows: Any, numbers: IntArray) -> Any:
        """Solve for one penalty: in the space of shapes, or of features where there are fewer of them."""
        mirror, penalty = setting
        targets, average = _centered_targets(numbers)
        features = self._standardize(rows, mirror)
        if len(features) == len(rows):
            weights = features.T @ np.linalg.solve(features @ features.T + penalty * np.eye(len(rows)), targets)
            return weights, average
        n_features = features.shape[1]
        products, with_targets = penalty * np.eye(n_features), np.zeros((n_features, targets.shape[1]))
        for start in range(0, len(rows), _BLOCK_ROWS):
            features = self._features(rows[start : start + _BLOCK_ROWS])
            products += features.T @ features
            with_targets += features.T @ targets[start : start + _BLOCK_ROWS]
        return np.linalg.solve(products, with_targets), average

    def decide(self, model: Any, rows: Any) -> FloatArray:
        """Return the regression."""
        weights, average = model
        return np.asarray(self._features(rows) @ weights + average)

    def _standardize(self, X: ComplexArray, mirror: bool) -> FloatArray:
        """Learn features and their scales, and return those of at most MAX_COMPARED_SHAPES shapes."""
        self._convolutions = OutlineConvolutions(self.space, mirror, self.seed).fit(X)
        step = -(-len(X) // MAX_COMPARED_SHAPES)
        features = np.asarray(self._convolutions.transform(X[::step]), dtype=np.float64)
        self._means = features.mean(axis=0)
        # A constant feature stays 0 but for rounding.
        self._scales = features.std(axis=0) + _MIN_DEVIATION
        return np.asarray((features - self._means) / self._scales)

    def _features(self, X: ComplexArray) -> FloatArray:
        return np.asarray((self._convolutions.transform(X) - self._means) / self._scales)


def _centered_targets(numbers: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return 1 for the class of a shape and −1 for all others, less their averages, and these averages."""
    targets = np.where(numbers[:, None] == np.unique(numbers), 1.0, -1.0)
    average = targets.mean(axis=0)
    return targets - average, average


_KINDS = (TangentDiscriminant, TangentMachine, ProcrustesMachine, ClassDictionaries, ConvolutionRidge)
# The methods by name, in the order in which they are listed.
METHODS: dict[str, type[Method]] = {kind.name: kind for kind in _KINDS}


def read_method(entry: dict[str, Any], owner: Any) -> Method:
    """Return the method of a classifier that :meth:`Method.described` describes; raise ValueError for any other."""
    name, view, setting = entry["method"], entry["view"], entry["setting"]
    setting = tuple(setting) if isinstance(setting, list) else setting
    if name not in METHODS or view not in ("", owner._view) or setting not in METHODS[name].settings:
        raise ValueError(f"its method {name!r} of {view!r} with setting {setting!r} is unknown")
    method = METHODS[name](owner.space_, owner._seed, view)
    method.setting, method.weight = setting, float(entry["weight"])
    # Files of 0.1.0 hold the temperatures of class dictionaries, and the factors of other methods, as a scale.
    scale = np.array(entry["factors"] if "factors" in entry else entry["scale"], dtype=np.float64)
    factors = 1 / scale if method.calibrates_classes and "factors" not in entry else scale
    offsets = np.array(entry["offsets"], dtype=np.float64)
    is_sound = {factors.shape, offsets.shape} == {owner.classes_.shape} and np.isfinite([factors, offsets]).all()
    if not (is_sound and factors.min() > 0 and 0 <= method.weight < np.inf):
        size = len(owner.classes_)
        raise ValueError(f"{name!r} needs log-odds of {size} finite numbers, positive factors, and a weight from 0 on")
    method.calibration = Calibration(factors, offsets)
    return method
