"""Held-out scores of candidates in the folds of a training set.

Input: prepared candidates, classes and groups. Output: for every candidate, its best setting, with calibrated
log-probabilities of all shapes while they were held out.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from shapelex._typing import FloatArray, IntArray
from shapelex.estimators.class_candidates import Calibration, Candidate

Fold = tuple[IntArray, IntArray]


@dataclass(eq=False)
class Judged:
    """A candidate with its best setting: `logarithms` are log-probabilities of held-out shapes."""

    candidate: Candidate
    setting: Any
    calibration: Calibration
    logarithms: FloatArray

    def log_probabilities(self, X: Any) -> FloatArray:
        """Return log-probabilities of new shapes by the fitted candidate."""
        found: FloatArray = log_softmax(self.calibration.scores(self.candidate.scores(X)), axis=1)
        return found


def make_class_folds(numbers: IntArray, groups: IntArray | None, n_folds: int, seed: int) -> list[Fold]:
    """Return stratified folds that never split a group; classes with fewer shapes than folds miss some folds."""
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = list(folds.split(np.empty((len(numbers), 0)), numbers, groups))
    return [(kept, held) for kept, held in found if len(held)]


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
    for setting, scores in zip(candidate.settings, found, strict=True):
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
