"""Tables as files, for statistics elsewhere: columns come in; CSV, TSV, Excel or Parquet goes out, and back.

CSV, TSV and Excel have no place for the record of a run, so it goes into a sidecar; see
:mod:`shapelex.files.provenance`.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from shapelex._extras import load_openpyxl, load_pyarrow
from shapelex.exceptions import ShapeFileError
from shapelex.files.atomic import write_atomically
from shapelex.files.guards import check_regular
from shapelex.files.provenance import KEY, write_sidecar
from shapelex.files.tables import MAX_ROWS, parquet_parts, read_rows, rows_as_frame, with_formula, without_formula

if TYPE_CHECKING:
    import pandas as pd

TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx", ".parquet")

# What a sheet of Excel can hold, beside MAX_ROWS.
_SHEET_COLUMNS, _SHEET_TEXT = 1 << 14, (1 << 15) - 1
_MAX_LINE = 1 << 24
# Columns of text take 0.2 ms each, however short they are.
_MAX_COLUMNS = 1 << 16


def write_table(
    path: str | Path, blocks: Iterable[Mapping[str, Any]], run: Mapping[str, Any], *, raw_cells: bool = False
) -> Path:
    """Write a table block by block, whole or not at all; a file that is there is replaced.

    Parameters
    ----------
    path : str or Path
        Where to: ``.csv``, ``.tsv``, ``.xlsx`` or ``.parquet``.
    blocks : iterable of mappings of str to array_like
        The next rows, as columns of one length by name; all blocks have the same names. NaN and, in integers, masked
        entries are empty. Blocks are asked for while the table is written.
    run : mapping
        What made it, see :func:`~shapelex.files.provenance.make_run`.
    raw_cells : bool, default False
        Whether text in CSV and TSV is written as it is. Otherwise text that a spreadsheet would take for a formula,
        since it begins with ``=``, ``+``, ``-`` or ``@``, gets an apostrophe before it, which reading takes away. In
        Excel workbooks and Parquet, text is never a formula.

    Returns
    -------
    Path
        Where it went.

    Raises
    ------
    ShapeFileError
        If the path ends in something else.
    ImportError
        If pyarrow or openpyxl is not installed, which Parquet and Excel need.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(f"{folder}/a.csv", [{"id": ["a", "b"], "error": [0.5, float("nan")]}], {"command": "x"})
    ...     print(path.read_text(), end="")
    id,error
    a,0.5
    b,
    """
    target = Path(path)
    suffix = check_table_path(target)
    told: Any = {"delimiter": "\t" if suffix == ".tsv" else ",", "raw_cells": raw_cells}
    write_atomically(target, lambda stream: write_columns(stream, suffix, blocks, run, **told))
    if suffix != ".parquet":
        write_sidecar(target, run)
    return target


def write_columns(
    stream: BinaryIO,
    suffix: str,
    blocks: Iterable[Mapping[str, Any]],
    run: Mapping[str, Any] | None = None,
    *,
    delimiter: str = ",",
    raw_cells: bool = False,
    of_shapes: bool = False,
) -> None:
    """Write blocks of columns in the format of a suffix; `run` goes into the schema of Parquet.

    In text `of_shapes`, words are quoted, so that no id is taken for anything but text, nor loses the blanks around it,
    and a missing number is ``nan``.
    """
    arrays = ({name: np.ma.asarray(column) for name, column in block.items()} for block in blocks)
    first = next(arrays)
    if suffix == ".parquet":
        schema = _as_arrow(first).schema.with_metadata(None if run is None else {KEY: json.dumps(dict(run))})
        with load_pyarrow().parquet.ParquetWriter(stream, schema) as writer:
            for block in chain([first], arrays):
                writer.write_table(_as_arrow(block).cast(schema))
        return
    missing = "nan" if of_shapes else ""
    rows = chain.from_iterable(
        zip(*(_cells(column, missing) for column in block.values()), strict=True) for block in chain([first], arrays)
    )
    if suffix == ".xlsx":
        _write_sheets({"shapelex": (list(first), rows)}, stream)
        return
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    quoting: Any = csv.QUOTE_NONNUMERIC if of_shapes else csv.QUOTE_MINIMAL
    lines = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=quoting)
    cells: Iterable[Sequence[Any]] = chain([tuple(first)], rows)
    lines.writerows((list(map(without_formula, row)) for row in cells) if not raw_cells else cells)
    # The stream belongs to the caller.
    text.detach()


def write_workbook(path: Path, tables: "Mapping[str, pd.DataFrame]", run: Mapping[str, Any]) -> None:
    """Write data frames as the sheets of an Excel workbook, whole or not at all; a file that is there is replaced."""
    sheets = {
        title: (list(table), zip(*(_cells(np.ma.asarray(table[name]), "") for name in table), strict=True))
        for title, table in tables.items()
    }
    write_atomically(path, lambda stream: _write_sheets(sheets, stream))
    write_sidecar(path, run)


def _write_sheets(sheets: Mapping[str, tuple[Sequence[str], Iterable[Sequence[Any]]]], stream: BinaryIO) -> None:
    """Write an Excel workbook: of each sheet names and rows, of which NaN and empty text are empty cells."""
    openpyxl = load_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    for title, (names, rows) in sheets.items():
        if len(names) > _SHEET_COLUMNS:
            raise ShapeFileError(
                f"A sheet holds at most {_SHEET_COLUMNS} columns, but the table has {len(names)}: write .csv or "
                ".parquet."
            )
        sheet = book.create_sheet(title)
        try:
            for number, row in enumerate(chain([names], rows), start=1):
                if number > MAX_ROWS:
                    raise ShapeFileError(
                        f"A sheet holds at most {MAX_ROWS - 1} rows, but the table has more: write .csv."
                    )
                sheet.append([_as_cell(value, sheet, openpyxl) for value in row])
        except BaseException:
            sheet.close()
            raise
    # In memory first: on a full disk the archive of openpyxl would be left open.
    content = io.BytesIO()
    book.save(content)
    stream.write(content.getbuffer())


def _as_cell(value: Any, sheet: Any, openpyxl: Any) -> Any:
    if not isinstance(value, str):
        return None if value != value else value
    if len(value) > _SHEET_TEXT:
        raise ShapeFileError(
            f"A cell of a sheet holds at most {_SHEET_TEXT} characters, got {value[:40]!r}…: shorten it."
        )
    cell = openpyxl.cell.WriteOnlyCell(sheet)
    try:
        cell.value = value
    except openpyxl.utils.exceptions.IllegalCharacterError as error:
        raise ShapeFileError(f"{value[:40]!r} has characters that a sheet cannot hold: write .csv.") from error
    # A text that begins with = is not a formula.
    cell.data_type = "s"
    return cell if value else None


def check_table_path(path: Path) -> str:
    """Return the end of the name of a table; refuse one that is not written."""
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise ShapeFileError(f"{path.name} must end in {', '.join(TABLE_SUFFIXES)}.")
    if suffix == ".parquet":
        # Said before the work, not after it.
        load_pyarrow()
    if suffix == ".xlsx":
        load_openpyxl()
    return suffix


def read_table(path: Path, kinds: Mapping[str, type] | type, wanted: Iterable[str] = ()) -> "pd.DataFrame":
    """Return a table that was written here as a data frame; what the schema of a Parquet file says is in its ``attrs``.

    `kinds` are the types of columns, or of all; empty cells are missing unless all are text. Text without the `wanted`
    columns is not read to its end. Libraries raise nearly anything on damaged files.
    """
    import pandas as pd

    check_regular(path)
    suffix = check_table_path(path)
    if suffix == ".parquet":
        pyarrow = load_pyarrow()
        parts = list(parquet_parts(path))
        table = pyarrow.Table.from_batches(parts, pyarrow.parquet.read_schema(path))
        frame: pd.DataFrame = table.to_pandas()
        frame.attrs = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        return frame
    options: dict[str, Any] = {"dtype": kinds, "keep_default_na": False, "na_values": [] if kinds is str else [""]}
    if suffix == ".xlsx":
        return rows_as_frame([row for _, row in read_rows(path, sheet=0)], header=0, **options)
    delimiter = "," if suffix == ".csv" else "\t"
    _check_names(path, delimiter, wanted)
    frame = pd.read_csv(path, sep=delimiter, **options)
    for name, column in frame.items():
        if column.dtype.kind not in "biuf":
            frame[name] = column.map(with_formula)
    return frame.rename(columns=with_formula)


def _check_names(path: Path, delimiter: str, wanted: Iterable[str]) -> None:
    """Refuse text whose first line names too many columns, or not those that are `wanted`."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        head = next((line for line in iter(partial(stream.readline, _MAX_LINE), "") if line.strip()), "")
    names = next(csv.reader([head], delimiter=delimiter), [])
    if len(names) > _MAX_COLUMNS:
        raise ValueError(f"it has more than {_MAX_COLUMNS} columns")
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")


def _cells(column: Any, missing: str) -> list[Any]:
    is_empty = np.ma.getmaskarray(column)
    if column.dtype.kind == "f":
        is_empty = is_empty | np.isnan(np.ma.getdata(column))
    values = np.ma.getdata(column).tolist()
    return [missing if empty else value for value, empty in zip(values, is_empty.tolist(), strict=True)]


def _as_arrow(arrays: Mapping[str, Any]) -> Any:
    pyarrow = load_pyarrow()

    def convert(column: Any) -> Any:
        data, mask = np.ma.getdata(column), np.ma.getmaskarray(column)
        if data.dtype.kind == "U":
            return pyarrow.array(data.tolist(), type=pyarrow.string(), mask=mask)
        return pyarrow.array(data, mask=mask)

    return pyarrow.table({name: convert(column) for name, column in arrays.items()})
