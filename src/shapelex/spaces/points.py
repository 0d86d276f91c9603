"""Define spaces of points, and convert layouts of real coordinates (sections 2.1 and 2.2 of the paper)."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb, factorial
from typing import Any, ClassVar

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ColumnLayout, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_choice, check_count, check_flag, points_to_complex
from shapelex.exceptions import ArrayTypeError, NonFiniteError, RealLayoutError, ShapeInputError, SpaceError
from shapelex.spaces.base import Space, read_only

# Beyond it double precision holds no basis; the exact Gram matrix would only take long.
_MAX_DEGREE = 50

# 420 times the integrals over one knot interval of the four cubics that carry, in this order,
# position and tangent at its start and position and tangent at its end.
_INTERVAL_GRAM = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]])
_LAYOUTS = ("blocks", "interleaved")


class PointSpace(Space):
    """A space whose configurations hold the same number of coordinates for each of ``n_points`` points."""

    n_points: int
    degree: int
    coordinates_per_point: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_points", check_count(self.n_points, 2, "n_points"))
        object.__setattr__(self, "closed", check_flag(self.closed, "closed"))

    @property
    def n_coordinates(self) -> int:
        """Dimension ``N`` of a configuration: the number of points times that of the coordinates of each."""
        return self.n_points * self.coordinates_per_point

    @cached_property
    def shift(self) -> FloatArray:
        """Configuration ``u`` that translations add: ones for positions, zeros for tangents."""
        shift = np.zeros(self.n_coordinates)
        shift[: self.n_points] = 1
        return read_only(shift)

    def basis(self, t: ArrayLike) -> FloatArray:
        """Evaluate the basis functions: uniform B-splines, which are hat functions where the degree is 1.

        Those of a closed curve are centered and periodic, ``phi_n(t) = Σ_k beta(M t − n − k M)``. Those of an open one
        have knots that repeat at the ends, so that it starts and ends at points.

        Parameters
        ----------
        t : array_like of float, shape (n_parameters,)
            Curve parameters in [0, 1]; any real number on a closed curve.

        Returns
        -------
        ndarray of float, shape (n_parameters, n_points)
            Values ``phi_n(t_p)``.
        """
        # scipy.interpolate takes longer to import than all the rest together.
        from scipy.interpolate import BSpline as PiecewisePolynomial

        degree, parameters, numbers = self.degree, check_parameter_range(t, self.closed), np.arange(self.n_points)
        if self.closed:
            # Functions one support beyond both ends reach into [0, M]; they count as those of their numbers modulo M.
            margin = degree // 2 + 1
            numbers = np.arange(-margin, self.n_points + margin + 1) % self.n_points
            knots = np.arange(len(numbers) + degree + 1) - (margin + (degree + 1) / 2)
            parameters = parameters * self.n_points
        else:
            inner = np.linspace(0.0, 1.0, self.n_points - degree + 1)
            knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
        return np.asarray(PiecewisePolynomial(knots, np.eye(self.n_points)[numbers], degree)(parameters))

    def roll_rows(self, configurations: ComplexArray, s: ArrayLike) -> ComplexArray:
        """Start stacked configurations at their point `s`, one for all or one per shape."""
        shifts = as_numeric_array(s, "s")
        if not np.issubdtype(shifts.dtype, np.integer) or shifts.shape not in ((), (len(configurations),)):
            raise ShapeInputError(
                f"s must be an integer, or one integer for each of the {len(configurations)} shapes, got shape "
                f"{shifts.shape}, dtype {shifts.dtype}."
            )
        by_point = configurations.reshape(len(configurations), -1, self.n_points)
        order = (np.arange(self.n_points) + np.atleast_1d(shifts.astype(np.int64))[:, None]) % self.n_points
        return np.take_along_axis(by_point, order[:, None], axis=2).reshape(configurations.shape)

    def reverse_rows(self, configurations: ComplexArray) -> ComplexArray:
        """Reverse the order of the points of stacked configurations."""
        by_point = configurations.reshape(len(configurations), -1, self.n_points)
        last = self.n_points if self.closed else self.n_points - 1
        order = (last - np.arange(self.n_points)) % self.n_points
        return np.take(by_point, order, axis=2).reshape(configurations.shape)


@dataclass(frozen=True)
class Landmarks(PointSpace):
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

    n_points: int
    closed: bool = False
    degree = 1
    _is_plain: ClassVar[bool] = True

    @cached_property
    def gram(self) -> FloatArray:
        """Matrix ``Phi`` of the Hermitian product: the identity."""
        return read_only(np.eye(self.n_points))

    # Whether outlines are closed changes neither the product nor the shift.
    def _has_product_of(self, other: Space) -> bool:
        return isinstance(other, Landmarks) and other.n_points == self.n_points

    def _centers(self, configurations: ComplexArray) -> ComplexArray:
        return np.asarray(configurations.mean(axis=1))

    def _remove_centers(self, configurations: ComplexArray, centers: ComplexArray) -> ComplexArray:
        moved = configurations - centers[:, None]
        moved -= moved.mean(axis=1)[:, None]
        return moved


@dataclass(frozen=True)
class BSpline(PointSpace):
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

    n_points: int
    degree: int = 3
    closed: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "degree", check_count(self.degree, 1, "degree"))
        if self.degree > _MAX_DEGREE:
            raise SpaceError(f"{parameter('degree')} must be at most {_MAX_DEGREE}, got {self.degree}.")
        if self.closed:
            check_count(self.n_points, 3, f"{parameter('n_points')} of a closed B-spline")
        elif self.n_points <= self.degree:
            raise SpaceError(
                f"{parameter('n_points')} of an open B-spline of degree {self.degree} must be at least "
                f"{self.degree + 1}, got {self.n_points}."
            )

    @cached_property
    def gram(self) -> FloatArray:
        """Matrix ``Phi`` of the Hermitian product: the Gram matrix of the basis functions."""
        if self.closed:
            return read_only(_periodic_gram(self.n_points, self.degree))
        breakpoints = np.linspace(0.0, 1.0, self.n_points - self.degree + 1)
        nodes, weights = piecewise_gauss_legendre(breakpoints, self.degree + 1)
        values = self.basis(nodes)
        gram = values.T @ (weights[:, None] * values)
        return read_only((gram + gram.T) / 2)


@dataclass(frozen=True)
class HermiteSpline(PointSpace):
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

    coordinates_per_point: ClassVar[int] = 2

    n_points: int
    closed: bool = False

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
        return read_only(integrals / (420 * self.n_intervals))

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
        # scipy.interpolate takes longer to import than all the rest together.
        from scipy.interpolate import CubicHermiteSpline

        knots = np.arange(self.n_intervals + 1)
        functions = np.eye(self.n_coordinates)
        positions, tangents = (functions[start + knots % self.n_points] for start in (0, self.n_points))
        parameters = check_parameter_range(t, self.closed) * self.n_intervals
        return np.asarray(CubicHermiteSpline(knots, positions, tangents)(parameters))

    def reverse_rows(self, configurations: ComplexArray) -> ComplexArray:
        """Reverse stacked configurations, and with them the signs of their tangents."""
        turned = super().reverse_rows(configurations)
        turned[:, self.n_points :] *= -1
        return turned


def check_parameter_range(t: ArrayLike, closed: bool) -> FloatArray:
    """Return curve parameters in [0, 1]; those of closed curves are taken modulo 1."""
    parameters = np.atleast_1d(as_numeric_array(t, "t"))
    if np.iscomplexobj(parameters) or parameters.ndim != 1:
        raise ShapeInputError(f"t must be a list of real parameters, got {parameters.dtype} {parameters.shape}.")
    is_finite = np.isfinite(parameters)
    if not is_finite.all():
        raise NonFiniteError(f"t must be finite, but parameter {np.argmin(is_finite)} is not.")
    values: FloatArray = parameters.astype(np.float64)
    if closed:
        return values % 1.0
    if values.size and (values.min() < 0 or values.max() > 1):
        raise ShapeInputError(f"t must lie between 0 and 1 on an open curve, got {values.min():g} to {values.max():g}.")
    return values


def _periodic_gram(n_functions: int, degree: int) -> FloatArray:
    """Return the exact Gram matrix of closed B-splines, a circulant.

    ``<phi_n, phi_m> = Σ_k beta_{2d+1}(n − m + k M) / M``, because two B-splines of degree d convolve to one of degree
    2d + 1, here at integers. Integers hold every term, so the entries are rounded once.
    """
    from scipy.linalg import circulant

    order = 2 * degree + 1
    column = [Fraction(0)] * n_functions
    for place in range(1, order + 1):
        terms = ((-1) ** j * comb(order + 1, j) * (place - j) ** order for j in range(place + 1))
        column[(place - degree - 1) % n_functions] += Fraction(sum(terms), factorial(order))
    return np.asarray(circulant([float(value / n_functions) for value in column]))


def piecewise_gauss_legendre(breakpoints: FloatArray, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights that integrate piecewise polynomials of degree below ``2 n_nodes`` exactly."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    starts, lengths = breakpoints[:-1, None], np.diff(breakpoints)[:, None]
    points: FloatArray = (starts + lengths * (nodes + 1) / 2).ravel()
    return points, (lengths * weights / 2).ravel()


def from_points(points: ArrayLike) -> ComplexArray:
    """Return the configurations ``x + iy`` of real points.

    Parameters
    ----------
    points : array_like of float, shape (..., n_points, 2)
        Points with x and y on the last axis; float32 gives complex64.

    Returns
    -------
    ndarray of complex, shape (..., n_points)
        The configurations.

    Raises
    ------
    RealLayoutError
        If the last axis does not hold x and y.

    Examples
    --------
    >>> from_points([[0, 0], [1, 0], [0, 2]])
    array([0.+0.j, 1.+0.j, 0.+2.j])
    """
    array = _as_real(points, "points")
    if array.ndim < 2 or array.shape[-1] != 2:
        raise RealLayoutError(f"points must have shape (..., n_points, 2), got {array.shape}.")
    return points_to_complex(array)


def to_points(Z: ArrayLike) -> FloatArray:
    """Return the real points of configurations, with x and y on a new last axis.

    Parameters
    ----------
    Z : array_like of complex, shape (..., n_coordinates)
        Configurations.

    Returns
    -------
    ndarray of float, shape (..., n_coordinates, 2)
        Their coordinates; complex64 gives float32.

    Examples
    --------
    >>> to_points([1 + 2j, 3 - 1j])
    array([[ 1.,  2.],
           [ 3., -1.]])
    """
    array = as_numeric_array(Z, "Z")
    if not np.iscomplexobj(array):
        raise ArrayTypeError(f"Z must be complex configurations, got dtype {array.dtype}.")
    if array.ndim < 1:
        raise ArrayTypeError("Z must have at least one axis, got a single number.")
    return np.stack([array.real, array.imag], axis=-1)


def from_columns(X: ArrayLike, layout: ColumnLayout) -> ComplexArray:
    """Return the configurations held by a table with one row per shape.

    Parameters
    ----------
    X : array_like of float, shape (..., 2 * n_points)
        The table. float32 gives complex64.
    layout : {"blocks", "interleaved"}
        ``"blocks"`` for columns ``x1 .. xN y1 .. yN``, ``"interleaved"`` for ``x1 y1 .. xN yN``. There is
        no default: a table read in the wrong layout gives wrong shapes and no error.

    Returns
    -------
    ndarray of complex, shape (..., n_points)
        The configurations.

    Raises
    ------
    RealLayoutError
        If the number of columns is odd.

    Examples
    --------
    >>> from_columns([[0, 1, 5, 6]], layout="blocks")
    array([[0.+5.j, 1.+6.j]])
    >>> from_columns([[0, 1, 5, 6]], layout="interleaved")
    array([[0.+1.j, 5.+6.j]])
    """
    check_choice(layout, _LAYOUTS, "layout")
    array = _as_real(X, "X")
    if array.ndim < 1 or array.shape[-1] % 2:
        raise RealLayoutError(f"X must have an even number of columns, x and y of each point, got shape {array.shape}.")
    is_blocks, n_points = layout == "blocks", array.shape[-1] // 2
    split = array.reshape(*array.shape[:-1], *((2, n_points) if is_blocks else (n_points, 2)))
    return points_to_complex(split.swapaxes(-1, -2) if is_blocks else split)


def to_columns(Z: ArrayLike, layout: ColumnLayout) -> FloatArray:
    """Return configurations as a real table with one row per shape.

    Parameters
    ----------
    Z : array_like of complex, shape (..., n_coordinates)
        Configurations.
    layout : {"blocks", "interleaved"}
        The order of columns, as in :func:`from_columns`.

    Returns
    -------
    ndarray of float, shape (..., 2 * n_coordinates)
        The table; complex64 gives float32.

    Examples
    --------
    >>> to_columns([1 + 2j, 3 - 1j], layout="blocks")
    array([ 1.,  3.,  2., -1.])
    """
    check_choice(layout, _LAYOUTS, "layout")
    points = to_points(Z)
    ordered = points.swapaxes(-1, -2) if layout == "blocks" else points
    return ordered.reshape(*points.shape[:-2], 2 * points.shape[-2])


def _as_real(array: ArrayLike, name: str) -> np.ndarray[Any, Any]:
    converted = as_numeric_array(array, name)
    if np.iscomplexobj(converted):
        raise ArrayTypeError(f"{name} must be real, got dtype {converted.dtype}: it holds configurations already.")
    return converted
