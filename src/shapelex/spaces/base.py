"""Define what every space of configurations ``(C^N, Phi, u)`` can do: its product, its shift, and curves in it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import signature
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import (
    as_configurations,
    as_numeric_array,
    check_count,
    check_not_collapsed,
    check_same_count,
    name_rows,
)
from shapelex.exceptions import ShapeInputError, SpaceError, UndeterminedFitError, UnsupportedBySpaceError

AnyValue = TypeVar("AnyValue")
AnySpace = TypeVar("AnySpace", bound="Space")
Options = ParamSpec("Options")
Result = TypeVar("Result")

# By precision: the smallest share of a squared norm that centering may leave before digits are lost, and the range of
# squared norms that neither over- nor underflow.
_NORM_LIMITS = {"f": np.array([1e-2, 1e-60, 1e60]), "d": np.array([1e-4, 1e-280, 1e280])}

# Values of basis functions that are held at a time when curves have parameters of their own.
_BLOCK_ENTRIES = 4_000_000


def one_or_many(
    method: Callable[Concatenate[AnySpace, ComplexArray, Options], Result],
) -> Callable[Concatenate[AnySpace, ArrayLike, Options], Result]:
    """Make a method of stacked configurations check them first, and take and return a single one, too.

    Errors call them what the method calls them.
    """
    name = list(signature(method).parameters)[1]

    @wraps(method)
    def call(self: AnySpace, Z: ArrayLike, *args: Options.args, **options: Options.kwargs) -> Any:
        configurations, is_single = self._check(Z, name)
        result: Any = method(self, configurations, *args, **options)
        return result[0] if is_single else result

    return call  # type: ignore[return-value]


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
    _is_plain: ClassVar[bool] = False  # Phi is the identity, so no product with a matrix is needed.

    @property
    def n_coordinates(self) -> int:
        """Dimension ``N`` of a configuration."""
        return len(self.shift)

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
        products = np.vecdot(self._multiply_factor(first), self._multiply_factor(second))
        return products[0] if first_is_single and second_is_single else products

    @one_or_many
    def norm(self, Z: ComplexArray) -> Any:
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
        return row_norms(self._multiply_factor(Z))

    @one_or_many
    def center(self, Z: ComplexArray) -> Any:
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
        return self._centers(Z)

    @one_or_many
    def centered(self, Z: ComplexArray) -> ComplexArray:
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
        return self._remove_centers(Z, self._centers(Z))

    @one_or_many
    def preshape(self, Z: ComplexArray) -> ComplexArray:
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
        return self.preshapes(Z)

    def preshapes(self, configurations: ComplexArray, name: str = "Z", first_row: int = 0) -> ComplexArray:
        """Return the pre-shapes of stacked configurations that are known to be finite; see :meth:`preshape`."""
        return self.unit_rows(configurations, name, first_row, whitened=False)

    @one_or_many
    def whiten(self, Z: ComplexArray) -> ComplexArray:
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
        return self.whiten_rows(Z)

    def whiten_rows(self, configurations: ComplexArray) -> ComplexArray:
        """Return the whitened rows of stacked configurations that are known to be finite; see :meth:`whiten`."""
        return self._multiply_factor(self._remove_centers(configurations, self._centers(configurations)))

    def whitened_preshapes(self, Z: ArrayLike, name: str = "Z", first_row: int = 0) -> ComplexArray:
        """Check configurations and return their pre-shapes as whitened rows, which are always stacked.

        Errors call them `name` and count rows from `first_row`, where they are a block of a larger set.
        """
        return self.unit_rows(self._check(Z, name, first_row)[0], name, first_row)

    def unit_rows(
        self, configurations: ComplexArray, name: str = "Z", first_row: int = 0, *, whitened: bool = True
    ) -> ComplexArray:
        """Return pre-shapes, as whitened rows or not, of stacked configurations that are known to be finite."""
        centers = self._centers(configurations)
        moved = self._remove_centers(configurations, centers)
        rows = self._multiply_factor(moved)
        sizes = row_norms(rows)
        check_not_collapsed(sizes, np.abs(centers) * sizes.dtype.type(self._shift_norm), name, first_row)
        preshapes = rows if whitened else moved
        preshapes /= sizes[:, None]
        return preshapes

    @one_or_many
    def unwhiten(self, X: ComplexArray) -> ComplexArray:
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
        return self.unwhiten_rows(X)

    def unwhiten_rows(self, rows: ComplexArray) -> ComplexArray:
        """Return the configurations of stacked whitened rows that are known to be finite; see :meth:`unwhiten`."""
        if self._is_plain:
            return rows.copy()
        from scipy.linalg import solve_triangular

        solution = solve_triangular(self._factor.astype(rows.dtype), rows.T, lower=False, check_finite=False)
        return np.ascontiguousarray(solution.T)

    def scaled_parts(self, configurations: ComplexArray, name: str, first_row: int) -> tuple[ComplexArray, FloatArray]:
        """Return configurations and factors whose products are pre-shapes, up to translation.

        The configurations are those given, not copied, where plain arithmetic gives their norms: rows that lie far from
        the origin, measured in their own size, or are too large or too small are replaced by their pre-shapes, and
        checked then. The factor of a row is ``1 / |z − b u|``.
        """
        # Compiled kernels take a second to load, and geometry does without.
        from shapelex.kernels.statistics import unit_scales_batch

        scales: FloatArray = np.empty(len(configurations))
        with np.errstate(invalid="ignore", over="ignore"):
            rows = np.ascontiguousarray(self._multiply_factor(configurations))
        real_dtype = rows.real.dtype
        # A view that is always read-only: the kernel would be compiled again for arrays of users that are.
        reals = read_only(rows.view(real_dtype))
        unit_scales_batch(reals, self._unit_shift, _NORM_LIMITS[real_dtype.char], scales)
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
        """Return the matrix ``F`` for which ``Z @ F`` are the products of configurations with whitened rows."""
        folded: ComplexArray = rows.conj().T if self._is_plain else self._factor.T @ rows.conj().T
        return np.ascontiguousarray(folded.astype(rows.dtype, copy=False))

    @cached_property
    def _unit_shift(self) -> FloatArray:
        """Unit vector ``R u / |R u|`` along which translations move whitened rows, as interleaved reals."""
        moved = self._multiply_factor(np.asarray(self.shift, dtype=np.complex128)[None, :])[0]
        return read_only((moved / (self._shift_norm or 1)).view(np.float64))

    @one_or_many
    def sample(self, Z: ComplexArray, t: ArrayLike) -> ComplexArray:
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
        return (Z @ self.basis(t).T).astype(Z.dtype, copy=False)

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
        if rows.shape[1] < self.n_coordinates:
            raise UndeterminedFitError(
                f"points has {rows.shape[1]} points per curve, too few for {self.n_coordinates} coordinates: give more."
            )
        parameters = arc_length_parameters(rows, self.closed) if t is None else as_numeric_array(t, "t")
        if parameters.shape not in (rows.shape, rows.shape[1:]):
            raise ShapeInputError(
                f"t must have one real parameter for each of the {rows.shape[1]} points, shared or per curve, got "
                f"shape {parameters.shape}."
            )
        # Far from the origin, the position of a curve would drown its form in rounding errors.
        centers = rows.mean(axis=1, keepdims=True)
        fitted = _fit_least_squares(self, rows - centers, parameters)
        fitted += centers * self.shift.astype(rows.dtype)
        return fitted[0] if is_single else fitted

    @one_or_many
    def roll(self, Z: ComplexArray, s: ArrayLike) -> ComplexArray:
        """Move the start point of closed configurations to their point `s`, in cyclic order.

        Parameters
        ----------
        Z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
            Configurations.
        s : int or array_like of int, shape (n_shapes,)
            Number of the point to start at, modulo the number of points; one for all or one per shape. In a
            `BasisSpace`, which has no points, one curve parameter for all shapes: the new curve is ``r(t + s)``.

        Returns
        -------
        ndarray of complex, same shape
            The same closed curves, started at `s`.

        Raises
        ------
        UnsupportedBySpaceError
            If the space is open, does not know its points, or does not hold the curves that start at `s`.
        """
        if not self.closed:
            raise UnsupportedBySpaceError(f"roll moves the start point of a closed curve, but {self} is open.")
        return self.roll_rows(Z, s)

    @one_or_many
    def reverse(self, Z: ComplexArray) -> ComplexArray:
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
        return self.reverse_rows(Z)

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is computed again: copies of arrays would be writable.
        cached = {name for name in self.__dict__ if isinstance(getattr(type(self), name, None), cached_property)}
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update((name, read_only(value)) for name, value in state.items())

    def roll_rows(self, configurations: ComplexArray, s: ArrayLike) -> ComplexArray:  # noqa: ARG002
        """Start stacked configurations at their point `s`; see :meth:`roll`."""
        raise UnsupportedBySpaceError(f"{type(self).__name__} does not know its points, so it cannot roll them.")

    def reverse_rows(self, configurations: ComplexArray) -> ComplexArray:  # noqa: ARG002
        """Reverse stacked configurations; see :meth:`reverse`."""
        raise UnsupportedBySpaceError(f"{type(self).__name__} does not know its points, so it cannot reverse them.")

    def check_space_of(self, Z: ArrayLike, name: str = "Z") -> None:
        """Refuse a set of shapes that says it is in another space, where its coordinates mean something else."""
        own = getattr(Z, "space", None)
        if isinstance(own, Space) and not self._has_product_of(own):
            raise ShapeInputError(
                f"{name} is in {own!r}, but is used in {self!r}, where its coordinates mean something else: read it "
                f"into this space ({parameter('space=')}), or pass {name}.configurations to use its numbers as such."
            )

    def _has_product_of(self, other: "Space") -> bool:
        return self == other

    def _check(self, Z: ArrayLike, name: str = "Z", first_row: int = 0) -> tuple[ComplexArray, bool]:
        self.check_space_of(Z, name)
        return as_configurations(Z, name=name, n_coordinates=self.n_coordinates, first_row=first_row)

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
        return float(row_norms(self._multiply_factor(self.shift[None] + 0j))[0])

    @cached_property
    def _center_weights(self) -> ComplexArray | FloatArray:
        return (self.gram @ self.shift).conj() / (self._shift_norm**2 or 1)

    def _centers(self, configurations: ComplexArray) -> ComplexArray:
        return configurations @ self._center_weights.astype(configurations.dtype)

    def _remove_centers(self, configurations: ComplexArray, centers: ComplexArray) -> ComplexArray:
        """Return new, centered rows. The caller may write into them."""
        shift = self.shift.astype(configurations.dtype)
        moved = configurations - centers[:, None] * shift
        # What the first pass leaves is its rounding error, large where the shape lies far from the origin.
        moved -= self._centers(moved)[:, None] * shift
        return moved

    def _multiply_factor(self, configurations: ComplexArray) -> ComplexArray:
        if self._is_plain:
            return configurations
        return configurations @ self._factor.astype(configurations.dtype).T


@dataclass(frozen=True)
class PlainRows(Space):
    """The space of rows that are whitened already: ``Phi`` is the identity and ``u`` is zero."""

    n_coordinates: int = 1
    closed = False
    _is_plain = True

    @cached_property
    def gram(self) -> FloatArray:
        """The identity."""
        return read_only(np.eye(self.n_coordinates))

    @cached_property
    def shift(self) -> FloatArray:
        """Zero: nothing is centered."""
        return read_only(np.zeros(self.n_coordinates))

    def basis(self, t: ArrayLike) -> FloatArray:  # noqa: ARG002
        """Refuse, because plain rows are not curves."""
        raise UnsupportedBySpaceError("PlainRows are not curves.")


def row_norms(rows: ComplexArray) -> FloatArray:
    """Return the plain norm of each row, safe from overflow and underflow of the squares."""
    rows = np.ascontiguousarray(rows)
    parts: FloatArray = rows.view(rows.real.dtype)
    with np.errstate(over="ignore", under="ignore"):
        squares: FloatArray = np.einsum("kn,kn->k", parts, parts)
    limits = np.finfo(squares.dtype)
    unsafe = ~((squares > limits.tiny / limits.eps) & (squares < limits.max))
    norms: FloatArray = np.sqrt(squares)
    if unsafe.any():
        norms[unsafe] = np.hypot.reduce(parts[unsafe], axis=1)
    return norms


def read_only(value: AnyValue) -> AnyValue:
    """Return a view of an array that refuses to be written to; anything else as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def arc_length_parameters(points: ComplexArray, closed: bool) -> FloatArray:
    """Return the parameters in [0, 1] that grow with the length of the polygon through the points.

    The last point of a closed curve is joined to the first by one more edge; the last point of an
    open curve has parameter 1.
    """
    check_not_collapsed(np.abs(points - points[:, :1]).max(axis=1), np.abs(points).max(axis=1), "points")
    vertices = np.concatenate([points, points[:, :1]], axis=1) if closed else points
    lengths = np.cumsum(np.abs(np.diff(vertices)), axis=1, dtype=np.float64)
    parameters: FloatArray = np.pad(lengths, ((0, 0), (1, 0))) / lengths[:, -1:]
    return parameters[:, : points.shape[1]]


