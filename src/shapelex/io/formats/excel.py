"""Tables of shapes as sheets of Excel, a shape a row (wide) or a point a row (long)."""

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from shapelex._extras import load_openpyxl
from shapelex._validation import check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import check_regular, zip_members
from shapelex.io.records import BadRecord, Record
from shapelex.io.table_layout import looks_like_names
from shapelex.shapes import ShapeSet
from shapelex.store.table_file import write_sheet


def read_records(
    path: Path,
    sheet: str | int | None = None,
    layout: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield the shapes of a sheet; the options that are not explained here are those of text tables.

    Parameters
    ----------
    path : Path
        File to read.
    sheet : str or int, optional
        Sheet to read, by name or counted from 0; needed where there are several.
    """
    from shapelex.io.data_frames import frame_records

    frame, rows = read_sheet(path, sheet, header, columns)
    says = (layout, id_column, label_column)
    yield from frame_records(lambda: iter([(frame, rows)]), str(path), path.name.split(".")[0], *says)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved") -> None:
    """Write a set as a sheet with names."""
    from shapelex.io.data_frames import set_frame

    frame = set_frame(shapes, layout)
    write_sheet(list(frame.columns), frame.itertuples(index=False, name=None), stream)


def read_sheet(
    path: Path, sheet: str | int | None = None, header: bool | None = None, columns: Sequence[str] | None = None
) -> tuple[Any, list[int]]:
    """Return a sheet as a data frame, and the numbers of its rows as Excel counts them."""
    import pandas as pd

    load_openpyxl()
    if header is not None:
        check_flag(header, "header")
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            zip_members(archive, path)
        with warnings.catch_warnings():
            # openpyxl warns of what it leaves out, such as styles.
            warnings.simplefilter("ignore")
            with pd.ExcelFile(path, engine="openpyxl") as book:
                cells = book.parse(_choose_sheet(book.sheet_names, sheet), header=None, dtype=object)
    except ShapeFileError as error:
        raise ShapeFileError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from error
    except Exception as error:  # zipfile and openpyxl raise nearly anything on damaged bytes
        raise ShapeFileError(f"{path} is no Excel workbook that can be read: {error}") from error
    cells = cells.dropna(how="all")
    if not len(cells):
        raise ShapeFileError(f"{path}: it holds no values.")
    names: list[str] | None = None if columns is None else list(columns)
    if names is not None and len(names) != cells.shape[1]:
        raise ShapeFileError(f"{path}: columns names {len(names)} columns, but the sheet has {cells.shape[1]}.")
    start = [["" if cell != cell else str(cell) for cell in row] for row in cells.iloc[:2].to_numpy().tolist()]
    if header is None:
        header = names is None and looks_like_names(start[0], start[1] if len(start) > 1 else None, ".")
    if header and names is None:
        names = start[0]
    body = cells.iloc[int(header) :].infer_objects()
    if names is not None:
        body = body.set_axis(names, axis=1)
    return body.reset_index(drop=True), [int(row) + 1 for row in body.index]


def _choose_sheet(names: Sequence[Any], sheet: str | int | None) -> Any:
    if sheet is None and len(names) == 1:
        return names[0]
    if sheet is None or not (sheet in names or (isinstance(sheet, int) and 0 <= sheet < len(names))):
        got = "" if sheet is None else f", got {sheet!r}"
        raise ShapeFileError(f"it has the sheets {', '.join(map(repr, names))}: name one with sheet={got}.")
    return sheet
