"""Define the space of landmarks, ordered points in the plane (section 2.1 of the paper)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex.spaces.base import PointSpace, Space, read_only
from shapelex.spaces.splines import spline_basis


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
    _is_plain: ClassVar[bool] = True

    @cached_property
    def gram(self) -> FloatArray:
        """Matrix ``Phi`` of the Hermitian product: the identity."""
        return read_only(np.eye(self.n_points))

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
        return spline_basis(t, self.n_points, 1, self.closed)

    # Whether outlines are closed changes neither the product nor the shift.
    def _has_product_of(self, other: Space) -> bool:
        return isinstance(other, Landmarks) and other.n_points == self.n_points

    # u is all ones.
    @cached_property
    def _shift_norm(self) -> float:
        return float(np.sqrt(self.n_points))

    def _centers(self, configurations: ComplexArray) -> ComplexArray:
        centers: ComplexArray = configurations.mean(axis=1)
        return centers

    def _remove_centers(self, configurations: ComplexArray, centers: ComplexArray) -> ComplexArray:
        moved = configurations - centers[:, None]
        moved -= moved.mean(axis=1)[:, None]
        return moved
