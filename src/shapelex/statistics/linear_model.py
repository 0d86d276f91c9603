"""Sums of squares of nested linear models, for the data and for all permutations, as a few matrix products.

Input: rows of real numbers, a design, and what may be exchanged. Output: sums of squares of each term under residual
permutation. With ``Q`` an orthonormal basis of the full model and ``E`` the residuals of a term's reduced model, the
permuted data ``Y' = fitted + E[index]`` have ``Q* Y' = Q* fitted + Q[inverse index]* E``: all permutations of a chunk
are one product of gathered rows of ``Q`` with ``E``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from shapelex._blas import single_blas_thread
from shapelex._typing import FloatArray
from shapelex.statistics.permutations import Exchange

RANK_TOL = 1e-9
"""Share of a column's length, per root of its entries, below which what earlier columns leave of it is rounding."""
# Entries of the largest temporary array: 64 MiB.
_MOST_ENTRIES = 1 << 23


def orthonormal_basis(columns: FloatArray, beyond: FloatArray | None = None) -> FloatArray:
    """Return an orthonormal basis of what the columns span, or of what they add to an orthonormal basis `beyond`."""
    lengths = np.linalg.norm(columns, axis=0)
    kept = columns[:, lengths > 0] / lengths[lengths > 0]
    if beyond is not None and beyond.shape[1]:
        for _ in range(2):
            kept = kept - beyond @ (beyond.T @ kept)
    if not kept.shape[1]:
        return np.zeros((len(columns), 0))
    basis, triangle, _ = qr(kept, mode="economic", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diagonal(triangle)) > RANK_TOL * np.sqrt(len(columns))))
    return np.ascontiguousarray(basis[:, :rank])


def reduce_columns(rows: FloatArray) -> FloatArray:
    """Return rows with the same products with each other and at most as many columns as there are rows."""
    n_rows, n_columns = rows.shape
    if n_columns <= n_rows:
        return rows
    triangle: FloatArray = np.linalg.qr(rows.T).R
    return np.ascontiguousarray(triangle.T)


def least_squares(matrix: FloatArray) -> FloatArray:
    """Return the matrix that gives least-squares coefficients; 0 for columns that depend on earlier ones, as in R."""
    basis: FloatArray = np.zeros((len(matrix), 0))
    kept: list[int] = []
    for column in range(matrix.shape[1]):
        found = orthonormal_basis(matrix[:, column : column + 1], basis)
        if found.shape[1]:
            basis, kept = np.hstack([basis, found]), [*kept, column]
    solver = np.zeros(matrix.T.shape)
    solver[kept] = np.linalg.pinv(matrix[:, kept])
    return solver


@dataclass(frozen=True, eq=False)
class TermModel:
    """One term: what it adds to its reduced model, within the full one.

    Attributes
    ----------
    name : str
        Name of the term.
    basis : ndarray of float, shape (n_rows, n_full)
        Orthonormal basis of the full model whose first `df` columns are what the term adds.
    df : int
        Degrees of freedom of the term.
    reduced : ndarray of float, shape (n_rows, n_reduced)
        Orthonormal basis of the reduced model.
    exchange : Exchange
        What may be exchanged under the null hypothesis.
    """

    name: str
    basis: FloatArray
    df: int
    reduced: FloatArray
    exchange: Exchange


def moved_products(
    basis: FloatArray, rows: FloatArray, exchange: Exchange, permutations: int, seed: int
) -> Iterator[FloatArray]:
    """Yield the products of a basis with permuted rows, ``(n_full, n_part, n_columns)``, those of the data first."""
    across = np.ascontiguousarray(basis.T)
    step = max(1, _MOST_ENTRIES // (max(len(across), 1) * max(rows.shape)))
    with single_blas_thread():
        for indices in exchange.chunks(permutations, seed):
            for start in range(0, len(indices), step):
                part = indices[start : start + step]
                inverse = np.empty_like(part)
                np.put_along_axis(inverse, part, np.arange(part.shape[1])[None, :], axis=1)
                moved = np.take(across, inverse, axis=1).reshape(-1, part.shape[1])
                yield (moved @ rows).reshape(len(across), len(part), rows.shape[1])


@dataclass(frozen=True, eq=False)
class SumsOfSquares:
    """Sums of squares of each term for the data, first, and for all permutations.

    Attributes
    ----------
    terms : ndarray of float, shape (n_terms, 1 + permutations)
        Sum of squares of each term.
    residuals : ndarray of float, shape (n_terms, 1 + permutations)
        Residual sum of squares of the full model, for the permuted data of each term.
    """

    terms: FloatArray
    residuals: FloatArray


def permuted_sums(
    rows: FloatArray, terms: list[TermModel], permutations: int, seed: int, *, full: bool = False
) -> SumsOfSquares:
    """Return the sums of squares of all terms for all permutations.

    Residuals of the reduced model of each term are permuted, or with `full` the rows about their average. All terms are
    tested with the same permutations.
    """
    sums, rests = (np.empty((len(terms), permutations + 1)) for _ in range(2))
    rows = reduce_columns(rows - rows.mean(axis=0))
    for number, term in enumerate(terms):
        residuals = rows if full else rows - term.reduced @ (term.reduced.T @ rows)
        place, total = 0, np.einsum("ij,ij->i", residuals, residuals).sum()
        for found in moved_products(term.basis, residuals, term.exchange, permutations, seed):
            squares = np.einsum("kbp,kbp->kb", found, found)
            chosen = slice(place, place + found.shape[1])
            sums[number, chosen] = squares[: term.df].sum(axis=0)
            rests[number, chosen] = total - squares.sum(axis=0)
            place += found.shape[1]
    return SumsOfSquares(sums, np.maximum(rests, 0.0))
