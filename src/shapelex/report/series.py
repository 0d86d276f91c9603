"""Time series for the page: codes that follow the motion, in a pose that is tracked from frame to frame."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding import SparseCodes
from shapelex.estimators import ShapeDictionary
from shapelex.exceptions import ParameterError, SearchTooLargeError, reason_of
from shapelex.plotting.poses import flat_rotation, pose_rotations
from shapelex.report.packing import pack_array
from shapelex.report.shapes import ReportedShapes
from shapelex.sequences import encode_sequence

_MOST_FOR_POSE = 500  # shapes of a series that its pose on the page is found from


@dataclass(frozen=True)
class _Followed:
    """Codes of all shapes along time, with weights in the tracked pose, and how they were found, in words."""

    codes: SparseCodes
    errors: FloatArray
    rotations: FloatArray
    words: str


def pack_series(
    model: ShapeDictionary, shapes: ReportedShapes, codes: SparseCodes, errors: FloatArray, rows: Any
) -> Any:
    """Return what the page shows along time: series, frames and their rates, and codes in a tracked pose.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    shapes : ReportedShapes
        All shapes, with their series.
    codes, errors
        Codes and errors of all shapes, found one by one.
    rows : ndarray of int
        Shapes that the page holds.

    Returns
    -------
    dict
        ``names`` of the series; for each, ``rates`` (frames per second, or None) and ``turns``, the angles that lay
        them flat. For each shape of the page its series ``of_shape``, ``frame``, ``error``, ``rotation``, ``support``
        and ``weights``. ``unit`` is what frames are, and ``words`` say how the codes were found.
    """
    assert shapes.sequence is not None
    frames = frames_of(shapes)
    found = _follow(model, shapes, codes, errors, frames)
    turned = found.codes.coefs * np.exp(-1j * found.rotations)[:, None]
    support_type = "int16" if found.codes.n_atoms < 1 << 15 else "int32"
    return {
        "names": shapes.sequence_names,
        "has_frames": shapes.frames is not None,
        "unit": "time" if shapes.has_times else "frame" if shapes.frames is not None else "number",
        "rates": [_rate_of(shapes, series) for series in range(len(shapes.sequence_names))],
        "turns": [_flat_turn(model, shapes, series, found.rotations) for series in range(len(shapes.sequence_names))],
        "of_shape": pack_array(shapes.sequence[rows], "int32"),
        "frame": pack_array(frames[rows], "float64"),
        "error": pack_array(found.errors[rows], "float32"),
        "rotation": pack_array(found.rotations[rows], "float32"),
        "support": pack_array(found.codes.support[rows], support_type),
        "weights": pack_array(turned[rows], "float32"),
        "words": found.words,
    }


def frames_of(shapes: ReportedShapes) -> FloatArray:
    """Return the time of each shape: its frame, or its place in its series."""
    if shapes.frames is not None:
        return shapes.frames
    assert shapes.sequence is not None
    frames = np.zeros(len(shapes))
    for series in range(len(shapes.sequence_names)):
        members = shapes.sequence == series
        frames[members] = np.arange(members.sum())
    return frames


def _follow(
    model: ShapeDictionary, shapes: ReportedShapes, codes: SparseCodes, errors: FloatArray, frames: FloatArray
) -> _Followed:
    """Return codes that follow the motion; where these cannot be found, those of single shapes in a common pose."""
    assert shapes.sequence is not None
    is_whole = bool((frames == np.rint(frames)).all()) and bool((np.abs(frames) < 2**53).all())
    moments = frames.astype(np.int64) if is_whole else frames
    try:
        result = encode_sequence(shapes.configurations, model, frames=moments, sequence=shapes.sequence)
    except (ParameterError, SearchTooLargeError) as error:
        words = f"The shapes are coded one by one, each in the pose of the page: {reason_of(error)}"
        poses = pose_rotations(model.space_.preshape(shapes.configurations), model.space_, "mean")
        return _Followed(codes, errors, -np.angle(poses), words)
    plain = replace(result, codes=codes, errors=errors)
    words = (
        f"Sets of atoms change only where that pays (switching cost {result.switch_cost:.3g}): "
        f"{_percent(result.flicker)} of consecutive frames change their atoms at an error of {_percent(result.rmse)}; "
        f"coded one by one, {_percent(plain.flicker)} at {_percent(plain.rmse)}."
    )
    if not np.isfinite(result.flicker):
        words = "No frames follow each other without a gap."
    return _Followed(result.codes, np.nan_to_num(result.errors), np.nan_to_num(result.rotations), words)


def _rate_of(shapes: ReportedShapes, series: int) -> float | None:
    """Return the frames per second of a series, where all its shapes have the same."""
    if shapes.rates is None or shapes.has_times:
        return None
    known = np.unique(shapes.rates[shapes.sequence == series])
    return float(known[0]) if len(known) == 1 and np.isfinite(known[0]) else None


def _flat_turn(model: ShapeDictionary, shapes: ReportedShapes, series: int, rotations: FloatArray) -> float:
    """Return the angle by which the tracked shapes of a series lie flat together."""
    members = np.flatnonzero(shapes.sequence == series)
    members = members[np.linspace(0, len(members) - 1, min(len(members), _MOST_FOR_POSE)).astype(int)]
    tracked: ComplexArray = model.space_.preshape(shapes.configurations[members])
    tracked = tracked * np.exp(-1j * rotations[members])[:, None]
    return float(np.angle(flat_rotation(tracked, model.space_)))


def _percent(share: float) -> str:
    return f"{100 * share:.3g}\u202f%"
