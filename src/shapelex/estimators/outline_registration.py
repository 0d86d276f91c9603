"""Registration of outlines to a fitted mean, as a scikit-learn transformer."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray
from shapelex.estimators.base import ShapeEstimator, all_or_nothing
from shapelex.geometry import Registration, register
from shapelex.shapes import ShapeSet
from shapelex.shapes.opening import choose_space
from shapelex.shapes.storage import Shapes
from shapelex.spaces import Landmarks, Space


class OutlineEstimator(ShapeEstimator):
    """An estimator whose default space is that of closed outlines."""

    def _open_input(self, X: Any, space: Space | None, sample_weight: ArrayLike | None = None) -> Shapes:
        shapes = super()._open_input(X, space, sample_weight)
        if choose_space(space, X) is None:
            return shapes.in_space(Landmarks(shapes.shape[1], closed=True))
        return shapes


@dataclass(eq=False, repr=False)
class OutlineRegistration(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OutlineEstimator):  # type: ignore[misc]
    """Choose the start point and direction of outlines such that they are closest to the mean of the fitted outlines.

    Fitting registers the outlines to their own mean, see :func:`shapelex.register`, and keeps that mean; new
    outlines are registered to it. In a pipeline before :class:`ShapeDictionary`, the dictionary does not depend on the
    start points of the outlines.

    Parameters
    ----------
    space : Space, optional
        Space of the configurations; when not given, that of a `ShapeSet`, otherwise closed landmarks. Open curves need
        ``start=False``.
    start : bool, default True
        Whether to search for the start point.
    direction : bool, default True
        Whether the direction of an outline may be reversed.
    reflection : bool, default False
        Whether an outline may be mirrored.
    subsample : bool, default False
        Whether to shift landmarks by fractions of a point.
    n_starts : int, default 6
        Number of first means to start from.
    max_iter : int, default 100
        Maximum number of iterations.
    random_state : int, default 0
        Seed of the choice of first means.

    Attributes
    ----------
    mean_ : ndarray of complex, shape (n_coordinates,)
        Mean of the registered outlines, a pre-shape.
    registration_ : Registration
        Registration of the fitted outlines.
    space_ : Space
        Space of the configurations.
    preparation_ : Preparation
        Record of the registration, which sets that are transformed carry.
    n_iter_ : int
        Number of iterations; each computes a new mean.
    n_features_in_ : int
        Number of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> space = sx.Landmarks(40, closed=True)
    >>> t = 2j * np.pi * np.arange(40) / 40
    >>> X = np.exp(t) + np.linspace(0.2, 0.4, 20)[:, None] * np.exp(-2 * t) + 0.2 * np.exp(3 * t)
    >>> rolled = space.roll(X, np.arange(20))
    >>> registration = sx.OutlineRegistration(space=space).fit(X)
    >>> bool((registration.transform(rolled) == registration.transform(X)).all())
    True
    """

    _: KW_ONLY
    space: Space | None = None
    start: bool = True
    direction: bool = True
    reflection: bool = False
    subsample: bool = False
    n_starts: int = 6
    max_iter: int = 100
    random_state: int = 0

    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> "OutlineRegistration":  # noqa: ARG002
        """Register outlines to their mean, and keep it.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.

        Returns
        -------
        OutlineRegistration
            The estimator itself.
        """
        found = self._register(self._read_fit_input(X), "mean")
        self.registration_ = found
        self.preparation_ = found.preparation
        self.mean_ = found.target
        self.n_iter_ = found.n_iter
        return self

    def register(self, X: ArrayLike) -> Registration:
        """Register outlines to the mean, and return the details for each.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        Registration
            The registered configurations, shifts, directions, angles and distances.
        """
        check_is_fitted(self)
        return self._register(self._open_input(X, self.space_)[:], self.mean_)

    @keeps_array_kind
    def transform(self, X: ArrayLike) -> Any:
        """Register outlines to the mean.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates), or ShapeSet
            The registered configurations, each with its own position, size and rotation; for a set of shapes a set
            that records the registration, so that a model learned from it registers other sets in the same way.
        """
        found = self.register(X)
        if not isinstance(X, ShapeSet):
            return found.configurations
        assert self.preparation_ is not None
        resampling = None if X.preparation is None else X.preparation.resampling
        preparation = replace(self.preparation_, resampling=resampling)
        return X[:].replace(configurations=found.configurations, space=self.space_, preparation=preparation)

    def _register(self, X: ComplexArray, to: str | ComplexArray) -> Registration:
        # register would call the argument Z in its error message for collapsed outlines.
        self.space_.whitened_preshapes(X, "X")
        options = self.get_params(deep=False)
        return register(X, **{**options, "space": self.space_, "to": to})

    @property
    def _n_features_out(self) -> int:
        return len(self.mean_)
