"""Sparse representation classification: one dictionary per class, and the class of least error is predicted."""

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_number, check_positive, check_weights, name_rows
from shapelex.estimators.base import SavedEstimator, all_or_nothing, as_generator
from shapelex.estimators.dictionary_learning import RENEWED_PARAMETERS, make_options, write_progress
from shapelex.estimators.folds import choose_scores, make_folds
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.files.model_file import EstimatorList
from shapelex.files.schema import Array, Count, Labels, Number, OtherSpace, Schema
from shapelex.geometry.means import full_mean
from shapelex.learning.descent import LearningParameters
from shapelex.shapes.columns import check_present
from shapelex.shapes.set import fold_groups
from shapelex.spaces import CustomSpace, Space

# Close to the least log loss on held-out shapes of the two sets on which it was tried, for all dictionary sizes.
_TEMPERATURE_SHARE = 0.25
_DEFAULT_SHRINKAGE = 0.1
_SHRINKAGES = (0.03, 0.1, 0.3, 1.0)
# Parameters that are passed to the dictionary of each class.
_SHARED_PARAMETERS = ("coder", "tie", "n_swaps", "n_restarts", "max_iter", "tol", "n_jobs")


class ProbabilityClassifier(ClassifierMixin, SavedEstimator):  # type: ignore[misc]
    """A classifier of shapes that predicts the most probable class."""

    classes_: np.ndarray[Any, Any]

    @abstractmethod
    def _log_odds(self, X: ArrayLike) -> FloatArray:
        """Return the logarithms of the probabilities of all classes, up to a constant for each shape."""

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
        numbers = np.argmax(self._log_odds(X), axis=1)
        return np.asarray(self.classes_[numbers])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class; the Notes of the class say how it is estimated.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float64, shape (n_shapes, n_classes)
            Rows sum to 1, classes as in ``classes_``.
        """
        return np.asarray(softmax(self._log_odds(X), axis=1))


@dataclass(eq=False, repr=False)
class ShapeDictionaryClassifier(LearningParameters, ProbabilityClassifier):
    """Classify shapes by the class whose dictionary reconstructs them best.

    Learns one :class:`ShapeDictionary` from the shapes of each class: only the error at
    `n_nonzero` matters here. The error of class ``c`` for a shape is the full
    Procrustes distance ``d_c`` to its reconstruction from at most `n_nonzero` atoms of that class. The class of least
    error is predicted (sparse representation classification); the frequency of a class has no influence unless `cv` is
    given.

    Distances are measured with a product that is learned from the labels: directions in which shapes of the same class
    vary count less, as in linear discriminant analysis (see `shrinkage`).

    Parameters
    ----------
    n_atoms : int, default 8
        Number of atoms per class. A class with fewer shapes has as many atoms as shapes.
    n_nonzero : int, default 3
        Maximum number of atoms per shape; all atoms in a class that has fewer.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    coder : {"auto", "exact", "beam", "ormp", "omp"}, default "auto"
        How to find the atoms of a shape, see :func:`shapelex.encode`.
    tie : float, optional
        0 not to hold the atoms near their start, see :class:`ShapeDictionary`.
    n_swaps : int, optional
        Number of swaps of atoms for each dictionary, see :class:`ShapeDictionary`; none by default.
    n_restarts : int, default 1
        Number of descents from different first dictionaries for each class; the best result is kept.
    max_iter : int, default 100
        Maximum number of updates per descent.
    tol : float, default 1e-5
        A descent ends when an update changes the objective by no more than this fraction of it.
    n_jobs : int, optional
        Maximum number of threads; −1 or None for all processors. Results are the same to the bit for any number.
    random_state : int, Generator, RandomState or None, default None
        Seed of all random draws.
    verbose : bool, default False
        Whether to write a line to standard error for every dictionary that was learned.
    shrinkage : float or "auto", default "auto"
        Weight of the product of the space against the learned one, above 0 and at most 1. Small values need many shapes
        that correspond point by point; 1 uses the product of the space. ``"auto"`` is 0.1, and with `cv` the value
        among 0.03, 0.1, 0.3 and 1 that maximizes the likelihood of the labels of held-out shapes.
    cv : int, optional
        Number of folds. Where given, the scale of the errors and the frequency of each class (see
        :meth:`predict_proba`) and `shrinkage` are learned from held-out errors. This takes that many more fits for
        every shrinkage, and helps where classes differ in variation or in number of shapes. By default the errors of
        all classes are compared unchanged. Every fold must leave each class 2 shapes to learn from: where the smallest
        class has too few, fewer folds are used, or none for a class of 2 shapes, with a warning.
    temperature : float, optional
        Squared distance that makes a class less probable by a factor ``e``, see :meth:`predict_proba`. By default a
        quarter of the mean squared error of the training shapes in the nearest class that is not theirs. With `cv`
        it is learned, and must not be given.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    dictionaries_ : list of ShapeDictionary
        The fitted dictionary of each class.
    metric_space_ : Space
        Space of the dictionaries, with the learned product; ``space_`` where none was learned.
    shrinkage_ : float
        The `shrinkage`, or the chosen value.
    temperature_ : float
        The `temperature`, or its estimate; with `cv` the geometric mean of ``temperatures_``.
    temperatures_, offsets_ : ndarray of float, shape (n_classes,)
        Scale of the squared errors of each class, and the offset of its score: all equal and zero without `cv`.
    n_iter_ : int
        Largest number of updates of a dictionary.
    space_ : Space
        Space of the configurations.
    n_features_in_ : int
        Number of coordinates.

    Notes
    -----
    The predicted class is that of least error; with `cv`, the most probable one. The probability of a class is
    proportional to ``exp(−d_c² / temperature_)``: Bayes' rule for equally frequent classes whose errors are Gaussian
    with the same scale. With `cv`, it is proportional to ``exp(offset_c − d_c² / temperature_c)``, where temperatures
    and offsets maximize the likelihood of the labels given the held-out errors, with a penalty on their differences
    between classes.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(12) / 12)
    >>> X = circle + rng.normal(size=(40, 2)) @ [0.1 * circle**2, 0.1 * circle**3]
    >>> X[20:] += 0.5 * circle**-1
    >>> y = np.repeat(["round", "long"], 20)
    >>> model = sx.ShapeDictionaryClassifier(n_atoms=3, n_nonzero=2, random_state=0).fit(X, y)
    >>> model.predict([1j * circle, circle + 0.5 / circle])
    array(['round', 'long'], dtype='<U5')
    >>> model.class_errors(X).shape
    (40, 2)
    """

    n_atoms: int = 8
    n_nonzero: int = 3
    _: KW_ONLY
    shrinkage: float | Literal["auto"] = "auto"
    cv: int | None = None
    temperature: float | None = None

    _schema = Schema(
        Labels("classes_", "n_classes"),
        Array("temperatures_", "float", ("n_classes",)),
        Array("offsets_", "float", ("n_classes",)),
        Number("temperature_"),
        Number("shrinkage_"),
        Count("n_iter_"),
        OtherSpace("metric_space_", "metric"),
        EstimatorList("dictionaries_", ShapeDictionary, "n_classes", "metric_space_", "dictionaries", "class"),
        removed=("update",),
        renewed=RENEWED_PARAMETERS,
    )

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn a dictionary for each class.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : array_like of shape (n_shapes,), optional
            Labels: text or integers. By default those of the set `X`.
        sample_weight : array_like of float, shape (n_shapes,), optional
            Weight of each shape in its class; a shape of weight zero is left out.

        Returns
        -------
        ShapeDictionaryClassifier
            The estimator itself.

        Raises
        ------
        ShapeInputError
            If a class has a single shape, `y` does not have one label per shape, or there are no labels.

        Warns
        -----
        ConvergenceWarning
            If a dictionary still changed after `max_iter` updates.
        UserWarning
            If a class has too few shapes for `cv` folds.
        """
        self._check_parameters()
        configurations = self._read_fit_input(X)
        labels = check_labels(X, y, len(configurations), type(self).__name__)
        weights: FloatArray = np.ones(len(labels))
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(labels), np.dtype(np.float64), "sample_weight")
        counts = weights > 0
        configurations, weights = configurations[counts], weights[counts]
        self.classes_, numbers = number_classes(labels[counts])
        # Shapes that are not independent are held out together, and count as one.
        units = None if self.cv is None else fold_groups(X, None, labels)
        units = np.arange(len(numbers)) if units is None else units[counts]
        sizes = np.bincount(np.unique(np.stack([numbers, units]), axis=1)[0])
        n_folds = _count_folds(self.cv, sizes)
        shrinkages = _check_shrinkage(self.shrinkage, chooses=n_folds > 0)
        generator = as_generator(self.random_state)
        self.shrinkage_ = shrinkages[0]
        if n_folds:
            kept_together = units if len(np.unique(units)) < len(units) else None
            fold_seed = int(generator.integers(2**31))
            folds = make_folds(n_folds, len(numbers), kept_together, classes=numbers, seed=fold_seed)
            errors = np.empty((len(shrinkages), len(numbers), len(self.classes_)))
            model = clone(self).set_params(space=self.space_, cv=None, temperature=1.0, random_state=generator)
            for shrinkage, held_out in zip(shrinkages, errors, strict=True):
                model.set_params(shrinkage=shrinkage)
                for kept, held in folds:
                    model.fit(configurations[kept], numbers[kept], weights[kept])
                    held_out[held] = model.class_errors(configurations[held])
            best, calibration, _ = choose_scores(-(errors**2), numbers, weights, by_class=True)
            self.temperatures_, self.offsets_ = 1 / calibration.factors, calibration.offsets
            self.shrinkage_ = shrinkages[best]
        self._learn(configurations, numbers, weights, generator)
        if n_folds == 0:
            temperature = self._find_temperature(configurations, numbers, weights)
            self.temperatures_, self.offsets_ = np.full(len(self.classes_), temperature), np.zeros(len(self.classes_))
        self.temperature_ = float(np.exp(np.log(self.temperatures_).mean()))
        return self

    def class_errors(self, X: ArrayLike) -> FloatArray:
        """Full Procrustes distance from each shape to its reconstruction by each class.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_classes)
            Distances between 0 and 1 in ``metric_space_``, classes as in ``classes_``.
        """
        return self._class_errors(self._open_new_input(X).in_space(self.metric_space_))

    def _class_errors(self, shapes: Any) -> FloatArray:
        return np.stack([np.asarray(dictionary.errors(shapes)) for dictionary in self.dictionaries_], axis=1)

    def _thumbnails(self) -> tuple[ComplexArray, list[str]]:
        if not hasattr(self, "dictionaries_"):
            return super()._thumbnails()
        rows = np.concatenate([dictionary.atoms_ for dictionary in self.dictionaries_])
        named = zip(self.classes_, self.dictionaries_, strict=True)
        return rows, [f"{name}: atom {atom}" for name, found in named for atom in range(len(found.atoms_))]

    def _log_odds(self, X: ArrayLike) -> FloatArray:
        errors = np.asarray(self.class_errors(X), dtype=np.float64)
        return self.offsets_ - errors**2 / np.maximum(self.temperatures_, np.finfo(np.float64).tiny)

    def _check_parameters(self) -> None:
        """Refuse parameters that no set of shapes could be fitted with."""
        make_options(self)
        _check_shrinkage(self.shrinkage, chooses=False)
        if self.temperature is not None:
            check_positive(self.temperature, "temperature")
        if self.cv is not None:
            check_count(self.cv, 2, "cv")
            if self.temperature is not None:
                raise ParameterError("temperature must be None with cv, which learns it: leave one of them out.")

    def _check_loaded(self) -> None:
        self._check_parameters()
        if not (min(self.temperature_, *self.temperatures_) > 0 and 0 < self.shrinkage_ <= 1):
            raise ValueError("its temperatures must be positive, its shrinkage_ above 0 and at most 1")

    def _learn(
        self, configurations: ComplexArray, numbers: IntArray, weights: FloatArray, generator: np.random.Generator
    ) -> None:
        """Learn the product, then the dictionaries in its space."""
        self.metric_space_ = self.space_
        if self.shrinkage_ < 1:
            rows = self.space_.whitened_preshapes(configurations, "X")
            self.metric_space_ = _within_class_space(rows, numbers, weights, self.space_, self.shrinkage_)
        shared = {name: getattr(self, name) for name in _SHARED_PARAMETERS}
        self.dictionaries_ = []
        for number, name in enumerate(self.classes_):
            is_member = numbers == number
            n_atoms = min(self.n_atoms, int(is_member.sum()))
            n_nonzero, seed = min(self.n_nonzero, n_atoms), int(generator.integers(2**31))
            dictionary = ShapeDictionary(n_atoms, n_nonzero, space=self.metric_space_, random_state=seed, **shared)
            self.dictionaries_.append(dictionary.fit(configurations[is_member], sample_weight=weights[is_member]))
            if self.verbose:
                write_progress(
                    f"{type(self).__name__}: class {name} ({number + 1}/{len(self.classes_)}), {is_member.sum()} "
                    f"shapes, shrinkage {self.shrinkage_:g}, RMSE {dictionary.rmse_:.6f}"
                )
        self.n_iter_ = max(dictionary.n_iter_ for dictionary in self.dictionaries_)

    def _find_temperature(self, configurations: ComplexArray, numbers: IntArray, weights: FloatArray) -> float:
        if self.temperature is not None:
            return float(self.temperature)
        if len(self.classes_) == 1:
            return 1.0
        squares = self._class_errors(configurations).astype(np.float64) ** 2
        # A dictionary was not learned from the shapes of other classes, so these errors do not vanish where it has
        # nearly as many atoms as shapes, as the errors in the own class do.
        squares[np.arange(len(numbers)), numbers] = np.inf
        mean = float(weights @ squares.min(axis=1) / weights.sum())
        return max(_TEMPERATURE_SHARE * mean, float(np.finfo(np.float64).tiny))


