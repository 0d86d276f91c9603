"""Landmarks to learn from, some of which are missing.

A pass codes each shape by the landmarks that it has. What needs whole shapes, such as the first dictionary and the
swaps before a descent, gets shapes completed by the mean.
"""

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import as_incomplete_configurations
from shapelex.geometry import mean_shape
from shapelex.geometry.missing_landmarks import check_landmarks_present, complete_by, normalized_on
from shapelex.shapes.collection import ArrayShapes, Shapes
from shapelex.spaces import Landmarks, Space


class IncompleteShapes(ArrayShapes):
    """Landmarks in memory, NaN where they are missing."""

    allows_missing = True

    def __init__(
        self, configurations: ComplexArray, space: Space, weights: FloatArray | None = None, name: str = "X"
    ) -> None:
        rows, present, _ = as_incomplete_configurations(configurations, name=name)
        check_landmarks_present(present, name)
        super().__init__(np.where(present, rows, np.nan), space, weights, name)
        mean = mean_shape(self.configurations, weights=weights, missing="allow")
        completed = complete_by(mean, normalized_on(rows, present, name), present)
        self._completed: ComplexArray = completed.astype(configurations.dtype, copy=False)

    def take(self, indices: IntArray) -> ComplexArray:
        """Return whole shapes by number; missing landmarks are those of the mean, laid over the others."""
        return self._completed[indices]

    def keep_scales(self) -> None:
        """Do nothing: the scale of a shape is that of the landmarks that it has."""

    def check_all(self) -> None:
        """Do nothing: all shapes were checked when they were opened."""


def open_incomplete(shapes: Shapes) -> Shapes:
    """Return shapes to learn from; those with missing landmarks, where these are allowed, in memory."""
    if shapes.is_remote or not (shapes.allows_missing and isinstance(shapes.space, Landmarks)):
        return shapes
    if not any(np.isnan(block.configurations).any() for block in shapes.blocks()):
        return shapes
    return IncompleteShapes(shapes[:], shapes.space, shapes.weights, shapes.name)
