"""Weights of the atoms along time: amplitude as height, phase as color; and phases as curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_numeric_array, check_positive
from shapelex.exceptions import CodesError
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.palette import DARK_GRAY, LIGHT_GRAY
from shapelex.plotting.style import cycle_color, styled, text_size
from shapelex.plotting.time_axis import TimeAxis, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap

    from shapelex.coding import SparseCodes

# Pixels of the picture: of a row in height, and at most along time. Longer series are averaged.
_ROW_PIXELS = 48
_MAX_COLUMNS = 3000
_MAX_LINES = 6
_FAR_ABOVE = 1.5
_TURN = 2 * np.pi


@styled
def plot_weights(
    codes: "ArrayLike | SparseCodes",
    frames: ArrayLike | None = None,
    *,
    fps: float | None = None,
    atoms: Sequence[int] | None = None,
    limit: float | None = None,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the complex weights of one series along time: height is the amplitude, color the phase.

    Each atom has a row of its own, with one scale for all rows, which stands beside the first. Missing frames, and
    frames without the atom, are empty.

    Parameters
    ----------
    codes : SparseCodes or array_like of complex, shape (n_frames, n_atoms)
        Codes of the frames of one series.
    frames : array_like of int, shape (n_frames,), optional
        Frame numbers; the order of the rows when not given.
    fps : float, optional
        Frames per second, for a time axis in seconds, or in minutes, hours or days where these are shorter to write;
        without it, the axis has frame numbers.
    atoms : sequence of int, optional
        Atoms to draw, from top to bottom; all that are used, those with the largest weights first, when not given.
    limit : float, optional
        Modulus at the full height of a row; larger ones are cut off. When not given, the largest modulus, or where that
        is more than 1.5 times the 99th percentile, this percentile; rounded up.
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
    CodesError
        If `codes` are not finite codes, no atom is used, or there is no such atom.
    ShapeInputError
        If there is not one frame number per row, or a frame occurs twice.

    See Also
    --------
    plot_phases : The phases as curves.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> turns = np.exp(1j * np.linspace(0, 20, 90))
    >>> codes = np.column_stack([0.2 * turns, np.zeros(90), 0.9 / turns])
    >>> ax = sx.plotting.plot_weights(codes, fps=30, ax=Figure().subplots())
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_yticklabels()]
    ('time (s)', ['atom 2', 'atom 0'])
    """
    weights = dense_codes(codes)
    times = time_axis(len(weights), frames, fps)
    chosen = choose_atoms(weights, atoms)
    ax, size = resolve_axes(ax), text_size(fontsize)
    drawn = weights[times.order][:, chosen]
    full = usual_limit(drawn) if limit is None else check_positive(limit, "limit")
    columns = _fill_columns(drawn, times)
    colors = phase_colors()
    image = np.zeros((len(chosen) * _ROW_PIXELS, columns.shape[0], 4))
    # The middle of each pixel; a tenth of a row stays free above.
    levels = (np.arange(_ROW_PIXELS)[::-1] + 0.5) / (0.9 * _ROW_PIXELS) * full
    for row in range(len(chosen)):
        values = columns[:, row]
        part = image[row * _ROW_PIXELS : (row + 1) * _ROW_PIXELS]
        shades = colors((np.angle(values) / _TURN) % 1.0)
        part[:] = np.where((levels[:, None] < np.minimum(np.abs(values), full))[..., None], shades, 0.0)
    begin, end = times.bounds
    ax.imshow(
        image, extent=(begin, end, len(chosen), 0), aspect="auto", interpolation="nearest", zorder=2, gid="weights"
    )
    for row in range(len(chosen)):
        ax.axhline(row + 1, color=LIGHT_GRAY, linewidth=0.5, zorder=1)
    ax.set_ylim(len(chosen), 0)
    ax.set_yticks(np.arange(len(chosen)) + 0.55, [f"atom {atom}" for atom in chosen])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    times.set_up(ax, size)
    _draw_scale(ax, full, size)
    _draw_phase_bar(ax, colors, size)
    return ax


