"""What learning reads and starts from: samples, mini-batches, shapes with missing landmarks, and the first atoms.

First dictionaries are rows of norm 1, made of the shapes of a set, drawn from them, or given. *Tails* and *tree* depend
on the set alone. Tails are means of the shapes weighted by the positive, and by the negative, part of their scores on
each principal axis; they are smooth functions of the set, and so come back from other halves of it. The tree divides
the set into parts of similar shapes, and its atoms are the means of the parts.
"""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.geometry.means import incomplete_mean
from shapelex.shapes.storage import ArrayShapes, Shapes
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import row_norms

AnyRows = TypeVar("AnyRows", ComplexArray, FloatArray)

# Shapes of several random stretches are shuffled together, up to so many bytes: batches then mix shapes that are far
# apart in a file.
SHUFFLED_BYTES = 1 << 25

# Rows that atoms are drawn from; a larger set is first thinned to as many, drawn at random.
MAX_CANDIDATES = 50_000

# Rounds of k-means, with one atom per shape, after the tree.
_N_MEANS = 20

# Shapes whose squared full distance is a rounding error are the same shape.
_SAME_SHAPE = 64.0
# Principal axes of less variance, relative to the first one, are rounding errors.
_LEAST_VARIANCE = 1e-12


class IncompleteShapes(ArrayShapes):
    """Landmarks in memory, NaN where they are missing."""

    allows_missing = True

    def __init__(self, configurations: ComplexArray, space: Space, weights: FloatArray | None, name: str) -> None:
        super().__init__(configurations, space, weights, name)
        _, completed, present = incomplete_mean(self, "full", weights)
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


