"""Data frames of pandas: a shape a row (wide) or a point a row (long), by the rules of text tables."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shapelex.io.records import BadRecord, Record

if TYPE_CHECKING:
    import pandas as pd


def read_records(
    frame: "pd.DataFrame",
    layout: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield the shapes of a data frame; options as of text tables."""
    from shapelex.io.data_frames import frame_records, with_index

    whole = with_index(frame)
    says = (layout, id_column, label_column)
    yield from frame_records(lambda: iter([(whole, frame.index.tolist())]), "DataFrame", "shape", *says)
