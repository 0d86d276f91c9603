"""Dictionary updates for given codes (paper, section 5.1).

In come statistics, or rows with their codes; out goes a new dictionary of rows of norm 1. Nothing here depends on the
Gram matrix of the space: it cancels from the update (paper, lemma on the dictionary update).
"""

import numpy as np
from scipy.linalg import eigh

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.coding import SparseCodes, decode
from shapelex.kernels.hermitian import solve_cholesky
from shapelex.kernels.ksvd import sweep_atoms
from shapelex.learning.statistics import Statistics
from shapelex.spaces.rows import row_norms

UPDATES = ("mod", "ksvd")

# Relative to a diagonal of ones. Above it, Cholesky loses at most ten of its sixteen digits; below it, the rank is in
# question, and eigenvalues decide.
_LEAST_PIVOT = 1e-10

# Most power steps an atom in a sweep of K-SVD. Few are needed: the atom is a good guess.
_POWER_STEPS = 50


def solve_mod(statistics: Statistics) -> ComplexArray:
    """Least-squares dictionary of given codes, before normalization.

    ``D = A⁺ X`` (paper, eq. dico_update), from ``S D = T``: by Cholesky where ``S`` has full rank, else by its
    pseudo-inverse. No dictionary has a smaller loss with these codes.

    Parameters
    ----------
    statistics : Statistics
        Sums over the coded samples.

    Returns
    -------
    ndarray of complex128, shape (n_atoms, n_coordinates)
        The solution of least norm; rows of unused atoms are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import SparseCodes
    >>> rows = np.array([[2, 0], [2j, 0]], dtype=complex)
    >>> statistics = Statistics.of(rows, SparseCodes([[0], [0]], [[1], [1j]], n_atoms=2))
    >>> solve_mod(statistics).real
    array([[2., 0.],
           [0., 0.]])
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
    """Method of optimal directions: the least-squares dictionary, normalized.

    Parameters
    ----------
    statistics : Statistics
        Sums over the samples, coded over `atoms`.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        Dictionary of the codes. Its precision is kept, and so is every atom that nothing uses or that vanishes.

    Returns
    -------
    ndarray of complex, shape (n_atoms, n_coordinates)
        Atoms of norm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import encode_rows
    >>> rows = np.array([[1, 0], [0.8, 0.6]], dtype=complex)
    >>> codes = encode_rows(rows, rows[:1], 1)
    >>> update_mod(Statistics.of(rows, codes), rows[:1]).round(3)
    array([[0.96 +0.j, 0.281+0.j]])
    """
    return normalized(solve_mod(statistics), atoms)


def normalized(solution: ComplexArray, atoms: ComplexArray) -> ComplexArray:
    """Rows of norm 1, in the precision of `atoms`, which stand in for rows that vanished.

    Parameters
    ----------
    solution : ndarray of complex, shape (n_atoms, n_coordinates)
        Rows of any norm.
    atoms : ndarray of complex, same shape
        Stand-ins.

    Returns
    -------
    ndarray of complex, same shape
        Atoms of norm 1.
    """
    norms = row_norms(solution)
    vanished = ~(norms > np.finfo(np.float64).eps)
    rows = solution / np.where(vanished, 1, norms)[:, None]
    updated: ComplexArray = np.where(vanished[:, None], atoms, rows).astype(atoms.dtype)
    return updated


def sweep_ksvd(
    rows: ComplexArray, codes: SparseCodes, atoms: ComplexArray, weights: FloatArray | None = None
) -> tuple[ComplexArray, SparseCodes]:
    """One K-SVD sweep: each atom in turn, together with its coefficients, becomes the best rank-one fit.

    The samples that use an atom, less what their other atoms explain, are approximated by one atom times new
    coefficients: the leading singular vector, reached by power steps from the atom as it is. The loss never rises.

    Parameters
    ----------
    rows : ndarray of complex, shape (n_samples, n_coordinates)
        Whitened rows; all are held in memory, with their residuals.
    codes : SparseCodes
        Their codes over `atoms`.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    weights : ndarray of float, shape (n_samples,), optional
        Weights of the samples. Default: 1 each.

    Returns
    -------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        Atoms of norm 1; unused ones as they were.
    codes : SparseCodes
        The codes with their new coefficients; the supports stay.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import encode_rows
    >>> rows = np.array([[1, 0], [0.8, 0.6]], dtype=complex)
    >>> swept, _ = sweep_ksvd(rows, encode_rows(rows, rows[:1], 1), rows[:1])
    >>> abs(swept).round(3)
    array([[0.949, 0.316]])
    """
    dtype = np.result_type(rows.dtype, atoms.dtype)
    swept = np.array(atoms, dtype=dtype, order="C")
    coefs = np.array(codes.coefs, dtype=dtype, order="C")
    residuals = np.ascontiguousarray(rows - decode(codes, atoms), dtype=dtype)
    scales = np.ones(len(rows)) if weights is None else np.asarray(weights)
    tolerance = 4 * float(np.finfo(dtype).eps) ** 0.5
    sweep_atoms(codes.support, scales.astype(residuals.real.dtype), _POWER_STEPS, tolerance, coefs, swept, residuals)
    return swept, SparseCodes(codes.support, coefs, codes.n_atoms)


def mutual_coherences(atoms: ComplexArray) -> FloatArray:
    """Moduli ``|d_i* d_j|`` of all pairs of atoms, zero on the diagonal.

    Parameters
    ----------
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        Atoms of norm 1.

    Returns
    -------
    ndarray of float, shape (n_atoms, n_atoms)
        1 for atoms of one shape.
    """
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