def check_labels(X: Any, y: ArrayLike | None, n_shapes: int, estimator: str) -> np.ndarray[Any, Any]:
    """Return one label per shape, by default that of the set; refuse unknown labels and numbers that are no classes."""
    if y is None:
        y = getattr(X, "labels", None)
        if y is None:
            raise ShapeInputError(
                f"{estimator} requires y to be passed, but the target y is None, and X is not a set that has labels: "
                "give y, or a ShapeSet with labels."
            )
        y = np.asarray(y[:]).astype(str)
        if (y == "").any():
            raise ShapeInputError(f"X has no label in {name_rows(y == '')}: take X[X.labels != ''], or give y.")
    y = check_present(y, "y")
    labels: np.ndarray[Any, Any] = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
    check_classification_targets(labels)
    if len(labels) != n_shapes:
        raise ShapeInputError(f"y must hold one label per shape: X has {n_shapes} shapes, y {len(labels)} labels.")
    return labels


def number_classes(labels: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], IntArray]:
    """Return the sorted classes, and the number of the class of each shape; refuse classes of a single shape."""
    classes, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    is_single = sizes < 2
    if is_single.any():
        named = ", ".join(repr(label) for label in classes[is_single].tolist()[:5])
        raise ShapeInputError(
            f"every class needs at least 2 shapes to learn from, but {is_single.sum()} of {len(classes)} have a single "
            f"one ({named}): add shapes, or leave these classes out."
        )
    return classes, numbers


