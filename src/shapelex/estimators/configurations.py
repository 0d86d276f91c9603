"""What all estimators of shapes do with their input, and what scikit-learn should know of it."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from shapelex._typing import ArrayLike, ComplexArray
from shapelex.shapes.collection import Shapes
from shapelex.shapes.opening import as_shapes, read_configurations
from shapelex.spaces import Space

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(fit: Method) -> Method:
    """Let a fit that fails, or is interrupted, leave the estimator as it was: fitted before, or not at all."""

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


class ConfigurationInput(BaseEstimator):  # type: ignore[misc]
    """An estimator that takes configurations: complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)."""

    space: Space | None

    def _check_fit_input(self, X: ArrayLike) -> ComplexArray:
        """Return configurations; learn their space and how many coordinates they have."""
        configurations, self.space_ = self._read_fit_input(X)
        self.n_features_in_ = self.space_.n_coordinates
        return configurations

    def _read_fit_input(self, X: ArrayLike) -> tuple[ComplexArray, Space]:
        """Return configurations and their space, and learn nothing yet."""
        return read_configurations(X, self.space)

    def _open_fit_input(self, X: Any, sample_weight: ArrayLike | None = None) -> Shapes:
        """Return shapes to fit, unread where they lie outside memory."""
        return as_shapes(X, self.space, sample_weight)

    def _open_new_input(self, X: Any, sample_weight: ArrayLike | None = None) -> Shapes:
        """Return shapes of the space that was fitted, unread where they lie outside memory."""
        check_is_fitted(self)
        return as_shapes(X, self.space_, sample_weight)

    def _check_new_input(self, X: ArrayLike) -> ComplexArray:
        """Return configurations of the space that was fitted."""
        check_is_fitted(self)
        return read_configurations(X, self.space_)[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def as_generator(random_state: Any) -> np.random.Generator:
    """Return the one source of chance of a fit: from a seed, a generator, or scikit-learn's ``RandomState``."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    if isinstance(random_state, str | float | bool):
        raise ValueError(f"random_state must be a seed, a Generator, a RandomState or None, got {random_state!r}.")
    return np.random.default_rng(random_state)


def count_jobs(n_jobs: Any) -> int | None:
    """Return the most threads that ``n_jobs`` asks for; None leaves the choice to the coder."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a number of threads, -1 for all processors, or None, got {n_jobs!r}.")
    return int(effective_n_jobs(int(n_jobs)))


def numbered_names(prefixes: Sequence[str], n_each: int) -> np.ndarray[Any, np.dtype[np.object_]]:
    """Return ``prefix0, prefix1, …`` for each prefix in turn, as scikit-learn wants feature names."""
    return np.array([f"{prefix}{number}" for prefix in prefixes for number in range(n_each)], dtype=object)
