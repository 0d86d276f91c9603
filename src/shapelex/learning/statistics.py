"""Sufficient statistics: all that a dictionary update needs to know of codes and shapes.

In come blocks of rows with their codes; out go matrices of a size that does not depend on the number of shapes. They
add over samples, so one block, many blocks, mini-batches and many machines give the same update.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding import SparseCodes
from shapelex.kernels.statistics import accumulate_batch


@dataclass(frozen=True)
class Statistics:
    """Sums over samples ``k`` of weight ``w_k``, row ``x_k`` and code ``a_k``.

    Parameters
    ----------
    gram : ndarray of complex128, shape (n_atoms, n_atoms)
        ``S = Σ w_k conj(a_k) a_kᵀ``, the Hermitian matrix ``(A A*)ᵀ`` of the paper.
    products : ndarray of complex128, shape (n_atoms, n_coordinates)
        ``T = Σ w_k conj(a_k) x_kᵀ``, so that the update solves ``S D = T`` for the rows of ``D``.
    usage : ndarray of float64, shape (n_atoms,)
        Weight of the samples that use each atom.
    weight : float
        ``Σ w_k``.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import SparseCodes
    >>> codes = SparseCodes([[1], [1]], [[2], [1j]], n_atoms=2)
    >>> statistics = Statistics.of(np.eye(2, dtype=complex), codes)
    >>> statistics.gram[1, 1], statistics.usage
    (np.complex128(5+0j), array([0., 2.]))
    """

    gram: ComplexArray
    products: ComplexArray
    usage: FloatArray
    weight: float

    @classmethod
    def zeros(cls, n_atoms: int, n_coordinates: int) -> "Statistics":
        """Statistics of no sample.

        Parameters
        ----------
        n_atoms, n_coordinates : int
            Size of the dictionary.

        Returns
        -------
        Statistics
            All zero.
        """
        return cls(
            np.zeros((n_atoms, n_atoms), dtype=np.complex128),
            np.zeros((n_atoms, n_coordinates), dtype=np.complex128),
            np.zeros(n_atoms),
            0.0,
        )

    @classmethod
    def of(cls, rows: ComplexArray, codes: SparseCodes, weights: FloatArray | None = None) -> "Statistics":
        """Statistics of a block of samples.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_samples, n_coordinates)
            Whitened rows.
        codes : SparseCodes
            Their codes.
        weights : ndarray of float, shape (n_samples,), optional
            Their weights. Default: 1 each.

        Returns
        -------
        Statistics
            The sums, in double precision for single precision input too.
        """
        n_samples, n_coordinates = rows.shape
        checked = np.ones(n_samples) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        gram = np.zeros((codes.n_atoms, codes.n_atoms), dtype=np.complex128)
        products = np.zeros((codes.n_atoms, n_coordinates), dtype=np.complex128)
        usage = np.zeros(codes.n_atoms)
        accumulate_batch(
            codes.support,
            np.ascontiguousarray(codes.coefs).view(codes.coefs.real.dtype),
            np.ascontiguousarray(rows).view(rows.real.dtype),
            checked,
            gram.view(np.float64),
            products.view(np.float64),
            usage,
        )
        return cls(gram, products, usage, float(checked.sum()))

    def __add__(self, other: "Statistics") -> "Statistics":
        """Statistics of the samples of both."""
        return Statistics(
            self.gram + other.gram,
            self.products + other.products,
            self.usage + other.usage,
            self.weight + other.weight,
        )

    def scaled(self, factor: float) -> "Statistics":
        """Statistics of the same samples, each of `factor` times its weight: how old batches are forgotten.

        Parameters
        ----------
        factor : float
            Not negative.

        Returns
        -------
        Statistics
            The scaled sums.
        """
        return Statistics(factor * self.gram, factor * self.products, factor * self.usage, factor * self.weight)
