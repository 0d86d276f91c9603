"""Description of a set of shapes in words, with what to check before using it."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import on_one_line
from shapelex._typing import ComplexArray, FloatArray
from shapelex.shapes.columns import FPS
from shapelex.spaces import BSpline, HermiteSpline

if TYPE_CHECKING:
    from shapelex.shapes.set import ShapeSet

_NAMED = 6
# In larger sets repeated shapes are not searched for, as the hashes of all shapes would take too much memory.
_MAX_HASHED = 2_000_000


class Summary:
    """Description of a set, collected block by block.

    Parameters
    ----------
    blocks : iterable of ShapeSet
        Parts of the set, in order; a set in memory is one block.

    Attributes
    ----------
    labels : Counter of str
        Number of shapes of each label.
    """

    def __init__(self, blocks: Iterable["ShapeSet"]) -> None:
        self.labels: Counter[str] = Counter()
        self._has_labels = False
        self._series: Counter[int] = Counter()
        self._rates: set[float] = set()
        self._rows: set[int] = set()
        self._ids: set[int] = set()
        self._n_shapes = self._n_gone = self._n_incomplete = self._n_collapsed = 0
        self._n_left = self._n_right = self._n_whole = self._n_joined = 0
        self._last: ShapeSet | None = None
        for block in blocks:
            self._see(block)

    def __str__(self) -> str:
        shapes = self._last
        if shapes is None:
            return "0 shapes"
        n_shapes = self._n_shapes
        lines = [_count(n_shapes, "shape") + f" in {shapes.space!r}" + (", closed" if shapes.closed else ", open")]
        if shapes.preparation is not None and (shapes.closed or shapes.preparation.is_registered):
            lines.append(str(shapes.preparation))
        lines += self._name_labels() + self._name_series()
        lines += [f"metadata: {', '.join(map(on_one_line, shapes.metadata))}"] if shapes.metadata else []
        lines += self._name_troubles(shapes)
        skipped = [note for note in shapes.notes if note.startswith("left out: ")]
        hidden = set(skipped[_NAMED:])
        lines += [f"note: {on_one_line(note)}" for note in shapes.notes if note not in hidden]
        if hidden:
            lines.append(
                f"and {_count(len(hidden), 'more note')} on records left out: shapelex info FILE --json lists them "
                "(in Python: ShapeSet.notes)"
            )
        return "\n".join(lines)

    def _see(self, shapes: "ShapeSet") -> None:
        self._last = shapes
        self._n_shapes += len(shapes)
        if shapes.labels is not None:
            self._has_labels = True
            self.labels.update(shapes.labels.tolist())
        if shapes.sequence is not None:
            self._series.update(shapes.sequence[shapes.sequence != -1].tolist())
        rates = shapes.metadata.get(FPS)
        if rates is not None and rates.dtype.kind in "iuf":
            self._rates.update(rates[rates > 0].tolist())
        if not len(shapes):
            return
        gone = shapes.is_missing
        self._n_gone += int(gone.sum())
        self._n_incomplete += int(gone.any(axis=1).sum())
        if self._n_shapes <= _MAX_HASHED:
            self._rows.update(hash(row.tobytes()) for row in shapes.configurations)
            self._ids.update(map(hash, shapes.ids.tolist()))
        whole = shapes.configurations[~gone.any(axis=1)]
        if not len(whole):
            return
        self._n_whole += len(whole)
        points = _outline_points(shapes, whole)
        self._n_collapsed += int((np.abs(points - points[:, :1]).max(axis=1) == 0).sum())
        if shapes.closed:
            areas = signed_areas(points)
            self._n_left += int((areas > 0).sum())
            self._n_right += int((areas < 0).sum())
        elif points.shape[1] > 2:
            self._n_joined += int((points[:, 0] == points[:, -1]).sum())

    def _name_labels(self) -> list[str]:
        if not self._has_labels:
            return ["no labels"]
        n_without = self.labels[""]
        order = sorted(((name, n) for name, n in self.labels.items() if name), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{on_one_line(name)} {count}" for name, count in order[:_NAMED])
        more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
        without = f"; {_count(n_without, 'shape')} without a label" if n_without else ""
        return [f"{_count(len(order), 'label')}: {named}{more}{without}"]

    def _name_series(self) -> list[str]:
        if not self._series:
            return []
        fewest, most = min(self._series.values()), max(self._series.values())
        lengths = f"{fewest} to {most}" if fewest < most else str(most)
        return [f"{len(self._series)} time series of {lengths} shapes{self._name_rates()}"]

    def _name_rates(self) -> str:
        """Name the frame rates; below one frame per second, the seconds from frame to frame."""
        if not self._rates:
            return ""
        is_slow = max(self._rates) < 1
        ends = sorted(1 / rate if is_slow else rate for rate in (min(self._rates), max(self._rates)))
        named = " to ".join(dict.fromkeys(f"{end:.4g}" for end in ends))
        return f", {named} seconds per frame" if is_slow else f", {named} frames per second"

    def _name_troubles(self, shapes: "ShapeSet") -> list[str]:
        lines = []
        if self._n_gone:
            lines.append(f"missing: {_count(self._n_gone, 'landmark')} in {_count(self._n_incomplete, 'shape')}")
        if self._n_shapes <= _MAX_HASHED:
            n_repeated = self._n_shapes - len(self._rows)
            if n_repeated:
                lines.append(
                    f"{_count(n_repeated, 'shape')} exactly repeat{'s' if n_repeated == 1 else ''} another one"
                )
            n_same_id = self._n_shapes - len(self._ids)
            if n_same_id:
                lines.append(f"{_count(n_same_id, 'id')} used more than once")
        if self._n_collapsed:
            lines.append(f"{_count(self._n_collapsed, 'shape')} collapsed to a point: remove before fitting")
        if shapes.closed and self._n_whole:
            if self._n_left and self._n_right:
                lines.append(f"direction: {self._n_left} turn counter-clockwise, {self._n_right} clockwise")
            else:
                lines.append(f"direction: all turn {'counter-clockwise' if self._n_left else 'clockwise'}")
        elif self._n_whole and self._n_joined == self._n_whole:
            lines.append("first and last point coincide in every shape: outlines? Then read them with closed=True")
        return lines


def signed_areas(configurations: ComplexArray) -> FloatArray:
    """Return the signed areas of the polygons, positive for counter-clockwise ones."""
    centered = configurations - configurations.mean(axis=1, keepdims=True)
    following = np.roll(centered, -1, axis=1)
    areas: FloatArray = 0.5 * (centered.conj() * following).imag.sum(axis=1)
    return areas


def _outline_points(shapes: "ShapeSet", rows: ComplexArray) -> Any:
    if isinstance(shapes.space, BSpline | HermiteSpline):
        return shapes.space.sample(rows, shapes.space.parameters(4 * shapes.space.n_coordinates))
    return rows


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
