"""Where the learner reads shapes from: whitened rows, in blocks of one fixed size.

In comes an array, or a function that reads any stretch of rows; out go blocks with their weights. Arrays in memory,
memory maps, files and chunked arrays all look the same to the learner.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_numeric_array, name_rows
from shapelex.exceptions import EmptySetError, ShapeInputError
from shapelex.spaces import Landmarks, Space

# Sums of weighted squares stay far from overflow and underflow, in single precision too.
_WEIGHT_RANGE = 1e12

BLOCK_ROWS = 8192
"""Rows of a block. It fixes the order of all sums, so results depend on it and on nothing else."""

# Rows of several random stretches are shuffled together, up to so many bytes: batches then mix rows that are far apart.
_SHUFFLED_BYTES = 1 << 25


class RowBlocks:
    """Whitened rows of norm 1, read block by block.

    Parameters
    ----------
    read : callable
        ``read(start, stop)`` gives rows `start` to `stop` as a complex array (stop − start, n_coordinates); the same
        numbers every time.
    n_samples, n_coordinates : int
        Size of the whole set.
    sample_weight : array_like of float, shape (n_samples,), optional
        How much each row counts; an integer weight is that many copies. Default: 1 each.

    Raises
    ------
    EmptySetError
        If there is no row.
    ShapeInputError
        If the weights are not `n_samples` finite numbers, none negative and one positive.
    """

    def __init__(
        self,
        read: Callable[[int, int], ComplexArray],
        n_samples: int,
        n_coordinates: int,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        if n_samples < 1:
            raise EmptySetError("the source holds no shape: give at least one.")
        self.read = read
        self.n_samples = n_samples
        self.n_coordinates = n_coordinates
        # Where rows are whitened as they are read: what they are made from, for those who whiten elsewhere.
        self.configurations: Any = None
        self.space: Space | None = None
        # Reads rows by number, where that costs no more than their share of all rows.
        self.gather: Callable[[IntArray], ComplexArray] | None = None
        # Makes a pass where the rows are, for rows that stay there; see `surveyor`.
        self.survey: Callable[..., Any] | None = None
        self.sample_weight = None if sample_weight is None else _check_sample_weight(sample_weight, n_samples)

    @classmethod
    def from_rows(cls, rows: ComplexArray, sample_weight: ArrayLike | None = None) -> "RowBlocks":
        """Return the rows that an array holds, in memory or mapped; they are whitened and of norm 1."""
        if rows.ndim != 2 or not np.iscomplexobj(rows):
            raise ShapeInputError(
                f"rows must be a 2-D complex array (n_samples, n_coordinates), got shape {rows.shape}, "
                f"dtype {rows.dtype}; whiten configurations first with space.whitened_preshapes."
            )
        source = cls(lambda start, stop: rows[start:stop], rows.shape[0], rows.shape[1], sample_weight)
        source.gather = lambda chosen: rows[chosen]
        return source

    @classmethod
    def from_configurations(
        cls, configurations: Any, space: Space, sample_weight: ArrayLike | None = None, name: str = "X"
    ) -> "RowBlocks":
        """Return rows that are whitened as they are read, from anything that gives NumPy arrays when sliced."""
        n_samples = int(configurations.shape[0])

        def read(start: int, stop: int) -> ComplexArray:
            return space.whitened_preshapes(np.asarray(configurations[start:stop]), name, first_row=start)

        source = cls(read, n_samples, space.n_coordinates, sample_weight)
        source.configurations, source.space = configurations, space
        # Products with a matrix round a row by its place in the stack, so in other spaces all come in whole blocks.
        if isinstance(space, Landmarks) and getattr(configurations, "can_gather", False):
            source.gather = lambda rows: space.whitened_preshapes(configurations.gather(rows), name)
        return source

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return self.read(0, 1).dtype

    def weights(self, start: int, stop: int) -> FloatArray:
        """Return the weights of a stretch of rows."""
        if self.sample_weight is None:
            return np.ones(stop - start)
        return self.sample_weight[start:stop]

    def weights_of(self, indices: IntArray) -> FloatArray:
        """Return the weights of rows by number."""
        return np.ones(len(indices)) if self.sample_weight is None else self.sample_weight[indices]

    def blocks(self) -> Iterator[tuple[ComplexArray, FloatArray]]:
        """Yield all rows in order, at most ``BLOCK_ROWS`` at a time, with their weights."""
        for start in range(0, self.n_samples, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, self.n_samples)
            yield np.ascontiguousarray(self.read(start, stop)), self.weights(start, stop)

    def digest(self) -> str:
        """Return a hash of all shapes as they were given, which tells one set from another."""
        hashed = hashlib.blake2b(digest_size=16)
        for start in range(0, self.n_samples, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, self.n_samples)
            block = self.read(start, stop) if self.configurations is None else self.configurations[start:stop]
            hashed.update(np.ascontiguousarray(block).data)
        return hashed.hexdigest()

    def take(self, indices: IntArray) -> ComplexArray:
        """Return copies of rows by number, in ascending order: each block is read at most once."""
        if self.gather is not None:
            with suppress(ShapeInputError):  # a bad row among them: blocks tell its number
                return self.gather(indices)
        parts = []
        for chosen in np.split(indices, np.flatnonzero(np.diff(indices // BLOCK_ROWS)) + 1):
            start = int(chosen[0]) // BLOCK_ROWS * BLOCK_ROWS
            parts.append(self.read(start, min(start + BLOCK_ROWS, self.n_samples))[chosen - start])
        return np.concatenate(parts)

    @property
    def n_copies(self) -> int:
        """Number of rows of positive weight, an integer weight counting as that many copies."""
        if self.sample_weight is None:
            return self.n_samples
        counted = self.sample_weight[self.sample_weight > 0]
        return int(np.maximum(np.floor(counted), 1).sum())

    def draw(self, n_rows: int, generator: np.random.Generator) -> IntArray:
        """Draw rows of positive weight, each at most once and all equally likely; return their sorted numbers.

        Where there are no more than `n_rows`, all are taken and nothing is drawn.
        """
        eligible = None if self.sample_weight is None else np.flatnonzero(self.sample_weight)
        n_eligible = self.n_samples if eligible is None else len(eligible)
        if n_eligible <= n_rows:
            return np.arange(self.n_samples) if eligible is None else eligible
        drawn: IntArray = generator.choice(n_eligible, n_rows, replace=False, shuffle=False)
        return np.sort(drawn if eligible is None else eligible[drawn])

    def stretches(self) -> list[int]:
        """Return the bounds of stretches of rows that are each read at once: first rows, and the number of all rows."""
        n_rows = max(1, getattr(self.configurations, "stretch_rows", 1))
        n_rows *= -(-BLOCK_ROWS // n_rows)
        return [*range(0, self.n_samples, n_rows), self.n_samples]

    def shuffled_batches(self, batch_size: int, generator: np.random.Generator) -> "Iterator[RowBlocks]":
        """Yield all rows once, in random batches, without batches of weight 0; every stretch is read once.

        Stretches come in random order, and the rows of several of them are shuffled together. A set that can only be
        read in order gives its stretches in order.
        """
        bounds = self.stretches()
        order = generator.permutation(len(bounds) - 1)
        if getattr(self.configurations, "is_sequential", False):
            order.sort()
        n_together = max(batch_size, _SHUFFLED_BYTES // (16 * self.n_coordinates))
        n_before = np.cumsum(np.diff(bounds)[order]) // n_together
        groups = np.split(order, np.flatnonzero(np.diff(n_before)) + 1)
        rows, weights = [], []
        for number, group in enumerate(groups, 1):
            for stretch in np.sort(group):
                rows.append(self.read(bounds[stretch], bounds[stretch + 1]))
                weights.append(self.weights(bounds[stretch], bounds[stretch + 1]))
            shuffled = generator.permutation(sum(map(len, rows)))
            mixed, mixed_weights = np.concatenate(rows)[shuffled], np.concatenate(weights)[shuffled]
            # The rows that do not fill a batch wait for the next stretches.
            n_used = len(mixed) if number == len(groups) else len(mixed) // batch_size * batch_size
            for first in range(0, n_used, batch_size):
                batch = slice(first, min(first + batch_size, n_used))
                if mixed_weights[batch].any():
                    chosen_weights = None if self.sample_weight is None else mixed_weights[batch]
                    yield RowBlocks.from_rows(mixed[batch], chosen_weights)
            rows, weights = [mixed[n_used:].copy()], [mixed_weights[n_used:]]


def _check_sample_weight(sample_weight: ArrayLike, n_samples: int) -> FloatArray:
    weights = as_numeric_array(sample_weight, "sample_weight")
    if weights.shape != (n_samples,) or np.iscomplexobj(weights):
        raise ShapeInputError(
            f"sample_weight must be {n_samples} real numbers, one a shape, got shape {weights.shape}, "
            f"dtype {weights.dtype}."
        )
    checked: FloatArray = np.ascontiguousarray(weights, dtype=np.float64)
    usable = np.isfinite(checked) & (checked >= 0)
    if not usable.all():
        raise ShapeInputError(f"sample_weight must be finite and not negative, but is not in {name_rows(~usable)}.")
    largest = float(checked.max())
    if largest == 0:
        raise ShapeInputError("sample_weight is all zero: at least one shape must count.")
    if not 1 / _WEIGHT_RANGE <= largest <= _WEIGHT_RANGE:
        raise ShapeInputError(
            f"the largest sample_weight must lie between {1 / _WEIGHT_RANGE:g} and {_WEIGHT_RANGE:g}, got {largest:g}: "
            "divide all weights by it."
        )
    return checked
