"""Landmarks: ordered points in the plane (paper, section 2.1)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_flag
from shapelex.spaces.base import Space, check_parameter_range, read_only, reverse_columns, roll_columns
from shapelex.spaces.bspline_basis import clamped_basis, periodic_basis


@dataclass(frozen=True)
class Landmarks(Space):
    """Ordered points, with the plain Hermitian product.

    Parameters
    ----------
    n_points : int
        Number of points ``N`` of a configuration.
    closed : bool, default False
        Whether the last point joins the first; a closed outline does not repeat its first point.

    Notes
    -----
    As a curve (:meth:`sample`, :meth:`fit`), landmarks stand for the polygon through them, its corners
    at equispaced parameters.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([0, 1, 1 + 1j, 1j])
    >>> space = Landmarks(4, closed=True)
    >>> complex(space.center(square))
    (0.5+0.5j)
    >>> space.sample(square, [0.125])
    array([0.5+0.j])
    """

    coordinates_per_point: ClassVar[int | None] = 1

    n_points: int
    closed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_points", check_count(self.n_points, 2, "n_points"))
        object.__setattr__(self, "closed", check_flag(self.closed, "closed"))

    @property
    def n_coordinates(self) -> int:
        """Dimension ``N`` of a configuration: the number of points."""
        return self.n_points

    @cached_property
    def gram(self) -> FloatArray:
        """Matrix ``Phi`` of the Hermitian product: the identity."""
        return read_only(np.eye(self.n_points))

    @cached_property
    def shift(self) -> FloatArray:
        """Configuration ``u`` that translations add: all ones."""
        return read_only(np.ones(self.n_points))

    def basis(self, t: ArrayLike) -> FloatArray:
        """Evaluate the hat functions of the polygon.

        Parameters
        ----------
        t : array_like of float, shape (n_parameters,)
            Curve parameters in [0, 1].

        Returns
        -------
        ndarray of float, shape (n_parameters, n_points)
            Values of the hat functions.
        """
        parameters = check_parameter_range(t, self.closed)
        evaluate = periodic_basis if self.closed else clamped_basis
        return evaluate(parameters, self.n_points, 1)

    def _roll(self, configurations: ComplexArray, shifts: IntArray) -> ComplexArray:
        return roll_columns(configurations, shifts)

    def _reverse(self, configurations: ComplexArray) -> ComplexArray:
        return reverse_columns(configurations, self.closed)

    # Whether outlines are closed changes neither the product nor the shift.
    def _has_product_of(self, other: Space) -> bool:
        return isinstance(other, Landmarks) and other.n_points == self.n_points

    # Phi is the identity and u is all ones, so no product with a matrix is needed.
    @cached_property
    def _shift_norm(self) -> float:
        return float(np.sqrt(self.n_points))

    def _centers(self, configurations: ComplexArray) -> ComplexArray:
        centers: ComplexArray = configurations.mean(axis=1)
        return centers

    def _remove_centers(self, configurations: ComplexArray, centers: ComplexArray) -> ComplexArray:
        moved = configurations - centers[:, None]
        moved -= self._centers(moved)[:, None]
        return moved

    def fold(self, rows: ComplexArray) -> ComplexArray:
        """Conjugate transpose, as the product is the plain one.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_rows, n_coordinates)
            Whitened rows.

        Returns
        -------
        ndarray of complex, shape (n_coordinates, n_rows)
            The matrix.
        """
        return np.ascontiguousarray(rows.conj().T)

    def _multiply_factor(self, configurations: ComplexArray) -> ComplexArray:
        return configurations

    def _solve_factor(self, rows: ComplexArray) -> ComplexArray:
        return rows.copy()
