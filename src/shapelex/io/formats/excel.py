"""Tables of shapes as sheets of Excel, one shape per row (wide) or one point per row (long)."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from shapelex.files.table_file import write_sheet
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
    """Yield the shapes of a sheet, by name or counted from 0; the other options are those of text tables."""
    opened = partial(open_table, path, "excel", sheet=sheet, header=header, columns=columns)
    yield from table_records(opened, str(path), path.name.split(".")[0], layout, id_column, label_column)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved") -> None:
    """Write a set as a sheet with names."""
    frame = set_frame(shapes, layout)
    write_sheet(list(frame.columns), frame.itertuples(index=False, name=None), stream)
