"""Tables of shapes as data frames of pandas or Parquet files, one shape per row (wide) or one point per row (long)."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from shapelex._extras import load_pyarrow
from shapelex._messages import format_option
from shapelex._typing import ColumnLayout
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import refusing
from shapelex.files.provenance import KEY
from shapelex.files.table_file import parquet_parts
from shapelex.io.joining import as_text, as_value
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.table_layout import LAYOUTS, TableLayout, is_known_name
from shapelex.io.table_shapes import Chunk, Table, parse_chunk, table_records
from shapelex.shapes.columns import Column
from shapelex.shapes.set import ShapeSet
from shapelex.spaces import Landmarks, to_columns

if TYPE_CHECKING:
    import pandas as pd

# Data frames that follow each other, each with what its rows are called in messages.
Frames: TypeAlias = Iterator[tuple["pd.DataFrame", Sequence[Any]]]


def read_records(
    source: "Path | pd.DataFrame",
    layout: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield the shapes of a Parquet file or of a data frame; options as of text tables."""
    told = (layout, id_column, label_column)
    if isinstance(source, Path):
        yield from frame_records(partial(parquet_frames, source), str(source), source.name.split(".")[0], *told)
    else:
        yield from frame_records(lambda: iter([(source, source.index.tolist())]), "DataFrame", "shape", *told)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved") -> None:
    """Write a set as a Parquet table with names; the record of the run that made it goes into the schema."""
    pyarrow = load_pyarrow()
    table = pyarrow.Table.from_pandas(set_frame(shapes, layout), preserve_index=False)
    run = shapes.provenance.get("source", {}).get("run")
    if run is not None:
        table = table.replace_schema_metadata({**table.schema.metadata, KEY: json.dumps(run)})
    pyarrow.parquet.write_table(table, stream)


def parquet_frames(path: Path) -> Frames:
    """Yield the parts of a Parquet file with the numbers of their rows."""
    n_rows = 0
    with refusing(path, "a Parquet file"):
        for part in parquet_parts(path, is_held=False):
            for column in part.schema:
                if load_pyarrow().types.is_nested(column.type):
                    raise ShapeFileError(
                        f"{path}: its column {column.name!r} holds {column.type}, several values in a cell: split it "
                        "into columns, or leave it out."
                    )
            yield part.to_pandas(), range(n_rows, n_rows + part.num_rows)
            n_rows += part.num_rows


def frame_records(
    open_frames: Callable[[], Frames], name: str, stem: str, *told: Any
) -> Iterator[Record | BadRecord | Remark]:
    """Yield the shapes of data frames that follow each other, given what the caller says of layout, ids and labels.

    An index that has a name or is text is the first column.
    """
    import pandas as pd

    def with_index(frame: pd.DataFrame) -> pd.DataFrame:
        if any(name is not None for name in frame.index.names):
            return frame.reset_index()
        is_counted = isinstance(frame.index, pd.MultiIndex) or frame.index.dtype.kind in "iufbmM"
        return frame if is_counted else frame.reset_index(names="")

    def open_table() -> Table:
        first = next((with_index(frame) for frame, _ in open_frames() if len(frame)), None)
        if first is None:
            raise ShapeFileError("it holds no values.")
        # Columns that are only counted have no names.
        is_counted = first.columns.equals(pd.RangeIndex(first.shape[1]))
        names = None if is_counted else ["" if name is None else str(name) for name in first.columns]
        return Table(names, [as_text(cell) for cell in first.iloc[0].tolist()], open_chunks, stem)

    def open_chunks(found: TableLayout) -> Iterator[Chunk]:
        for frame, rows in open_frames():
            cells = with_index(frame)
            cells = cells.set_axis(range(cells.shape[1]), axis=1)
            for place in (*found.roles.values(), *found.metadata.values()):
                column, is_role = cells[place], place in found.roles.values()
                if is_role or column.dtype.kind not in "biuf" or column.isna().any():
                    values = [as_text(cell) if is_role else as_value(cell) for cell in column.tolist()]
                    cells[place] = pd.Series(values, dtype=object, index=cells.index)
            yield parse_chunk(cells, rows, found.order)

    yield from table_records(open_table, name, *told)


def set_frame(shapes: ShapeSet, layout: str) -> "pd.DataFrame":
    """Return a set as a data frame: one shape per row, or one point per row where `layout` is ``"long"``."""
    import pandas as pd

    check_choice(layout, LAYOUTS, format_option("layout"))
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"Tables hold points, but the set is in {shapes.space!r}: write .npz, or the points of space.sample."
        )
    further = {"closed": np.ones(len(shapes), dtype=bool)} if shapes.closed else {}
    if layout != "long":
        return wide_frame(shapes, "blocks" if layout == "blocks" else "interleaved", further)
    told = _table_columns(shapes)
    keys = [told[name].tolist() for name in ("id", "sequence", "frame") if name in told]
    twice, n_times = Counter(zip(*keys, strict=True)).most_common(1)[0]
    if n_times > 1:
        raise ShapeFileError(
            f"A long table tells shapes apart by their ids, but {twice[0]!r} names several: give ids that differ, "
            "or write a wide table."
        )
    n_points, points = shapes.shape[1], shapes.configurations.ravel()
    frame = pd.DataFrame(told | further)
    frame = frame.loc[frame.index.repeat(n_points)].reset_index(drop=True)
    return frame.assign(landmark=np.tile(np.arange(1, n_points + 1), len(shapes)), x=points.real, y=points.imag)


def wide_frame(shapes: ShapeSet, layout: ColumnLayout, further: Mapping[str, Column] | None = None) -> "pd.DataFrame":
    """Return a set in any space as a data frame, one shape per row, with `further` columns before the coordinates."""
    import pandas as pd

    table = to_columns(shapes.configurations, layout=layout)
    numbers = range(1, shapes.shape[1] + 1)
    names = [f"{axis}{number}" for number in numbers for axis in "xy"]
    if layout == "blocks":
        names = [f"{axis}{number}" for axis in "xy" for number in numbers]
    told = pd.DataFrame(_table_columns(shapes) | dict(further or {}))
    return pd.concat([told, pd.DataFrame(table, columns=names)], axis=1)


def _table_columns(shapes: ShapeSet) -> dict[str, Column]:
    """Return the data of each shape as columns of a table of shapes, from which they are read again."""
    frame = shapes.metadata.get("frame")
    roles = ["id", "landmark", *(["label"] if shapes.labels is not None else [])]
    is_place = frame is not None and frame.dtype.kind in "iu"
    return dict(
        shapes.columns.described(lambda name: not (name == "frame" and is_place) and is_known_name(name, roles))
    )
