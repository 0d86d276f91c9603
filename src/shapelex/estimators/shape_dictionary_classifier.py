"""Sparse representation classification: a dictionary a class, and the least error wins."""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_weights
from shapelex.estimators.configurations import ConfigurationInput, all_or_nothing, as_generator
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import ShapeInputError
from shapelex.spaces import Space

# Near the least log loss on held-out shapes of both sets that it was tried on, at all sizes of the dictionaries.
_TEMPERATURE_SHARE = 0.25


class ShapeDictionaryClassifier(ClassifierMixin, ConfigurationInput):  # type: ignore[misc]
    """Give a shape to the class whose dictionary reconstructs it best.

    Learns one :class:`ShapeDictionary` from the shapes of each class. The error of class ``c`` at a shape is the full
    Procrustes distance ``d_c`` to its reconstruction from at most `n_nonzero` atoms of that class. The class of least
    error wins (sparse representation classification); how frequent a class is does not count.

    Parameters
    ----------
    n_atoms : int, default 8
        Number of atoms of each class. A class of fewer shapes gets as many atoms as it has shapes.
    n_nonzero : int, default 3
        Most atoms that a shape may use; all of them in a class that has fewer atoms.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    coder : {"auto", "exact", "beam", "ormp", "omp"}, default "auto"
        How to find the atoms of a shape, see :func:`shapelex.encode`.
    update : {"mod", "ksvd"}, default "mod"
        How the atoms follow from the codes, see :class:`ShapeDictionary`.
    temperature : float, optional
        Squared distance that makes a class less probable by a factor ``e``, see :meth:`predict_proba`. By default a
        quarter of the mean squared error of the training shapes in the nearest class that is not theirs.
    n_restarts : int, default 1
        How many first dictionaries to try for each class.
    max_iter : int, default 100
        Most updates of each dictionary.
    tol : float, default 1e-5
        A descent ends when an update changes its loss by no more than this share.
    n_jobs : int, optional
        Most threads; −1 or None for all processors. The result does not depend on it, to the bit.
    random_state : int, Generator, RandomState or None, default None
        Seed of all that is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    dictionaries_ : list of ShapeDictionary
        The fitted dictionary of each class.
    temperature_ : float
        The `temperature`, or its estimate.
    n_iter_ : int
        Most updates that a dictionary took.
    space_ : Space
        Space of the configurations.
    n_features_in_ : int
        Number of coordinates.

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

    def __init__(
        self,
        n_atoms: int = 8,
        n_nonzero: int = 3,
        *,
        space: Space | None = None,
        coder: str = "auto",
        update: str = "mod",
        temperature: float | None = None,
        n_restarts: int = 1,
        max_iter: int = 100,
        tol: float = 1e-5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.n_nonzero = n_nonzero
        self.space = space
        self.coder = coder
        self.update = update
        self.temperature = temperature
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "ShapeDictionaryClassifier":
        """Learn a dictionary for each class.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : array_like of shape (n_shapes,)
            Labels: text or integers.
        sample_weight : array_like of float, shape (n_shapes,), optional
            How much each shape counts in its class; a shape of weight zero is left out.

        Returns
        -------
        ShapeDictionaryClassifier
            The estimator itself.

        Raises
        ------
        ShapeInputError
            If a class has a single shape, or `y` another length than `X`.

        Warns
        -----
        ConvergenceWarning
            If a dictionary still changed after `max_iter` updates.
        """
        n_nonzero = check_count(self.n_nonzero, 1, "n_nonzero")
        if n_nonzero > check_count(self.n_atoms, 1, "n_atoms"):
            raise ValueError(f"n_nonzero must be between 1 and n_atoms={self.n_atoms}, got {n_nonzero}.")
        configurations = self._check_fit_input(X)
        labels = _check_labels(y, len(configurations))
        weights = check_weights(sample_weight, len(configurations), np.dtype(np.float64))
        counts = weights > 0
        configurations, labels, weights = configurations[counts], labels[counts], weights[counts]
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        _check_class_sizes(self.classes_, numbers)
        generator = as_generator(self.random_state)
        self.dictionaries_ = []
        for number in range(len(self.classes_)):
            is_member = numbers == number
            dictionary = self._make_dictionary(is_member, int(generator.integers(2**31)))
            shares = None if sample_weight is None else weights[is_member]
            self.dictionaries_.append(dictionary.fit(configurations[is_member], sample_weight=shares))
        self.n_iter_ = max(dictionary.n_iter_ for dictionary in self.dictionaries_)
        self.temperature_ = self._find_temperature(configurations, numbers, weights)
        return self

    def class_errors(self, X: ArrayLike) -> FloatArray:
        """Full Procrustes distance of each shape to its reconstruction by each class.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_classes)
            Distances between 0 and 1, classes as in ``classes_``.
        """
        return self._class_errors(self._check_new_input(X))

    def predict(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """Class of least error.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of shape (n_shapes,)
            Labels; a tie goes to the first class.
        """
        errors = self.class_errors(X)
        labels: np.ndarray[Any, Any] = self.classes_[np.argmin(errors, axis=1)]
        return labels

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each class, from its errors.

        ``exp(−d_c² / temperature_) / Σ_b exp(−d_b² / temperature_)``: Bayes' rule for classes of equal chances whose
        errors are Gaussian, of the same size in all.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float64, shape (n_shapes, n_classes)
            Rows sum to 1, classes as in ``classes_``.
        """
        squares = self.class_errors(X).astype(np.float64) ** 2
        # Differences to the best class stay finite however small the temperature is.
        gaps = squares - squares.min(axis=1, keepdims=True)
        probabilities: FloatArray = softmax(-gaps / self.temperature_, axis=1)
        return probabilities

    def _make_dictionary(self, is_member: BoolArray, seed: int) -> ShapeDictionary:
        n_atoms = min(self.n_atoms, int(is_member.sum()))
        return ShapeDictionary(
            n_atoms,
            min(self.n_nonzero, n_atoms),
            space=self.space_,
            coder=self.coder,
            update=self.update,
            n_restarts=self.n_restarts,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            random_state=seed,
        )

    def _class_errors(self, configurations: ComplexArray) -> FloatArray:
        return np.stack([dictionary.errors(configurations) for dictionary in self.dictionaries_], axis=1)

    def _find_temperature(self, configurations: ComplexArray, numbers: IntArray, weights: FloatArray) -> float:
        if self.temperature is not None:
            return _check_temperature(self.temperature)
        if len(self.classes_) == 1:
            return 1.0
        squares = self._class_errors(configurations).astype(np.float64) ** 2
        # No dictionary has seen the shapes of other classes, so unlike errors in the own class these do not vanish
        # where a dictionary has nearly as many atoms as shapes.
        squares[np.arange(len(numbers)), numbers] = np.inf
        mean = float(weights @ squares.min(axis=1) / weights.sum())
        return max(_TEMPERATURE_SHARE * mean, float(np.finfo(np.float64).tiny))


