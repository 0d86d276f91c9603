"""Single curves in the default style, with their points and numbers, and the extent of what is drawn."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from shapelex._typing import ComplexArray, IntArray
from shapelex._validation import check_choice, check_flag
from shapelex.plotting.curves import control_points, curve_points
from shapelex.plotting.landmark_numbers import write_numbers
from shapelex.plotting.style import cycle_color
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points: TypeAlias = bool | Literal["numbers"]
"""Whether landmarks, knots or control points are marked, and numbered from 1."""


def with_defaults(line: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return properties of a line, by their long names (`lw` is `linewidth`), with defaults for those not given."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return defaults | dict(normalize_kwargs(line, Line2D))


def check_points(points: Points) -> Points:
    """Refuse what is neither True, False nor ``"numbers"``."""
    if isinstance(points, str):
        check_choice(points, ("numbers",), "points")
        return points
    return check_flag(points, "points")


def is_line(linestyle: Any) -> bool:
    """Return whether a line style draws anything."""
    return str(linestyle).strip().lower() not in ("", "none")


def draw_shape(
    ax: "Axes",
    configuration: ComplexArray,
    space: Space,
    *,
    points: Points = False,
    origin: complex = 0,
    scale: float | None = None,
    crowd: ComplexArray | None = None,
    **line: Any,
) -> None:
    """Draw one curve moved by `origin`; without a line style, its points alone.

    `scale` is the size of a unit of the shape in inches, where it is known, and `crowd` are points that are drawn
    otherwise: numbers are placed by both.
    """
    import matplotlib as mpl

    look = with_defaults(line, color=cycle_color(0), solid_capstyle="round", solid_joinstyle="round")
    has_line = is_line(look.get("linestyle", "-"))
    curve = curve_points(configuration, space) + origin
    if has_line:
        ax.plot(curve.real, curve.imag, **look)
    if check_points(points) or not has_line:
        marks = control_points(configuration, space) + origin
        size = 1.8 + float(look.get("linewidth", mpl.rcParams["lines.linewidth"]))
        names = ("color", "alpha", "zorder", "clip_on") + (() if has_line else ("label",))
        kept = {name: look[name] for name in names if name in look}
        ax.plot(marks.real, marks.imag, linestyle="none", marker="o", markersize=size, markeredgewidth=0, **kept)
        if points == "numbers":
            others = [curve] * has_line + ([] if crowd is None else [crowd])
            write_numbers(ax, marks, np.concatenate([curve[:0], *others]), scale)


def faintness(n_shapes: int) -> float:
    """Return how opaque each of many lines over each other is drawn: more of them need be fainter."""
    return float(0.55 * min(1.0, np.sqrt(40 / max(n_shapes, 1))))


def spread_rows(n_rows: int, n_most: int | None) -> IntArray:
    """Return at most so many row numbers, taken evenly; all where no maximum is given."""
    n_chosen = n_rows if n_most is None else min(n_most, n_rows)
    return np.unique(np.linspace(0, n_rows - 1, n_chosen).astype(np.int64))


def extents(configurations: ComplexArray, space: Space, points: Points = False) -> ComplexArray:
    """Return all that will be drawn of each shape, row by row."""
    curves = curve_points(configurations, space)
    return np.concatenate([curves, control_points(configurations, space)], axis=1) if points else curves


def middles(curves: ComplexArray) -> ComplexArray:
    """Return the middle of the bounding box of each row."""
    x, y = curves.real, curves.imag
    found: ComplexArray = (x.min(axis=1) + x.max(axis=1) + 1j * (y.min(axis=1) + y.max(axis=1))) / 2
    return found
