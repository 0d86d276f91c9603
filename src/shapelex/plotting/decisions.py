"""What decided about the class of a shape: the shape, colored by effects, between examples of two classes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.curves import control_points, curve_parameters, curve_points
from shapelex.plotting.drawing import extents, middles
from shapelex.plotting.galleries import draw_gallery
from shapelex.plotting.palette import BLUE, ORANGE
from shapelex.plotting.style import styled
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIDDLE = "#E4E4E4"


@styled
def draw_decision(
    shapes: ComplexArray,
    effects: FloatArray,
    space: Space,
    captions: Sequence[str],
    *,
    is_curve: bool,
    fontsize: float | None = None,  # noqa: ARG001 (read by styled)
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw an example, the shape and an example of the rival, the two in the colors that points get for each.

    The shape is gray behind both examples.
    """
    from matplotlib.collections import LineCollection

    ax = resolve_axes(ax)
    shapes = space.centered(shapes)
    line: dict[str, Any] = {"linewidth": 1.2} | ({} if is_curve else {"linestyle": "none"})
    looks = [{"color": color} for color in (BLUE, _MIDDLE, ORANGE)]
    under = shapes[[1, 1, 1]]
    grid = draw_gallery(ax, shapes, space, captions, under=under, n_columns=3, looks=looks, **line)
    center = middles(np.concatenate([extents(shapes[1:2], space), extents(under[1:2], space)], axis=1))[0]
    origin = complex(grid.origins[1] - center)
    reach = max(float(np.abs(effects).max()), np.finfo(np.float64).tiny)
    colors = _color_map()
    if is_curve:
        points = curve_points(shapes[1], space) + origin
        places = curve_parameters(space)
        known = np.linspace(0, 1, len(effects), endpoint=not space.closed)
        along = np.interp(places, known, effects, period=1 if space.closed else None)
        ends = np.stack([points.real, points.imag], axis=1)
        segments = np.stack([ends[:-1], ends[1:]], axis=1)
        values = (along[:-1] + along[1:]) / 2
        lines = LineCollection(list(segments), colors=colors((1 + values / reach) / 2), linewidths=3.0, zorder=3)
        lines.set_capstyle("round")
        ax.add_collection(lines)
    else:
        marks = control_points(shapes[1], space) + origin
        tints = colors((1 + effects / reach) / 2)
        ax.scatter(marks.real, marks.imag, s=36, c=tints, edgecolors="black", linewidths=0.5, zorder=3)
    return ax


def _color_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("decision", [ORANGE, _MIDDLE, BLUE])
