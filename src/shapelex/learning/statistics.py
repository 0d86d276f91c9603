"""Sufficient statistics: all that a dictionary update needs to know of codes and shapes.

In come blocks of rows with their codes; out go matrices of a size that does not depend on the number of shapes. They
add over samples, so one block, many blocks, mini-batches and many machines give the same update.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex.coding import SparseCodes
from shapelex.kernels.statistics import accumulate_batch
from shapelex.spaces.base import read_only


@dataclass(frozen=True)
class Statistics:
    """Sums over samples ``k`` of weight ``w_k``, slope ``s_k``, row ``x_k`` and code ``a_k``.

    Parameters
    ----------
    gram : ndarray of complex128, shape (n_atoms, n_atoms)
        ``S = Σ w_k s_k conj(a_k) a_kᵀ``, the Hermitian matrix ``(A A*)ᵀ`` of the paper.
    products : ndarray of complex128, shape (n_atoms, n_coordinates)
        ``T = Σ w_k s_k conj(a_k) x_kᵀ``, so that the update solves ``S D = T`` for the rows of ``D``.
    usage : ndarray of float64, shape (n_atoms,)
        Sum of the weights ``w_k`` of the samples that use each atom.
    weight : float
        ``Σ w_k``.
    """

    gram: ComplexArray
    products: ComplexArray
    usage: FloatArray
    weight: float

    @classmethod
    def zeros(cls, n_atoms: int, n_coordinates: int) -> "Statistics":
        """Return the statistics of no sample."""
        return cls(
            np.zeros((n_atoms, n_atoms), dtype=np.complex128),
            np.zeros((n_atoms, n_coordinates), dtype=np.complex128),
            np.zeros(n_atoms),
            0.0,
        )

    @classmethod
    def of(
        cls,
        rows: ComplexArray,
        codes: SparseCodes,
        weights: FloatArray | None = None,
        slopes: FloatArray | None = None,
        scales: FloatArray | None = None,
    ) -> "Statistics":
        """Return the statistics of the vectors `scales` times `rows`, in double precision; factors are 1 by default.

        The codes of vectors in any coordinates are the same, so `rows` may be configurations: `products` are then in
        the coordinates of these.
        """
        ones = np.ones(len(rows))
        plain = ones if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        found = cls.zeros(codes.n_atoms, rows.shape[1])
        accumulate_batch(
            codes.support,
            np.ascontiguousarray(codes.coefs).view(codes.coefs.real.dtype),
            # A view that is always read-only: the kernel would be compiled again for arrays of users that are.
            read_only(np.ascontiguousarray(rows).view(rows.real.dtype)),
            ones if scales is None else scales,
            plain if slopes is None else plain * slopes,
            found.gram.view(np.float64),
            found.products.view(np.float64),
            found.usage,
        )
        usage = found.usage if slopes is None else _sum_usage(codes, plain)
        return cls(found.gram, found.products, usage, float(plain.sum()))

    def __add__(self, other: "Statistics") -> "Statistics":
        """Return the statistics of the samples of both."""
        return Statistics(
            self.gram + other.gram,
            self.products + other.products,
            self.usage + other.usage,
            self.weight + other.weight,
        )

    def scaled(self, factor: float) -> "Statistics":
        """Return the statistics of the same samples with `factor` times their weights, to forget old batches."""
        return Statistics(factor * self.gram, factor * self.products, factor * self.usage, factor * self.weight)

    def without_atoms(self, is_left_out: BoolArray) -> "Statistics":
        """Return the statistics with all sums that involve some of the atoms set to zero."""
        kept = ~is_left_out
        gram = self.gram * kept[:, None] * kept
        return Statistics(gram, self.products * kept[:, None], self.usage * kept, self.weight)


def _sum_usage(codes: SparseCodes, weights: FloatArray) -> FloatArray:
    used = codes.support >= 0
    shares = np.broadcast_to(weights[:, None], used.shape)[used]
    usage: FloatArray = np.bincount(codes.support[used], shares, minlength=codes.n_atoms).astype(np.float64)
    return usage
