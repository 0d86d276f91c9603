"""Tables in chunks of rows, and the shapes of those whose row is a shape.

In come chunks of a table and what its columns mean; out go shapes, one at a time, with the cells that say more than
coordinates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex.io.cell_kinds import CellKind
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord
from shapelex.io.table_layout import TableLayout

if TYPE_CHECKING:
    import pandas as pd

Converters = dict[str, tuple[int, Callable[[Any], Any]]]


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
    widths : dict of int to int
        Number of cells of the rows that do not have as many as the table.
    """

    cells: "pd.DataFrame"
    values: FloatArray
    lines: Sequence[Any]
    faults: dict[int, str] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)


def parse_chunk(
    cells: "pd.DataFrame",
    lines: Sequence[Any],
    order: Sequence[int],
    decimal: str = ".",
    widths: dict[int, int] | None = None,
) -> Chunk:
    """Return rows with the numbers in the columns `order`, and what is wrong with rows that lack one."""
    widths = widths or {}
    faults = {row: f"it has {width} columns, the table has {cells.shape[1]}." for row, width in widths.items()}
    block = cells[list(order)]
    if all(dtype.kind in "fiu" for dtype in block.dtypes):
        values = block.to_numpy(np.float64, na_value=np.nan)
        for row, _ in np.argwhere(np.isinf(values)).tolist():
            faults.setdefault(row, "it has an infinite coordinate.")
        return Chunk(cells, values, lines, faults, widths)
    values = np.full(block.shape, np.nan)
    for column, place in enumerate(order):
        for row, cell in enumerate(block[place].tolist()):
            try:
                values[row, column] = parse_number("" if cell is None else str(cell), decimal)
            except ValueError as error:
                faults.setdefault(row, f"{error}, but a coordinate is expected.")
    return Chunk(cells, values, lines, faults, widths)


@dataclass
class TableShape:
    """A shape on the way from rows to a record.

    Parameters
    ----------
    points : ndarray of complex, or array
        Its points.
    cells : dict of int to value
        Cells that are no coordinates, by column.
    where : str
        Place in the source, for messages.
    landmarks : list of str
        Names of its points, in long tables.
    """

    points: Any
    cells: dict[int, Any]
    where: str
    landmarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class WideTable:
    """A table whose row is a shape.

    Parameters
    ----------
    open_chunks : callable
        Returns the chunks from the first.
    layout : TableLayout
        What the columns mean.
    is_text : bool
        Whether all cells are text, so that kinds of columns have to be found.
    """

    open_chunks: Callable[[], Iterator[Chunk]]
    layout: TableLayout
    is_text: bool

    def converters(self) -> Converters:
        """Return how to turn the cells of each column of metadata into values, from the rows that can be read."""
        kinds = {place: CellKind() for place in self.layout.metadata.values()}
        for chunk in self.open_chunks() if self.is_text and kinds else ():
            cells = chunk.cells.drop(index=list(chunk.faults)) if chunk.faults else chunk.cells
            for place, kind in kinds.items():
                kind.see(cells[place].unique().tolist())
        return {name: (place, kinds[place].converter(self.is_text)) for name, place in self.layout.metadata.items()}

    def shapes(self) -> Iterator[TableShape | BadRecord]:
        """Yield the shape of each row, or what is wrong with it."""
        kept = [*self.layout.roles.values(), *self.layout.metadata.values()]
        noun = "line" if self.is_text else "row"
        number = 0
        for chunk in self.open_chunks():
            points = as_points(chunk.values)
            columns = {place: chunk.cells[place].tolist() for place in kept}
            for row, line in enumerate(chunk.lines):
                number += 1
                where = f"record {number}, {noun} {line}"
                if row in chunk.faults:
                    yield BadRecord(where, chunk.faults[row])
                else:
                    yield TableShape(points[row], {place: columns[place][row] for place in kept}, where)


def as_points(values: Any) -> Any:
    """Return points from x and y in turn, along the last axis; one that lacks either is missing."""
    values = np.asarray(values, dtype=np.float64)
    pairs = values.reshape(*values.shape[:-1], -1, 2).copy()
    pairs[np.isnan(pairs).any(axis=-1)] = np.nan
    return pairs.view(np.complex128)[..., 0]
