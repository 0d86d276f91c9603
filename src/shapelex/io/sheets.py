"""Sheets of metadata: files with a row per shape to data frames."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex._validation import is_data_frame
from shapelex.exceptions import ShapeFileError
from shapelex.files.text_file import open_text
from shapelex.io.formats.csv import open_text_table
from shapelex.io.joining import Sheet
from shapelex.io.table_shapes import CellKind

if TYPE_CHECKING:
    import pandas as pd


# Titles are looked for in so many rows.
_MOST_TITLES = 20


def open_sheet(source: Any, on: str | None) -> Sheet:
    """Return a sheet of metadata from a data frame or a file: text, ``.xlsx`` or ``.parquet``."""
    if is_data_frame(source):
        return Sheet(source, on, "the data frame")
    path = Path(source).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path} to join.")
    titles: list[str] = []

    def count_titles(rows: Sequence[Sequence[str]]) -> int:
        n_titles = _find_names(rows[:_MOST_TITLES], on)
        titles.extend(" ".join(filter(None, row)) for row in rows[:n_titles])
        return n_titles

    frame, texts = _read_frame(path, count_titles)
    above = ", ".join(map(repr, titles))
    notes = [f"left out above the names of the columns of {path}: {above}"] if titles else []
    return Sheet(frame, on, str(path), notes, texts)


def _find_names(rows: Sequence[Sequence[str]], on: str | None) -> int:
    """Return the number of the row that names the columns: that with the key, or the first one that is mostly full."""
    for keys in [("id", "file")] if on is None else [(on,), (on.rpartition("=")[2].strip(),)]:
        named = (place for place, row in enumerate(rows) if not {*keys}.isdisjoint(map(str.strip, row)))
        if (place := next(named, None)) is not None:
            return place
    n_cells = [sum(map(bool, map(str.strip, row))) for row in rows]
    return next((place for place, n in enumerate(n_cells) if 2 * n > max(n_cells)), 0)


def _read_frame(
    path: Path, count_titles: Callable[[Sequence[Sequence[str]]], int]
) -> "tuple[pd.DataFrame, dict[str, list[str]] | None]":
    """Return a sheet, and its cells as text by the names of its columns where it is text."""
    import pandas as pd

    from shapelex.io.formats.excel import read_sheet
    from shapelex.io.formats.frames import parquet_frames

    if path.suffix.lower() == ".xlsx":
        return read_sheet(path, header=True, count_titles=count_titles)[0], None
    if path.suffix.lower() == ".parquet":
        frames = [frame for frame, _ in parquet_frames(path)]
        if not frames:
            raise ShapeFileError(f"{path}: it holds no values.")
        return pd.concat(frames), None
    table = open_text_table(open_text(path), header=True, count_titles=count_titles)
    names = table.names or []
    cells = table.whole(len(names), [])[0]
    texts = {name: cells[place].tolist() for place, name in enumerate(names)}
    for place in range(len(names)):
        kind = CellKind(table.decimal)
        kind.see(cells[place].unique().tolist())
        cells[place] = pd.Series(list(map(kind.converter(), cells[place])), dtype=object)
    return cells.set_axis(names, axis=1), texts
