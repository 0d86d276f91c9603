"""Which classes a classifier takes for which, as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike
from shapelex.exceptions import ShapeInputError
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.literal_text import literal
from shapelex.plotting.style import styled, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_COUNTED = 25
_DARK_SHARE = 0.55
_MOST_LETTERS_ABREAST = 40


@styled
def plot_confusion(
    true: Sequence[Any] | ArrayLike,
    predicted: Sequence[Any] | ArrayLike,
    *,
    classes: Sequence[Any] | ArrayLike | None = None,
    colormap: str = "Blues",
    fontsize: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a confusion matrix: the shapes of each class (rows) by their predicted class (columns).

    Colors are shares of the shapes of a row, so that small classes show as well as large ones. The numbers are counts;
    they are written for at most 25 classes.

    Parameters
    ----------
    true : sequence
        Class of each shape.
    predicted : sequence
        Class that each shape was given, best while it was held out.
    classes : sequence, optional
        Order of the classes; sorted when not given.
    colormap : str, default "Blues"
        Name of a color map of matplotlib, from light to dark.
    fontsize : float, optional
        Size of all text, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ShapeInputError
        If there is not one predicted class for each true one, or `classes` lacks one of them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_confusion(["oak", "oak", "elm"], ["oak", "elm", "elm"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['1', '1', '1']
    """
    first, second = np.asarray(true), np.asarray(predicted)
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise ShapeInputError(
            f"true and predicted must hold one class for each shape, got shapes {first.shape} and {second.shape}."
        )
    order = np.unique(np.concatenate([first, second])) if classes is None else np.asarray(classes)
    unknown = np.setdiff1d(np.concatenate([first, second]), order)
    if len(unknown):
        raise ShapeInputError(f"classes must hold all classes, but {unknown.tolist()[0]!r} is missing.")
    places = {name: place for place, name in enumerate(order.tolist())}
    counts = np.zeros((len(order), len(order)), dtype=np.int64)
    np.add.at(counts, ([places[name] for name in first.tolist()], [places[name] for name in second.tolist()]), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax, size = resolve_axes(ax), text_size(fontsize)
    ax.imshow(shares, cmap=colormap, vmin=0.0, vmax=1.0, interpolation="nearest", aspect="equal")
    if len(order) <= _MOST_COUNTED:
        for row, column in np.argwhere(counts):
            color = "white" if shares[row, column] > _DARK_SHARE else "black"
            text = str(counts[row, column])
            ax.text(column, row, text, ha="center", va="center", color=color, fontsize=size)
    names = [str(name) for name in order.tolist()]
    ticks = range(len(names))
    # Smaller names where there are many classes.
    name_size = min(size, 200 / len(names))
    turn = 0 if sum(map(len, names)) <= _MOST_LETTERS_ABREAST else 90
    shown = [literal(name) for name in names]
    ax.set_xticks(ticks, shown, rotation=turn, fontsize=name_size)
    ax.set_yticks(ticks, shown, fontsize=name_size)
    ax.tick_params(length=0)
    ax.set_xlabel("predicted class", fontsize=size)
    ax.set_ylabel("class", fontsize=size)
    return ax
