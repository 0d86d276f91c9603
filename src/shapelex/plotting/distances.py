"""Distances between shapes as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ArrayLike
from shapelex._validation import as_numeric_array
from shapelex.exceptions import ShapeInputError
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.palette import DARK_GRAY
from shapelex.plotting.style import styled, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 40


@styled
def plot_distances(
    distances: ArrayLike,
    *,
    labels: Sequence[str] | ArrayLike | None = None,
    names: Sequence[str] | ArrayLike | None = None,
    colormap: str = "viridis",
    fontsize: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a table of distances as colors, shapes of a label next to each other.

    Parameters
    ----------
    distances : array_like of float, shape (n_first, n_second)
        Distances, as :func:`shapelex.pairwise_distances` returns them.
    labels : sequence of str, optional
        Label of each shape, where rows and columns are the same shapes: they are sorted by it, stably, with lines
        between labels and their names at the side.
    names : sequence of str, optional
        Name of each row, written at its side where there is room: for at most 40 rows without labels.
    colormap : str, default "viridis"
        Name of a color map of matplotlib.
    fontsize : float, optional
        Size of all text, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a color bar.

    Raises
    ------
    ShapeInputError
        If `distances` is no table of numbers, or `labels` are not one for each of its rows and columns.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> D = sx.pairwise_distances([[0, 1, 1j], [0, 2, 1j], [0, 1, 3j]])
    >>> ax = sx.plotting.plot_distances(D, labels=["b", "a", "b"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b']
    """
    table = as_numeric_array(distances, "distances")
    if table.ndim != 2 or np.iscomplexobj(table) or 0 in table.shape:
        raise ShapeInputError(f"distances must be a table of real numbers, got shape {table.shape}.")
    ax, size = resolve_axes(ax), text_size(fontsize)
    groups = None if labels is None else np.asarray(labels).astype(str)
    if groups is not None:
        if table.shape != (len(groups), len(groups)):
            raise ShapeInputError(
                f"labels must be one for each row and column of distances, got {len(groups)} for shape {table.shape}."
            )
        order = np.argsort(groups, kind="stable")
        table, groups = table[np.ix_(order, order)], groups[order]
    image = ax.imshow(table, cmap=colormap, vmin=0.0, interpolation="nearest", aspect="equal")
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
    bar.ax.tick_params(labelsize=size)
    bar.outline.set_visible(False)
    bar.set_label("distance", fontsize=size)
    ax.tick_params(labelsize=size, length=2)
    if groups is not None:
        _mark_groups(ax, groups)
    elif names is not None and len(table) <= _MOST_NAMED:
        ax.set_yticks(range(len(table)), [str(name) for name in np.asarray(names)])
        ax.set_xticks([])
    return ax


def _mark_groups(ax: "Axes", groups: np.ndarray[tuple[int], np.dtype[np.str_]]) -> None:
    """Draw lines between the groups of sorted rows, and write their names at the middle of each."""
    kinds, starts, counts = np.unique(groups, return_index=True, return_counts=True)
    for start in starts[1:]:
        ax.axhline(start - 0.5, color="white", linewidth=0.8)
        ax.axvline(start - 0.5, color="white", linewidth=0.8)
    middles = starts + (counts - 1) / 2
    shown = kinds if len(kinds) <= _MOST_NAMED else [""] * len(kinds)
    ax.set_yticks(middles, [name or "(none)" for name in shown])
    ax.set_xticks(middles, [""] * len(kinds))
    ax.tick_params(colors=DARK_GRAY, labelcolor="black")
