"""Tables of shapes as data frames of pandas or Parquet files, one shape per row (wide) or one point per row (long)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from shapelex._messages import format_option
from shapelex._typing import ColumnLayout
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.files.table_file import write_columns
from shapelex.files.tables import open_table
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.table_layout import LAYOUTS, is_known_name
from shapelex.io.table_shapes import table_records
from shapelex.shapes.columns import Column
from shapelex.shapes.set import ShapeSet
from shapelex.spaces import Landmarks, to_columns

if TYPE_CHECKING:
    import pandas as pd


def read_records(
    source: "Path | pd.DataFrame",
    layout: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield the shapes of a Parquet file or of a data frame; options as of text tables."""
    stem = source.name.split(".")[0] if isinstance(source, Path) else "shape"
    yield from table_records(open_table(source, "parquet"), stem, layout, id_column, label_column)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved") -> None:
    """Write a set as a Parquet table with names; the record of the run that made it goes into the schema."""
    run = shapes.provenance.get("source", {}).get("run")
    write_columns(stream, ".parquet", [dict(set_frame(shapes, layout).items())], run)


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
