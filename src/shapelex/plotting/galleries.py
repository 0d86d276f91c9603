"""Galleries: shapes in cells of one size, at one scale, with labels."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.plotting.drawing import Points, draw_shape, extents, is_line, middles, with_defaults
from shapelex.plotting.grids import GAP, Grid, arrange, label_size
from shapelex.plotting.palette import DARK_GRAY, GRAY, PALE_GRAY
from shapelex.plotting.style import text_size
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NUMBERS = 0.11  # room for numbers around a shape, as a share of its larger side
_GAP_OF_POINTS = 0.24


def draw_gallery(
    ax: "Axes",
    configurations: ComplexArray,
    space: Space,
    labels: Sequence[str] | None,
    *,
    under: ComplexArray | None = None,
    n_columns: int | None = None,
    points: Points = False,
    numbers: Sequence[int] | None = None,
    looks: Sequence[Mapping[str, Any]] | None = None,
    strip: float = 0.0,
    beside: float = 0.0,
    **line: Any,
) -> Grid:
    """Draw shapes in cells: over thick gray ones, where `under` has them, with gray numbers and labels below.

    `looks` are properties of single lines. Landmarks are numbered in the first cell alone: they are the same in all.
    """
    size = text_size()
    drawn = extents(configurations, space, points)
    if under is not None:
        drawn = np.concatenate([drawn, extents(under, space)], axis=1)
    centers = middles(drawn)
    # Numbers and labels together are centered under the shape; a number is clear of the widest share, "100 %".
    label = label_size(labels or (), size)
    label_shift, number_shift, side = 0.0, 0.0, "center"
    if numbers is not None and labels is not None:
        label = label_size([f"{n}  {text}" for n, text in zip(numbers, labels, strict=True)] + ["10 100 %"], size)
        label_shift, number_shift, side = 0.8 * size, -1.2 * size, "right"
    elif numbers is not None:
        label = label_size([str(n) for n in numbers], size)
    cells = list(drawn - centers[:, None])
    if points == "numbers":
        # Numbers stand around the landmarks.
        reach = _NUMBERS * max(np.ptp(cells[0].real), np.ptp(cells[0].imag))
        cells[0] = np.concatenate([cells[0] + reach * way for way in (1, 1j, -1, -1j)])
    has_lines = is_line(with_defaults(line).get("linestyle", "-"))
    gap = GAP if has_lines else _GAP_OF_POINTS
    grid = arrange(ax, cells, n_columns=n_columns, label=label, gap=gap, strip=strip, beside=beside)
    if not has_lines:
        _draw_cells(ax, grid, cells)
    below: dict[str, Any] = {
        "color": GRAY,
        "linewidth": 3.2,
        "alpha": 0.7,
        **({} if has_lines else {"linestyle": "none"}),
    }
    for cell, configuration in enumerate(configurations):
        origin = complex(grid.origins[cell] - centers[cell])
        if under is not None:
            draw_shape(ax, under[cell], space, origin=origin, **below)
        look = line if looks is None else {**looks[cell], **line}
        marks = points if cell == 0 else bool(points)
        draw_shape(ax, configuration, space, points=marks, origin=origin, scale=grid.scale, **look)
        if labels is not None:
            grid.write_under(ax, cell, labels[cell], size, label_shift)
        if numbers is not None:
            grid.write_under(ax, cell, str(numbers[cell]), size, number_shift, ha=side, color=DARK_GRAY, gid="number")
    return grid


def _draw_cells(ax: "Axes", grid: Grid, cells: Sequence[ComplexArray]) -> None:
    """Draw a pale rectangle behind each shape: points alone would run together with those of the next cell."""
    from matplotlib.patches import Rectangle

    tops = np.array([float(cell.imag.max()) for cell in cells]) + grid.origins.imag
    heights = tops - grid.bottoms
    # Labels start three points below the shapes.
    margin, rim = 0.3 * _GAP_OF_POINTS * (grid.right - grid.left), 3 / 72 / grid.scale
    width = grid.right - grid.left + 2 * margin
    for origin, bottom in zip(grid.origins, grid.bottoms, strict=True):
        height = float(heights[grid.bottoms == bottom].max()) + 2 * rim
        corner = (float(origin.real) + grid.left - margin, float(bottom) - rim)
        ax.add_patch(Rectangle(corner, width, height, facecolor=PALE_GRAY, edgecolor="none", zorder=0))