def tails(rows: ComplexArray, weights: FloatArray, n_atoms: int, generator: np.random.Generator) -> ComplexArray:
    """Return a mean for each end of the leading principal axes; beyond their number, shapes that are drawn."""
    mean = _leading_axes(rows, weights, 1)[0]
    scores = _scores(rows, weights, mean, n_atoms // 2)
    parts = np.hstack([np.maximum(scores, 0), np.maximum(-scores, 0), np.ones((len(rows), n_atoms % 2))])
    atoms = np.repeat(mean[None], parts.shape[1], axis=0)
    parts *= weights[:, None]
    for _ in range(2):  # power iterations for the full mean of each weighting
        atoms = normalized((parts * (rows @ atoms.conj().T)).conj().T @ rows, atoms)
    if len(atoms) == n_atoms:
        return atoms
    return np.vstack([atoms, _draw_random(rows, weights, n_atoms - len(atoms), generator)])


def tree(rows: ComplexArray, weights: FloatArray, n_atoms: int) -> ComplexArray:
    """Halve the part of largest error along its first axis until there are as many as atoms; then k-means."""
    parts, atoms, losses = [np.arange(len(rows))], [_leading_axes(rows, weights, 1)[0]], [np.inf]
    while len(parts) < n_atoms:
        worst = int(np.argmax(losses))
        inside = parts[worst]
        is_above = (_scores(rows[inside], weights[inside], atoms[worst], 1) > 0).any(axis=1)
        for place, part in ((worst, inside[is_above]), (len(parts), inside[~is_above])):
            part = part if len(part) else inside[:1]
            mean = _leading_axes(rows[part], weights[part], 1)[0]
            loss = float(weights[part] @ (1 - np.abs(rows[part] @ mean.conj()) ** 2)) if len(part) > 1 else -1.0
            parts[place : place + 1], atoms[place : place + 1], losses[place : place + 1] = [part], [mean], [loss]
    found = np.array(atoms)
    for _ in range(_N_MEANS):
        codes = rows @ found.conj().T
        moduli = np.abs(codes)
        codes[moduli < moduli.max(axis=1, keepdims=True)] = 0
        found = normalized((weights[:, None] * codes).conj().T @ rows, found)
    return found


def initial_atoms(
    shapes: Shapes, n_atoms: int, init: str | ComplexArray, generator: np.random.Generator
) -> ComplexArray:
    """Return given atoms, whitened rows of norm 1, or shapes that are drawn.

    ``"random"`` shuffles the shapes and takes the first ones, as the paper does; ``"spread"`` draws one after the
    other, with probabilities in proportion to the squared full distance to the nearest one drawn before (k-means++).
    Probabilities are multiplied by the weights. Neither takes a shape twice; where the set has fewer distinct shapes
    than atoms, the last atoms are repeats. Given atoms are converted to the precision of the shapes where that is
    higher.
    """
    if not isinstance(init, str):
        if len(init) != n_atoms:
            raise ShapeInputError(
                f"{parameter('init')} must be {parameter('n_atoms', n_atoms)} rows, got {len(init)}; or leave it out."
            )
        return init.astype(np.result_type(init.dtype, shapes.dtype))
    check_enough(shapes, n_atoms)
    chosen = draw_rows(shapes, max(MAX_CANDIDATES, n_atoms), generator)
    rows, weights = shapes.space.whitened_preshapes(shapes.take(chosen), shapes.name), shapes.weights_of(chosen)
    return (_draw_spread if init == "spread" else _draw_random)(rows, weights, n_atoms, generator)


def check_enough(shapes: Shapes, n_atoms: int) -> None:
    """Refuse sets of fewer shapes of positive weight than atoms; an integer weight counts as that many copies."""
    n_copies = len(shapes)
    if shapes.weights is not None:
        n_copies = int(np.maximum(np.floor(shapes.weights[shapes.weights > 0]), 1).sum())
    if n_copies < n_atoms:
        counted = "" if shapes.weights is None else " of positive weight"
        raise ParameterError(
            f"{parameter('n_atoms')} must be at most the number of shapes{counted}, {n_copies}, got {n_atoms}; learn "
            "fewer atoms, or give more shapes."
        )


def draw_index(chances: FloatArray, generator: np.random.Generator) -> int:
    """Draw an index in proportion to chances, one of which at least is positive."""
    return int(generator.choice(len(chances), p=chances / chances.sum()))


def _draw_spread(rows: ComplexArray, weights: FloatArray, n_atoms: int, generator: np.random.Generator) -> ComplexArray:
    squares = np.ones(len(rows))
    drawn: list[int] = []
    for _ in range(n_atoms):
        chances = weights * squares
        drawn.append(draw_index(chances if chances.any() else weights, generator))
        squares = np.minimum(squares, _squared_distances(rows, rows[drawn[-1]]))
    return rows[drawn]


def _draw_random(rows: ComplexArray, weights: FloatArray, n_atoms: int, generator: np.random.Generator) -> ComplexArray:
    # Arrival times of rates `weights`: who comes first is a draw without replacement, for equal weights a shuffle.
    order = np.argsort(generator.exponential(size=len(rows)) / weights, kind="stable")
    drawn: list[int] = []
    for index in order:
        if not drawn or _squared_distances(rows[drawn], rows[index]).all():
            drawn.append(int(index))
        if len(drawn) == n_atoms:
            return rows[drawn]
    return np.asarray(rows[np.resize(drawn, n_atoms)])


def normalized(solution: ComplexArray, atoms: ComplexArray) -> ComplexArray:
    """Return rows of norm 1, in the precision of `atoms`, which stand in for rows that vanished."""
    norms = row_norms(solution)
    vanished = ~(norms > np.finfo(np.float64).eps)
    rows = solution / np.where(vanished, 1, norms)[:, None]
    return np.where(vanished[:, None], atoms, rows).astype(atoms.dtype)


def _squared_distances(rows: ComplexArray, row: ComplexArray) -> FloatArray:
    """Return squared full distances, exactly 0 for the same shape."""
    squares: FloatArray = 1 - np.abs(rows @ row.conj()).astype(np.float64) ** 2
    return np.where(squares > _SAME_SHAPE * float(np.finfo(rows.real.dtype).eps), squares, 0)


def _scores(rows: ComplexArray, weights: FloatArray, mean: ComplexArray, n_axes: int) -> FloatArray:
    """Return scores along the leading principal axes of the tangent space at the mean, of those that vary at most."""
    products = rows @ mean.conj()
    moduli = np.abs(products)
    tangent = rows * (products.conj() / np.maximum(moduli, np.finfo(float).tiny))[:, None] - moduli[:, None] * mean
    parts = np.hstack([tangent.real, tangent.imag]).astype(np.float64)
    parts -= weights @ parts / weights.sum()
    return np.asarray(parts @ _leading_axes(parts, weights, n_axes).T)


def _leading_axes(rows: AnyRows, weights: FloatArray, n_axes: int) -> AnyRows:
    """Return orthonormal rows whose combinations approximate the given rows best, of those that vary at most.

    Of whitened pre-shapes, the first one is the full Procrustes mean.
    """
    rows = np.sqrt(weights)[:, None] * rows
    is_wide = len(rows) < rows.shape[1]
    variances, axes = np.linalg.eigh(rows.conj() @ rows.T if is_wide else rows.T @ rows.conj())
    kept = np.flatnonzero(variances > _LEAST_VARIANCE * variances[-1])[::-1][:n_axes]
    leading: AnyRows = np.ascontiguousarray(axes[:, kept].T)
    return leading @ rows / np.sqrt(variances[kept])[:, None] if is_wide else leading
