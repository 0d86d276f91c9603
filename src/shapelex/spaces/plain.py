"""Rows with the plain product and without translations: whitened rows, and features of kernels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.spaces.base import Space, read_only


@dataclass(frozen=True)
class PlainRows(Space):
    """The space of rows that are whitened already: ``Phi`` is the identity and ``u`` is zero."""

    n_columns: int
    closed = False

    @property
    def n_coordinates(self) -> int:
        """Number of columns."""
        return self.n_columns

    @cached_property
    def gram(self) -> FloatArray:
        """The identity."""
        return read_only(np.eye(self.n_columns))

    @cached_property
    def shift(self) -> FloatArray:
        """Zero: nothing is centered."""
        return read_only(np.zeros(self.n_columns))

    def basis(self, t: ArrayLike) -> FloatArray:  # noqa: ARG002
        """Refuse: plain rows are no curves."""
        raise UnsupportedBySpaceError("PlainRows are no curves.")

    def fold(self, rows: ComplexArray) -> ComplexArray:
        """Return the conjugate transpose."""
        return np.ascontiguousarray(rows.conj().T)

    @cached_property
    def _unit_shift(self) -> FloatArray:
        return read_only(np.zeros(2 * self.n_columns))

    @cached_property
    def _shift_norm(self) -> float:
        return 0.0

    def _centers(self, configurations: ComplexArray) -> ComplexArray:
        return np.zeros(len(configurations), dtype=configurations.dtype)

    def _remove_centers(self, configurations: ComplexArray, centers: ComplexArray) -> ComplexArray:  # noqa: ARG002
        return configurations.copy()

    def _multiply_factor(self, configurations: ComplexArray) -> ComplexArray:
        return configurations

    def _solve_factor(self, rows: ComplexArray) -> ComplexArray:
        return rows.copy()
