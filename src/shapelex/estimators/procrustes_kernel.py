"""The Gaussian kernel of the full distance, for scikit-learn's kernel methods, and sparse coding over it."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from shapelex._typing import ArrayLike, ColumnLayout, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_choice, check_number, check_positive
from shapelex.coding import SparseCodes, encode_rows, residual_norms
from shapelex.estimators.base import SavedEstimator, all_or_nothing, check_matrix
from shapelex.exceptions import ParameterError
from shapelex.files.schema import Array, Count, Number, Schema
from shapelex.geometry.alignment import resolve_space
from shapelex.geometry.distances import pairwise_row_distances
from shapelex.shapes.storage import Shapes
from shapelex.spaces import Space, from_columns


@dataclass(eq=False, repr=False)
class ProcrustesKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedEstimator):  # type: ignore[misc]
    """Gaussian kernel of the full Procrustes distance, ``k(z, w) = exp(−gamma d_F²(z, w))`` (Jayasumana et al. 2013).

    It is positive definite for every ``gamma > 0``. As a transformer it converts shapes to their kernel values with the
    fitted shapes, for a pipeline with any method that has ``kernel="precomputed"``: scikit-learn itself refuses complex
    arrays, and cross-validation of the pipeline splits the shapes, not the matrix.

    Parameters
    ----------
    gamma : float or "scale", default "scale"
        Inverse square of the width. ``"scale"`` is the inverse of half the mean squared distance of all pairs of fitted
        shapes, which corresponds to the variance in scikit-learn's ``"scale"``.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    layout : {"blocks", "interleaved"}, optional
        Order of the columns of a real 2-D array, see :func:`shapelex.from_columns`. By default such an array is
        refused.

    Attributes
    ----------
    shapes_ : ndarray of complex, shape (n_fitted, n_coordinates)
        Pre-shapes of the fitted shapes.
    gamma_ : float
        The `gamma`, or its estimate.
    n_samples_fit_ : int
        Number of fitted shapes.
    space_ : Space
        Space of the configurations.
    n_features_in_ : int
        Number of coordinates.

    Notes
    -----
    An instance can be called as a kernel function of any two sets: ``SVC(kernel=ProcrustesKernel(10.0,
    layout="blocks"))`` works on real columns. `gamma` must then be a number, as scikit-learn does not fit the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(12) / 12)
    >>> X = circle + rng.normal(size=(40, 2)) @ [0.1 * circle**2, 0.1 * circle**3]
    >>> X[20:] += 0.5 * circle**-1
    >>> y = np.repeat(["round", "long"], 20)
    >>> model = make_pipeline(sx.ProcrustesKernel(), SVC(kernel="precomputed")).fit(X, y)
    >>> model.predict([1j * circle, circle + 0.5 / circle])
    array(['round', 'long'], dtype='<U5')
    """

    gamma: float | Literal["scale"] = "scale"
    _: KW_ONLY
    space: Space | None = None
    layout: ColumnLayout | None = None

    _array_methods = (*SavedEstimator._array_methods, "__call__", "encode")
    _schema = Schema(
        Count("n_samples_fit_"), Array("shapes_", "complex", ("n_samples_fit_", "n_coordinates")), Number("gamma_")
    )

    def fit(self, X: ArrayLike, y: Any = None) -> "ProcrustesKernel":  # noqa: ARG002
        """Store the shapes with which others will be compared.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.

        Returns
        -------
        ProcrustesKernel
            The transformer itself.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> FloatArray:  # noqa: ARG002
        """Store the shapes, and return their kernel values with each other.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_shapes)
            The Gram matrix: symmetric, with ones on its diagonal.
        """
        return _gaussian(self._fit(X), self.gamma_)

    def transform(self, X: ArrayLike) -> FloatArray:
        """Kernel values with the fitted shapes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_fitted)
            Values between 0 and 1.
        """
        return _gaussian(pairwise_row_distances(self._read_new_rows(X), self._fitted_rows()), self.gamma_)

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Any:
        """Kernel values between any two sets of shapes; the kernel need not be fitted.

        Parameters
        ----------
        X : array_like, complex (n_first, n_coordinates) or real (n_first, n_points, 2)
            Configurations, or columns where `layout` is given; or one shape.
        Y : array_like, optional
            As `X`; `X` itself when not given.

        Returns
        -------
        ndarray of float, shape (n_first, n_second), or float
            Values between 0 and 1; one number for two single shapes.

        Raises
        ------
        ValueError
            If `gamma` is ``"scale"`` and nothing was fitted.
        """
        gamma = getattr(self, "gamma_", None) or _check_gamma(self.gamma)
        if gamma is None:
            raise ParameterError('gamma="scale" needs fitted shapes: give gamma as a number, or call fit first.')
        configurations = self._read(X)
        space = resolve_space(getattr(self, "space_", self.space), configurations, "X")
        first = space.whitened_preshapes(configurations, "X")
        second = None if Y is None else space.whitened_preshapes(self._read(Y, "Y"), "Y")
        values = _gaussian(pairwise_row_distances(first, second), gamma)
        is_single = np.ndim(X) == 1 and (Y is None or np.ndim(Y) == 1)
        return values[0, 0] if is_single else values

    def encode(self, X: ArrayLike, n_nonzero: int = 5, coder: str = "ormp") -> FloatArray:
        """Code shapes over the fitted shapes, in the feature space of the kernel.

        Searches for real weights that solve ``min |phi(z) − Σ_j a_j phi(d_j)|²  subject to  |a|_0 ≤ n_nonzero``, where
        ``phi`` is the feature map of the kernel and the ``d_j`` are ``shapes_``.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        n_nonzero : int, default 5
            Maximum number of fitted shapes per shape.
        coder : {"ormp", "omp", "beam", "exact", "auto"}, default "ormp"
            Search method, see :func:`shapelex.encode`.

        Returns
        -------
        ndarray of float64, shape (n_shapes, n_fitted)
            Weights, most of them zero.

        Notes
        -----
        Decomposes the Gram matrix of ``shapes_``, which takes about ``n_fitted³`` operations.
        """
        atom_rows, rows = self._feature_rows(X)
        return encode_rows(rows, atom_rows, n_nonzero, method=coder).toarray().real.copy()

    def coding_errors(self, X: ArrayLike, codes: ArrayLike) -> FloatArray:
        """Distances from shapes to the sums that codes describe, in the feature space of the kernel.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        codes : array_like of float, shape (n_shapes, n_fitted)
            Weights, as returned by :meth:`encode`.

        Returns
        -------
        ndarray of float64, shape (n_shapes,)
            ``|phi(z) − Σ_j a_j phi(d_j)|``: 1 for zero weights, as ``phi`` has norm 1.

        Raises
        ------
        CodesError
            If there is not one real weight for each shape and each fitted shape.
        """
        atom_rows, rows = self._feature_rows(X)
        weights = check_matrix(codes, len(rows), len(atom_rows), is_real=True)
        return residual_norms(rows, atom_rows, SparseCodes.from_dense(weights.astype(np.complex128)))

    @all_or_nothing
    def _fit(self, X: ArrayLike) -> FloatArray:
        """Fit, and return the distances of all pairs."""
        gamma = _check_gamma(self.gamma)
        configurations = self._read_fit_input(X)
        distances = pairwise_row_distances(self.space_.whitened_preshapes(configurations, "X"))
        self.shapes_ = self.space_.preshape(configurations)
        self.n_samples_fit_ = len(self.shapes_)
        if gamma is None:
            # For small distances half of the mean is the variance in the tangent space, which scikit-learn uses.
            mean = float(np.mean(distances.astype(np.float64) ** 2))
            # Two copies of a shape are a few roundings apart.
            rounding = 64 * float(np.finfo(distances.dtype).eps)
            gamma = 2 / mean if mean > rounding**2 else 1.0
        self.gamma_ = gamma
        return distances

    def _feature_rows(self, X: ArrayLike) -> tuple[ComplexArray, ComplexArray]:
        """Return rows whose products are the kernel values of the fitted shapes, and rows of `X` by the same rule.

        A sum of atoms never leaves the span of the atoms' features, so one more coordinate, which no atom has, holds
        all the rest of a sample. Directions whose eigenvalue is below ``n_atoms eps`` of the largest are left out.
        """
        cross = self.transform(X)
        gram = _gaussian(pairwise_row_distances(self._fitted_rows()), self.gamma_)
        values, vectors = eigh(gram.astype(np.float64))
        kept = values > len(gram) * np.finfo(np.float64).eps * values[-1]
        scales, directions = np.sqrt(values[kept]), vectors[:, kept]
        inside = cross.astype(np.float64) @ (directions / scales)
        outside = np.sqrt(np.maximum(1 - np.einsum("kr,kr->k", inside, inside), 0))
        rows = np.column_stack([inside, outside])
        atom_rows = np.column_stack([directions * scales, np.zeros(len(gram))])
        return atom_rows.astype(np.complex128), rows.astype(np.complex128)

    def _fitted_rows(self) -> ComplexArray:
        return self.space_.whitened_preshapes(self.shapes_, "shapes_")

    def _open_input(self, X: Any, space: Space | None, sample_weight: ArrayLike | None = None) -> Shapes:
        return super()._open_input(self._read(X), space, sample_weight)

    def _read(self, X: ArrayLike, name: str = "X") -> ArrayLike:
        if self.layout is None:
            return X
        columns = as_numeric_array(X, name)
        if np.iscomplexobj(columns) or columns.ndim > 2:
            return X
        return from_columns(np.atleast_2d(columns), layout=self.layout)

    def _check_loaded(self) -> None:
        if _check_gamma(self.gamma_) != (_check_gamma(self.gamma) or self.gamma_):
            raise ValueError("its gamma_ is not the gamma among its parameters")
        if self.layout is not None:
            check_choice(self.layout, get_args(ColumnLayout), "layout")
        self.transform(self.shapes_[:1])

    @property
    def _n_features_out(self) -> int:
        return len(self.shapes_)


def _check_gamma(gamma: float | str) -> float | None:
    """Return `gamma` as a number, None for "scale"."""
    if not isinstance(gamma, str):
        return check_positive(check_number(gamma, "gamma", 'a positive number or "scale"'), "gamma")
    if gamma != "scale":
        raise ParameterError(f'gamma must be a positive number or "scale", got {gamma!r}.')
    return None


def _gaussian(distances: FloatArray, gamma: float) -> FloatArray:
    """Return the kernel values ``exp(−gamma d_F²)`` of full distances.

    The kernel is positive definite for every ``gamma > 0``: ``d_F² = 1 − |x* y|²`` for whitened pre-shapes, and
    ``|x* y|²`` is the product of the matrices ``x x*`` and ``y y*``.
    """
    return np.asarray(np.exp(-gamma * distances**2))
