"""Make one set of shapes of the records and sets of files, in memory or in files of a folder.

Here it is decided, in the same way for all formats, whether outlines are closed, whether they are resampled or fitted,
and what becomes of missing landmarks. Whether the parts of a set are in memory or on disk changes nothing else.
"""

import logging
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from shapelex._messages import format_option, parameter
from shapelex._typing import ComplexArray, IntArray
from shapelex.exceptions import ShapeFileError, ShapelexError
from shapelex.geometry.resampling import resample_polyline
from shapelex.io.names import tell_apart
from shapelex.io.records import BadRecord, Record
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import ABSENT, METADATA, Column, ColumnKind, SeriesNumbers, cast_column, column_from_values
from shapelex.shapes.identity import GIVEN_ID, UniqueIds, hashes_of, id_in_file
from shapelex.shapes.preparation import Preparation, join_preparations
from shapelex.shapes.set import join_blocks
from shapelex.shapes.storage import FileShapes, read_pieces
from shapelex.shapes.study import join_roles
from shapelex.spaces import Landmarks, Space

logger = logging.getLogger(__name__)

SAME_COUNTS = (
    f"Outlines: {parameter('n_points', 100)} resamples them by arc length, {parameter('space=BSpline(40)')} fits a "
    "curve. Landmarks: correct or remove the odd ones, since all shapes must have the same landmarks."
)
"""What to do about shapes that differ in their numbers of points."""

# What is told of a set whose files have the same names.
_SAME_FILE_NAMES = "ids begin with the folders of files whose names are the same, as in control/well1:3"
# Records wait until they are so many, or their points take so many bytes.
_BATCH_RECORDS = 1 << 12
_BATCH_BYTES = 1 << 26
# What a shape takes in memory beside its points.
_SHAPE_BYTES = 1 << 10
_PROVENANCES_KEPT = 100
# Points of a polygon that a coordinate of a curve is fitted to.
_POINTS_PER_COORDINATE = 8
# Entries of a table that are always allowed, and how many times more than its records hold.
_FREE_CELLS = 20_000_000
_MOST_SWELLING = 20

Where: TypeAlias = Callable[[int], str]
Held: TypeAlias = dict[str, Column]

CONFIGURATIONS = "configurations"
"""Name of the array of a part that is no column."""


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

    def space_of(self, closed: bool) -> Space | None:
        """Return the space to bring shapes into, None for that of their points as they are."""
        if self.space is None and self.n_points is not None:
            return Landmarks(self.n_points, closed=closed)
        return self.space(closed) if callable(self.space) else self.space


def check_record(record: Record, wanted: Wanted, hint: str = "") -> Record | BadRecord:
    """Return a record whose points can be used, with what is missing as NaN, or what is wrong with it.

    `hint` says what to do about missing landmarks, and goes after the reason.
    """
    points, reason = np.ascontiguousarray(record.points), ""
    is_gone = np.isnan(points)
    if wanted.missing == "negative":
        is_gone |= (points.real < 0) | (points.imag < 0)
    if points.ndim != 1 or len(points) == 0:
        reason = "it holds no points."
    elif np.isinf(points).any():
        reason = "it holds infinite coordinates."
    elif not is_gone.any():
        if wanted.resamples(len(points)):
            closed = wanted.said_closed if wanted.said_closed is not None else bool(record.closed)
            reason = _why_no_curve(points, closed)
    elif wanted.missing == "error":
        n_gone = int(is_gone.sum())
        reason = f"{n_gone} of its {len(points)} landmarks {'is' if n_gone == 1 else 'are'} missing{hint}."
    elif is_gone.all():
        reason = "all its landmarks are missing."
    elif wanted.resamples(len(points)):
        reason = "landmarks are missing, so it can be neither resampled nor fitted."
    else:
        points = np.where(is_gone, complex(np.nan, np.nan), points).astype(points.dtype)
    if reason:
        return BadRecord(record.where, reason)
    return record if points is record.points else replace(record, points=points)


