"""Principal component analyses of shapes: complex, of pre-shapes, and real, of tangent vectors at the mean."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.linalg import svd
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from shapelex._typing import ArrayLike, ComplexArray, DistanceKind, FloatArray
from shapelex._validation import check_choice, check_count, check_flag, name_rows
from shapelex.estimators.base import ShapeReconstructor, all_or_nothing, check_matrix
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.files.schema import Array, Count, Number, Schema
from shapelex.geometry import mean_shape
from shapelex.geometry.alignment import remove_along, rotations_onto
from shapelex.geometry.distances import DISTANCE_KINDS, row_distances
from shapelex.geometry.geodesics import exp_rows, log_rows
from shapelex.spaces.base import Space, row_norms

# How far the norms of modes in a file may be from 1, in either precision.
_ROUNDING = 1e-3
# Modes, their energies, these as fractions of the whole, and the energy of all other modes.
_Modes = tuple[Any, FloatArray, FloatArray, float]


class _PrincipalComponents(ShapeReconstructor):
    """An estimator whose codes are the weights of nested principal modes of deviations from an average.

    Subclasses say by which vectors the modes are found, whether their weights are real, and which shapes sums of modes
    stand for. All rows are whitened; vectors are rows.
    """

    n_components: int | None
    _is_real: ClassVar[bool]

    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Find the modes, and the mean where there is one.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations, at least two where an average is subtracted.
        y : None
            Ignored.

        Returns
        -------
        self
            The estimator itself.
        """
        mean, subtracts = self._check_choices()
        configurations = self._read_fit_input(X)
        rows = self.space_.whitened_preshapes(configurations, "X")
        self.__dict__.pop("mean_", None)
        if mean is not None:
            self.mean_ = mean_shape(configurations, mean, space=self.space_)
        vectors = self._vectors(rows)
        average = vectors.mean(axis=0) if subtracts else np.zeros_like(vectors[0])
        deviations = self._parts(vectors - average)
        # Translation takes one complex dimension; of real ones two, and scaling and rotation one each.
        most = min(len(rows) - subtracts, deviations.shape[1] - (4 if self._is_real else 1))
        directions = self._store_modes(deviations, _principal_modes(deviations, self.n_components, most))
        self.components_ = self.space_.unwhiten(directions.view(rows.dtype))
        self.average_, self.n_components_ = self.space_.unwhiten(average), len(directions)
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Code shapes by the modes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray, shape (n_shapes, n_components)
            :class:`ComplexPCA`: ``w_j* Phi z`` for pre-shapes ``z``, from which the average is subtracted with
            `subtract_average`. :class:`TangentPCA`: ``Re(w_j* Phi (v − average))`` for the tangent vectors ``v`` of the
            shapes, real.
        """
        return self._code(self._read_new_rows(X), self.n_components_)

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
            Approximations of the pre-shapes ``space_.preshape(X)``, in their poses; pre-shapes too for
            :class:`TangentPCA`.
        """
        rows, count = self._read_new_rows(X), self._count_modes(n_components)
        return self.space_.unwhiten(self._reconstruct(rows, count))

    def errors(self, X: ArrayLike, n_components: int | None = None) -> FloatArray:
        """Norms of the differences between pre-shapes and their reconstructions.

        They are the full Procrustes distances, except for :class:`ComplexPCA` with `subtract_average`.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        n_components : int, optional
            Number of modes to use; all by default. A fit with fewer modes finds the first of these.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            :class:`ComplexPCA`: ``|z − average − Σ_j (w_j* Phi (z − average)) w_j|_Phi``. :class:`TangentPCA`:
            distances between 0 and 1.
        """
        return self._errors(self._read_new_rows(X), self._count_modes(n_components))

    @abstractmethod
    def _check_choices(self) -> tuple[DistanceKind | None, bool]:
        """Check the parameters; return the kind of the mean, None without one, and whether to subtract an average."""

    @abstractmethod
    def _vectors(self, rows: ComplexArray) -> ComplexArray:
        """Return the vectors of pre-shapes by which the modes are found."""

    @abstractmethod
    def _store_modes(self, deviations: Any, modes: _Modes) -> Any:
        """Store what :func:`_principal_modes` found, and return the modes with a phase or a sign."""

    def _shape_rows(self, vectors: ComplexArray) -> ComplexArray:
        """Return the shapes of vectors; those too long for a shape are shortened."""
        return vectors

    def _errors(self, rows: ComplexArray, count: int) -> FloatArray:
        """Return the errors of approximations by the first modes."""
        return row_distances(self._reconstruct(rows, count), rows)

    def _count_modes(self, n_components: int | None) -> int:
        return _count_modes(n_components, self.n_components_, "the {} that were fitted")

    def _rotations(self, rows: ComplexArray) -> ComplexArray:
        """Return the phases that rotate pre-shapes onto the mean; 1 where they keep their poses."""
        if not hasattr(self, "mean_"):
            return np.ones((len(rows), 1), dtype=rows.dtype)
        return rotations_onto(rows, self._base())

    def _base(self) -> ComplexArray:
        return self.space_.whitened_preshapes(self.mean_, "mean_")

    def _deviations(self, rows: ComplexArray) -> ComplexArray:
        return self._vectors(rows) - self.space_.whiten(self.average_)

    def _parts(self, rows: ComplexArray) -> Any:
        """Return rows whose products are the codes: for real ones the real and imaginary parts."""
        return np.ascontiguousarray(rows).view(rows.real.dtype) if self._is_real else rows

    def _code(self, rows: ComplexArray, count: int) -> Any:
        return self._parts(self._deviations(rows)) @ self._parts(self._mode_rows(count)).conj().T

    def _sums(self, codes: Any) -> ComplexArray:
        """Return the average plus the first modes times their codes."""
        return np.asarray(self.space_.whiten(self.average_) + codes @ self._mode_rows(codes.shape[1]))

    def _reconstruct(self, rows: ComplexArray, count: int) -> ComplexArray:
        return np.conj(self._rotations(rows)) * self._shape_rows(self._sums(self._code(rows, count)))

    def _mode_rows(self, count: int) -> ComplexArray:
        return self.space_.whiten(self.components_[:count])

    def _check_loaded(self) -> None:
        mean, _ = self._check_choices()
        if hasattr(self, "mean_") != (mean is not None):
            raise ValueError("its mean does not fit its parameters")
        if self.n_components not in (None, self.n_components_):
            raise ValueError("its modes do not fit its parameters")
        lengths = self.space_.norm(self.components_)
        if not (np.abs(lengths - 1) < _ROUNDING).all() or not np.isfinite(self.errors(self.components_)).all():
            raise ValueError("its modes are not directions of norm 1")

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


