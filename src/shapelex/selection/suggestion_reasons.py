"""The reasons for a suggestion, in words that need no knowledge of statistics.

Input: measurements, and the chosen size and sparsity. Output: sentences.
"""

from math import exp

import numpy as np

from shapelex.selection.atom_stability import AtomStability
from shapelex.selection.error_surface import LEAST_STEP, PRECISION, ErrorSurface

FEW_SHAPES = 30
"""Sets of fewer shapes do not allow conclusions on a size or on the stability of atoms."""


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
