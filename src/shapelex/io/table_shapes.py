"""Records of the shapes in a table, whatever it comes from: a text file, a sheet, a data frame.

A row is a shape (wide tables) or a point (long tables). Kinds of columns of text are found in a first pass over the
rows, and in long tables also the order of the landmarks, which columns vary along a shape, and whether the rows of
every shape stand together. Where they do, memory holds a part of the table; where they do not, it holds the table.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import Any, TypeAlias

import numpy as np

from shapelex._messages import marked_text
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import MAX_BYTES
from shapelex.files.numbers import MISSING_WORDS
from shapelex.files.tables import Block, CellKind, Table
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.table_layout import TableLayout, find_layout

# Of landmarks; a table with more of them is held.
_MAX_NAMES = 1 << 20
# A smaller table is held, and so read once; a text takes some fifty bytes.
_HELD_BYTES, _TEXT_BYTES = 1 << 26, 50
# LM1, LM 2 and 3.0 are numbers too; eighteen digits fit into 64 bits.
_NUMBERED = re.compile(r"(\D*)(\d{1,18})(?:\.0*)?")
_YES, _NO = ("true", "yes", "t", "1"), ("false", "no", "f", "0")
_FLAGS = dict.fromkeys(MISSING_WORDS) | dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False)


@dataclass(frozen=True)
class _Part:
    """Some rows of a table: their x and y in turn, the other cells by column, their lines, and what is wrong."""

    values: FloatArray
    cells: dict[int, list[Any]]
    lines: Sequence[Any]
    faults: dict[int, str]


@dataclass(slots=True)
class _Shape:
    """A shape on the way from rows to a record: its points, and the cells of its first row by column."""

    points: Any
    cells: dict[int, Any]
    where: str
    landmarks: list[str] = field(default_factory=list)
    varying: set[int] = field(default_factory=set)


_Runs: TypeAlias = Iterator[tuple[tuple[str, ...], _Shape | BadRecord]]


class _Parts:
    """The parts of a table with a known layout, from the first each time; few of them are held in memory."""

    def __init__(self, table: Table, layout: TableLayout) -> None:
        self.table, self.layout = table, layout
        self.noun = "line" if table.n_characters else "row"
        self._held: list[_Part] | None = None

    def __iter__(self) -> Iterator[_Part]:
        """Yield the parts."""
        if self._held is not None:
            yield from self._held
            return
        held: list[_Part] = []
        n_bytes = 0
        for block in self.table.blocks():
            part = self._part(block)
            n_bytes += part.values.nbytes
            n_bytes += sum(8 * len(cells) + _TEXT_BYTES * len(set(cells)) for cells in part.cells.values())
            if n_bytes <= _HELD_BYTES:
                held.append(part)
            else:
                held.clear()
            yield part
        if n_bytes <= _HELD_BYTES:
            self._held = held

    def kinds(self) -> dict[int, CellKind]:
        """Return what finds the kinds of the columns of metadata."""
        return {place: CellKind(self.table.decimal) for place in self.layout.metadata.values()}

    def _part(self, block: Block) -> _Part:
        values, faults = block.numbers(self.layout.order, self.table.decimal)
        cells = {place: block.texts(place) for place in self.layout.roles.values()}
        cells |= {place: block.values(place) for place in self.layout.metadata.values()}
        return _Part(values, cells, block.lines, faults)


def table_records(table: Table, stem: str, *told: Any) -> Iterator[Record | BadRecord | Remark]:
    """Yield the shapes of a table, given what the caller says of layout, ids and labels.

    Shapes without an id are called `stem` and their number.
    """
    try:
        layout = find_layout(table.names, table.first, table.decimal, *told)
        shapes, kinds = (_read_long if layout.is_long else _read_wide)(_Parts(table, layout))
    except ShapeFileError as error:
        message = marked_text(error)
        raise ShapeFileError(message if message.startswith(table.name) else f"{table.name}: {message}") from error
    converters = {
        name: (place, kinds[place].converter() if table.n_characters else lambda value: value)
        for name, place in layout.metadata.items()
        if place in kinds
    }
    yield from (Remark("the table", text) for text in layout.remarks)
    start = list(islice(shapes, 2))
    for number, shape in enumerate(chain(start, shapes), start=1):
        if isinstance(shape, BadRecord):
            yield shape
            continue
        told_of = {role: shape.cells[place] for role, place in layout.roles.items()}
        try:
            sequence, frame = (_as_count(told_of.get(role, "")) for role in ("sequence", "frame"))
            closed = _FLAGS[told_of.get("closed", "").strip().lower()]
        except KeyError as word:
            yield BadRecord(shape.where, f"its 'closed' is {str(word)[:40]}: write true or false, or rename it.")
            continue
        except (ValueError, OverflowError) as error:
            yield BadRecord(shape.where, f"{error}, but sequence and frame are whole numbers.")
            continue
        yield Record(
            shape.points,
            id=told_of.get("id", stem if len(start) == 1 else f"{stem}-{number}"),
            label=told_of.get("label", ""),
            closed=closed,
            sequence=None if sequence == -1 else sequence,
            frame=frame,
            metadata={name: convert(shape.cells[place]) for name, (place, convert) in converters.items()},
            where=shape.where,
        )


def _read_wide(parts: _Parts) -> tuple[Iterator[_Shape | BadRecord], dict[int, CellKind]]:
    """Return the shapes of a table whose row is one, and the kinds of its columns of metadata."""
    kinds = parts.kinds()
    for part in parts if parts.table.n_characters and kinds else ():
        for place, kind in kinds.items():
            kind.see({cell for row, cell in enumerate(part.cells[place]) if row not in part.faults})

    def shapes() -> Iterator[_Shape | BadRecord]:
        number = 0
        for part in parts:
            points = _as_points(part.values)
            for row, line in enumerate(part.lines):
                number += 1
                where = f"record {number}, {parts.noun} {line}"
                if row in part.faults:
                    yield BadRecord(where, part.faults[row])
                else:
                    yield _Shape(points[row], {place: cells[row] for place, cells in part.cells.items()}, where)

    return shapes(), kinds


def _read_long(parts: _Parts) -> tuple[Iterator[_Shape | BadRecord], dict[int, CellKind]]:
    """Return the shapes of a table whose row is a point, and the kinds of its columns of metadata."""

    def survey(chosen: Iterable[_Part], *, is_held: bool) -> tuple[Counter[str], dict[int, CellKind]] | None:
        """Return the landmarks and the kinds of columns that do not vary along a shape; None for a mixed table."""
        counts: Counter[str] = Counter()
        kinds = parts.kinds()
        # Eight bytes a shape tell whether its rows stand together; keys would take a hundred.
        hashes = array("q")
        for key, shape in _runs(chosen, parts, watched=True):
            hashes.append(hash(key))
            if isinstance(shape, _Shape):
                counts.update(shape.landmarks)
                kinds = {place: kind for place, kind in kinds.items() if place not in shape.varying}
                for place, kind in kinds.items() if parts.table.n_characters else ():
                    kind.see([shape.cells[place]])
            # Most mixed tables show it soon, when the first shapes come again.
            is_time = len(hashes) & (len(hashes) - 1) == 0
            if not is_held and (len(counts) > _MAX_NAMES or (is_time and len(np.unique(hashes)) < len(hashes))):
                return None
        return None if not is_held and len(np.unique(hashes)) < len(hashes) else (counts, kinds)

    chosen: Iterable[_Part] = parts
    found = survey(chosen, is_held=False)
    if found is None:
        chosen = [_hold(parts)]
        found = survey(chosen, is_held=True)
    assert found is not None
    counts, kinds = found
    return _in_order(_runs(chosen, parts), find_places(counts)), kinds


def _key_places(layout: TableLayout) -> list[int]:
    return [layout.roles[role] for role in ("id", "sequence", "frame") if role in layout.roles]


def _hold(parts: _Parts) -> _Part:
    """Return a whole table, sorted such that the rows of every shape stand together, in the order of the first."""
    n_characters = parts.table.n_characters
    if n_characters > MAX_BYTES:
        raise ShapeFileError(
            f"a table of {n_characters} characters in which the rows of some shapes do not stand together, or with "
            f"more than {_MAX_NAMES} names of landmarks, cannot be held: sort it by shape, or split it."
        )
    held = list(parts)
    lines = list(chain.from_iterable(part.lines for part in held))
    cells = {place: list(chain.from_iterable(part.cells[place] for part in held)) for place in held[0].cells}
    starts = np.cumsum([0, *(len(part.lines) for part in held)]).tolist()
    faults = {start + row: part.faults[row] for start, part in zip(starts, held, strict=False) for row in part.faults}
    keys = [cells[place] for place in _key_places(parts.layout)]
    numbers: dict[tuple[str, ...], int] = {}
    groups = [numbers.setdefault(key, len(numbers)) for key in zip(*keys, strict=True)] if keys else [0] * len(lines)
    order = np.argsort(groups, kind="stable").tolist()
    return _Part(
        np.concatenate([part.values for part in held])[order],
        {place: [column[row] for row in order] for place, column in cells.items()},
        [lines[row] for row in order],
        {place: faults[row] for place, row in enumerate(order) if row in faults},
    )


def _runs(chosen: Iterable[_Part], parts: _Parts, *, watched: bool = False) -> _Runs:
    """Yield the shape of each run of rows with one key; a row that cannot be read spoils the shape it belongs to.

    Columns of metadata that change along a shape are named by it where they are `watched`: they describe its points.
    """
    keys, landmark = _key_places(parts.layout), parts.layout.roles.get("landmark")
    watched_places = list(parts.layout.metadata.values()) if watched else []
    key: tuple[str, ...] = ()
    shape: _Shape | None = None
    bad: BadRecord | None = None
    for part in chosen:
        n_rows = len(part.lines)
        landmarks: list[str] = []
        if landmark is not None:
            # The same few names come with every shape.
            stripped = {name: name.strip() for name in set(part.cells[landmark])}
            landmarks = [stripped[name] for name in part.cells[landmark]]
        is_start = np.arange(n_rows) == 0
        for place in keys:
            cells = np.array(part.cells[place], dtype=object)
            is_start[1:] |= cells[1:] != cells[:-1]
        for start, end in pairwise([*np.flatnonzero(is_start).tolist(), n_rows]):
            own = tuple(part.cells[place][start] for place in keys)
            named = f"shape {'/'.join(cell[:40] for cell in own) or '1'}, {parts.noun} "
            if shape is None or own != key:
                if shape is not None:
                    yield key, bad or shape
                first = {place: column[start] for place, column in part.cells.items()}
                key, shape, bad = own, _Shape(array("d"), first, f"{named}{part.lines[start]}"), None
            faulty = next((row for row in range(start, end) if row in part.faults), None) if part.faults else None
            if faulty is not None:
                bad = bad or BadRecord(f"{named}{part.lines[faulty]}", part.faults[faulty])
            shape.points.frombytes(part.values[start:end].tobytes())
            shape.landmarks += landmarks[start:end]
            for place in watched_places:
                if part.cells[place][start:end].count(shape.cells[place]) < end - start:
                    shape.varying.add(place)
    if shape is not None:
        yield key, bad or shape


def _in_order(runs: _Runs, places: tuple[dict[str, int], int | None] | None) -> Iterator[_Shape | BadRecord]:
    """Yield shapes with their points at the places of their landmarks; one left out is a missing landmark."""
    names: list[str] | None = None
    for _, shape in runs:
        if isinstance(shape, BadRecord):
            yield shape
            continue
        shape.points = _as_points(shape.points)
        if places is not None:
            if shape.landmarks != names:
                try:
                    own_places, n_points = _place(shape.landmarks, *places)
                except ValueError as error:
                    yield BadRecord(shape.where, str(error))
                    continue
                names = shape.landmarks
            ordered = np.full(n_points, complex(np.nan, np.nan))
            ordered[own_places] = shape.points
            shape.points = ordered
        yield shape


def find_places(counts: Mapping[str, int]) -> tuple[dict[str, int], int | None] | None:
    """Return the place of each landmark from 0, and the number of places; None where names do not tell it.

    `counts` has how often each name is there, in the order in which the table has them first. Numbers are places, from
    0 where there is a 0 and else from 1, also with one word before all of them: then each shape has as many places as
    its own highest number tells. Names that are blank or all different tell nothing.

    Examples
    --------
    >>> find_places({"LM2": 2, "LM1": 2})
    ({'LM2': 1, 'LM1': 0}, None)
    >>> find_places({"nose": 2, "tail": 2})
    ({'nose': 0, 'tail': 1}, 2)
    """
    if not any(counts):
        return None
    matches = {name: match for name in counts if (match := _NUMBERED.fullmatch(name))}
    if len(matches) == len(counts) and len({match[1].strip().lower() for match in matches.values()}) == 1:
        numbers = {name: int(match[2]) for name, match in matches.items()}
        first = 0 if 0 in numbers.values() else 1
        return {name: number - first for name, number in numbers.items()}, None
    if max(counts.values()) == 1:
        return None
    return {name: place for place, name in enumerate(counts)}, len(counts)


def _place(names: Sequence[str], places: Mapping[str, int], n_places: int | None) -> tuple[IntArray, int]:
    """Return where the points of a shape go, and the number of places, of which few may stay empty."""
    own = np.array([places[name] for name in names])
    kept, first_rows = np.unique(own, return_index=True)
    if len(kept) < len(own):
        twice = names[min(set(range(len(own))) - set(first_rows.tolist()))]
        raise ValueError(f"it has landmark {twice[:40]} twice; give an id to every shape.")
    n_points = int(own.max()) + 1 if n_places is None else n_places
    if n_points > 2 * len(own) + 100:
        what = f"are {n_points} in the table" if n_places else f"run to {names[int(own.argmax())]}"
        raise ValueError(f"its landmarks {what}, but only {len(own)} are there.")
    return own, n_points


def _as_points(values: Any) -> ComplexArray:
    """Return points from x and y in turn, along the last axis; one that lacks either is missing."""
    points: ComplexArray = np.array(values, dtype=np.float64, order="C").view(np.complex128)
    points[np.isnan(points)] = complex(np.nan, np.nan)
    return points


def _as_count(cell: str) -> int | None:
    if not cell.strip():
        return None
    number = float(cell)
    if number != int(number) or abs(number) > 1 << 53:
        raise ValueError(f"{cell[:40]!r} is no whole number")
    return int(number)
