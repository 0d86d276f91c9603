"""Tables as files, for statistics elsewhere: columns come in; CSV, TSV, Excel or Parquet goes out, and back.

CSV, TSV and Excel have no place for the record of a run, so it goes into a sidecar; see
:mod:`shapelex.files.provenance`.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from shapelex._extras import load_openpyxl, load_pyarrow
from shapelex.exceptions import ShapeFileError
from shapelex.files.atomic import write_atomically
from shapelex.files.guards import check_regular, check_swelling
from shapelex.files.provenance import KEY, write_sidecar
from shapelex.files.sheet_file import read_rows, rows_as_frame, write_sheets

if TYPE_CHECKING:
    import pandas as pd

TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx", ".parquet")

_PART_ROWS = 1 << 12
_MAX_LINE = 1 << 24
# Columns of text take 0.2 ms each, however short they are.
_MAX_COLUMNS = 1 << 16

# Spreadsheets skip blanks and control characters before a formula. Text that has an apostrophe already gets one more:
# what is read is then what was written.
_FORMULA = re.compile(r"'*(\s*[=+@-]|[\t\r\n])")

Column = np.ndarray[Any, Any]


def write_table(
    path: str | Path, blocks: Iterable[Mapping[str, Any]], run: Mapping[str, Any], *, raw_cells: bool = False
) -> Path:
    """Write a table block by block, whole or not at all; a file that is there is replaced.

    Parameters
    ----------
    path : str or Path
        Where to: ``.csv``, ``.tsv``, ``.xlsx`` or ``.parquet``.
    blocks : iterable of mappings of str to array_like
        The next rows, as columns of one length by name; all blocks have the same names. NaN and, in integers, masked
        entries are empty. Blocks are asked for while the table is written.
    run : mapping
        What made it, see :func:`~shapelex.files.provenance.make_run`.
    raw_cells : bool, default False
        Whether text in CSV and TSV is written as it is. Otherwise text that a spreadsheet would take for a formula,
        since it begins with ``=``, ``+``, ``-`` or ``@``, gets an apostrophe before it, which reading takes away. In
        Excel workbooks and Parquet, text is never a formula.

    Returns
    -------
    Path
        Where it went.

    Raises
    ------
    ShapeFileError
        If the path ends in something else.
    ImportError
        If pyarrow or openpyxl is not installed, which Parquet and Excel need.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(f"{folder}/a.csv", [{"id": ["a", "b"], "error": [0.5, float("nan")]}], {"command": "x"})
    ...     print(path.read_text(), end="")
    id,error
    a,0.5
    b,
    """
    target = Path(path)
    suffix = check_table_path(target)

    def write(stream: BinaryIO) -> None:
        arrays = ({name: np.ma.asarray(column) for name, column in block.items()} for block in blocks)
        first = next(arrays)
        if suffix == ".parquet":
            schema = _as_arrow(first).schema.with_metadata({KEY: json.dumps(dict(run))})
            with load_pyarrow().parquet.ParquetWriter(stream, schema) as writer:
                for block in chain([first], arrays):
                    writer.write_table(_as_arrow(block).cast(schema))
            return
        rows = (zip(*map(_cells, block.values()), strict=True) for block in chain([first], arrays))
        if suffix == ".xlsx":
            write_sheets({"shapelex": (list(first), chain.from_iterable(rows))}, stream)
            return
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter="," if suffix == ".csv" else "\t", lineterminator="\n")
        cells: Iterable[Sequence[Any]] = chain([tuple(first)], chain.from_iterable(rows))
        writer.writerows((list(map(without_formula, row)) for row in cells) if not raw_cells else cells)
        # The stream belongs to the caller.
        text.detach()

    write_atomically(target, write)
    if suffix != ".parquet":
        write_sidecar(target, run)
    return target


def write_workbook(path: Path, tables: "Mapping[str, pd.DataFrame]", run: Mapping[str, Any]) -> None:
    """Write data frames as the sheets of an Excel workbook, whole or not at all; a file that is there is replaced."""
    sheets = {
        title: (list(table), zip(*(_cells(np.ma.asarray(table[name])) for name in table), strict=True))
        for title, table in tables.items()
    }
    write_atomically(path, lambda stream: write_sheets(sheets, stream))
    write_sidecar(path, run)


def check_table_path(path: Path) -> str:
    """Return the end of the name of a table; refuse one that is not written."""
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise ShapeFileError(f"{path.name} must end in {', '.join(TABLE_SUFFIXES)}.")
    if suffix == ".parquet":
        # Said before the work, not after it.
        load_pyarrow()
    if suffix == ".xlsx":
        load_openpyxl()
    return suffix


def read_table(path: Path, kinds: Mapping[str, type] | type, wanted: Iterable[str] = ()) -> "pd.DataFrame":
    """Return a table that was written here as a data frame; what the schema of a Parquet file says is in its ``attrs``.

    `kinds` are the types of columns, or of all; empty cells are missing unless all are text. Text without the `wanted`
    columns is not read to its end. Libraries raise nearly anything on damaged files.
    """
    import pandas as pd

    check_regular(path)
    suffix = check_table_path(path)
    if suffix == ".parquet":
        pyarrow = load_pyarrow()
        parts = list(parquet_parts(path))
        table = pyarrow.Table.from_batches(parts, pyarrow.parquet.read_schema(path))
        frame: pd.DataFrame = table.to_pandas()
        frame.attrs = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        return frame
    options: dict[str, Any] = {"dtype": kinds, "keep_default_na": False, "na_values": [] if kinds is str else [""]}
    if suffix == ".xlsx":
        return rows_as_frame([row for _, row in read_rows(path, sheet=0)], header=0, **options)
    delimiter = "," if suffix == ".csv" else "\t"
    _check_names(path, delimiter, wanted)
    frame = pd.read_csv(path, sep=delimiter, **options)
    for name, column in frame.items():
        if column.dtype.kind not in "biuf":
            frame[name] = column.map(with_formula)
    return frame.rename(columns=with_formula)


def _check_names(path: Path, delimiter: str, wanted: Iterable[str]) -> None:
    """Refuse text whose first line names too many columns, or not those that are `wanted`."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        head = next((line for line in iter(partial(stream.readline, _MAX_LINE), "") if line.strip()), "")
    names = next(csv.reader([head], delimiter=delimiter), [])
    if len(names) > _MAX_COLUMNS:
        raise ValueError(f"it has more than {_MAX_COLUMNS} columns")
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")


