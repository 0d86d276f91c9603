"""Cubic Hermite spline curves (paper, section 2.2; Uhlmann et al. 2016)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_flag
from shapelex.spaces.base import Space, check_parameter_range, read_only, reverse_columns, roll_columns

# 420 times the integrals over one knot interval of the four cubics that carry, in this order,
# position and tangent at its start and position and tangent at its end.
_INTERVAL_GRAM = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]])


@dataclass(frozen=True)
class HermiteSpline(Space):
    """Curves given by positions and tangents at equispaced knots.

    Parameters
    ----------
    n_points : int
        Number of knots ``M``; a configuration holds M positions, then M tangents.
    closed : bool, default False
        Whether the last knot joins the first.

    Notes
    -----
    ``r(t) = Σ_k c_k f1(m t − k) + d_k f2(m t − k)`` with ``m = M`` for closed curves and ``M − 1`` for open ones, so a
    tangent is a derivative per knot interval. Phi is exact, put together from the integrals of one interval.

    Examples
    --------
    >>> import numpy as np
    >>> space = HermiteSpline(3)
    >>> line = np.array([0, 1, 2, 1, 1, 1], dtype=complex)
    >>> space.sample(line, [0.25])
    array([0.5+0.j])
    >>> round(float(space.center(line).real), 12)
    1.0
    """

    coordinates_per_point: ClassVar[int | None] = 2

    n_points: int
    closed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_points", check_count(self.n_points, 2, "n_points"))
        object.__setattr__(self, "closed", check_flag(self.closed, "closed"))

    @property
    def n_coordinates(self) -> int:
        """Dimension ``N`` of a configuration: twice the number of knots."""
        return 2 * self.n_points

    @property
    def n_intervals(self) -> int:
        """Number ``m`` of knot intervals."""
        return self.n_points if self.closed else self.n_points - 1

    @cached_property
    def gram(self) -> FloatArray:
        """Matrix ``Phi`` of the Hermitian product: the Gram matrix of the basis functions."""
        integrals = np.zeros((self.n_coordinates, self.n_coordinates), dtype=np.int64)
        for start in range(self.n_intervals):
            end = (start + 1) % self.n_points
            indices = np.array([start, self.n_points + start, end, self.n_points + end])
            np.add.at(integrals, (indices[:, None], indices), _INTERVAL_GRAM)
        gram: FloatArray = integrals / (420 * self.n_intervals)
        return read_only(gram)

    @cached_property
    def shift(self) -> FloatArray:
        """Configuration ``u`` that translations add: ones for positions, zeros for tangents."""
        return read_only(np.repeat([1.0, 0.0], self.n_points))

    def basis(self, t: ArrayLike) -> FloatArray:
        """Evaluate the basis functions.

        Parameters
        ----------
        t : array_like of float, shape (n_parameters,)
            Curve parameters in [0, 1]; any real number on a closed curve.

        Returns
        -------
        ndarray of float, shape (n_parameters, 2 * n_points)
            Values of the position functions, then of the tangent functions.
        """
        scaled = check_parameter_range(t, self.closed) * self.n_intervals
        start = np.minimum(scaled.astype(np.int64), self.n_intervals - 1)
        end = (start + 1) % self.n_points
        x = scaled - start
        values = np.zeros((len(x), self.n_coordinates))
        parameter = np.arange(len(x))
        np.add.at(values, (parameter, start), (1 + 2 * x) * (1 - x) ** 2)
        np.add.at(values, (parameter, end), x**2 * (3 - 2 * x))
        np.add.at(values, (parameter, self.n_points + start), x * (1 - x) ** 2)
        np.add.at(values, (parameter, self.n_points + end), x**2 * (x - 1))
        return values

    def _roll(self, configurations: ComplexArray, shifts: IntArray) -> ComplexArray:
        positions, tangents = np.split(configurations, 2, axis=1)
        return np.concatenate([roll_columns(positions, shifts), roll_columns(tangents, shifts)], axis=1)

    def _reverse(self, configurations: ComplexArray) -> ComplexArray:
        positions, tangents = np.split(configurations, 2, axis=1)
        return np.concatenate(
            [reverse_columns(positions, self.closed), -reverse_columns(tangents, self.closed)], axis=1
        )
