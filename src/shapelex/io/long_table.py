"""Shapes of a table whose row is a point, on the way from cells to records.

In come rows and what their columns mean; out go shapes, in the order of their first rows. A first pass over the rows
learns what only the whole table tells: the order of the landmarks, which columns vary along a shape, and whether the
rows of every shape stand together. Where they do, a second pass holds one shape at a time; where they do not, or where
landmarks have a million names, all shapes are held until the last row.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex.exceptions import ShapeFileError
from shapelex.io.cell_kinds import CellKind
from shapelex.io.guards import MAX_BYTES
from shapelex.io.landmark_order import LandmarkOrder, find_order
from shapelex.io.long_shapes import Key, hold_shapes, name_shape, order_points
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord
from shapelex.io.table_layout import TableLayout
from shapelex.io.table_rows import Row
from shapelex.io.wide_table import Converters, TableShape

# Rows that are looked at together; more of them would leave the processor's cache.
_BATCH_ROWS = 256
# Of landmarks; where more are there, the shapes are held rather than the names.
_MAX_NAMES = 1 << 20
_FIRST_SHAPES = 1 << 16
_NOTHING = np.empty((0, 2))


@dataclass(slots=True)
class _Piece:
    """Neighboring rows of one shape: good ones with their values, or one that cannot be read."""

    key: Key
    line: int
    rows: Sequence[list[str]]
    values: FloatArray
    fault: str = ""

    @property
    def where(self) -> str:
        return name_shape(self.key, self.line)

    def as_bad(self) -> BadRecord:
        return BadRecord(self.where, self.fault)


@dataclass
class _Survey:
    """What the first pass has learned of a table in which the rows of every shape stand together."""

    order: LandmarkOrder | None
    varying: set[int]
    # Shapes of which no row can be read.
    lost: list[BadRecord]
    # Kinds of the columns; None where some shape may be left out, whose cells do not count.
    kinds: dict[int, CellKind] | None


@dataclass(frozen=True)
class LongTable:
    """A table whose row is a point.

    Parameters
    ----------
    open_rows : callable
        Returns the rows from the first.
    layout : TableLayout
        What the columns mean.
    n_columns : int
        How many there are.
    decimal : {".", ","}
        Decimal mark.
    has_underscores : bool
        Whether a cell may have one.
    n_characters : int
        Length of the table, which is refused where it must be held and cannot.
    """

    open_rows: Callable[[], Iterator[Row]]
    layout: TableLayout
    n_columns: int
    decimal: str
    has_underscores: bool
    n_characters: int

    def converters(self) -> Converters:
        """Return how to turn the cells of each column of metadata into values, from the shapes that can be read.

        Returns
        -------
        dict of str to tuple of int and callable
            Column and function, by name; without columns that vary along a shape.
        """
        survey = self._survey
        varying = self._held[1] if survey is None else survey.varying
        columns = {name: place for name, place in self.layout.metadata.items() if place not in varying}
        kinds = None if survey is None else survey.kinds
        if kinds is None:
            kinds = {place: CellKind() for place in columns.values()}
            for shape in self.shapes() if columns else ():
                if isinstance(shape, TableShape):
                    _learn_kinds(kinds, shape.cells)
        return {name: (place, kinds[place].converter()) for name, place in columns.items()}

    def shapes(self) -> Iterator[TableShape | BadRecord]:
        """Yield the shapes, and what is wrong with those that cannot be read.

        Yields
        ------
        TableShape or BadRecord
            One for each shape; first those of which no row can be read.
        """
        if self._survey is None:
            yield from self._held[0]
            return
        yield from self._survey.lost
        yield from order_points(self._runs(), self._survey.order)

    @cached_property
    def _keys(self) -> list[int]:
        """Columns that tell shapes apart."""
        return [self.layout.roles[role] for role in ("id", "sequence", "frame") if role in self.layout.roles]

    @cached_property
    def _told(self) -> list[int]:
        """Columns whose cells are kept."""
        return [*self.layout.roles.values(), *self.layout.metadata.values()]

    @cached_property
    def _survey(self) -> _Survey | None:
        """Look through the rows; None where those of some shape do not stand together, or names are too many."""
        landmark = self.layout.roles.get("landmark")
        varying: set[int] = set()
        lost: dict[Key, BadRecord] = {}
        kinds = {place: CellKind() for place in self.layout.metadata.values()}
        named = _NamedShapes()
        # Eight bytes a shape tell whether its rows stand together; keys would take a hundred. Most mixed tables
        # show it soon, when the first shapes come again.
        hashes, first_hashes = array("q"), set[int]()
        key, cells, names = None, None, list[str]()
        has_faults = False
        for piece in self._pieces():
            has_faults |= bool(piece.fault)
            if len(piece.key) < len(self._keys):
                lost.setdefault(piece.key, piece.as_bad())
                continue
            if piece.key != key:
                named.add(names)
                key, cells, names = piece.key, None, []
                hashes.append(hash(key))
                if hashes[-1] in first_hashes or len(named.counts) > _MAX_NAMES:
                    return None
                if len(hashes) <= _FIRST_SHAPES:
                    first_hashes.add(hashes[-1])
            if piece.fault:
                if cells is None:
                    lost.setdefault(piece.key, piece.as_bad())
                continue
            if cells is None:
                cells = piece.rows[0]
                lost.pop(piece.key, None)
                _learn_kinds(kinds, cells)
            self._find_varying(piece, cells, varying)
            if landmark is not None:
                names += [row[landmark].strip() for row in piece.rows]
                if len(names) > _MAX_NAMES:
                    return None
        named.add(names)
        ordered = np.sort(np.array(hashes, dtype=np.int64))
        if len(named.counts) > _MAX_NAMES or bool((ordered[1:] == ordered[:-1]).any()):
            return None
        order = find_order(named.total())
        is_sound = not has_faults and named.fit(order)
        return _Survey(order, varying, list(lost.values()), kinds if is_sound else None)

    @cached_property
    def _held(self) -> tuple[list[TableShape | BadRecord], set[int]]:
        """All shapes, however their rows are mixed, and the columns that vary along a shape."""
        if self.n_characters > MAX_BYTES:
            raise ShapeFileError(
                f"a table of {self.n_characters} characters in which the rows of some shapes do not stand together, or "
                f"with more than {_MAX_NAMES} names of landmarks, cannot be held: sort it by shape, or split it."
            )
        return hold_shapes(self.open_rows(), self.layout, self.n_columns, self.decimal)

    def _runs(self) -> Iterator[TableShape | BadRecord]:
        """Yield the shapes of a table in which the rows of each stand together."""
        key: Key | None = None
        shape: TableShape | None = None
        bad: BadRecord | None = None
        known: dict[str, str] = {}
        for piece in self._pieces():
            if len(piece.key) < len(self._keys):
                continue
            if piece.key != key:
                if shape is not None:
                    yield bad or shape
                key, shape, bad = piece.key, None, None
            if piece.fault:
                bad = bad or piece.as_bad()
                continue
            if shape is None:
                shape = self._begin(piece)
            self._extend(shape, piece, known)
        if shape is not None:
            yield bad or shape

    def _begin(self, piece: _Piece) -> TableShape:
        row = piece.rows[0]
        return TableShape(array("d"), {place: row[place] for place in self._told}, piece.where)

    def _extend(self, shape: TableShape, piece: _Piece, known: dict[str, str]) -> None:
        shape.points.frombytes(piece.values.tobytes())
        landmark = self.layout.roles.get("landmark")
        if landmark is not None:
            # The same few names come with every shape: one copy of each is enough.
            names = [row[landmark].strip() for row in piece.rows]
            shape.landmarks += [known.setdefault(name, name) for name in names]

    def _find_varying(self, piece: _Piece, cells: Any, varying: set[int]) -> None:
        """Add the columns that change along a shape: they say something of its points, not of the shape."""
        for place in self.layout.metadata.values():
            if place not in varying and any(row[place] != cells[place] for row in piece.rows):
                varying.add(place)

    def _pieces(self) -> Iterator[_Piece]:
        """Yield the rows, those of one shape together as far as they are neighbors; faulty ones by themselves."""
        rows = self.open_rows()
        while batch := list(islice(rows, _BATCH_ROWS)):
            lines, cells = zip(*batch, strict=True)
            values = self._parse(cells) if set(map(len, cells)) == {self.n_columns} else None
            if values is None:
                yield from (self._as_piece(line, row) for line, row in batch)
                continue
            start = 0
            for key, run in groupby(map(itemgetter(*self._keys), cells) if self._keys else repeat((), len(cells))):
                end = start + sum(1 for _ in run)
                yield _Piece((key,) if len(self._keys) == 1 else key, lines[start], cells[start:end], values[start:end])
                start = end

    def _parse(self, cells: Sequence[list[str]]) -> FloatArray | None:
        """Return x and y of rows, or None where one of them is no number."""
        values = np.empty((len(cells), 2))
        for column, place in enumerate((self.layout.x[0], self.layout.y[0])):
            words = [row[place] for row in cells]
            try:
                if self.decimal != "." or (self.has_underscores and "_" in "".join(words)):
                    raise ValueError
                values[:, column] = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
                if np.isinf(values[:, column]).any():
                    raise ValueError
            except ValueError:
                try:
                    values[:, column] = [parse_number(word, self.decimal) for word in words]
                except ValueError:
                    return None
        return values

    def _as_piece(self, line: int, row: list[str]) -> _Piece:
        """Return one row, which may be faulty; its key lacks the columns that it lacks."""
        key = tuple(row[place] for place in self._keys if place < len(row))
        if len(row) != self.n_columns:
            return _Piece(key, line, [], _NOTHING, f"it has {len(row)} columns, the table has {self.n_columns}.")
        try:
            pair = [parse_number(row[place], self.decimal) for place in (self.layout.x[0], self.layout.y[0])]
        except ValueError as error:
            return _Piece(key, line, [], _NOTHING, f"{error}, but a coordinate is expected.")
        return _Piece(key, line, [row], np.array([pair]))


class _NamedShapes:
    """The landmarks that shapes name: in most tables, few different lists."""

    def __init__(self) -> None:
        self.lists: Counter[tuple[str, ...]] = Counter()
        # Names of lists that are too many to be held.
        self.counts: Counter[str] = Counter()
        self._n_names = 0

    def add(self, names: Sequence[str]) -> None:
        """Take the landmarks of a shape into account."""
        listed = tuple(names)
        if listed not in self.lists:
            self._n_names += len(listed)
            # Once one list is not held no new one is, so that names stay in the order of the table.
            if self._n_names > _MAX_NAMES:
                self.counts.update(listed)
                return
        self.lists[listed] += 1

    def total(self) -> Counter[str]:
        """Return how often each name is there."""
        total: Counter[str] = Counter()
        for listed, n_times in self.lists.items():
            for name in listed:
                total[name] += n_times
        total.update(self.counts)
        return total

    def fit(self, order: LandmarkOrder | None) -> bool:
        """Tell whether it is sure that no shape is refused for its landmarks."""
        if order is None:
            return True
        try:
            for listed in self.lists:
                if listed:
                    order.place(listed)
        except ValueError:
            return False
        return not self.counts


def _learn_kinds(kinds: Mapping[int, CellKind], cells: Any) -> None:
    for place, kind in kinds.items():
        if not kind.agrees([cells[place]]):
            kind.add(cells[place])
