"""Tables of shapes as text: a shape a row (wide) or a point a row (long).

In comes a file of values between commas, semicolons, tabs, bars or blanks, with or without names of the columns; out go
records, and back. What the columns mean is found in :mod:`shapelex.io.table_layout`.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.io.records import BadRecord, Record
from shapelex.io.table_layout import LAYOUTS, is_coordinate_name
from shapelex.io.table_records import TableSource, table_records
from shapelex.io.table_rows import open_table
from shapelex.io.text_file import open_text
from shapelex.shapes.shapeset import ShapeSet, coordinate_columns, description_columns
from shapelex.spaces import Landmarks


def read_records(
    path: Path,
    layout: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield the shapes of a table.

    `layout` is ``"blocks"``, ``"interleaved"`` or ``"long"``, needed where the names of the columns do not tell it;
    `header` says whether the first row has names, `columns` gives names to a table that has none.
    """

    def open_source() -> TableSource:
        text = open_text(path)
        table = open_table(text, header, columns, delimiter, decimal)
        names, cells = table.names, table.first
        if names is not None and columns is None and len(cells) == len(names) + 1:
            # R gives no name to the column of row names.
            names = ["", *names]
        n_columns = len(cells) if names is None else len(names)
        return TableSource(
            names,
            cells[:n_columns] + [""] * (n_columns - len(cells)),
            lambda found: table.chunks(n_columns, found.order),
            path.name.split(".")[0] or path.name,
            table.decimal,
            text.n_characters,
        )

    yield from table_records(open_source, str(path), layout, id_column, label_column)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved", delimiter: str = ",") -> None:
    """Write a set as a table with names: a shape a row, or a point a row where `layout` is ``"long"``."""
    check_choice(layout, LAYOUTS, "layout")
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"Tables hold points, but the set is in {shapes.space!r}: write .npz, or the points of space.sample."
        )
    told = [(name, column.tolist()) for name, column in description_columns(shapes)]
    if layout == "long":
        _check_told_apart(told)
    if shapes.closed:
        told.append(("closed", [True] * len(shapes)))
    names = [f"meta {name}" if is_coordinate_name(name) else name for name, _ in told]
    columns = [column for _, column in told]
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    # All words are quoted, so that no id is taken for anything but text, nor loses the blanks around it.
    table = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    if layout == "long":
        table.writerow([*names, "landmark", "x", "y"])
        for row, points in enumerate(shapes.configurations):
            cells = [column[row] for column in columns]
            pairs = zip(points.real.tolist(), points.imag.tolist(), strict=True)
            table.writerows([*cells, number, x, y] for number, (x, y) in enumerate(pairs, start=1))
    else:
        coordinate_names, values = coordinate_columns(shapes, "blocks" if layout == "blocks" else "interleaved")
        table.writerow([*names, *coordinate_names])
        table.writerows([*(column[row] for column in columns), *numbers.tolist()] for row, numbers in enumerate(values))
    text.flush()
    # The stream belongs to the caller.
    text.detach()


def _check_told_apart(told: Sequence[tuple[str, list[Any]]]) -> None:
    keys = list(zip(*(column for name, column in told if name in ("id", "sequence", "frame")), strict=True))
    if len(set(keys)) < len(keys):
        twice = Counter(keys).most_common(1)[0][0]
        raise ShapeFileError(
            f"A long table tells shapes apart by their ids, but {twice[0]!r} names several: give ids that differ, "
            "or write a wide table."
        )
