"""Files that are read in parts: the same text and the same records whatever the size of a part, in little memory."""

import gzip
import tracemalloc
from contextlib import contextmanager
from itertools import pairwise
from unittest import mock

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.files import tables as tables_file
from shapelex.files import text_file
from shapelex.files.text_file import open_text
from shapelex.io import table_shapes
from shapelex.io.formats import csv as _csv
from shapelex.io.formats import hdf5, morphologika, nts, tps
from tests.io.conftest import as_values, check_refused
from tests.io.fuzzing import damage
from tests.io.test_nts import MORPHOLOGIKA, NTS
from tests.io.test_tps import CURVED, PLAIN


@contextmanager
def small_parts(n_bytes, n_names=20):
    """Read files in parts of so many bytes, and hold so many names of shapes."""
    with (
        mock.patch.object(text_file, "_PIECE_BYTES", n_bytes),
        mock.patch.object(tables_file, "_BLOCK_CELLS", n_bytes // 4),
        mock.patch.object(table_shapes, "_HELD_BYTES", 0),
        mock.patch.object(table_shapes, "_MAX_NAMES", n_names),
    ):
        yield


@st.composite
def packings(draw, texts):
    """Return a text as bytes in one of the encodings, with one of the line ends, packed or not."""
    text = draw(texts).replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"])))
    content = text.encode(draw(ENCODINGS), errors="replace")
    return gzip.compress(content, 1) if draw(st.booleans()) else content


def peak_bytes(records):
    """Return the number of records, and the most memory taken while none is kept."""
    tracemalloc.start()
    try:
        n_records = sum(1 for _ in records)
        return n_records, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])
TPS_LINES = [
    *("LM=2", "  lm = 3", "LM3=1", "0 1", "2,5 -1", "nan 1", "x 1", "ID=ü", "SCALE=2", "CURVES=1", "POINTS=1", "# a"),
    *("", " ", PLAIN.rstrip("\n"), CURVED.rstrip("\n")),
]
CELLS = {
    "id": ["a", "b", "ü", '"b, c"', '"two\nlines"'],
    "landmark": ["1", "2", "3", "01", "400", "nose", ""],
    "frame": ["1", "2", "1.5", "1e999"],
    "site": ["1", "2", "007", "x", "", "True", "-"],
    "wet": ["True", "False", "1", ""],
    "x": ["0", "1.5", "-2", "nan", "", "two", "1_0", "inf"],
    "y": ["0", "1.5", "NA"],
}


@st.composite
def tables(draw, names):
    """Return a table in which some rows cannot be read; of a long one, the rows of a shape may stand apart."""
    rows = [
        [draw(st.sampled_from(CELLS[name.rstrip("12")])) for name in names] for _ in range(draw(st.integers(1, 10)))
    ]
    if draw(st.booleans()):
        rows.sort()
    if draw(st.integers(0, 3)) == 0:
        del rows[-1][draw(st.integers(1, len(names) - 1)) :]
    return "\n".join(",".join(row) for row in [names, *rows]) + draw(st.sampled_from(["", "\n"]))


LONG = st.lists(st.sampled_from(["id", "landmark", "frame", "site"]), unique=True).flatmap(
    lambda names: tables([*names, "x", "y"])
)
NAMED = st.sampled_from([NTS, NTS.replace("2L 6", "2B 6"), MORPHOLOGIKA, MORPHOLOGIKA.replace("'#1\n", "")])
DAMAGED = st.builds(lambda text, seed: damage(text.encode(), seed).decode("latin-1"), NAMED, st.integers(0, 999))


@pytest.mark.parametrize(
    ("reader", "texts"),
    [
        (tps, st.lists(st.sampled_from(TPS_LINES), max_size=12).map("\n".join)),
        (nts, NAMED | DAMAGED),
        (morphologika, NAMED | DAMAGED),
        (_csv, LONG),
        (_csv, tables(["id", "site", "wet", "x1", "y1", "x2", "y2"])),
    ],
    ids=["tps", "nts", "morphologika", "long", "wide"],
)
@given(data=st.data(), n_bytes=st.integers(3, 60), n_names=st.integers(2, 20))
def test_records_do_not_depend_on_the_parts(tmp_path_factory, reader, texts, data, n_bytes, n_names):
    path = tmp_path_factory.getbasetemp() / "parts.csv"
    path.write_bytes(data.draw(packings(texts)))
    # A long table whose names are too many is held as a whole.
    with mock.patch.object(table_shapes, "_MAX_NAMES", -1):
        whole = as_values(reader.read_records(path))
    with small_parts(n_bytes, n_names):
        assert as_values(reader.read_records(path)) == whole


