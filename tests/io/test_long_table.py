"""Long tables: shapes one at a time where their rows stand together, and the same shapes where they are held."""

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.exceptions import ShapeFileError
from shapelex.io import table_shapes, text_file
from shapelex.io.formats import csv as _csv
from tests.io.laziness import as_values, packings, peak_bytes, write_repeated

CELLS = {
    "id": ["a", "b", "ü"],
    "landmark": ["1", "2", "3", "01", "400", "nose", ""],
    "frame": ["1", "2", "1.5", "1e999"],
    "site": ["1", "2", "x", "", "True"],
    "x": ["0", "1.5", "-2", "nan", "", "two", "1_0", "inf"],
    "y": ["0", "1.5", "NA"],
}


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Return a table of few shapes, most of them together; some rows cannot be read."""
    names = [*draw(st.lists(st.sampled_from(["id", "landmark", "frame", "site"]), unique=True)), "x", "y"]
    rows = [[draw(st.sampled_from(CELLS[name])) for name in names] for _ in range(draw(st.integers(1, 10)))]
    if draw(st.booleans()):
        rows.sort(key=lambda row: row[: len(names) - 2])
    if draw(st.integers(0, 3)) == 0:
        del rows[-1][draw(st.integers(1, len(names) - 1)) :]
    return "\n".join(",".join(row) for row in [names, *rows]) + draw(st.sampled_from(["", "\n"]))


@given(
    content=packings(tables()), n_bytes=st.integers(3, 60), n_characters=st.integers(1, 60), n_names=st.integers(2, 20)
)
def test_shapes_are_those_of_the_held_table(tmp_path_factory, content, n_bytes, n_characters, n_names):
    path = tmp_path_factory.getbasetemp() / "leaves.csv"
    path.write_bytes(content)
    with (
        mock.patch.object(text_file, "_PIECE_BYTES", n_bytes),
        mock.patch.object(_csv, "_CHUNK_CHARACTERS", n_characters),
        mock.patch.object(table_shapes, "_MAX_NAMES", n_names),
    ):
        found = as_values(_csv.read_records(path))
    with mock.patch.object(table_shapes, "_MAX_NAMES", -1):
        assert found == as_values(_csv.read_records(path))


def test_what_is_held(tmp_path):
    path = tmp_path / "leaves.csv"
    together = "id,x,y\na,0,0\na,1,1\nb,0,0\nb,two,1\n"
    for text, n_held in ((together, 0), (together + "a,2,2\n", 1)):
        path.write_text(text)
        with mock.patch.object(table_shapes, "_hold", wraps=table_shapes._hold) as hold:
            list(_csv.read_records(path))
        assert hold.call_count == n_held


def test_a_mixed_table_too_long_for_memory_is_refused(tmp_path):
    path = tmp_path / "leaves.csv"
    path.write_text("id,x,y\na,0,0\nb,0,0\na,1,1\n")
    with (
        mock.patch.object(table_shapes, "MAX_BYTES", 10),
        pytest.raises(ShapeFileError, match=r"leaves\.csv: a table of .* do not stand together.*sort it"),
    ):
        list(_csv.read_records(path))


def test_memory_holds_a_part_of_the_file(tmp_path):
    path = tmp_path / "leaves.csv"
    rows = "".join(f"a{n // 50},{n % 50},0.123456789,-0.987654321,oak,7\n" for n in range(45_000))
    text = "id,landmark,x,y,label,site\n" + rows
    n_bytes = write_repeated(path, text, 1)
    with (
        mock.patch.object(text_file, "_PIECE_BYTES", 1 << 14),
        mock.patch.object(_csv, "_CHUNK_CHARACTERS", 1 << 14),
    ):
        n_records, peak = peak_bytes(_csv.read_records(path))
    assert n_records == 900
    assert peak < n_bytes / 2
