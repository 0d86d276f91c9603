"""NTS files (NTSYSpc): one matrix, a specimen a row, its coordinates interleaved.

The parameter line has the matrix type 1, the numbers of rows and columns (with ``L`` where labels follow, ``B`` or
``E`` where they begin or end the rows), whether values are missing and which number says so, and ``DIM=2``. Of a long
file the labels and one row are held at a time.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from shapelex._messages import marked_text
from shapelex.exceptions import ShapeFileError
from shapelex.files.numbers import format_number, parse_number
from shapelex.files.text_file import TextFile, open_text
from shapelex.io.records import BadRecord, Record
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks, to_columns

_COUNT = re.compile(r"([0-9]{1,9})([LBE]?)", re.IGNORECASE)
# What a missing number is written as.
_MISSING = "-999999"


def read_records(path: Path) -> Iterator[Record | BadRecord]:
    """Yield the specimens of a file."""
    text = open_text(path)
    first = next(_lines(text), None)
    if first is None:
        raise ShapeFileError(f"{path} is no NTS file: it has no parameter line.")
    try:
        n_rows, row_labels, n_columns, column_labels, missing = _read_parameters(first[1])
    except ShapeFileError as error:
        raise ShapeFileError(f"{path}, line {first[0]}: {marked_text(error)}") from error
    n_width = n_columns + (row_labels in ("B", "E"))
    n_before = (n_rows if row_labels == "L" else 0) + (n_columns if column_labels == "L" else 0)
    n_expected = n_before + n_rows * n_width
    n_words = sum(len(line.split()) for _, line in islice(_lines(text), 1, None))
    if n_words != n_expected:
        raise ShapeFileError(f"{path}: {n_expected} values are declared, but {n_words} are there.")
    words = ((number, word) for number, line in islice(_lines(text), 1, None) for word in line.split())
    labels = [word for _, word in islice(words, n_before)]
    for row in range(n_rows):
        cells = list(islice(words, n_width))
        name = labels[row] if row_labels == "L" else f"{path.stem}-{row + 1}"
        if row_labels in ("B", "E"):
            _, name = cells.pop(0 if row_labels == "B" else -1)
        values = np.empty(n_columns)
        try:
            for place, (number, word) in enumerate(cells):  # noqa: B007
                values[place] = parse_number(word)
        except ValueError as error:
            yield BadRecord(f"record {row + 1}, line {number}", f"{error}, but a coordinate is expected.")
            continue
        pairs = values.reshape(-1, 2)
        pairs[(np.isnan(pairs) | (pairs == missing)).any(axis=1)] = np.nan
        yield Record(pairs.view(np.complex128)[:, 0], id=name, where=f"record {row + 1}, line {cells[0][0]}")


def write_set(shapes: ShapeSet, stream: BinaryIO) -> None:
    """Write a set of landmarks with its ids; blanks in ids become underscores, as the format asks."""
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"NTS files hold points, but the set is in {shapes.space!r}: write .npz, or the points of space.sample."
        )
    table = to_columns(shapes.configurations, layout="interleaved")
    gone = np.isnan(table)
    if not gone.any():
        note = "0"
    elif (table == float(_MISSING)).any():
        raise ShapeFileError(f"The coordinate {_MISSING} would be taken for a missing one: write .npz or .tps.")
    else:
        note = f"1 {_MISSING}"
    ids = [re.sub(r"\s+", "_", str(name)).strip("_\"'") or str(row) for row, name in enumerate(shapes.ids)]
    lines = ['"written by shapelex', f"1 {len(shapes)}L {table.shape[1]} {note} DIM=2", *ids]
    lines += [
        " ".join(_MISSING if number != number else format_number(number) for number in row.tolist()) for row in table
    ]
    stream.write(("\n".join(lines) + "\n").encode())


def _lines(text: TextFile) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor remarks, with their numbers."""
    return ((number, line) for number, line in text.lines() if not re.match(r"\s*([\"']|$)", line))


def _read_parameters(line: str) -> tuple[int, str, int, str, float]:
    """Return the numbers of rows and columns, where their labels are, and the number that stands for missing."""
    words = line.split()
    dimensions = [word for word in words if word.upper().startswith("DIM=")]
    words = [word for word in words if word not in dimensions]
    if len(words) < 4 or words[0] != "1":
        raise ShapeFileError(f"expected a parameter line such as '1 40L 24 0 DIM=2', found {line.strip()[:60]!r}.")
    if not dimensions:
        raise ShapeFileError("the parameter line has no DIM=, so it does not say whether points are planar: add DIM=2.")
    if dimensions[0][4:] != "2":
        raise ShapeFileError(f"{dimensions[0]} is not planar: only DIM=2 is read; project the landmarks first.")
    counts = [_COUNT.fullmatch(word) for word in words[1:3]]
    if counts[0] is None or counts[1] is None:
        raise ShapeFileError(f"{words[1][:20]!r} and {words[2][:20]!r} are not numbers of rows and columns.")
    n_rows, n_columns = int(counts[0][1]), int(counts[1][1])
    if n_rows == 0 or n_columns < 2 or n_columns % 2:
        raise ShapeFileError(f"{n_rows} rows of {n_columns} columns hold no planar shapes.")
    try:
        missing = np.nan if words[3] == "0" else float(words[4])
    except (IndexError, ValueError) as error:
        raise ShapeFileError("values are missing, but no number is given that stands for them.") from error
    return n_rows, counts[0][2].upper(), n_columns, counts[1][2].upper(), missing
