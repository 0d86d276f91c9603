"""Description of a set of shapes in words, with what to check before using it."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from shapelex._messages import on_one_line
from shapelex._typing import ComplexArray, FloatArray
from shapelex.shapes.columns import FPS
from shapelex.shapes.study import choose_unit, tell_units, unit_columns, unit_values
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
        self._series: Counter[int] = Counter()
        self._rates: set[float] = set()
        self._units: dict[str, set[str]] = {}
        self._rows: set[int] = set()
        self._ids: set[int] = set()
        self._counts: Counter[str] = Counter()
        self._last: ShapeSet | None = None
        for block in blocks:
            self._see(block)

    def __str__(self) -> str:
        shapes = self._last
        if shapes is None:
            return "0 shapes"
        n_shapes = _count(self._counts["shapes"], "shape")
        lines = [f"{n_shapes} in {shapes.space!r}, {'closed' if shapes.closed else 'open'}"]
        if shapes.preparation is not None and (shapes.closed or shapes.preparation.is_registered):
            lines.append(str(shapes.preparation))
        lines.append("no labels" if shapes.labels is None else self._name_labels())
        if self._series:
            lines.append(self._name_series())
        if shapes.metadata:
            lines.append(f"metadata: {', '.join(map(on_one_line, shapes.metadata))}")
        n_units = {name: len(found) for name, found in self._units.items()}
        unit = choose_unit(n_units, self._counts["shapes"], shapes.roles)
        if unit is not None:
            lines.append(tell_units(unit, n_units[unit], self._counts["shapes"]))
        lines += self._name_troubles(shapes.closed)
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
        self._counts["shapes"] += len(shapes)
        if shapes.labels is not None:
            self.labels.update(shapes.labels.tolist())
        if shapes.sequence is not None:
            self._series.update(shapes.sequence[shapes.sequence != -1].tolist())
        columns = shapes.columns.described()
        for name in unit_columns(shapes.roles):
            if name in columns:
                values = unit_values(name, columns[name], self._counts["shapes"] - len(shapes))
                self._units.setdefault(name, set()).update(np.unique(values).tolist())
        rates = shapes.metadata.get(FPS)
        if rates is not None and rates.dtype.kind in "iuf":
            self._rates.update(rates[rates > 0].tolist())
        if self._counts["shapes"] <= _MAX_HASHED:
            self._rows.update(hash(row.tobytes()) for row in shapes.configurations)
            self._ids.update(map(hash, shapes.ids.tolist()))
        is_gone = np.isnan(shapes.configurations)
        is_whole = ~is_gone.any(axis=1)
        self._counts.update(gone=int(is_gone.sum()), incomplete=int((~is_whole).sum()), whole=int(is_whole.sum()))
        if not is_whole.any():
            return
        points = shapes.configurations[is_whole]
        if isinstance(shapes.space, BSpline | HermiteSpline):
            points = shapes.space.sample(points, shapes.space.parameters(4 * shapes.space.n_coordinates))
        self._counts["collapsed"] += int((np.abs(points - points[:, :1]).max(axis=1) == 0).sum())
        if shapes.closed:
            areas = signed_areas(points)
            self._counts.update(left=int((areas > 0).sum()), right=int((areas < 0).sum()))
        elif points.shape[1] > 2:
            self._counts["joined"] += int((points[:, 0] == points[:, -1]).sum())

    def _name_labels(self) -> str:
        order = sorted(((name, n) for name, n in self.labels.items() if name), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{on_one_line(name)} {count}" for name, count in order[:_NAMED])
        more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
        without = f"; {_count(self.labels[''], 'shape')} without a label" if self.labels[""] else ""
        return f"{_count(len(order), 'label')}: {named}{more}{without}"

    def _name_series(self) -> str:
        lengths = _name_ends(self._series.values(), "d")
        rates = ""
        if self._rates:
            # Below one frame per second, the seconds from frame to frame are easier to read.
            is_slow = max(self._rates) < 1
            named = _name_ends([1 / rate if is_slow else rate for rate in self._rates], ".4g")
            rates = f", {named} {'seconds per frame' if is_slow else 'frames per second'}"
        return f"{len(self._series)} time series of {lengths} shapes{rates}"

    def _name_troubles(self, is_closed: bool) -> list[str]:
        counts = self._counts
        is_hashed = counts["shapes"] <= _MAX_HASHED
        n_repeated, n_same_id = (is_hashed * (counts["shapes"] - len(seen)) for seen in (self._rows, self._ids))
        n_gone, n_collapsed, left, right = (counts[one] for one in ("gone", "collapsed", "left", "right"))
        one_way = f"all turn {'counter-clockwise' if left else 'clockwise'}"
        both_ways = f"{left} turn counter-clockwise, {right} clockwise"
        is_joined = not is_closed and counts["joined"] == counts["whole"]
        joined = "first and last point coincide in every shape: outlines? Then read them with closed=True"
        troubles = [
            (n_gone, f"missing: {_count(n_gone, 'landmark')} in {_count(counts['incomplete'], 'shape')}"),
            (n_repeated, f"{_count(n_repeated, 'shape')} exactly repeat{'s' * (n_repeated == 1)} another one"),
            (n_same_id, f"{_count(n_same_id, 'id')} used more than once"),
            (n_collapsed, f"{_count(n_collapsed, 'shape')} collapsed to a point: remove before fitting"),
            (counts["whole"] and is_closed, f"direction: {both_ways if left and right else one_way}"),
            (counts["whole"] and is_joined, joined),
        ]
        return [words for is_there, words in troubles if is_there]


def signed_areas(outlines: ComplexArray) -> FloatArray:
    """Return the areas inside closed polygons, whose points are on the last axis; negative for clockwise ones."""
    moved = outlines - outlines[..., :1]
    return np.asarray(np.vecdot(moved[..., :-1], moved[..., 1:]).imag / 2)


def _name_ends(numbers: Iterable[float], form: str) -> str:
    """Return the least and the largest of some numbers, once where they look the same."""
    ordered = sorted(numbers)
    return " to ".join(dict.fromkeys(format(end, form) for end in (ordered[0], ordered[-1])))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
