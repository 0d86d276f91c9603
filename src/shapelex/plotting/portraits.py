"""Phase portraits: the path of a complex number, such as a relative weight, through the plane."""

from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import ArrayLike
from shapelex._validation import as_numeric_array
from shapelex.exceptions import CodesError
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.coloring import even_colormap
from shapelex.plotting.literal_text import literal
from shapelex.plotting.palette import LIGHT_GRAY
from shapelex.plotting.style import styled, text_size
from shapelex.plotting.time_axis import time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@styled
def plot_phase_portrait(
    path: ArrayLike,
    frames: ArrayLike | None = None,
    *,
    fps: float | None = None,
    names: tuple[str, str] = ("real part", "imaginary part"),
    fontsize: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the path of a complex number along time, colored by time.

    A body wave is a path around the origin: one turn per wave, forwards in one direction and backwards in the other.

    Parameters
    ----------
    path : array_like of complex, shape (n_frames,)
        The number at each frame of one series, such as the weight of one atom relative to that of another; real numbers
        of shape (n_frames, 2) are taken for real and imaginary part, such as two eigenworm amplitudes. Frames with NaN
        are left out.
    frames, fps
        As in :func:`plot_weights`.
    names : tuple of two str, default ("real part", "imaginary part")
        Names of the axes.
    fontsize : float, optional
        Size of the text, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: the complex plane, with the origin marked.

    Raises
    ------
    CodesError
        If `path` is not a series of numbers, or has no finite one.
    ShapeInputError
        If there is not one frame number per row, or a frame occurs twice.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_phase_portrait(np.exp(1j * np.linspace(0, 20, 90)), fps=30, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('real part', 'imaginary part')
    """
    from matplotlib.collections import LineCollection

    numbers = as_numeric_array(path, "path")
    is_real = numbers.ndim == 2 and numbers.shape[1] == 2 and not np.iscomplexobj(numbers)
    values = numbers[:, 0] + 1j * numbers[:, 1] if is_real else numbers
    if values.ndim != 1:
        raise CodesError(f"path must be complex, (n_frames,), or real, (n_frames, 2), got shape {numbers.shape}.")
    times = time_axis(len(values), frames, fps)
    ordered = values[times.order].astype(np.complex128)
    known = np.isfinite(ordered)
    if not known.any():
        raise CodesError("path has no finite number: there is nothing to draw.")
    ax, size = resolve_axes(ax), text_size(fontsize)
    joined = known[:-1] & known[1:] & (np.diff(times.frames) == 1)
    points = np.column_stack([ordered.real, ordered.imag])
    lines = LineCollection(
        np.stack([points[:-1], points[1:]], axis=1)[joined],
        array=times.times[:-1][joined],
        cmap=even_colormap(),
        linewidth=1.0,
        capstyle="round",
    )
    lines.set_clim(*times.bounds)
    for draw in (ax.axhline, ax.axvline):
        draw(0, color=LIGHT_GRAY, linewidth=0.6, zorder=1)
    ax.add_collection(lines)
    reach = 1.08 * float(np.abs(ordered[known]).max()) or 1.0
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), box_aspect=1)
    ax.set_xlabel(literal(names[0]), fontsize=size)
    ax.set_ylabel(literal(names[1]), fontsize=size)
    ax.tick_params(labelsize=size)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    bar = ax.figure.colorbar(lines, ax=ax, shrink=0.7, aspect=18)
    bar.set_label(times.label, fontsize=size)
    bar.ax.tick_params(labelsize=size, length=2)
    bar.outline.set_visible(False)
    return ax