POINT = "0.123456789 -0.987654321\n"
ROWS_OF_SHAPES = "".join(f"a{n // 50},{n % 50},0.123456789,-0.987654321,oak,7\n" for n in range(20_000))
# Shapes in files of some hundred thousand characters.
MEMORY = {
    "a.tps": (tps, 100, ("LM=100\n" + POINT * 100 + "ID=1\n") * 100),
    "a.nts": (nts, 100, "1 100 200 0 DIM=2\n" + (POINT.replace("\n", " ") * 100 + "\n") * 100),
    "a.txt": (
        morphologika,
        100,
        "[individuals]\n100\n[landmarks]\n100\n[dimensions]\n2\n[rawpoints]\n" + POINT * 10_000,
    ),
    "long.csv": (_csv, 400, "id,landmark,x,y,label,site\n" + ROWS_OF_SHAPES),
    "wide.csv": (_csv, 2600, ",".join(f"x{n},y{n}" for n in range(10)) + "\n" + (",0.12345678" * 20 + "\n")[1:] * 2600),
}


@pytest.mark.parametrize("name", MEMORY)
def test_memory_holds_a_part_of_the_file(tmp_path, name):
    reader, n_shapes, text = MEMORY[name]
    path = tmp_path / name
    path.write_text(text)
    # What the reader imports on its first call is not counted.
    next(reader.read_records(path))
    with small_parts(1 << 12, 1000):
        n_records, peak = peak_bytes(reader.read_records(path))
    assert n_records == n_shapes
    assert peak < len(text) / 2


def test_memory_holds_a_part_of_a_dataset(tmp_path):
    points = np.zeros((2500, 50, 2))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["skeletons"] = points
    with mock.patch.multiple(hdf5, _HELD_BYTES=0, _MOST_TIMES_READ=np.inf, _BLOCK_BYTES=1 << 16):
        n_records, peak = peak_bytes(hdf5.read_records(tmp_path / "a.h5"))
    assert n_records == 2500
    assert peak < points.nbytes / 4


def test_a_mixed_table_too_long_for_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "leaves.csv"
    path.write_text("id,x,y\na,0,0\nb,0,0\na,1,1\n")
    monkeypatch.setattr(table_shapes, "MAX_BYTES", 10)
    check_refused(r"leaves\.csv: a table of .* do not stand together.*sort it", sx.read, path)


# Line ends, characters of one to four bytes, what only str.splitlines takes for line ends, a mark inside the text.
CHARACTERS = st.text(st.sampled_from('a1 _"\r\n\x0b\x85\u2028\ufeffü€𝄞'), max_size=40)


@given(
    text=CHARACTERS,
    encoding=ENCODINGS,
    n_bytes=st.integers(3, 20),
    n_packed=st.none() | st.integers(0, 40),
    keeps_line_ends=st.booleans(),
)
def test_blocks_make_up_the_text(tmp_path_factory, text, encoding, n_bytes, n_packed, keeps_line_ends):
    content = text.encode(encoding, errors="replace")
    # Text without a mark is UTF-8 where it can be.
    as_read = content.decode("utf-16") if encoding == "utf-16" else None
    if as_read is None:
        try:
            as_read = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            as_read = content.decode("latin-1")
    path = tmp_path_factory.getbasetemp() / "blocks.txt"
    if n_packed is not None:
        content = gzip.compress(content[:n_packed], 1) + b"\0" * (n_packed % 5) + gzip.compress(content[n_packed:], 1)
    path.write_bytes(content)
    with small_parts(n_bytes):
        opened = open_text(path)
        found = list(opened.blocks(keeps_line_ends=keeps_line_ends))
    assert opened.n_characters == len(as_read)
    assert "".join(found) == (as_read if keeps_line_ends else as_read.replace("\r\n", "\n").replace("\r", "\n"))
    assert all(block.endswith(("\n", "\r") if keeps_line_ends else "\n") for block in found[:-1])
    assert not any(first.endswith("\r") and second.startswith("\n") for first, second in pairwise(found))
    assert all(found)


def test_a_file_that_changes_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\n" * 10)
    opened = open_text(path)
    path.write_bytes(b"a\n\xff\n")
    check_refused("changed while it was read", lambda: list(opened.blocks()))


def test_a_line_too_long_for_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("a\n" + "b" * 50)
    monkeypatch.setattr(text_file, "MAX_BYTES", 40)
    with small_parts(8):
        check_refused("a line of more than 40 characters", lambda: list(open_text(path).blocks()))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"ab\0cd", "zero byte"),
        (b"\xff\xfea\0b", "UTF-16"),
        (gzip.compress(b"ab\n" * 90)[:-20], "cut off|damaged"),
        (gzip.compress(b"\0" * (80 << 20), 1), "swells"),
    ],
    ids=["zero", "utf-16", "cut", "bomb"],
)
def test_what_is_no_text(tmp_path, content, words):
    (tmp_path / "a.txt").write_bytes(content)
    check_refused(words, open_text, tmp_path / "a.txt")
    check_refused("regular file", open_text, tmp_path)
