"""Coordinates in the feature space of a kernel, so that every coder works there too.

In come kernel values; out go rows whose plain products are these values. A sum of atoms never leaves the span of the
atoms' features, so one more coordinate, which no atom has, holds all the rest of a sample.
"""

import numpy as np
from scipy.linalg import eigh

from shapelex._typing import ComplexArray, FloatArray


def feature_rows(gram: FloatArray, cross: FloatArray) -> tuple[ComplexArray, ComplexArray]:
    """Rows that stand for the features of atoms and of samples, for a kernel with ``k(z, z) = 1``.

    Parameters
    ----------
    gram : ndarray of float, shape (n_atoms, n_atoms)
        ``k(d_i, d_j)``: symmetric, positive semi-definite.
    cross : ndarray of float, shape (n_samples, n_atoms)
        ``k(z_k, d_j)``.

    Returns
    -------
    atom_rows : ndarray of complex128, shape (n_atoms, rank + 1)
        Real numbers whose products are `gram`; the last column is zero.
    rows : ndarray of complex128, shape (n_samples, rank + 1)
        Real numbers, of norm 1, whose products with `atom_rows` are `cross`.

    Notes
    -----
    Directions whose eigenvalue is below ``n_atoms eps`` of the largest are rounding and are left out. The coders
    take real rows to real weights: products and triangular solves of real numbers stay real.

    Examples
    --------
    >>> import numpy as np
    >>> gram, cross = np.array([[1, 0.5], [0.5, 1]]), np.array([[0.6, 0.6]])
    >>> atom_rows, rows = feature_rows(gram, cross)
    >>> bool(np.allclose(rows @ atom_rows.T, cross))
    True
    """
    values, vectors = eigh(gram.astype(np.float64))
    kept = values > len(gram) * np.finfo(np.float64).eps * values[-1]
    scales, directions = np.sqrt(values[kept]), vectors[:, kept]
    inside = cross.astype(np.float64) @ (directions / scales)
    outside = np.sqrt(np.maximum(1 - np.einsum("kr,kr->k", inside, inside), 0))
    rows = np.column_stack([inside, outside])
    atom_rows = np.column_stack([directions * scales, np.zeros(len(gram))])
    return atom_rows.astype(np.complex128), rows.astype(np.complex128)