def _check_labels(y: ArrayLike, n_shapes: int) -> np.ndarray[Any, Any]:
    if y is None:
        raise ValueError("ShapeDictionaryClassifier requires y to be passed, but the target y is None.")
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
    check_classification_targets(labels)
    if len(labels) != n_shapes:
        raise ShapeInputError(f"y must hold a label for each shape: X has {n_shapes} shapes, y {len(labels)} labels.")
    found: np.ndarray[Any, Any] = labels
    return found


def _check_temperature(temperature: float) -> float:
    if isinstance(temperature, bool) or not isinstance(temperature, int | float | np.integer | np.floating):
        raise TypeError(f"temperature must be a number or None, got {temperature!r}.")
    if not (np.isfinite(temperature) and temperature > 0):
        raise ValueError(f"temperature must be finite and positive, got {temperature}.")
    return float(temperature)


def _check_class_sizes(classes: np.ndarray[Any, Any], numbers: IntArray) -> None:
    is_single = np.bincount(numbers) < 2
    if is_single.any():
        named = ", ".join(repr(label) for label in classes[is_single].tolist()[:5])
        raise ShapeInputError(
            f"every class needs at least 2 shapes to learn from, but {is_single.sum()} of {len(classes)} have a single "
            f"one ({named}): add shapes, or leave these classes out."
        )