def conform(shapes: ShapeSet, path: Path, wanted: Wanted, first_row: int = 0) -> ShapeSet:
    """Return a set that a file holds ready for use, as the caller wants it; `first_row` is that of the first shape.

    It is returned as it is where it is in the space wanted, and else resampled or fitted.
    """
    if isinstance(shapes.space, Landmarks) and wanted.closed is not None and wanted.closed != shapes.closed:
        before = shapes.preparation
        # A registered start point has no meaning where the ends of the curve are its start.
        kept = before and Preparation(before.resampling, is_recorded=before.is_recorded, left_out=before.left_out)
        shapes = shapes.replace(space=Landmarks(shapes.space.n_points, closed=wanted.closed), preparation=kept)
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
    names = shapes.ids.tolist()
    space, rows, note, resampling = _make_rows(list(shapes), wanted, shapes.closed, lambda row: f"{path}, {names[row]}")
    preparation = shapes.preparation
    if note:
        preparation = Preparation(resampling, left_out=() if preparation is None else preparation.left_out)
    notes = (*shapes.notes, *([note] if note else []))
    return shapes.replace(configurations=rows, space=space, notes=notes, preparation=preparation)


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
    lines: list[ComplexArray], wanted: Wanted, closed: bool, where: Where
) -> tuple[Space, ComplexArray, str, str | None]:
    """Return the space, the configurations, a note on what was done to them, and how they were resampled."""
    counts, space = list(map(len, lines)), wanted.space_of(closed)
    if space is None:
        odd = next((row for row, count in enumerate(counts) if count != counts[0]), None)
        if odd is not None:
            raise ShapeFileError(_say_counts(counts[0], where(0), counts[odd], where(odd)))
        if counts[0] < 2:
            raise ShapeFileError(f"{where(0)}: shapes of a single point have no shape.")
        space = Landmarks(counts[0], closed=closed)
    # Landmarks of the right number are as they should be, whatever the others are.
    is_ready = isinstance(space, Landmarks) and wanted.n_points is None
    if is_ready and set(counts) == {space.n_coordinates}:
        return space, np.stack(lines), "", "as given"
    for row, line in enumerate(lines):
        if reason := _why_no_curve(line, closed):
            raise ShapeFileError(f"{where(row)}: {reason}")
    if isinstance(space, Landmarks):
        n = space.n_points
        samples = [line if is_ready and len(line) == n else resample_polyline(line, n, closed) for line in lines]
        note = f"Resampled to {n} points at equal steps of arc length."
        resampling = None if is_ready and n in counts else "arc length"
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


def _say_counts(count: int, where: str, other: int, odd: str) -> str:
    return f"The shapes differ in their numbers of points: {count} ({where}), {other} ({odd}). {SAME_COUNTS}"


def _say_closed(closed: str, other: str, kind: str = "open") -> str:
    return (
        f"Some shapes are closed ({closed}), others {kind} ({other}): say what they are with "
        f"{parameter('closed', True)} or {parameter('closed', False)}, or read one kind alone, as with "
        f"{format_option('only', 'outlines')} of ImageJ and GeoJSON files."
    )


def _say_mixed(name: str) -> str:
    return f"The column {name!r} holds numbers and text, so all its entries are text."


def _check_cells(n_shapes: int, n_names: int, n_cells: int) -> None:
    """Refuse a table of `n_shapes` rows and `n_names` columns of which far too few entries, `n_cells`, are present."""
    if n_shapes * n_names > max(_FREE_CELLS, _MOST_SWELLING * n_cells):
        raise ShapeFileError(
            f"The {n_shapes} records have {n_names} different keys, few of them in common: too many for a table; "
            "take out those that are not needed."
        )


