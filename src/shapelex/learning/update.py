"""Dictionary updates for given codes, and the replacement of atoms that are not used.

In come statistics; out goes a new dictionary of rows of norm 1 (paper, section 5.1, "Dictionary update with MOD").
Nothing here depends on the Gram matrix of the space: it cancels from the update (paper, appendix, "Two lemmas").
Unused, zero and duplicate atoms give way to badly approximated shapes. Nothing is random.
"""

import numpy as np
from scipy.linalg import eigh, lapack

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.learning.statistics import Statistics
from shapelex.spaces import Space
from shapelex.spaces.rows import row_norms

DUPLICATE_COHERENCE = 0.9995
"""Two atoms ``d, e`` are duplicates where ``|d* e|`` is above this: they are less than 0.032 apart in full distance,
and a code that tells them apart needs opposite weights of up to 32."""

UNUSED_SHARE = 0.01
"""An atom counts as unused where fewer shapes use it than this share of the average atom's."""

RELAXATION = 1.5
"""How far an update goes beyond the least-squares dictionary ``D`` of the current codes: from ``A`` to
``D + 1.5 (D − A)``, normalized. Where that does not lower the objective, the update ends at ``D``."""

# Relative to a diagonal of ones. Above it, Cholesky loses at most ten of its sixteen digits; below it, the rank is in
# question, and eigenvalues decide.
_LEAST_PIVOT = 1e-10


def solve_mod(statistics: Statistics) -> ComplexArray:
    """Return the least-squares dictionary of given codes, before normalization: rows of unused atoms are zero.

    ``D = A⁺ X``, from ``S D = T``: by Cholesky where ``S`` has full rank, else by its pseudo-inverse. No dictionary has
    a smaller loss with these codes.
    """
    solution = np.zeros_like(statistics.products)
    energies = statistics.gram.diagonal().real
    used = energies > 0
    if not used.any():
        return solution
    if used.all():
        return _solve_hermitian(statistics.gram, statistics.products)
    gram = statistics.gram[np.ix_(used, used)]
    solution[used] = _solve_hermitian(gram, statistics.products[used])
    return solution


def update_mod(statistics: Statistics, atoms: ComplexArray) -> ComplexArray:
    """Return the least-squares dictionary (method of optimal directions), normalized, in the precision of `atoms`.

    Atoms that nothing uses, or that would vanish, stay as they are.
    """
    return normalized(solve_mod(statistics), atoms)


def normalized(solution: ComplexArray, atoms: ComplexArray) -> ComplexArray:
    """Return rows of norm 1, in the precision of `atoms`, which stand in for rows that vanished."""
    norms = row_norms(solution)
    vanished = ~(norms > np.finfo(np.float64).eps)
    rows = solution / np.where(vanished, 1, norms)[:, None]
    updated: ComplexArray = np.where(vanished[:, None], atoms, rows).astype(atoms.dtype)
    return updated


def mutual_coherences(atoms: ComplexArray) -> FloatArray:
    """Return the moduli ``|d_i* d_j|`` of all pairs of atoms, with zeros on the diagonal."""
    moduli: FloatArray = np.abs(atoms.conj() @ atoms.T)
    np.fill_diagonal(moduli, 0)
    return moduli


def replace_atoms(
    atoms: ComplexArray,
    usage: FloatArray,
    worst: ComplexArray,
    space: Space,
    *,
    duplicate_coherence: float = DUPLICATE_COHERENCE,
) -> tuple[ComplexArray, int]:
    """Put badly approximated shapes in the place of idle atoms; return the dictionary and how many were replaced.

    `worst` are the candidates, as configurations. Of atoms above the coherence, the less used one is idle. A shape
    takes a place only if it is below the coherence with all other atoms, so copies of one shape never fill two places.
    Without idle atoms, `atoms` itself is returned.
    """
    idle = np.flatnonzero(find_idle(atoms, usage, duplicate_coherence))
    if idle.size == 0:
        return atoms, 0
    replaced = atoms.copy()
    # A place that is to be filled must not keep a shape out.
    replaced[idle] = 0
    candidates = iter(space.whitened_preshapes(worst))
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


def _solve_hermitian(gram: ComplexArray, products: ComplexArray) -> ComplexArray:
    # Unit diagonal first: how often an atom is used should not count as ill-conditioning.
    scale = 1 / np.sqrt(gram.diagonal().real)[:, None]
    factor, info = lapack.zpotrf(scale * gram * scale.T, lower=1)
    if info == 0 and factor.diagonal().real.min() ** 2 > _LEAST_PIVOT:
        return np.ascontiguousarray(scale * lapack.zpotrs(factor, scale * products, lower=1)[0])
    # Least norm is a matter of the unscaled unknowns.
    values, vectors = eigh(gram, check_finite=False)
    kept: BoolArray = values > len(gram) * np.finfo(np.float64).eps * values[-1]
    basis = vectors[:, kept]
    minimal: ComplexArray = basis @ ((basis.conj().T @ products) / values[kept, None])
    return minimal
