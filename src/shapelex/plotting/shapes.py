"""Shapes as they are: one of them, or many side by side or over each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, IntArray
from shapelex._validation import check_count
from shapelex.exceptions import ShapeInputError
from shapelex.geometry import mean_shape, rotate_onto
from shapelex.plotting.axes import clear_axes, resolve_axes
from shapelex.plotting.coloring import Coloring, color_by, column_of
from shapelex.plotting.curves import checked_shape, curve_points
from shapelex.plotting.drawing import Points, draw_shape, faintness, spread_rows, with_defaults
from shapelex.plotting.galleries import draw_gallery
from shapelex.plotting.models import refuse_model
from shapelex.plotting.poses import Pose, pose_rotations
from shapelex.plotting.scale_bars import draw_scale_bar, resolve_unit, strip_height
from shapelex.plotting.style import styled, text_size
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@styled
def plot_shape(
    z: ArrayLike, space: Space | None = None, *, points: Points = False, ax: "Axes | None" = None, **line: Any
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
    points : bool or "numbers", default False
        Whether to mark the landmarks, knots or control points too; ``"numbers"`` also numbers them, from 1 as in the
        names of columns (``x1``, ``y1``).
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of the line, as in :meth:`matplotlib.axes.Axes.plot`. ``linestyle="none"`` draws the points alone,
        for landmarks that follow no curve.

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


@styled
def plot_shapes(
    Z: ArrayLike,
    space: Space | None = None,
    *,
    color: Any = None,
    overlay: bool = False,
    pose: Pose | ArrayLike = "given",
    labels: Sequence[str] | None = None,
    n_columns: int | None = None,
    points: Points = False,
    scale_bar: bool | str | None = None,
    max_shapes: int | None = None,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    """Draw configurations side by side, or over each other, in the size they have.

    Parameters
    ----------
    Z : array_like of complex, shape (n_shapes, n_coordinates), or ShapeSet
        Configurations.
    space : Space, optional
        Space of the configurations; that of the set, or landmarks, when not given.
    color : str, color or array_like of shape (n_shapes,), optional
        Column of the set that gives the colors, such as ``"label"`` or a name in its metadata; values, one per shape;
        or one color of matplotlib for all shapes. Text, booleans and at most 6 different whole numbers are
        categories, with a legend, and lines differ by their dashes too; other numbers have a color bar. Shapes are
        sorted by the values.
    overlay : bool, default False
        Draw the shapes over each other instead of each in its own cell. With a `pose`, they have a common center, and
        a thick line is the mean of each category.
    pose : {"given", "mean", "principal"} or array_like of complex, shape (n_coordinates,), default "given"
        How to rotate the shapes: not at all; along their mean, which lies flat; each along its own long axis; or along
        a given configuration.
    labels : sequence of str, optional
        Text under each shape, where they are side by side.
    n_columns : int, optional
        Shapes in a row; as many as make the shapes largest when not given.
    points : bool or "numbers", default False
        Whether to mark the landmarks, knots or control points too; ``"numbers"`` also numbers those of the first
        shape, from 1.
    scale_bar : bool or str, optional
        Whether to draw a scale bar, or the unit of the coordinates. When not given, a bar is drawn where the metadata
        of the set say the unit.
    max_shapes : int, optional
        Maximum number of shapes to draw, taken evenly; the title then says how many of all are shown. All when not
        given.
    fontsize : float, optional
        Size of the text, in points; your ``font.size`` where you set it, else 8, when not given.
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
        If `Z` holds no configurations of the space, `labels` or `color` are not one per shape, there is no such column
        or color, or the unit of a scale bar is not known.

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
    refuse_model(Z, "plot_shapes", "Z")
    configurations, space = read_configurations(Z, space, "Z")
    n_shapes = len(configurations)
    if labels is not None and len(labels) != n_shapes:
        raise ShapeInputError(f"labels must be one for each of the {n_shapes} shapes, got {len(labels)}.")
    if max_shapes is not None:
        check_count(max_shapes, 1, "max_shapes")
    column, unit = column_of(Z, color, n_shapes), resolve_unit(scale_bar, Z)
    if color is not None and column is None:
        line = {"color": color, **line}
    coloring = None if column is None else color_by(*column)
    order = np.arange(n_shapes) if coloring is None else coloring.order
    rows = order[spread_rows(n_shapes, max_shapes)]
    if not isinstance(pose, str) or pose != "given":
        centered = space.centered(configurations)
        configurations = pose_rotations(configurations, space, pose)[:, None] * centered
    ax, size = resolve_axes(ax), text_size(fontsize)
    if overlay:
        _draw_over_each_other(ax, configurations, space, rows, coloring, points, line)
        if coloring is not None and isinstance(pose, str) and pose != "given":
            _draw_category_means(ax, configurations, space, coloring)
        _add_bar_below(ax, unit, curve_points(configurations[rows], space))
        clear_axes(ax)
    else:
        _draw_side_by_side(ax, configurations, space, rows, coloring, labels, unit, n_columns, points, line)
    if coloring is not None:
        coloring.explain(ax)
    if len(rows) < n_shapes:
        ax.set_title(f"{len(rows)} of {n_shapes} shapes", fontsize=size)
    return ax


