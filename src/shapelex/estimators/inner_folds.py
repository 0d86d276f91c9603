"""Folds of a training set, and held-out scores of candidates in them.

Input: prepared candidates, classes and groups. Output: for every candidate, its best setting, with calibrated
log-probabilities of all shapes while they were held out.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from shapelex._typing import ArrayLike, FloatArray, IntArray
from shapelex.estimators.class_candidates import MAX_KERNEL_SHAPES, Calibration, Candidate
from shapelex.exceptions import ShapeInputError

Fold = tuple[IntArray, IntArray]

_N_FOLDS = 5
_MANY_SHAPES = 1000
_N_FOLDS_OF_MANY = 3


@dataclass(eq=False)
class Judged:
    """A candidate, the number of its best setting, and log-probabilities of held-out shapes with it."""

    candidate: Candidate
    setting: int
    calibration: Calibration
    logarithms: FloatArray


def check_groups(groups: ArrayLike | None, n_shapes: int) -> IntArray | None:
    """Return the number of the group of each shape."""
    if groups is None:
        return None
    given = np.asarray(groups)
    if given.shape != (n_shapes,):
        raise ShapeInputError(
            f"groups must hold one entry per shape: X has {n_shapes} shapes, groups has shape {given.shape}."
        )
    units = np.unique(given, return_inverse=True)[1]
    if units.max() == 0:
        raise ShapeInputError("groups must hold at least 2 groups to make folds of, got one: leave groups out.")
    return units


def sample_rows(numbers: IntArray, generator: np.random.Generator) -> IntArray:
    """Return all rows, or a random sample that has its share of every class, and at least two shapes of each."""
    if len(numbers) <= MAX_KERNEL_SHAPES:
        return np.arange(len(numbers))
    share = MAX_KERNEL_SHAPES / len(numbers)
    chosen = []
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        n_rows = max(2, round(share * len(rows)))
        chosen.append(generator.choice(rows, size=n_rows, replace=False))
    return np.sort(np.concatenate(chosen))


def count_inner_folds(numbers: IntArray, units: IntArray | None) -> int:
    """Return the number of folds inside a fit: 5, 3 for many shapes, fewer where classes or groups are few."""
    n_folds = _N_FOLDS if len(numbers) < _MANY_SHAPES else _N_FOLDS_OF_MANY
    n_folds = min(n_folds, int(np.bincount(numbers).max()))
    return n_folds if units is None else min(n_folds, len(np.unique(units)))


def make_class_folds(numbers: IntArray, units: IntArray | None, n_folds: int, seed: int) -> list[Fold]:
    """Return stratified folds that never split a group; classes with fewer shapes than folds miss some folds."""
    splitter = StratifiedKFold if units is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        split = splitter(n_folds, shuffle=True, random_state=seed).split(np.empty((len(numbers), 0)), numbers, units)
        folds = [(kept, held) for kept, held in split if len(held)]
    if any(len(np.unique(numbers[kept])) < 2 for kept, _ in folds):
        raise ShapeInputError(
            "groups must leave shapes of at least 2 classes to learn from when one fold is held out: every class needs "
            "shapes of several groups."
        )
    return folds


def judge(candidate: Candidate, numbers: IntArray, folds: list[Fold]) -> Judged:
    """Return the setting of least log loss of held-out shapes."""
    n_classes = int(numbers.max()) + 1
    found = np.zeros((len(candidate.settings), len(numbers), n_classes))
    for kept, held in folds:
        known = np.unique(numbers[kept])
        for number, scores in enumerate(candidate.held_out_scores(numbers, kept, held)):
            found[number, held] = candidate.worst(scores)
            found[number][np.ix_(held, known)] = scores
    best: Judged | None = None
    least = np.inf
    for setting, scores in enumerate(found):
        calibration = candidate.calibrate(scores, numbers)
        logarithms = log_softmax(calibration.scores(scores), axis=1)
        loss = log_loss(logarithms, numbers)
        if loss < least:
            least, best = loss, Judged(candidate, setting, calibration, logarithms)
    assert best is not None
    return best


def log_loss(logarithms: FloatArray, numbers: IntArray) -> float:
    """Return the mean negative log-probability of the true classes."""
    return -float(np.mean(logarithms[np.arange(len(numbers)), numbers]))


def accuracy(logarithms: FloatArray, numbers: IntArray) -> float:
    """Return the share of shapes whose most probable class is the true one."""
    return float(np.mean(np.argmax(logarithms, axis=1) == numbers))
