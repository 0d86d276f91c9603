"""Which axes of an array are shapes, points and coordinates: an array comes in, complex rows go out."""

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import check_choice, points_to_complex
from shapelex.exceptions import ShapeFileError

# Of n shapes, p points, c coordinates.
_ORDERS = tuple("".join(order) for letters in ("npc", "np") for order in permutations(letters))


def check_axes(axes: str | None) -> None:
    """Refuse an order of axes that is none."""
    if axes is not None:
        check_choice(axes, _ORDERS, "axes")


@dataclass(frozen=True)
class PointAxes:
    """The axes of an array of points.

    Parameters
    ----------
    order : tuple of int
        Axes of shapes, points and, where numbers are real, coordinates.
    is_single : bool
        Whether the array is one shape, without an axis of shapes.
    """

    order: tuple[int, ...]
    is_single: bool

    @property
    def shape_axis(self) -> int:
        """The axis that counts shapes, where there is one."""
        return self.order[0]

    def as_rows(self, values: np.ndarray[Any, Any]) -> ComplexArray:
        """Return values as complex rows ``(n, n_points)``, in memory of their own."""
        values = values.transpose(self.order)
        values = values[None] if self.is_single else values
        if np.iscomplexobj(values):
            return np.array(values, dtype=np.complex128, order="C")
        return points_to_complex(np.asarray(values, dtype=float))


def find_axes(dtype: np.dtype[Any], shape: tuple[int, ...], source: str, axes: str | None = None) -> PointAxes:
    """Return what the axes of an array are; refuse one whose axes do not tell x and y.

    Which of the two long axes of ``(a, 2, b)`` counts the shapes cannot be seen, so `axes` must say it.
    """
    is_complex = dtype.kind == "c"
    order = tuple(range(len(shape)))
    if axes is not None:
        if len(shape) != len(axes) or is_complex == ("c" in axes):
            raise ShapeFileError(f"{source} is {dtype} {shape}, which axes={axes!r} does not fit.")
        order = tuple(axes.index(letter) for letter in "npc"[: len(axes)])
    sides = tuple(shape[axis] for axis in order)
    if is_complex and len(sides) in (1, 2):
        return PointAxes(order, len(sides) == 1)
    if dtype.kind in "iuf" and len(sides) in (2, 3) and sides[-1] == 2:
        return PointAxes(order, len(sides) == 2)
    raise ShapeFileError(
        f"{source} must be real (n, n_points, 2) or complex (n, n_points), got {dtype} {sides}; for "
        'another order of axes give axes=, such as axes="pcn" for (n_points, 2, n).'
    )


def as_rows(values: np.ndarray[Any, Any], source: str, axes: str | None = None) -> ComplexArray:
    """Return an array of points as complex rows ``(n, n_points)``; refuse one whose axes do not tell x and y."""
    return find_axes(values.dtype, values.shape, source, axes).as_rows(values)
