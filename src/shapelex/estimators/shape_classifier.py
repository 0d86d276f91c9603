"""One classifier of shapes that chooses its methods by itself."""

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex.estimators.base import SavedEstimator, all_or_nothing, as_generator
from shapelex.estimators.class_candidates import (
    MAX_KERNEL_SHAPES,
    Candidate,
    ClassDictionaries,
    ConvolutionRidge,
    KernelMachine,
    ProcrustesMachine,
    TangentDiscriminant,
    TangentMachine,
)
from shapelex.estimators.class_labels import check_class_sizes, check_labels, own_labels
from shapelex.estimators.classifier_file import Decisions
from shapelex.estimators.decision_explanation import Explanation, explain_decision
from shapelex.estimators.inner_folds import Fold, Judged, accuracy, judge, log_loss, make_class_folds
from shapelex.estimators.outline_registration import OutlineRegistration
from shapelex.estimators.score_calibration import pool, pooling_weights
from shapelex.exceptions import ShapeInputError
from shapelex.spaces import Landmarks, Space
from shapelex.store.schema import Labels, Schema

if TYPE_CHECKING:
    pass

_log = logging.getLogger(__name__)

_N_FOLDS = 5
_MANY_SHAPES = 1000
_N_FOLDS_OF_MANY = 3
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

    ``save`` writes the training shapes and what the folds decided: methods, settings, calibrations and weights. Loading
    the file fits the chosen methods again, without the folds.

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
        units = _check_groups(groups, len(configurations))
        seed, fold_seed = (int(number) for number in generator.integers(2**31, size=2))
        sample = _sample_rows(numbers, generator)
        folds = _make_folds(numbers[sample], None if units is None else units[sample], fold_seed)
        judged = self._compare(configurations[sample], numbers[sample], folds, seed)
        self._choose(judged, numbers[sample], folds)
        self._fit_members(configurations, numbers, sample, seed)
        self._shapes, self._numbers = configurations[sample], numbers[sample]
        self._training, self._training_numbers, self._sample, self._seed = configurations, numbers, sample, seed
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
        if len(rows) != 1:
            raise ShapeInputError(f"shape must be one configuration, got {len(rows)}: explain them one by one.")
        return explain_decision(self, rows[0], rival)

    def _method_log_probabilities(self, configurations: ComplexArray) -> FloatArray:
        """Return log-probabilities by method, shape (n_methods, n_shapes, n_classes)."""
        views = {"": configurations}
        if any(view for view, _ in self._members):
            assert self.registration_ is not None
            views[self._view] = np.asarray(self.registration_.transform(configurations))
        return np.stack([member.log_probabilities(views[view]) for view, member in self._members])

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

    def _compare(self, X: ComplexArray, numbers: IntArray, folds: list[Fold], seed: int) -> list[tuple[str, Judged]]:
        """Return all methods with their best settings, by registration."""
        registrations: dict[str, OutlineRegistration | None] = {"": None}
        if self.space_.closed and self.space_.coordinates_per_point is not None:
            for reflection, name in ((False, "start"), (True, "start, reflection")):
                registrations[name] = OutlineRegistration(space=self.space_, reflection=reflection).fit(X)
        views = {name: X if found is None else found.transform(X) for name, found in registrations.items()}
        first = [(view, self._judge(TangentDiscriminant(), views[view], numbers, folds, seed)) for view in views]
        first += [(view, self._judge(ProcrustesMachine(), views[view], numbers, folds, seed)) for view in views]
        known = [(view, found) for view, found in first if found is not None]
        self._view = min(known, key=lambda one: log_loss(one[1].logarithms, numbers))[0]
        self.registration_ = registrations[self._view]
        others = [(self._view, candidate()) for candidate in self._pointwise]
        if self._is_curve:
            others.append(("", ConvolutionRidge()))
        for view, candidate in others:
            found = self._judge(candidate, views[view], numbers, folds, seed)
            if found is not None:
                known.append((view, found))
        return sorted(known, key=lambda one: _ORDER.index(type(one[1].candidate)))

    def _judge(
        self, candidate: Candidate, X: ComplexArray, numbers: IntArray, folds: list[Fold], seed: int
    ) -> Judged | None:
        if not all(candidate.can_learn(numbers[kept]) for kept, _ in folds):
            _log.info("%s is left out: a fold has too few shapes of a class", candidate.name)
            return None
        candidate.prepare(X, self.space_, seed)
        return judge(candidate, numbers, folds)

    def _choose(self, judged: list[tuple[str, Judged]], numbers: IntArray, folds: list[Fold]) -> None:
        """Learn the weights of the methods, keep those that matter, and write the table of all."""
        import pandas as pd

        used = [
            (view, one) for view, one in judged if view == self._view or isinstance(one.candidate, ConvolutionRidge)
        ]
        machines = [one for _, one in used if isinstance(one.candidate, KernelMachine)]
        # Their distances are almost the same: both together would count twice.
        machines.remove(min(machines, key=lambda one: log_loss(one.logarithms, numbers)))
        used = [(view, one) for view, one in used if one not in machines]
        logarithms = np.stack([one.logarithms for _, one in used])
        weights = pooling_weights(logarithms, numbers)
        matters = weights >= _MIN_WEIGHT * weights.sum()
        logarithms = logarithms[matters]
        self.weights_ = pooling_weights(logarithms, numbers)
        self._members = [one for one, matter in zip(used, matters, strict=True) if matter]
        self.candidates_ = [one.candidate.name for _, one in self._members]
        by_member = {id(one): weight for (_, one), weight in zip(self._members, self.weights_, strict=True)}
        held_out = np.empty(logarithms.shape[1:])
        for kept, held in folds:
            held_out[held] = pool(logarithms[:, held], pooling_weights(logarithms[:, kept], numbers[kept]))
        rows = [_score_row(view, one, numbers, by_member.get(id(one), 0.0)) for view, one in judged]
        total = {"method": "all by weight", "registration": "", "setting": "", "weight": float("nan")}
        rows.append(total | {"accuracy": accuracy(held_out, numbers), "log_loss": log_loss(held_out, numbers)})
        columns = ["method", "registration", "setting", "accuracy", "log_loss", "weight"]
        self.scores_: pd.DataFrame = pd.DataFrame(rows)[columns]

    def _fit_members(self, X: ComplexArray, numbers: IntArray, sample: IntArray, seed: int) -> None:
        """Fit the chosen settings to the shapes that the methods can learn from."""
        whole = X
        if len(sample) < len(X) and self.registration_ is not None:
            whole = np.asarray(self.registration_.transform(X))
        for view, member in self._members:
            candidate = member.candidate
            if len(sample) == len(X) or candidate.max_shapes is not None:
                candidate.fit(numbers[sample], member.setting)
            else:
                candidate.prepare(whole if view else X, self.space_, seed)
                candidate.fit(numbers, member.setting)
            member.logarithms = member.logarithms[:0]

    def _refit_members(self) -> None:
        """Fit the methods of a model file to its training shapes."""
        X, numbers, sample = self._training, self._training_numbers, self._sample
        self._shapes, self._numbers = X[sample], numbers[sample]
        views = {"": self._shapes}
        self.registration_ = None
        if self._view:
            reflection = "reflection" in self._view
            self.registration_ = OutlineRegistration(space=self.space_, reflection=reflection).fit(self._shapes)
            views[self._view] = np.asarray(self.registration_.transform(self._shapes))
        for view, member in self._members:
            member.candidate.prepare(views[view], self.space_, self._seed)
        self._fit_members(X, numbers, sample, self._seed)

    def _check_loaded(self) -> None:
        self.predict(self._training[:1])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_members") and hasattr(self, "weights_")


