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
from shapelex._typing import FloatArray, IntArray
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


@dataclass(frozen=True, eq=False)
class Moved:
    """What is moved by permutations: rows of units, and what stays in place.

    Attributes
    ----------
    basis : ndarray of float, shape (n_units, n_full)
        Basis vectors, summed over the rows of each unit.
    rows : ndarray of float, shape (n_units, n_columns)
        Residuals, averaged over the rows of each unit.
    fixed : ndarray of float, shape (n_full, n_columns)
        Products of the basis with what stays in place.
    squares : ndarray of float, shape (n_units,)
        Squared lengths of `rows`.
    counts : ndarray of float, shape (n_units,)
        Number of rows of each unit.
    fixed_square : float
        Squared length of what stays in place.
    """

    basis: FloatArray
    rows: FloatArray
    fixed: FloatArray | None
    squares: FloatArray
    counts: FloatArray
    fixed_square: float

    def products(self, indices: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield, for parts of a chunk of permutations, ``(n_full, n_part, n_columns)`` products and squared lengths."""
        n_full, n_most = self.basis.shape[1], max(self.rows.shape)
        step = max(1, _MOST_ENTRIES // (max(n_full, 1) * n_most))
        across = np.ascontiguousarray(self.basis.T)
        for start in range(0, len(indices), step):
            part = indices[start : start + step]
            inverse = np.empty_like(part)
            np.put_along_axis(inverse, part, np.arange(part.shape[1])[None, :], axis=1)
            moved = np.take(across, inverse, axis=1).reshape(-1, part.shape[1])
            found = (moved @ self.rows).reshape(n_full, len(part), self.rows.shape[1])
            if self.fixed is not None:
                found += self.fixed[:, None, :]
            lengths = self.squares[part] @ self.counts if self.fixed is not None else None
            total = np.full(len(part), self.squares.sum()) if lengths is None else lengths
            yield found, total + self.fixed_square


def moved_parts(basis: FloatArray, residuals: FloatArray, exchange: Exchange) -> Moved:
    """Return what permutations move: all residuals, or the averages of blocks, whose deviations stay in place."""
    if exchange.unit_of is None:
        squares = np.einsum("ij,ij->i", residuals, residuals)
        return Moved(basis, residuals, None, squares, np.ones(len(basis)), 0.0)
    units, n_units = exchange.unit_of, exchange.n_units
    counts = np.bincount(units, minlength=n_units).astype(np.float64)
    averages = np.zeros((n_units, residuals.shape[1]))
    np.add.at(averages, units, residuals)
    averages /= counts[:, None]
    summed = np.zeros((n_units, basis.shape[1]))
    np.add.at(summed, units, basis)
    deviations = residuals - averages[units]
    squares = np.einsum("ij,ij->i", averages, averages)
    return Moved(summed, averages, basis.T @ deviations, squares, counts, float((deviations**2).sum()))


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

    Residuals of the reduced model of each term are permuted, or with `full` the rows about their average. Terms that
    exchange the same units are tested with the same permutations.
    """
    n_statistics = permutations + 1
    sums, rests = (np.empty((len(terms), n_statistics)) for _ in range(2))
    rows = reduce_columns(rows - rows.mean(axis=0))
    groups: dict[int, list[int]] = {}
    for number, term in enumerate(terms):
        groups.setdefault(id(term.exchange), []).append(number)
    with single_blas_thread():
        for numbers in groups.values():
            moved = {}
            for number in numbers:
                term = terms[number]
                residuals = rows if full else rows - term.reduced @ (term.reduced.T @ rows)
                moved[number] = moved_parts(term.basis, residuals, term.exchange)
            start = 0
            for indices in terms[numbers[0]].exchange.chunks(permutations, seed):
                for number in numbers:
                    place = start
                    for found, total in moved[number].products(indices):
                        squares = np.einsum("kbp,kbp->kb", found, found)
                        chosen = slice(place, place + len(total))
                        sums[number, chosen] = squares[: terms[number].df].sum(axis=0)
                        rests[number, chosen] = total - squares.sum(axis=0)
                        place += len(total)
                start += len(indices)
    return SumsOfSquares(sums, np.maximum(rests, 0.0))
