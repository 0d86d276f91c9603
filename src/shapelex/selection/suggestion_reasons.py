"""The reasons for a suggestion, in words that need no knowledge of statistics, and the order of the rows of a set.

Neighboring rows that are similar, as in a recording, must be held out together, in blocks. Blocks of a set that is only
sorted by label or file would lack some kinds of shapes and be full of others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, IntArray
from shapelex.estimators.folds import Fold
from shapelex.geometry.distances import row_distances
from shapelex.selection.error_surface import LEAST_STEP, PRECISION, AtomStability, ErrorSurface
from shapelex.selection.tidy_table import Row
from shapelex.spaces import Space

FEW_SHAPES = 30
"""Sets of fewer shapes do not allow conclusions on a size or on the stability of atoms."""

# Rows are taken to be ordered where neighbors are closer than random pairs by this factor.
_ORDERED = 0.7

# A column is taken to be sorted where its value changes at most this often, relative to a random order.
_SORTED = 0.5


def explain_error(
    surface: ErrorSurface, n_atoms: int, n_nonzero: int, n_folds: int, has_groups: bool, n_used: int, n_shapes: int
) -> list[str]:
    """Return sentences on the error of held-out shapes, and on a set that is too small for conclusions."""
    held_out = "whole groups" if has_groups else "parts of the set"
    used = f"{n_used} of {n_shapes} shapes, evenly spaced" if n_used < n_shapes else f"all {n_shapes} shapes"
    spread = surface.spread(n_atoms, n_nonzero)
    margin = "" if np.isnan(spread) else f" ± {100 * spread:.2f}"
    error = (
        f"Error: held-out shapes have an error of {100 * surface.rmse(n_atoms, n_nonzero):.2f}{margin} % "
        f"(root mean squared full distance; {n_folds} {held_out} held out in turn; {used})."
    )
    few = (
        f"Few shapes: {n_used} shapes are too few to choose a size reliably, and nothing can be said about the "
        f"stability of the atoms. Take the suggestion as a first guess; use at least {FEW_SHAPES} shapes to decide."
    )
    return [few, error] if n_used < FEW_SHAPES else [error]


def explain_choice(
    surface: ErrorSurface, stability: AtomStability, n_atoms: int, n_nonzero: int, elbow: int, gain: float
) -> list[str]:
    """Return sentences on sparsity, size and stability."""
    return [
        *_explain_sparsity(surface, n_atoms, n_nonzero),
        _explain_size(surface, n_atoms, n_nonzero, elbow, gain),
        *(_explain_stability(row) for row in stability.rows() if row["n_atoms"] == n_atoms),
    ]


def _explain_sparsity(surface: ErrorSurface, n_atoms: int, n_nonzero: int) -> list[str]:
    """Return a sentence on one atom per shape less and more; none where neither was measured."""
    here, tried = surface.rmse(n_atoms, n_nonzero), surface.sparsities(n_atoms)
    parts = []
    if n_nonzero - 1 in tried:
        gain = 1 - here / surface.rmse(n_atoms, n_nonzero - 1)
        parts.append(f"the last of {n_nonzero} lowers the error by {100 * gain:.0f} %")
    if n_nonzero + 1 in tried:
        # At this error, with n − s − 1 dimensions left, both descriptions would have the same length.
        excess = surface.description_length(n_atoms, n_nonzero + 1) - surface.description_length(n_atoms, n_nonzero)
        error = surface.rmse(n_atoms, n_nonzero + 1)
        even = max(error, PRECISION) * exp(-excess / (2 * max(surface.n_dimensions - n_nonzero - 1, 1)))
        threshold = max(1 - even / max(here, PRECISION), LEAST_STEP)
        parts.append(f"one more would gain only {100 * (1 - error / here):.0f} % (threshold: {100 * threshold:.0f} %)")
    elif n_nonzero == max(surface.sparsities()) and n_nonzero < n_atoms:
        parts.append("more were not tried, and may be better: give a longer range of n_nonzero")
    return [f"Atoms per shape: {', '.join(parts)}."] if parts else []


def _explain_size(surface: ErrorSurface, n_atoms: int, n_nonzero: int, elbow: int, gain: float) -> str:
    """Return a sentence on fewer and more atoms."""
    sizes = surface.sizes(n_nonzero)
    smaller = [size for size in sizes if size < n_atoms]
    shown = sorted({*smaller[-1:], n_atoms, sizes[-1]})
    errors = ", ".join(f"{100 * surface.rmse(size, n_nonzero):.2f} % with {size}" for size in shown)
    if n_atoms == sizes[-1]:
        last = "no larger size was tried, and more atoms may be better: give larger n_atoms"
    else:
        last = f"beyond {elbow} a further atom lowers it by less than {100 * gain:.0f} %"
    if elbow != n_atoms:
        last += f", and {n_atoms} atoms are more stable than {elbow}"
    return f"Atoms: the error is {errors}; {last}."


def _explain_stability(row: Row) -> str:
    """Return a sentence on which atoms are reproducible, from what was measured at one size."""
    n_named, n_atoms = row["n_named"], row["n_atoms"]
    text = (
        f"Stability: {n_named} of {n_atoms} atoms are reproducible (found again in both halves of the data); on "
        f"average an atom is {row['distance']:.3f} from its match, and {row['chance']:.3f} from random shapes."
    )
    if n_named == 0:
        return f"{text} Use the codes and reconstructions, but do not interpret single atoms."
    if n_named < n_atoms:
        return f"{text} stability_ of the final dictionary shows which of its atoms are reproducible."
    return text


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