@dataclass(eq=False, repr=False)
class ComplexPCA(_PrincipalComponents):
    """Find the orthonormal modes whose sums, each mode scaled and rotated, approximate pre-shapes best.

    For every number of modes, ``w_1, w_2, …`` minimize ``Σ_k |z_k − Σ_j (w_j* Phi z_k) w_j|²_Phi`` (paper [1]_, section
    6, "Computational results", equation 39). They are the ``Phi``-orthonormal eigenvectors of ``Z Z* Phi``, and the
    loss of the first modes is ``Σ_k |z_k|² − λ_1 − λ_2 − …``.

    Parameters
    ----------
    n_components : int, optional
        Number of modes; by default the number of dimensions that the shapes span.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    subtract_average : bool, default False
        Whether to subtract the average configuration from all pre-shapes first, as the paper does. Otherwise the first
        mode is the full Procrustes mean.
    align : bool, default True
        With `subtract_average`: whether to rotate the pre-shapes onto their mean shape before they are averaged.
        Otherwise they are averaged in their given poses, and the result depends on these.

    Attributes
    ----------
    components_ : ndarray of complex, shape (n_components, n_coordinates)
        The modes, as configurations: centered, of norm 1, orthogonal in the product of the space.
    explained_energy_ : ndarray of float, shape (n_components,)
        ``λ_j = Σ_k |w_j* Phi z_k|²``.
    explained_energy_ratio_ : ndarray of float, shape (n_components,)
        The same as a fraction of ``Σ_k |z_k|²``.
    loss_ : float
        ``Σ_k |z_k|² − Σ_j λ_j`` for all fitted modes.
    average_ : ndarray of complex, shape (n_coordinates,)
        The subtracted average; zeros without `subtract_average`.
    mean_ : ndarray of complex, shape (n_coordinates,)
        Mean shape onto which pre-shapes are rotated; set only where they are.
    space_ : Space
        Space of the configurations.
    n_components_ : int
        Number of modes.
    n_features_in_ : int
        Number of coordinates.

    Notes
    -----
    Without `subtract_average` the pose of a shape only rotates its code, and the error of a shape is its full distance
    to its reconstruction. With `subtract_average` the pose is fixed before the shape is approximated, and the error is
    at least that distance, usually larger.

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
    >>> X = circle + rng.normal(size=(200, 2)) @ [circle**-1, 0.3 * circle**2]
    >>> model = sx.ComplexPCA().fit(X)
    >>> model.n_components_
    3
    >>> bool(model.errors(X).max() < 1e-12)
    True
    """

    n_components: int | None = None
    _: KW_ONLY
    space: Space | None = None
    subtract_average: bool = False
    align: bool = True

    _is_real = False
    _schema = Schema(
        Count("n_components_"),
        Array("components_", "complex", ("n_components_", "n_coordinates")),
        Array("average_", "complex", ("n_coordinates",)),
        Array("mean_", "complex", ("n_coordinates",), optional=True),
        Array("explained_energy_", "float", ("n_components_",)),
        Array("explained_energy_ratio_", "float", ("n_components_",)),
        Number("loss_"),
    )

    def inverse_transform(self, codes: ArrayLike) -> ComplexArray:
        """Compute the configurations of codes.

        Parameters
        ----------
        codes : array_like of complex, shape (n_shapes, n_components)
            Codes.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            ``average + Σ_j a_j w_j``: centered, in the pose of the mean where shapes are rotated onto it, otherwise
            each in the pose of its pre-shape.

        Raises
        ------
        CodesError
            If the codes have another number of modes.
        """
        check_is_fitted(self)
        dense = check_matrix(codes, "n_shapes", self.n_components_)
        return np.asarray(self.average_ + dense @ self.components_)

    def _check_choices(self) -> tuple[DistanceKind | None, bool]:
        subtracts, aligns = check_flag(self.subtract_average, "subtract_average"), check_flag(self.align, "align")
        return "full" if subtracts and aligns else None, subtracts

    def _vectors(self, rows: ComplexArray) -> ComplexArray:
        return self._rotations(rows) * rows

    def _store_modes(self, deviations: Any, modes: _Modes) -> Any:  # noqa: ARG002
        directions, self.explained_energy_, self.explained_energy_ratio_, self.loss_ = modes
        # Phases are arbitrary: the largest entry is made positive.
        largest = np.take_along_axis(directions, np.argmax(np.abs(directions), axis=1)[:, None], axis=1)
        return directions * (np.conj(largest) / np.abs(largest))

    def _errors(self, rows: ComplexArray, count: int) -> FloatArray:
        modes, remaining = self._mode_rows(count), self._deviations(rows)
        remaining -= (remaining @ modes.conj().T) @ modes
        # A second projection removes the rounding errors of the first, where little of a row remains.
        remaining -= (remaining @ modes.conj().T) @ modes
        return row_norms(remaining)


