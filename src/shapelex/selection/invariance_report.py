"""Effects of rotating, scaling, moving, renumbering, mirroring or resampling the shapes of a set."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import check_count
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import ParameterError, UndeterminedFitError, UnsupportedBySpaceError
from shapelex.geometry import distance, pairwise_distances, register, resample
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import Landmarks, Space

# Number of sampled points per coordinate, where a curve is sampled and fitted again.
_SAMPLES_PER_COORDINATE = 16


@dataclass(frozen=True)
class ChangeEffect:
    """Effect of one change on a set of shapes.

    Parameters
    ----------
    change : str
        Name of the change.
    to_itself : float
        Median full distance between a shape and the changed shape.
    between_shapes : float
        Largest difference in the distance between two shapes when about half of the shapes are changed.
    rmse : float
        RMSE of the changed shapes over a dictionary that was learned from the unchanged shapes.
    weights : float
        Largest change of the modulus of a weight in the codes over that dictionary; large where several codes are
        equally good.
    to_itself_registered : float or None
        `to_itself`, after both are registered to the mean of the set; None for open curves.
    rmse_registered : float or None
        `rmse`, when the dictionary and the changed shapes are registered.
    """

    change: str
    to_itself: float
    between_shapes: float
    rmse: float
    weights: float
    to_itself_registered: float | None = None
    rmse_registered: float | None = None

    def is_nothing(self, tol: float) -> bool:
        """Return whether no distance changed by more than `tol`; weights may change where codes are equally good."""
        return max(self.to_itself, self.between_shapes) <= tol


@dataclass(frozen=True, repr=False)
class InvarianceReport:
    """Effects of changes that may or may not alter the shapes of a set.

    Parameters
    ----------
    effects : tuple of ChangeEffect
        One for each change that the space supports.
    spread : float
        Median full distance between two shapes of the set, for comparison.
    rmse : float
        RMSE of the shapes over a dictionary that was learned from them.
    rmse_registered : float or None
        The same, after registration.
    n_shapes : int
        Number of shapes that were examined.
    space : Space
        Space of the shapes.
    tol : float
        Distances up to this count as zero.
    """

    effects: tuple[ChangeEffect, ...]
    spread: float
    rmse: float
    rmse_registered: float | None
    n_shapes: int
    space: Space
    tol: float

    def __str__(self) -> str:
        head = (
            f"{self.n_shapes} shapes in {self.space}. Two of them are {self.spread:.3f} apart (median full distance); "
            f"a small dictionary approximates them with an error of {100 * self.rmse:.2f} %."
        )
        return "\n".join([head, *(self._describe(effect) for effect in self.effects)])

    __repr__ = __str__

    def _describe(self, effect: ChangeEffect) -> str:
        if effect.is_nothing(self.tol):
            codes = "errors stay the same; other codes of equal error are found"
            if effect.weights <= self.tol:
                codes = "codes and errors stay the same"
            return f"- {effect.change}: nothing changes; distances, {codes}."
        text = (
            f"- {effect.change}: a shape moves {effect.to_itself:.3f} away from itself; where some shapes are changed "
            f"and others not, distances differ by up to {effect.between_shapes:.3f}; the error goes from "
            f"{100 * self.rmse:.2f} % to {100 * effect.rmse:.2f} %."
        )
        if effect.to_itself_registered is None or effect.rmse_registered is None or self.rmse_registered is None:
            return text
        if effect.to_itself_registered <= self.tol:
            return f"{text} After register nothing changes."
        return (
            f"{text} After register a shape moves {effect.to_itself_registered:.3f}, and the error goes from "
            f"{100 * self.rmse_registered:.2f} % to {100 * effect.rmse_registered:.2f} %."
        )


def invariance_report(
    X: ArrayLike, space: Space | None = None, *, max_shapes: int = 100, random_state: int = 0
) -> InvarianceReport:
    """Report which changes of shapes alter distances and codes, measured on the given shapes.

    Every shape is rotated, scaled and moved, each by a different random amount; outlines are also given another start
    point, the reverse direction, a mirror image and other points on the same curve. The report compares the distances
    of shapes to themselves and to each other, and the errors and weights over a small dictionary; for closed curves
    also after :func:`shapelex.register`.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        Configurations, at least three.
    space : Space, optional
        Space of the configurations; landmarks when not given. Give ``Landmarks(n, closed=True)`` for closed outlines.
    max_shapes : int, default 100
        Maximum number of shapes to examine, drawn at random.
    random_state : int, default 0
        Seed of all random draws.

    Returns
    -------
    InvarianceReport
        The numbers; ``print`` describes them in words.

    Notes
    -----
    The changes of direction and of points apply to landmarks along a curve. They have no meaning for anatomical
    landmarks, which are identified by their order.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> t = np.exp(2j * np.pi * np.arange(40) / 40)
    >>> X = t + np.linspace(0.1, 0.3, 12)[:, None] / t**2 + 0.2j * t**3
    >>> report = sx.invariance_report(X, sx.Landmarks(40, closed=True))
    >>> [effect.change for effect in report.effects if effect.is_nothing(report.tol)]
    ['rotation', 'scale', 'translation']
    """
    configurations, space = read_configurations(X, space)
    space.whitened_preshapes(configurations, "X")
    if len(configurations) < 3:
        raise ParameterError(f"X must hold at least 3 shapes to compare, got {len(configurations)}.")
    rng = np.random.default_rng(check_count(random_state, 0, "random_state"))
    n_shapes = min(len(configurations), check_count(max_shapes, 3, "max_shapes"))
    chosen = configurations[np.sort(rng.permutation(len(configurations))[:n_shapes])]
    is_changed = rng.permutation(n_shapes) % 2 == 0
    distances = pairwise_distances(chosen, space=space)
    plain, registered = _Reference(chosen, space), None
    if space.closed and space.coordinates_per_point is not None:
        registration = register(chosen, space)
        registered = _Reference(registration.configurations, space)
    weights = np.abs(plain.model.transform(chosen))
    effects = []
    for name, change in _changes(space, rng).items():
        try:
            changed = change(chosen)
        except (UnsupportedBySpaceError, UndeterminedFitError):
            continue
        to_itself, rmse = plain.compare(changed)
        mixed = np.where(is_changed[:, None], changed, chosen)
        between_shapes = float(np.abs(pairwise_distances(mixed, space=space) - distances).max())
        weight_change = float(np.abs(np.abs(plain.model.transform(changed)) - weights).max())
        after: tuple[float, ...] = ()
        if registered is not None:
            after = registered.compare(register(changed, space, to=registration.target).configurations)
        effects.append(ChangeEffect(name, to_itself, between_shapes, rmse, weight_change, *after))
    spread = float(np.median(distances[np.triu_indices(n_shapes, 1)]))
    tol = 1e3 * float(np.finfo(configurations.real.dtype).eps ** 0.75)
    rmse_registered = None if registered is None else registered.rmse
    return InvarianceReport(tuple(effects), spread, plain.rmse, rmse_registered, n_shapes, space, tol)


class _Reference:
    """Shapes that changed ones are compared with, and a small dictionary of them."""

    def __init__(self, Z: ComplexArray, space: Space) -> None:
        self.Z = Z
        n_atoms = max(2, min(10, len(Z) // 3))
        self.model = ShapeDictionary(n_atoms, min(3, n_atoms), space=space, random_state=0, max_iter=30, tol=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(Z)
        self.rmse = -self.model.score(Z)

    def compare(self, changed: ComplexArray) -> tuple[float, float]:
        """Return the median distance of shapes to changed ones, and the error of these over the dictionary."""
        return float(np.median(distance(self.Z, changed, space=self.model.space_))), -self.model.score(changed)


def _changes(space: Space, rng: np.random.Generator) -> dict[str, Callable[[ComplexArray], ComplexArray]]:
    """Return the changes by name; each shape is changed by a different amount. Some spaces refuse some of them."""

    def moved(Z: ComplexArray) -> ComplexArray:
        steps = (rng.normal(size=(len(Z), 2)) @ [1, 1j]) * np.asarray(space.norm(Z))
        return np.asarray(Z + steps[:, None] * space.shift)

    changes: dict[str, Callable[[ComplexArray], ComplexArray]] = {
        "rotation": lambda Z: Z * np.exp(2j * np.pi * rng.random((len(Z), 1))),
        "scale": lambda Z: Z * np.exp(rng.normal(size=(len(Z), 1))),
        "translation": moved,
    }
    if space.closed and space.coordinates_per_point is not None:
        n_points = space.n_coordinates // space.coordinates_per_point
        changes["start point"] = lambda Z: space.roll(Z, rng.integers(1, n_points, size=len(Z)))
    changes["direction"] = space.reverse
    if not np.iscomplexobj(space.gram):
        changes["mirror image"] = np.conj
        changes["mirror image in the other direction"] = lambda Z: space.reverse(np.conj(Z))
    changes["other points on the same curve"] = lambda Z: _resampled(Z, space)
    return changes


def _resampled(Z: ComplexArray, space: Space) -> ComplexArray:
    """Return the curves with points that are equispaced along them, from the same start."""
    if isinstance(space, Landmarks):
        return resample(Z, space.n_points, closed=space.closed)
    samples = space.sample(Z, space.parameters(_SAMPLES_PER_COORDINATE * space.n_coordinates))
    return space.fit(samples)
