"""Where the learner reads shapes from: whitened rows, in blocks of one fixed size.

In comes an array, or configurations to whiten; out go blocks with their weights. Arrays in memory, memory maps, files
and chunked arrays all look the same to the learner.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_numeric_array, name_rows
from shapelex.exceptions import EmptySetError, ShapeInputError
from shapelex.spaces import Landmarks, Space

if TYPE_CHECKING:
    from shapelex.learning.options import LearningOptions
    from shapelex.learning.passes import Survey

# Sums of weighted squares stay far from overflow and underflow, in single precision too.
_WEIGHT_RANGE = 1e12

BLOCK_ROWS = 8192
"""Rows of a block. It fixes the order of all sums, so results depend on it and on nothing else."""

# Rows of several random stretches are shuffled together, up to so many bytes: batches then mix rows that are far apart.
_SHUFFLED_BYTES = 1 << 25


class RowBlocks(ABC):
    """Whitened rows of norm 1, read block by block.

    Parameters
    ----------
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

    is_sequential = False
    """Whether a row can only be read after all rows before it."""

    def __init__(self, n_samples: int, n_coordinates: int, sample_weight: ArrayLike | None = None) -> None:
        if n_samples < 1:
            raise EmptySetError("the source holds no shape: give at least one.")
        self.n_samples = n_samples
        self.n_coordinates = n_coordinates
        self.sample_weight = None if sample_weight is None else _check_sample_weight(sample_weight, n_samples)

    @abstractmethod
    def read(self, start: int, stop: int) -> ComplexArray:
        """Return rows `start` to `stop`; the same numbers every time."""

    @staticmethod
    def from_rows(
        rows: ComplexArray, sample_weight: ArrayLike | None = None, given: ComplexArray | None = None
    ) -> "RowBlocks":
        """Return the whitened rows that an array holds; :meth:`digest` is that of `given`, where it is given."""
        return _ArrayRows(rows, sample_weight, given)

    @staticmethod
    def from_configurations(
        configurations: Any, space: Space, sample_weight: ArrayLike | None = None, first_row: int = 0
    ) -> "RowBlocks":
        """Return rows that are whitened as they are read, from anything that gives NumPy arrays when sliced.

        Errors count rows from `first_row` on, where this is a part of a larger set.
        """
        return ConfigurationRows(configurations, space, sample_weight, first_row)

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
            block = self._given(start, min(start + BLOCK_ROWS, self.n_samples))
            hashed.update(np.ascontiguousarray(block).data)
        return hashed.hexdigest()

    def _given(self, start: int, stop: int) -> ComplexArray:
        """Return the shapes that rows are made from."""
        return self.read(start, stop)

    def take(self, indices: IntArray) -> ComplexArray:
        """Return copies of rows by number, in ascending order: each block is read at most once."""
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
        return [*range(0, self.n_samples, BLOCK_ROWS), self.n_samples]

    def shuffled_batches(self, batch_size: int, generator: np.random.Generator) -> "Iterator[RowBlocks]":
        """Yield all rows once, in random batches, without batches of weight 0; every stretch is read once.

        Stretches come in random order, and the rows of several of them are shuffled together. A set that can only be
        read in order gives its stretches in order.
        """
        bounds = self.stretches()
        # Two generators: the order of the rows of a small set does not depend on its stretches.
        stretch_generator, row_generator = map(np.random.default_rng, generator.integers(2**63, size=2))
        order = stretch_generator.permutation(len(bounds) - 1)
        if self.is_sequential:
            order.sort()
        n_together = max(batch_size, _SHUFFLED_BYTES // (16 * self.n_coordinates))
        n_before = np.cumsum(np.diff(bounds)[order]) // n_together
        groups = np.split(order, np.flatnonzero(np.diff(n_before)) + 1)
        rows, weights = [], []
        for number, group in enumerate(groups, 1):
            for stretch in np.sort(group):
                rows.append(self.read(bounds[stretch], bounds[stretch + 1]))
                weights.append(self.weights(bounds[stretch], bounds[stretch + 1]))
            shuffled = row_generator.permutation(sum(map(len, rows)))
            mixed, mixed_weights = np.concatenate(rows)[shuffled], np.concatenate(weights)[shuffled]
            # The rows that do not fill a batch wait for the next stretches.
            n_used = len(mixed) if number == len(groups) else len(mixed) // batch_size * batch_size
            for first in range(0, n_used, batch_size):
                batch = slice(first, min(first + batch_size, n_used))
                if mixed_weights[batch].any():
                    part = RowBlocks.from_rows(mixed[batch])
                    # Checked as a whole.
                    part.sample_weight = None if self.sample_weight is None else mixed_weights[batch]
                    yield part
            rows, weights = [mixed[n_used:].copy()], [mixed_weights[n_used:]]


class _ArrayRows(RowBlocks):
    """Whitened rows of an array."""

    def __init__(self, rows: ComplexArray, sample_weight: ArrayLike | None, given: ComplexArray | None) -> None:
        if rows.ndim != 2 or not np.iscomplexobj(rows):
            raise ShapeInputError(
                f"rows must be a 2-D complex array (n_samples, n_coordinates), got shape {rows.shape}, "
                f"dtype {rows.dtype}; whiten configurations first with space.whitened_preshapes."
            )
        super().__init__(rows.shape[0], rows.shape[1], sample_weight)
        self._rows = rows
        self._given_rows = rows if given is None else given

    def read(self, start: int, stop: int) -> ComplexArray:
        return self._rows[start:stop]

    def take(self, indices: IntArray) -> ComplexArray:
        return self._rows[indices]

    def _given(self, start: int, stop: int) -> ComplexArray:
        return self._given_rows[start:stop]


class ConfigurationRows(RowBlocks):
    """Configurations that are whitened as they are read; see :meth:`RowBlocks.from_configurations`."""

    def __init__(self, configurations: Any, space: Space, sample_weight: ArrayLike | None, first_row: int) -> None:
        super().__init__(int(configurations.shape[0]), space.n_coordinates, sample_weight)
        self.configurations = configurations
        self.space = space
        self.first_row = first_row
        self.is_sequential = getattr(configurations, "is_sequential", False)

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return rows `start` to `stop`, whitened now."""
        return self.space.whitened_preshapes(self._given(start, stop), "X", first_row=self.first_row + start)

    def take(self, indices: IntArray) -> ComplexArray:
        """Return rows by number, singly where the set can give single rows."""
        # Products with a matrix round a row by its place in the stack, so in other spaces all come in whole blocks.
        if isinstance(self.space, Landmarks) and getattr(self.configurations, "can_gather", False):
            with suppress(ShapeInputError):  # a bad row among them: blocks tell its number
                return self.space.whitened_preshapes(self.configurations.gather(indices), "X")
        return super().take(indices)

    def stretches(self) -> list[int]:
        """Return the bounds of stretches of whole chunks, at least a block each."""
        n_rows = getattr(self.configurations, "stretch_rows", 1)
        return [*range(0, self.n_samples, n_rows * -(-BLOCK_ROWS // n_rows)), self.n_samples]

    def _given(self, start: int, stop: int) -> ComplexArray:
        return np.asarray(self.configurations[start:stop])


class RemoteRows(RowBlocks):
    """Rows that lie on other machines, where the passes over them are made."""

    @abstractmethod
    def survey(self, atoms: ComplexArray, options: "LearningOptions") -> "Survey":
        """Make a pass as :func:`shapelex.learning.passes.survey` does."""


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
