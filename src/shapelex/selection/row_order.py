"""Are neighboring rows alike? Then random splits leak, and errors of held-out shapes are too small.

In come configurations and their whitened pre-shapes; out goes a short description, and words on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.spaces.rows import row_inner

# Neighbors this much closer than random pairs are no accident.
_ORDERED = 0.7


@dataclass(frozen=True)
class RowOrder:
    """What the order of the rows says.

    Parameters
    ----------
    n_copies : int
        Rows that repeat an earlier one exactly.
    n_shapes : int
        Number of rows.
    neighbor_distance, pair_distance : float
        Median full distance of consecutive rows, and of random pairs.
    """

    n_copies: int
    n_shapes: int
    neighbor_distance: float
    pair_distance: float

    @property
    def is_ordered(self) -> bool:
        """Whether consecutive rows are clearly more alike than others."""
        return self.neighbor_distance < _ORDERED * self.pair_distance

    def say(self, folds: Sequence[Any], has_groups: bool) -> str:
        """Say what it means for the folds; nothing where rows are in no order.

        Parameters
        ----------
        folds : sequence of tuple of ndarray of int
            Rows to learn from and rows that were held out.
        has_groups : bool
            Whether groups were held out.

        Returns
        -------
        str
            A sentence or two, or nothing.
        """
        parts = []
        if self.n_copies:
            parts.append(f"{self.n_copies} of {self.n_shapes} rows are copies of others")
        if self.is_ordered:
            parts.append(
                f"rows that follow each other are alike (median distance {self.neighbor_distance:.3f}, random pairs "
                f"{self.pair_distance:.3f}), as in a recording or a sorted set"
            )
        if not parts:
            return ""
        is_block = all(bool(np.all(np.diff(np.sort(held_out)) == 1)) for _, held_out in folds)
        if has_groups:
            advice = "whole groups were held out, so that no shape was measured that had a near copy among the learned"
        elif is_block:
            advice = (
                "a random split would hold out shapes that were all but seen, so whole blocks of rows were held out; "
                "if you know recordings or specimens, give them as groups"
            )
        else:
            advice = (
                "the folds given mix such rows, so these errors are too small: hold out blocks of rows (cv=3), or "
                "recordings or specimens as groups"
            )
        return f"Order: {', and '.join(parts)}: {advice}."


def describe_order(configurations: ComplexArray, rows: ComplexArray, generator: np.random.Generator) -> RowOrder:
    """Compare consecutive rows with random pairs.

    Parameters
    ----------
    configurations : ndarray of complex, shape (n_shapes, n_coordinates)
        Configurations; only exact copies count as copies.
    rows : ndarray of complex, shape (n_shapes, n_coordinates)
        Their whitened pre-shapes.
    generator : numpy.random.Generator
        Draws the pairs.

    Returns
    -------
    RowOrder
        What was found.
    """
    n_distinct = len({configuration.tobytes() for configuration in configurations})
    others = generator.permutation(len(rows))
    return RowOrder(
        n_copies=len(rows) - n_distinct,
        n_shapes=len(rows),
        neighbor_distance=float(np.median(_full_distances(rows[:-1], rows[1:]))),
        pair_distance=float(np.median(_full_distances(rows, rows[others]))),
    )


def _full_distances(first: ComplexArray, second: ComplexArray) -> FloatArray:
    distances: FloatArray = np.sqrt(np.maximum(1 - np.abs(row_inner(first, second)) ** 2, 0))
    return distances
