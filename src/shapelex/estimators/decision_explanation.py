"""What decided about the class of one shape."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_choice
from shapelex.estimators.calibration import pool
from shapelex.estimators.classification_methods import ClassDictionaries
from shapelex.exceptions import ShapeInputError
from shapelex.geometry import align_onto, register
from shapelex.geometry.distances import pairwise_row_distances
from shapelex.plotting.decisions import draw_decision
from shapelex.spaces import Space

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from shapelex.estimators.shape_classifier import ShapeClassifier

# A stretch that is replaced at once has this share of the points of a curve.
_STRETCH_SHARE = 1 / 8
_MAX_STRETCHES = 48


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

    def to_dataframe(self, what: Literal["classes", "points", "atoms"] = "classes") -> "pd.DataFrame":
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
        import pandas as pd

        check_choice(what, ("classes", "points", "atoms"), "what")
        if what == "atoms":
            return pd.DataFrame(self.atoms, columns=["class", "atom", "weight", "error"])
        if what == "points":
            return pd.DataFrame({"point": np.arange(len(self.effects)), "effect": self.effects})
        columns = {"class": self.classes, "probability": self.probabilities, "distance": self.distances}
        columns |= dict(zip(self.methods, self.by_method, strict=True))
        table = pd.DataFrame(columns)
        return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)

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
        captions = [
            f"nearest of {self.label}",
            f"{self.label} ({own:.0f} %)\nnot {self.rival} ({other:.0f} %)",
            f"nearest of {self.rival}",
        ]
        return draw_decision(
            shapes, self.effects, self.space, captions, is_curve=self.is_curve, fontsize=fontsize, ax=ax
        )

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


def explain_decision(model: "ShapeClassifier", shape: ComplexArray, rival: Any) -> Explanation:
    """Return what decided about one shape."""
    by_method = model._method_log_probabilities(shape[None])
    logarithms = pool(by_method, model.weights_)[0]
    own = int(np.argmax(logarithms))
    other = _rival_number(model.classes_, logarithms, own, rival)
    examples, distances = _nearest_examples(model, shape)

    def margins(configurations: ComplexArray) -> FloatArray:
        found = pool(model._method_log_probabilities(configurations), model.weights_)
        return np.asarray(found[:, own] - found[:, other])

    windows = _windows(model.space_, model._is_curve)
    tiled = np.tile(windows, model.space_.coordinates_per_point or 1)
    replaced = shape * (1 - tiled) + examples[other] * tiled
    falls = margins(shape[None])[0] - margins(replaced)
    centers, n_points = np.argmax(windows, axis=1), windows.shape[1]
    return Explanation(
        label=model.classes_[own],
        rival=model.classes_[other],
        classes=model.classes_,
        probabilities=np.exp(logarithms),
        methods=list(model.candidates_),
        weights=model.weights_,
        by_method=np.exp(by_method[:, 0]),
        effects=np.interp(np.arange(n_points), centers, falls, period=n_points if model.space_.closed else None),
        shape=shape,
        example=examples[own],
        rival_example=examples[other],
        distances=distances,
        space=model.space_,
        atoms=_used_atoms(model, shape, (own, other)),
        is_curve=model._is_curve,
    )


def _used_atoms(model: "ShapeClassifier", shape: ComplexArray, numbers: tuple[int, int]) -> list[dict[str, Any]]:
    """Return the atoms that approximate a shape in some classes, where class dictionaries are used."""
    rows: list[dict[str, Any]] = []
    for member in (one for one in model._members if isinstance(one, ClassDictionaries)):
        seen, dictionaries = model._views(shape[None])[member.view], member.model
        errors = dictionaries.class_errors(seen)[0]
        for number in numbers:
            codes = np.abs(dictionaries.dictionaries_[number].encode(seen).toarray()[0])
            name, used = model.classes_[number], np.argsort(-codes, kind="stable")[: np.count_nonzero(codes)]
            rows += [
                {"class": name, "atom": int(atom), "weight": float(codes[atom]), "error": errors[number]}
                for atom in used
            ]
    return rows


def _rival_number(classes: np.ndarray[Any, Any], logarithms: FloatArray, own: int, rival: Any) -> int:
    if rival is None:
        return int(np.argsort(logarithms)[-2])
    names = classes.tolist()
    found = np.flatnonzero(classes == rival)
    if len(found) != 1 or found[0] == own:
        raise ShapeInputError(
            f"rival must be one of the classes other than the predicted {names[own]!r}, got {rival!r}; the classes are "
            f"{', '.join(map(repr, names))}."
        )
    return int(found[0])


def _nearest_examples(model: "ShapeClassifier", shape: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """Return the nearest training shape of every class, aligned with the shape, and its distance."""
    space, candidates, numbers = model.space_, model._shapes[model._sample], model._numbers[model._sample]
    if space.closed and space.coordinates_per_point is not None:
        allows_mirror = model.registration_ is not None and model.registration_.reflection
        candidates = register(candidates, space, to=shape, reflection=allows_mirror).configurations
    rows = space.whitened_preshapes(candidates, "X")
    apart = pairwise_row_distances(space.whitened_preshapes(shape), rows)[0]
    nearest = [np.argmin(np.where(numbers == number, apart, np.inf)) for number in range(len(model.classes_))]
    aligned = space.norm(space.centered(shape)) * align_onto(candidates[nearest], shape, space)
    return aligned + space.center(shape) * space.shift, apart[nearest]


def _windows(space: Space, is_curve: bool) -> FloatArray:
    """Return the weights of points in each stretch that is replaced, shape (n_stretches, n_points)."""
    n_points = space.n_coordinates // (space.coordinates_per_point or 1)
    if not is_curve:
        return np.eye(n_points)
    places = np.arange(n_points)
    centers = np.unique(np.linspace(0, n_points - 1, min(n_points, _MAX_STRETCHES)).astype(int))
    apart = np.abs(places - centers[:, None])
    if space.closed:
        apart = np.minimum(apart, n_points - apart)
    half = max(_STRETCH_SHARE * n_points / 2, 1.0)
    # A smooth window leaves no corners where the stretch ends.
    return np.where(apart < 2 * half, 0.5 + 0.5 * np.cos(np.pi * apart / (2 * half)), 0.0)