def _draw_side_by_side(
    ax: "Axes",
    configurations: ComplexArray,
    space: Space,
    rows: IntArray,
    coloring: Coloring | None,
    labels: Sequence[str] | None,
    unit: str | None,
    n_columns: int | None,
    points: Points,
    line: dict[str, Any],
) -> None:
    strip = 0.0 if unit is None else strip_height()
    grid = draw_gallery(
        ax,
        configurations[rows],
        space,
        None if labels is None else [str(labels[row]) for row in rows],
        n_columns=n_columns,
        points=points,
        looks=None if coloring is None else [coloring.looks[row] for row in rows],
        strip=strip,
        beside=0.0 if coloring is None else coloring.height(ax),
        **line,
    )
    if unit is not None:
        right = float(grid.origins.real.max()) + grid.right
        # The bar is at the top of its strip, with the label below it.
        y = ax.get_ylim()[0] + (strip - 2 / 72) / grid.scale
        draw_scale_bar(ax, unit, 0.7 * (grid.right - grid.left), right, y)


def _draw_over_each_other(
    ax: "Axes",
    configurations: ComplexArray,
    space: Space,
    rows: IntArray,
    coloring: Coloring | None,
    points: Points,
    line: dict[str, Any],
) -> None:
    for place, row in enumerate(rows):
        look = line
        if coloring is not None:
            # Dashes of many lines over each other would be noise.
            faint = {"linewidth": 0.6, "alpha": faintness(len(rows)), "zorder": 1}
            look = faint | {"color": coloring.looks[row]["color"]} | with_defaults(line)
        draw_shape(ax, configurations[row], space, points=points if place == 0 else bool(points), **look)


def _draw_category_means(ax: "Axes", centered: ComplexArray, space: Space, coloring: Coloring) -> None:
    """Draw the mean shape of each category in the mean size of its shapes, rotated onto the mean of its lines."""
    for rows in coloring.categories.values():
        group = centered[rows]
        mean = rotate_onto(mean_shape(group, space=space), group.mean(axis=0), space)
        size = float(space.norm(group).mean() / space.norm(mean))
        draw_shape(ax, size * mean, space, zorder=3, linewidth=1.8, **coloring.looks[int(rows[0])])


def _add_bar_below(ax: "Axes", unit: str | None, curves: ComplexArray) -> None:
    if unit is None:
        return
    height = float(np.ptp(curves.imag))
    width, right = float(np.ptp(curves.real)), float(curves.real.max())
    draw_scale_bar(ax, unit, width / 4, right, float(curves.imag.min()) - 0.08 * (height or width))
