"""Colors by a column: one per category with a legend, or a color map with a color bar for numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import IntArray
from shapelex.exceptions import ShapeInputError
from shapelex.plotting.axes import size_in_inches
from shapelex.plotting.literal_text import literal
from shapelex.plotting.palette import CATEGORY_COLORS, CYCLE, DASHES, GRAY
from shapelex.plotting.style import cycle_colors, text_size
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import Column, column_from_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CATEGORIES = 12  # colors and dashes repeat together after so many
_FEW_WHOLE_NUMBERS = 6
_NONE = "(none)"
_LINE_HEIGHT = 1.6  # of a legend, as a share of the text size
_BAR_HEIGHT = 4.5  # of a color bar with its label, likewise


@dataclass(frozen=True)
class Coloring:
    """How shapes are drawn by the values of a column.

    Attributes
    ----------
    title : str
        Name of the column.
    looks : list of dict
        Properties of the line of each shape.
    order : ndarray of int
        Rows, sorted by the column.
    categories : dict of str to ndarray of int
        Rows of each category; empty for numbers.
    bounds : tuple of float
        Least and greatest number.
    """

    title: str
    looks: list[dict[str, Any]]
    order: IntArray
    categories: dict[str, IntArray]
    bounds: tuple[float, float] = (0.0, 1.0)

    def height(self, ax: "Axes") -> float:
        """Return the height, in inches, that the legend or the color bar will take from the axes."""
        n_lines = -(-len(self.categories) // self._n_columns(ax)) + bool(self.title) if self.categories else 0
        return text_size() * (_LINE_HEIGHT * n_lines + 0.5 if self.categories else _BAR_HEIGHT) / 72

    def explain(self, ax: "Axes") -> None:
        """Draw the legend or the color bar below the axes."""
        if not self.categories:
            self._draw_bar(ax)
            return
        from matplotlib.lines import Line2D

        looks = [self.looks[int(rows[0])] for rows in self.categories.values()]
        handles = [
            Line2D([], [], label=literal(name), **look) for name, look in zip(self.categories, looks, strict=True)
        ]
        options: dict[str, Any] = {"title": literal(self.title)} if self.title else {}
        ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=self._n_columns(ax),
                  frameon=False, fontsize=text_size(), title_fontsize=text_size(), handlelength=1.9, columnspacing=1.2,
                  borderaxespad=0.2, **options)  # fmt: skip

    def _n_columns(self, ax: "Axes") -> int:
        # The line of an entry and the gaps beside it are as wide as four characters are high.
        widest = text_size() * (0.56 * max(map(len, self.categories)) + 4) / 72
        return max(1, min(len(self.categories), int(size_in_inches(ax)[0] / widest)))

    def _draw_bar(self, ax: "Axes") -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        values = ScalarMappable(Normalize(*self.bounds), even_colormap())
        bar = ax.figure.colorbar(values, ax=ax, location="bottom", shrink=0.5, aspect=25, pad=0.03)
        bar.ax.tick_params(labelsize=text_size(), length=2)
        bar.outline.set_visible(False)
        bar.set_label(literal(self.title), fontsize=text_size())


def column_of(shapes: Any, color: Any, n_shapes: int) -> tuple[Column, str] | None:
    """Return the values by which `color` asks to color the shapes, and their name; None where it is a plain color."""
    from matplotlib.colors import is_color_like

    if color is None or isinstance(color, tuple):
        return None
    if not isinstance(color, str):
        values = np.asarray(color)
        if values.ndim != 1 or len(values) != n_shapes:
            raise ShapeInputError(
                f"color must be a color, the name of a column, or one value for each of the {n_shapes} shapes, got "
                f"shape {values.shape}."
            )
        return column_from_values(values.tolist()), str(getattr(color, "name", None) or "")
    columns = dict(shapes.columns.described()) if isinstance(shapes, ShapeSet) else {}
    if color in columns:
        return columns[color], color
    if is_color_like(color):
        return None
    known = f"a column of the shapes, which have {', '.join(columns)}, nor" if columns else ""
    raise ShapeInputError(
        f"color={color!r} is {'neither ' + known if columns else 'not'} a color of matplotlib."
        + ("" if columns else " Columns can be named where the shapes are a ShapeSet: give the set, not its array.")
    )


def color_by(values: Column, title: str) -> Coloring:
    """Return the colors of shapes by categories, or by numbers where there are more than a few."""
    is_number = values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > _FEW_WHOLE_NUMBERS)
    return _color_by_number(values.astype(np.float64), title) if is_number else _color_by_category(values, title)


def _color_by_category(values: Column, title: str) -> Coloring:
    names = np.array([str(value) or _NONE for value in values.tolist()])
    kinds = _sorted_kinds(values, names)
    if len(kinds) > _MOST_CATEGORIES:
        raise ShapeInputError(
            f"color={title!r} has {len(kinds)} different values, but at most {_MOST_CATEGORIES} can be told apart: "
            "choose a column of categories or numbers, or draw fewer shapes."
        )
    looks = {
        kind: {"color": GRAY, "linestyle": "-"} if kind == _NONE else _category_look(k) for k, kind in enumerate(kinds)
    }
    rows: dict[str, IntArray] = {kind: np.flatnonzero(names == kind) for kind in kinds}
    return Coloring(title, [looks[str(name)] for name in names], np.concatenate(list(rows.values())), rows)


def _category_look(place: int) -> dict[str, Any]:
    """Return color and dashes of a category, which no two of the first 12 share."""
    colors = cycle_colors()
    n_solid = len(colors)
    if tuple(colors) == CYCLE:
        colors, n_solid = list(CATEGORY_COLORS), 3
    return {"color": colors[place % len(colors)], "linestyle": DASHES[place // n_solid % len(DASHES)]}


def _sorted_kinds(values: Column, names: Any) -> Sequence[str]:
    """Return the categories, numbers by size and shapes without a value last."""
    _, first = np.unique(values, return_index=True)
    kinds = [str(names[place]) for place in first]
    return [kind for kind in kinds if kind != _NONE] + [_NONE] * (_NONE in kinds)


def even_colormap() -> Any:
    """Return a map from dark to light that is even in lightness, without the yellow that is hard to see on white."""
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap

    return ListedColormap(mpl.colormaps["viridis"](np.linspace(0.0, 0.9, 256)))


def _color_by_number(values: Any, title: str) -> Coloring:
    from matplotlib.colors import to_hex

    known = values[np.isfinite(values)]
    if not known.size:
        raise ShapeInputError(f"color={title!r} has no finite number: choose another column.")
    least, greatest = float(known.min()), float(known.max())
    colormap = even_colormap()
    shares = (values - least) / ((greatest - least) or 1.0)
    looks = [{"color": to_hex(colormap(share)) if np.isfinite(share) else GRAY} for share in shares]
    return Coloring(title, looks, np.argsort(values, kind="stable"), {}, (least, greatest))
