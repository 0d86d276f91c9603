"""Sheets of Excel workbooks: rows come in, a workbook goes out, and back."""

import io
import warnings
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from shapelex._extras import load_openpyxl
from shapelex._messages import format_option
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import check_regular, check_swelling, zip_members

if TYPE_CHECKING:
    import pandas as pd

# What a sheet of Excel can hold.
_MAX_ROWS, _MAX_COLUMNS, _MAX_TEXT = 1 << 20, 1 << 14, (1 << 15) - 1

# Tables of so many cells, or of which one cell in so many holds something, are no accident.
_FREE_CELLS, _MOST_EMPTY = 10_000, 50


def write_sheets(sheets: Mapping[str, tuple[Sequence[str], Iterable[Sequence[Any]]]], stream: BinaryIO) -> None:
    """Write an Excel workbook: of each sheet names and rows, of which NaN and empty text are empty cells."""
    openpyxl = load_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    for title, (names, rows) in sheets.items():
        if len(names) > _MAX_COLUMNS:
            raise ShapeFileError(
                f"A sheet holds at most {_MAX_COLUMNS} columns, but the table has {len(names)}: write .csv or .parquet."
            )
        sheet = book.create_sheet(title)
        try:
            for number, row in enumerate(chain([names], rows), start=1):
                if number > _MAX_ROWS:
                    raise ShapeFileError(
                        f"A sheet holds at most {_MAX_ROWS - 1} rows, but the table has more: write .csv."
                    )
                sheet.append([_as_cell(value, sheet) for value in row])
        except BaseException:
            sheet.close()
            raise
    # In memory first: on a full disk the archive of openpyxl would be left open.
    content = io.BytesIO()
    book.save(content)
    stream.write(content.getbuffer())


def _as_cell(value: Any, sheet: Any) -> Any:
    if not isinstance(value, str):
        return None if value != value else value
    if len(value) > _MAX_TEXT:
        raise ShapeFileError(
            f"A cell of a sheet holds at most {_MAX_TEXT} characters, got {value[:40]!r}…: shorten it."
        )
    openpyxl = load_openpyxl()
    cell = openpyxl.cell.WriteOnlyCell(sheet)
    try:
        cell.value = value
    except openpyxl.utils.exceptions.IllegalCharacterError as error:
        raise ShapeFileError(f"{value[:40]!r} has characters that a sheet cannot hold: write .csv.") from error
    # A text that begins with = is not a formula.
    cell.data_type = "s"
    return cell if value else None


def read_rows(path: Path, sheet: str | int | None = None) -> list[tuple[int, list[Any]]]:
    """Return the rows of a sheet that are not empty, all of one length, with their numbers; empty cells are "".

    `sheet` is a name, or counted from 0; it is needed where there are several. Empty rows take no memory: a sheet may
    have a single cell in its last row. Libraries raise nearly anything on damaged workbooks.
    """
    openpyxl = load_openpyxl()
    check_regular(path)
    with zipfile.ZipFile(path) as archive:
        zip_members(archive, path)
    # openpyxl warns of what it leaves out, such as styles.
    with warnings.catch_warnings(action="ignore"), path.open("rb") as stream:
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        try:
            chosen = _choose(book, sheet, path)
            # What a file says of its extent may be wrong.
            chosen.reset_dimensions()
            rows, width = [], 0
            for number, cells in enumerate(chosen.iter_rows(), start=1):
                if number > _MAX_ROWS:
                    raise ShapeFileError(f"{path}: a sheet has at most {_MAX_ROWS} rows.")
                row = [_value(cell) for cell in cells]
                while row and row[-1] == "":
                    row.pop()
                if row:
                    width = max(width, len(row))
                    rows.append((number, row))
                    check_swelling(path.stat().st_size, 8 * width * len(rows), path)
        finally:
            book.close()
    n_cells = sum(len(row) - row.count("") for _, row in rows)
    if rows and width * len(rows) > max(_FREE_CELLS, _MOST_EMPTY * n_cells):
        last = f"{openpyxl.utils.get_column_letter(width)}{rows[-1][0]}"
        raise ShapeFileError(
            f"{path}: the sheet has cells up to {last}, but only {n_cells} hold something: remove the stray ones."
        )
    return [(number, row + [""] * (width - len(row))) for number, row in rows]


def rows_as_frame(rows: Sequence[Sequence[Any]], **options: Any) -> "pd.DataFrame":
    """Return rows of cells as a data frame, with the options of ``pandas.read_csv``."""
    from pandas.io.parsers import TextParser

    # A row of blanks is a row, too.
    frame: pd.DataFrame = TextParser(list(rows), skip_blank_lines=False, **options).read()
    return frame


def _choose(book: Any, sheet: str | int | None, path: Path) -> Any:
    sheets = {one.title: one for one in book.worksheets}
    known = list(sheets)
    chosen = known[0] if sheet is None and len(known) == 1 else sheet
    if isinstance(chosen, int) and 0 <= chosen < len(known):
        chosen = known[chosen]
    if chosen not in sheets:
        got = "" if sheet is None else f", got {sheet!r}"
        raise ShapeFileError(
            f"{path}: it has the sheets {', '.join(map(repr, known))}: name one with {format_option('sheet=')}{got}."
        )
    return sheets[chosen]


def _value(cell: Any) -> Any:
    """Return what a cell holds; a whole number as an integer, an error of Excel as NaN."""
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        return float("nan")
    return int(value) if isinstance(value, float) and value.is_integer() else value
