"""Complex principal component analysis of pre-shapes."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_flag
from shapelex.estimators.base import all_or_nothing, check_dense_codes
from shapelex.estimators.modes import ModesReconstructor, principal_modes
from shapelex.geometry import mean_shape
from shapelex.geometry.preshapes import rotations_onto
from shapelex.spaces import Space
from shapelex.spaces.rows import row_norms
from shapelex.store.schema import Array, Count, Number, Schema


class ComplexPCA(ModesReconstructor):
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

    _schema = Schema(
        (
            Count("n_components_"),
            Array("components_", "complex", ("n_components_", "n_coordinates")),
            Array("average_", "complex", ("n_coordinates",)),
            Array("mean_", "complex", ("n_coordinates",), optional=True),
            Array("explained_energy_", "float", ("n_components_",)),
            Array("explained_energy_ratio_", "float", ("n_components_",)),
            Number("loss_"),
        )
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        space: Space | None = None,
        subtract_average: bool = False,
        align: bool = True,
    ) -> None:
        self.n_components = n_components
        self.space = space
        self.subtract_average = subtract_average
        self.align = align

    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> "ComplexPCA":  # noqa: ARG002
        """Find the modes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.

        Returns
        -------
        ComplexPCA
            The estimator itself.
        """
        subtracts = check_flag(self.subtract_average, "subtract_average")
        aligns = check_flag(self.align, "align")
        configurations = self._read_fit_input(X)
        rows = self.space_.whitened_preshapes(configurations, "X")
        self.__dict__.pop("mean_", None)
        if subtracts and aligns:
            self.mean_ = mean_shape(configurations, space=self.space_)
        rotated = self._rotations(rows) * rows
        average = rotated.mean(axis=0) if subtracts else np.zeros(rows.shape[1], dtype=rows.dtype)
        remaining = rotated - average
        most = min(len(rows) - subtracts, rows.shape[1] - 1)
        modes = principal_modes(remaining, self.n_components, most)
        self.components_ = self.space_.unwhiten(_in_common_phase(modes.directions))
        self.average_ = self.space_.unwhiten(average)
        self.explained_energy_ = modes.energies
        self.explained_energy_ratio_ = modes.ratios
        self.loss_ = modes.remainder
        self.n_components_ = len(self.components_)
        return self

    @keeps_array_kind
    def transform(self, X: ArrayLike) -> ComplexArray:
        """Code shapes by the modes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_components)
            ``w_j* Phi z`` for pre-shapes ``z``, from which the average is subtracted with `subtract_average`.
        """
        rows = self._read_new_rows(X)
        return self._code(self._rotations(rows) * rows, self.n_components_)

    @keeps_array_kind
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
        dense = check_dense_codes(codes, self.n_components_)
        configurations: ComplexArray = self.average_ + dense @ self.components_
        return configurations

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
            Approximations of the pre-shapes ``space_.preshape(X)``, in their poses.
        """
        rows = self._read_new_rows(X)
        count = self._count_modes(n_components)
        rotations = self._rotations(rows)
        return np.conj(rotations) * (self.average_ + self._code(rotations * rows, count) @ self.components_[:count])

    @keeps_array_kind
    def errors(self, X: ArrayLike, n_components: int | None = None) -> FloatArray:
        """Norms of the differences between pre-shapes and their reconstructions.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        n_components : int, optional
            Number of modes to use; all by default. A fit with fewer modes finds the first of these.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            ``|z − average − Σ_j (w_j* Phi (z − average)) w_j|_Phi``; without `subtract_average` the full distances
            from the shapes to their reconstructions.
        """
        rows = self._read_new_rows(X)
        count = self._count_modes(n_components)
        rotated = self._rotations(rows) * rows
        modes = self._mode_rows(count)
        remaining = rotated - self.space_.whiten(self.average_)
        remaining -= (remaining @ modes.conj().T) @ modes
        # A second projection removes the rounding errors of the first, where little of a row remains.
        remaining -= (remaining @ modes.conj().T) @ modes
        return row_norms(remaining)

    def _rotations(self, rows: ComplexArray) -> ComplexArray:
        """Return the phases that rotate whitened pre-shapes onto the mean; 1 where they keep their poses."""
        if not hasattr(self, "mean_"):
            return np.ones((len(rows), 1), dtype=rows.dtype)
        return rotations_onto(rows, self.space_.whitened_preshapes(self.mean_, "mean_"))

    def _mode_rows(self, count: int) -> ComplexArray:
        return self.space_.whiten(self.components_[:count])

    def _code(self, rotated: ComplexArray, count: int) -> ComplexArray:
        codes: ComplexArray = (rotated - self.space_.whiten(self.average_)) @ self._mode_rows(count).conj().T
        return codes

    def _check_loaded(self) -> None:
        subtracts, aligns = check_flag(self.subtract_average, "subtract_average"), check_flag(self.align, "align")
        if hasattr(self, "mean_") != (subtracts and aligns):
            raise ValueError("its mean does not fit its parameters")
        super()._check_loaded()


def _in_common_phase(directions: ComplexArray) -> ComplexArray:
    """Return modes rotated so that their largest entry is positive, as their phases are arbitrary."""
    largest = np.take_along_axis(directions, np.argmax(np.abs(directions), axis=1)[:, None], axis=1)
    rotated: ComplexArray = directions * (np.conj(largest) / np.abs(largest))
    return rotated
