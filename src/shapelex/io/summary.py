"""A set of shapes in words: what it holds, and what to look at before using it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.spaces import BSpline, HermiteSpline, Landmarks

if TYPE_CHECKING:
    from shapelex.io.shapeset import ShapeSet

_NAMED = 6


def summarize(shapes: "ShapeSet") -> str:
    """Return a few lines about a set.

    Parameters
    ----------
    shapes : ShapeSet
        The set.

    Returns
    -------
    str
        One fact a line.
    """
    lines = [_count(len(shapes), "shape") + f" in {shapes.space!r}" + (", closed" if shapes.closed else ", open")]
    lines += _name_labels(shapes)
    lines += _name_series(shapes)
    lines += [f"metadata: {', '.join(shapes.metadata)}"] if shapes.metadata else []
    if len(shapes):
        lines += _name_troubles(shapes)
    lines += [f"note: {note}" for note in shapes.notes[:_NAMED]]
    if len(shapes.notes) > _NAMED:
        lines.append(f"and {len(shapes.notes) - _NAMED} more notes")
    return "\n".join(lines)


def signed_areas(configurations: ComplexArray) -> FloatArray:
    """Return the signed areas of the polygons: positive where they turn counter-clockwise."""
    centered = configurations - configurations.mean(axis=1, keepdims=True)
    following = np.roll(centered, -1, axis=1)
    areas: FloatArray = 0.5 * (centered.conj() * following).imag.sum(axis=1)
    return areas


def _name_labels(shapes: "ShapeSet") -> list[str]:
    if shapes.labels is None:
        return ["no labels"]
    names, counts = np.unique(shapes.labels, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    named = ", ".join(f"{names[place] or '(none)'} {counts[place]}" for place in order[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return [f"{_count(len(names), 'label')}: {named}{more}"]


def _name_series(shapes: "ShapeSet") -> list[str]:
    known = [] if shapes.sequence is None else shapes.sequence[shapes.sequence != -1]
    if not len(known):
        return []
    _, counts = np.unique(known, return_counts=True)
    return [f"{len(counts)} time series of {counts.min()} to {counts.max()} shapes"]


def _name_troubles(shapes: "ShapeSet") -> list[str]:
    lines = []
    gone = shapes.is_missing
    if gone.any():
        lines.append(
            f"missing: {_count(int(gone.sum()), 'landmark')} in {_count(int(gone.any(axis=1).sum()), 'shape')}"
        )
    n_repeated = len(shapes) - _count_distinct(shapes.configurations)
    if n_repeated:
        lines.append(f"{_count(n_repeated, 'shape')} exactly repeat{'s' if n_repeated == 1 else ''} another one")
    n_same_id = len(shapes) - len(np.unique(shapes.ids))
    if n_same_id:
        lines.append(f"{_count(n_same_id, 'id')} used more than once")
    whole = shapes.configurations[~gone.any(axis=1)]
    points = _outline_points(shapes, whole)
    extents = np.abs(points - points[:, :1]).max(axis=1) if points.size else np.zeros(0)
    n_collapsed = int((extents == 0).sum())
    if n_collapsed:
        lines.append(f"{_count(n_collapsed, 'shape')} collapsed to a point: remove before fitting")
    if shapes.closed and len(whole):
        areas = signed_areas(points)
        n_left, n_right = int((areas > 0).sum()), int((areas < 0).sum())
        if n_left and n_right:
            lines.append(f"direction: {n_left} turn counter-clockwise, {n_right} clockwise")
        else:
            lines.append(f"direction: all turn {'counter-clockwise' if n_left else 'clockwise'}")
    elif points.shape[1] > 2 and len(whole) and bool((points[:, 0] == points[:, -1]).all()):
        lines.append("first and last point coincide in every shape: outlines? Then read them with closed=True")
    return lines


def _outline_points(shapes: "ShapeSet", rows: ComplexArray) -> Any:
    if isinstance(shapes.space, Landmarks) or not len(rows):
        return rows
    if isinstance(shapes.space, BSpline | HermiteSpline):
        return shapes.space.sample(rows, shapes.space.parameters(4 * shapes.space.n_coordinates))
    return rows


def _count_distinct(rows: ComplexArray) -> int:
    return len({row.tobytes() for row in rows})


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
