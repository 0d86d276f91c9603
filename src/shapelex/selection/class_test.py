"""How well a classifier tells apart shapes that it has not seen: predictions of all shapes while they are held out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import confusion_matrix

from shapelex._typing import BoolArray, FloatArray, IntArray
from shapelex.estimators.folds import make_folds
from shapelex.estimators.shape_classifier import ShapeClassifier
from shapelex.shapes import ShapeSet


@dataclass(frozen=True, eq=False)
class ClassTest:
    """Predictions of held-out shapes.

    Parameters
    ----------
    classes : ndarray, shape (n_classes,)
        The classes, sorted.
    true, predicted : ndarray, shape (n_shapes,)
        Class of each shape, and the one that it was given.
    probability : ndarray of float, shape (n_shapes,)
        Probability of the predicted class.
    fold : ndarray of int, shape (n_shapes,)
        Fold in which the shape was held out.
    """

    classes: np.ndarray[Any, Any]
    true: np.ndarray[Any, Any]
    predicted: np.ndarray[Any, Any]
    probability: FloatArray
    fold: IntArray

    @property
    def is_right(self) -> BoolArray:
        """Whether each shape was given its class."""
        return np.asarray(self.true == self.predicted)

    @property
    def accuracy(self) -> float:
        """Share of the shapes that were given their class."""
        return float(self.is_right.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the accuracy, from its standard deviation between folds."""
        return float(pd.Series(self.is_right).groupby(self.fold).mean().sem())

    @property
    def confusion(self) -> IntArray:
        """Counts of shapes by their class (rows) and the predicted class (columns)."""
        return np.asarray(confusion_matrix(self.true, self.predicted, labels=self.classes))


def run_class_test(
    shapes: ShapeSet,
    labels: np.ndarray[Any, Any],
    groups: np.ndarray[Any, Any] | None,
    n_folds: int,
    seed: int,
    tell: Callable[[int, int], None] = lambda n_done, n_all: None,  # noqa: ARG005
) -> ClassTest:
    """Fit a :class:`~shapelex.ShapeClassifier` without each fold in turn, and predict the shapes of the fold.

    Every class must have at least as many shapes, or groups, as there are folds.
    """
    classes, numbers = np.unique(labels, return_inverse=True)
    predicted = np.empty(len(labels), dtype=classes.dtype)
    probability, fold = np.empty(len(labels)), np.empty(len(labels), dtype=np.int64)
    folds = make_folds(n_folds, len(labels), groups, classes=numbers, seed=seed)
    for number, (kept, held) in enumerate(folds):
        tell(number, len(folds))
        model = ShapeClassifier(space=shapes.space, random_state=seed)
        model.fit(shapes[kept], labels[kept], None if groups is None else groups[kept])
        found = model.predict_proba(shapes[held])
        predicted[held], probability[held] = model.classes_[found.argmax(axis=1)], found.max(axis=1)
        fold[held] = number
    return ClassTest(classes, labels, predicted, probability, fold)


def count_units(labels: np.ndarray[Any, Any], groups: np.ndarray[Any, Any] | None) -> dict[Any, int]:
    """Return the number of shapes of each class, or of groups where there are any."""
    units = np.arange(len(labels)) if groups is None else groups
    return {name: len(np.unique(units[labels == name])) for name in np.unique(labels).tolist()}
