"""Shapes as they are: one of them, or many side by side or over each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shapelex._typing import ArrayLike
from shapelex.exceptions import ShapeInputError
from shapelex.plotting.axes import clear_axes, resolve_axes
from shapelex.plotting.curves import checked_shape
from shapelex.plotting.drawing import draw_shape
from shapelex.plotting.galleries import draw_gallery
from shapelex.plotting.palette import FONT_SIZE
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_shape(
    z: ArrayLike, space: Space | None = None, *, points: bool = False, ax: "Axes | None" = None, **line: Any
) -> "Axes":
    """Draw one configuration as the curve it stands for.

    Call it again on the same axes to draw shapes over each other.

    Parameters
    ----------
    z : array_like of complex, shape (n_coordinates,)
        Configuration, drawn where it lies.
    space : Space, optional
        Space of the configuration; landmarks when not given. Splines are drawn as smooth curves, landmarks as the
        polygon through them.
    points : bool, default False
        Whether to mark the landmarks, knots or control points too.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of the line, as in :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, at equal scales and without frame.

    Raises
    ------
    ShapeInputError
        If `z` is no single configuration of the space.
    UnsupportedBySpaceError
        If the space has no curves, or no points to mark.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_shape([0, 1, 1 + 1j, 1j], sx.Landmarks(4, closed=True), ax=Figure().subplots())
    >>> ax.lines[0].get_xdata().tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0]
    """
    configuration, space = checked_shape(z, space, "z")
    ax = resolve_axes(ax)
    draw_shape(ax, configuration, space, points=points, **line)
    clear_axes(ax)
    return ax


def plot_shapes(
    Z: ArrayLike,
    space: Space | None = None,
    *,
    overlay: bool = False,
    labels: Sequence[str] | None = None,
    n_columns: int | None = None,
    points: bool = False,
    fontsize: float = FONT_SIZE,
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    """Draw configurations side by side, or over each other, in the size and pose they have.

    Parameters
    ----------
    Z : array_like of complex, shape (n_shapes, n_coordinates)
        Configurations.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    overlay : bool, default False
        Draw each shape where it lies, instead of in a cell of its own.
    labels : sequence of str, optional
        What to write under each shape, where they are side by side.
    n_columns : int, optional
        Shapes in a row; as many as make the shapes largest when not given.
    points : bool, default False
        Whether to mark the landmarks, knots or control points too.
    fontsize : float, default 8
        Size of the labels, in points.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of the lines, as in :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ShapeInputError
        If `Z` holds no configurations of the space, or `labels` are not one per shape.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> circle = np.exp(2j * np.pi * np.arange(60) / 60)
    >>> space = sx.BSpline(12)
    >>> Z = space.fit([circle + a * circle**-2 for a in (0, 0.2, 0.4)])
    >>> ax = sx.plotting.plot_shapes(Z, space, labels=["none", "some", "more"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['none', 'some', 'more']
    """
    configurations, space = read_configurations(Z, space, "Z")
    if labels is not None and len(labels) != len(configurations):
        raise ShapeInputError(f"labels must be one for each of the {len(configurations)} shapes, got {len(labels)}.")
    ax = resolve_axes(ax)
    if overlay:
        for configuration in configurations:
            draw_shape(ax, configuration, space, points=points, **line)
        clear_axes(ax)
        return ax
    draw_gallery(ax, configurations, space, labels, n_columns=n_columns, points=points, fontsize=fontsize, **line)
    return ax
