"""Arrays of landmarks from R (geomorph, Momocs, shapes): what ``write.csv`` makes of a p x 2 x n array comes in.

R writes such an array as one row a landmark and two columns a specimen: ``X.oak1, Y.oak1, X.oak2, …``, or ``X1.oak1,
X2.oak1, …`` where the coordinates have no names. Each specimen becomes one record. Where specimens are numbered the
columns are called as in a table with one row a specimen, and the caller has to say which it is. An array without any
names has columns ``X1, X2, …``, which are read when the caller names this format. What geomorph's ``two.d.array``
gives is a table with one row a specimen, read by :mod:`shapelex.io.formats.csv`.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from shapelex._messages import format_option
from shapelex._validation import check_choice, points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import read_head
from shapelex.files.tables import open_table, text_lines
from shapelex.files.text_file import open_text
from shapelex.io.formats.csv import read_records as read_table
from shapelex.io.records import BadRecord, Record, Remark

_NAMED = re.compile(r"(X[123]?|[YZ123])\.(.+)", re.IGNORECASE)
_AXES = {"X": 0, "Y": 1, "Z": 2} | {f"{start}{number}": number - 1 for start in ("", "X") for number in (1, 2, 3)}
_HEAD_BYTES = 1 << 16
# Of a first line that is longer than the head: enough to tell, in whole specimens of two or three columns.
_HEAD_NAMES = 60


def recognizes(path: Path) -> bool:
    """Tell whether the names of a table's columns are those that R gives to an array."""
    lines = read_head(path, _HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").splitlines()
    try:
        header = next(csv.reader(lines[:1], delimiter=_delimiter(lines[0]))) if lines else []
    except csv.Error:
        return False
    specimens, _ = _find_specimens(header if len(lines) > 1 else header[: _HEAD_NAMES + (header[:1] == [""])])
    # Columns X1, X2, … may be anything.
    return any(specimens) and (header[0] == "" or not _are_numbered(specimens))


def read_records(path: Path, *, rows: str | None = None) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each specimen.

    Parameters
    ----------
    path : Path
        File to read.
    rows : {"landmarks", "shapes"}, optional
        What a row is, where specimens are numbered and the names of the columns do not tell it: ``"landmarks"`` for an
        array, ``"shapes"`` for a table with one row a specimen.
    """
    if rows is not None:
        check_choice(rows, ("landmarks", "shapes"), format_option("rows"))
    delimiter = _delimiter(next(text_lines(open_text(path)), ""))
    table = open_table(path, "text", header=True, delimiter=delimiter, decimal="," if delimiter == ";" else ".")
    names = table.names or []
    specimens, n_axes = _find_specimens(names)
    if not specimens:
        raise ShapeFileError(
            f"{path} is no array from R: its columns must be X.name, Y.name of one specimen after the other, got "
            f"{', '.join(names[:4])[:100]}."
        )
    if n_axes != 2:
        raise ShapeFileError(f"{path} holds {n_axes} coordinates a landmark, but shapes here are planar.")
    if rows is None and _are_numbered(specimens):
        raise ShapeFileError(
            f"{path} may have a landmark or a shape in each row: give {format_option('rows', 'landmarks')} for an "
            "array "
            f"that write.csv saved, with two columns a specimen, or {format_option('rows', 'shapes')} for a table with "
            "one row a specimen."
        )
    if rows == "shapes":
        yield from read_table(path)
        return
    parts = []
    for block in table.blocks():
        numbers, faults = block.numbers(range(names[0] == "", len(names)), table.decimal)
        for row, fault in faults.items():
            raise ShapeFileError(f"{path}, line {block.lines[row]}: {fault}")
        parts.append(numbers)
    values = np.concatenate(parts)
    points = points_to_complex(values.reshape(-1, len(specimens), 2))
    for column, name in enumerate(specimens):
        yield Record(points[:, column], id=name or f"{path.stem}-{column + 1}", where=f"specimen {name or column + 1}")
    yield Remark(f"{len(specimens)} specimens", "read from two columns each; each row of the table is a landmark.")


def _delimiter(line: str) -> str:
    # write.csv2 uses semicolons, where the comma is the decimal mark.
    return ";" if line.count(";") > line.count(",") else ","


def _find_specimens(header: Sequence[str]) -> tuple[list[str], int]:
    """Return the names of the specimens, empty where they have none, and the columns of each; nothing if no array."""
    names = list(header[1:] if header[:1] == [""] else header)
    if len(names) >= 2 and names == [f"X{number}" for number in range(1, len(names) + 1)]:
        return ([""] * (len(names) // 2), 2) if len(names) % 2 == 0 else ([], 0)
    matches = [_NAMED.fullmatch(name) for name in names]
    found = [(_AXES[match[1].upper()], match[2]) for match in matches if match]
    n_axes = 1 + max((axis for axis, _ in found), default=0)
    specimens = [specimen for _, specimen in found[::n_axes]]
    expected = [(axis, specimen) for specimen in specimens for axis in range(n_axes)]
    return (specimens, n_axes) if n_axes > 1 and len(found) == len(names) and found == expected else ([], 0)


def _are_numbered(specimens: Sequence[str]) -> bool:
    return all(name.isdigit() for name in specimens)
