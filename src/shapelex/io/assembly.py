"""Records of any lengths to configurations of one space.

Input: the records of one or several files, and what the caller wants of them. Output: parts of one set of shapes. Here
it is decided, in the same way for all formats, whether outlines are closed, whether they are resampled or fitted, and
what becomes of missing landmarks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._messages import format_option, parameter
from shapelex._typing import ComplexArray
from shapelex.exceptions import ShapeFileError
from shapelex.geometry.resampling import resample_polyline
from shapelex.io.records import BadRecord, Record
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import column_from_values
from shapelex.shapes.preparation import Preparation
from shapelex.spaces import Landmarks, Space

# Points of a polygon that a coordinate of a curve is fitted to.
_POINTS_PER_COORDINATE = 8
_COUNTS_NAMED = 6
# Entries of a table that are always allowed, and how many times more than its records hold.
_FREE_CELLS = 20_000_000
_MOST_SWELLING = 20


@dataclass(frozen=True)
class Wanted:
    """What the caller wants of the shapes.

    Parameters
    ----------
    space : Space, callable or None
        Space to bring them into, or a function of `closed` that returns it once the first shapes are known.
    n_points : int or None
        Number of points to resample them to.
    closed : bool or None
        Whether they are closed, whatever the file says.
    missing : {"error", "allow", "negative"}
        What missing landmarks are, and whether they are an error.
    """

    space: Space | Callable[[bool], Space] | None = None
    n_points: int | None = None
    closed: bool | None = None
    missing: str = "error"

    @property
    def said_closed(self) -> bool | None:
        """Whether shapes are closed, where the caller says so directly or by the space."""
        return self.space.closed if isinstance(self.space, Space) else self.closed

    def resamples(self, n_points: int) -> bool:
        """Tell whether a shape of so many points is resampled or fitted, whatever the others are."""
        if self.space is None:
            return self.n_points is not None
        return not (isinstance(self.space, Landmarks) and self.space.n_points == n_points)


@dataclass(frozen=True)
class Found:
    """A record and the file it comes from."""

    path: Path
    record: Record

    @property
    def where(self) -> str:
        """Place of the record, for messages."""
        return f"{self.path}, {self.record.where or self.record.id}"

    @property
    def series_source(self) -> Path:
        """File or folder within which the number of its time series is unique."""
        return self.path.parent if self.record.spans_folder else self.path


def check_record(record: Record, wanted: Wanted, hint: str = "") -> Record | BadRecord:
    """Return a record whose points can be used, with what is missing as NaN, or what is wrong with it.

    `hint` says what to do about missing landmarks, and goes after the reason.
    """
    points = np.ascontiguousarray(record.points)
    if points.ndim != 1 or len(points) == 0:
        return BadRecord(record.where, "it holds no points.")
    if np.isinf(points).any():
        return BadRecord(record.where, "it holds infinite coordinates.")
    is_gone = np.isnan(points)
    if wanted.missing == "negative":
        is_gone |= (points.real < 0) | (points.imag < 0)
    if is_gone.any():
        if wanted.missing == "error":
            n_gone = int(is_gone.sum())
            verb = "is" if n_gone == 1 else "are"
            return BadRecord(record.where, f"{n_gone} of its {len(points)} landmarks {verb} missing{hint}.")
        if is_gone.all():
            return BadRecord(record.where, "all its landmarks are missing.")
        if wanted.resamples(len(points)):
            return BadRecord(record.where, "landmarks are missing, so it can be neither resampled nor fitted.")
        points = np.where(is_gone, complex(np.nan, np.nan), points).astype(points.dtype)
    elif wanted.resamples(len(points)):
        closed = wanted.said_closed if wanted.said_closed is not None else bool(record.closed)
        reason = _why_no_curve(points, closed)
        if reason:
            return BadRecord(record.where, reason)
    return record if points is record.points else replace(record, points=points)


def assemble(found: Sequence[Found], wanted: Wanted) -> tuple[ShapeSet, int]:
    """Return the part of a set that records make up, and how many closed shapes repeated their first point.

    Time series have the numbers of their files.
    """
    closed = choose_closed(found, wanted)
    lines = [one.record.points for one in found]
    n_repeated = 0
    if closed:
        repeats = [len(line) > 3 and line[0] == line[-1] for line in lines]
        lines = [line[:-1] if is_repeated else line for line, is_repeated in zip(lines, repeats, strict=True)]
        n_repeated = sum(repeats)
    space, rows, note, resampling = _make_rows(found, lines, wanted, closed)
    records = [one.record for one in found]
    ids, labels = [record.id for record in records], [record.label for record in records]
    n_entries = Counter(chain.from_iterable(record.metadata for record in records))
    check_cells(len(found), len(n_entries), n_entries.total())
    columns: dict[str, list[Any]] = {}
    for row, record in enumerate(records):
        if record.frame is not None:
            if "frame" not in columns:
                columns["frame"] = [-1] * len(found)
            columns["frame"][row] = record.frame
        for name, value in record.metadata.items():
            if name not in columns:
                columns[name] = [None] * len(found)
            columns[name][row] = value
    _check_texts(found, [("id", ids), ("label", labels), *columns.items()])
    made = {name: column_from_values(values) for name, values in columns.items()}
    mixed = [
        name
        for name, column in made.items()
        if column.dtype.kind == "U" and any(isinstance(one, int | float) and one == one for one in columns[name])
    ]
    notes = [*([note] if note else []), *(mixed_note(name) for name in mixed if _has_text(columns[name]))]
    series = [-1 if record.sequence is None else record.sequence for record in records]
    part = ShapeSet(
        rows,
        space,
        labels=np.array(labels, dtype=np.str_) if any(labels) else None,
        sequence=series if any(number != -1 for number in series) else None,
        metadata=made,
        missing="error" if wanted.missing == "error" else "allow",
        notes=notes,
        preparation=Preparation(resampling),
    )
    return part._with_any_ids(np.array(ids, dtype=np.str_)), n_repeated


def mixed_note(name: str) -> str:
    """Say that the entries of a column are not of one kind."""
    return f"The column {name!r} holds numbers and text, so all its entries are text."


def _has_text(values: Sequence[Any]) -> bool:
    return any(isinstance(one, str) and one for one in values)


def conform(shapes: ShapeSet, path: Path, wanted: Wanted, first_row: int = 0) -> ShapeSet:
    """Return a set that a file holds ready for use, as the caller wants it; `first_row` is that of the first shape.

    It is returned as it is where it is in the space wanted, and else resampled or fitted.
    """
    if isinstance(shapes.space, Landmarks) and wanted.closed is not None and wanted.closed != shapes.closed:
        changed = Landmarks(shapes.space.n_points, closed=wanted.closed)
        before = shapes.preparation
        # A registered start point has no meaning where the ends of the curve are its start.
        kept = (
            None
            if before is None
            else Preparation(before.resampling, is_recorded=before.is_recorded, left_out=before.left_out)
        )
        shapes = shapes.replace(space=changed, preparation=kept)
    is_incomplete = shapes.is_missing.any(axis=1)
    if wanted.missing == "error" and is_incomplete.any():
        row = first_row + int(np.flatnonzero(is_incomplete)[0])
        raise ShapeFileError(
            f"{path} has missing landmarks, first in shape {row}: {parameter('missing', 'allow')} keeps them as NaN."
        )
    shapes = shapes.replace(missing="error" if wanted.missing == "error" else "allow")
    if callable(wanted.space):
        wanted = replace(wanted, space=wanted.space(shapes.closed))
    if wanted.n_points is None and wanted.space in (None, shapes.space):
        return shapes
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"{path} holds configurations in {shapes.space!r}, which are not resampled: read it without n_points and "
            "space, and fit space.sample(…) of the curves."
        )
    if is_incomplete.any():
        raise ShapeFileError(f"{path} has missing landmarks, so its shapes can be neither resampled nor fitted.")
    found = [Found(path, Record(row, id=name)) for row, name in zip(shapes, shapes.ids, strict=True)]
    space, rows, note, resampling = _make_rows(found, list(shapes), wanted, shapes.closed)
    preparation = shapes.preparation
    if note:
        preparation = Preparation(resampling, left_out=() if preparation is None else preparation.left_out)
    notes = (*shapes.notes, *([note] if note else []))
    return shapes.replace(configurations=rows, space=space, notes=notes, preparation=preparation)


def choose_closed(found: Sequence[Found], wanted: Wanted) -> bool:
    """Tell whether records make up closed shapes; refuse records of which some do and others do not."""
    if wanted.said_closed is not None:
        return wanted.said_closed
    closed = next((one for one in found if one.record.closed), None)
    other = next((one for one in found if not one.record.closed), None)
    if closed is not None and other is not None:
        kind = "of no such kind" if other.record.closed is None else "open"
        raise ShapeFileError(
            f"Some shapes are closed ({closed.where}), others {kind} ({other.where}): say what they are with "
            f"{parameter('closed', True)} or {parameter('closed', False)}, or read one "
            f"kind alone, as with {format_option('only', 'outlines')} of ImageJ and GeoJSON files."
        )
    return closed is not None


def _why_no_curve(points: ComplexArray, closed: bool) -> str:
    """Return why points cannot be resampled; nothing where they can."""
    if len(points) < (3 if closed else 2):
        return f"it has too few points ({len(points)}) for {'a closed' if closed else 'an open'} curve."
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.abs(np.diff(points)).sum() + closed * np.abs(points[-1] - points[0]))
    if length == 0:
        return f"it has no length: all its {len(points)} points coincide; remove it."
    return "" if np.isfinite(length) else "its coordinates are so large that its length overflows."


def _make_rows(
    found: Sequence[Found], lines: list[ComplexArray], wanted: Wanted, closed: bool
) -> tuple[Space, ComplexArray, str, str | None]:
    """Return the space, the configurations, a note on what was done to them, and how they were resampled."""
    counts = Counter(map(len, lines))
    space = wanted.space(closed) if callable(wanted.space) else wanted.space
    if space is None and wanted.n_points is not None:
        space = Landmarks(wanted.n_points, closed=closed)
    if space is None:
        if len(counts) > 1:
            raise ShapeFileError(_say_counts(found, lines, counts))
        (n_points,) = counts
        if n_points < 2:
            raise ShapeFileError(f"{found[0].where}: shapes of a single point have no shape.")
        return Landmarks(n_points, closed=closed), np.stack(lines), "", "as given"
    # Landmarks of the right number are as they should be, whatever the others are.
    is_ready = isinstance(space, Landmarks) and wanted.n_points is None
    if is_ready and set(counts) == {space.n_coordinates}:
        return space, np.stack(lines), "", "as given"
    for one, line in zip(found, lines, strict=True):
        reason = _why_no_curve(line, closed)
        if reason:
            raise ShapeFileError(f"{one.where}: {reason}")
    if isinstance(space, Landmarks):
        n_points = space.n_points
        samples = [
            line if is_ready and len(line) == n_points else resample_polyline(line, n_points, closed) for line in lines
        ]
        note = f"Resampled to {n_points} points at equal steps of arc length."
        resampling = None if is_ready and n_points in counts else "arc length"
        return space, np.stack(samples).astype(np.complex128, copy=False), note, resampling
    note = "Fitted by least squares to the polygons through the points, sampled at equal steps."
    return space, fit_curves(lines, space), note, "least squares"


def fit_curves(lines: list[ComplexArray], space: Space) -> ComplexArray:
    """Fit a curve to each polygon: as many samples as it needs, whatever the others are."""
    n_samples = np.full(len(lines), _POINTS_PER_COORDINATE * space.n_coordinates)
    for row, line in enumerate(lines):
        while n_samples[row] < len(line):
            n_samples[row] *= 2
    fitted = np.empty((len(lines), space.n_coordinates), dtype=np.complex128)
    for count in np.unique(n_samples).tolist():
        rows = np.flatnonzero(n_samples == count)
        samples = np.stack([resample_polyline(lines[row], count, space.closed) for row in rows])
        fitted[rows] = space.fit(samples, space.parameters(count))
    return fitted


def _say_counts(found: Sequence[Found], lines: list[ComplexArray], counts: Counter[int]) -> str:
    common = counts.most_common(_COUNTS_NAMED)
    named = ", ".join(f"{count} ({'once' if times == 1 else f'{times} times'})" for count, times in common)
    more = f" and {len(counts) - _COUNTS_NAMED} more" if len(counts) > _COUNTS_NAMED else ""
    odd = next(one for one, line in zip(found, lines, strict=True) if len(line) != common[0][0])
    said = f"The shapes differ in their numbers of points: {named}{more}; the first unlike the others is {odd.where}."
    return f"{said} {SAME_COUNTS}"


SAME_COUNTS = (
    f"Outlines: {parameter('n_points', 100)} resamples them by arc length, {parameter('space=BSpline(40)')} fits a "
    "curve. Landmarks: correct or remove "
    "the odd ones, since all shapes must have the same landmarks."
)
"""What to do about shapes that differ in their numbers of points."""


def _check_texts(found: Sequence[Found], columns: Iterable[tuple[str, Sequence[Any]]]) -> None:
    """Refuse columns in which a few texts are far longer than the others."""
    n_characters = 0
    widths: dict[str, int] = {}
    for name, values in columns:
        lengths = [len(value) if isinstance(value, str) else 0 for value in values]
        n_characters += sum(lengths)
        longest = max(lengths)
        if longest:
            widths[f"{found[lengths.index(longest)].where}, {name}"] = longest
    check_texts(len(found), n_characters, widths)


def check_cells(n_shapes: int, n_names: int, n_cells: int) -> None:
    """Refuse a table of `n_shapes` rows and `n_names` columns of which far too few entries, `n_cells`, are present."""
    if n_shapes * n_names > max(_FREE_CELLS, _MOST_SWELLING * n_cells):
        raise ShapeFileError(
            f"The {n_shapes} records have {n_names} different keys, few of them in common: too many for a table; "
            "take out those that are not needed."
        )


def check_texts(n_shapes: int, n_characters: int, widths: Mapping[str, int]) -> None:
    """Refuse columns of text that would need far more room than the texts, which have `n_characters` in all.

    `widths` are the lengths of the longest texts, by what to call them.
    """
    if n_shapes * sum(widths.values()) > max(_FREE_CELLS, _MOST_SWELLING * n_characters):
        name = max(widths, key=lambda one: widths[one])
        raise ShapeFileError(f"{name}: one of its texts has {widths[name]} characters: shorten it.")