def _within_class_space(
    rows: ComplexArray, numbers: IntArray, weights: FloatArray, space: Space, shrinkage: float
) -> Space:
    """Return the space whose product is the inverse of the shrunk covariance within classes.

    Let ``r`` be the part of a pre-shape orthogonal to the full mean of its class, and ``W`` the sum of all ``r r*``,
    scaled to trace 1. In whitened coordinates the new Gram matrix is ``((1 − shrinkage) W + shrinkage I / N)⁻¹``. It is
    complex linear, so rotations stay rotations, and ``W`` has no part along the shift, so centers stay centers.
    """
    identity = np.eye(rows.shape[1], dtype=np.complex128)
    scatter = np.zeros_like(identity)
    for number in np.unique(numbers):
        is_member = numbers == number
        members = rows[is_member].astype(np.complex128)
        mean, _ = full_mean([(members, weights[is_member])])
        across = members - (members @ mean.conj())[:, None] * mean
        scatter += (across * weights[is_member, None]).T @ across.conj()
    total = float(np.trace(scatter).real)
    # Rounding errors of copies of one shape have this size.
    if total <= (len(identity) * float(np.finfo(rows.dtype).eps)) ** 2 * float(weights.sum()):
        return space
    covariance = (1 - shrinkage) * scatter / total + shrinkage * identity / len(identity)
    # Columns are the whitened images of the coordinates, which have no part along the shift.
    images = space.whiten(identity).T
    along_shift = space.gram @ space.shift
    gram = images.conj().T @ np.linalg.solve(covariance, images)
    gram += np.outer(along_shift, along_shift.conj()) / float((space.shift.conj() @ along_shift).real)
    return CustomSpace((gram + gram.conj().T) / 2, space.shift, closed=space.closed)


