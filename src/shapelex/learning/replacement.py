"""Atoms that do no work give way to the shapes that need one.

In come a dictionary, how much its atoms are used, and the worst-reconstructed shapes; out goes the dictionary with
those shapes in the place of unused, zero and duplicate atoms. No chance is involved.
"""

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.learning.update import mutual_coherences
from shapelex.spaces.rows import row_norms

DUPLICATE_COHERENCE = 0.9995
"""Two atoms ``d, e`` are duplicates where ``|d* e|`` is above this: they are less than 0.032 apart in full distance,
and a code that tells them apart needs opposite weights of up to 32."""

UNUSED_SHARE = 0.01
"""An atom counts as unused where fewer shapes use it than this share of the average atom's."""


def replace_atoms(
    atoms: ComplexArray,
    usage: FloatArray,
    worst: ComplexArray,
    *,
    duplicate_coherence: float = DUPLICATE_COHERENCE,
) -> tuple[ComplexArray, int]:
    """Put badly approximated shapes in the place of idle atoms; return the dictionary and how many were replaced.

    Atoms above the coherence are duplicates, of which the less used one is idle. A shape takes a place only if it is
    below the coherence with all other atoms, so copies of one shape never fill two places. Without idle atoms, `atoms`
    itself is returned.
    """
    idle = np.flatnonzero(find_idle(atoms, usage, duplicate_coherence))
    if idle.size == 0:
        return atoms, 0
    replaced = atoms.copy()
    # A place that is to be filled must not keep a shape out.
    replaced[idle] = 0
    candidates = iter(worst)
    for n_filled, place in enumerate(idle):
        for candidate in candidates:
            if np.abs(replaced.conj() @ candidate).max() <= duplicate_coherence:
                replaced[place] = candidate
                break
        else:
            # No distinct shape is left: the atoms stay, they do no harm.
            replaced[idle[n_filled:]] = atoms[idle[n_filled:]]
            return (replaced, n_filled) if n_filled else (atoms, 0)
    return replaced, int(idle.size)


def find_idle(atoms: ComplexArray, usage: FloatArray, duplicate_coherence: float = DUPLICATE_COHERENCE) -> BoolArray:
    """Return which atoms are unused, zero or duplicates of one that is used more."""
    # A fresh atom has norm 1, a vanished one has not.
    idle: BoolArray = (row_norms(atoms) < 0.5) | (usage <= UNUSED_SHARE * usage.mean())
    duplicate = mutual_coherences(atoms) > duplicate_coherence
    if not duplicate.any():
        return idle
    # The most used first; of equals the first. Each keeps its place unless it repeats one that kept its own.
    order = np.argsort(-usage, kind="stable")
    for position, j in enumerate(order):
        earlier = order[:position]
        idle[j] |= bool((duplicate[j, earlier] & ~idle[earlier]).any())
    return idle