def parquet_parts(path: Path, *, is_held: bool = True) -> Iterator[Any]:
    """Yield the rows of a Parquet file, a few at a time, as long as they do not take far more memory than the file.

    Equal values take nearly no room in it. `is_held` says whether all rows will be in memory at once.
    """
    check_regular(path)
    pyarrow = load_pyarrow()
    # By file, not by path: pyarrow takes paths for folders of partitions.
    with path.open("rb") as stream:
        schema = pyarrow.parquet.read_schema(stream)
        texts = [column.name for column in schema if column.type in (pyarrow.string(), pyarrow.large_string())]
        # Equal texts are one until it is known how much room they take.
        file = pyarrow.parquet.ParquetFile(stream, read_dictionary=texts)
        n_stored, described, n_bytes = path.stat().st_size, file.metadata, 0
        check_swelling(n_stored, 8 * described.num_rows * max(described.num_columns, 1), path, is_held=is_held)
        for part in file.iter_batches(_PART_ROWS):
            # Text that is not UTF-8 fails only where it is used.
            part.validate(full=True)
            n_bytes += part.nbytes + sum(map(_text_bytes, part.columns))
            check_swelling(n_stored, n_bytes, path, is_held=is_held)
            yield from pyarrow.Table.from_batches([part]).cast(schema).to_batches()


def _text_bytes(column: Any) -> int:
    """Return how many bytes the texts of a column of a Parquet file take, those that are equal counted each."""
    if not hasattr(column, "dictionary"):
        return 0
    lengths = load_pyarrow().compute.binary_length(column.dictionary)
    return load_pyarrow().compute.sum(lengths.take(column.indices)).as_py() or 0


def without_formula(value: Any) -> Any:
    """Return a cell with an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def with_formula(value: Any) -> Any:
    """Return a cell of a text file as it was before :func:`without_formula`."""
    return value[1:] if isinstance(value, str) and value[:1] == "'" and _FORMULA.match(value) else value


def _cells(column: Any) -> list[Any]:
    is_empty = np.ma.getmaskarray(column)
    if column.dtype.kind == "f":
        is_empty = is_empty | np.isnan(np.ma.getdata(column))
    values = np.ma.getdata(column).tolist()
    return ["" if empty else value for value, empty in zip(values, is_empty.tolist(), strict=True)]


def _as_arrow(arrays: Mapping[str, Any]) -> Any:
    pyarrow = load_pyarrow()

    def convert(column: Any) -> Any:
        data, mask = np.ma.getdata(column), np.ma.getmaskarray(column)
        if data.dtype.kind == "U":
            return pyarrow.array(data.tolist(), type=pyarrow.string(), mask=mask)
        return pyarrow.array(data, mask=mask)

    return pyarrow.table({name: convert(column) for name, column in arrays.items()})
