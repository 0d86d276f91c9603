"""Where the learner reads shapes from: whitened rows, in blocks of one fixed size.

In comes an array, or configurations to whiten; out go blocks with their weights. Arrays in memory,
memory maps, files and chunked arrays all look the same to the learner.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, DistanceKind, FloatArray, IntArray
from shapelex._validation import as_numeric_array, name_rows
from shapelex.exceptions import EmptySetError, ShapeInputError
from shapelex.spaces import Landmarks, Space

# Sums of weighted squares stay far from overflow and underflow, in single precision too.
_WEIGHT_RANGE = 1e12

BLOCK_ROWS = 8192
"""Rows of a block. It fixes the order of all sums, so results depend on it and on nothing else."""


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

    Examples
    --------
    >>> import numpy as np
    >>> source = RowBlocks.from_rows(np.eye(3, dtype=complex))
    >>> [(rows.shape, weights.tolist()) for rows, weights in source.blocks()]
    [((3, 3), [1.0, 1.0, 1.0])]
    """

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
    def from_rows(rows: ComplexArray, sample_weight: ArrayLike | None = None) -> "RowBlocks":
        """Return rows that an array holds, in memory or mapped.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_samples, n_coordinates)
            Whitened rows of norm 1.
        sample_weight : array_like of float, shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        RowBlocks
            The source.

        Raises
        ------
        ShapeInputError
            If `rows` is no complex 2-D array.
        """
        return _ArrayRows(rows, sample_weight)

    @staticmethod
    def from_configurations(
        configurations: Any, space: Space, sample_weight: ArrayLike | None = None, first_row: int = 0
    ) -> "RowBlocks":
        """Return rows that are whitened as they are read: nothing but the block at hand is in memory.

        Parameters
        ----------
        configurations : array of complex, shape (n_samples, n_coordinates)
            Anything that gives NumPy arrays when sliced: an array, a memory map, an HDF5 dataset, a Zarr array.
        space : Space
            Their space.
        sample_weight : array_like of float, shape (n_samples,), optional
            How much each row counts.
        first_row : int, default 0
            Number of the first row in errors, where this is a part of a larger set.

        Returns
        -------
        RowBlocks
            The source.
        """
        return ConfigurationRows(configurations, space, sample_weight, first_row)

    def weights(self, start: int, stop: int) -> FloatArray:
        """Weights of a stretch of rows.

        Parameters
        ----------
        start, stop : int
            First row, and one past the last.

        Returns
        -------
        ndarray of float64, shape (stop − start,)
            The weights.
        """
        if self.sample_weight is None:
            return np.ones(stop - start)
        return self.sample_weight[start:stop]

    def blocks(self) -> Iterator[tuple[ComplexArray, FloatArray]]:
        """Go through all rows once.

        Yields
        ------
        rows : ndarray of complex, shape (at most BLOCK_ROWS, n_coordinates)
            Consecutive rows.
        weights : ndarray of float64
            Their weights.
        """
        for start in range(0, self.n_samples, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, self.n_samples)
            yield np.ascontiguousarray(self.read(start, stop)), self.weights(start, stop)

    def take(self, indices: IntArray) -> ComplexArray:
        """Rows by number.

        Parameters
        ----------
        indices : ndarray of int
            Which rows, in ascending order: each block is read at most once.

        Returns
        -------
        ndarray of complex, shape (len(indices), n_coordinates)
            Copies of them.
        """
        parts = []
        for chosen in np.split(indices, np.flatnonzero(np.diff(indices // BLOCK_ROWS)) + 1):
            start = int(chosen[0]) // BLOCK_ROWS * BLOCK_ROWS
            parts.append(self.read(start, min(start + BLOCK_ROWS, self.n_samples))[chosen - start])
        return np.concatenate(parts)

    @property
    def n_counted(self) -> int:
        """Number of rows of positive weight."""
        return self.n_samples if self.sample_weight is None else int(np.count_nonzero(self.sample_weight))

    def draw(self, n_rows: int, generator: np.random.Generator) -> IntArray:
        """Draw rows of positive weight at random, each at most once and all with equal chances.

        Parameters
        ----------
        n_rows : int
            How many; where there are no more, all are taken and nothing is drawn.
        generator : numpy.random.Generator
            The source of chance.

        Returns
        -------
        ndarray of int, shape (at most n_rows,)
            Their numbers, in ascending order.
        """
        eligible = None if self.sample_weight is None else np.flatnonzero(self.sample_weight)
        if self.n_counted <= n_rows:
            return np.arange(self.n_samples) if eligible is None else eligible
        drawn: IntArray = generator.choice(self.n_counted, n_rows, replace=False, shuffle=False)
        return np.sort(drawn if eligible is None else eligible[drawn])

    def weights_of(self, indices: IntArray) -> FloatArray:
        """Weights of rows by number.

        Parameters
        ----------
        indices : ndarray of int
            Which rows.

        Returns
        -------
        ndarray of float64, shape (len(indices),)
            The weights.
        """
        return np.ones(len(indices)) if self.sample_weight is None else self.sample_weight[indices]


class _ArrayRows(RowBlocks):
    """Whitened rows of an array."""

    def __init__(self, rows: ComplexArray, sample_weight: ArrayLike | None) -> None:
        if rows.ndim != 2 or not np.iscomplexobj(rows):
            raise ShapeInputError(
                f"rows must be a 2-D complex array (n_samples, n_coordinates), got shape {rows.shape}, "
                f"dtype {rows.dtype}; whiten configurations first with space.whitened_preshapes."
            )
        super().__init__(rows.shape[0], rows.shape[1], sample_weight)
        self._rows = rows

    def read(self, start: int, stop: int) -> ComplexArray:
        return self._rows[start:stop]

    def take(self, indices: IntArray) -> ComplexArray:
        return self._rows[indices]


class ConfigurationRows(RowBlocks):
    """Configurations that are whitened as they are read; see :meth:`RowBlocks.from_configurations`."""

    def __init__(self, configurations: Any, space: Space, sample_weight: ArrayLike | None, first_row: int) -> None:
        super().__init__(int(configurations.shape[0]), space.n_coordinates, sample_weight)
        self.configurations = configurations
        self.space = space
        self.first_row = first_row

    def read(self, start: int, stop: int) -> ComplexArray:
        """Return rows `start` to `stop`, whitened now."""
        block = np.asarray(self.configurations[start:stop])
        return self.space.whitened_preshapes(block, "X", first_row=self.first_row + start)

    def take(self, indices: IntArray) -> ComplexArray:
        """Return rows by number, singly where the set can give single rows."""
        # Products with a matrix round a row by its place in the stack, so in other spaces all come in whole blocks.
        if isinstance(self.space, Landmarks) and getattr(self.configurations, "can_gather", False):
            with suppress(ShapeInputError):  # a bad row among them: blocks tell its number
                return self.space.whitened_preshapes(self.configurations.gather(indices), "X")
        return super().take(indices)


class RemoteRows(RowBlocks):
    """Rows that lie on other machines, where the passes over them are made."""

    @abstractmethod
    def survey(
        self,
        atoms: ComplexArray,
        n_nonzero: int,
        *,
        coder: str = "auto",
        distance: DistanceKind = "full",
        with_nearest: bool = False,
        with_details: bool = False,
    ) -> Any:
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
