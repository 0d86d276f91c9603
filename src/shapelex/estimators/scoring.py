"""One score for all methods that reconstruct shapes, so that searches and comparisons read the same number."""

from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, FloatArray
from shapelex._validation import check_weights


class ReconstructionScore:
    """An estimator whose score follows from the errors of its reconstructions."""

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
        raise NotImplementedError

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
        shares = check_weights(sample_weight, len(errors), np.dtype(np.float64))
        return -float(np.sqrt(shares @ errors**2))