_ORDER = (TangentDiscriminant, TangentMachine, ProcrustesMachine, ClassDictionaries, ConvolutionRidge)


def _score_row(view: str, judged: Judged, numbers: IntArray, weight: float) -> dict[str, Any]:
    return {
        "method": judged.candidate.name,
        "registration": view,
        "setting": judged.candidate.describe(judged.setting),
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


def _check_groups(groups: ArrayLike | None, n_shapes: int) -> IntArray | None:
    """Return the number of the group of each shape."""
    if groups is None:
        return None
    given = np.asarray(groups)
    if given.shape != (n_shapes,):
        raise ShapeInputError(
            f"groups must hold one entry per shape: X has {n_shapes} shapes, groups has shape {given.shape}."
        )
    units = np.unique(given, return_inverse=True)[1]
    if units.max() == 0:
        raise ShapeInputError("groups must hold at least 2 groups to make folds of, got one: leave groups out.")
    return units


def _sample_rows(numbers: IntArray, generator: np.random.Generator) -> IntArray:
    """Return all rows, or a random sample that has its share of every class, and at least two shapes of each."""
    if len(numbers) <= MAX_KERNEL_SHAPES:
        return np.arange(len(numbers))
    share = MAX_KERNEL_SHAPES / len(numbers)
    chosen = []
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        n_rows = max(2, round(share * len(rows)))
        chosen.append(generator.choice(rows, size=n_rows, replace=False))
    return np.sort(np.concatenate(chosen))


def _make_folds(numbers: IntArray, units: IntArray | None, seed: int) -> list[Fold]:
    n_folds = _N_FOLDS if len(numbers) < _MANY_SHAPES else _N_FOLDS_OF_MANY
    n_folds = min(n_folds, int(np.bincount(numbers).max()))
    if units is not None:
        n_folds = min(n_folds, len(np.unique(units)))
    folds = make_class_folds(numbers, units, n_folds, seed)
    if any(len(np.unique(numbers[kept])) < 2 for kept, _ in folds):
        raise ShapeInputError(
            "groups must leave shapes of at least 2 classes to learn from when one fold is held out: every class needs "
            "shapes of several groups."
        )
    return folds
