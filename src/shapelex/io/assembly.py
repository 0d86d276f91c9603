"""From records of any lengths to one set of shapes.

In come the records of one or several files, and what the caller wants of them; out goes a
:class:`~shapelex.ShapeSet`. Here it is decided, the same way for all formats, whether outlines are closed,
whether they are resampled or fitted, and what becomes of missing landmarks.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.exceptions import ShapeFileError
from shapelex.io.records import BadRecord, Record
from shapelex.io.resampling import resample_polyline
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import column_from_values
from shapelex.shapes.preparation import Preparation
from shapelex.spaces import Landmarks, Space

# Points of a polygon that a coordinate of a curve is fitted to.
_POINTS_PER_COORDINATE = 8
_COUNTS_NAMED = 6
# Entries of a table that are granted, and how many times more than its records hold.
_FREE_CELLS = 20_000_000
_MOST_SWELLING = 20


@dataclass(frozen=True)
class Wanted:
    """What the caller wants of the shapes.

    Parameters
    ----------
    space : Space or None
        Space to fit them in.
    n_points : int or None
        Number of points to resample them to.
    closed : bool or None
        Whether they are closed, whatever the file says.
    missing : {"error", "allow", "negative"}
        What missing landmarks are, and whether they are an error.
    """

    space: Space | None = None
    n_points: int | None = None
    closed: bool | None = None
    missing: str = "error"

    @property
    def allows_missing(self) -> bool:
        """Whether NaN may stay."""
        return self.missing != "error"

    @property
    def said_closed(self) -> bool | None:
        """Whether shapes are closed, where the caller says it in so many words or by the space."""
        return self.closed if self.space is None else self.space.closed

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


def check_record(record: Record, wanted: Wanted, hint: str = "") -> Record | BadRecord:
    """Return a record whose points can be used, with what is missing as NaN, or say why it cannot.

    Parameters
    ----------
    record : Record
        As a reader hands it over.
    wanted : Wanted
        What the caller wants.
    hint : str
        What to do about missing landmarks, to go after the reason.

    Returns
    -------
    Record or BadRecord
        The record, or what is wrong with it.
    """
    points = np.ascontiguousarray(record.points)
    if points.ndim != 1 or len(points) == 0:
        return BadRecord(record.where, "it holds no points.")
    if np.isinf(points).any():
        return BadRecord(record.where, "it holds infinite coordinates.")
    if wanted.missing == "negative":
        # In comparisons NaN is never negative, so what is missing already stays so.
        is_gone = (points.real < 0) | (points.imag < 0)
        points = np.where(is_gone, complex(np.nan, np.nan), points).astype(points.dtype)
    is_gone = np.isnan(points)
    if is_gone.any():
        if not wanted.allows_missing:
            n_gone = int(is_gone.sum())
            verb = "is" if n_gone == 1 else "are"
            return BadRecord(record.where, f"{n_gone} of its {len(points)} landmarks {verb} missing{hint}.")
        if is_gone.all():
            return BadRecord(record.where, "all its landmarks are missing.")
        if wanted.n_points is not None or not (wanted.space is None or isinstance(wanted.space, Landmarks)):
            return BadRecord(record.where, "landmarks are missing, so it can be neither resampled nor fitted.")
        points = np.where(is_gone, complex(np.nan, np.nan), points).astype(points.dtype)
    elif wanted.resamples(len(points)):
        closed = wanted.said_closed if wanted.said_closed is not None else bool(record.closed)
        reason = _why_no_curve(points, closed)
        if reason:
            return BadRecord(record.where, reason)
    return replace(record, points=points)


def assemble(found: Sequence[Found], wanted: Wanted) -> ShapeSet:
    """Return the set that records make up.

    Parameters
    ----------
    found : sequence of Found
        Records that :func:`check_record` let pass, at least one.
    wanted : Wanted
        What the caller wants.

    Returns
    -------
    ShapeSet
        The set, with a note for everything that was done to the points.

    Raises
    ------
    ShapeFileError
        If records differ in their numbers of points and nothing says what to do, or cannot be fitted.
    """
    made = make_rows(found, wanted)
    columns = _make_columns(found)
    records = [one.record for one in found]
    labels = [record.label for record in records]
    return ShapeSet(
        made.configurations,
        made.space,
        ids=np.array([record.id for record in records], dtype=np.str_),
        labels=np.array(labels, dtype=np.str_) if any(labels) else None,
        sequence=_number_series(found),
        metadata=columns,
        missing="allow" if wanted.allows_missing else "error",
        notes=tuple(note_rows(made.n_repeated_ends, made.note)),
        preparation=Preparation(made.resampling),
    )


@dataclass(frozen=True)
class Rows:
    """Configurations that records became.

    Parameters
    ----------
    configurations : ndarray of complex, shape (n_shapes, n_coordinates)
        One row a record.
    space : Space
        Their space.
    n_repeated_ends : int
        Closed shapes whose last point repeated the first and was dropped.
    note : str
        What was done to all, or nothing.
    resampling : str or None
        As in :class:`~shapelex.shapes.preparation.Preparation`.
    """

    configurations: ComplexArray
    space: Space
    n_repeated_ends: int
    note: str
    resampling: str | None


def make_rows(found: Sequence[Found], wanted: Wanted) -> Rows:
    """Return the configurations that records make up; as :func:`assemble`, without what is known of each."""
    closed = choose_closed(found, wanted)
    lines = [one.record.points for one in found]
    n_dropped = 0
    if closed:
        lines, n_dropped = _drop_repeated_ends(lines)
    space, rows, note, resampling = _make_rows(found, lines, wanted, closed)
    return Rows(rows, space, n_dropped, note, resampling)


def note_rows(n_repeated_ends: int, note: str) -> list[str]:
    """Say what was done to the points of records, one sentence each."""
    notes = [note] if note else []
    if n_repeated_ends:
        noun = "shape" if n_repeated_ends == 1 else "shapes"
        notes.insert(0, f"The last point of {n_repeated_ends} closed {noun} repeated the first and was dropped.")
    return notes


def conform(shapes: ShapeSet, path: Path, wanted: Wanted, first_row: int = 0) -> ShapeSet:
    """Return a set that a file holds ready for use, as the caller wants it.

    Parameters
    ----------
    shapes : ShapeSet
        As read.
    path : Path
        The file, for messages.
    wanted : Wanted
        What the caller wants.
    first_row : int
        Row of the file that the first shape is.

    Returns
    -------
    ShapeSet
        The set: as it is where it is in the space wanted, else resampled or fitted.

    Raises
    ------
    ShapeFileError
        If the file holds curves of another space, or missing landmarks where they are an error.
    """
    if isinstance(shapes.space, Landmarks) and wanted.closed is not None and wanted.closed != shapes.closed:
        changed = Landmarks(shapes.space.n_points, closed=wanted.closed)
        shapes = shapes.replace(space=changed, preparation=shapes.preparation)
    if wanted.missing == "error" and shapes.is_missing.any():
        row = first_row + int(np.flatnonzero(shapes.is_missing.any(axis=1))[0])
        raise ShapeFileError(f'{path} has missing landmarks, first in shape {row}: missing="allow" keeps them as NaN.')
    shapes = shapes.replace(missing="allow" if wanted.allows_missing else "error")
    if wanted.n_points is None and wanted.space in (None, shapes.space):
        return shapes
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"{path} holds configurations in {shapes.space!r}, which are not resampled: read it without n_points and "
            "space, and fit space.sample(…) of the curves."
        )
    if shapes.is_missing.any():
        raise ShapeFileError(f"{path} has missing landmarks, so its shapes can be neither resampled nor fitted.")
    found = [Found(path, Record(row, id=name)) for row, name in zip(shapes, shapes.ids, strict=True)]
    space, rows, note, resampling = _make_rows(found, list(shapes), wanted, shapes.closed)
    preparation = Preparation(resampling) if note else shapes.preparation
    notes = (*shapes.notes, *([note] if note else []))
    return shapes.replace(configurations=rows, space=space, notes=notes, preparation=preparation)


def choose_closed(found: Sequence[Found], wanted: Wanted) -> bool:
    """Tell whether records make up closed shapes; refuse those of which some do and others do not."""
    if wanted.said_closed is not None:
        return wanted.said_closed
    closed = next((one for one in found if one.record.closed), None)
    other = next((one for one in found if not one.record.closed), None)
    if closed is not None and other is not None:
        kind = "of no such kind" if other.record.closed is None else "open"
        raise ShapeFileError(
            f"Some shapes are closed ({closed.where}), others {kind} ({other.where}): say what they are with "
            "closed=True or closed=False, or read them apart."
        )
    return closed is not None


def _why_no_curve(points: ComplexArray, closed: bool) -> str:
    """Say why points cannot be resampled; nothing where they can."""
    if len(points) < (3 if closed else 2):
        return f"it has too few points ({len(points)}) for {'a closed' if closed else 'an open'} curve."
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.abs(np.diff(points)).sum() + closed * np.abs(points[-1] - points[0]))
    if length == 0:
        return f"it has no length: all its {len(points)} points coincide; remove it."
    return "" if np.isfinite(length) else "its coordinates are so large that its length overflows."


def _drop_repeated_ends(lines: list[ComplexArray]) -> tuple[list[ComplexArray], int]:
    repeats = [len(line) > 3 and line[0] == line[-1] for line in lines]
    return [line[:-1] if is_repeated else line for line, is_repeated in zip(lines, repeats, strict=True)], sum(repeats)


def _make_rows(
    found: Sequence[Found], lines: list[ComplexArray], wanted: Wanted, closed: bool
) -> tuple[Space, ComplexArray, str, str | None]:
    """Return the space, the configurations, a note on what was done to them, and how they were resampled."""
    counts = Counter(len(line) for line in lines)
    space = wanted.space
    if space is None and wanted.n_points is not None:
        space = Landmarks(wanted.n_points, closed=closed)
    if space is None:
        if len(counts) > 1:
            raise ShapeFileError(_say_counts(found, lines, counts))
        (n_points,) = counts
        if n_points < 2:
            raise ShapeFileError(f"{found[0].where}: shapes of a single point have no shape.")
        return Landmarks(n_points, closed=closed), _stack(lines), "", "as given"
    # Landmarks of the right number are as they should be, whatever the others are.
    is_ready = isinstance(space, Landmarks) and wanted.n_points is None
    if is_ready and set(counts) == {space.n_coordinates}:
        return space, _stack(lines), "", "as given"
    for one, line in zip(found, lines, strict=True):
        reason = _why_no_curve(line, closed)
        if reason:
            raise ShapeFileError(f"{one.where}: {reason}")
    if isinstance(space, Landmarks):
        n_points = space.n_points
        samples = np.stack(
            [
                line if is_ready and len(line) == n_points else resample_polyline(line, n_points, closed)
                for line in lines
            ]
        )
        return (
            space,
            samples.astype(np.complex128, copy=False),
            f"Resampled to {space.n_points} points at equal steps of arc length.",
            None if is_ready and n_points in counts else "arc length",
        )
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


def _stack(lines: list[ComplexArray]) -> ComplexArray:
    return np.stack(lines)


def _say_counts(found: Sequence[Found], lines: list[ComplexArray], counts: Counter[int]) -> str:
    common = counts.most_common(_COUNTS_NAMED)
    named = ", ".join(f"{count} ({'once' if times == 1 else f'{times} times'})" for count, times in common)
    more = f" and {len(counts) - _COUNTS_NAMED} more" if len(counts) > _COUNTS_NAMED else ""
    usual = counts.most_common(1)[0][0]
    odd = next(one for one, line in zip(found, lines, strict=True) if len(line) != usual)
    return (
        f"The shapes differ in their numbers of points: {named}{more}; the first unlike the others is {odd.where}. "
        "Outlines: n_points=100 resamples them by arc length, space=BSpline(40) fits a curve. Landmarks: correct or "
        "remove the odd ones, since all shapes must have the same landmarks."
    )


def _number_series(found: Sequence[Found]) -> np.ndarray[Any, Any] | None:
    """Return the series of each shape; series of different files keep apart."""
    given = {(one.path, one.record.sequence) for one in found if one.record.sequence is not None}
    if not given:
        return None
    if len({path for path, _ in given}) == 1:
        return np.array([-1 if one.record.sequence is None else one.record.sequence for one in found], dtype=np.int64)
    numbers: dict[tuple[Path, int], int] = {}
    series = np.full(len(found), -1, dtype=np.int64)
    for row, one in enumerate(found):
        if one.record.sequence is not None:
            series[row] = numbers.setdefault((one.path, one.record.sequence), len(numbers))
    return series


def _make_columns(found: Sequence[Found]) -> dict[str, np.ndarray[Any, Any]]:
    check_width(found)
    columns: dict[str, list[Any]] = {}
    if any(one.record.frame is not None for one in found):
        columns["frame"] = [-1 if one.record.frame is None else one.record.frame for one in found]
    for row, one in enumerate(found):
        for name, value in one.record.metadata.items():
            if name not in columns:
                columns[name] = [None] * len(found)
            columns[name][row] = value
    if len({one.path for one in found}) > 1:
        columns["file"] = [str(one.path) for one in found]
    return {name: column_from_values(values) for name, values in columns.items()}


def check_width(found: Sequence[Found]) -> None:
    """Refuse records that would swell as a table: keys that few records have, or a few very long texts."""
    longest: dict[str, tuple[int, Found]] = {}
    n_characters = 0
    for one in found:
        record = one.record
        for name, value in (("id", record.id), ("label", record.label), *record.metadata.items()):
            if isinstance(value, str):
                n_characters += len(value)
                if len(value) > longest.get(name, (0, one))[0]:
                    longest[name] = (len(value), one)
    check_swelling(
        len(found),
        len({name for one in found for name in one.record.metadata}),
        sum(len(one.record.metadata) for one in found),
        n_characters,
        {f"{one.where}, {name}": length for name, (length, one) in longest.items()},
    )


def check_swelling(n_shapes: int, n_names: int, n_cells: int, n_characters: int, widths: Mapping[str, int]) -> None:
    """Refuse a table far larger than what goes into it.

    Parameters
    ----------
    n_shapes, n_names : int
        Rows and columns.
    n_cells, n_characters : int
        Entries that there are, and characters of all texts.
    widths : mapping of str to int
        Characters of the longest text of each column, by what to call it.

    Raises
    ------
    ShapeFileError
        If most entries would be empty, or most of the texts padding.
    """
    if n_shapes * n_names > max(_FREE_CELLS, _MOST_SWELLING * n_cells):
        raise ShapeFileError(
            f"The {n_shapes} records have {n_names} different keys, few of them in common: too many for a table; "
            "take out those that are not needed."
        )
    if n_shapes * sum(widths.values()) > max(_FREE_CELLS, _MOST_SWELLING * n_characters):
        name = max(widths, key=lambda one: widths[one])
        raise ShapeFileError(f"{name}: one of its texts has {widths[name]} characters: shorten it.")
