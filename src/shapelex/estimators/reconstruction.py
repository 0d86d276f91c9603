"""What the dictionary and the methods beside it share: they code shapes, and are judged by what they lose."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from shapelex._blas import single_blas_thread
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_weights
from shapelex.estimators.configurations import ConfigurationInput
from shapelex.exceptions import CodesError, NonFiniteError
from shapelex.geometry.preshapes import phases
from shapelex.spaces.rows import row_inner


class ShapeReconstructor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ConfigurationInput, ABC):  # type: ignore[misc]
    """A transformer of shapes whose score follows from the errors of its reconstructions."""

    @abstractmethod
    def errors(self, X: ArrayLike) -> FloatArray:
        """Error of each shape; every method says what it measures.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            Errors.
        """

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:  # noqa: ARG002
        """Negative root mean squared error, so that more is better.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.
        sample_weight : array_like of float, shape (n_shapes,), optional
            How much each shape counts.

        Returns
        -------
        float
            ``−sqrt(mean(errors(X)²))``.
        """
        errors = self.errors(X).astype(np.float64)
        shares = check_weights(sample_weight, len(errors), np.dtype(np.float64), name="sample_weight")
        return -float(np.sqrt(shares @ errors**2))

    @single_blas_thread()
    def _check_new_rows(self, X: ArrayLike) -> ComplexArray:
        configurations = self._check_new_input(X)
        return self.space_.whitened_preshapes(configurations, "X")

    def __sklearn_is_fitted__(self) -> bool:
        # A fit that failed half way leaves a space, but nothing to transform by.
        return hasattr(self, "_n_features_out")


def check_dense_codes(codes: ArrayLike, n_columns: int, name: str = "codes", *, is_real: bool = False) -> Any:
    """Return codes as a finite array with `n_columns`; refuse others, and complex ones where `is_real`."""
    dense = as_numeric_array(codes, name)
    if dense.ndim != 2 or dense.shape[1] != n_columns:
        raise CodesError(f"{name} must have shape (n_shapes, {n_columns}), got {dense.shape}.")
    if is_real and np.iscomplexobj(dense):
        raise CodesError(f"{name} must be real, got {dense.dtype}: complex weights are those of another method.")
    if not np.isfinite(dense).all():
        raise NonFiniteError(f"{name} must be finite.")
    return dense


def turns_onto(rows: ComplexArray, base: ComplexArray) -> ComplexArray:
    """Return the phases by which whitened pre-shapes are turned to lie closest to `base`, as a column."""
    turns: ComplexArray = phases(row_inner(rows, base))[:, None].astype(rows.dtype, copy=False)
    return turns
