"""Random parts of collections of shapes: candidates for atoms, and batches."""

from collections.abc import Iterator

import numpy as np

from shapelex._typing import FloatArray, IntArray
from shapelex.shapes.collection import ArrayShapes, Shapes

# Shapes of several random stretches are shuffled together, up to so many bytes: batches then mix shapes that are far
# apart in a file.
_SHUFFLED_BYTES = 1 << 25


def count_copies(shapes: Shapes) -> int:
    """Return the number of shapes of positive weight, an integer weight counting as that many copies."""
    if shapes.weights is None:
        return len(shapes)
    counted = shapes.weights[shapes.weights > 0]
    return int(np.maximum(np.floor(counted), 1).sum())


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


def draw_index(chances: FloatArray, generator: np.random.Generator) -> int:
    """Draw an index in proportion to chances, one of which at least is positive."""
    totals = np.cumsum(chances)
    place = int(np.searchsorted(totals, generator.random() * totals[-1], side="right"))
    return min(place, int(np.flatnonzero(chances)[-1]))


def shuffled_batches(shapes: Shapes, batch_size: int, generator: np.random.Generator) -> Iterator[ArrayShapes]:
    """Yield all shapes once, in random batches, without batches of weight 0; every stretch is read once.

    Stretches come in random order, and the shapes of several of them are shuffled together. A collection that can only
    be read in order gives its stretches in order.
    """
    bounds = shapes.stretches()
    # Two generators: the order of the shapes of a small set does not depend on its stretches.
    stretch_generator, row_generator = map(np.random.default_rng, generator.integers(2**63, size=2))
    order = stretch_generator.permutation(len(bounds) - 1)
    if shapes.is_sequential:
        order.sort()
    n_together = max(batch_size, _SHUFFLED_BYTES // (16 * shapes.shape[1]))
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
