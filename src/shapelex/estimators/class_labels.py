"""Labels of classes: those of a set, or those given, one per shape."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from shapelex._typing import ArrayLike, IntArray
from shapelex._validation import name_rows
from shapelex.exceptions import ShapeInputError


def own_labels(X: Any, estimator: str) -> ArrayLike:
    """Return the labels of a set of shapes; refuse arrays, which have none, and sets with unknown labels."""
    stored = getattr(X, "labels", None)
    if stored is None:
        raise ShapeInputError(
            f"{estimator} requires y to be passed, but the target y is None, and X is no set that has "
            "labels: give y, or a ShapeSet with labels."
        )
    labels: np.ndarray[Any, Any] = np.asarray(stored[:]).astype(str)
    if (labels == "").any():
        raise ShapeInputError(
            f"X has no label in {name_rows(labels == '')}: leave these shapes out, X[X.labels != ''], or give y."
        )
    return labels


def check_labels(y: ArrayLike, n_shapes: int) -> np.ndarray[Any, Any]:
    """Return one label per shape; refuse numbers that are no classes."""
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
    check_classification_targets(labels)
    if len(labels) != n_shapes:
        raise ShapeInputError(f"y must hold one label per shape: X has {n_shapes} shapes, y {len(labels)} labels.")
    found: np.ndarray[Any, Any] = labels
    return found


def check_class_sizes(classes: np.ndarray[Any, Any], numbers: IntArray) -> None:
    """Refuse classes of a single shape."""
    is_single = np.bincount(numbers) < 2
    if is_single.any():
        named = ", ".join(repr(label) for label in classes[is_single].tolist()[:5])
        raise ShapeInputError(
            f"every class needs at least 2 shapes to learn from, but {is_single.sum()} of {len(classes)} have a single "
            f"one ({named}): add shapes, or leave these classes out."
        )
