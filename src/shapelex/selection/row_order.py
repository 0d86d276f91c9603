"""The order of the rows of a set, and what it means for shapes that are held out.

Neighboring rows that are similar, as in a recording, must be held out together, in blocks. Blocks of a set that is only
sorted by label or file would lack some kinds of shapes and be full of others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, IntArray
from shapelex.estimators.folds import Fold
from shapelex.geometry.distances import row_distances
from shapelex.spaces import Space

# Rows are taken to be ordered where neighbors are closer than random pairs by this factor.
_ORDERED = 0.7

# A column is taken to be sorted where its value changes at most this often, relative to a random order.
_SORTED = 0.5


@dataclass(frozen=True)
class RowOrder:
    """Numbers that describe the order of the rows.

    Parameters
    ----------
    n_copies : int
        Number of rows that repeat an earlier one.
    n_shapes : int
        Number of rows.
    neighbor_distance, pair_distance : float
        Median full distances of consecutive rows and of random pairs, of the same kind where rows are sorted by kind.
    sorted_by : str
        The column that the rows are sorted by, in words; empty where they are not sorted.
    """

    n_copies: int
    n_shapes: int
    neighbor_distance: float
    pair_distance: float
    sorted_by: str

    @property
    def is_ordered(self) -> bool:
        """Whether consecutive rows are clearly more similar than others."""
        return self.neighbor_distance < _ORDERED * self.pair_distance

    @property
    def needs_shuffling(self) -> bool:
        """Whether blocks of rows differ by their kinds of shapes, and not because neighboring rows are similar."""
        return bool(self.sorted_by) and not self.is_ordered


def explain_order(order: RowOrder, folds: Sequence[Fold], has_groups: bool, is_shuffled: bool) -> list[str]:
    """Return a sentence on what the order of rows means for the folds; none where rows are not ordered."""
    parts = []
    if order.n_copies:
        parts.append(f"{order.n_copies} of {order.n_shapes} rows are copies of others")
    if order.is_ordered:
        parts.append(
            f"consecutive rows are similar (median distance {order.neighbor_distance:.3f}, random pairs "
            f"{order.pair_distance:.3f}), as in a recording or a sorted set"
        )
    if is_shuffled:
        parts.append(f"the rows are sorted by {order.sorted_by}")
    if not parts:
        return []
    if has_groups:
        advice = "whole groups were held out, so that no held-out shape had a near copy among the others"
    elif is_shuffled:
        advice = (
            "blocks of rows would differ in their kinds of shapes, so the rows were shuffled and held out at random; "
            "where several shapes come from one recording or specimen, give these as groups"
        )
    elif all((np.diff(np.sort(held_out)) == 1).all() for _, held_out in folds):
        advice = (
            "a random split would hold out near copies of shapes learned from, so whole blocks of rows were held out; "
            "where recordings or specimens are known, give them as groups"
        )
    else:
        advice = (
            "the given folds separate such rows, so these errors are too small: hold out blocks of rows (cv=3), or "
            "recordings or specimens as groups"
        )
    return [f"Order: {', and '.join(parts)}: {advice}."]


def describe_order(X: Any, configurations: ComplexArray, space: Space, generator: np.random.Generator) -> RowOrder:
    """Compare consecutive rows with random pairs; only exact copies of configurations count as copies.

    `X` is what was given: where it has labels or files, and the rows are sorted by these, pairs are of the same kind.
    """
    preshapes = space.whitened_preshapes(configurations, "X")
    unsorted = "", np.zeros(len(preshapes), dtype=np.intp)
    sorted_by, kinds = next(((name, kinds) for name, kinds in _columns(X) if _is_sorted(kinds)), unsorted)
    shuffled = np.lexsort((generator.random(len(preshapes)), kinds))
    return RowOrder(
        n_copies=len(preshapes) - len({configuration.tobytes() for configuration in configurations}),
        n_shapes=len(preshapes),
        neighbor_distance=_consecutive_distance(preshapes, kinds),
        pair_distance=_consecutive_distance(preshapes[shuffled], kinds[shuffled]),
        sorted_by=sorted_by,
    )


def _consecutive_distance(rows: ComplexArray, kinds: IntArray) -> float:
    """Return the median distance of consecutive rows of the same kind; NaN where there are none."""
    is_same = kinds[:-1] == kinds[1:]
    return float(np.median(row_distances(rows[:-1][is_same], rows[1:][is_same]))) if is_same.any() else float("nan")


def _columns(X: Any) -> Iterator[tuple[str, IntArray]]:
    """Yield the columns of a set that may name kinds of shapes, as numbers of kinds; none for series and arrays."""
    # Arrays of other libraries may have attributes of these names too, but not a mapping of columns.
    metadata = getattr(X, "metadata", None)
    if not isinstance(metadata, Mapping) or (X.sequence is not None and len(np.unique(X.sequence)) > 1):
        return
    columns = {"label": X.labels, "file": metadata.get("file")}
    if columns["file"] is not None:
        # Files of one kind often differ only by a number: control_01.png, control_02.png.
        columns["name of file"] = np.array([re.sub(r"\d+", "", str(file)) for file in columns["file"]])
    for name, column in columns.items():
        if column is not None:
            yield name, np.unique(np.asarray(column).astype(str), return_inverse=True)[1]


def _is_sorted(kinds: IntArray) -> bool:
    """Return whether equal values follow each other much more often than in a random order."""
    counts = np.bincount(kinds)
    expected_changes = len(kinds) - float(counts @ counts) / len(kinds)
    return bool(0 < np.count_nonzero(np.diff(kinds)) <= _SORTED * expected_changes)
