"""Tables as files, for statistics elsewhere: columns come in; CSV, TSV or Parquet goes out, with what made it.

CSV and TSV have no place for the record of a run, so it goes into a sidecar; see :mod:`shapelex.io.run_records`.
"""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shapelex.exceptions import ShapeFileError
from shapelex.io.atomic import write_atomically
from shapelex.io.run_records import KEY, write_sidecar

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")

Column = np.ndarray[Any, Any]


def write_table(path: str | Path, columns: Mapping[str, Any], run: Mapping[str, Any]) -> Path:
    """Write a table, whole or not at all; a file that is there is replaced.

    Parameters
    ----------
    path : str or Path
        Where to: ``.csv``, ``.tsv`` or ``.parquet``.
    columns : mapping of str to array_like
        Columns of one length, by name. NaN and, in integers, masked entries are empty.
    run : mapping
        What made it, see :func:`~shapelex.io.run_records.make_run`.

    Returns
    -------
    Path
        Where it went.

    Raises
    ------
    ShapeFileError
        If the path ends in something else.
    ImportError
        If pyarrow is not installed, which Parquet needs.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(f"{folder}/a.csv", {"id": ["a", "b"], "error": [0.5, float("nan")]}, {"command": "x"})
    ...     print(path.read_text(), end="")
    id,error
    a,0.5
    b,
    """
    target = Path(path)
    suffix = check_table_path(target)
    arrays = {name: np.ma.asarray(column) for name, column in columns.items()}
    if suffix == ".parquet":
        table = _as_arrow(arrays, run)
        write_atomically(target, lambda stream: load_pyarrow().parquet.write_table(table, stream))
        return target
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if suffix == ".csv" else "\t", lineterminator="\n")
    writer.writerow(arrays)
    writer.writerows(zip(*(_cells(column) for column in arrays.values()), strict=True))

    def write(stream: BinaryIO) -> None:
        stream.write(text.getvalue().encode())

    write_atomically(target, write)
    write_sidecar(target, run)
    return target


def check_table_path(path: Path) -> str:
    """Return the end of the name of a table; refuse one that is not written."""
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise ShapeFileError(f"{path.name} must end in {', '.join(TABLE_SUFFIXES)}.")
    if suffix == ".parquet":
        # Said before the work, not after it.
        load_pyarrow()
    return suffix


def load_pyarrow() -> Any:
    """Return the package pyarrow with its part for Parquet; where it is missing, say what to install."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Parquet needs pyarrow, which is not installed: pip install pyarrow; or write .csv."
        ) from error
    return pyarrow


def _cells(column: Any) -> list[Any]:
    is_empty = np.ma.getmaskarray(column)
    if column.dtype.kind == "f":
        is_empty = is_empty | np.isnan(np.ma.getdata(column))
    values = np.ma.getdata(column).tolist()
    return ["" if empty else value for value, empty in zip(values, is_empty.tolist(), strict=True)]


def _as_arrow(arrays: Mapping[str, Any], run: Mapping[str, Any]) -> Any:
    pyarrow = load_pyarrow()
    columns = {}
    for name, column in arrays.items():
        data, mask = np.ma.getdata(column), np.ma.getmaskarray(column)
        if data.dtype.kind == "U":
            columns[name] = pyarrow.array(data.tolist(), type=pyarrow.string(), mask=mask)
        else:
            columns[name] = pyarrow.array(data, mask=mask)
    return pyarrow.table(columns).replace_schema_metadata({KEY: json.dumps(dict(run))})
