"""Tables of shapes as sheets of Excel, one shape per row (wide) or one point per row (long)."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from shapelex._extras import load_openpyxl
from shapelex._messages import format_option
from shapelex._validation import check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import refusing
from shapelex.files.sheet_file import read_rows, rows_as_frame, write_sheet
from shapelex.io.formats.frames import frame_records, set_frame
from shapelex.io.joining import as_text
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.table_layout import looks_like_names
from shapelex.shapes import ShapeSet

if TYPE_CHECKING:
    import pandas as pd

_SAMPLE_ROWS = 100


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
    found = read_sheet(path, sheet, header, columns)
    stem = path.name.split(".")[0]
    yield from frame_records(lambda: iter([found]), str(path), stem, layout, id_column, label_column)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved") -> None:
    """Write a set as a sheet with names."""
    frame = set_frame(shapes, layout)
    write_sheet(list(frame.columns), frame.itertuples(index=False, name=None), stream)


def read_sheet(
    path: Path,
    sheet: str | int | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    count_titles: Callable[[Sequence[Sequence[str]]], int] = lambda _: 0,
) -> "tuple[pd.DataFrame, list[int]]":
    """Return a sheet as a data frame, and the numbers of its rows as Excel counts them.

    `count_titles` tells from the first rows how many of them are above the names of the columns.
    """
    if header is not None:
        check_flag(header, format_option("header"))
    load_openpyxl()
    with refusing(path, "an Excel workbook"):
        rows = read_rows(path, sheet)
        if not rows:
            raise ShapeFileError(f"{path}: it holds no values.")
        cells = rows_as_frame([row for _, row in rows], header=None, dtype=object).set_axis([row for row, _ in rows])
        cells = cells.dropna(how="all")
    if not len(cells):
        raise ShapeFileError(f"{path}: it holds no values.")
    if columns is not None and len(columns) != cells.shape[1]:
        raise ShapeFileError(f"{path}: columns names {len(columns)} columns, but the sheet has {cells.shape[1]}.")
    sample = [list(map(as_text, row)) for row in cells.iloc[:_SAMPLE_ROWS].to_numpy().tolist()]
    n_titles = count_titles(sample)
    cells, start = cells.iloc[n_titles:], sample[n_titles : n_titles + 2]
    if header is None:
        header = columns is None and looks_like_names(start[0], start[1] if len(start) > 1 else None, ".")
    names = columns or (start[0] if header else None)
    body = cells.iloc[int(header) :].infer_objects()
    if names is not None:
        body = body.set_axis(list(names), axis=1)
    return body.reset_index(drop=True), [int(row) for row in body.index]
