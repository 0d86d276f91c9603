"""Galleries: shapes in cells of one size, at one scale, with labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.plotting.drawing import draw_shape, extents, middles
from shapelex.plotting.grids import arrange
from shapelex.plotting.palette import DARK_GRAY, FONT_SIZE, GRAY
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_gallery(
    ax: "Axes",
    configurations: ComplexArray,
    space: Space,
    labels: Sequence[str] | None,
    *,
    under: ComplexArray | None = None,
    n_columns: int | None = None,
    points: bool = False,
    numbers: Sequence[int] | None = None,
    fontsize: float = FONT_SIZE,
    **line: Any,
) -> None:
    """Draw shapes in cells: over thick gray ones, where `under` has them, with gray numbers and labels below."""
    drawn = extents(configurations, space, points)
    if under is not None:
        drawn = np.concatenate([drawn, extents(under, space)], axis=1)
    centers = middles(drawn)
    room = 1.3 * fontsize + 3 if labels is not None or numbers is not None else 0.0
    grid = arrange(ax, drawn - centers[:, None], len(configurations), n_columns=n_columns, label_points=room)
    for cell, configuration in enumerate(configurations):
        origin = complex(grid.origins[cell] - centers[cell])
        if under is not None:
            draw_shape(ax, under[cell], space, origin=origin, color=GRAY, linewidth=3.2, alpha=0.7)
        draw_shape(ax, configuration, space, points=points, origin=origin, **line)
        if labels is not None:
            grid.write_under(ax, cell, labels[cell], fontsize)
        if numbers is not None:
            # Clear of the widest label, "100 %".
            shift, side = (-2.0 * fontsize, "right") if labels is not None else (0.0, "center")
            grid.write_under(ax, cell, f"{numbers[cell]}", fontsize, shift, ha=side, color=DARK_GRAY, gid="number")
