"""Define spaces by a product and a shift, or by basis functions (section 2.3 of the paper)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_flag
from shapelex.exceptions import ShapeInputError, SpaceError, UnsupportedBySpaceError
from shapelex.spaces.base import Space, read_only
from shapelex.spaces.points import check_parameter_range, piecewise_gauss_legendre

# Exact for polynomial pieces of degree 31; the check with more nodes tells when that was not enough.
_NODES_PER_PIECE = 32
_NODES_TO_CHECK = 47
_TOLERANCE = 1e-10

RealFunction = Callable[[FloatArray], Any]


class CustomSpace(Space):
    """Configurations with any Hermitian product and any shift.

    Parameters
    ----------
    gram : array_like, shape (n_coordinates, n_coordinates)
        Hermitian positive-definite matrix ``Phi``, real or complex.
    shift : array_like, shape (n_coordinates,)
        Non-zero configuration ``u`` that translations add.
    basis : callable, optional
        Function that takes parameters ``(P,)`` in [0, 1] to the values ``(P, n_coordinates)`` of the basis
        functions. Without it, :meth:`sample` and :meth:`fit` have no meaning.
    closed : bool, default False
        Whether the curves are closed.

    Examples
    --------
    >>> import numpy as np
    >>> space = CustomSpace(np.diag([1.0, 2.0, 1.0]), np.ones(3))
    >>> complex(space.center([0, 1 + 0j, 0]))
    (0.5+0j)
    """

    def __init__(
        self, gram: ArrayLike, shift: ArrayLike, *, basis: RealFunction | None = None, closed: bool = False
    ) -> None:
        matrix, vector = _as_finite(gram, "gram"), _as_finite(shift, "shift")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            raise SpaceError(f"gram must be a square matrix of at least 2 rows, got shape {matrix.shape}.")
        if not np.allclose(matrix, matrix.conj().T, rtol=0, atol=_scale(matrix)):
            raise SpaceError("gram must be Hermitian: equal to its conjugate transpose.")
        if vector.shape != matrix.shape[:1]:
            raise SpaceError(f"shift must have shape {matrix.shape[:1]} like the rows of gram, got {vector.shape}.")
        if not vector.any():
            raise SpaceError("shift must have an entry that is not zero.")
        self._gram = read_only((matrix + matrix.conj().T) / 2)
        self._shift = read_only(vector)
        self._functions: Any = basis
        self._closed = check_flag(closed, "closed")
        _ = self._factor  # refuses a gram that is not positive definite

    @property
    def gram(self) -> ComplexArray | FloatArray:
        """Matrix ``Phi`` of the Hermitian product."""
        return self._gram

    @property
    def shift(self) -> ComplexArray | FloatArray:
        """Configuration ``u`` that translations add; of curves, the one of the constant 1."""
        return self._shift

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """Whether the last point joins the first."""
        return self._closed

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_coordinates={self.n_coordinates}, closed={self.closed})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and self.closed == other.closed
            and self._functions == other._functions
            and np.array_equal(self._gram, other._gram)
            and np.array_equal(self._shift, other._shift)
        )

    def __hash__(self) -> int:
        # Equal numbers may have unequal bytes (1 and 1+0j, 0 and −0), so the arrays stay out.
        return hash((self.n_coordinates, self.closed))

    @property
    def has_basis(self) -> bool:
        """Whether the space knows its basis functions, so that its configurations are curves."""
        return self._functions is not None

    def basis(self, t: ArrayLike) -> ComplexArray | FloatArray:
        """Evaluate the basis functions, where they were given.

        Parameters
        ----------
        t : array_like of float, shape (n_parameters,)
            Curve parameters in [0, 1].

        Returns
        -------
        ndarray, shape (n_parameters, n_coordinates)
            Values ``phi_n(t_p)``.

        Raises
        ------
        UnsupportedBySpaceError
            If the space was made without basis functions.
        """
        if self._functions is None:
            raise UnsupportedBySpaceError(
                "This CustomSpace has no basis functions, so it holds no curves: give it a basis, or use BasisSpace."
            )
        parameters = check_parameter_range(t, self.closed)
        values = as_numeric_array(self._functions(parameters), "basis(t)")
        shape = len(parameters), self.n_coordinates
        if values.shape != shape:
            raise ShapeInputError(f"basis(t) must have shape {shape}, got {values.shape}.")
        return values


class BasisSpace(CustomSpace):
    """Curves in the span of the user's own basis functions.

    Parameters
    ----------
    functions : sequence of callable
        Linearly independent functions on [0, 1], real or complex, that take an array of parameters. Constants
        must be among their linear combinations.
    breakpoints : array_like of float, default ()
        Where in [0, 1] the functions are not smooth, such as the knots of splines. Quadrature runs on each piece
        between them: exact for polynomial pieces up to degree 31, and checked for others.
    closed : bool, optional
        Whether the curves are closed; by default when every function has the same value at 0 and 1.

    Raises
    ------
    SpaceError
        If the functions are linearly dependent, do not generate constants, or are not smooth between breakpoints.

    Examples
    --------
    >>> import numpy as np
    >>> space = BasisSpace([lambda t: 1 - t, lambda t: t])
    >>> space.gram.round(6)
    array([[0.333333, 0.166667],
           [0.166667, 0.333333]])
    >>> space.shift
    array([1., 1.])
    """

    def __init__(
        self, functions: Sequence[RealFunction], breakpoints: ArrayLike = (), *, closed: bool | None = None
    ) -> None:
        self._functions = tuple(functions)
        if len(self._functions) < 2:
            raise SpaceError(f"functions must hold at least two basis functions, got {len(self._functions)}.")
        given = _as_finite(breakpoints, "breakpoints")
        if np.iscomplexobj(given) or given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
            raise SpaceError(f"breakpoints must be a list of numbers between 0 and 1, got {given}.")
        self._breakpoints = read_only(np.unique(np.concatenate([[0.0, 1.0], given])))
        gram, shift = self._integrate()
        ends = self._evaluate(np.array([0.0, 1.0]))
        if closed is None:
            closed = bool(np.allclose(ends[0], ends[1], rtol=0, atol=_TOLERANCE * max(1.0, np.abs(ends).max())))
        super().__init__(gram, shift, basis=self._functions, closed=closed)

    @property
    def functions(self) -> tuple[RealFunction, ...]:
        """The basis functions."""
        return tuple(self._functions)

    @property
    def breakpoints(self) -> FloatArray:
        """Ends of the smooth pieces, from 0 to 1."""
        return self._breakpoints

    def basis(self, t: ArrayLike) -> ComplexArray | FloatArray:
        """Evaluate the functions.

        Parameters
        ----------
        t : array_like of float, shape (n_parameters,)
            Curve parameters in [0, 1]; any real number on a closed curve.

        Returns
        -------
        ndarray, shape (n_parameters, n_coordinates)
            Values ``phi_n(t_p)``.
        """
        return self._evaluate(check_parameter_range(t, self.closed))

    def roll_rows(self, configurations: ComplexArray, s: ArrayLike) -> ComplexArray:
        """Start stacked configurations at the curve parameter `s`."""
        start = as_numeric_array(s, "s")
        if start.ndim or np.iscomplexobj(start) or not np.isfinite(start):
            raise ShapeInputError("s must be one finite real parameter for all shapes of a BasisSpace.")
        return self._reparametrize(configurations, lambda t: (t + start) % 1.0, f"roll by {start:g}")

    def reverse_rows(self, configurations: ComplexArray) -> ComplexArray:
        """Run through the curves of stacked configurations the other way."""
        return self._reparametrize(configurations, lambda t: 1.0 - t, "reverse")

    def _reparametrize(
        self, configurations: ComplexArray, change: Callable[[FloatArray], FloatArray], action: str
    ) -> ComplexArray:
        nodes, _ = piecewise_gauss_legendre(self.breakpoints, _NODES_TO_CHECK)
        changed = self._evaluate(change(nodes))
        fitted = self.fit(changed.T.astype(np.complex128), nodes)
        if not np.allclose(self.sample(fitted, nodes).T, changed, rtol=0, atol=1e-8 * np.abs(changed).max()):
            raise UnsupportedBySpaceError(f"{action} takes curves out of the span of the functions of {self}.")
        return np.ascontiguousarray((configurations @ fitted).astype(configurations.dtype, copy=False))

    def _integrate(self) -> tuple[ComplexArray | FloatArray, ComplexArray | FloatArray]:
        values, roots = self._weighted_values(_NODES_PER_PIECE)
        finer, _ = self._weighted_values(_NODES_TO_CHECK)
        gram = values.conj().T @ values
        if not np.allclose(gram, finer.conj().T @ finer, rtol=0, atol=_scale(gram)):
            raise SpaceError(
                "The functions are not smooth between breakpoints, so their products cannot be integrated exactly: "
                "add the places where they bend to breakpoints."
            )
        # Small functions are not dependent ones.
        sizes = np.sqrt(np.diagonal(gram).real)
        if not sizes.all() or np.linalg.eigvalsh(gram / np.outer(sizes, sizes))[0] <= 1e-13:
            raise SpaceError("The functions are linearly dependent (or nearly so): drop those that others combine to.")
        shift = np.linalg.lstsq(values, roots, rcond=None)[0]
        if not np.allclose(values @ shift, roots, rtol=0, atol=1e-8):
            raise SpaceError("No linear combination of the functions is constant, so translations have no meaning.")
        return gram, shift

    def _weighted_values(self, n_nodes: int) -> tuple[ComplexArray | FloatArray, FloatArray]:
        """Return the functions at the nodes of a quadrature, times the square roots of its weights, and these."""
        nodes, weights = piecewise_gauss_legendre(self.breakpoints, n_nodes)
        roots = np.sqrt(weights)
        return roots[:, None] * self._evaluate(nodes), roots

    def _evaluate(self, parameters: FloatArray) -> ComplexArray | FloatArray:
        columns = []
        for number, function in enumerate(self.functions):
            values = _as_finite(function(parameters), f"functions[{number}](t)")
            if values.shape not in ((), parameters.shape):
                raise SpaceError(f"functions[{number}](t) must have shape {parameters.shape}, got {values.shape}.")
            columns.append(np.broadcast_to(values, parameters.shape))
        return np.stack(columns, axis=1)


def _scale(gram: ComplexArray | FloatArray) -> float:
    return _TOLERANCE * float(np.abs(np.diagonal(gram)).max())


def _as_finite(values: ArrayLike, name: str) -> ComplexArray | FloatArray:
    """Return a copy in double precision."""
    array = as_numeric_array(values, name)
    if not np.isfinite(array).all():
        raise SpaceError(f"{name} must be finite, got NaN or infinite entries.")
    return array.astype(np.result_type(array.dtype, np.float64))
