"""Ethograms: the state of each frame as a colored strip, one strip per series."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, IntArray
from shapelex._validation import check_count, is_data_frame
from shapelex.exceptions import ShapeInputError
from shapelex.plotting.axes import resolve_axes, size_in_inches
from shapelex.plotting.literal_text import literal
from shapelex.plotting.palette import FILLS, LIGHT_GRAY
from shapelex.plotting.style import styled, text_size
from shapelex.plotting.time_axis import TimeAxis, time_axis
from shapelex.shapes.columns import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REST = "other"
_STRIP = 0.8


@styled
def plot_ethogram(
    states: Any,
    frames: ArrayLike | None = None,
    sequence: ArrayLike | None = None,
    *,
    fps: float | None = None,
    max_states: int = 8,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the state of an animal or cell along time as a colored strip, one strip per series.

    Missing frames are white. The commonest states have colors of their own; the legend names them, the most frequent
    first, with their share of all frames. :func:`plot_transitions` gives the same states the same colors.

    Parameters
    ----------
    states : array_like of int or str, shape (n_frames,), or DataFrame
        State of each frame; negative numbers and empty text stand for no state, and are left white. Or a table of
        bouts, such as :func:`~shapelex.sequences.bouts` returns, with the columns ``state``, ``first_frame``,
        ``last_frame`` and ``sequence``; `frames` and `sequence` are then not needed.
    frames : array_like of int, shape (n_frames,), optional
        Frame numbers; the order of the rows in their series when not given.
    sequence : array_like of int, shape (n_frames,), optional
        Series of each frame; all are one series when not given. Frames with −1 belong to none and are not drawn.
    fps : float, optional
        Frames per second, for a time axis in seconds, or in minutes, hours or days where these are shorter to write;
        without it, the axis has frame numbers.
    max_states : int, default 8
        Maximum number of states that have a color; the others are gray.
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
        If there is not one state, frame and series per row, no frame has a state, or a frame occurs twice in a series.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_ethogram([0, 0, 1, 1, 1, 0], fps=2, ax=Figure().subplots())
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('time (s)', ['0 (50 %)', '1 (50 %)'])
    """
    if is_data_frame(states):
        states, frames, sequence = _frames_of_bouts(states)
    names = np.asarray(states)
    if names.ndim != 1 or names.dtype.kind not in "biuU":
        raise ShapeInputError(
            f"states must be one number or name per frame, got shape {names.shape}, dtype {names.dtype}."
        )
    series = np.zeros(len(names), dtype=np.int64) if sequence is None else np.asarray(sequence)
    if series.shape != names.shape:
        raise ShapeInputError(f"sequence must be one number for each of the {len(names)} frames, got {series.shape}.")
    is_known = (names != "" if names.dtype.kind == "U" else names >= 0) & (series != -1)
    if not is_known.any():
        raise ShapeInputError("states has no frame with a state in a series: there is nothing to draw.")
    kinds, places = _rank_states(names, is_known, check_count(max_states, 1, "max_states"))
    ax, size = resolve_axes(ax), text_size(fontsize)
    drawn = list(dict.fromkeys(series[series != -1].tolist()))
    axes = {}
    for number in drawn:
        rows = np.flatnonzero(series == number)
        own = None if frames is None else np.asarray(frames)[rows]
        axes[number] = rows, time_axis(len(rows), own, fps)
    # One unit for all strips: that of the longest.
    unit = max(axes.values(), key=lambda one: float(np.ptp(one[1].frames)))[1]
    fills = [LIGHT_GRAY if kind is _REST else FILLS[place % len(FILLS)] for place, kind in enumerate(kinds)]
    for strip, (rows, times) in enumerate(axes.values()):
        _draw_strip(ax, places[rows], times, unit.step, len(drawn) - 1 - strip, fills)
    ax.set_ylim(-0.5 - _STRIP / 8, len(drawn) - 0.5 + _STRIP / 8)
    is_labeled = len(drawn) > 1
    ax.set_yticks(
        range(len(drawn)) if is_labeled else [], [literal(name) for name in drawn[::-1]] if is_labeled else []
    )
    ax.set_ylabel("series" if is_labeled else "", fontsize=size)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    unit.set_up(ax, size)
    ends = [times.frames[[0, -1]] for _, times in axes.values()]
    ax.set_xlim(min(low for low, _ in ends) * unit.step, (max(high for _, high in ends) + 1) * unit.step)
    _explain(ax, kinds, fills, places[is_known], size)
    return ax


