"""Codes as rows of complex weights in a common pose, with what is known of their shapes.

Input: codes of any kind, and the dictionary that they were coded over. Output: dense weights, and rotated weights that
do not depend on the pose in which a shape was given.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray
from shapelex._validation import as_numeric_array
from shapelex.coding import SparseCodes
from shapelex.exceptions import CodesError, ParameterTypeError
from shapelex.files.code_files import StoredCodes
from shapelex.geometry.alignment import phases
from shapelex.geometry.means import full_mean
from shapelex.spaces import Space
from shapelex.spaces.base import row_norms
from shapelex.statistics.data import Columns, as_columns, check_magnitude


@dataclass(frozen=True, eq=False)
class CodeInput(Columns):
    """Codes in memory, with the columns that are known of their shapes.

    Attributes
    ----------
    weights : ndarray of complex, shape (n_shapes, n_atoms)
        Weights as they were computed, 0 for atoms that a shape does not use.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates), or None
        The dictionary, where it is known.
    space : Space or None
        Space of the atoms.
    """

    weights: ComplexArray
    atoms: ComplexArray | None
    space: Space | None

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return int(self.weights.shape[1])

    def in_common_pose(self) -> ComplexArray:
        """Return the weights after each shape was rotated as near as possible to the mean shape.

        A rotation of a shape multiplies all its weights by the same phase. That phase is chosen such that the
        reconstruction of the shape, or the vector of its weights where the atoms are not known, is rotated onto the
        full mean of all reconstructions.
        """
        rows = self.weights
        if self.atoms is not None and self.space is not None:
            rows = self.weights @ self.space.whiten(self.atoms)
        norms = row_norms(rows)
        unit = rows / np.where(norms > 0, norms, 1)[:, None]
        mean, _ = full_mean([(unit, np.full(len(unit), 1 / len(unit)))])
        if self.atoms is None:
            # No direction is distinguished: the largest entry of the mean is made positive.
            mean = mean * np.conj(phases(mean[np.argmax(np.abs(mean))][None]))[0]
        return np.asarray(phases(unit.conj() @ mean)[:, None] * self.weights)


def read_code_input(codes: Any, model: Any = None, data: Any = None) -> CodeInput:
    """Return codes of any kind: sparse codes, what ``read_codes`` returned, or a dense matrix of weights.

    `model` is a fitted dictionary with ``atoms_`` and ``space_``, and `data` has further columns.
    """
    known = codes.columns if isinstance(codes, StoredCodes) else {}
    if isinstance(codes, StoredCodes):
        codes = codes.codes
    weights = codes.toarray() if isinstance(codes, SparseCodes) or hasattr(codes, "toarray") else codes
    dense = as_numeric_array(weights, "codes")
    if dense.ndim != 2 or not len(dense):
        raise CodesError(
            f"codes must be SparseCodes, such as model.encode(shapes), or a matrix (n_shapes, n_atoms), got shape "
            f"{dense.shape}."
        )
    if not np.isfinite(dense).all():
        raise CodesError("codes must be finite, but some weights are NaN or infinite.")
    check_magnitude(dense, "codes", CodesError)
    atoms, space = _atoms_of(model, dense.shape[1])
    import pandas as pd

    columns = pd.DataFrame({**known, **as_columns(data, len(dense))}, index=range(len(dense)))
    return CodeInput(columns, dense.astype(np.complex128), atoms, space, roles={} if known else None)


def _atoms_of(model: Any, n_atoms: int) -> tuple[ComplexArray | None, Space | None]:
    if model is None:
        return None, None
    if not (hasattr(model, "atoms_") and hasattr(model, "space_")):
        raise ParameterTypeError(
            f"{parameter('model')} must be a fitted dictionary, with atoms_ and space_, got {type(model).__name__}."
        )
    atoms = np.asarray(model.atoms_, dtype=np.complex128)
    if len(atoms) != n_atoms:
        raise CodesError(
            f"codes are over {n_atoms} atoms, but the model has {len(atoms)}: give the model of the codes."
        )
    return atoms, model.space_
