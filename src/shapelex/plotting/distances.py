"""Distances between shapes as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ArrayLike, FloatArray
from shapelex._validation import as_numeric_array
from shapelex.exceptions import ShapeInputError
from shapelex.plotting.axes import resolve_axes, size_in_inches
from shapelex.plotting.literal_text import literal
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
    if groups is not None or names is not None:
        # Layouts reckon with names beside the place of the axes, also where equal scales make the axes narrower.
        ax.set_anchor("W")
    if groups is not None:
        _mark_groups(ax, groups, size)
    elif names is not None and len(table) <= _MOST_NAMED:
        ax.set_yticks(range(len(table)), [literal(name) for name in np.asarray(names)])
        ax.set_xticks([])
    else:
        from matplotlib.ticker import MaxNLocator

        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator("auto", integer=True))
    return ax


def _mark_groups(ax: "Axes", groups: np.ndarray[tuple[int], np.dtype[np.str_]], fontsize: float) -> None:
    """Draw lines between the groups of sorted rows, and write their names at the middle of each."""
    kinds, starts, counts = np.unique(groups, return_index=True, return_counts=True)
    for start in starts[1:]:
        ax.axhline(start - 0.5, color="white", linewidth=0.8)
        ax.axvline(start - 0.5, color="white", linewidth=0.8)
    middles = starts + (counts - 1) / 2
    # Names of small groups would overlap: they are moved apart, with a line from each to its rows.
    line_height = 1.25 * fontsize / 72 * len(groups) / (0.8 * min(size_in_inches(ax)))
    places = _moved_apart(middles, line_height, len(groups) - 1.0)
    limits = ax.get_xlim(), ax.get_ylim()
    ax.set_xticks(middles, [""] * len(kinds))
    ax.tick_params(colors=DARK_GRAY, labelcolor="black")
    if places is None:
        ax.set_yticks(middles, [""] * len(kinds))
        return
    ax.set_yticks(places, [literal(name or "(none)") for name in kinds.tolist()])
    ax.tick_params(axis="y", length=0, pad=7)
    ends = [limits[0][0], limits[0][0] - 0.02 * len(groups)]
    for middle, place in zip(middles, places, strict=True):
        ax.plot(ends, [middle, place], color=DARK_GRAY, linewidth=0.5, clip_on=False, gid="tick")
    ax.set(xlim=limits[0], ylim=limits[1])


def _moved_apart(places: FloatArray, least: float, last: float) -> FloatArray | None:
    """Return places moved as little as possible to be so far apart between 0 and `last`; None where they do not fit."""
    from scipy.optimize import isotonic_regression

    steps = least * np.arange(len(places))
    if steps[-1] > last:
        return None
    moved: FloatArray = np.clip(isotonic_regression(places - steps).x, 0, last - steps[-1]) + steps
    return moved
