"""Detects sets whose neighboring rows are similar, for which random splits give too small held-out errors.

Input: configurations and their whitened pre-shapes. Output: a short description in numbers and words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.geometry.distances import row_distances

# Rows are taken to be ordered where neighbors are closer than random pairs by this factor.
_ORDERED = 0.7


@dataclass(frozen=True)
class RowOrder:
    """Number of rows that repeat an earlier one, and median full distances of consecutive rows and of random pairs."""

    n_copies: int
    n_shapes: int
    neighbor_distance: float
    pair_distance: float

    @property
    def is_ordered(self) -> bool:
        """Whether consecutive rows are clearly more similar than others."""
        return self.neighbor_distance < _ORDERED * self.pair_distance

    def explain(self, folds: Sequence[Any], has_groups: bool) -> str:
        """Return the consequence for the folds, or an empty string where rows are not ordered."""
        parts = []
        if self.n_copies:
            parts.append(f"{self.n_copies} of {self.n_shapes} rows are copies of others")
        if self.is_ordered:
            parts.append(
                f"consecutive rows are similar (median distance {self.neighbor_distance:.3f}, random pairs "
                f"{self.pair_distance:.3f}), as in a recording or a sorted set"
            )
        if not parts:
            return ""
        is_block = all(bool(np.all(np.diff(np.sort(held_out)) == 1)) for _, held_out in folds)
        if has_groups:
            advice = "whole groups were held out, so that no held-out shape had a near copy among the others"
        elif is_block:
            advice = (
                "a random split would hold out near copies of shapes learned from, so whole blocks of rows were held "
                "out; where recordings or specimens are known, give them as groups"
            )
        else:
            advice = (
                "the given folds separate such rows, so these errors are too small: hold out blocks of rows (cv=3), or "
                "recordings or specimens as groups"
            )
        return f"Order: {', and '.join(parts)}: {advice}."


def describe_order(configurations: ComplexArray, rows: ComplexArray, generator: np.random.Generator) -> RowOrder:
    """Compare consecutive rows with random pairs; only exact copies of configurations count as copies."""
    others = generator.permutation(len(rows))
    return RowOrder(
        n_copies=len(rows) - len({configuration.tobytes() for configuration in configurations}),
        n_shapes=len(rows),
        neighbor_distance=float(np.median(row_distances(rows[:-1], rows[1:]))),
        pair_distance=float(np.median(row_distances(rows, rows[others]))),
    )