def _check_texts(n_shapes: int, n_characters: int, widths: Mapping[str, int]) -> None:
    """Refuse columns of text that would need far more room than the texts, which have `n_characters` in all.

    `widths` are the lengths of the longest texts, by what to call them.
    """
    if n_shapes * sum(widths.values()) > max(_FREE_CELLS, _MOST_SWELLING * n_characters):
        name = max(widths, key=lambda one: widths[one])
        raise ShapeFileError(f"{name}: one of its texts has {widths[name]} characters: shorten it.")


@dataclass
class Part:
    """Shapes that follow each other in a set, with all that is known of them."""

    configurations: ComplexArray
    space: Space
    columns: dict[str, Column]
    notes: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    preparation: Preparation | None = None
    roles: Mapping[str, str | None] = field(default_factory=dict)


def _assemble(records: Sequence[Record], wanted: Wanted, where: Where) -> tuple[Part, int]:
    """Return the part of a set that records make up, and how many closed shapes repeated their first point."""
    closed = wanted.said_closed
    if closed is None:
        closed = bool(records[0].closed)
        odd = next((row for row, one in enumerate(records) if bool(one.closed) != closed), None)
        if odd is not None:
            one, other = (0, odd) if closed else (odd, 0)
            kind = "of no such kind" if records[other].closed is None else "open"
            raise ShapeFileError(_say_closed(where(one), where(other), kind))
    lines, n_repeated = [record.points for record in records], 0
    if closed:
        repeats = [len(line) > 3 and line[0] == line[-1] for line in lines]
        lines = [line[:-1] if is_repeated else line for line, is_repeated in zip(lines, repeats, strict=True)]
        n_repeated = sum(repeats)
    space, rows, note, resampling = _make_rows(lines, wanted, closed, where)
    n_entries = Counter(chain.from_iterable(record.metadata for record in records))
    _check_cells(len(records), len(n_entries), n_entries.total())
    values: dict[str, list[Any]] = {"id": [one.id for one in records], "label": [one.label for one in records]}
    if any(record.frame is not None for record in records):
        values[f"{METADATA}frame"] = [-1 if record.frame is None else record.frame for record in records]
    for row, record in enumerate(records):
        for name, value in record.metadata.items():
            values.setdefault(f"{METADATA}{name}", [None] * len(records))[row] = value
    n_characters, widths = 0, {}
    for name, column in values.items():
        lengths = [len(value) if isinstance(value, str) else 0 for value in column]
        n_characters += sum(lengths)
        if longest := max(lengths):
            widths[f"{where(lengths.index(longest))}, {name.removeprefix(METADATA)}"] = longest
    _check_texts(len(records), n_characters, widths)
    columns, notes = {"ids": np.array(values.pop("id"), dtype=np.str_)}, [note] if note else []
    if any(labels := values.pop("label")):
        columns["labels"] = np.array(labels, dtype=np.str_)
    series = [-1 if record.sequence is None else record.sequence for record in records]
    if any(number != -1 for number in series):
        columns["sequence"] = np.array(series)
    for name, column in values.items():
        columns[name] = column_from_values(column)
        is_number = [isinstance(one, int | float) and one == one for one in column]
        if columns[name].dtype.kind == "U" and any(is_number) and any(isinstance(one, str) and one for one in column):
            notes.append(_say_mixed(name.removeprefix(METADATA)))
    return Part(rows, space, columns, notes, preparation=Preparation(resampling)), n_repeated


