"""Parts of collections of shapes: samples, mini-batches, and shapes with missing landmarks in memory."""

from collections.abc import Iterator

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.geometry.means import incomplete_mean
from shapelex.shapes.storage import ArrayShapes, Shapes
from shapelex.spaces import Landmarks, Space

# Shapes of several random stretches are shuffled together, up to so many bytes: batches then mix shapes that are far
# apart in a file.
SHUFFLED_BYTES = 1 << 25


class IncompleteShapes(ArrayShapes):
    """Landmarks in memory, NaN where they are missing."""

    allows_missing = True

    def __init__(
        self, configurations: ComplexArray, space: Space, weights: FloatArray | None = None, name: str = "X"
    ) -> None:
        super().__init__(configurations, space, weights, name)
        _, completed, present = incomplete_mean(self, weights=weights)
        self.configurations = np.where(present, configurations, np.nan).astype(self.dtype, copy=False)
        self._completed: ComplexArray = completed.astype(self.dtype, copy=False)

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


def draw_rows(shapes: Shapes, n_rows: int, generator: np.random.Generator) -> IntArray:
    """Draw shapes of positive weight, each at most once and all equally likely; return their sorted numbers.

    Where there are no more than `n_rows`, all are taken and nothing is drawn.
    """
    eligible = None if shapes.weights is None else np.flatnonzero(shapes.weights)
    n_eligible = len(shapes) if eligible is None else len(eligible)
    if n_eligible <= n_rows:
        return np.arange(n_eligible) if eligible is None else eligible
    drawn: IntArray = generator.choice(n_eligible, n_rows, replace=False, shuffle=False)
    return np.sort(drawn if eligible is None else eligible[drawn])


def take_part(shapes: Shapes, chosen: IntArray) -> ArrayShapes:
    """Return some shapes in memory, with NaN where landmarks are missing."""
    weights = None if shapes.weights is None else shapes.weights[chosen]
    if isinstance(shapes, IncompleteShapes):
        return IncompleteShapes(shapes.configurations[chosen], shapes.space, weights, shapes.name)
    return ArrayShapes(shapes.take(chosen), shapes.space, weights, shapes.name)


def shuffled_batches(
    shapes: Shapes, batch_size: int, generator: np.random.Generator, n_bytes: int = SHUFFLED_BYTES
) -> Iterator[Shapes]:
    """Yield all shapes once, in random batches, without batches of weight 0; every stretch is read once.

    Stretches come in random order, and the shapes of several of them, up to so many bytes, are shuffled together. A
    collection that can only be read in order gives its stretches in order. One batch of all shapes is the collection
    itself.
    """
    if batch_size >= len(shapes):
        yield shapes
        return
    bounds = shapes.stretches()
    # Two generators: the order of the shapes of a small set does not depend on its stretches.
    stretch_generator, row_generator = map(np.random.default_rng, generator.integers(2**63, size=2))
    order = stretch_generator.permutation(len(bounds) - 1)
    if shapes.is_sequential:
        order.sort()
    n_together = max(batch_size, n_bytes // (16 * shapes.shape[1]))
    n_before = np.cumsum(np.diff(bounds)[order]) // n_together
    groups = np.split(order, np.flatnonzero(np.diff(n_before)) + 1)
    rows, weights = [], []
    for number, group in enumerate(groups, 1):
        for stretch in np.sort(group):
            rows.append(shapes.read(bounds[stretch], bounds[stretch + 1]))
            weights.append(shapes.weights_of(slice(bounds[stretch], bounds[stretch + 1])))
        shuffled = row_generator.permutation(sum(map(len, rows)))
        mixed, mixed_weights = np.concatenate(rows)[shuffled], np.concatenate(weights)[shuffled]
        # The shapes that do not fill a batch wait for the next stretches.
        n_used = len(mixed) if number == len(groups) else len(mixed) // batch_size * batch_size
        for first in range(0, n_used, batch_size):
            batch = slice(first, min(first + batch_size, n_used))
            if mixed_weights[batch].any():
                yield ArrayShapes(mixed[batch], shapes.space, mixed_weights[batch], shapes.name)
        rows, weights = [mixed[n_used:].copy()], [mixed_weights[n_used:]]
