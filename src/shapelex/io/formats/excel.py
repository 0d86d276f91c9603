"""Tables of shapes as sheets of Excel, one shape per row (wide) or one point per row (long)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from shapelex.files.table_file import write_columns
from shapelex.files.tables import open_table
from shapelex.io.formats.frames import set_frame
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.table_shapes import table_records
from shapelex.shapes import ShapeSet


def read_records(
    path: Path,
    sheet: str | int | None = None,
    layout: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield the shapes of a sheet; the options that are not explained here are those of text tables.

    Parameters
    ----------
    path : Path
        File to read.
    sheet : str or int, optional
        Sheet to read, by name or counted from 0; needed where there are several.
    """
    table = open_table(path, "excel", sheet=sheet, header=header, columns=columns)
    yield from table_records(table, path.name.split(".")[0], layout, id_column, label_column)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved") -> None:
    """Write a set as a sheet with names."""
    write_columns(stream, ".xlsx", [dict(set_frame(shapes, layout).items())])
