"""Shapes of a table whose row is a point, on the way from cells to records.

In come rows and what their columns mean; out go shapes, in the order of their first rows. A first pass over the rows
learns what only the whole table tells: the order of the landmarks, which columns vary along a shape, and whether the
rows of every shape stand together. Where they do, a second pass holds one shape at a time; where they do not, or where
landmarks have a million names, all shapes are held until the last row.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex.exceptions import ShapeFileError
from shapelex.io.cell_kinds import CellKind
from shapelex.io.guards import MAX_BYTES
from shapelex.io.landmark_order import LandmarkOrder, find_order
from shapelex.io.records import BadRecord
from shapelex.io.table_layout import TableLayout
from shapelex.io.wide_table import Chunk, Converters, TableShape, as_points

# Of landmarks; where more are there, the shapes are held rather than the names.
_MAX_NAMES = 1 << 20
_FIRST_SHAPES = 1 << 16

Key = tuple[str, ...]


@dataclass(slots=True)
class _Piece:
    """Neighboring rows of one shape: good ones with their values, or one that cannot be read."""

    key: Key
    where: str
    columns: dict[int, list[Any]]
    values: FloatArray
    fault: str = ""

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
    open_chunks : callable
        Returns the chunks from the first.
    layout : TableLayout
        What the columns mean.
    is_text : bool
        Whether all cells are text, so that kinds of columns have to be found.
    n_characters : int
        Length of the table, which is refused where it must be held and cannot.
    """

    open_chunks: Callable[[], Iterator[Chunk]]
    layout: TableLayout
    is_text: bool
    n_characters: int = 0

    def converters(self) -> Converters:
        """Return how to turn the cells of each column of metadata into values; none for those that vary in a shape."""
        _, survey = self._source
        columns = {name: place for name, place in self.layout.metadata.items() if place not in survey.varying}
        kinds = survey.kinds
        if kinds is None:
            kinds = {place: CellKind() for place in columns.values()}
            for shape in self.shapes() if columns and self.is_text else ():
                if isinstance(shape, TableShape):
                    for place, kind in kinds.items():
                        kind.see([shape.cells[place]])
        return {name: (place, kinds[place].converter(self.is_text)) for name, place in columns.items()}

    def shapes(self) -> Iterator[TableShape | BadRecord]:
        """Yield the shapes, and what is wrong with those that cannot be read; first those without any good row."""
        open_chunks, survey = self._source
        yield from survey.lost
        yield from _order_points(self._runs(open_chunks()), survey.order)

    @cached_property
    def _keys(self) -> list[int]:
        """Columns that tell shapes apart."""
        return [self.layout.roles[role] for role in ("id", "sequence", "frame") if role in self.layout.roles]

    @cached_property
    def _source(self) -> tuple[Callable[[], Iterator[Chunk]], _Survey]:
        """Chunks in which the rows of every shape stand together, and what is known of them."""
        if self._survey is not None:
            return self.open_chunks, self._survey
        held = self._hold()
        survey = self._look_through([held], is_held=True)
        assert survey is not None
        return lambda: iter([held]), survey

    @cached_property
    def _survey(self) -> _Survey | None:
        """Look through the rows; None where those of some shape do not stand together, or names are too many."""
        return self._look_through(self.open_chunks())

    def _look_through(self, chunks: Iterable[Chunk], *, is_held: bool = False) -> _Survey | None:
        landmark = self.layout.roles.get("landmark")
        most_names = float("inf") if is_held else _MAX_NAMES
        varying: set[int] = set()
        lost: dict[Key, BadRecord] = {}
        kinds = {place: CellKind() for place in self.layout.metadata.values()}
        named = _NamedShapes()
        # Eight bytes a shape tell whether its rows stand together; keys would take a hundred. Most mixed tables
        # show it soon, when the first shapes come again.
        hashes, first_hashes = array("q"), set[int]()
        key: Key | None = None
        cells: dict[int, Any] | None = None
        names: list[str] = []
        has_faults = False
        for piece in self._pieces(chunks):
            has_faults |= bool(piece.fault)
            if len(piece.key) < len(self._keys):
                lost.setdefault(piece.key, piece.as_bad())
                continue
            if piece.key != key:
                named.add(names)
                key, cells, names = piece.key, None, []
                hashes.append(hash(key))
                if not is_held and (hashes[-1] in first_hashes or len(named.counts) > most_names):
                    return None
                if len(hashes) <= _FIRST_SHAPES:
                    first_hashes.add(hashes[-1])
            if piece.fault:
                if cells is None:
                    lost.setdefault(piece.key, piece.as_bad())
                continue
            if cells is None:
                cells = {place: piece.columns[place][0] for place in kinds}
                lost.pop(piece.key, None)
                for place, kind in kinds.items() if self.is_text else ():
                    kind.see([cells[place]])
            # Columns that change along a shape say something of its points, not of the shape.
            for place in self.layout.metadata.values():
                column = piece.columns[place]
                if place not in varying and column.count(cells[place]) < len(column):
                    varying.add(place)
            if landmark is not None:
                names += piece.columns[landmark]
                if len(names) > most_names:
                    return None
        named.add(names)
        ordered = np.sort(np.array(hashes, dtype=np.int64))
        if not is_held and (len(named.counts) > most_names or bool((ordered[1:] == ordered[:-1]).any())):
            return None
        order = find_order(named.total())
        is_sound = not has_faults and named.fit(order)
        return _Survey(order, varying, list(lost.values()), kinds if is_sound else None)

    def _hold(self) -> Chunk:
        """Return the whole table, sorted such that the rows of every shape stand together."""
        if self.n_characters > MAX_BYTES:
            raise ShapeFileError(
                f"a table of {self.n_characters} characters in which the rows of some shapes do not stand together, or "
                f"with more than {_MAX_NAMES} names of landmarks, cannot be held: sort it by shape, or split it."
            )
        import pandas as pd

        chunks = list(self.open_chunks())
        cells = pd.concat([chunk.cells for chunk in chunks], ignore_index=True)
        lines = list(chain.from_iterable(chunk.lines for chunk in chunks))
        groups: dict[Key, int] = {}
        columns = [cells[place].tolist() for place in self._keys]
        keys = zip(*columns, strict=True) if columns else [()] * len(lines)
        order = np.argsort([groups.setdefault(key, len(groups)) for key in keys], kind="stable")
        new_rows = np.argsort(order)
        faults: dict[int, str] = {}
        widths: dict[int, int] = {}
        start = 0
        for chunk in chunks:
            faults |= {int(new_rows[start + row]): fault for row, fault in chunk.faults.items()}
            widths |= {int(new_rows[start + row]): width for row, width in chunk.widths.items()}
            start += len(chunk.lines)
        values = np.concatenate([chunk.values for chunk in chunks])[order]
        return Chunk(cells.iloc[order], values, [lines[row] for row in order], faults, widths)

    def _runs(self, chunks: Iterable[Chunk]) -> Iterator[TableShape | BadRecord]:
        """Yield the shapes of a table in which the rows of each stand together."""
        key: Key | None = None
        shape: TableShape | None = None
        bad: BadRecord | None = None
        told = [*self.layout.roles.values(), *self.layout.metadata.values()]
        for piece in self._pieces(chunks):
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
                shape = TableShape(array("d"), {place: piece.columns[place][0] for place in told}, piece.where)
            shape.points.frombytes(piece.values.tobytes())
            if "landmark" in self.layout.roles:
                shape.landmarks += piece.columns[self.layout.roles["landmark"]]
        if shape is not None:
            yield bad or shape

    def _pieces(self, chunks: Iterable[Chunk]) -> Iterator[_Piece]:
        """Yield the rows, those of one shape together as far as they are neighbors; faulty ones by themselves."""
        told = [*self.layout.roles.values(), *self.layout.metadata.values()]
        landmark = self.layout.roles.get("landmark")
        noun = "line" if self.is_text else "row"
        for chunk in chunks:
            n_rows = len(chunk.lines)
            columns = {place: chunk.cells[place].tolist() for place in told}
            if landmark is not None:
                # The same few names come with every shape.
                stripped = {name: name.strip() for name in set(columns[landmark])}
                columns[landmark] = [stripped[name] for name in columns[landmark]]
            is_start = np.zeros(n_rows, dtype=bool)
            is_start[:1] = True
            for place in self._keys:
                cells = np.array(columns[place], dtype=object)
                is_start[1:] |= cells[1:] != cells[:-1]
            for row in chunk.faults:
                is_start[row : row + 2] = True
            for start, end in pairwise([*np.flatnonzero(is_start).tolist(), n_rows]):
                width = chunk.widths.get(start, chunk.cells.shape[1])
                key = tuple(columns[place][start] for place in self._keys if place < width)
                where = f"shape {'/'.join(part[:40] for part in key) or '1'}, {noun} {chunk.lines[start]}"
                own = {place: columns[place][start:end] for place in told}
                yield _Piece(key, where, own, chunk.values[start:end], chunk.faults.get(start, ""))


def _order_points(
    shapes: Iterable[TableShape | BadRecord], order: LandmarkOrder | None
) -> Iterator[TableShape | BadRecord]:
    """Put the points of shapes at the places of their landmarks; one left out is a missing landmark."""
    names: list[str] | None = None
    for shape in shapes:
        if isinstance(shape, BadRecord):
            yield shape
            continue
        points = as_points(shape.points)
        if order is not None:
            if shape.landmarks != names:
                try:
                    places, n_points = order.place(shape.landmarks)
                except ValueError as error:
                    yield BadRecord(shape.where, str(error))
                    continue
                names = shape.landmarks
            ordered = np.full(n_points, complex(np.nan, np.nan))
            ordered[places] = points
            points = ordered
        yield TableShape(points, shape.cells, shape.where)


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
