"""Strokes: one curve with the look of the house, and the room it takes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.plotting.curves import control_points, curve_points
from shapelex.plotting.palette import BLUE
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def with_defaults(line: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return properties of a line, by their long names (`lw` is `linewidth`), with defaults for those not given."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return defaults | dict(normalize_kwargs(line, Line2D))


def draw_shape(
    ax: "Axes", configuration: ComplexArray, space: Space, *, points: bool = False, origin: complex = 0, **line: Any
) -> None:
    """Draw one curve moved by `origin`, with the look of the house where `line` says nothing else."""
    look = with_defaults(line, color=BLUE, linewidth=1.4, solid_capstyle="round", solid_joinstyle="round")
    curve = curve_points(configuration, space) + origin
    ax.plot(curve.real, curve.imag, **look)
    if points:
        marks = control_points(configuration, space) + origin
        size = 1.8 + float(look["linewidth"])
        kept = {name: look[name] for name in ("color", "alpha", "zorder", "clip_on") if name in look}
        ax.plot(marks.real, marks.imag, linestyle="none", marker="o", markersize=size, markeredgewidth=0, **kept)


def extents(configurations: ComplexArray, space: Space, points: bool = False) -> ComplexArray:
    """Return all that will be drawn of each shape, row by row."""
    curves = curve_points(configurations, space)
    return np.concatenate([curves, control_points(configurations, space)], axis=1) if points else curves


def middles(curves: ComplexArray) -> ComplexArray:
    """Return the middle of the bounding box of each row."""
    x, y = curves.real, curves.imag
    found: ComplexArray = (x.min(axis=1) + x.max(axis=1) + 1j * (y.min(axis=1) + y.max(axis=1))) / 2
    return found
