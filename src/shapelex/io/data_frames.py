"""Shapes in data frames of pandas, which sheets and Parquet files are read as, and back.

In come data frames with names of columns; out go records, by the same rules as those of text tables.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.io.records import BadRecord, Record
from shapelex.io.table_layout import LAYOUTS, TableLayout, is_coordinate_name
from shapelex.io.table_records import TableSource, table_records
from shapelex.io.wide_table import Chunk, parse_chunk
from shapelex.shapes.shapeset import ShapeSet, coordinate_columns, description_columns
from shapelex.shapes.sheet import as_text, as_value
from shapelex.spaces import Landmarks

Frames = Iterator[tuple[pd.DataFrame, Sequence[Any]]]


def frame_records(
    open_frames: Callable[[], Frames],
    name: str,
    stem: str,
    layout: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield the shapes of data frames that follow each other, each with what its rows are called in messages."""

    def open_source() -> TableSource:
        first = next((frame for frame, _ in open_frames() if len(frame)), None)
        if first is None:
            raise ShapeFileError("it holds no values.")
        # Columns that are only counted have no names.
        is_counted = first.columns.equals(pd.RangeIndex(first.shape[1]))
        names = None if is_counted else ["" if name is None else str(name) for name in first.columns]
        return TableSource(names, [as_text(cell) for cell in first.iloc[0].tolist()], open_chunks, stem)

    def open_chunks(found: TableLayout) -> Iterator[Chunk]:
        for frame, rows in open_frames():
            yield _as_chunk(frame, rows, found)

    yield from table_records(open_source, name, layout, id_column, label_column)


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame whose index, where it has a name or is text, is its first column."""
    index = frame.index
    if any(name is not None for name in index.names):
        return frame.reset_index()
    if isinstance(index, pd.MultiIndex) or index.dtype.kind in "iufbmM":
        return frame
    return frame.reset_index(names="")


def set_frame(shapes: ShapeSet, layout: str) -> pd.DataFrame:
    """Return a set as a data frame: a shape a row, or a point a row where `layout` is ``"long"``."""
    check_choice(layout, LAYOUTS, "layout")
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"Tables hold points, but the set is in {shapes.space!r}: write .npz, or the points of space.sample."
        )
    told = dict(description_columns(shapes))
    if layout == "long":
        _check_told_apart(told)
    if shapes.closed:
        told["closed"] = np.ones(len(shapes), dtype=bool)
    frame = pd.DataFrame({f"meta {name}" if is_coordinate_name(name) else name: told[name] for name in told})
    if layout != "long":
        names, table = coordinate_columns(shapes, "blocks" if layout == "blocks" else "interleaved")
        return pd.concat([frame, pd.DataFrame(table, columns=names)], axis=1)
    n_points, points = shapes.shape[1], shapes.configurations.ravel()
    frame = frame.loc[frame.index.repeat(n_points)].reset_index(drop=True)
    return frame.assign(landmark=np.tile(np.arange(1, n_points + 1), len(shapes)), x=points.real, y=points.imag)


def _check_told_apart(told: dict[str, Any]) -> None:
    columns = [told[name].tolist() for name in ("id", "sequence", "frame") if name in told]
    twice, n_times = Counter(zip(*columns, strict=True)).most_common(1)[0]
    if n_times > 1:
        raise ShapeFileError(
            f"A long table tells shapes apart by their ids, but {twice[0]!r} names several: give ids that differ, "
            "or write a wide table."
        )


def _as_chunk(frame: pd.DataFrame, rows: Sequence[Any], layout: TableLayout) -> Chunk:
    cells = frame.set_axis(range(frame.shape[1]), axis=1)
    for place in layout.roles.values():
        cells[place] = pd.Series([as_text(cell) for cell in cells[place].tolist()], dtype=object, index=cells.index)
    for place in layout.metadata.values():
        column = cells[place]
        if column.dtype.kind not in "biuf" or column.isna().any():
            cells[place] = pd.Series(list(map(as_value, column.tolist())), dtype=object, index=cells.index)
    return parse_chunk(cells, rows, layout.order)
