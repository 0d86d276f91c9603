"""Tables of shapes as text: a shape a row (wide) or a point a row (long).

In comes a file of values between commas, semicolons, tabs, bars or blanks, with or without names of the columns; out go
records, and back. What the columns mean is found in :mod:`shapelex.io.table_layout`.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from shapelex.io.records import BadRecord, Record
from shapelex.io.table_records import TableSource, table_records
from shapelex.io.table_rows import open_table
from shapelex.io.text_file import open_text
from shapelex.shapes import ShapeSet


def read_records(
    path: Path,
    layout: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield the shapes of a table.

    Parameters
    ----------
    path : Path
        File to read.
    layout : {"blocks", "interleaved", "long"}, optional
        Order of the columns, needed where their names do not tell it: all x before all y, x and y of each point in
        turn, or one row per point.
    header : bool, optional
        Whether the first row has names; None looks at it.
    columns : list of str, optional
        Names of the columns of a table that has none.
    delimiter : str, optional
        What separates two cells; None finds it.
    decimal : str, optional
        Decimal sign, "." or ","; None finds it.
    id_column, label_column : str or int, optional
        Column of the ids and of the labels, by name or counted from 0; None finds them by their names.
    """

    def open_source() -> TableSource:
        text = open_text(path)
        table = open_table(text, header, columns, delimiter, decimal)
        names, cells = table.names, table.first
        if names is not None and columns is None and len(cells) == len(names) + 1:
            # R gives no name to the column of row names.
            names = ["", *names]
        n_columns = len(cells) if names is None else len(names)
        return TableSource(
            names,
            cells[:n_columns] + [""] * (n_columns - len(cells)),
            lambda found: table.chunks(n_columns, found.order),
            path.name.split(".")[0] or path.name,
            table.decimal,
            text.n_characters,
        )

    yield from table_records(open_source, str(path), layout, id_column, label_column)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved", delimiter: str = ",") -> None:
    """Write a set as a table with names: a shape a row, or a point a row where `layout` is ``"long"``."""
    from shapelex.io.data_frames import set_frame

    # All words are quoted, so that no id is taken for anything but text, nor loses the blanks around it.
    set_frame(shapes, layout).to_csv(
        stream, sep=delimiter, index=False, na_rep="nan", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"
    )
