"""B-spline curves (paper, section 2.2 and appendix, "B-spline curves")."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_count, check_flag
from shapelex.exceptions import SpaceError
from shapelex.spaces.base import Space, check_parameter_range, read_only, reverse_columns, roll_columns
from shapelex.spaces.bspline_basis import clamped_basis, periodic_basis, periodic_gram
from shapelex.spaces.quadrature import piecewise_gauss_legendre

# Beyond it double precision holds no basis; the exact Gram matrix would only take long.
_MOST_DEGREE = 50


@dataclass(frozen=True)
class BSpline(Space):
    """Curves given by the control points of uniform B-splines.

    Parameters
    ----------
    n_points : int
        Number of control points ``M``, which is the number of coordinates.
    degree : int, default 3
        Degree of the polynomial pieces, from 1 to 50.
    closed : bool, default True
        A closed curve is ``r(t) = Σ z[n] Σ_k beta(M t − n − k M)`` with the centered B-spline ``beta``: near its
        control point ``n`` at ``t = n / M``. An open curve has equispaced knots that repeat at the ends, so it
        starts at the first control point and ends at the last.

    Notes
    -----
    Phi is exact: in closed form for closed curves, a circulant whose cubic entries are ``151/315, 397/1680,
    1/42, 1/5040`` over M; by Gauss-Legendre quadrature on each knot span for open ones.

    Examples
    --------
    >>> space = BSpline(40)
    >>> bool(space.gram[0, 0] == 151 / 315 / 40)
    True
    >>> round(float(space.norm(space.shift + 0j)), 12)
    1.0
    """

    coordinates_per_point: ClassVar[int | None] = 1

    n_points: int
    degree: int = 3
    closed: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_count(self.degree, 1, "degree"))
        if self.degree > _MOST_DEGREE:
            raise SpaceError(f"{parameter('degree')} must be at most {_MOST_DEGREE}, got {self.degree}.")
        object.__setattr__(self, "n_points", check_count(self.n_points, 2, "n_points"))
        object.__setattr__(self, "closed", check_flag(self.closed, "closed"))
        if self.closed:
            check_count(self.n_points, 3, f"{parameter('n_points')} of a closed B-spline")
        elif self.n_points <= self.degree:
            raise SpaceError(
                f"{parameter('n_points')} of an open B-spline of degree {self.degree} must be at least "
                f"{self.degree + 1}, got {self.n_points}."
            )

    @property
    def n_coordinates(self) -> int:
        """Dimension ``N`` of a configuration: the number of control points."""
        return self.n_points

    @cached_property
    def gram(self) -> FloatArray:
        """Matrix ``Phi`` of the Hermitian product: the Gram matrix of the basis functions."""
        gram = periodic_gram(self.n_points, self.degree) if self.closed else self._clamped_gram()
        return read_only(gram)

    @cached_property
    def shift(self) -> FloatArray:
        """Configuration ``u`` that translations add: all ones, since B-splines sum to one."""
        return read_only(np.ones(self.n_points))

    def basis(self, t: ArrayLike) -> FloatArray:
        """Evaluate the basis functions.

        Parameters
        ----------
        t : array_like of float, shape (n_parameters,)
            Curve parameters in [0, 1]; any real number on a closed curve.

        Returns
        -------
        ndarray of float, shape (n_parameters, n_points)
            Values ``phi_n(t_p)``.
        """
        parameters = check_parameter_range(t, self.closed)
        evaluate = periodic_basis if self.closed else clamped_basis
        return evaluate(parameters, self.n_points, self.degree)

    def _clamped_gram(self) -> FloatArray:
        breakpoints = np.linspace(0.0, 1.0, self.n_points - self.degree + 1)
        nodes, weights = piecewise_gauss_legendre(breakpoints, self.degree + 1)
        values = clamped_basis(nodes, self.n_points, self.degree)
        gram = values.T @ (weights[:, None] * values)
        return (gram + gram.T) / 2

    def _roll(self, configurations: ComplexArray, shifts: IntArray) -> ComplexArray:
        return roll_columns(configurations, shifts)

    def _reverse(self, configurations: ComplexArray) -> ComplexArray:
        return reverse_columns(configurations, self.closed)
