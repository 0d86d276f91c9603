"""Sheets of metadata: files with a row per shape to data frames."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex._extras import load_pyarrow
from shapelex._validation import is_data_frame
from shapelex.exceptions import ShapeFileError
from shapelex.io.cell_kinds import CellKind
from shapelex.io.table_rows import open_table
from shapelex.io.text_file import open_text
from shapelex.shapes.sheet import Sheet

if TYPE_CHECKING:
    import pandas as pd


def open_sheet(source: Any, on: str) -> Sheet:
    """Return a sheet of metadata from a data frame or a file: text, ``.xlsx`` or ``.parquet``."""
    if is_data_frame(source):
        return Sheet(source, on, "the data frame")
    path = Path(source).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path} to join.")
    return Sheet(_read_frame(path, on), on, str(path))


def _read_frame(path: Path, on: str) -> "pd.DataFrame":
    import pandas as pd

    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        from shapelex.io.formats.excel import read_sheet

        frame: pd.DataFrame = read_sheet(path, header=True)[0]
        return frame
    if suffix == ".parquet":
        pyarrow = load_pyarrow()
        try:
            with path.open("rb") as stream:
                frame = pyarrow.parquet.read_table(stream).to_pandas()
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise ShapeFileError(f"{path} is no Parquet file that can be read: {error}") from error
        return frame
    table = open_table(open_text(path), header=True)
    names = table.names or []
    columns: list[list[str]] = [[] for _ in names]
    for chunk in table.chunks(len(names), []):
        for row, fault in chunk.faults.items():
            raise ShapeFileError(f"{path}, line {chunk.lines[row]}: {fault}")
        for place, column in enumerate(columns):
            column += chunk.cells[place].tolist()
    found: dict[str, Any] = {}
    for name, column in zip(names, columns, strict=True):
        kind = CellKind(table.decimal)
        kind.see(list(set(column)))
        # Keys are text, so that 007 is not 7.
        found[name] = column if name == on else [kind.converter()(cell) for cell in column]
    return pd.DataFrame(found)
