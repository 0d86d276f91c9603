"""What the estimators of shapes share: how they read shapes, how they are saved, and how they are scored."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from shapelex._blas import single_blas_thread
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_weights
from shapelex.exceptions import CodesError, NonFiniteError
from shapelex.shapes.collection import Shapes
from shapelex.shapes.opening import as_shapes, read_configurations
from shapelex.spaces import Space
from shapelex.store.estimator_file import save_estimator
from shapelex.store.schema import Schema

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(fit: Method) -> Method:
    """Restore the attributes of the estimator when a fit fails or is interrupted."""

    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **options)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fit_or_restore  # type: ignore[return-value]


class ShapeEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that takes configurations: complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)."""

    space: Space | None
    space_: Space

    def _open_input(self, X: Any, space: Space | None, sample_weight: ArrayLike | None = None) -> Shapes:
        """Return the input as shapes of a space, not read yet where they are outside memory.

        An estimator that also takes other input, or has another default space, overrides this method.
        """
        return as_shapes(X, space, sample_weight)

    def _open_new_input(self, X: Any) -> Shapes:
        """Return shapes of the fitted space, not read yet where they are outside memory."""
        check_is_fitted(self)
        return self._open_input(X, self.space_)

    @single_blas_thread()
    def _read_new_rows(self, X: ArrayLike) -> ComplexArray:
        """Return the whitened pre-shapes of shapes of the fitted space."""
        shapes = self._open_new_input(X)
        return shapes.space.whitened_preshapes(shapes[:], "X")

    def _read_fit_input(self, X: ArrayLike) -> ComplexArray:
        """Return configurations in memory, and store their space and number of coordinates."""
        configurations, self.space_ = read_configurations(self._open_input(X, self.space))
        self.n_features_in_ = self.space_.n_coordinates
        return configurations

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


class SavedEstimator(ShapeEstimator):
    """An estimator that can be written to a model file; its ``_schema`` declares the content of the file."""

    _schema: Schema

    def save(self, path: str | Path, *, run: Mapping[str, Any] | None = None) -> Path:
        """Write the fitted estimator to a model file, which :func:`shapelex.load` reads.

        Parameters
        ----------
        path : str or Path
            Path of the file; ``.npz`` is added where it is missing. An existing file is replaced in one step.
        run : mapping, optional
            Record of what made the estimator, stored in the file unchanged: JSON values such as a command and its seed.

        Returns
        -------
        Path
            Path of the written file.

        Raises
        ------
        ModelFileError
            If the space holds functions or class labels are neither text nor numbers, which a model file cannot
            hold, or if parameters were changed so that they no longer fit the fitted attributes.
        """
        check_is_fitted(self)
        return save_estimator(self, path, run)

    def _check_loaded(self) -> None:
        """Refuse parameters that no fit would accept, and attributes that cannot be used, such as collapsed atoms."""
        raise NotImplementedError


class ShapeReconstructor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedEstimator, ABC):  # type: ignore[misc]
    """A transformer of shapes whose score follows from the errors of its reconstructions."""

    @abstractmethod
    def errors(self, X: ArrayLike) -> FloatArray:
        """Error of each shape; each method documents what it measures.

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
        """Negative root mean squared error, so that larger is better.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.
        sample_weight : array_like of float, shape (n_shapes,), optional
            Weight of each shape.

        Returns
        -------
        float
            ``−sqrt(mean(errors(X)²))``.
        """
        errors = self.errors(X).astype(np.float64)
        shares = check_weights(sample_weight, len(errors), np.dtype(np.float64), name="sample_weight")
        return -float(np.sqrt(shares @ errors**2))

    def __sklearn_is_fitted__(self) -> bool:
        # An interrupted fit may leave a space, but nothing to transform by.
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


def as_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of a fit from a seed, a generator or scikit-learn's ``RandomState``."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    if isinstance(random_state, str | float | bool):
        raise ValueError(f"random_state must be a seed, a Generator, a RandomState or None, got {random_state!r}.")
    return np.random.default_rng(random_state)


def count_jobs(n_jobs: Any) -> int | None:
    """Return the maximum number of threads for ``n_jobs``; None leaves the choice to the coder."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a number of threads, -1 for all processors, or None, got {n_jobs!r}.")
    return int(effective_n_jobs(int(n_jobs)))
