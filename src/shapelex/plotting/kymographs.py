"""Kymographs: a quantity along the body of an animal or the outline of a cell, against time."""

from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ArrayLike
from shapelex._validation import as_numeric_array, check_positive
from shapelex.exceptions import ShapeInputError
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.literal_text import literal
from shapelex.plotting.style import styled, text_size
from shapelex.plotting.time_axis import time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ends of the colors, so that a few sharp bends do not make all others pale.
_PERCENTILE = 99.0


@styled
def plot_kymograph(
    values: ArrayLike,
    frames: ArrayLike | None = None,
    *,
    fps: float | None = None,
    name: str = "curvature × length",
    ends: tuple[str, str] = ("head", "tail"),
    limit: float | None = None,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a quantity such as curvature along the body, against time: a wave is a slanted stripe.

    Zero is white, and both signs have colors of their own. Missing frames are gray.

    Parameters
    ----------
    values : array_like of float, shape (n_frames, n_points)
        The quantity at points at equal steps along the body, for each frame of one series.
    frames, fps
        As in :func:`plot_weights`.
    name : str, default "curvature × length"
        What the quantity is, for the color bar.
    ends : tuple of two str, default ("head", "tail")
        Names of the first and the last point of the body.
    limit : float, optional
        Value at the ends of the color bar; the 99th percentile of the absolute values when not given.
    fontsize : float, optional
        Size of the text, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ShapeInputError
        If `values` is no table of real numbers, all are NaN, there is not one frame number per row, or a frame occurs
        twice.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> wave = np.sin(np.linspace(0, 20, 90)[:, None] - np.linspace(0, 6, 19))
    >>> ax = sx.plotting.plot_kymograph(wave, fps=30, ax=Figure().subplots())
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_yticklabels()]
    ('time (s)', ['head', 'tail'])
    """
    import matplotlib as mpl

    table = as_numeric_array(values, "values")
    if table.ndim != 2 or np.iscomplexobj(table) or table.shape[1] < 2:
        raise ShapeInputError(
            f"values must be real, (n_frames, n_points) with two points or more, got {table.dtype} {table.shape}."
        )
    times = time_axis(len(table), frames, fps)
    known = np.abs(table[np.isfinite(table)])
    if not known.size:
        raise ShapeInputError("values has no finite number: there is nothing to draw.")
    most = (float(np.percentile(known, _PERCENTILE)) or 1.0) if limit is None else check_positive(limit, "limit")
    ax, size = resolve_axes(ax), text_size(fontsize)
    picture = np.full((int(times.frames[-1] - times.frames[0]) + 1, table.shape[1]), np.nan)
    picture[times.frames - times.frames[0]] = table[times.order]
    colors = mpl.colormaps["RdBu_r"].with_extremes(bad="#DDDDDD")
    begin, end = times.bounds
    image = ax.imshow(
        picture.T, extent=(begin, end, 1, 0), aspect="auto", interpolation="nearest", cmap=colors, vmin=-most, vmax=most
    )
    ax.set_yticks([0, 1], [literal(end) for end in ends])
    ax.tick_params(axis="y", length=0)
    times.set_up(ax, size)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    bar = ax.figure.colorbar(
        image, ax=ax, shrink=0.8, aspect=14, pad=0.03, extend="both" if known.max() > most else "neither"
    )
    bar.set_label(literal(name), fontsize=size)
    bar.ax.tick_params(labelsize=size, length=2)
    bar.outline.set_visible(False)
    return ax
