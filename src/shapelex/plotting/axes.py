"""Axes to draw on: where they come from, how large they are, and how they are cleared for shapes.

matplotlib is imported here and inside the functions that need it, never when the package is.
"""

from typing import TYPE_CHECKING

from shapelex.exceptions import ParameterTypeError
from shapelex.plotting.literal_text import literal
from shapelex.plotting.style import import_matplotlib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


def resolve_axes(ax: "Axes | None") -> "Axes":
    """Return `ax`, or the current axes of pyplot; refuse what is none."""
    import_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        return plt.gca()
    if not isinstance(ax, Axes):
        raise ParameterTypeError(f"ax must be matplotlib Axes, or None for the current ones, got {type(ax).__name__}.")
    return ax


def own_axes(ax: "Axes | None") -> "Axes":
    """Return `ax`, or the axes of a new figure: results that are drawn one after another do not pile up."""
    if ax is not None:
        return resolve_axes(ax)
    import_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def label_axes(ax: "Axes", x_name: str, y_name: str, fontsize: float) -> None:
    """Name both axes, with whole numbers along x and grid lines along y."""
    import matplotlib as mpl
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(x_name, fontsize=fontsize)
    ax.set_ylabel(y_name, fontsize=fontsize)
    ax.tick_params(labelsize=fontsize)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    ax.grid(axis="y", color=mpl.rcParams["grid.color"], linewidth=mpl.rcParams["grid.linewidth"])
    ax.set_axisbelow(True)
    ax.spines["top"].set_visible(mpl.rcParams["axes.spines.top"])
    ax.spines["right"].set_visible(mpl.rcParams["axes.spines.right"])


def name_rows_along_y(ax: "Axes", names: "Sequence[str]", x_name: str, fontsize: float) -> None:
    """Give an axes one named row per entry, the first on top, and a name of the values along x."""
    import matplotlib as mpl

    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), [literal(name) for name in names], fontsize=fontsize)
    ax.tick_params(labelsize=fontsize)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(literal(x_name), fontsize=fontsize)
    ax.spines["top"].set_visible(mpl.rcParams["axes.spines.top"])
    ax.spines["right"].set_visible(mpl.rcParams["axes.spines.right"])


def clear_axes(ax: "Axes") -> None:
    """Leave only what is drawn: no frame, no ticks, and one scale for x and y."""
    ax.set_aspect("equal")
    ax.set_axis_off()


def size_in_inches(ax: "Axes") -> tuple[float, float]:
    """Return width and height of the place the figure gives to `ax`, before equal axes shrink it."""
    place, figure = ax.get_position(original=True), ax.figure
    width, height = place.width * figure.bbox.width / figure.dpi, place.height * figure.bbox.height / figure.dpi
    if figure.get_layout_engine() is not None:
        # Constrained and tight layouts will take away margins that bare axes do not need.
        margins = figure.subplotpars
        width, height = width / (margins.right - margins.left), height / (margins.top - margins.bottom)
    return width, height
