"""Scale bars, where the size of shapes is known."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex.exceptions import ShapeInputError
from shapelex.plotting.literal_text import literal
from shapelex.plotting.style import text_size
from shapelex.shapes import ShapeSet

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def unit_of(shapes: Any) -> str | None:
    """Return the unit of the coordinates of a set, its column ``units``; None where it is unknown or not the same."""
    columns = shapes.metadata if isinstance(shapes, ShapeSet) else {}
    names = set(map(str, columns["units"].tolist())) if "units" in columns else set()
    return names.pop() if len(names) == 1 and "" not in names else None


def resolve_unit(scale_bar: bool | str | None, shapes: Any) -> str | None:
    """Return the unit of the bar to draw, or None for no bar."""
    if isinstance(scale_bar, str):
        return scale_bar
    known = None if scale_bar is False else unit_of(shapes)
    if scale_bar and known is None:
        raise ShapeInputError(
            "scale_bar=True needs shapes whose unit is known: a ShapeSet with the same unit for all shapes in its "
            'metadata. Name the unit of the coordinates instead, such as scale_bar="mm".'
        )
    return known


def strip_height() -> float:
    """Return the height, in inches, of the strip that a bar and its label need."""
    return (1.3 * text_size() + 8) / 72


def draw_scale_bar(ax: "Axes", unit: str, longest: float, right: float, y: float) -> None:
    """Draw a bar of a round length, at most `longest` in the units of the axes, that ends at `right`."""
    length = round_length(longest)
    left = right - length
    ax.plot([left, right], [y, y], color="black", linewidth=1.5, solid_capstyle="butt", gid="scale bar")
    ax.annotate(
        literal(f"{length:g} {unit}"),
        ((left + right) / 2, y),
        xytext=(0, -2.5),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=text_size(),
        gid="scale bar",
    )


def round_length(longest: float) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten that is at most `longest`."""
    power = 10.0 ** np.floor(np.log10(longest))
    return float(max(step * power for step in (1, 2, 5) if step * power <= longest * (1 + 1e-9)))
