"""Letters of the panels of a figure."""

from collections.abc import Iterable
from itertools import count
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from shapelex.exceptions import ParameterError
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.literal_text import literal
from shapelex.plotting.style import styled, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAME_COLUMN = 0.03  # of the width of the figure


@styled
def letter_panels(
    axes: "Iterable[Axes] | Axes", letters: Iterable[str] | None = None, *, fontsize: float | None = None
) -> None:
    """Write a bold letter at the upper left of each panel of a figure.

    Letters are aligned with the outermost left edge of their panel, tick labels included, so call it when all panels
    are drawn.

    Parameters
    ----------
    axes : array or iterable of matplotlib.axes.Axes
        The panels in the order of the letters, such as the array that ``plt.subplots`` returns.
    letters : iterable of str, optional
        The letters; A, B, C, … when not given. ``"abc"`` gives small letters.
    fontsize : float, optional
        Size of the letters, in points; 2 more than that of other text when not given.

    Raises
    ------
    TypeError
        If `axes` are none.
    ValueError
        If there are fewer letters than panels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> panels = Figure().subplots(1, 2)
    >>> sx.plotting.letter_panels(panels)
    >>> [panel.texts[0].get_text() for panel in panels]
    ['A', 'B']
    """
    panels = _panels(axes)
    names = list(_letters(len(panels)) if letters is None else letters)
    if len(names) < len(panels):
        raise ParameterError(f"letters must be one for each of the {len(panels)} panels, got {len(names)}.")
    size = text_size() + 2 if fontsize is None else fontsize
    for panel in panels:
        if panel.get_aspect() == 1:
            # Equal scales shrink the axes; at the top of their place, all letters of a row are at one height.
            panel.set_anchor("NW" if "W" in panel.get_anchor() else "N")
    corners = [_corner(panel, size) for panel in panels]
    for (whole, _, rise), panel, name in zip(corners, panels, names, strict=False):
        # Panels below each other have their letters below each other, also where only some have labels on the left.
        left = min(outer for other, outer, _ in corners if abs(other - whole) < _SAME_COLUMN)
        panel.annotate(
            literal(name),
            (left, 1),
            xytext=(0, rise),
            xycoords=("figure fraction", "axes fraction"),
            textcoords="offset points",
            ha="left",
            va="bottom",
            fontsize=size,
            fontweight="bold",
            gid="panel",
        )


def _panels(axes: Any) -> "list[Axes]":
    if hasattr(axes, "ravel"):
        axes = axes.ravel()
    return [resolve_axes(one) for one in (axes if hasattr(axes, "__iter__") else [axes])]


def _letters(n_letters: int) -> list[str]:
    rounds = (letter if turn == 0 else f"{letter}{turn + 1}" for turn in count() for letter in ascii_uppercase)
    return [next(rounds) for _ in range(n_letters)]


def _corner(ax: "Axes", size: float) -> tuple[float, float, float]:
    """Return the left edge of a panel without and with labels, as shares of the figure, and the height of a letter."""
    figure = ax.get_figure(root=True)
    if figure is None:
        return 0.0, 0.0, 0.0
    figure.draw_without_rendering()
    place = ax.get_window_extent()
    outer = ax.get_tightbbox() or place
    # Axes that equal scales made narrower keep the left edge of their place.
    holder = ax.figure.bbox
    whole = holder.x0 + ax.get_position(original=True).x0 * holder.width
    left = min(outer.x0, whole)
    title = ax.title.get_window_extent()
    is_in_the_way = bool(ax.get_title()) and title.x0 < left + 1.2 * size * figure.dpi / 72
    rise = 2.0 + (title.y1 - place.y1) * 72 / figure.dpi * is_in_the_way
    return float(whole / figure.bbox.width), float(left / figure.bbox.width), rise