@dataclass
class Plan:
    """What the parts so far say of the set: its space, its columns and what was done to the shapes."""

    space: Space | None = None
    first_where: str = ""
    n_shapes: int = 0
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.complex64))
    kinds: dict[str, ColumnKind] = field(default_factory=dict)
    n_repeated_ends: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    provenances: list[Mapping[str, Any]] = field(default_factory=list)
    preparation: Preparation | None = None
    roles: Mapping[str, str | None] = field(default_factory=dict)

    def admit(self, part: Part, where: Where, *, are_records: bool) -> None:
        """Take note of a part; refuse one that contradicts those before it."""
        if self.space is None:
            self.space, self.first_where = part.space, where(0)
        elif part.space != self.space:
            raise ShapeFileError(self._say_spaces(self.space, part.space, where(0)))
        preparations = [self.preparation, part.preparation] if self.n_shapes else [part.preparation]
        if are_records and len({one.resampling for one in preparations if one is not None}) > 1:
            # Some records have the wanted number of points already, others are resampled: neither holds for all.
            preparations = [one if one is None else replace(one, resampling=None) for one in preparations]
        try:
            self.preparation = join_preparations(preparations)
            self.roles = join_roles([self.roles, part.roles])
        except ShapelexError as error:
            raise ShapeFileError(f"The files do not make up one set. {where(0)}: {error}") from error
        for name, column in part.columns.items():
            known = self.kinds.get(name, ColumnKind())
            self.kinds[name] = seen = known.see(column)
            kinds = {dtype.kind == "U" for dtype in (known.dtype, column.dtype) if dtype is not None}
            if seen.dtype is not None and seen.dtype.kind == "U" and len(kinds) > 1 and seen is not known:
                self.notes[_say_mixed(name.removeprefix(METADATA))] = None
        self.n_shapes += len(part.configurations)
        widths = {name: dtype.itemsize // 4 for name, dtype in self.columns.items() if dtype.kind == "U"}
        told = [kind for name, kind in self.kinds.items() if name.startswith(METADATA)]
        _check_cells(self.n_shapes, len(told), sum(kind.n_present for kind in told))
        _check_texts(self.n_shapes, sum(kind.n_characters for kind in self.kinds.values()), widths)
        self.dtype = np.result_type(self.dtype, part.configurations.dtype)
        self.notes |= dict.fromkeys(part.notes)
        if part.provenance not in self.provenances[-1:] and len(self.provenances) < _PROVENANCES_KEPT:
            self.provenances.append(part.provenance)

    def _say_spaces(self, own: Space, space: Space, where: str) -> str:
        if not (isinstance(space, Landmarks) and isinstance(own, Landmarks)):
            return (
                f"The files do not make up one set: {self.first_where} is in {own!r}, {where} in {space!r}; read "
                "them with the same n_points or space."
            )
        if space.n_coordinates != own.n_coordinates:
            return _say_counts(own.n_coordinates, self.first_where, space.n_coordinates, where)
        return _say_closed(*((self.first_where, where) if own.closed else (where, self.first_where)))

    @property
    def columns(self) -> dict[str, np.dtype[Any]]:
        """Types of the columns of the whole set."""
        return {
            name: kind.dtype_of(self.n_shapes, ABSENT.get(name))
            for name, kind in self.kinds.items()
            if kind.dtype is not None or name not in ("labels", "sequence")
        }


class Parts:
    """The parts of a set in order, each as its arrays by name.

    Parameters
    ----------
    folder : Path, optional
        Empty folder for parts that are not kept in memory.
    limit : int
        Bytes that the parts may take in memory, where there is a folder.
    """

    def __init__(self, folder: Path | None = None, limit: int = 0) -> None:
        self.folder, self._limit = folder, limit
        self._parts: list[Held | Path] = []
        # Names of the arrays of each part, and its number of shapes.
        self._layouts: list[tuple[list[str], int]] = []
        self._n_bytes = 0

    @property
    def on_disk(self) -> bool:
        """Whether the parts are in files."""
        return bool(self._parts) and isinstance(self._parts[0], Path)

    @property
    def bounds(self) -> list[int]:
        """First shapes of all parts, and the number of shapes."""
        return [0, *accumulate(n_shapes for _, n_shapes in self._layouts)]

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, place: int) -> Held:
        return {name: self.read(place, name) for name in self._layouts[place][0]}

    def read(self, place: int, name: str) -> Any:
        """Return an array of a part; None where it has none of this name."""
        part, names = self._parts[place], self._layouts[place][0]
        if name not in names:
            return None
        if not isinstance(part, Path):
            return part[name]
        with np.load(part) as stored:
            return stored[f"arr_{names.index(name)}"]

    def append(self, part: Held) -> None:
        """Add a part."""
        rows = part[CONFIGURATIONS]
        self._parts.append(part)
        self._layouts.append((list(part), len(rows)))
        self._n_bytes += rows.nbytes + _SHAPE_BYTES * len(rows)
        if self.folder is not None and self._n_bytes > self._limit:
            if not isinstance(self._parts[0], Path):
                logger.info("more than %d bytes of shapes: going on in %s", self._limit, self.folder)
            for place, one in enumerate(self._parts):
                if not isinstance(one, Path):
                    self._parts[place] = _store(one, self.folder / f"{place}.npz")

    def __setitem__(self, place: int, part: Held) -> None:
        self._layouts[place] = list(part), len(part[CONFIGURATIONS])
        held = self._parts[place]
        self._parts[place] = _store(part, held) if isinstance(held, Path) else part

    def keep(self, places: Iterable[int]) -> None:
        """Remove all but these parts."""
        kept = list(places)
        self._parts, self._layouts = [self._parts[place] for place in kept], [self._layouts[place] for place in kept]


