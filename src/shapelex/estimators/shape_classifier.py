"""One classifier of shapes that chooses its methods by itself."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex.estimators.base import SavedEstimator, all_or_nothing, as_generator
from shapelex.estimators.class_candidates import (
    METHODS,
    Candidate,
    ClassDictionaries,
    ConvolutionRidge,
    KernelMachine,
    ProcrustesMachine,
    TangentDiscriminant,
    TangentMachine,
)
from shapelex.estimators.class_labels import check_class_sizes, check_labels, own_labels
from shapelex.estimators.classifier_file import VIEWS, Decisions
from shapelex.estimators.decision_explanation import Explanation, explain_decision
from shapelex.estimators.inner_folds import (
    Fold,
    Judged,
    accuracy,
    check_groups,
    count_inner_folds,
    judge,
    log_loss,
    make_class_folds,
    sample_rows,
)
from shapelex.estimators.outline_registration import OutlineRegistration
from shapelex.estimators.score_calibration import pool, pooling_weights
from shapelex.exceptions import ShapeInputError
from shapelex.spaces import Landmarks, Space
from shapelex.store.schema import Labels, Schema

_log = logging.getLogger(__name__)

_BLOCK_ROWS = 2048
# Landmarks of an open space with at least so many points are taken for a curve.
_MIN_CURVE_POINTS = 20
# A method with less weight changes few probabilities, and takes as long to compute as the others.
_MIN_WEIGHT = 0.02


class ShapeClassifier(ClassifierMixin, SavedEstimator):  # type: ignore[misc]
    """Classify shapes by the methods that are accurate on held-out training shapes.

    Several methods are compared by stratified folds of the training shapes:

    - *tangent LDA*: linear discriminant analysis with a shrunk covariance, in the tangent space at the mean shape;
    - *tangent SVM*: a support vector machine with a Gaussian kernel, in the same tangent space;
    - *Procrustes kernel*: a support vector machine with a Gaussian kernel of full distances,
      see :class:`ProcrustesKernel`;
    - *class dictionaries*: one dictionary for each class, see :class:`ShapeDictionaryClassifier`;
    - *convolutions*, for curves only: ridge regression on :class:`OutlineConvolutions`.

    The settings of a method (shrinkage, cost, penalty, size) are those of least log loss of the held-out shapes, and
    its scores are turned into probabilities by the same shapes. The probabilities of all methods are then multiplied,
    each to the power of a weight: the weights, too, maximize the likelihood of the held-out labels, with a penalty
    that keeps them nearly equal where there are few shapes. Of the two support vector machines, which see almost the
    same distances, only the better one is used.

    Closed outlines may have start points that do not correspond. The first four methods are therefore also tried
    after an :class:`OutlineRegistration`, with and without reflections, and the best of the three is used.

    Parameters
    ----------
    space : Space, optional
        Space of the configurations; when not given, that of a `ShapeSet`, otherwise open landmarks. Give
        ``Landmarks(n_points, closed=True)`` for arrays of closed outlines.
    random_state : int, Generator, RandomState or None, default None
        Seed of the folds and of all random draws.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    scores_ : pandas.DataFrame
        One row for each method and registration that was compared: ``method``, ``registration``, ``setting``,
        ``accuracy`` and ``log_loss`` of held-out shapes, and the ``weight`` of the method in the prediction, 0 where
        it is not used. The last row, ``all by weight``, is the prediction itself, with weights learned without the
        held-out shapes.
    candidates_ : list of str
        The methods with a weight, in the order of ``scores_``.
    weights_ : ndarray of float, shape (n_candidates,)
        Their weights.
    registration_ : OutlineRegistration or None
        The fitted registration, where outlines are registered for the methods other than convolutions.
    space_ : Space
        Space of the configurations.
    n_features_in_ : int
        Number of coordinates.

    Notes
    -----
    There are five folds, and three from 1000 shapes on. Beyond 4000 shapes, methods are compared on a random sample
    of 4000; both support vector machines learn from this sample, all other methods from all shapes.

    A class needs two shapes. Methods that cannot be fitted to so few shapes are left out: linear discriminant analysis
    needs more shapes than classes, a class dictionary two shapes in each fold.

    A model file holds the training shapes and what the folds chose. :func:`shapelex.load` fits the chosen methods to
    these shapes again, without folds.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(12) / 12)
    >>> X = circle + rng.normal(size=(40, 2)) @ [0.1 * circle**2, 0.1 * circle**3]
    >>> X[20:] += 0.5 * circle**-1
    >>> y = np.repeat(["round", "long"], 20)
    >>> model = sx.ShapeClassifier(random_state=0).fit(X, y)
    >>> model.predict([1j * circle, circle + 0.5 / circle])
    array(['round', 'long'], dtype='<U5')
    >>> model.candidates_
    ['tangent LDA', 'Procrustes kernel', 'class dictionaries']
    """

    _schema = Schema((Labels("classes_", "n_classes"), Decisions("members")))

    # Methods that compare shapes point by point, besides the two that choose the registration.
    _pointwise: tuple[type[Candidate], ...] = (TangentMachine, ClassDictionaries)

    def __init__(self, space: Space | None = None, random_state: Any = None) -> None:
        self.space = space
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> "ShapeClassifier":
        """Compare the methods by folds, and fit those that are used.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : array_like of shape (n_shapes,), optional
            Labels: text or integers. By default those of the set `X`.
        groups : array_like of shape (n_shapes,), optional
            Shapes of the same group, such as the two wings of an insect, stay in one fold.

        Returns
        -------
        ShapeClassifier
            The estimator itself.

        Raises
        ------
        ShapeInputError
            If there are no labels, a single class, a class with a single shape, or a single group.
        NonFiniteError
            If a landmark is missing: :func:`shapelex.impute` fills it in.
        """
        generator = as_generator(self.random_state)
        configurations = self._read_fit_input(X)
        self.space_.whitened_preshapes(configurations, "X")
        labels = check_labels(own_labels(X, type(self).__name__) if y is None else y, len(configurations))
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        _check_classes(self.classes_, numbers)
        units = check_groups(groups, len(configurations))
        self._seed, fold_seed = (int(number) for number in generator.integers(2**31, size=2))
        self._shapes, self._numbers, self._sample = configurations, numbers, sample_rows(numbers, generator)
        sampled = numbers[self._sample]
        sampled_units = None if units is None else units[self._sample]
        folds = make_class_folds(sampled, sampled_units, count_inner_folds(sampled, sampled_units), fold_seed)
        judged = self._compare(configurations[self._sample], sampled, folds)
        self._choose(judged, sampled, folds)
        self._fit_members({(type(one.candidate), view): one.candidate for view, one in judged})
        return self

    @keeps_array_kind
    def predict(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of shape (n_shapes,)
            Labels; a tie goes to the first class.
        """
        numbers = np.argmax(self._log_probabilities(X), axis=1)
        labels: np.ndarray[Any, Any] = self.classes_[numbers]
        return labels

    @keeps_array_kind
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float64, shape (n_shapes, n_classes)
            Rows sum to 1, classes as in ``classes_``. They are estimates for shapes that come like the training
            shapes: the frequencies of the classes are those of the training set.
        """
        probabilities: FloatArray = np.exp(self._log_probabilities(X))
        return probabilities

    def explain(self, shape: ArrayLike, rival: Any = None) -> Explanation:
        """Show what decided about one shape.

        Every method gives its probabilities. The nearest training shapes of the predicted class and of its rival show
        what the shape was compared with. Then one stretch of the shape after the other (of landmarks: one landmark
        after the other) is replaced by that of the nearest shape of the rival: where this lowers the odds of the
        predicted class most, the stretch decided for it.

        Parameters
        ----------
        shape : array_like, complex (n_coordinates,) or real (n_points, 2)
            One configuration.
        rival : label, optional
            The class to compare the predicted one with; by default the second most probable.

        Returns
        -------
        Explanation
            The probabilities, shapes and effects, with ``to_dataframe`` and ``plot``.

        Raises
        ------
        ShapeInputError
            If there is more than one shape, or `rival` is the predicted class or no class.
        """
        rows = np.asarray(self._open_new_input(shape)[:])
        self.space_.whitened_preshapes(rows, "shape")
        if len(rows) != 1:
            raise ShapeInputError(f"shape must be one configuration, got {len(rows)}: explain them one by one.")
        return explain_decision(self, rows[0], rival)

    @property
    def candidates_(self) -> list[str]:
        """Names of the methods that are used."""
        return [METHODS[method].name for method in self._choices[:, 0]]

    def _method_log_probabilities(self, configurations: ComplexArray) -> FloatArray:
        """Return log-probabilities by method, shape (n_methods, n_shapes, n_classes)."""
        views = {0: configurations}
        if self._view and self._view in self._choices[:, 2]:
            assert self.registration_ is not None
            views[self._view] = np.asarray(self.registration_.transform(configurations))
        found = []
        for (_, _, view), member, scale, offset in zip(
            self._choices, self._members, self._scales, self._offsets, strict=True
        ):
            calibration = member.calibration(scale, offset)
            found.append(log_softmax(calibration.scores(member.scores(views[int(view)])), axis=1))
        return np.stack(found)

    def _log_probabilities(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        shapes = self._open_new_input(X)
        parts = []
        for block in shapes.blocks(_BLOCK_ROWS):
            shapes.space.whitened_preshapes(block.configurations, block.name, block.first_row)
            parts.append(pool(self._method_log_probabilities(block.configurations), self.weights_))
        return np.concatenate(parts)

    @property
    def _is_curve(self) -> bool:
        """Whether coordinates follow a curve, so that neighbors in order are neighbors in space."""
        return self.space_.closed or not isinstance(self.space_, Landmarks) or self.n_features_in_ >= _MIN_CURVE_POINTS

    def _compare(self, X: ComplexArray, numbers: IntArray, folds: list[Fold]) -> list[tuple[int, Judged]]:
        """Return all methods with their best settings, by registration, and choose the registration."""
        n_views = len(VIEWS) if self.space_.closed and self.space_.coordinates_per_point is not None else 1
        registrations = [self._registration(view, X) for view in range(n_views)]
        views = [X if found is None else np.asarray(found.transform(X)) for found in registrations]
        tried: list[tuple[int, Candidate]] = [
            (view, candidate()) for candidate in (TangentDiscriminant, ProcrustesMachine) for view in range(n_views)
        ]
        judged = self._judge(tried, views, numbers, folds)
        self._view = min(judged, key=lambda one: log_loss(one[1].logarithms, numbers))[0]
        self.registration_ = registrations[self._view]
        tried = [(self._view, candidate()) for candidate in self._pointwise]
        if self._is_curve:
            tried.append((0, ConvolutionRidge()))
        judged += self._judge(tried, views, numbers, folds)
        return sorted(judged, key=lambda one: METHODS.index(type(one[1].candidate)))

    def _registration(self, view: int, X: ComplexArray) -> OutlineRegistration | None:
        """Return the registration of a view, fitted to the shapes; None for shapes as they come."""
        if view == 0:
            return None
        return OutlineRegistration(space=self.space_, reflection="reflection" in VIEWS[view]).fit(X)

    def _judge(
        self, tried: list[tuple[int, Candidate]], views: list[ComplexArray], numbers: IntArray, folds: list[Fold]
    ) -> list[tuple[int, Judged]]:
        """Return the candidates that the folds have enough shapes for, with their best settings."""
        judged = []
        for view, candidate in tried:
            if all(candidate.can_learn(numbers[kept]) for kept, _ in folds):
                candidate.prepare(views[view], self.space_, self._seed)
                judged.append((view, judge(candidate, numbers, folds)))
            else:
                _log.info("%s is left out: a fold has too few shapes of a class", candidate.name)
        return judged

    def _choose(self, judged: list[tuple[int, Judged]], numbers: IntArray, folds: list[Fold]) -> None:
        """Learn the weights of the methods, keep those that matter, and note the scores of all."""
        import pandas as pd

        used = [one for view, one in judged if view == self._view or isinstance(one.candidate, ConvolutionRidge)]
        machines = [one for one in used if isinstance(one.candidate, KernelMachine)]
        # Their distances are almost the same: both together would count twice.
        machines.remove(min(machines, key=lambda one: log_loss(one.logarithms, numbers)))
        used = [one for one in used if one not in machines]
        weights = pooling_weights(np.stack([one.logarithms for one in used]), numbers)
        used = [one for one, weight in zip(used, weights, strict=True) if weight >= _MIN_WEIGHT * weights.sum()]
        logarithms = np.stack([one.logarithms for one in used])
        self.weights_ = pooling_weights(logarithms, numbers)
        n_classes = len(self.classes_)
        self._scales = np.stack([np.broadcast_to(one.calibration.scale, n_classes) for one in used])
        self._offsets = np.stack([one.calibration.offsets for one in used])
        self._choices = np.array(
            [(METHODS.index(type(one.candidate)), one.setting, view) for view, one in judged if one in used],
            dtype=np.int64,
        )
        weight_of = dict(zip(map(id, used), self.weights_.tolist(), strict=True))
        rows = [_score_row(view, one, numbers, weight_of.get(id(one), 0.0)) for view, one in judged]
        held_out = np.empty(logarithms.shape[1:])
        for kept, held in folds:
            held_out[held] = pool(logarithms[:, held], pooling_weights(logarithms[:, kept], numbers[kept]))
        scores = {"accuracy": accuracy(held_out, numbers), "log_loss": log_loss(held_out, numbers), "weight": np.nan}
        self.scores_ = pd.DataFrame([*rows, {"method": "all by weight", "registration": "", "setting": ""} | scores])

    def _fit_members(self, prepared: Mapping[tuple[type[Candidate], int], Candidate]) -> None:
        """Fit the chosen settings to the shapes that the methods can learn from; candidates may be prepared already."""
        views: dict[int, ComplexArray] = {0: self._shapes}
        if self._view:
            assert self.registration_ is not None
            views[self._view] = np.asarray(self.registration_.transform(self._shapes))
        self._members = []
        for method, setting, view in self._choices.tolist():
            candidate = METHODS[method]()
            is_sampled = candidate.max_shapes is not None or len(self._sample) == len(self._shapes)
            rows = self._sample if is_sampled else np.arange(len(self._shapes))
            known = prepared.get((type(candidate), view))
            if is_sampled and known is not None:
                candidate = known
            else:
                candidate.prepare(views[view][rows], self.space_, self._seed)
            candidate.fit(self._numbers[rows], candidate.settings[setting])
            self._members.append(candidate)

    def _check_loaded(self) -> None:
        self.registration_ = self._registration(self._view, self._shapes[self._sample])
        self._fit_members({})
        self.predict(self._shapes[:1])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_members")


def _score_row(view: int, judged: Judged, numbers: IntArray, weight: float) -> dict[str, Any]:
    candidate = judged.candidate
    return {
        "method": candidate.name,
        "registration": VIEWS[view],
        "setting": candidate.describe(candidate.settings[judged.setting]),
        "accuracy": accuracy(judged.logarithms, numbers),
        "log_loss": log_loss(judged.logarithms, numbers),
        "weight": weight,
    }


def _check_classes(classes: np.ndarray[Any, Any], numbers: IntArray) -> None:
    if len(classes) == 1:
        raise ShapeInputError(
            f"y must hold at least 2 classes to tell apart, got one class, {classes.tolist()[0]!r}: add shapes of "
            "another class."
        )
    check_class_sizes(classes, numbers)
