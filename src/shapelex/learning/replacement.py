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
    """Put badly reconstructed shapes in the place of idle atoms.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    usage : ndarray of float, shape (n_atoms,)
        Weight of the shapes that use each atom.
    worst : ndarray of complex, shape (n_candidates, n_coordinates)
        Badly reconstructed shapes as whitened rows of norm 1, the worst first.
    duplicate_coherence : float
        Atoms above this coherence are duplicates; the less used of two goes. A shape takes a place only if it is
        below it with all other atoms, so copies of one shape never fill two places.

    Returns
    -------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        A new dictionary, or `atoms` itself when no atom gave way.
    n_replaced : int
        How many did.

    Examples
    --------
    >>> import numpy as np
    >>> atoms = np.eye(3, dtype=complex)[[0, 0, 1]]
    >>> replaced, count = replace_atoms(atoms, np.array([5.0, 2.0, 5.0]), np.eye(3, dtype=complex)[2:])
    >>> count, abs(replaced[1])
    (1, array([0., 0., 1.]))
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
    """Tell which atoms are unused, zero or duplicates of one that is used more.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    usage : ndarray of float, shape (n_atoms,)
        Weight of the shapes that use each atom.
    duplicate_coherence : float
        Atoms above this coherence are duplicates.

    Returns
    -------
    ndarray of bool, shape (n_atoms,)
        True for atoms that should give way.
    """
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