def _check_shrinkage(shrinkage: float | str, *, chooses: bool) -> tuple[float, ...]:
    """Return the values to choose from."""
    if isinstance(shrinkage, str) and shrinkage == "auto":
        return _SHRINKAGES if chooses else (_DEFAULT_SHRINKAGE,)
    value = check_number(shrinkage, "shrinkage", 'a number or "auto"')
    if not 0 < value <= 1:
        raise ParameterError(f"shrinkage must be above 0 and at most 1, got {shrinkage}.")
    return (value,)


def _count_folds(cv: int | None, class_sizes: IntArray) -> int:
    """Return a number of folds that leaves every class 2 shapes to learn from, `cv` if possible; 0 for no folds."""
    if cv is None or len(class_sizes) == 1:
        return 0
    smallest = int(class_sizes.min())
    # Each fold holds out ceil(smallest / n_folds) shapes: of 3 shapes, only 3 folds leave 2.
    usable = 0 if smallest < 3 else 3 if smallest == 3 else min(cv, smallest)
    if usable != cv:
        instead = f"cv={usable} is used" if usable else "no shape is held out, as by cv=None"
        warnings.warn(
            f"cv={cv} must leave every class 2 shapes to learn from, but the smallest class has {smallest}: "
            f"{instead}. Add shapes, leave such classes out, or set cv accordingly.",
            UserWarning,
            stacklevel=4,
        )
    return usable
