"""Shapes of a table whose row is a shape, on the way from cells to records.

In come rows and what their columns mean; out go shapes, one at a time, with the cells that say more than coordinates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from shapelex.io.cell_kinds import CellKind
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord
from shapelex.io.table_layout import TableLayout
from shapelex.io.table_rows import Row

# Rows that are looked at together; more of them would leave the processor's cache.
_BATCH_ROWS = 16

Converters = dict[str, tuple[int, Callable[[str], Any]]]


@dataclass
class TableShape:
    """A shape on the way from rows to a record.

    Parameters
    ----------
    points : ndarray of complex, or array
        Its points.
    cells : dict of int to str
        Cells that are no coordinates, by column.
    where : str
        Place in the file, for messages.
    landmarks : list of str
        Names of its points, in long tables.
    """

    points: Any
    cells: dict[int, str]
    where: str
    landmarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class WideTable:
    """A table whose row is a shape.

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
        Whether a cell may have one: ``float`` takes 1_000, which no file of numbers means.
    """

    open_rows: Callable[[], Iterator[Row]]
    layout: TableLayout
    n_columns: int
    decimal: str
    has_underscores: bool

    def converters(self) -> Converters:
        """Return how to turn the cells of each column of metadata into values, from the rows that can be read.

        Returns
        -------
        dict of str to tuple of int and callable
            Column and function, by name.
        """
        columns = [(name, place, CellKind()) for name, place in self.layout.metadata.items()]
        if not columns:
            return {}
        parse = self._parser()
        rows = (row for _, row in self.open_rows() if len(row) == self.n_columns)
        while batch := list(islice(rows, _BATCH_ROWS)):
            for _, place, kind in columns:
                if kind.agrees([row[place] for row in batch]):
                    continue
                for row in batch:
                    # The cells of a row that is left out do not count.
                    if not kind.agrees([row[place]]) and _is_sound(parse, row):
                        kind.add(row[place])
        return {name: (place, kind.converter()) for name, place, kind in columns}

    def shapes(self) -> Iterator[TableShape | BadRecord]:
        """Yield the shapes, and what is wrong with those that cannot be read.

        Yields
        ------
        TableShape or BadRecord
            One for each row.
        """
        parse = self._parser()
        kept = [*self.layout.roles.values(), *self.layout.metadata.values()]
        for number, (line, row) in enumerate(self.open_rows(), start=1):
            where = f"record {number}, line {line}"
            if len(row) != self.n_columns:
                yield BadRecord(where, f"it has {len(row)} columns, the table has {self.n_columns}.")
                continue
            try:
                values = parse(row)
            except ValueError as error:
                yield BadRecord(where, f"{error}, but a coordinate is expected.")
                continue
            yield TableShape(as_points(values), {place: row[place] for place in kept}, where)

    def _parser(self) -> Callable[[Sequence[str]], Any]:
        """Return the function from a row to its coordinates, which raises ValueError where one is none."""
        order = [place for pair in zip(self.layout.x, self.layout.y, strict=True) for place in pair]
        take, n_values, decimal = itemgetter(*order), len(order), self.decimal
        has_underscores = self.has_underscores

        def parse(row: Sequence[str]) -> Any:
            cells = take(row)
            try:
                if decimal != "." or (has_underscores and "_" in "".join(cells)):
                    raise ValueError
                values = np.fromiter(map(float, cells), dtype=np.float64, count=n_values)
                if np.isinf(values).any():
                    raise ValueError
            except ValueError:
                values = np.array([parse_number(cell, decimal) for cell in cells])
            return values

        return parse


def as_points(values: Any) -> Any:
    """Return points from x and y in turn; one that lacks either is missing.

    Parameters
    ----------
    values : array_like of float, shape (2 * n_points,) or (n_points, 2)
        The coordinates.

    Returns
    -------
    ndarray of complex, shape (n_points,)
        The points.
    """
    pairs = np.ascontiguousarray(values, dtype=np.float64).reshape(-1, 2)
    is_gone = np.isnan(pairs).any(axis=1)
    if is_gone.any():
        pairs = pairs.copy()
        pairs[is_gone] = np.nan
    return pairs.view(np.complex128)[:, 0]


def _is_sound(parse: Callable[[Sequence[str]], Any], row: Sequence[str]) -> bool:
    try:
        parse(row)
    except ValueError:
        return False
    return True
