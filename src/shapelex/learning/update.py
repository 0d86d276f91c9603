"""Dictionary updates for given codes, and the replacement of atoms that are not used.

Sums over shapes give a new dictionary of rows of norm 1 (paper, section 5.1, "Dictionary update with MOD"). Nothing
here depends on the Gram matrix of the space: it cancels from the update (paper, appendix, "Two lemmas").
"""

import numpy as np
from scipy.linalg import eigh, lapack

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.spaces.base import row_norms

DUPLICATE_COHERENCE = 0.9995
"""Two atoms ``d, e`` are duplicates where ``|d* e|`` is above this: they are less than 0.032 apart in full distance,
and a code that tells them apart needs opposite weights of up to 32."""

UNUSED_SHARE = 0.01
"""An atom counts as unused where fewer shapes use it than this share of the average atom's."""

# Relative to a diagonal of ones. Above it, Cholesky loses at most ten of its sixteen digits; below it, the rank is in
# question, and eigenvalues decide.
_LEAST_PIVOT = 1e-10
# Copies to rounding are duplicates even where shapes are approximated perfectly.
_LEAST_DUPLICATE_DISTANCE2 = 1e-8


def solve_mod(gram: ComplexArray, products: ComplexArray) -> ComplexArray:
    """Return the least-squares dictionary of given codes, before normalization: rows of unused atoms are zero.

    ``D = A⁺ X``, from ``S D = T``: by Cholesky where ``S`` has full rank, else by its pseudo-inverse. No dictionary has
    a smaller loss with these codes.
    """
    solution = np.zeros_like(products)
    used = np.flatnonzero(gram.diagonal().real > 0)
    if not len(used):
        return solution
    gram, products = gram[np.ix_(used, used)], products[used]
    # Unit diagonal first: how often an atom is used should not count as ill-conditioning.
    scale = 1 / np.sqrt(gram.diagonal().real)[:, None]
    factor, info = lapack.zpotrf(scale * gram * scale.T, lower=1)
    if info == 0 and factor.diagonal().real.min() ** 2 > _LEAST_PIVOT:
        solution[used] = scale * lapack.zpotrs(factor, scale * products, lower=1)[0]
        return solution
    # Least norm is a matter of the unscaled unknowns.
    values, vectors = eigh(gram, check_finite=False)
    kept: BoolArray = values > len(gram) * np.finfo(np.float64).eps * values[-1]
    basis = vectors[:, kept]
    solution[used] = basis @ ((basis.conj().T @ products) / values[kept, None])
    return solution


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
    atoms: ComplexArray, usage: FloatArray, candidates: ComplexArray, loss: float, n_nonzero: int
) -> tuple[ComplexArray, BoolArray]:
    """Put badly approximated shapes in the place of idle atoms; return the dictionary and which were replaced.

    `candidates` are whitened pre-shapes. Of duplicates, the less used atom is idle. A shape takes a place only if it is
    not a duplicate of another atom, so copies of one shape never fill two places. Where no distinct shape is left,
    atoms stay: they do no harm. Atoms that stand for shapes alone (`n_nonzero` is 1) may be close where all shapes are:
    they are duplicates where they are closer than a quarter of the distance from the shapes to them, whose mean square
    is `loss`.
    """
    coherence = DUPLICATE_COHERENCE
    if n_nonzero == 1:
        coherence = max(coherence, float(np.sqrt(max(1 - max(loss / 16, _LEAST_DUPLICATE_DISTANCE2), 0.0))))
    idle = find_idle(atoms, usage, coherence)
    is_replaced = np.zeros(len(atoms), dtype=bool)
    if not idle.any():
        return atoms, is_replaced
    replaced = atoms.copy()
    # A place that is to be filled must not keep a shape out.
    replaced[idle] = 0
    remaining = iter(candidates)
    for place in np.flatnonzero(idle):
        for candidate in remaining:
            if np.abs(replaced.conj() @ candidate).max() <= coherence:
                replaced[place] = candidate
                is_replaced[place] = True
                break
    stays = idle & ~is_replaced
    replaced[stays] = atoms[stays]
    return replaced, is_replaced


def find_idle(atoms: ComplexArray, usage: FloatArray, coherence: float = DUPLICATE_COHERENCE) -> BoolArray:
    """Return which atoms are unused, zero or duplicates of one that is used more."""
    # A fresh atom has norm 1, a vanished one has not.
    idle: BoolArray = (row_norms(atoms) < 0.5) | (usage <= UNUSED_SHARE * usage.mean())
    duplicate = mutual_coherences(atoms) > coherence
    if not duplicate.any():
        return idle
    # The most used first; of equals the first. Each keeps its place unless it repeats one that kept its own.
    order = np.argsort(-usage, kind="stable")
    for position, j in enumerate(order):
        earlier = order[:position]
        idle[j] |= bool((duplicate[j, earlier] & ~idle[earlier]).any())
    return idle
