"""Principal component analysis in the tangent space at the mean shape, as morphometrics knows it."""

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shapelex._typing import ArrayLike, ComplexArray, DistanceKind, FloatArray
from shapelex._validation import check_choice, name_rows
from shapelex.estimators.base import all_or_nothing, check_dense_codes
from shapelex.estimators.modes import ModesReconstructor, principal_modes
from shapelex.exceptions import ShapeInputError
from shapelex.geometry import mean_shape
from shapelex.geometry.distances import DISTANCE_KINDS, row_distances
from shapelex.geometry.geodesics import exp_rows, log_rows
from shapelex.geometry.preshapes import remove_along, rotations_onto
from shapelex.spaces import Space
from shapelex.spaces.rows import row_norms
from shapelex.store.schema import Array, Count, Schema

_PROJECTIONS = ("log", "orthogonal")


class TangentPCA(ModesReconstructor):
    """Principal component analysis of shapes as vectors tangent to the shape space at their mean.

    Shapes become horizontal vectors at the mean shape (paper, appendix on the Riemannian structure), with the real
    product ``Re(v* Phi w)``; their modes are those of ordinary principal component analysis.

    Parameters
    ----------
    n_components : int, optional
        Number of modes; by default as many as the shapes span dimensions, at most ``2 n_coordinates − 4``.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    projection : {"log", "orthogonal"}, default "log"
        How a shape becomes a tangent vector. ``"log"`` keeps its geodesic distance to the mean as length;
        ``"orthogonal"`` projects its pre-shape, rotated along the mean, whose length is then the full distance.
    mean : {"full", "partial", "geodesic"}, default "full"
        Which mean shape, see :func:`shapelex.mean_shape`.

    Attributes
    ----------
    mean_ : ndarray of complex, shape (n_coordinates,)
        The mean shape: a pre-shape, in the pose of the first shape.
    components_ : ndarray of complex, shape (n_components, n_coordinates)
        The modes: horizontal vectors at the mean, of norm 1, orthogonal in the real product.
    average_ : ndarray of complex, shape (n_coordinates,)
        Average of the tangent vectors, which is subtracted: a horizontal vector, and a short one. It is zero for the
        logarithm at the geodesic mean and for the orthogonal projection at the partial one.
    explained_variance_ : ndarray of float, shape (n_components,)
        Variance of the scores of each mode.
    explained_variance_ratio_ : ndarray of float, shape (n_components,)
        Its share of the variance of the tangent vectors.
    space_ : Space
        Space of the configurations.
    n_components_ : int
        Number of modes.
    n_features_in_ : int
        Number of coordinates.

    Notes
    -----
    Scores do not depend on the poses of the shapes. The sign of a mode is such that its largest score of the fitted
    set is positive.

    Scores go back to shapes by the exponential, for any scores: beyond a length of π / 2 it comes back towards the
    mean from the other side. The orthogonal projection only reaches vectors up to length 1, so it goes back no
    further, and :meth:`inverse_transform` refuses longer ones.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(30) / 30)
    >>> X = circle + 0.1 * rng.normal(size=(200, 2)) @ [circle**-1, 0.3 * circle**2]
    >>> model = sx.TangentPCA(n_components=2).fit(X)
    >>> model.explained_variance_ratio_.round(2)
    array([0.91, 0.09])
    >>> bool(np.allclose(model.transform(X), model.transform(1j * X + 5)))
    True
    """

    _schema = Schema(
        (
            Count("n_components_"),
            Array("components_", "complex", ("n_components_", "n_coordinates")),
            Array("average_", "complex", ("n_coordinates",)),
            Array("mean_", "complex", ("n_coordinates",)),
            Array("explained_variance_", "float", ("n_components_",)),
            Array("explained_variance_ratio_", "float", ("n_components_",)),
        )
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        space: Space | None = None,
        projection: Literal["log", "orthogonal"] = "log",
        mean: DistanceKind = "full",
    ) -> None:
        self.n_components = n_components
        self.space = space
        self.projection = projection
        self.mean = mean

    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> "TangentPCA":  # noqa: ARG002
        """Find the mean and the modes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations, at least two.
        y : None
            Ignored.

        Returns
        -------
        TangentPCA
            The estimator itself.
        """
        self._check_choices()
        configurations = self._read_fit_input(X)
        rows = self.space_.whitened_preshapes(configurations, "X")
        self.mean_ = mean_shape(configurations, self.mean, space=self.space_)
        vectors = self._vectors(rows)
        average = vectors.mean(axis=0)
        deviations = _as_reals(vectors - average)
        # Neither translation, nor scaling, nor rotation: two real dimensions each, the last two together.
        most = min(len(rows) - 1, 2 * rows.shape[1] - 4)
        modes = principal_modes(deviations, self.n_components, most)
        scores = deviations @ modes.directions.T
        largest = scores[np.argmax(np.abs(scores), axis=0), np.arange(scores.shape[1])]
        directions = modes.directions * np.sign(largest)[:, None]
        self.components_ = self.space_.unwhiten(directions.view(rows.dtype))
        self.average_ = self.space_.unwhiten(average)
        self.explained_variance_ = modes.energies / modes.energies.dtype.type(len(rows) - 1)
        self.explained_variance_ratio_ = modes.ratios
        self.n_components_ = len(self.components_)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Scores of shapes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_components)
            ``Re(w_j* Phi (v − average))`` for the tangent vectors ``v`` of the shapes.
        """
        return self._score_rows(self._read_new_rows(X), self.n_components_)

    def inverse_transform(self, scores: ArrayLike) -> ComplexArray:
        """Shapes that scores stand for.

        Parameters
        ----------
        scores : array_like of float, shape (n_shapes, n_components)
            Scores.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            Pre-shapes, in the pose of the mean.

        Raises
        ------
        CodesError
            If the scores belong to another number of modes.
        ShapeInputError
            If ``projection="orthogonal"`` and a tangent vector is longer than 1: no shape projects there.
        """
        check_is_fitted(self)
        dense = check_dense_codes(scores, self.n_components_, "scores", is_real=True)
        return self.space_.unwhiten(self._shape_rows(dense))

    def reconstruct(self, X: ArrayLike, n_components: int | None = None) -> ComplexArray:
        """Approximate shapes by the first modes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        n_components : int, optional
            How many of the modes; all by default.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            Pre-shapes that approximate ``space_.preshape(X)``, in their poses.
        """
        rows = self._read_new_rows(X)
        return self.space_.unwhiten(self._reconstruct_rows(rows, n_components))

    def errors(self, X: ArrayLike, n_components: int | None = None) -> FloatArray:
        """Full Procrustes distance of each shape to its reconstruction.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        n_components : int, optional
            How many of the modes; all by default. Modes are nested: fewer of them are what a fit of fewer finds.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            Distances between 0 and 1.
        """
        rows = self._read_new_rows(X)
        return row_distances(self._reconstruct_rows(rows, n_components), rows)

    def _base(self) -> ComplexArray:
        return self.space_.whitened_preshapes(self.mean_, "mean_")

    def _vectors(self, rows: ComplexArray) -> ComplexArray:
        """Return whitened horizontal vectors at the mean."""
        base = self._base().astype(rows.dtype, copy=False)
        if self.projection == "log":
            return log_rows(base, rows)
        return remove_along(base, rotations_onto(rows, base) * rows)

    def _reconstruct_rows(self, rows: ComplexArray, n_components: int | None) -> ComplexArray:
        """Return whitened pre-shapes in the poses of `rows`."""
        count = self._count_modes(n_components)
        reached: ComplexArray = self._shape_rows(self._score_rows(rows, count), shortens=True)
        return np.conj(rotations_onto(rows, self._base())) * reached

    def _score_rows(self, rows: ComplexArray, count: int) -> FloatArray:
        deviations = _as_reals(self._vectors(rows) - self.space_.whiten(self.average_))
        scores: FloatArray = deviations @ _as_reals(self.space_.whiten(self.components_[:count])).T
        return scores

    def _shape_rows(self, scores: FloatArray, shortens: bool = False) -> ComplexArray:
        """Return whitened pre-shapes of scores of the first modes; vectors out of reach are shortened, or refused."""
        base = self._base()
        modes = self.space_.whiten(self.components_[: scores.shape[1]])
        # Horizontal to the last digit, as the way back takes it to be.
        vectors = remove_along(base, self.space_.whiten(self.average_) + scores @ modes)
        if self.projection == "log":
            return exp_rows(base, vectors)
        lengths = row_norms(vectors)
        if shortens:
            # The average of all shapes, added to some modes of one far from the mean, may lie beyond any shape's
            # projection: the nearest vector that is one stands for it.
            vectors = vectors / np.maximum(lengths, 1)[:, None]
            lengths = np.minimum(lengths, 1)
        rounding = 16 * np.finfo(lengths.dtype).eps
        too_long = lengths > 1 + rounding
        if too_long.any():
            raise ShapeInputError(
                f"scores stand for tangent vectors longer than 1 in {name_rows(too_long)}, where no "
                'shape projects to; use smaller scores, or projection="log".'
            )
        cosines = np.sqrt(np.maximum((1 - lengths) * (1 + lengths), 0))
        reached: ComplexArray = cosines[:, None] * base + vectors
        return reached

    def _check_choices(self) -> None:
        check_choice(self.projection, _PROJECTIONS, "projection")
        check_choice(self.mean, DISTANCE_KINDS, "mean")

    def _check_loaded(self) -> None:
        self._check_choices()
        super()._check_loaded()


def _as_reals(rows: ComplexArray) -> FloatArray:
    """Return real and imaginary parts as twice as many coordinates; ``Re(x* y)`` is their plain product."""
    parts: FloatArray = np.ascontiguousarray(rows).view(rows.real.dtype)
    return parts
