"""Dictionary updates for given codes (paper, section 5.1, "Dictionary update with MOD").

In come statistics; out goes a new dictionary of rows of norm 1. Nothing here depends on the Gram matrix of the space:
it cancels from the update (paper, appendix, "Two lemmas").
"""

import numpy as np
from scipy.linalg import eigh

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.kernels.hermitian import solve_cholesky
from shapelex.learning.statistics import Statistics
from shapelex.spaces.rows import row_norms

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


def _solve_hermitian(gram: ComplexArray, products: ComplexArray) -> ComplexArray:
    # Unit diagonal first: how often an atom is used should not count as ill-conditioning.
    scale = 1 / np.sqrt(gram.diagonal().real)
    scaled = scale[:, None] * gram * scale
    solution = np.empty_like(products)
    if solve_cholesky(scaled, scale[:, None] * products, _LEAST_PIVOT, np.empty_like(gram), solution):
        solution *= scale[:, None]
        return solution
    # Least norm is a matter of the unscaled unknowns.
    values, vectors = eigh(gram, check_finite=False)
    kept: BoolArray = values > len(gram) * np.finfo(np.float64).eps * values[-1]
    basis = vectors[:, kept]
    minimal: ComplexArray = basis @ ((basis.conj().T @ products) / values[kept, None])
    return minimal
