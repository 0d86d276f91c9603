"""Scores from the errors in every class: each class has its own scale of errors and its own offset.

Input: held-out errors with the numbers of the true classes. Output: a temperature and an offset for each class.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from shapelex._typing import FloatArray, IntArray

# Penalties, in the weight of one shape: with 30 shapes or fewer per class, scales without a penalty fit noise.
_OFFSET_PENALTY = 3.0
_SCALE_PENALTY = 12.0


@dataclass(frozen=True)
class ErrorCalibration:
    """Scores ``offset_c − d_c² / temperature_c``, the logarithms of probabilities up to a constant."""

    temperatures: FloatArray
    offsets: FloatArray

    @property
    def scale(self) -> FloatArray:
        """The temperatures, under the name that other calibrations have for their scale."""
        return self.temperatures

    def scores(self, errors: FloatArray) -> FloatArray:
        """Return the score of each class, shape (n_shapes, n_classes)."""
        # Errors are at most 1, so only a temperature that is no normal number gives infinite scores.
        with np.errstate(over="ignore"):
            scores: FloatArray = self.offsets - errors.astype(np.float64) ** 2 / self.temperatures
        return np.maximum(scores, -0.25 * np.finfo(np.float64).max)


def calibrate(errors: FloatArray, numbers: IntArray, weights: FloatArray) -> ErrorCalibration:
    """Return the scales and offsets that maximize the likelihood of the labels, less a penalty on unequal classes.

    Minimizes ``−Σ_k weight_k log softmax_c(b_c − exp(s + t_c) d_kc²)[number_k] + 6 |t|² + 3/2 |b|²``, with weights that
    sum to the number of shapes.
    """
    n_shapes, n_classes = errors.shape
    squares = errors.astype(np.float64) ** 2
    unit = max(float(np.sort(squares, axis=1)[:, :2].mean()), float(np.finfo(np.float64).tiny))
    squares /= unit
    shares = weights * (n_shapes / weights.sum())
    shapes = np.arange(n_shapes)

    def objective(parameters: FloatArray) -> tuple[float, FloatArray]:
        deviations, offsets = parameters[1 : 1 + n_classes], parameters[1 + n_classes :]
        exponents = squares * np.exp(parameters[0] + deviations)
        logarithms = log_softmax(offsets - exponents, axis=1)
        excess = np.exp(logarithms)
        excess[shapes, numbers] -= 1
        excess *= shares[:, None]
        slopes = -(excess * exponents).sum(axis=0)
        penalty = _SCALE_PENALTY * (deviations @ deviations) + _OFFSET_PENALTY * (offsets @ offsets)
        gradient = np.concatenate(
            [[slopes.sum()], slopes + _SCALE_PENALTY * deviations, excess.sum(axis=0) + _OFFSET_PENALTY * offsets]
        )
        return float(-(shares @ logarithms[shapes, numbers]) + penalty / 2), gradient

    # For perfectly separated classes the best common scale is infinite; beyond e^10 of the unit nothing changes.
    bounds = [(-10.0, 10.0)] + [(None, None)] * (2 * n_classes)
    found = minimize(objective, np.zeros(1 + 2 * n_classes), jac=True, method="L-BFGS-B", bounds=bounds).x
    return ErrorCalibration(unit * np.exp(-found[0] - found[1 : 1 + n_classes]), found[1 + n_classes :])
