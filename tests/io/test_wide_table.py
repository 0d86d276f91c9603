"""Wide tables, a row at a time: the values that a table held as a whole would give."""

import csv
import io
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shapelex.io import text_file
from shapelex.io.formats import csv as _csv
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord, Record
from tests.io.laziness import as_values, packings, peak_bytes, write_repeated
from tests.io.whole_text import read_text

CELLS = {
    "id": ["a", "ü", '"b, c"', '"two\nlines"'],
    "site": ["1", "2", "007", "x", "-"],
    "temp": ["1.5", "2", "nan", "", "NA"],
    "wet": ["True", "False", "1", ""],
    "x": ["0", "1.5", "-2", "nan", "", "two", "1_0", "inf"],
}
NAMES = ["id", "site", "temp", "wet", "x1", "y1", "x2", "y2"]


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Return a table in which a column may be of any kind, and some rows cannot be read."""
    pools = {name: draw(st.lists(st.sampled_from(cells), min_size=1, unique=True)) for name, cells in CELLS.items()}
    rows = [
        [draw(st.sampled_from(pools[name if name in pools else "x"])) for name in NAMES]
        for _ in range(draw(st.integers(1, 8)))
    ]
    # In the first row, one cell more would be the name of the row.
    if len(rows) > 1 and draw(st.integers(0, 3)) == 0:
        rows[-1].append("0")
    return "\n".join(",".join(row) for row in [NAMES, *rows]) + draw(st.sampled_from(["", "\n"]))


def records_of_whole_table(path):
    """Return the records of a table that is held as one list of rows."""
    table = csv.reader(io.StringIO(read_text(path, keeps_line_ends=True), newline=""))
    rows = [(table.line_num, row) for row in table][1:]
    found = []
    for number, (line, row) in enumerate(rows, start=1):
        where = f"record {number}, line {line}"
        if len(row) != len(NAMES):
            found.append(BadRecord(where, f"it has {len(row)} columns, the table has {len(NAMES)}."))
            continue
        try:
            values = np.array([parse_number(cell) for cell in row[4:]])
        except ValueError as error:
            found.append(BadRecord(where, f"{error}, but a coordinate is expected."))
            continue
        pairs = values.reshape(-1, 2)
        pairs[np.isnan(pairs).any(axis=1)] = np.nan
        found.append(Record(pairs.view(complex)[:, 0], id=row[0], metadata=dict(enumerate(row[1:4])), where=where))
    good = [record for record in found if isinstance(record, Record)]
    for place, name in enumerate(NAMES[1:4]):
        cells = [record.metadata.pop(place) for record in good]
        for record, value in zip(good, column_values(cells), strict=True):
            record.metadata[name] = value
    return found


def column_values(cells):
    """Return cells as booleans, whole numbers or numbers where all that are known are, else as text."""
    known = [cell for cell in cells if cell not in ("", "nan", "NA", "-")]
    if known and all(cell in ("True", "False") for cell in known):
        return [cell == "True" if cell in known else None for cell in cells]
    if known and all(cell.isdigit() and cell == str(int(cell)) for cell in known):
        return [int(cell) if cell in known else None for cell in cells]
    try:
        numbers = [parse_number(cell) if cell in known else None for cell in cells]
    except ValueError:
        numbers = []
    if not known or not numbers or "007" in known:
        return [cell if cell in known or cell == "-" else None for cell in cells]
    return numbers


@given(content=packings(tables()), n_bytes=st.integers(3, 60), n_characters=st.integers(1, 60))
def test_records_are_those_of_the_whole_table(tmp_path_factory, content, n_bytes, n_characters):
    path = tmp_path_factory.getbasetemp() / "wide.csv"
    path.write_bytes(content)
    with (
        mock.patch.object(text_file, "_PIECE_BYTES", n_bytes),
        mock.patch.object(_csv, "_CHUNK_CHARACTERS", n_characters),
    ):
        found = as_values(_csv.read_records(path, delimiter=",", header=True))
    assert found == as_values(iter(records_of_whole_table(path)))


def test_a_sequence_that_is_infinite_is_a_bad_record(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("frame,x1,y1\n1e999,0,0\n2,0,0\n")
    bad, good = _csv.read_records(path)
    assert isinstance(bad, BadRecord)
    assert good.frame == 2


def test_memory_holds_a_part_of_the_file(tmp_path):
    path = tmp_path / "leaves.csv"
    names = "site," + ",".join(f"x{place},y{place}" for place in range(50)) + "\n"
    n_bytes = write_repeated(path, names + ("3" + ",0.123456789,-0.98765432" * 50 + "\n") * 2500, 1)
    with (
        mock.patch.object(text_file, "_PIECE_BYTES", 1 << 15),
        mock.patch.object(_csv, "_CHUNK_CHARACTERS", 1 << 15),
    ):
        n_records, peak = peak_bytes(_csv.read_records(path))
    assert n_records == 2500
    assert peak < n_bytes / 2
