"""The geometry of shapes: the path from one to another, and the mean of many."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, DistanceKind
from shapelex._validation import check_count
from shapelex.geometry import align_onto, geodesic, mean_shape
from shapelex.plotting.axes import clear_axes, resolve_axes
from shapelex.plotting.curves import checked_shape, curve_points
from shapelex.plotting.drawing import Points, draw_shape, extents, faintness, spread_rows, with_defaults
from shapelex.plotting.grids import arrange, label_size
from shapelex.plotting.palette import BLUE, GRAY, ORANGE
from shapelex.plotting.poses import flat_rotation
from shapelex.plotting.style import styled, text_size
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@styled
def plot_geodesic(
    z: ArrayLike,
    w: ArrayLike,
    space: Space | None = None,
    *,
    n_shapes: int = 7,
    n_columns: int | None = None,
    points: Points = False,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    """Draw shapes at equal steps along the geodesic from one shape to another, as a strip.

    One rotation sets the whole path upright: how the shapes lie to each other belongs to the geodesic.

    Parameters
    ----------
    z, w : array_like of complex, shape (n_coordinates,)
        Configurations whose shapes are the ends of the path.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    n_shapes : int, default 7
        Shapes to draw, both ends included.
    n_columns : int, optional
        Shapes in a row; all in one when not given.
    points : bool or "numbers", default False
        Whether to mark the landmarks, knots or control points too; ``"numbers"`` also numbers those of the first
        shape, from 1.
    fontsize : float, optional
        Size of the labels, in points; your ``font.size`` where you set it, else 8, when not given.
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
        If `z` or `w` are not single configurations of the space.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_geodesic([0, 1, 2, 3j], [0, 1, 1 + 1j, 1j], n_shapes=3, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['t = 0', '0.5', '1']
    """
    start, space = checked_shape(z, space, "z")
    end, _ = checked_shape(w, space, "w")
    times = np.linspace(0.0, 1.0, check_count(n_shapes, 2, "n_shapes"))
    ax, size = resolve_axes(ax), text_size(fontsize)
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    path = geodesic(start, end, times, space)
    path = 1j * flat_rotation(path, space) * path
    columns = len(path) if n_columns is None else n_columns
    labels = [f"{'t = ' if cell == 0 else ''}{time:.2g}" for cell, time in enumerate(times)]
    grid = arrange(ax, list(extents(path, space, points)), n_columns=columns, label=label_size(labels[1:], size))
    blend = LinearSegmentedColormap.from_list("path", [BLUE, "#7B5EA7", ORANGE])
    for cell, (time, shape) in enumerate(zip(times, path, strict=True)):
        look = with_defaults(line, color=to_hex(blend(time)))
        origin, marks = complex(grid.origins[cell]), points if cell == 0 else bool(points)
        draw_shape(ax, shape, space, points=marks, origin=origin, scale=grid.scale, **look)
        grid.write_under(ax, cell, labels[cell], size)
    return ax


@styled
def plot_mean(
    Z: ArrayLike,
    space: Space | None = None,
    *,
    kind: DistanceKind = "full",
    weights: ArrayLike | None = None,
    max_shapes: int = 200,
    points: Points = False,
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    """Draw the mean shape over the shapes, which are aligned to it and gray.

    Parameters
    ----------
    Z : array_like of complex, shape (n_shapes, n_coordinates)
        Configurations.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    kind : {"full", "partial", "geodesic"}, default "full"
        Distance that the mean minimizes.
    weights : array_like of float, shape (n_shapes,), optional
        Non-negative weights of the shapes; all equal when not given.
    max_shapes : int, default 200
        Most shapes to draw in gray, taken evenly from the set. The mean is of all of them.
    points : bool or "numbers", default False
        Whether to mark the landmarks, knots or control points of the mean too, and to number them from 1.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of the line of the mean, as in :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; the long axis of the mean lies along x.

    Raises
    ------
    ShapeInputError
        If `Z` holds no configurations of the space.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_mean([[0, 1, 1j], [0, 2, 1j]], ax=Figure().subplots())
    >>> len(ax.lines)
    3
    """
    configurations, space = read_configurations(Z, space, "Z")
    check_count(max_shapes, 0, "max_shapes")
    mean = mean_shape(configurations, kind, weights, space)
    mean = flat_rotation(mean, space) * mean
    shown = spread_rows(len(configurations), max_shapes)
    ax = resolve_axes(ax)
    look = with_defaults(line, linewidth=1.8, zorder=3)
    # Many lines need be fainter, or they merge into a blot.
    faint: dict[str, Any] = {"color": GRAY, "linewidth": 0.5, "alpha": faintness(shown.size), "zorder": 1}
    faint |= {"linestyle": look["linestyle"]} if "linestyle" in look else {}
    aligned = align_onto(configurations[shown], mean, space) if shown.size else ()
    for shape in aligned:
        draw_shape(ax, shape, space, **faint)
    crowd = np.concatenate([curve_points(shape, space) for shape in (mean, *aligned)])
    draw_shape(ax, mean, space, points=points, crowd=crowd, **look)
    clear_axes(ax)
    return ax
