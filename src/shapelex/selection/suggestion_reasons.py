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
from shapelex.geometry.distances import row_distances
from shapelex.selection.error_surface import LEAST_STEP, PRECISION, AtomStability, ErrorSurface

FEW_SHAPES = 30
"""Sets of fewer shapes do not allow conclusions on a size or on the stability of atoms."""

# Rows are taken to be ordered where neighbors are closer than random pairs by this factor.
_ORDERED = 0.7

# A column is taken to be sorted where its value changes at most this often, relative to a random order.
_SORTED = 0.5


def explain_error(
    surface: ErrorSurface, n_atoms: int, n_nonzero: int, n_folds: int, has_groups: bool, n_used: int, n_shapes: int
) -> str:
    """Return a sentence on the error of held-out shapes."""
    held_out = "whole groups" if has_groups else "parts of the set"
    used = f"{n_used} of {n_shapes} shapes, evenly spaced" if n_used < n_shapes else f"all {n_shapes} shapes"
    spread = surface.spread(n_atoms, n_nonzero)
    margin = "" if np.isnan(spread) else f" ± {100 * spread:.2f}"
    return (
        f"Error: held-out shapes have an error of {100 * surface.rmse(n_atoms, n_nonzero):.2f}{margin} % "
        f"(root mean squared full distance; {n_folds} {held_out} held out in turn; {used})."
    )


def explain_sparsity(surface: ErrorSurface, n_atoms: int, n_nonzero: int) -> str:
    """Return a sentence on one atom per shape less and more; empty where neither was measured."""
    here, tried = surface.rmse(n_atoms, n_nonzero), surface.sparsities(n_atoms)
    parts = []
    if n_nonzero - 1 in tried:
        parts.append(
            f"the last of {n_nonzero} lowers the error by {_percent(here, surface.rmse(n_atoms, n_nonzero - 1))}"
        )
    if n_nonzero + 1 in tried:
        # At this error, with n − s − 1 dimensions left, both descriptions would have the same length.
        excess = surface.description_length(n_atoms, n_nonzero + 1) - surface.description_length(n_atoms, n_nonzero)
        there = max(surface.rmse(n_atoms, n_nonzero + 1), PRECISION)
        even = there * exp(-excess / (2 * max(surface.n_dimensions - n_nonzero - 1, 1)))
        needed = max(1 - even / max(here, PRECISION), LEAST_STEP)
        parts.append(
            f"one more would lower it by {_percent(surface.rmse(n_atoms, n_nonzero + 1), here)}, where "
            f"{100 * needed:.0f} % would be needed to justify the longer code"
        )
    elif n_nonzero == max(surface.sparsities()) and n_nonzero < n_atoms:
        parts.append("more were not tried, and may be better: give a longer range of n_nonzero")
    return f"Atoms per shape: {', '.join(parts)}." if parts else ""


def explain_size(surface: ErrorSurface, n_atoms: int, n_nonzero: int, elbow: int, gain: float) -> str:
    """Return a sentence on fewer and more atoms."""
    sizes = [size for size in surface.sizes() if n_nonzero in surface.sparsities(size)]
    here = surface.rmse(n_atoms, n_nonzero)
    smaller, larger = [size for size in sizes if size < n_atoms], [size for size in sizes if size > n_atoms]
    parts = []
    if smaller:
        parts.append(f"with {smaller[-1]}, the error is {100 * surface.rmse(smaller[-1], n_nonzero):.2f} %")
    parts.append(f"with {n_atoms}, {100 * here:.2f} %")
    if larger:
        parts.append(f"with {larger[-1]}, {100 * surface.rmse(larger[-1], n_nonzero):.2f} %")
        last = f"beyond {elbow} a further atom lowers it by less than {100 * gain:.0f} %"
    else:
        last = "no larger size was tried, and more atoms may be better: give larger n_atoms"
    if elbow != n_atoms:
        last += f", and {n_atoms} atoms are more stable than {elbow}"
    return f"Atoms: {', '.join(parts)}; {last}."


def explain_few_shapes(n_used: int) -> str:
    """Return a sentence on a set that is too small for conclusions; empty for a larger one."""
    if n_used >= FEW_SHAPES:
        return ""
    return (
        f"Few shapes: {n_used} shapes are too few to choose a size reliably, and nothing can be said about the "
        f"stability of the atoms. Take the suggestion as a first guess; use at least {FEW_SHAPES} shapes to decide."
    )


