"""Describe a set of shapes in words and, for notebooks, in small pictures."""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from shapelex._messages import on_one_line
from shapelex._typing import ComplexArray, FloatArray
from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.shapes.columns import FPS, Column
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space

if TYPE_CHECKING:
    from shapelex.shapes.set import ShapeSet

_NAMED = 6
# Pictures take the color of the text around them, load nothing, and their captions are escaped. Of a larger set, shapes
# spread evenly over it are drawn.
_MAX_THUMBNAILS = 24
_SIZE, _MARGIN = 72, 4
_CURVE_POINTS = 96
_CAPTION_LETTERS = 24


class Summary:
    """Description of a set, whose coordinates are read block by block.

    Parameters
    ----------
    shapes : ShapeSet
        The set.

    Attributes
    ----------
    labels : Counter of str
        Number of shapes of each label.
    """

    def __init__(self, shapes: "ShapeSet") -> None:
        self._shapes = shapes
        self.labels = Counter[str]([] if shapes.labels is None else shapes.labels.tolist())
        self._counts: Counter[str] = Counter()
        for block in shapes.blocks():
            self._see(block.configurations)

    def __str__(self) -> str:
        shapes = self._shapes
        lines = [f"{counted(len(shapes), 'shape')} in {shapes.space!r}, {'closed' if shapes.closed else 'open'}"]
        if shapes.preparation is not None and (shapes.closed or shapes.preparation.is_registered):
            lines.append(str(shapes.preparation))
        lines.append("no labels" if shapes.labels is None else self._name_labels())
        if (sequence := shapes.sequence) is not None and (sequence != -1).any():
            lines.append(self._name_series(sequence))
        if shapes.metadata:
            lines.append(f"metadata: {', '.join(map(on_one_line, shapes.metadata))}")
        units = shapes.units()
        if units is not None:
            lines.append(str(units))
        n_gone, left, right = (self._counts[one] for one in ("gone", "left", "right"))
        if n_gone:
            lines.append(f"missing: {counted(n_gone, 'landmark')} in {counted(self._counts['incomplete'], 'shape')}")
        if left or right:
            one_way = f"all turn {'counter-clockwise' if left else 'clockwise'}"
            both_ways = f"{left} turn counter-clockwise, {right} clockwise"
            lines.append(f"direction: {both_ways if left and right else one_way}")
        skipped = [note for note in shapes.notes if note.startswith("left out: ")]
        hidden = set(skipped[_NAMED:])
        lines += [f"note: {on_one_line(note)}" for note in shapes.notes if note not in hidden]
        if hidden:
            lines.append(
                f"and {counted(len(hidden), 'more note')} on records left out: shapelex info FILE --json lists them "
                "(in Python: ShapeSet.notes)"
            )
        return "\n".join(lines)

    def _see(self, configurations: ComplexArray) -> None:
        space = self._shapes.space
        is_gone = np.isnan(configurations)
        is_whole = ~is_gone.any(axis=1)
        self._counts.update(gone=int(is_gone.sum()), incomplete=int((~is_whole).sum()))
        if space.closed and is_whole.any():
            points = configurations[is_whole]
            if isinstance(space, BSpline | HermiteSpline):
                points = space.sample(points, space.parameters(4 * space.n_coordinates))
            areas = signed_areas(points)
            self._counts.update(left=int((areas > 0).sum()), right=int((areas < 0).sum()))

    def _name_labels(self) -> str:
        order = sorted(((name, n) for name, n in self.labels.items() if name), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{on_one_line(name)} {count}" for name, count in order[:_NAMED])
        more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
        without = f"; {counted(self.labels[''], 'shape')} without a label" if self.labels[""] else ""
        return f"{counted(len(order), 'label')}: {named}{more}{without}"

    def _name_series(self, sequence: Column) -> str:
        _, lengths = np.unique(sequence[sequence != -1], return_counts=True)
        told = f"{len(lengths)} time series of {_name_ends(lengths, 'd')} shapes"
        rates = self._shapes.metadata.get(FPS)
        if rates is None or rates.dtype.kind not in "iuf" or not (rates > 0).any():
            return told
        known = rates[rates > 0]
        # Below one frame per second, the seconds from frame to frame are easier to read.
        is_slow = known.max() < 1
        named = _name_ends(1 / known if is_slow else known, ".4g")
        return f"{told}, {named} {'seconds per frame' if is_slow else 'frames per second'}"


def signed_areas(outlines: ComplexArray) -> FloatArray:
    """Return the areas inside closed polygons, whose points are on the last axis; negative for clockwise ones."""
    moved = outlines - outlines[..., :1]
    return np.asarray(np.vecdot(moved[..., :-1], moved[..., 1:]).imag / 2)


def _name_ends(numbers: Iterable[float], form: str) -> str:
    """Return the least and the largest of some numbers, once where they look the same."""
    ordered = sorted(numbers)
    return " to ".join(dict.fromkeys(format(end, form) for end in (ordered[0], ordered[-1])))


def counted(number: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"{number} {noun}{'s' if number != 1 else ''}"


def html_with_thumbnails(text: str, configurations: ComplexArray, space: Space, captions: Sequence[str]) -> str:
    """Return text, as it is, above pictures of at most 24 shapes with their captions."""
    n_shapes = len(configurations)
    chosen = np.unique(np.linspace(0, n_shapes - 1, min(n_shapes, _MAX_THUMBNAILS)).round().astype(int))
    rows = np.asarray(configurations[chosen])
    try:
        # A space given by its matrices alone does not say where its points are.
        is_sampled = len(rows) and not isinstance(space, Landmarks)
        curves = space.sample(rows, space.parameters(_CURVE_POINTS)) if is_sampled else rows
    except UnsupportedBySpaceError:
        return html_text(text)
    drawn = [_draw(curve, space.closed, captions[number]) for curve, number in zip(curves, chosen, strict=True)]
    more = f"{len(chosen)} of {n_shapes} shapes" if len(chosen) < n_shapes else ""
    return (
        f'<div>{html_text(text)}<div style="display:flex;flex-wrap:wrap;gap:6px">{"".join(drawn)}</div>'
        f"<small>{more}</small></div>"
    )


def html_text(text: str) -> str:
    """Return plain text as HTML that keeps its lines."""
    return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'


def _draw(curve: ComplexArray, closed: bool, caption: str) -> str:
    label = escape(caption)
    short = label if len(caption) <= _CAPTION_LETTERS else escape(caption[: _CAPTION_LETTERS - 1]) + "…"
    return (
        f'<figure style="margin:0;width:{_SIZE}px"><svg width="{_SIZE}" height="{_SIZE}" viewBox="0 0 {_SIZE} {_SIZE}" '
        f'fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" role="img" aria-label="{label}">'
        f'<path d="{_path(curve, closed)}"/></svg><figcaption title="{label}" style="font-size:10px;line-height:1.2;'
        f'text-align:center;overflow-wrap:anywhere">{short}</figcaption></figure>'
    )


def _path(curve: ComplexArray, closed: bool) -> str:
    """Return a curve as SVG commands, scaled to the picture; missing points are left out."""
    points = curve[np.isfinite(curve)]
    if not len(points):
        return ""
    low, high = (complex(bound(points.real), bound(points.imag)) for bound in (np.min, np.max))
    extent = max(high.real - low.real, high.imag - low.imag) or 1.0
    centered = (points - (low + high) / 2) * ((_SIZE - 2 * _MARGIN) / extent) + _SIZE / 2 * (1 + 1j)
    # The second coordinate of SVG points downwards.
    corners = [f"{point.real:.1f} {_SIZE - point.imag:.1f}" for point in centered.tolist()]
    return "M" + "L".join(corners) + ("Z" if closed and len(corners) > 2 else "")
