"""Pictures of codes over time: which frames they show, and what of them is drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, IntArray
from shapelex._validation import check_choice
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.plotting import (
    plot_ethogram,
    plot_kymograph,
    plot_phase_portrait,
    plot_phases,
    plot_transitions,
    plot_weights,
    save_movie,
)
from shapelex.shapes.opening import read_configurations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shapelex.sequences.result import SequenceCodes

PICTURES = ("ethogram", "weights", "phases", "portrait", "kymograph", "transitions")


def plot_sequence(
    result: "SequenceCodes",
    picture: str,
    *,
    series: Any = None,
    states: Any = "support",
    min_duration: int = 1,
    X: ArrayLike | None = None,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Draw one of the pictures; see :meth:`SequenceCodes.plot <shapelex.sequences.SequenceCodes.plot>`."""
    check_choice(picture, PICTURES, "picture")
    if picture in ("ethogram", "transitions"):
        return _plot_states(result, picture, series, states, min_duration, ax, options)
    rows, frames = series_frames(result, series)
    draw: dict[str, Callable[[], Axes]] = {
        "weights": lambda: plot_weights(result.weights[rows], frames, fps=result.fps, ax=ax, **options),
        "phases": lambda: plot_phases(result.phases[rows], frames, fps=result.fps, ax=ax, **options),
        "portrait": lambda: _plot_portrait(result, rows, frames, ax, options),
        "kymograph": lambda: _plot_kymograph(result, rows, frames, X, ax, options),
    }
    return draw[picture]()


def write_movie(result: "SequenceCodes", path: str | Path, X: ArrayLike, series: Any, **options: Any) -> Path:
    """Write a movie; see :meth:`SequenceCodes.save_movie <shapelex.sequences.SequenceCodes.save_movie>`."""
    rows, frames = series_frames(result, series)
    shapes = _shapes_of(result, X)[rows]
    return save_movie(
        path, shapes, result.codes[rows], result.atoms, result.space, frames=frames, fps=result.fps, **options
    )


def series_frames(result: "SequenceCodes", series: Any = None) -> tuple[IntArray, IntArray]:
    """Return the coded rows of a series, the longest one when not given, and their frame numbers."""
    names, counts = np.unique(result.sequence[result.is_coded], return_counts=True)
    if series is None:
        series = names[int(np.argmax(counts))]
    rows = np.flatnonzero((result.sequence == series) & result.is_coded)
    if not len(rows):
        listed = ", ".join(str(name) for name in names[:8].tolist()) + (", …" if len(names) > 8 else "")
        raise ParameterError(f"{parameter('series')} must be a series with coded frames: {listed}, got {series!r}.")
    return rows, frame_numbers(result)[rows]


def frame_numbers(result: "SequenceCodes") -> IntArray:
    """Return whole frame numbers of all rows; times in seconds become frames by the frame rate."""
    frames = np.asarray(result.frames)
    if frames.dtype.kind in "iu":
        return frames.astype(np.int64)
    rate = 1.0 if result.fps is None else result.fps
    numbers: IntArray = np.rint((frames - np.nanmin(frames)) * rate).astype(np.int64)
    return numbers


def _plot_states(
    result: "SequenceCodes",
    picture: str,
    series: Any,
    states: Any,
    min_duration: int,
    ax: "Axes | None",
    options: dict[str, Any],
) -> "Axes":
    from shapelex.sequences.bout_tables import bouts, transitions

    table = bouts(result, states, min_duration=min_duration)
    if series is not None:
        series_frames(result, series)
        table = table[table["sequence"] == series]
    if picture == "ethogram":
        return plot_ethogram(table, fps=result.fps, ax=ax, **options)
    if series is not None:
        raise ParameterError(f"{parameter('series')} is not for the picture 'transitions', which counts all series.")
    held = table.groupby("state")["n_frames"].sum()
    chances = transitions(result, states, min_duration=min_duration)
    names = held.index.astype(str)
    matrix = chances.pivot(index="from_state", columns="to_state", values="probability")
    matrix = matrix.reindex(index=names, columns=names).fillna(0.0)
    return plot_transitions(matrix, shares=(held / held.sum()).to_numpy(), ax=ax, **options)


def _plot_portrait(
    result: "SequenceCodes", rows: IntArray, frames: IntArray, ax: "Axes | None", options: dict[str, Any]
) -> "Axes":
    from shapelex.sequences.rhythm import phase_plane

    path, pair = phase_plane(result, options.pop("atoms", None))
    names = (f"posture of atom {pair[0]}", f"part of atom {pair[1]} at right angles")
    return plot_phase_portrait(path[rows], frames, fps=result.fps, ax=ax, **{"names": names, **options})


def _plot_kymograph(
    result: "SequenceCodes",
    rows: IntArray,
    frames: IntArray,
    X: ArrayLike | None,
    ax: "Axes | None",
    options: dict[str, Any],
) -> "Axes":
    from shapelex.sequences.rhythm import curvature

    shapes = result.reconstruct() if X is None else _shapes_of(result, X)
    ends = ("start", "end") if result.space.closed else ("head", "tail")
    values = curvature(shapes[rows], result.space)
    return plot_kymograph(values, frames, fps=result.fps, ax=ax, **{"ends": ends, **options})


def _shapes_of(result: "SequenceCodes", X: ArrayLike) -> Any:
    """Return the configurations that were coded, without a check for missing coordinates."""
    shapes = np.asarray(getattr(X, "configurations", X))
    if len(shapes) != len(result):
        raise ShapeInputError(f"X must have the {len(result)} shapes that were coded, got {len(shapes)}.")
    return shapes if np.iscomplexobj(shapes) else read_configurations(shapes, result.space, "X")[0]