def explain_stability(stability: AtomStability, n_atoms: int) -> str:
    """Return a sentence on which atoms can be named; empty where it was not measured."""
    row = next((row for row in stability.rows() if row["n_atoms"] == n_atoms), None)
    if row is None:
        return ""
    if row["n_named"] == n_atoms:
        verdict = "the same atoms are found again: they can be named and interpreted"
    elif row["n_named"]:
        verdict = (
            f"{row['n_named']} of {n_atoms} atoms are found again, at most half as far as by chance; stability_ of "
            "the final dictionary tells which of its atoms can be named"
        )
    else:
        verdict = "no atom is found again: use the codes and reconstructions, but do not name or interpret single atoms"
    return (
        f"Stability: learned again from random halves of the shapes, an atom is {row['distance']:.3f} from its match "
        f"on average, where it would be {row['chance']:.3f} from random shapes; {verdict}."
    )


def _percent(value: float, before: float) -> str:
    return f"{100 * (1 - value / before):.0f} %"


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
    sorted_by: str = ""

    @property
    def is_ordered(self) -> bool:
        """Whether consecutive rows are clearly more similar than others."""
        return self.neighbor_distance < _ORDERED * self.pair_distance

    @property
    def needs_shuffling(self) -> bool:
        """Whether blocks of rows differ by their kinds of shapes, and not because neighboring rows are similar."""
        return bool(self.sorted_by) and not self.is_ordered

    def explain(self, folds: Sequence[Any], has_groups: bool, is_shuffled: bool) -> str:
        """Return the consequence for the folds, or an empty string where rows are not ordered."""
        parts = []
        if self.n_copies:
            parts.append(f"{self.n_copies} of {self.n_shapes} rows are copies of others")
        if self.is_ordered:
            parts.append(
                f"consecutive rows are similar (median distance {self.neighbor_distance:.3f}, random pairs "
                f"{self.pair_distance:.3f}), as in a recording or a sorted set"
            )
        if is_shuffled:
            parts.append(f"the rows are sorted by {self.sorted_by}")
        if not parts:
            return ""
        is_block = all(bool(np.all(np.diff(np.sort(held_out)) == 1)) for _, held_out in folds)
        if has_groups:
            advice = "whole groups were held out, so that no held-out shape had a near copy among the others"
        elif is_shuffled:
            advice = (
                "blocks of rows would differ in their kinds of shapes, so the rows were shuffled and held out at "
                "random; where several shapes come from one recording or specimen, give these as groups"
            )
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


def describe_order(
    X: Any, configurations: ComplexArray, rows: ComplexArray, generator: np.random.Generator
) -> RowOrder:
    """Compare consecutive rows with random pairs; only exact copies of configurations count as copies.

    `X` is what was given: where it has labels or files, and the rows are sorted by these, pairs are of the same kind.
    """
    sorted_by, kinds = next(
        ((name, kinds) for name, kinds in _columns(X) if _is_sorted(kinds)), ("", np.zeros(len(rows), dtype=np.intp))
    )
    shuffled = np.lexsort((generator.random(len(rows)), kinds))
    return RowOrder(
        n_copies=len(rows) - len({configuration.tobytes() for configuration in configurations}),
        n_shapes=len(rows),
        neighbor_distance=_consecutive_distance(rows, kinds),
        pair_distance=_consecutive_distance(rows[shuffled], kinds[shuffled]),
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
    columns = {"label": X.labels}
    files = metadata.get("file")
    if files is not None:
        # Files of one kind often differ only by a number: control_01.png, control_02.png.
        columns["file"] = files
        columns["name of file"] = np.array([re.sub(r"\d+", "", str(file)) for file in files])
    for name, column in columns.items():
        if column is not None:
            yield name, np.unique(np.asarray(column).astype(str), return_inverse=True)[1]


def _is_sorted(kinds: IntArray) -> bool:
    """Return whether equal values follow each other much more often than in a random order."""
    counts = np.bincount(kinds).astype(float)
    n_rows = counts.sum()
    expected_changes = (n_rows**2 - (counts**2).sum()) / n_rows
    n_changes = np.count_nonzero(np.diff(kinds))
    return bool(0 < n_changes <= _SORTED * expected_changes)
