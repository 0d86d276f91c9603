"""Principal modes of rows: the orthonormal directions that hold most of their energy.

Input: rows, real or complex, in coordinates whose product is the plain one. Output: modes of norm 1 and their energies.
Both principal component analyses of shapes use it in whitened coordinates.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import svd

from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_count
from shapelex.estimators.base import ShapeReconstructor
from shapelex.exceptions import ParameterError, ShapeInputError

# How far the norms of modes in a file may be from 1, in either precision.
_ROUNDING = 1e-3

Rows = TypeVar("Rows", bound=np.ndarray[Any, Any])


@dataclass(frozen=True)
class Modes:
    """Modes of a set of rows, by decreasing energy.

    `directions` holds the orthonormal modes ``w_j``, each fixed up to a phase or a sign, `energies` the sums
    ``λ_j = Σ_k |w_j* x_k|²``, and `remainder` the sum of the energies of all other modes.
    """

    directions: Any
    energies: FloatArray
    remainder: float

    @property
    def ratios(self) -> FloatArray:
        """Energy of each mode, as a fraction of the summed squares of the rows."""
        total = float(self.energies.sum(dtype=np.float64)) + self.remainder
        return np.asarray(self.energies / self.energies.dtype.type(total))


class ModesReconstructor(ShapeReconstructor):
    """An estimator whose codes are the weights of nested principal modes."""

    n_components: int | None
    n_components_: int
    components_: ComplexArray

    def _count_modes(self, n_components: int | None) -> int:
        """Return the number of modes to use; None means all that were fitted."""
        if n_components is None:
            return self.n_components_
        count = check_count(n_components, 1, "n_components")
        if count > self.n_components_:
            raise ParameterError(
                f"n_components must be between 1 and the {self.n_components_} that were fitted, got {count}."
            )
        return count

    def _check_loaded(self) -> None:
        if self.n_components not in (None, self.n_components_):
            raise ValueError("its modes do not fit its parameters")
        lengths = self.space_.norm(self.components_)
        if not (np.abs(lengths - 1) < _ROUNDING).all() or not np.isfinite(self.errors(self.components_)).all():
            raise ValueError("its modes are no directions of norm 1")

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def principal_modes(rows: Rows, n_components: int | None, most: int) -> Modes:
    """Return the modes of rows."""
    if n_components is not None:
        check_count(n_components, 1, "n_components")
    # The triangular factor has the same singular values and modes; the Gram matrix would lose half of the digits.
    triangle = np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows
    _, values, directions = svd(triangle, full_matrices=False, check_finite=False)
    energies: FloatArray = values**2
    # Rows of norm 1 have rounding errors of this size in every direction, also in those they do not span.
    rounding = rows.shape[1] * float(np.finfo(values.dtype).eps)
    rank = min(int(np.count_nonzero(values > rounding * np.sqrt(len(rows)))), most)
    if rank == 0:
        raise ShapeInputError("X holds copies of one shape only, so nothing varies: give different shapes.")
    kept = rank if n_components is None else n_components
    if kept > rank:
        raise ParameterError(
            f"n_components must be between 1 and {rank}, the dimensions that the shapes span, got {kept}."
        )
    return Modes(np.ascontiguousarray(directions[:kept]), energies[:kept], float(energies[kept:].sum(dtype=np.float64)))
