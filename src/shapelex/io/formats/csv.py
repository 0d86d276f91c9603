"""Tables of shapes as text: one shape per row (wide) or one point per row (long)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from shapelex._validation import check_flag
from shapelex.files.table_file import write_columns
from shapelex.files.tables import open_table
from shapelex.io.formats.frames import set_frame
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.table_shapes import table_records
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
) -> Iterator[Record | BadRecord | Remark]:
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
    table = open_table(path, "text", header=header, columns=columns, delimiter=delimiter, decimal=decimal)
    yield from table_records(table, path.name.split(".")[0] or path.name, layout, id_column, label_column)


def write_set(
    shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved", delimiter: str = ",", raw_cells: bool = False
) -> None:
    """Write a set as a table with names: one shape per row, or one point per row where `layout` is ``"long"``.

    Text that a spreadsheet would take for a formula, also in names, gets an apostrophe, unless `raw_cells`.
    """
    is_raw, columns = check_flag(raw_cells, "raw_cells"), set_frame(shapes, layout).items()
    write_columns(stream, ".csv", [dict(columns)], delimiter=delimiter, raw_cells=is_raw, of_shapes=True)