def _store(part: Held, path: Path) -> Path:
    """Write a part to a file."""
    np.savez(path, *part.values())
    return path


class PartArray:
    """An array of all parts of a set, in one type; it is sliced like an array in a file."""

    # Like arrays in files, it is no array of NumPy; its pieces differ in length.
    chunks = None

    def __init__(self, parts: Parts, name: str, dtype: np.dtype[Any], row_shape: tuple[int, ...] = ()) -> None:
        self.parts, self.dtype, self._name = parts, dtype, name
        self.bounds = parts.bounds
        self.shape = (self.bounds[-1], *row_shape)

    def __getitem__(self, rows: slice) -> np.ndarray[Any, Any]:
        start, stop, _ = rows.indices(self.shape[0])
        return read_pieces(self._piece_of, start, stop, np.empty((0, *self.shape[1:]), self.dtype))

    def whole(self) -> np.ndarray[Any, Any]:
        """Return all entries; those of a single part are not copied."""
        pieces = [self._piece(place) for place in range(len(self.parts))]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _piece_of(self, row: int) -> tuple[int, np.ndarray[Any, Any]]:
        place = bisect_right(self.bounds, row) - 1
        return self.bounds[place], self._piece(place)

    def _piece(self, place: int) -> np.ndarray[Any, Any]:
        array, n_shapes = self.parts.read(place, self._name), self.bounds[place + 1] - self.bounds[place]
        if self._name == CONFIGURATIONS:
            return np.asarray(array.astype(self.dtype, copy=False))
        return cast_column(array, self.dtype, n_shapes, ABSENT.get(self._name))


class PartShapes(FileShapes):
    """Configurations of the parts of a set that does not fit in memory; each part is a block."""

    def stretches(self) -> list[int]:
        """Return the bounds of the parts, each of which is read as a whole."""
        bounds: list[int] = self.file.array.bounds
        return bounds


def change_blocks(shapes: ShapeSet, change: Callable[[ShapeSet], ShapeSet]) -> ShapeSet:
    """Return the set that a function makes of the blocks of one, with the same columns.

    The parts of a set that is being imported are replaced in their files, and the set that was given cannot be used any
    more; all others are made in memory.
    """
    storage: Any = shapes.configurations
    if not isinstance(storage, PartShapes):
        return join_blocks([change(block) for block in shapes.blocks()])
    parts, places = storage.file.array.parts, []
    for place, block in enumerate(shapes.blocks()):
        changed = change(block)
        if changed is not block:
            parts[place] = {CONFIGURATIONS: changed.configurations, **changed.columns}
        if len(changed):
            places.append(place)
    if not places:
        return join_blocks([shapes[:0]])
    parts.keep(places)
    told = {name: getattr(shapes, name) for name in ("missing", "notes", "provenance", "preparation", "roles")}
    return _as_set(parts, shapes.space, shapes.dtype, shapes.column_types, told)


