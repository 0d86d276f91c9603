"""Principal modes of rows: the orthonormal directions that hold most of their energy.

In come rows, real or complex, in which the product is the plain one; out go modes of norm 1 and their energies. Both
principal component analyses of shapes are this, in whitened coordinates.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import svd

from shapelex._typing import FloatArray
from shapelex._validation import check_count
from shapelex.exceptions import ShapeInputError

Rows = TypeVar("Rows", bound=np.ndarray[Any, Any])


@dataclass(frozen=True)
class Modes:
    """Modes of a set of rows, by falling energy.

    Parameters
    ----------
    directions : ndarray, shape (n_components, n_columns)
        Orthonormal modes ``w_j``; each is fixed up to a phase, or a sign.
    energies : ndarray of float, shape (n_components,)
        ``λ_j = Σ_k |w_j* x_k|²``.
    remainder : float
        ``Σ_k |x_k|² − Σ_j λ_j``, summed from the modes left out: small ones are not lost in rounding.
    """

    directions: Any
    energies: FloatArray
    remainder: float


def principal_modes(rows: Rows, n_components: int | None, most: int) -> Modes:
    """Find the modes of rows.

    Parameters
    ----------
    rows : ndarray, shape (n_samples, n_columns)
        Real or complex rows of norm 1 or less, or differences of such rows.
    n_components : int or None
        How many modes; None for as many as the rows have dimensions.
    most : int
        Dimensions that rows of this kind can have.

    Returns
    -------
    Modes
        The modes, in the precision of `rows`.

    Raises
    ------
    ShapeInputError
        If all rows vanish.
    TypeError, ValueError
        If `n_components` is no number from 1 to the dimensions that the rows have.
    """
    if n_components is not None:
        check_count(n_components, 1, "n_components")
    # The triangle of a tall matrix has its singular values and modes; squares would cost half of the digits.
    triangle = np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows
    _, values, directions = svd(triangle, full_matrices=False, check_finite=False)
    energies: FloatArray = values**2
    # Rows of norm 1 carry rounding errors of this size in every direction, also where they have no part.
    rounding = rows.shape[1] * float(np.finfo(values.dtype).eps)
    rank = min(int(np.count_nonzero(values > rounding * np.sqrt(len(rows)))), most)
    if rank == 0:
        raise ShapeInputError("X holds one shape only, or copies of it, so nothing varies: give different shapes.")
    kept = rank if n_components is None else n_components
    if kept > rank:
        raise ValueError(f"n_components must be between 1 and {rank}, the dimensions that the shapes span, got {kept}.")
    return Modes(np.ascontiguousarray(directions[:kept]), energies[:kept], float(energies[kept:].sum(dtype=np.float64)))


def check_component_count(n_components: int | None, n_fitted: int) -> int:
    """Return how many of the first modes to use; None is all that were fitted."""
    if n_components is None:
        return n_fitted
    count = check_count(n_components, 1, "n_components")
    if count > n_fitted:
        raise ValueError(f"n_components must be between 1 and the {n_fitted} that were fitted, got {count}.")
    return count
