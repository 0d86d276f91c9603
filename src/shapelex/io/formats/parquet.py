"""Tables of shapes as Parquet files, a shape a row (wide) or a point a row (long); read in parts of their rows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from shapelex._extras import load_pyarrow
from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import check_regular
from shapelex.io.records import BadRecord, Record
from shapelex.shapes import ShapeSet
from shapelex.store.provenance import KEY

if TYPE_CHECKING:
    from shapelex.io.data_frames import Frames

_PART_ROWS = 1 << 14


def read_records(
    path: Path,
    layout: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield the shapes of a Parquet table; options as of text tables."""
    from shapelex.io.data_frames import frame_records, with_index

    check_regular(path)

    def open_frames() -> "Frames":
        n_rows = 0
        pyarrow = load_pyarrow()
        try:
            # By file, not by path: pyarrow takes paths for folders of partitions.
            with path.open("rb") as stream:
                for part in pyarrow.parquet.ParquetFile(stream).iter_batches(_PART_ROWS):
                    yield with_index(part.to_pandas()), range(n_rows, n_rows + part.num_rows)
                    n_rows += part.num_rows
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise ShapeFileError(f"{path} is no Parquet file that can be read: {error}") from error

    yield from frame_records(open_frames, str(path), path.name.split(".")[0], layout, id_column, label_column)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved") -> None:
    """Write a set as a table with names; the record of the run that made it goes into the schema."""
    from shapelex.io.data_frames import set_frame

    pyarrow = load_pyarrow()
    table = pyarrow.Table.from_pandas(set_frame(shapes, layout), preserve_index=False)
    run = shapes.provenance.get("source", {}).get("run")
    if run is not None:
        table = table.replace_schema_metadata({**table.schema.metadata, KEY: json.dumps(run)})
    pyarrow.parquet.write_table(table, stream)