@styled
def plot_phases(
    phases: ArrayLike,
    frames: ArrayLike | None = None,
    *,
    fps: float | None = None,
    atoms: Sequence[int] | None = None,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the phases of the atoms of one series along time as curves, in turns of 360°.

    Curves are broken at missing frames, where the phase is NaN because the atom is not used, and where it jumps by more
    than half a turn. A phase that was followed over more than one turn is drawn as it is.

    Parameters
    ----------
    phases : array_like of float, shape (n_frames, n_atoms)
        Phases in radians, as ``encode_sequence(...).phases``, or ``np.angle(codes)``.
    frames, fps
        As in :func:`plot_weights`.
    atoms : sequence of int, optional
        Atoms to draw; when not given, the six that are used in most frames, and the legend says of how many.
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
    CodesError
        If `phases` is no table of real numbers, all are NaN, or there is no such atom.
    ShapeInputError
        If there is not one frame number per row, or a frame occurs twice.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> phases = np.linspace(0, 20, 90)[:, None] * [1, -1]
    >>> ax = sx.plotting.plot_phases(phases, fps=30, ax=Figure().subplots())
    >>> ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('phase (turns)', ['atom 0', 'atom 1'])
    """
    angles = as_numeric_array(phases, "phases")
    if angles.ndim != 2 or np.iscomplexobj(angles):
        raise CodesError(f"phases must be real, (n_frames, n_atoms), got {angles.dtype} {angles.shape}.")
    times = time_axis(len(angles), frames, fps)
    n_known = np.isfinite(angles).sum(axis=0)
    if not n_known.any():
        raise CodesError("phases has no finite number: there is nothing to draw.")
    if atoms is None:
        ranked = np.argsort(-n_known, kind="stable")
        chosen = np.sort(ranked[n_known[ranked] > 0][:_MAX_LINES])
    else:
        chosen = _check_atoms(atoms, angles.shape[1])
    ax, size = resolve_axes(ax), text_size(fontsize)
    ordered = angles[times.order].astype(np.float64) / _TURN
    middles = times.times + 0.5 * times.step
    for place, atom in enumerate(chosen):
        curve = ordered[:, atom]
        with np.errstate(invalid="ignore"):
            breaks = np.flatnonzero((np.diff(times.frames) > 1) | (np.abs(np.diff(curve)) > 0.5)) + 1
        # One line with NaN at its breaks, so that all of it has one name.
        ax.plot(
            np.insert(middles, breaks, np.nan),
            np.insert(curve, breaks, np.nan),
            color=cycle_color(place),
            linewidth=1.0,
            label=f"atom {atom}",
        )
    ax.set_ylabel("phase (turns)", fontsize=size)
    times.set_up(ax, size)
    n_used = int(np.count_nonzero(n_known))
    title = f"{len(chosen)} of {n_used} atoms" if atoms is None and len(chosen) < n_used else None
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=size, handlelength=1.2,
              borderaxespad=0.0, title=title, title_fontsize=size)  # fmt: skip
    return ax


def dense_codes(codes: Any) -> ComplexArray:
    """Return codes as a table of complex weights, checked."""
    weights = as_numeric_array(codes.toarray() if hasattr(codes, "toarray") else codes, "codes")
    if weights.ndim != 2:
        raise CodesError(f"codes must be (n_frames, n_atoms), got shape {weights.shape}.")
    if not np.isfinite(weights).all():
        raise CodesError("codes must be finite, but some weights are NaN or infinite: leave these frames out.")
    return weights.astype(np.complex128)


def choose_atoms(weights: ComplexArray, atoms: Sequence[int] | None) -> IntArray:
    """Return the atoms to draw: the given ones, or those that are used, the largest root mean square weight first."""
    if atoms is not None:
        return _check_atoms(atoms, weights.shape[1])
    power = (np.abs(weights) ** 2).sum(axis=0)
    if not power.any():
        raise CodesError("codes use no atom: all weights are zero, so there is nothing to draw.")
    order = np.argsort(-power, kind="stable")
    used: IntArray = order[power[order] > 0]
    return used


def _check_atoms(atoms: Sequence[int], n_atoms: int) -> IntArray:
    chosen = np.asarray(atoms)
    if (
        chosen.ndim != 1
        or chosen.size == 0
        or chosen.dtype.kind not in "iu"
        or not np.isin(chosen, range(n_atoms)).all()
    ):
        raise CodesError(f"atoms must be numbers of atoms from 0 to {n_atoms - 1}, got {atoms!r}.")
    return chosen


def phase_colors() -> "ListedColormap":
    """Return a cyclic color map, whose lightness changes too: 0 is dark blue, half a turn light orange.

    Colors are on a circle in the color space Oklab (Ottosson 2020), where equal steps look equal.
    """
    from matplotlib.colors import ListedColormap

    angle = _TURN * np.arange(256) / 256
    hue = angle + np.radians(262)
    lightness, chroma = 0.63 - 0.17 * np.cos(angle), 0.125
    a, b = chroma * np.cos(hue), chroma * np.sin(hue)
    cone = np.stack([
        lightness + 0.3963377774 * a + 0.2158037573 * b,
        lightness - 0.1055613458 * a - 0.0638541728 * b,
        lightness - 0.0894841775 * a - 1.2914855480 * b,
    ]) ** 3  # fmt: skip
    linear = np.clip(np.array([
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]) @ cone, 0, 1)  # fmt: skip
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return ListedColormap(rgb.T, name="phase")


def _fill_columns(weights: ComplexArray, times: TimeAxis) -> ComplexArray:
    """Return weights at equal steps of time, 0 where no frame is; long series are averaged."""
    n_frames = int(times.frames[-1] - times.frames[0]) + 1
    n_columns = min(n_frames, _MAX_COLUMNS)
    columns = ((times.frames - times.frames[0]) * n_columns) // n_frames
    sums = np.zeros((n_columns, weights.shape[1]), dtype=np.complex128)
    sizes = np.zeros((n_columns, weights.shape[1]))
    counts: FloatArray = np.bincount(columns, minlength=n_columns).astype(np.float64)
    np.add.at(sums, columns, weights)
    np.add.at(sizes, columns, np.abs(weights))
    means = sizes / np.maximum(counts, 1.0)[:, None]
    filled: ComplexArray = means * np.exp(1j * np.angle(sums))
    return filled


def usual_limit(weights: ComplexArray) -> float:
    """Return a round number for the scale of weights: above all of them, or above all but a few very large ones."""
    moduli = np.abs(weights[weights != 0])
    # Atoms that are drawn may be unused.
    most, usual = (float(moduli.max()), float(np.percentile(moduli, 99))) if moduli.size else (1.0, 1.0)
    return _round_up(usual if most > _FAR_ABOVE * usual else most)


def _round_up(value: float) -> float:
    """Return the next number with one leading digit, 1, 1.5 or 2 to 9 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(min(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10) if step * power >= 0.999 * value))


def _draw_scale(ax: "Axes", limit: float, fontsize: float) -> None:
    """Draw what the height of the first row means, to the right of it."""
    across = ax.get_yaxis_transform()
    ax.plot([1.01, 1.01], [0.1, 1.0], transform=across, color="black", linewidth=0.8, clip_on=False, zorder=3)
    ax.text(1.02, 0.55, f"{limit:g}", transform=across, fontsize=fontsize, va="center", ha="left", gid="scale")


def _draw_phase_bar(ax: "Axes", colors: "ListedColormap", fontsize: float) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    bar = ax.figure.colorbar(ScalarMappable(Normalize(0, 360), colors), ax=ax, shrink=0.7, aspect=14, pad=0.09)
    bar.set_ticks([0, 90, 180, 270, 360], labels=["0°", "90°", "180°", "270°", "360°"])
    bar.ax.tick_params(labelsize=fontsize, length=2)
    bar.outline.set_visible(False)
    bar.set_label("phase", fontsize=fontsize, color=DARK_GRAY)