@dataclass(eq=False, repr=False)
class TangentPCA(_PrincipalComponents):
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

    n_components: int | None = None
    _: KW_ONLY
    space: Space | None = None
    projection: Literal["log", "orthogonal"] = "log"
    mean: DistanceKind = "full"

    _is_real = True
    _schema = Schema(
        Count("n_components_"),
        Array("components_", "complex", ("n_components_", "n_coordinates")),
        Array("average_", "complex", ("n_coordinates",)),
        Array("mean_", "complex", ("n_coordinates",)),
        Array("explained_variance_", "float", ("n_components_",)),
        Array("explained_variance_ratio_", "float", ("n_components_",)),
    )

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
        vectors = self._sums(check_matrix(scores, "n_shapes", self.n_components_, name="scores", is_real=True))
        if self.projection == "orthogonal":
            lengths = row_norms(remove_along(self._base(), vectors))
            too_long = lengths > 1 + 16 * np.finfo(lengths.dtype).eps
            if too_long.any():
                raise ShapeInputError(
                    f"scores give tangent vectors longer than 1 in {name_rows(too_long)}, which are the projection of "
                    'no shape; use smaller scores, or projection="log".'
                )
        return self.space_.unwhiten(self._shape_rows(vectors))

    def _check_choices(self) -> tuple[DistanceKind | None, bool]:
        check_choice(self.projection, ("log", "orthogonal"), "projection")
        check_choice(self.mean, DISTANCE_KINDS, "mean")
        return self.mean, True

    def _vectors(self, rows: ComplexArray) -> ComplexArray:
        base = self._base().astype(rows.dtype, copy=False)
        if self.projection == "log":
            return log_rows(base, rows)
        return remove_along(base, self._rotations(rows) * rows)

    def _store_modes(self, deviations: Any, modes: _Modes) -> Any:
        directions, energies, self.explained_variance_ratio_, _ = modes
        self.explained_variance_ = energies / energies.dtype.type(len(deviations) - 1)
        return svd_flip(deviations @ directions.T, directions)[1]

    def _shape_rows(self, vectors: ComplexArray) -> ComplexArray:
        base = self._base()
        # exp_rows needs vectors that are horizontal to the last digit.
        vectors = remove_along(base, vectors)
        if self.projection == "log":
            return exp_rows(base, vectors)
        # The average plus some modes of a shape far from the mean may be longer than the projection of any shape: the
        # nearest vector that is one takes its place.
        lengths = row_norms(vectors)
        vectors, lengths = vectors / np.maximum(lengths, 1)[:, None], np.minimum(lengths, 1)
        cosines = np.sqrt((1 - lengths) * (1 + lengths))
        return cosines[:, None] * base + vectors


