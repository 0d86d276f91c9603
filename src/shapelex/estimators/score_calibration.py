"""Probabilities from scores of classes, and one set of probabilities from several.

Input: scores of held-out shapes in every class, shape (n_shapes, n_classes), with the numbers of the true classes.
Output: a scale and offsets that turn scores into probabilities; weights that pool probabilities of several methods.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from shapelex._typing import FloatArray, IntArray

# Penalties, in the weight of one shape.
_OFFSET_PENALTY = 3.0
_WEIGHT_PENALTY = 50.0
# Share of equal probabilities that is mixed in, so that one method cannot exclude a class for all.
_UNIFORM_SHARE = 1e-3


@dataclass(frozen=True)
class ScoreCalibration:
    """Log-odds ``scale · score_c + offset_c``."""

    scale: float | FloatArray
    offsets: FloatArray

    def scores(self, scores: FloatArray) -> FloatArray:
        """Return the logarithms of probabilities, up to a constant for each shape."""
        found: FloatArray = self.scale * scores + self.offsets
        return found


def calibrate_scores(scores: FloatArray, numbers: IntArray) -> ScoreCalibration:
    """Return the scale and offsets of greatest likelihood, less ``3/2 |offsets|²``."""
    n_shapes, n_classes = scores.shape
    ordered = np.sort(scores, axis=1)
    spread, size = float(np.mean(ordered[:, -1] - ordered[:, 0])), float(np.abs(ordered).max())
    # Scores that are equal but for rounding say nothing, in any unit.
    unit = spread if spread > 1e-12 * size else 1.0
    scaled = (scores - ordered[:, -1:]) / unit
    shapes = np.arange(n_shapes)

    def objective(parameters: FloatArray) -> tuple[float, FloatArray]:
        scale, offsets = np.exp(parameters[0]), parameters[1:]
        logarithms = log_softmax(scale * scaled + offsets, axis=1)
        excess = np.exp(logarithms)
        excess[shapes, numbers] -= 1
        gradient = np.concatenate([[scale * np.sum(excess * scaled)], excess.sum(axis=0) + _OFFSET_PENALTY * offsets])
        return float(-logarithms[shapes, numbers].sum() + _OFFSET_PENALTY * (offsets @ offsets) / 2), gradient

    # For perfectly separated classes the best scale is infinite.
    bounds = [(-10.0, 5.0)] + [(None, None)] * n_classes
    start = np.concatenate([[np.log(4.0)], np.zeros(n_classes)])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return ScoreCalibration(float(np.exp(found[0])) / unit, found[1:])


def pool(logarithms: FloatArray, weights: FloatArray) -> FloatArray:
    """Return log-probabilities proportional to ``Σ_m weight_m log p_m``, from (n_methods, n_shapes, n_classes)."""
    found: FloatArray = log_softmax(np.tensordot(weights, _soften(logarithms), axes=1), axis=1)
    return found


def pooling_weights(logarithms: FloatArray, numbers: IntArray) -> FloatArray:
    """Return the weights, at least 0, of greatest likelihood of the labels, less a penalty on unequal weights."""
    n_methods, n_shapes, _ = logarithms.shape
    softened = _soften(logarithms)
    shapes = np.arange(n_shapes)
    right = softened[:, shapes, numbers]
    equal = np.full(n_methods, 1 / n_methods)

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        found = log_softmax(np.tensordot(weights, softened, axes=1), axis=1)
        expected = np.einsum("kc,mkc->m", np.exp(found), softened)
        apart = weights - equal
        value = -found[shapes, numbers].sum() + _WEIGHT_PENALTY * (apart @ apart) / 2
        return float(value), expected - right.sum(axis=1) + _WEIGHT_PENALTY * apart

    found: FloatArray = minimize(objective, equal, jac=True, method="L-BFGS-B", bounds=[(0, 3)] * n_methods).x
    return found


def _soften(logarithms: FloatArray) -> FloatArray:
    """Mix equal probabilities into all."""
    n_classes = logarithms.shape[2]
    found: FloatArray = np.logaddexp(logarithms + np.log1p(-_UNIFORM_SHARE), np.log(_UNIFORM_SHARE / n_classes))
    return found
