"""Turn scores of classes into probabilities, and pool the probabilities of several methods."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from shapelex._typing import FloatArray, IntArray

# Penalties, in the weight of one shape: with 30 shapes or fewer per class, scales without a penalty fit noise.
_OFFSET_PENALTY = 3.0
_SCALE_PENALTY = 12.0
_POOL_PENALTY = 50.0
# Share of equal probabilities that is mixed in, so that one method cannot exclude a class for all.
_UNIFORM_SHARE = 1e-3
# Digits of a mean log loss that count: beyond them rounding would choose where all classes are told apart.
_LOSS_DIGITS = 9


@dataclass(frozen=True)
class Calibration:
    """The factor and the offset of each class whose scores, times factor plus offset, are log-odds."""

    factors: FloatArray
    offsets: FloatArray

    def log_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the logarithms of the probabilities of all classes."""
        return np.asarray(log_softmax(self.factors * scores + self.offsets, axis=1))


def choose_scores(
    candidates: FloatArray, numbers: IntArray, weights: FloatArray | None = None, *, by_class: bool
) -> tuple[int, Calibration, FloatArray]:
    """Calibrate scores of held-out shapes, (n_settings, n_shapes, n_classes), and find the setting of least log loss.

    Returns its number, its calibration, and the log-probabilities of the held-out shapes.
    """
    found = [calibrate(scores, numbers, weights, by_class=by_class) for scores in candidates]
    logarithms = [one.log_probabilities(scores) for one, scores in zip(found, candidates, strict=True)]
    best = int(np.argmin([log_loss(one, numbers, weights) for one in logarithms]))
    return best, found[best], logarithms[best]


def log_loss(logarithms: FloatArray, numbers: IntArray, weights: FloatArray | None = None) -> float:
    """Return the mean log loss, rounded such that settings that tell all classes apart are equally good."""
    return round(-float(np.average(logarithms[np.arange(len(numbers)), numbers], weights=weights)), _LOSS_DIGITS)


def calibrate(scores: FloatArray, numbers: IntArray, weights: FloatArray | None, *, by_class: bool) -> Calibration:
    """Return the calibration of the scores of shapes whose classes have these numbers.

    It maximizes the likelihood of the labels less ``6 |t|² + 3/2 |offsets|²``, where the ``t`` are the differences of
    the logarithms of the factors from a common one. Without `by_class`, all factors are equal.
    """
    n_shapes, n_classes = scores.shape
    spread, size = float(np.ptp(scores, axis=1).mean()), float(np.abs(scores).max())
    # Scores that are equal but for rounding say nothing, in any unit.
    unit = spread if spread > 1e-12 * size else 1.0
    scaled = scores / unit
    shares = np.ones(n_shapes) if weights is None else weights * (n_shapes / weights.sum())
    rows = np.arange(n_shapes)

    def objective(parameters: FloatArray) -> tuple[float, FloatArray]:
        deviations, offsets = parameters[1 : 1 + n_classes], parameters[1 + n_classes :]
        products = scaled * np.exp(parameters[0] + deviations)
        logarithms = log_softmax(products + offsets, axis=1)
        excess = np.exp(logarithms)
        excess[rows, numbers] -= 1
        excess *= shares[:, None]
        slopes = (excess * products).sum(axis=0)
        penalty = _SCALE_PENALTY * (deviations @ deviations) + _OFFSET_PENALTY * (offsets @ offsets)
        gradient = np.concatenate(
            [[slopes.sum()], slopes + _SCALE_PENALTY * deviations, excess.sum(axis=0) + _OFFSET_PENALTY * offsets]
        )
        return float(-(shares @ logarithms[rows, numbers]) + penalty / 2), gradient

    # For perfectly separated classes the best common scale is infinite.
    limit = None if by_class else 0
    bounds = [(-10, 10)] + [(limit, limit)] * n_classes + [(None, None)] * n_classes
    start = np.concatenate([[np.log(4.0)], np.zeros(2 * n_classes)])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(np.exp(found[0] + found[1 : 1 + n_classes]) / unit, found[1 + n_classes :])


def pool(logarithms: FloatArray, weights: FloatArray) -> FloatArray:
    """Return log-probabilities proportional to ``Σ_m weight_m log p_m``, from (n_methods, n_shapes, n_classes)."""
    return np.asarray(log_softmax(np.tensordot(weights, _soften(logarithms), axes=1), axis=1))


def pooling_weights(logarithms: FloatArray, numbers: IntArray) -> FloatArray:
    """Return the weights, at least 0, of greatest likelihood of the labels, less a penalty on unequal weights."""
    n_methods, n_shapes, _ = logarithms.shape
    softened = _soften(logarithms)
    rows = np.arange(n_shapes)
    right = softened[:, rows, numbers].sum(axis=1)
    equal = np.full(n_methods, 1 / n_methods)

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        found = log_softmax(np.tensordot(weights, softened, axes=1), axis=1)
        expected = np.einsum("kc,mkc->m", np.exp(found), softened)
        apart = weights - equal
        value = -found[rows, numbers].sum() + _POOL_PENALTY * (apart @ apart) / 2
        return float(value), expected - right + _POOL_PENALTY * apart

    return np.asarray(minimize(objective, equal, jac=True, method="L-BFGS-B", bounds=[(0, 3)] * n_methods).x)


def _soften(logarithms: FloatArray) -> FloatArray:
    """Mix equal probabilities into all."""
    equal = np.log(_UNIFORM_SHARE / logarithms.shape[2])
    return np.asarray(np.logaddexp(logarithms + np.log1p(-_UNIFORM_SHARE), equal))
