"""One classifier of shapes that chooses its methods by itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_choice
from shapelex.estimators import classification_methods as candidates
from shapelex.estimators.base import all_or_nothing, as_generator
from shapelex.estimators.folds import Fold, check_units, log_loss, make_folds, pool, pooling_weights
from shapelex.estimators.outlines import OutlineRegistration
from shapelex.estimators.shape_dictionary_classifier import ProbabilityClassifier, check_labels, number_classes
from shapelex.exceptions import ShapeInputError
from shapelex.files.schema import Array, Fields, Labels, Part, Schema
from shapelex.geometry import align_onto, register
from shapelex.geometry.distances import pairwise_row_distances
from shapelex.plotting.decisions import draw_decision
from shapelex.shapes.set import fold_groups
from shapelex.spaces import Landmarks, Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLOCK_ROWS = 2048
# Landmarks of an open space with at least so many points are taken for a curve.
_MIN_CURVE_POINTS = 20
# A method with less weight changes few probabilities, and takes as long to compute as the others.
_MIN_WEIGHT = 0.02
# A stretch that is replaced at once has this share of the points of a curve.
_STRETCH_SHARE = 1 / 8
_MAX_STRETCHES = 48
_N_FOLDS = 5
_MANY_SHAPES = 1000
_N_FOLDS_OF_MANY = 3
# Registrations of closed outlines, by what they choose.
_VIEWS = ("", "start", "start, reflection")
_SCORES = ("method", "registration", "setting", "accuracy", "log_loss", "weight")


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What decided about one shape; see :meth:`shapelex.ShapeClassifier.explain`.

    Parameters
    ----------
    label : object
        The predicted class.
    rival : object
        The class that it is compared with.
    classes : ndarray of shape (n_classes,)
        All classes.
    probabilities : ndarray of float, shape (n_classes,)
        Their probabilities.
    methods : list of str
        The methods that the classifier uses.
    weights : ndarray of float, shape (n_methods,)
        Their weights.
    by_method : ndarray of float, shape (n_methods, n_classes)
        Probabilities by each method alone.
    effects : ndarray of float, shape (n_points,)
        How much each point speaks for the predicted class and against its rival: the fall of the log-odds where the
        stretch around the point (of landmarks: the point alone) is replaced by that of ``rival_example``.
    shape : ndarray of complex, shape (n_coordinates,)
        The shape.
    example, rival_example : ndarray of complex, shape (n_coordinates,)
        The nearest training shapes of both classes, moved, scaled and rotated onto the shape; closed outlines with the
        start point, direction and, where the classifier uses reflections, side of least distance.
    distances : ndarray of float, shape (n_classes,)
        Full distance to the nearest training shape of each class.
    space : Space
        Space of the shapes.
    atoms : list of dict
        Where class dictionaries are used: the atoms that approximate the shape in both classes.
    is_curve : bool
        Whether the points follow a curve, so that stretches were replaced; single landmarks otherwise.
    """

    label: Any
    rival: Any
    classes: np.ndarray[Any, Any]
    probabilities: FloatArray
    methods: list[str]
    weights: FloatArray
    by_method: FloatArray
    effects: FloatArray
    shape: ComplexArray
    example: ComplexArray
    rival_example: ComplexArray
    distances: FloatArray
    space: Space
    atoms: list[dict[str, Any]]
    is_curve: bool

    def to_dataframe(self, what: Literal["classes", "points", "atoms"] = "classes") -> pd.DataFrame:
        """Return the explanation as a table.

        Parameters
        ----------
        what : {"classes", "points", "atoms"}, default "classes"
            One row per class, most probable first: ``class``, ``probability``, the ``distance`` to the nearest training
            shape, and a column for each method with its probability. Or one row per point: ``point``, ``effect``. Or
            one row for each atom that approximates the shape in one of the two classes: ``class``, ``atom``, the
            modulus of its ``weight``, and the ``error`` of the class; no rows where class dictionaries are not used.

        Returns
        -------
        pandas.DataFrame
            The table.
        """
        check_choice(what, ("classes", "points", "atoms"), "what")
        if what == "atoms":
            return pd.DataFrame(self.atoms, columns=["class", "atom", "weight", "error"])
        if what == "points":
            return pd.DataFrame({"point": np.arange(len(self.effects)), "effect": self.effects})
        columns = {"class": self.classes, "probability": self.probabilities, "distance": self.distances}
        columns |= dict(zip(self.methods, self.by_method, strict=True))
        return pd.DataFrame(columns).sort_values("probability", ascending=False, kind="stable", ignore_index=True)

    def plot(self, *, fontsize: float | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the shape between the nearest training shapes of both classes, colored by what decided.

        Parameters
        ----------
        fontsize : float, optional
            Size of all text, in points; your ``font.size`` where you set it, else 8, when not given.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; the current ones of pyplot when not given.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. Points that speak for the predicted class are blue, like its example on the left, those that
            speak for the rival orange, like its example on the right.
        """
        shapes = np.stack([self.example, self.shape, self.rival_example])
        own, other = self._of_rivals(100 * self.probabilities)
        titles = [
            f"nearest of {self.label}",
            f"{self.label} ({own:.0f} %)\nnot {self.rival} ({other:.0f} %)",
            f"nearest of {self.rival}",
        ]
        return draw_decision(shapes, self.effects, self.space, titles, is_curve=self.is_curve, fontsize=fontsize, ax=ax)

    def _of_rivals(self, probabilities: FloatArray) -> list[float]:
        """Return the probabilities of the predicted class and of its rival."""
        return [float(probabilities[self.classes == name][0]) for name in (self.label, self.rival)]

    def __repr__(self) -> str:
        own, other = self._of_rivals(self.probabilities)
        by_method = zip(self.methods, self.by_method, strict=True)
        alone = ", ".join(f"{method} {self._of_rivals(row)[0]:.2f}" for method, row in by_method)
        return (
            f"<Explanation: {self.label} with probability {own:.2f}, {self.rival} {other:.2f}; probability of "
            f"{self.label} by method: {alone}>"
        )


class _Decisions(Part):
    """Chosen methods with their settings, log-odds and weights, and the table of all methods.

    With the training shapes, they take most of the time of a fit. No part of a fit is random after them, so fitting the
    methods to the training shapes once more gives the same classifier, and the file holds none of the objects of other
    libraries.
    """

    def write(self, owner: Any, fields: Fields) -> None:
        """Put them among the fields."""
        scores = owner.scores_.astype(object)
        members = [one.described() for one in owner._members]
        fields.results |= {"seed": owner._seed, "view": owner._view, "members": members}
        fields.results["scores"] = scores.where(scores.notna(), None).to_dict("records")

    def read(self, owner: Any, fields: Fields) -> None:
        """Check them."""
        n_classes, n_shapes, sample = len(owner.classes_), fields.sizes["n_shapes"], owner._sample
        if n_classes < 2 or not np.array_equal(np.unique(owner._numbers), np.arange(n_classes)):
            raise ValueError(f"_numbers must be those of {n_classes} classes, at least 2")
        if not np.array_equal(np.intersect1d(sample, np.arange(n_shapes)), sample) or len(sample) == 0:
            raise ValueError(f"_sample must be rows of {n_shapes} shapes in order")
        owner._seed, owner._view = fields.result("seed"), fields.result("view")
        if isinstance(owner._seed, bool) or not isinstance(owner._seed, int) or owner._view not in _VIEWS:
            raise ValueError(f"seed {owner._seed!r} or view {owner._view!r} is unknown")
        owner._members = [candidates.read_method(entry, owner) for entry in fields.result("members")]
        owner.weights_ = np.array([one.weight for one in owner._members])
        scores = pd.DataFrame(fields.result("scores"), columns=list(_SCORES))
        owner.scores_ = scores.astype(dict.fromkeys(_SCORES[3:], float))


@dataclass(eq=False, repr=False)
class ShapeClassifier(ProbabilityClassifier):
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

    Probabilities are estimates for shapes that come like the training shapes: the frequencies of the classes are those
    of the training set.

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
    ['tangent LDA', 'tangent SVM', 'class dictionaries']
    """

    space: Space | None = None
    random_state: Any = None

    _schema = Schema(
        Labels("classes_", "n_classes"),
        Array("_shapes", "complex", ("n_shapes", "n_coordinates")),
        Array("_numbers", "int", ("n_shapes",)),
        Array("_sample", "int", ("n_sampled",)),
        _Decisions("members"),
    )

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
            Shapes of the same group, such as the two wings of an insect, stay in one fold. By default the units of the
            set `X`, see ``ShapeSet.study``.

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
        labels = check_labels(X, y, len(configurations), type(self).__name__)
        if len(np.unique(labels)) == 1:
            raise ShapeInputError(
                f"y must hold at least 2 classes, got one class, {labels.tolist()[0]!r}: add shapes of another class."
            )
        self.classes_, numbers = number_classes(labels)
        units = check_units(fold_groups(X, groups, labels), len(configurations))
        self._seed, fold_seed = (int(number) for number in generator.integers(2**31, size=2))
        self._shapes, self._numbers, self._sample = configurations, numbers, _sample_rows(numbers, generator)
        sampled = numbers[self._sample]
        units = None if units is None else units[self._sample]
        n_folds = _N_FOLDS if len(sampled) < _MANY_SHAPES else _N_FOLDS_OF_MANY
        n_folds = min(n_folds, int(np.bincount(sampled).max()), len(sampled if units is None else np.unique(units)))
        folds = make_folds(n_folds, len(sampled), units, classes=sampled, seed=fold_seed)
        self._choose(self._compare(configurations[self._sample], sampled, folds), sampled, folds)
        self._fit_members(are_prepared=True)
        return self

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
        space, classes = self.space_, self.classes_
        space.whitened_preshapes(rows, "shape")
        if len(rows) != 1:
            raise ShapeInputError(f"shape must be one configuration, got {len(rows)}: explain them one by one.")
        by_method = self._method_log_probabilities(rows)
        logarithms = pool(by_method, self.weights_)[0]
        own = int(np.argmax(logarithms))
        others = np.delete(np.arange(len(classes)), own)
        if rival is not None:
            others = others[classes[others] == rival]
            if len(others) != 1:
                named = classes.tolist()
                raise ShapeInputError(
                    f"rival must be one of the classes other than the predicted {named[own]!r}, got {rival!r}; the "
                    f"classes are {', '.join(map(repr, named))}."
                )
        other = int(others[np.argmax(logarithms[others])])
        examples, distances = self._nearest_examples(rows[0])
        windows = _windows(space, self._is_curve)
        tiled = np.tile(windows, space.coordinates_per_point or 1)
        replaced = rows * (1 - tiled) + examples[other] * tiled
        found = pool(self._method_log_probabilities(replaced), self.weights_)
        falls = logarithms[own] - logarithms[other] - (found[:, own] - found[:, other])
        centers, n_points = np.argmax(windows, axis=1), windows.shape[1]
        return Explanation(
            label=classes[own],
            rival=classes[other],
            classes=classes,
            probabilities=np.exp(logarithms),
            methods=self.candidates_,
            weights=self.weights_,
            by_method=np.exp(by_method[:, 0]),
            effects=np.interp(np.arange(n_points), centers, falls, period=n_points if space.closed else None),
            shape=rows[0],
            example=examples[own],
            rival_example=examples[other],
            distances=distances,
            space=space,
            atoms=self._used_atoms(rows, (own, other)),
            is_curve=self._is_curve,
        )

    @property
    def candidates_(self) -> list[str]:
        """Names of the methods that are used."""
        return [one.name for one in self._members]

    def _method_log_probabilities(self, configurations: ComplexArray) -> FloatArray:
        """Return log-probabilities by method, shape (n_methods, n_shapes, n_classes)."""
        views = self._views(configurations)
        return np.stack([one.log_probabilities(views[one.view]) for one in self._members])

    def _views(self, configurations: ComplexArray) -> dict[str, ComplexArray]:
        """Return shapes as they are, and registered where methods need it."""
        views = {"": configurations}
        if self.registration_ is not None and any(one.view for one in self._members):
            views[self._view] = np.asarray(self.registration_.transform(configurations))
        return views

    def _nearest_examples(self, shape: ComplexArray) -> tuple[ComplexArray, FloatArray]:
        """Return the nearest training shape of every class, aligned with the shape, and its distance."""
        space, candidates, numbers = self.space_, self._shapes[self._sample], self._numbers[self._sample]
        if space.closed and space.coordinates_per_point is not None:
            allows_mirror = self.registration_ is not None and self.registration_.reflection
            candidates = register(candidates, space, to=shape, reflection=allows_mirror).configurations
        rows = space.whitened_preshapes(candidates, "X")
        apart = pairwise_row_distances(space.whitened_preshapes(shape), rows)[0]
        nearest = [np.argmin(np.where(numbers == number, apart, np.inf)) for number in range(len(self.classes_))]
        aligned = space.norm(space.centered(shape)) * align_onto(candidates[nearest], shape, space)
        return aligned + space.center(shape) * space.shift, apart[nearest]

    def _used_atoms(self, rows: ComplexArray, numbers: tuple[int, int]) -> list[dict[str, Any]]:
        """Return the atoms that approximate a shape in some classes, where class dictionaries are used."""
        found: list[dict[str, Any]] = []
        for member in (one for one in self._members if isinstance(one, candidates.ClassDictionaries)):
            seen, dictionaries = self._views(rows)[member.view], member.model
            errors = dictionaries.class_errors(seen)[0]
            for number in numbers:
                codes = np.abs(dictionaries.dictionaries_[number].encode(seen).toarray()[0])
                known = {"class": self.classes_[number], "error": errors[number]}
                for atom in np.argsort(-codes, kind="stable")[: np.count_nonzero(codes)]:
                    found.append({**known, "atom": int(atom), "weight": float(codes[atom])})
        return found

    def _log_odds(self, X: Any) -> FloatArray:
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

    def _compare(self, X: ComplexArray, numbers: IntArray, folds: list[Fold]) -> list[candidates.Method]:
        """Return all methods with their best settings, by registration, and choose the registration."""
        is_registered = self.space_.closed and self.space_.coordinates_per_point is not None
        registrations = {view: self._registration(view, X) for view in (_VIEWS if is_registered else _VIEWS[:1])}
        views = {view: X if found is None else found.transform(X) for view, found in registrations.items()}
        class_sizes = [np.unique(numbers[kept], return_counts=True)[1] for kept, _ in folds]

        def judge(kinds: Iterable[type[candidates.Method]], view: str) -> list[candidates.Method]:
            methods = [kind(self.space_, self._seed, view) for kind in kinds if all(map(kind.can_learn, class_sizes))]
            for method in methods:
                method.prepare(views[view])
                method.choose(numbers, folds)
            return methods

        first = (candidates.TangentDiscriminant, candidates.ProcrustesMachine)
        methods = [method for view in views for method in judge(first, view)]
        # By the better of the two methods; where that is equal, as for well separated classes, by the other one.
        self._view = min(
            views, key=lambda view: sorted(log_loss(one.held_out, numbers) for one in methods if one.view == view)
        )
        self.registration_ = registrations[self._view]
        methods += judge((candidates.TangentMachine, candidates.ClassDictionaries), self._view)
        methods += judge((candidates.ConvolutionRidge,) if self._is_curve else (), "")
        return sorted(methods, key=lambda one: list(candidates.METHODS).index(one.name))

    def _registration(self, view: str, X: ComplexArray) -> OutlineRegistration | None:
        """Return the registration of a view, fitted to the shapes; None for shapes as they come."""
        if view == "":
            return None
        return OutlineRegistration(space=self.space_, reflection="reflection" in view).fit(X)

    def _choose(self, methods: list[candidates.Method], numbers: IntArray, folds: list[Fold]) -> None:
        """Learn the weights of the methods, keep those that matter, and note the scores of all."""
        used = [one for one in methods if one.view == self._view or isinstance(one, candidates.ConvolutionRidge)]
        machines = [one for one in used if isinstance(one, candidates.TangentMachine)]
        # Their distances are almost the same: both together would count twice.
        best = min(machines, key=lambda one: log_loss(one.held_out, numbers))
        used = [one for one in used if one not in machines or one is best]
        weights = pooling_weights(np.stack([one.held_out for one in used]), numbers)
        self._members = [used[place] for place in np.flatnonzero(weights >= _MIN_WEIGHT * weights.sum())]
        logarithms = np.stack([one.held_out for one in self._members])
        self.weights_ = pooling_weights(logarithms, numbers)
        for one, weight in zip(self._members, self.weights_.tolist(), strict=True):
            one.weight = weight
        pooled = np.empty(logarithms.shape[1:])
        for kept, held in folds:
            pooled[held] = pool(logarithms[:, held], pooling_weights(logarithms[:, kept], numbers[kept]))
        rows = [(one.name, one.view, one.described_setting(), one.held_out, one.weight) for one in methods]
        self.scores_ = pd.DataFrame(
            [
                (*names, np.mean(held_out.argmax(axis=1) == numbers), log_loss(held_out, numbers), weight)
                for *names, held_out, weight in [*rows, ("all by weight", "", "", pooled, np.nan)]
            ],
            columns=list(_SCORES),
        )

    def _fit_members(self, *, are_prepared: bool) -> None:
        """Fit the chosen settings to the shapes that methods can learn from; they may be prepared for the sample."""
        for one in self._members:
            is_sampled = one.learns_from_sample or len(self._sample) == len(self._shapes)
            rows = self._sample if is_sampled else np.arange(len(self._shapes))
            if not (are_prepared and is_sampled):
                one.prepare(self._views(self._shapes[rows])[one.view])
            one.fit(self._numbers[rows])

    def _check_loaded(self) -> None:
        self.registration_ = self._registration(self._view, self._shapes[self._sample])
        self._fit_members(are_prepared=False)
        self.predict(self._shapes[:1])


def _sample_rows(numbers: IntArray, generator: np.random.Generator) -> IntArray:
    """Return all rows, or a random sample that has its share of every class, and at least two shapes of each."""
    if len(numbers) <= candidates.MAX_COMPARED_SHAPES:
        return np.arange(len(numbers))
    share = candidates.MAX_COMPARED_SHAPES / len(numbers)
    classes = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    chosen = [generator.choice(rows, size=max(2, round(share * len(rows))), replace=False) for rows in classes]
    return np.sort(np.concatenate(chosen))


def _windows(space: Space, is_curve: bool) -> FloatArray:
    """Return the weights of points in each stretch that is replaced, shape (n_stretches, n_points)."""
    n_points = space.n_coordinates // (space.coordinates_per_point or 1)
    if not is_curve:
        return np.eye(n_points)
    centers = np.unique(np.linspace(0, n_points - 1, min(n_points, _MAX_STRETCHES)).astype(int))
    apart = np.abs(np.arange(n_points) - centers[:, None])
    if space.closed:
        apart = np.minimum(apart, n_points - apart)
    half = max(_STRETCH_SHARE * n_points / 2, 1.0)
    # A smooth window leaves no corners where the stretch ends.
    return np.where(apart < 2 * half, 0.5 + 0.5 * np.cos(np.pi * apart / (2 * half)), 0.0)
