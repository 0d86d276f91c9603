"""Principal component analysis in the tangent space at the mean shape, as is usual in morphometrics."""

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import keeps_array_kind
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

    Shapes are mapped to horizontal vectors at the mean shape (paper [1]_, appendix, "Riemannian structure of the shape
    space") with the real product ``Re(v* Phi w)``, and the modes are found by ordinary principal component analysis.

    Parameters
    ----------
    n_components : int, optional
        Number of modes; by default the number of dimensions that the shapes span, at most ``2 n_coordinates − 4``.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    projection : {"log", "orthogonal"}, default "log"
        How a shape is mapped to a tangent vector. With ``"log"`` the length of the vector is the geodesic distance from
        the shape to the mean. ``"orthogonal"`` projects the pre-shape, rotated onto the mean, and the length is the
        full distance.
    mean : {"full", "partial", "geodesic"}, default "full"
        Kind of the mean shape, see :func:`shapelex.mean_shape`.

    Attributes
    ----------
    mean_ : ndarray of complex, shape (n_coordinates,)
        The mean shape: a pre-shape, in the pose of the first shape.
    components_ : ndarray of complex, shape (n_components, n_coordinates)
        The modes: horizontal vectors at the mean, of norm 1, orthogonal in the real product.
    average_ : ndarray of complex, shape (n_coordinates,)
        Average of the tangent vectors, which is subtracted: a short horizontal vector. It is zero for the logarithm at
        the geodesic mean and for the orthogonal projection at the partial mean.
    explained_variance_ : ndarray of float, shape (n_components,)
        Variance of the scores of each mode.
    explained_variance_ratio_ : ndarray of float, shape (n_components,)
        The same as a fraction of the variance of the tangent vectors.
    space_ : Space
        Space of the configurations.
    n_components_ : int
        Number of modes.
    n_features_in_ : int
        Number of coordinates.

    Notes
    -----
    Scores do not depend on the poses of the shapes. The sign of each mode is chosen such that the score of largest
    modulus in the fitted set is positive.

    With ``projection="log"`` any scores can be mapped back to shapes, by the exponential; tangent vectors longer than
    π / 2 lead back towards the mean from the other side. The orthogonal projection of a shape has at most length 1, and
    :meth:`inverse_transform` refuses longer vectors.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

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
        # Translation takes two real dimensions, scaling and rotation one each.
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

    @keeps_array_kind
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

    @keeps_array_kind
    def inverse_transform(self, scores: ArrayLike) -> ComplexArray:
        """Compute the shapes of scores.

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
            If the scores have another number of modes.
        ShapeInputError
            If ``projection="orthogonal"`` and a tangent vector is longer than 1, which is the projection of no shape.
        """
        check_is_fitted(self)
        dense = check_dense_codes(scores, self.n_components_, "scores", is_real=True)
        return self.space_.unwhiten(self._shape_rows(dense))

    @keeps_array_kind
    def reconstruct(self, X: ArrayLike, n_components: int | None = None) -> ComplexArray:
        """Approximate shapes by the first modes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        n_components : int, optional
            Number of modes to use; all by default.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            Pre-shapes that approximate ``space_.preshape(X)``, in their poses.
        """
        rows = self._read_new_rows(X)
        return self.space_.unwhiten(self._reconstruct_rows(rows, n_components))

    @keeps_array_kind
    def errors(self, X: ArrayLike, n_components: int | None = None) -> FloatArray:
        """Full Procrustes distance from each shape to its reconstruction.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        n_components : int, optional
            Number of modes to use; all by default. A fit with fewer modes finds the first of these.

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
        """Return whitened pre-shapes of scores of the first modes; too long vectors are shortened or refused."""
        base = self._base()
        modes = self.space_.whiten(self.components_[: scores.shape[1]])
        # exp_rows needs vectors that are horizontal to the last digit.
        vectors = remove_along(base, self.space_.whiten(self.average_) + scores @ modes)
        if self.projection == "log":
            return exp_rows(base, vectors)
        lengths = row_norms(vectors)
        if shortens:
            # The average plus some modes of a shape far from the mean may be longer than the projection of any shape:
            # the nearest vector that is one takes its place.
            vectors = vectors / np.maximum(lengths, 1)[:, None]
            lengths = np.minimum(lengths, 1)
        rounding = 16 * np.finfo(lengths.dtype).eps
        too_long = lengths > 1 + rounding
        if too_long.any():
            raise ShapeInputError(
                f"scores give tangent vectors longer than 1 in {name_rows(too_long)}, which are the projection of no "
                'shape; use smaller scores, or projection="log".'
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
    """Return rows of the real and imaginary parts; their plain product is ``Re(x* y)``."""
    parts: FloatArray = np.ascontiguousarray(rows).view(rows.real.dtype)
    return parts
