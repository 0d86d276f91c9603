"""Galleries: shapes in cells of one size, at one scale, with labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.plotting.drawing import draw_shape, extents, middles
from shapelex.plotting.grids import arrange, label_size
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
    # Numbers and labels together are centered under the shape; a number is clear of the widest share, "100 %".
    label = label_size(labels or (), fontsize)
    label_shift, number_shift, side = 0.0, 0.0, "center"
    if numbers is not None and labels is not None:
        label = label_size([f"{n}  {text}" for n, text in zip(numbers, labels, strict=True)] + ["10 100 %"], fontsize)
        label_shift, number_shift, side = 0.8 * fontsize, -1.2 * fontsize, "right"
    elif numbers is not None:
        label = label_size([str(n) for n in numbers], fontsize)
    grid = arrange(ax, list(drawn - centers[:, None]), n_columns=n_columns, label=label)
    for cell, configuration in enumerate(configurations):
        origin = complex(grid.origins[cell] - centers[cell])
        if under is not None:
            draw_shape(ax, under[cell], space, origin=origin, color=GRAY, linewidth=3.2, alpha=0.7)
        draw_shape(ax, configuration, space, points=points, origin=origin, **line)
        if labels is not None:
            grid.write_under(ax, cell, labels[cell], fontsize, label_shift)
        if numbers is not None:
            grid.write_under(
                ax, cell, str(numbers[cell]), fontsize, number_shift, ha=side, color=DARK_GRAY, gid="number"
            )