def _frames_of_bouts(table: Any) -> tuple[Column, IntArray, Column]:
    """Return state, number and series of each frame of a table of bouts."""
    missing = {"state", "first_frame", "last_frame", "sequence"} - set(table.columns)
    if missing:
        raise ShapeInputError(f"states must be a table of bouts, but has no column {', '.join(sorted(missing))}.")
    first, last = (table[name].to_numpy() for name in ("first_frame", "last_frame"))
    if not (np.array_equal(first, np.rint(first)) and np.array_equal(last, np.rint(last)) and (last >= first).all()):
        raise ShapeInputError(
            "first_frame and last_frame of bouts must be whole numbers in order: give fps where frames are times."
        )
    counts = (last - first + 1).astype(np.int64)
    starts = np.cumsum(counts) - counts
    frames = np.arange(counts.sum()) - np.repeat(starts, counts) + np.repeat(first.astype(np.int64), counts)
    states = np.array([str(state) for state in table["state"].tolist()], dtype=np.str_)
    return np.repeat(states, counts), frames, np.repeat(table["sequence"].to_numpy(), counts)


def _rank_states(names: Any, is_known: Any, n_most: int) -> tuple[list[str], IntArray]:
    """Return the states that have a color, by their names, and the place of each frame among them; −1 for none."""
    found, inverse, counts = np.unique(names[is_known], return_inverse=True, return_counts=True)
    ranked = np.argsort(-counts, kind="stable")
    kept = ranked[:n_most]
    place_of = np.full(len(found), len(kept))
    place_of[kept] = np.arange(len(kept))
    places = np.full(len(names), -1)
    places[is_known] = place_of[inverse]
    return [str(found[place]) for place in kept] + [_REST] * (len(found) > len(kept)), places


def _draw_strip(ax: "Axes", places: IntArray, times: TimeAxis, step: float, height: int, fills: list[str]) -> None:
    """Draw the runs of equal states in one series."""
    ordered = places[times.order]
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(ordered) != 0) | (np.diff(times.frames) > 1)]))
    lasts = np.concatenate([starts[1:], [len(ordered)]]) - 1
    for place in np.unique(ordered[ordered >= 0]).tolist():
        own = ordered[starts] == place
        begins, ends = times.frames[starts[own]], times.frames[lasts[own]] + 1
        runs = list(zip((begins * step).tolist(), ((ends - begins) * step).tolist(), strict=True))
        ax.broken_barh(
            runs, (height - _STRIP / 2, _STRIP), facecolor=fills[place], linewidth=0, gid=f"state {place}", zorder=2
        )


def _explain(ax: "Axes", kinds: list[str], fills: list[str], places: IntArray, fontsize: float) -> None:
    """Write the names and shares of the states below the time axis."""
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    shares = np.bincount(places, minlength=len(kinds)) / len(places)
    handles = [
        Patch(facecolor=fill, label=literal(f"{kind} ({100 * share:.0f} %)"))
        for kind, fill, share in zip(kinds, fills, shares, strict=True)
    ]
    widest = text_size() * (0.56 * max(len(str(one.get_label())) for one in handles) + 3) / 72
    # Color bars of other panels may leave the axes less width than they have now.
    n_columns = max(1, min(len(handles), int(0.75 * size_in_inches(ax)[0] / widest)))
    # Below ticks, numbers and name of the axis, whose heights are in points.
    drop = ScaledTranslation(0, -(2.6 * fontsize + 14) / 72, ax.figure.dpi_scale_trans)
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=ax.transAxes + drop,
              ncols=n_columns, frameon=False, fontsize=fontsize, handlelength=1.0, handleheight=1.0, columnspacing=1.2,
              borderpad=0.0, borderaxespad=0.0)  # fmt: skip