def _fit_least_squares(space: Space, points: ComplexArray, parameters: FloatArray) -> ComplexArray:
    """Return the coefficients whose curves pass closest to `points` at `parameters`.

    `parameters` has shape ``(P,)`` when all curves share them, else ``(K, P)``.
    """
    n_points, n_coordinates = points.shape[1], space.n_coordinates
    is_shared = parameters.ndim == 1
    parameters = np.atleast_2d(parameters)
    # All curves that share their parameters are columns of one problem.
    columns = points.T[None] if is_shared else points[:, :, None]
    solutions = []
    block = max(1, _BLOCK_ENTRIES // (n_points * n_coordinates))
    for start in range(0, len(parameters), block):
        part = slice(start, start + block)
        matrices = space.basis(parameters[part].ravel()).reshape(-1, n_points, n_coordinates)
        orthogonal, triangular = np.linalg.qr(matrices)
        diagonal = np.abs(np.diagonal(triangular, axis1=1, axis2=2))
        deficient = diagonal.min(axis=1) <= 100 * n_coordinates * np.finfo(diagonal.dtype).eps * diagonal.max(axis=1)
        if deficient.any():
            rows = "all rows" if is_shared else name_rows(deficient, start)
            raise UndeterminedFitError(
                f"points leave some coefficients undetermined in {rows}: parts of the curve hold too few points; "
                "sample it more evenly, or use fewer coordinates."
            )
        projected = orthogonal.conj().swapaxes(1, 2) @ columns[part]
        solutions.append(np.linalg.solve(triangular, projected))
    coefficients = np.concatenate(solutions).swapaxes(1, 2).reshape(-1, n_coordinates)
    return np.ascontiguousarray(coefficients, dtype=points.dtype)
