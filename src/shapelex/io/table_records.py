"""Records of the shapes in a table, whatever it comes from: a text file, a sheet, a data frame.

In comes a :class:`TableSource` and what the caller says of its columns; out go records.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

from shapelex.exceptions import ShapeFileError
from shapelex.io.long_table import LongTable
from shapelex.io.records import BadRecord, Record
from shapelex.io.table_layout import TableLayout, find_layout
from shapelex.io.wide_table import Chunk, Converters, TableShape, WideTable

_CLOSED = {"true": True, "false": False}


@dataclass(frozen=True)
class TableSource:
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


def table_records(
    open_source: Callable[[], TableSource],
    name: str,
    layout: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield the shapes of a table; whatever is wrong with the whole of it is told with its name."""
    try:
        source = open_source()
        found = find_layout(
            source.names,
            source.first,
            layout=layout,
            id_column=id_column,
            label_column=label_column,
            decimal=source.decimal,
        )
        told = (partial(source.open_chunks, found), found, source.n_characters > 0)
        shaped = LongTable(*told, source.n_characters) if found.is_long else WideTable(*told)
        converters = shaped.converters()
    except ShapeFileError as error:
        message = str(error)
        raise ShapeFileError(message if message.startswith(name) else f"{name}: {message}") from error
    yield from _as_records(shaped.shapes(), found, converters, source.stem)


def _as_records(
    shapes: Iterator[TableShape | BadRecord], layout: TableLayout, converters: Converters, stem: str
) -> Iterator[Record | BadRecord]:
    start = list(islice(shapes, 2))
    id_place, label_place, closed_place = (layout.roles.get(role) for role in ("id", "label", "closed"))
    series = [layout.roles.get(role) for role in ("sequence", "frame")]
    for number, shape in enumerate(chain(start, shapes), start=1):
        if isinstance(shape, BadRecord):
            yield shape
            continue
        cells = shape.cells
        try:
            sequence, frame = (None if place is None else _as_whole(cells[place]) for place in series)
        except (ValueError, OverflowError) as error:
            yield BadRecord(shape.where, f"{error}, but sequence and frame are whole numbers.")
            continue
        made_up = stem if len(start) == 1 else f"{stem}-{number}"
        yield Record(
            shape.points,
            id=made_up if id_place is None else cells[id_place],
            label="" if label_place is None else cells[label_place],
            closed=None if closed_place is None else _CLOSED.get(cells[closed_place].strip().lower()),
            sequence=None if sequence == -1 else sequence,
            frame=frame,
            metadata={name: convert(cells[place]) for name, (place, convert) in converters.items()},
            where=shape.where,
        )


def _as_whole(cell: str) -> int | None:
    if not cell.strip():
        return None
    number: Any = float(cell)
    if number != int(number) or abs(number) > 1 << 53:
        raise ValueError(f"{cell[:40]!r} is no whole number")
    return int(number)