def _as_set(
    parts: Parts, space: Space, dtype: np.dtype[Any], types: Mapping[str, np.dtype[Any]], told: Mapping[str, Any]
) -> ShapeSet:
    """Return parts as one set, over their files where they are on disk."""
    rows: Any = PartArray(parts, CONFIGURATIONS, dtype, (space.n_coordinates,))
    columns: dict[str, Any] = {name: PartArray(parts, name, one) for name, one in types.items()}
    if parts.on_disk:
        rows = PartShapes(rows, space, "the set")
    else:
        rows, columns = rows.whole(), {name: column.whole() for name, column in columns.items()}
    metadata = {name.removeprefix(METADATA): columns.pop(name) for name in types if name.startswith(METADATA)}
    return ShapeSet(rows, space, metadata=metadata, **columns, **told)


class SetBuilder:
    """Makes one set of the records and sets of files.

    Parameters
    ----------
    wanted : Wanted
        What the caller wants of the shapes.
    parts : Parts
        Where the parts of the set go.
    files : iterable of Path
        All files that are read, whose names ids may need.
    describe : callable
        Takes a part and the files of its shapes, and adds to its columns what is known of these.
    can_drop : bool
        Whether files may turn out to be damaged after some of their shapes were added.
    """

    def __init__(
        self,
        wanted: Wanted,
        parts: Parts,
        files: Iterable[Path],
        describe: Callable[[Part, Sequence[Path]], None],
        can_drop: bool,
    ) -> None:
        self._wanted, self.parts, self._describe, self._can_drop = wanted, parts, describe, can_drop
        self.plan = Plan()
        self._names = tell_apart(files)
        # Of each part, a number for each id, and the number of its file.
        self._ids: list[tuple[IntArray, IntArray]] = []
        self._numbers = {path: number for number, path in enumerate(self._names)}
        self._waiting: list[tuple[Path, Record]] = []
        self._n_bytes = 0
        # Records that wait of files that came to a good end, and what was known before the file that is being read.
        self._n_kept = 0
        self._mark: tuple[Plan, int, int] | None = None
        self._series = SeriesNumbers()

    def add(self, item: Record | ShapeSet, path: Path) -> None:
        """Take a record of a file, or a set that it holds."""
        if isinstance(item, ShapeSet):
            self._flush()
            self._set_mark()
            told = item.notes, item.provenance, item.preparation, item.roles
            part = Part(item.configurations, item.space, dict(item.columns), *told)
            paths = [path] * len(item)
            self._admit(part, paths, paths, lambda row: f"{path}, shape {row}", are_records=False)
            return
        name = id_in_file(item.id, path, self._names[path])
        if name is not None and name != item.id:
            item = replace(item, id=name)
            self.plan.notes[_SAME_FILE_NAMES] = None
        self._waiting.append((path, item))
        self._n_bytes += item.points.nbytes
        if len(self._waiting) >= _BATCH_RECORDS or self._n_bytes >= _BATCH_BYTES:
            self._flush()

    def keep(self) -> None:
        """Keep all that was added: the file came to a good end."""
        self._n_kept, self._mark = len(self._waiting), None

    def drop(self) -> None:
        """Remove what was added since :meth:`keep`: the file is damaged further on."""
        del self._waiting[self._n_kept :]
        if self._mark is not None:
            self.plan, n_parts, n_series = self._mark
            self.parts.keep(range(n_parts))
            del self._ids[n_parts:]
            self._series.truncate(n_series)
        self.keep()

    def finish(self) -> ShapeSet | None:
        """Return the set, once all files are read; None where there is no shape."""
        self.keep()
        self._flush()
        plan = self.plan
        if plan.space is None or not plan.n_shapes:
            return None
        self._make_ids_unique()
        given, notes = [dict(one) for one in plan.provenances if one], list(plan.notes)
        if plan.n_repeated_ends:
            which = f"{plan.n_repeated_ends} closed {'shape' if plan.n_repeated_ends == 1 else 'shapes'}"
            notes.insert(0, f"The last point of {which} repeated the first and was dropped.")
        told = {
            "missing": "error" if self._wanted.missing == "error" else "allow",
            "notes": notes,
            "provenance": given[0] if len(given) == 1 else {"parts": given} if given else {},
            "preparation": plan.preparation,
            "roles": plan.roles,
        }
        return _as_set(self.parts, plan.space, plan.dtype, plan.columns, told)

    def _flush(self) -> None:
        """Assemble the records that wait; first those that are kept whatever comes."""
        waiting, n_first = self._waiting, self._n_kept if self._can_drop else len(self._waiting)
        self._waiting, self._n_kept, self._n_bytes = [], 0, 0
        self._add_records(waiting[:n_first])
        if n_first < len(waiting):
            self._set_mark()
            self._add_records(waiting[n_first:])

    def _add_records(self, batch: Sequence[tuple[Path, Record]]) -> None:
        if batch:
            paths, records = zip(*batch, strict=True)

            def where(row: int) -> str:
                return f"{paths[row]}, {records[row].where or records[row].id}"

            part, n_repeated = _assemble(records, self._wanted, where)
            self.plan.n_repeated_ends += n_repeated
            series = [path.parent if one.spans_folder else path for path, one in batch]
            self._admit(part, paths, series, where, are_records=True)

    def _set_mark(self) -> None:
        """Remember what is known before the first part of a file that may have to be dropped."""
        if self._can_drop and self._mark is None:
            kinds, notes, provenances = dict(self.plan.kinds), dict(self.plan.notes), list(self.plan.provenances)
            kept = replace(self.plan, kinds=kinds, notes=notes, provenances=provenances)
            self._mark = kept, len(self.parts), len(self._series)

    def _make_ids_unique(self) -> None:
        """Rename or number the shapes whose ids others have, too."""
        hashes, sources = (np.concatenate(arrays) for arrays in zip(*self._ids, strict=True))
        if len(np.unique(hashes)) == len(hashes):
            return
        unique = UniqueIds(hashes, sources, list(self._names.items()))
        kinds = {"ids": ColumnKind(), f"{METADATA}{GIVEN_ID}": ColumnKind()}
        for place, (_, own) in enumerate(self._ids):
            part = self.parts[place]
            ids = unique.rename(part["ids"].tolist(), own.tolist())
            part = {f"{METADATA}{GIVEN_ID}": part["ids"], **part, "ids": np.array(ids, dtype=np.str_)}
            kinds = {name: kind.see(part[name]) for name, kind in kinds.items()}
            self.parts[place] = part
            self._ids[place] = hashes_of(ids), own
        self.plan.kinds |= kinds
        self.plan.notes |= unique.notes
        # Names of files may make another id of the set.
        self._make_ids_unique()

    def _admit(
        self, part: Part, paths: Sequence[Path], series: Sequence[Path], where: Where, *, are_records: bool
    ) -> None:
        if "sequence" in part.columns:
            part.columns["sequence"] = self._series.join(series, part.columns["sequence"])
        self._ids.append((hashes_of(part.columns["ids"].tolist()), np.array([self._numbers[path] for path in paths])))
        self._describe(part, paths)
        self.plan.admit(part, where, are_records=are_records)
        self.parts.append({CONFIGURATIONS: part.configurations, **part.columns})
