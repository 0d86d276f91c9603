"""Records of the shapes in a table, whatever it comes from: a text file, a sheet, a data frame.

A row is a shape (wide tables) or a point (long tables). Kinds of columns of text are found in a first pass over the
rows, and in long tables also the order of the landmarks, which columns vary along a shape, and whether the rows of
every shape stand together. Where they do, memory holds one shape at a time; where they do not, it holds the table.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shapelex._messages import marked_text
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import MAX_BYTES
from shapelex.files.numbers import MISSING_WORDS, parse_number
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.table_layout import TableLayout, find_layout

if TYPE_CHECKING:
    import pandas as pd

# Of landmarks; a table with more of them is held.
_MAX_NAMES = 1 << 20
# LM1, LM 2 and 3.0 are numbers too; eighteen digits fit into 64 bits.
_NUMBERED = re.compile(r"(\D*)(\d{1,18})(?:\.0*)?")
_BOOLEANS = {"True": True, "False": False}
_YES, _NO = ("true", "yes", "t", "1"), ("false", "no", "f", "0")
_FLAGS = dict.fromkeys(MISSING_WORDS) | dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False)
# In a column of text, other words for missing numbers may have a meaning: no drug is none, a lost gene is -.
_MISSING_TEXTS = frozenset({"", "na", "nan", "n/a", "#n/a"})
# 007 is a name, not a number.
_LEADING_ZERO = re.compile(r"\s*[-+]?0\d")
_LARGEST = 1 << 62


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table.

    Parameters
    ----------
    cells : DataFrame
        Columns by their places: text, but for coordinates, and for what a data frame knows to be numbers.
    values : ndarray of float, shape (n_rows, 2 * n_points)
        Coordinates, x and y in turn.
    lines : sequence
        Line or row of the source that each row is on, for messages.
    faults : dict of int to str
        What is wrong with rows that cannot be used.
    """

    cells: "pd.DataFrame"
    values: FloatArray
    lines: Sequence[Any]
    faults: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table of which the columns are not yet understood.

    Parameters
    ----------
    names : sequence of str, or None
        Names of the columns.
    first : sequence of str
        The first row of values.
    open_chunks : callable
        Returns the chunks from the first, given the layout.
    stem : str
        What shapes without an id are called, before their number.
    decimal : {".", ","}
        Decimal mark.
    n_characters : int
        Length of a text; 0 for a table of values.
    """

    names: Sequence[str] | None
    first: Sequence[str]
    open_chunks: Callable[[TableLayout], Iterator[Chunk]]
    stem: str
    decimal: str = "."
    n_characters: int = 0


@dataclass(slots=True)
class _Shape:
    """A shape on the way from rows to a record: its points, and the cells of its first row by column."""

    points: Any
    cells: dict[int, Any]
    where: str
    landmarks: list[str] = field(default_factory=list)
    varying: set[int] = field(default_factory=set)


_Runs: TypeAlias = Iterator[tuple[tuple[str, ...], _Shape | BadRecord]]


class CellKind:
    """The kind of a column of text: the first of booleans, whole numbers and numbers that all its cells are, or text.

    Examples
    --------
    >>> kind = CellKind()
    >>> kind.see(["1", "-", "2.5"])
    >>> list(map(kind.converter(), ["3", "-"]))
    [3.0, None]
    """

    def __init__(self, decimal: str = ".") -> None:
        self._possible: list[Callable[[str], Any]] = [
            _BOOLEANS.__getitem__,
            _as_whole,
            partial(parse_number, decimal=decimal),
        ]
        self._is_known = False

    def see(self, cells: Sequence[str]) -> None:
        """Take cells into account."""
        known = [cell for cell in cells if cell.strip().lower() not in MISSING_WORDS]
        self._is_known |= bool(known)
        if any(map(_LEADING_ZERO.match, known)):
            self._possible.clear()
        for convert in list(self._possible):
            try:
                list(map(convert, known))
            except (KeyError, ValueError):
                self._possible.remove(convert)
            else:
                if convert is _as_whole:
                    # Whole numbers are numbers.
                    break

    def converter(self) -> Callable[[str], Any]:
        """Return a function from a cell to its value, None where it is missing; call it once all cells were seen."""
        is_text = not (self._possible and self._is_known)
        missing = _MISSING_TEXTS if is_text else MISSING_WORDS
        parse: Callable[[str], Any] = str if is_text else self._possible[0]

        # Most columns have few values.
        @lru_cache(maxsize=1024)
        def convert(cell: str) -> Any:
            return None if cell.strip().lower() in missing else parse(cell)

        return convert


def parse_chunk(cells: "pd.DataFrame", lines: Sequence[Any], order: Sequence[int], decimal: str = ".") -> Chunk:
    """Return rows with the numbers in the columns `order`, and what is wrong with rows that lack one."""
    block = cells[list(order)]
    if all(dtype.kind in "fiu" for dtype in block.dtypes):
        values = block.to_numpy(np.float64, na_value=np.nan)
        bad = np.flatnonzero(np.isinf(values).any(axis=1)).tolist()
        return Chunk(cells, values, lines, dict.fromkeys(bad, "it has an infinite coordinate."))
    values = np.full(block.shape, np.nan)
    found: dict[int, str] = {}
    for column, place in enumerate(order):
        for row, cell in enumerate(block[place].tolist()):
            try:
                values[row, column] = parse_number("" if cell is None else str(cell), decimal)
            except ValueError as error:
                found.setdefault(row, f"{error}, but a coordinate is expected.")
    return Chunk(cells, values, lines, found)


def table_records(open_table: Callable[[], Table], name: str, *told: Any) -> Iterator[Record | BadRecord | Remark]:
    """Yield the shapes of a table, given what the caller says of layout, ids and labels; errors have its name."""
    try:
        table = open_table()
        found = find_layout(table.names, table.first, table.decimal, *told)
        shapes, kinds = (_read_long if found.is_long else _read_wide)(table, found)
    except ShapeFileError as error:
        message = marked_text(error)
        raise ShapeFileError(message if message.startswith(name) else f"{name}: {message}") from error
    converters = {
        name: (place, kinds[place].converter() if table.n_characters else lambda value: value)
        for name, place in found.metadata.items()
        if place in kinds
    }
    yield from (Remark("the table", text) for text in found.remarks)
    start = list(islice(shapes, 2))
    id_place, label_place, closed_place = (found.roles.get(role) for role in ("id", "label", "closed"))
    series = [found.roles.get(role) for role in ("sequence", "frame")]
    for number, shape in enumerate(chain(start, shapes), start=1):
        if isinstance(shape, BadRecord):
            yield shape
            continue
        cells = shape.cells
        try:
            sequence, frame = (None if place is None else _as_count(cells[place]) for place in series)
            closed = None if closed_place is None else _FLAGS[cells[closed_place].strip().lower()]
        except KeyError as word:
            yield BadRecord(shape.where, f"its 'closed' is {str(word)[:40]}: write true or false, or rename it.")
            continue
        except (ValueError, OverflowError) as error:
            yield BadRecord(shape.where, f"{error}, but sequence and frame are whole numbers.")
            continue
        made_up = table.stem if len(start) == 1 else f"{table.stem}-{number}"
        yield Record(
            shape.points,
            id=made_up if id_place is None else cells[id_place],
            label="" if label_place is None else cells[label_place],
            closed=closed,
            sequence=None if sequence == -1 else sequence,
            frame=frame,
            metadata={name: convert(cells[place]) for name, (place, convert) in converters.items()},
            where=shape.where,
        )


def _read_wide(table: Table, layout: TableLayout) -> tuple[Iterator[_Shape | BadRecord], dict[int, CellKind]]:
    """Return the shapes of a table whose row is one, and the kinds of its columns of metadata."""
    kinds = {place: CellKind(table.decimal) for place in layout.metadata.values()}
    for chunk in table.open_chunks(layout) if table.n_characters and kinds else ():
        cells = chunk.cells.drop(index=list(chunk.faults)) if chunk.faults else chunk.cells
        for place, kind in kinds.items():
            kind.see(cells[place].unique().tolist())

    def shapes() -> Iterator[_Shape | BadRecord]:
        kept = [*layout.roles.values(), *layout.metadata.values()]
        noun = "line" if table.n_characters else "row"
        number = 0
        for chunk in table.open_chunks(layout):
            points = _as_points(chunk.values)
            columns = {place: chunk.cells[place].tolist() for place in kept}
            for row, line in enumerate(chunk.lines):
                number += 1
                where = f"record {number}, {noun} {line}"
                if row in chunk.faults:
                    yield BadRecord(where, chunk.faults[row])
                else:
                    yield _Shape(points[row], {place: columns[place][row] for place in kept}, where)

    return shapes(), kinds


def _read_long(table: Table, layout: TableLayout) -> tuple[Iterator[_Shape | BadRecord], dict[int, CellKind]]:
    """Return the shapes of a table whose row is a point, and the kinds of its columns of metadata."""
    noun = "line" if table.n_characters else "row"
    watched = list(layout.metadata.values())

    def survey(chunks: Iterable[Chunk], *, is_held: bool) -> tuple[Counter[str], dict[int, CellKind]] | None:
        """Return the landmarks and the kinds of columns that do not vary along a shape; None for a mixed table."""
        counts: Counter[str] = Counter()
        kinds = {place: CellKind(table.decimal) for place in watched}
        # Eight bytes a shape tell whether its rows stand together; keys would take a hundred.
        hashes = array("q")
        for key, shape in _runs(chunks, layout, noun, watched):
            hashes.append(hash(key))
            if isinstance(shape, _Shape):
                counts.update(shape.landmarks)
                kinds = {place: kind for place, kind in kinds.items() if place not in shape.varying}
                for place, kind in kinds.items() if table.n_characters else ():
                    kind.see([shape.cells[place]])
            # Most mixed tables show it soon, when the first shapes come again.
            is_time = len(hashes) & (len(hashes) - 1) == 0
            if not is_held and (len(counts) > _MAX_NAMES or (is_time and len(np.unique(hashes)) < len(hashes))):
                return None
        return None if not is_held and len(np.unique(hashes)) < len(hashes) else (counts, kinds)

    open_chunks = partial(table.open_chunks, layout)
    found = survey(open_chunks(), is_held=False)
    if found is None:
        held = _hold(open_chunks(), layout, table.n_characters)
        open_chunks = partial(iter, [held])
        found = survey(open_chunks(), is_held=True)
    assert found is not None
    counts, kinds = found
    return _in_order(_runs(open_chunks(), layout, noun), find_places(counts)), kinds


def _key_places(layout: TableLayout) -> list[int]:
    return [layout.roles[role] for role in ("id", "sequence", "frame") if role in layout.roles]


def _hold(chunks: Iterable[Chunk], layout: TableLayout, n_characters: int) -> Chunk:
    """Return a whole table, sorted such that the rows of every shape stand together, in the order of the first."""
    if n_characters > MAX_BYTES:
        raise ShapeFileError(
            f"a table of {n_characters} characters in which the rows of some shapes do not stand together, or with "
            f"more than {_MAX_NAMES} names of landmarks, cannot be held: sort it by shape, or split it."
        )
    import pandas as pd

    parts = list(chunks)
    cells = pd.concat([part.cells for part in parts], ignore_index=True)
    lines = list(chain.from_iterable(part.lines for part in parts))
    starts = np.cumsum([0, *(len(part.lines) for part in parts)]).tolist()
    faults = {start + row: part.faults[row] for start, part in zip(starts, parts, strict=False) for row in part.faults}
    places = _key_places(layout)
    groups = cells.groupby(places, sort=False, dropna=False).ngroup() if places else np.zeros(len(lines))
    order = np.argsort(np.asarray(groups), kind="stable")
    values = np.concatenate([part.values for part in parts])[order]
    moved = {place: faults[row] for place, row in enumerate(order.tolist()) if row in faults}
    return Chunk(cells.iloc[order], values, [lines[row] for row in order], moved)


def _runs(chunks: Iterable[Chunk], layout: TableLayout, noun: str, watched: Collection[int] = ()) -> _Runs:
    """Yield the shape of each run of rows with one key; a row that cannot be read spoils the shape it belongs to.

    Columns that are `watched` and change along a shape are named by it: they describe its points.
    """
    keys, landmark = _key_places(layout), layout.roles.get("landmark")
    kept = [*layout.roles.values(), *layout.metadata.values()]
    key: tuple[str, ...] = ()
    shape: _Shape | None = None
    bad: BadRecord | None = None
    for chunk in chunks:
        n_rows = len(chunk.lines)
        columns = {place: chunk.cells[place].tolist() for place in kept}
        if landmark is not None:
            # The same few names come with every shape.
            stripped = {name: name.strip() for name in set(columns[landmark])}
            columns[landmark] = [stripped[name] for name in columns[landmark]]
        is_start = np.arange(n_rows) == 0
        for place in keys:
            cells = np.array(columns[place], dtype=object)
            is_start[1:] |= cells[1:] != cells[:-1]
        for start, end in pairwise([*np.flatnonzero(is_start).tolist(), n_rows]):
            own = tuple(columns[place][start] for place in keys)
            named = f"shape {'/'.join(part[:40] for part in own) or '1'}, {noun} "
            if shape is None or own != key:
                if shape is not None:
                    yield key, bad or shape
                first = {place: columns[place][start] for place in kept}
                key, shape, bad = own, _Shape(array("d"), first, f"{named}{chunk.lines[start]}"), None
            faulty = next((row for row in range(start, end) if row in chunk.faults), None) if chunk.faults else None
            if faulty is not None:
                bad = bad or BadRecord(f"{named}{chunk.lines[faulty]}", chunk.faults[faulty])
            shape.points.frombytes(chunk.values[start:end].tobytes())
            if landmark is not None:
                shape.landmarks += columns[landmark][start:end]
            for place in watched:
                if columns[place][start:end].count(shape.cells[place]) < end - start:
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


def _as_whole(cell: str) -> int:
    number = int(cell)
    # 1_0 is a name, not a number.
    if cell != str(number) or abs(number) >= _LARGEST:
        raise ValueError
    return number


def _as_count(cell: str) -> int | None:
    if not cell.strip():
        return None
    number = float(cell)
    if number != int(number) or abs(number) > 1 << 53:
        raise ValueError(f"{cell[:40]!r} is no whole number")
    return int(number)
