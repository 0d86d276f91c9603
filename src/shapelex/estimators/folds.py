"""Divide shapes into folds, turn scores of held-out shapes into probabilities, and pool those of several methods."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, FloatArray, IntArray
from shapelex._validation import check_count
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError, reason_of
from shapelex.shapes.columns import check_present

Fold = tuple[IntArray, IntArray]

# Penalties, in the weight of one shape: with 30 shapes or fewer per class, scales without a penalty fit noise.
_OFFSET_PENALTY = 3.0
_SCALE_PENALTY = 12.0
_POOL_PENALTY = 50.0
# Share of equal probabilities that is mixed in, so that one method cannot exclude a class for all.
_UNIFORM_SHARE = 1e-3
# Digits of a mean log loss that count: beyond them rounding would choose where all classes are told apart.
_LOSS_DIGITS = 9


def make_folds(
    cv: Any, n_shapes: int, units: ArrayLike | None = None, *, classes: ArrayLike | None = None, seed: int | None = None
) -> list[Fold]:
    """Return the rows to learn from and the rows to hold out, for every fold.

    A number of folds holds out contiguous blocks of rows, or random rows with a `seed`; with `classes` each fold has
    its share of every class. Rows of one unit stay together. Splitters and pairs of rows are used as they are.

    Examples
    --------
    >>> [held_out.tolist() for _, held_out in make_folds(2, 5)]
    [[0, 1, 2], [3, 4]]
    >>> [held_out.tolist() for _, held_out in make_folds(2, 5, ["a", "b", "a", "b", "a"])]
    [[0, 2, 4], [1, 3]]
    """
    units = check_units(units, n_shapes)
    if isinstance(cv, int | float | np.number):
        cv = _splitter(check_count(cv, 2, "cv"), n_shapes, units, classes is not None, seed)  # type: ignore[arg-type]
    if isinstance(cv, str | bytes) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ParameterTypeError(
            f"{parameter('cv')} must be a number of folds, a splitter, pairs of rows, or None, got {cv!r}."
        )
    try:
        with warnings.catch_warnings():
            # A class with fewer shapes than folds is in some folds only.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            split = list(check_cv(cv).split(np.empty((n_shapes, 1)), classes, units))
    except ValueError as error:
        raise ParameterError(f"{parameter('cv')} does not fit {n_shapes} shapes: {reason_of(error)}.") from error
    if classes is not None:
        split = [fold for fold in split if len(fold[1])]
        if units is not None and any(len(np.unique(np.asarray(classes)[rows])) < 2 for rows, _ in split):
            raise ShapeInputError(
                "groups must leave shapes of at least 2 classes to learn from when one fold is held out: every class "
                "needs shapes of several groups."
            )
    folds = [(_as_row_numbers(rows, n_shapes), _as_row_numbers(held_out, n_shapes)) for rows, held_out in split]
    if any(np.intersect1d(rows, held_out).size for rows, held_out in folds):
        raise ShapeInputError("cv must not learn from rows that it holds out, but some rows are in both parts.")
    if not folds:
        raise ParameterError(f"{parameter('cv')} must give pairs of rows to learn from and rows to hold out, got none.")
    return folds


def check_units(groups: ArrayLike | None, n_shapes: int) -> IntArray | None:
    """Return the number of the group of each shape, whose shapes stay together."""
    if groups is None:
        return None
    given = check_present(groups, "groups")
    if given.shape != (n_shapes,):
        raise ShapeInputError(f"groups must hold one entry per shape, {n_shapes} in all, got shape {given.shape}.")
    numbers = np.unique(given, return_inverse=True)[1]
    if numbers.max() == 0:
        raise ShapeInputError("groups must hold at least 2 groups to make folds of, got one: leave groups out.")
    return numbers


def _splitter(n_folds: int, n_shapes: int, units: IntArray | None, is_stratified: bool, seed: int | None) -> Any:
    n_units, unit = (n_shapes, "shapes") if units is None else (int(units.max()) + 1, "groups")
    if n_folds > n_units:
        raise ParameterError(f"{parameter('cv')} must be at most the number of {unit}, {n_units}, got {n_folds}.")
    if units is not None and not is_stratified:
        return GroupKFold(n_folds)
    kind = StratifiedGroupKFold if units is not None else StratifiedKFold if is_stratified else KFold
    return kind(n_folds, shuffle=seed is not None, random_state=seed)


def _as_row_numbers(part: Any, n_shapes: int) -> IntArray:
    array = np.asarray(part)
    if array.dtype == bool and array.shape == (n_shapes,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size == 0:
        raise ShapeInputError(f"{parameter('cv')} must give pairs of row numbers, and neither list may be empty.")
    if array.min() < 0 or array.max() >= n_shapes:
        raise ShapeInputError(f"{parameter('cv')} must give row numbers between 0 and {n_shapes - 1}, the rows of X.")
    return array


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
