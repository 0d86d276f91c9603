"""Sheets of metadata: files with a row per shape to data frames."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex._validation import is_data_frame
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.csv import open_text_table
from shapelex.io.table_shapes import CellKind
from shapelex.io.text_file import open_text
from shapelex.shapes.sheet import Sheet

if TYPE_CHECKING:
    import pandas as pd


def open_sheet(source: Any, on: str | None) -> Sheet:
    """Return a sheet of metadata from a data frame or a file: text, ``.xlsx`` or ``.parquet``."""
    if is_data_frame(source):
        return Sheet(source, on, "the data frame")
    path = Path(source).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path} to join.")
    return Sheet(_read_frame(path, on), on, str(path))


def _read_frame(path: Path, on: str) -> "pd.DataFrame":
    import pandas as pd

    from shapelex.io.formats.excel import read_sheet
    from shapelex.io.formats.frames import parquet_frames

    if path.suffix.lower() == ".xlsx":
        return read_sheet(path, header=True)[0]
    if path.suffix.lower() == ".parquet":
        frames = [frame for frame, _ in parquet_frames(path)]
        if not frames:
            raise ShapeFileError(f"{path}: it holds no values.")
        return pd.concat(frames)
    table = open_text_table(open_text(path), header=True)
    names = table.names or []
    cells = table.whole(len(names), [])[0]
    # Keys are text.
    for place in [place for place, name in enumerate(names) if name != on]:
        kind = CellKind(table.decimal)
        kind.see(cells[place].unique().tolist())
        cells[place] = pd.Series(list(map(kind.converter(), cells[place])), dtype=object)
    return cells.set_axis(names, axis=1)
