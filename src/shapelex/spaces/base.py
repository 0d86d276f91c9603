"""What every space of configurations can do.

A space is ``(C^N, Phi, u)``: the Hermitian product ``z* Phi w`` and the shift ``u`` along which
translations move a configuration (paper, section 2). Methods take and return configurations; only :meth:`Space.whiten`
and its relatives convert them to whitened rows, in which the product is the plain one, and :meth:`Space.unwhiten` back.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import (
    as_configurations,
    as_numeric_array,
    check_count,
    check_not_collapsed,
    check_same_count,
)
from shapelex.exceptions import NonFiniteError, ParameterTypeError, ShapeInputError, SpaceError, UnsupportedBySpaceError
from shapelex.spaces.fitting import arc_length_parameters, check_parameters, check_point_count, fit_least_squares
from shapelex.spaces.rows import row_inner, row_norms

AnyArray = TypeVar("AnyArray", bound=np.ndarray[Any, Any])

# By precision: the smallest share of a squared norm that centering may leave before digits are lost, and the range of
# squared norms that neither over- nor underflow.
_NORM_LIMITS = {"f": np.array([1e-2, 1e-60, 1e60]), "d": np.array([1e-4, 1e-280, 1e280])}


class Space(ABC):
    """A space of planar configurations with its Hermitian product and its shift.

    Spaces are immutable values: equal arguments make equal spaces.

    Attributes
    ----------
    closed : bool
        Whether the last point joins the first.
    coordinates_per_point : int or None
        How many coordinates each point has; a configuration holds the first ones of all points, then the second ones.
        None where coordinates belong to no points.
    """

    closed: bool
    coordinates_per_point: ClassVar[int | None] = None

    @property
    @abstractmethod
    def n_coordinates(self) -> int:
        """Dimension ``N`` of a configuration."""

    @property
    @abstractmethod
    def gram(self) -> ComplexArray | FloatArray:
        """Matrix ``Phi`` of the Hermitian product, shape (N, N), read-only."""

    @property
    @abstractmethod
    def shift(self) -> ComplexArray | FloatArray:
        """Configuration ``u`` that translations add, shape (N,), read-only."""

    @abstractmethod
    def basis(self, t: ArrayLike) -> ComplexArray | FloatArray:
        """Evaluate the basis functions.

        Parameters
        ----------
        t : array_like of float, shape (n_parameters,)
            Curve parameters in [0, 1].

        Returns
        -------
        ndarray, shape (n_parameters, n_coordinates)
            Values ``phi_n(t_p)``.
        """

    def inner(self, Z: ArrayLike, W: ArrayLike) -> Any:
        """Hermitian products ``z* Phi w``, row by row.

        Parameters
        ----------
        Z, W : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations; a single one goes with every row of the other.

        Returns
        -------
        complex or ndarray of complex, shape (n_shapes,)
            The products.
        """
        first, first_is_single = self._check(Z, "Z")
        second, second_is_single = self._check(W, "W")
        check_same_count(len(first), len(second), "Z", "W")
        products = row_inner(self._multiply_factor(first), self._multiply_factor(second))
        return products[0] if first_is_single and second_is_single else products

    def norm(self, Z: ArrayLike) -> Any:
        """Norms ``|z|_Phi``.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.

        Returns
        -------
        float or ndarray of float, shape (n_shapes,)
            The norms.
        """
        configurations, is_single = self._check(Z)
        norms = row_norms(self._multiply_factor(configurations))
        return norms[0] if is_single else norms

    def center(self, Z: ArrayLike) -> Any:
        """Centers ``b = u* Phi z / |u|²``: the mean point of landmarks, the mean of a curve over time.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.

        Returns
        -------
        complex or ndarray of complex, shape (n_shapes,)
            The centers.
        """
        configurations, is_single = self._check(Z)
        centers = self._centers(configurations)
        return centers[0] if is_single else centers

    def centered(self, Z: ArrayLike) -> ComplexArray:
        """Configurations moved so that their center is 0.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.

        Returns
        -------
        ndarray of complex, same shape
            ``z − b u``.
        """
        configurations, is_single = self._check(Z)
        moved = self._remove_centers(configurations, self._centers(configurations))
        return moved[0] if is_single else moved

    def preshape(self, Z: ArrayLike) -> ComplexArray:
        """Pre-shapes: centered configurations of norm 1.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.

        Returns
        -------
        ndarray of complex, same shape
            The pre-shapes.

        Raises
        ------
        CollapsedShapeError
            If all points of a shape coincide.
        """
        configurations, is_single = self._check(Z)
        centers = self._centers(configurations)
        moved = self._remove_centers(configurations, centers)
        sizes = row_norms(self._multiply_factor(moved))
        self._check_sizes(sizes, centers)
        moved /= sizes[:, None]
        return moved[0] if is_single else moved

    def whiten(self, Z: ArrayLike) -> ComplexArray:
        """Centered rows ``x = R (z − b u)``, with ``Phi = R* R``, in which the product is the plain one.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.

        Returns
        -------
        ndarray of complex, same shape
            Whitened rows: ``x* y = (z − b u)* Phi (w − c u)``.
        """
        configurations, is_single = self._check(Z)
        rows = self.whiten_rows(configurations)
        return rows[0] if is_single else rows

    def whiten_rows(self, configurations: ComplexArray) -> ComplexArray:
        """Centered rows in which the product is the plain one, of configurations that are known to be finite.

        Parameters
        ----------
        configurations : ndarray of complex, shape (n_shapes, n_coordinates)
            Configurations; there may be none.

        Returns
        -------
        ndarray of complex, same shape
            Whitened rows; see :meth:`whiten`.
        """
        return self._multiply_factor(self._remove_centers(configurations, self._centers(configurations)))

    def whitened_preshapes(self, Z: ArrayLike, name: str = "Z", first_row: int = 0) -> ComplexArray:
        """Pre-shapes as whitened rows, always stacked: the start of all that compares shapes.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.
        name : str
            What to call `Z` in errors.
        first_row : int, default 0
            Number of the first row in errors, where `Z` is a block of a larger set.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            ``whiten(preshape(Z))``; a single configuration gives one row.

        Raises
        ------
        CollapsedShapeError
            If all points of a shape coincide.
        """
        return self.unit_rows(self._check(Z, name, first_row)[0], name, first_row)

    def unit_rows(self, configurations: ComplexArray, name: str = "Z", first_row: int = 0) -> ComplexArray:
        """Pre-shapes as whitened rows, of configurations that are known to be finite; see :meth:`whitened_preshapes`.

        Parameters
        ----------
        configurations : ndarray of complex, shape (n_shapes, n_coordinates)
            Configurations.
        name : str
            What to call them in errors.
        first_row : int, default 0
            Number of the first row in errors.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            Whitened rows of norm 1.
        """
        centers = self._centers(configurations)
        rows = self._multiply_factor(self._remove_centers(configurations, centers))
        sizes = row_norms(rows)
        self._check_sizes(sizes, centers, name, first_row)
        rows /= sizes[:, None]
        return rows

    def unwhiten(self, X: ArrayLike) -> ComplexArray:
        """Configurations ``R⁻¹ x`` of whitened rows.

        Parameters
        ----------
        X : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Whitened rows.

        Returns
        -------
        ndarray of complex, same shape
            Centered configurations, when the rows come from :meth:`whiten`.
        """
        rows, is_single = self._check(X, "X")
        configurations = self._solve_factor(rows)
        return configurations[0] if is_single else configurations

    def unit_scales(self, configurations: ComplexArray) -> FloatArray:
        """Factors ``1 / |z − b u|`` that scale configurations ``z`` to pre-shapes, without centering them.

        Parameters
        ----------
        configurations : ndarray of complex, shape (n_shapes, n_coordinates)
            Configurations; not checked.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            The factors; 0 where the norm would have too few correct digits (shapes that lie far from the origin,
            measured in their own size), is too large or small for plain arithmetic, or is not finite.
        """
        # Compiled kernels take a second to load, and geometry does without.
        from shapelex.kernels.normalization import unit_scales_batch

        scales: FloatArray = np.empty(len(configurations))
        with np.errstate(invalid="ignore", over="ignore"):
            rows = np.ascontiguousarray(self._multiply_factor(configurations))
        real_dtype = rows.real.dtype
        # A view that is always read-only: the kernel would be compiled again for arrays of users that are.
        reals = read_only(rows.view(real_dtype))
        unit_scales_batch(reals, self._unit_shift, _NORM_LIMITS[real_dtype.char], scales)
        return scales

    def scaled_parts(
        self, configurations: ComplexArray, name: str = "Z", first_row: int = 0
    ) -> tuple[ComplexArray, FloatArray]:
        """Configurations and factors whose products are pre-shapes, up to translation.

        Parameters
        ----------
        configurations : ndarray of complex, shape (n_shapes, n_coordinates)
            Configurations; not checked.
        name : str
            What to call them in errors.
        first_row : int, default 0
            Number of the first row in errors.

        Returns
        -------
        configurations : ndarray of complex, shape (n_shapes, n_coordinates)
            The same array; or a copy, in which rows without a :meth:`unit_scales` are replaced by their pre-shapes.
        scales : ndarray of float, shape (n_shapes,)
            The factors.

        Raises
        ------
        NonFiniteError
            If a coordinate is NaN or infinite.
        CollapsedShapeError
            If all points of a shape coincide.
        """
        scales = self.unit_scales(configurations)
        is_far = scales == 0
        if not is_far.any():
            return configurations, scales
        centered = configurations.copy()
        try:
            centered[is_far] = self.preshape(configurations[is_far])
        except ShapeInputError:
            # The error is raised again with the numbers of the rows.
            self.whitened_preshapes(configurations, name, first_row)
            raise
        scales[is_far] = 1
        return centered, scales

    def fold(self, rows: ComplexArray) -> ComplexArray:
        """Matrix ``F`` such that ``Z @ F`` are the products ``(z, d)`` of configurations with whitened rows ``d``.

        Parameters
        ----------
        rows : ndarray of complex, shape (n_rows, n_coordinates)
            Whitened rows.

        Returns
        -------
        ndarray of complex, shape (n_coordinates, n_rows)
            The matrix.
        """
        folded: ComplexArray = self._factor.T @ rows.conj().T
        return np.ascontiguousarray(folded.astype(rows.dtype, copy=False))

    @cached_property
    def _unit_shift(self) -> FloatArray:
        """Unit vector ``R u / |R u|`` along which translations move whitened rows, as interleaved reals."""
        moved = self._multiply_factor(np.asarray(self.shift, dtype=np.complex128)[None, :])[0]
        return read_only(np.ascontiguousarray(moved / np.linalg.norm(moved)).view(np.float64))

    def sample(self, Z: ArrayLike, t: ArrayLike) -> ComplexArray:
        """Points ``r(t) = Σ z[n] phi_n(t)`` of the curves (section 2.2 of the paper [1]_, equation 4).

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.
        t : array_like of float, shape (n_parameters,)
            Curve parameters in [0, 1]; a closed curve takes any real number, modulo 1.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_parameters) or (n_parameters,)
            The points.

        References
        ----------
        .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes",
           SIAM Journal on Imaging Sciences (2020), arXiv:1903.11356.
        """
        configurations, is_single = self._check(Z)
        matrix = self.basis(t)
        points = (configurations @ matrix.T).astype(configurations.dtype, copy=False)
        return points[0] if is_single else points

    def parameters(self, n_parameters: int) -> FloatArray:
        """Equispaced curve parameters.

        Parameters
        ----------
        n_parameters : int
            How many; an open curve gets both its ends, a closed one its start only once.

        Returns
        -------
        ndarray of float, shape (n_parameters,)
            The parameters.
        """
        return np.linspace(0.0, 1.0, check_count(n_parameters, 1, "n_parameters"), endpoint=not self.closed)

    def fit(self, points: ArrayLike, t: ArrayLike | None = None) -> ComplexArray:
        """Configurations whose curves pass closest, in least squares, to densely sampled points.

        Parameters
        ----------
        points : array_like, complex (n_shapes, n_points) or (n_points,), or real (n_shapes, n_points, 2)
            Points in order along each curve; a closed curve does not repeat its first point.
        t : array_like of float, shape (n_points,) or (n_shapes, n_points), optional
            Curve parameters of the points; by arc length along the polygon when not given. With the
            parameters a curve was sampled at, the fit gives back that curve.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            The configurations.

        Raises
        ------
        UndeterminedFitError
            If there are too few points, or none along some stretch of the curve.
        """
        rows, is_single = as_configurations(points, name="points")
        check_point_count(rows, self.n_coordinates)
        parameters = arc_length_parameters(rows, self.closed) if t is None else check_parameters(t, rows)
        # Far from the origin, the position of a curve would drown its form in rounding errors.
        centers = rows.mean(axis=1, keepdims=True)
        fitted = fit_least_squares(self.basis, self.n_coordinates, rows - centers, parameters)
        fitted += centers * self.shift.astype(rows.dtype)
        return fitted[0] if is_single else fitted

    def roll(self, Z: ArrayLike, s: ArrayLike) -> ComplexArray:
        """Move the start point of closed configurations to their point `s`, in cyclic order.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.
        s : int or array_like of int, shape (n_shapes,)
            Number of the point to start at, modulo the number of points; one for all or one per shape.

        Returns
        -------
        ndarray of complex, same shape
            The same closed curves, started at `s`.

        Raises
        ------
        UnsupportedBySpaceError
            If the space is open.
        """
        if not self.closed:
            raise UnsupportedBySpaceError(f"roll moves the start point of a closed curve, but {self} is open.")
        configurations, is_single = self._check(Z)
        rolled = self._roll(configurations, _as_shifts(s, len(configurations)))
        return rolled[0] if is_single else rolled

    def reverse(self, Z: ArrayLike) -> ComplexArray:
        """Run through the curves the other way; a closed curve keeps its start point.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.

        Returns
        -------
        ndarray of complex, same shape
            The same curves in the other direction.
        """
        configurations, is_single = self._check(Z)
        reversed_rows = self._reverse(configurations)
        return reversed_rows[0] if is_single else reversed_rows

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is computed again: copies of arrays would be writable.
        cached = {name for name in self.__dict__ if isinstance(getattr(type(self), name, None), cached_property)}
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                read_only(value)
        self.__dict__.update(state)

    def _roll(self, configurations: ComplexArray, shifts: IntArray) -> ComplexArray:  # noqa: ARG002
        raise UnsupportedBySpaceError(f"{type(self).__name__} does not know its points, so it cannot roll them.")

    def _reverse(self, configurations: ComplexArray) -> ComplexArray:  # noqa: ARG002
        raise UnsupportedBySpaceError(f"{type(self).__name__} does not know its points, so it cannot reverse them.")

    def check_space_of(self, Z: ArrayLike, name: str = "Z") -> None:
        """Refuse a set of shapes that says it is in another space: its coordinates mean something else.

        Parameters
        ----------
        Z : array_like
            Configurations; plain arrays do not say their space, so they pass.
        name : str
            What to call `Z` in errors.

        Raises
        ------
        ShapeInputError
            If `Z` has a ``space`` whose product is not that of this one.
        """
        own = getattr(Z, "space", None)
        if isinstance(own, Space) and not self._has_product_of(own):
            raise ShapeInputError(
                f"{name} is in {own!r}, but is used in {self!r}, where its coordinates mean something else: read it "
                f"into this space ({parameter('space=')}), or pass {name}.configurations to use the numbers as they "
                "are."
            )

    def _has_product_of(self, other: "Space") -> bool:
        return self == other

    def _check(self, Z: ArrayLike, name: str = "Z", first_row: int = 0) -> tuple[ComplexArray, bool]:
        self.check_space_of(Z, name)
        return as_configurations(Z, name=name, n_coordinates=self.n_coordinates, first_row=first_row)

    def _check_sizes(self, sizes: FloatArray, centers: ComplexArray, name: str = "Z", first_row: int = 0) -> None:
        offsets = np.abs(centers) * sizes.dtype.type(self._shift_norm)
        check_not_collapsed(sizes, np.maximum(sizes, offsets), name, first_row)

    @cached_property
    def _factor(self) -> ComplexArray | FloatArray:
        """Upper triangular ``R`` with ``Phi = R* R``."""
        # SciPy takes longer to import than all the rest of what reading a set needs.
        from scipy.linalg import cholesky

        try:
            factor: ComplexArray | FloatArray = cholesky(self.gram, lower=False)
        except np.linalg.LinAlgError as error:
            raise SpaceError(
                f"{type(self).__name__} needs a positive-definite gram: its basis must be linearly independent."
            ) from error
        return read_only(factor)

    @cached_property
    def _shift_norm(self) -> float:
        return float(np.linalg.norm(self._factor @ self.shift))

    @cached_property
    def _center_weights(self) -> ComplexArray | FloatArray:
        weights: ComplexArray | FloatArray = (self.gram @ self.shift).conj() / self._shift_norm**2
        return weights

    def _centers(self, configurations: ComplexArray) -> ComplexArray:
        centers: ComplexArray = configurations @ self._center_weights.astype(configurations.dtype)
        return centers

    def _remove_centers(self, configurations: ComplexArray, centers: ComplexArray) -> ComplexArray:
        """Return new, centered rows. The caller may write into them."""
        shift = self.shift.astype(configurations.dtype)
        moved = configurations - centers[:, None] * shift
        # What the first pass leaves is its rounding error, large where the shape lies far from the origin.
        moved -= self._centers(moved)[:, None] * shift
        return moved

    def _multiply_factor(self, configurations: ComplexArray) -> ComplexArray:
        factor = self._factor.astype(configurations.dtype)
        product: ComplexArray = configurations @ factor.T
        return product

    def _solve_factor(self, rows: ComplexArray) -> ComplexArray:
        from scipy.linalg import solve_triangular

        factor = self._factor.astype(rows.dtype)
        return np.ascontiguousarray(solve_triangular(factor, rows.T, lower=False, check_finite=False).T)


def choose_space(space: Space | None, Z: ArrayLike) -> Space | None:
    """Return `space`, or that of a set of shapes `Z` when none is given; None leaves it to the caller."""
    if space is None:
        own = getattr(Z, "space", None)
        return own if isinstance(own, Space) else None
    if not isinstance(space, Space):
        raise ParameterTypeError(
            f"{parameter('space')} must be a space such as BSpline(40), or None for landmarks, got {space!r}."
        )
    return space


def roll_columns(columns: ComplexArray, shifts: IntArray) -> ComplexArray:
    """Return rows whose first column is the one that `shifts` names, in cyclic order."""
    n_columns = columns.shape[1]
    indices = (np.arange(n_columns) + shifts[:, None]) % n_columns
    return np.take_along_axis(columns, indices, axis=1)


def reverse_columns(columns: ComplexArray, closed: bool) -> ComplexArray:
    """Return rows in the other direction; closed ones keep their first column."""
    if closed:
        return np.concatenate([columns[:, :1], columns[:, :0:-1]], axis=1)
    return np.ascontiguousarray(columns[:, ::-1])


def check_parameter_range(t: ArrayLike, closed: bool) -> FloatArray:
    """Return curve parameters in [0, 1]; those of closed curves are taken modulo 1."""
    parameters = np.atleast_1d(as_numeric_array(t, "t"))
    if np.iscomplexobj(parameters) or parameters.ndim != 1:
        raise ShapeInputError(
            f"t must be a list of real parameters, got shape {parameters.shape}, dtype {parameters.dtype}."
        )
    if not np.isfinite(parameters).all():
        raise NonFiniteError("t must be finite, but some parameters are NaN or infinite.")
    values: FloatArray = parameters.astype(np.float64)
    if closed:
        return values % 1.0
    if values.size and (values.min() < 0 or values.max() > 1):
        raise ShapeInputError(f"t must lie between 0 and 1 on an open curve, got {values.min():g} to {values.max():g}.")
    return values


def _as_shifts(s: ArrayLike, n_shapes: int) -> IntArray:
    shifts = as_numeric_array(s, "s")
    if not np.issubdtype(shifts.dtype, np.integer) or shifts.shape not in ((), (n_shapes,)):
        raise ShapeInputError(
            f"s must be an integer, or one integer for each of the {n_shapes} shapes, got shape {shifts.shape}, "
            f"dtype {shifts.dtype}."
        )
    return np.broadcast_to(shifts.astype(np.int64), (n_shapes,))


def read_only(array: AnyArray) -> AnyArray:
    """Make the array read-only, and return it."""
    array.flags.writeable = False
    return array