def _count_modes(n_components: int | None, most: int, words: str) -> int:
    """Return the number of modes to use, for None all that there are; `words` say in an error how many these are."""
    if n_components is None:
        return most
    if check_count(n_components, 1, "n_components") > most:
        raise ParameterError(f"n_components must be between 1 and {words.format(most)}, got {n_components}.")
    return n_components


def _principal_modes(rows: Any, n_components: int | None, most: int) -> _Modes:
    """Return the orthonormal modes of rows by decreasing energy, each fixed up to a phase or a sign.

    With them come their energies ``λ_j = Σ_k |w_j* x_k|²``, the same as fractions of the summed squares of the rows,
    and the sum of the energies of all other modes.
    """
    # The triangular factor has the same singular values and modes; the Gram matrix would lose half of the digits.
    triangle = np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows
    _, values, directions = svd(triangle, full_matrices=False, check_finite=False)
    energies: FloatArray = values**2
    # Rows of norm 1 have rounding errors of this size in every direction, also in those they do not span.
    rounding = rows.shape[1] * float(np.finfo(values.dtype).eps)
    rank = min(int(np.count_nonzero(values > rounding * np.sqrt(len(rows)))), most)
    if rank == 0:
        raise ShapeInputError("X holds copies of one shape only, so nothing varies: give different shapes.")
    kept = _count_modes(n_components, rank, "{}, the dimensions that the shapes span")
    energies, remainder = energies[:kept], float(energies[kept:].sum(dtype=np.float64))
    ratios = energies / energies.dtype.type(float(energies.sum(dtype=np.float64)) + remainder)
    return np.ascontiguousarray(directions[:kept]), energies, np.asarray(ratios), remainder
