"""How well a classifier tells apart shapes that it has not seen: predictions of all shapes while they are held out."""

from collections.abc import Callable
from typing import Any

import numpy as np

from shapelex.estimators.folds import make_folds
from shapelex.estimators.shape_classifier import ShapeClassifier
from shapelex.shapes import ShapeSet
from shapelex.shapes.set import fold_groups


def run_class_test(
    shapes: ShapeSet,
    labels: np.ndarray[Any, Any],
    n_folds: int,
    seed: int,
    tell: Callable[[int, int], None],
) -> dict[str, np.ndarray[Any, Any]]:
    """Fit a :class:`~shapelex.ShapeClassifier` without each fold in turn, and predict the shapes of the fold.

    Every class must have at least as many shapes, or units of the set, as there are folds. Returns a table, as columns
    by name: the class of each shape, the predicted one and its probability, and the fold that held it out, from 1.
    """
    classes, numbers = np.unique(labels, return_inverse=True)
    predicted = np.empty(len(labels), dtype=classes.dtype)
    probability, fold = np.empty(len(labels)), np.empty(len(labels), dtype=np.int64)
    groups = fold_groups(shapes, None, labels)
    folds = make_folds(n_folds, len(labels), groups, classes=numbers, seed=seed)
    for number, (kept, held) in enumerate(folds):
        tell(number, len(folds))
        model = ShapeClassifier(space=shapes.space, random_state=seed)
        model.fit(shapes[kept], labels[kept], None if groups is None else groups[kept])
        found = model.predict_proba(shapes[held])
        predicted[held], probability[held] = model.classes_[found.argmax(axis=1)], found.max(axis=1)
        fold[held] = number + 1
    return {"class": labels, "predicted": predicted, "probability": probability, "fold": fold}


def count_units(labels: np.ndarray[Any, Any], shapes: ShapeSet) -> dict[Any, int]:
    """Return the number of shapes of each class, or of units where there are any."""
    found = shapes.units()
    units = np.arange(len(labels)) if found is None else found.numbers
    return {name: len(np.unique(units[labels == name])) for name in np.unique(labels).tolist()}
