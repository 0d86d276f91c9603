"""Sets that are read in pieces: the same as sets in memory, whatever the files, and nothing left behind."""

import functools
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from shapelex.io import parts as parts_module
from shapelex.io import stored_shapes
from shapelex.io.read import read_to, sum_up
from shapelex.io.records import Remark
from shapelex.io.registry import FORMATS
from shapelex.shapes import storage
from shapelex.shapes.set import join_blocks
from tests.io.conftest import check_refused, check_set, circle, notes_of, outline

skips = pytest.mark.filterwarnings("ignore::shapelex.exceptions.SkippedRecordsWarning")


def tps(n_points=3, key="", bad=False):
    lines = "".join(f"{x} {x * x}\n" for x in range(n_points))
    return f"LM={n_points + bad}\n{lines}ID=s{n_points}\n{key}"


def read_parts(paths, folder, **options):
    folder.mkdir()
    return read_to(paths, folder, **options)


def spooled(paths, folder, **options):
    """Read a set piece by piece, and put the pieces together."""
    found = read_parts(paths, folder / "spool", limit=0, **options)
    assert not found.in_memory
    blocks = list(found.blocks())
    assert found.shape == (sum(map(len, blocks)), found.space.n_coordinates)
    whole = join_blocks(blocks)
    for block in blocks:
        for name, column in block.metadata.items():
            assert found.column_types[f"metadata:{name}"].kind == column.dtype.kind == whole.metadata[name].dtype.kind
    return whole


def read_both(paths, folder, **options):
    """Check that files make up the same set in memory and on disk, and return it."""
    expected, found = sx.read(paths, **options), spooled(paths, folder, **options)
    assert found.equals(expected)
    assert (found.notes, found.provenance) == (expected.notes, expected.provenance)
    for name, column in expected.metadata.items():
        assert found.metadata[name].dtype == column.dtype
    return expected


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parts_module, "_BATCH_RECORDS", 3)


values = st.one_of(
    st.none(), st.integers(-5, 5), st.integers(2**52, 2**64), st.floats(-9, 9), st.sampled_from(["a", "1", "", "é x"])
)
rows = st.lists(st.tuples(values, st.integers(0, 9)), min_size=1, max_size=5)


@given(tables=st.lists(st.tuples(rows, st.booleans()), min_size=1, max_size=4))
def test_pieces_equal_the_set_in_memory(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pieces")
    for number, (rows, has_worms) in enumerate(tables):
        lines = [f"id,note,frame,{'sequence,' * has_worms}x1,y1,x2,y2,x3,y3"]
        for row, (note, frame) in enumerate(rows):
            worm = f"{row % 2}," * has_worms
            lines.append(f"{number}-{row},{'' if note is None else note},{frame},{worm}0,0,1,0,{row}.5,1")
        (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")
    files = sorted(folder.glob("*.csv"))
    reason = ""
    try:
        sx.read(files)
    except ShapeFileError as error:
        reason = str(error)
    if not reason:
        read_both(files, folder)
        return
    assert "correct the column" in reason
    check_refused(re.escape(reason), spooled, files, folder)


columns = st.sampled_from(
    [
        np.array([True, False]),
        np.arange(2, dtype=np.uint8),
        np.arange(2),
        np.array([0.25, np.nan], dtype=np.float32),
        np.array([0.1, 2]),
        np.array([1j, 0.1 + 2j]),
        np.array(["a", "long text"]),
    ]
)
parts_of_sets = st.tuples(st.dictionaries(st.sampled_from(["p", "q"]), columns), st.none() | st.integers(0, 3))


@given(sets=st.lists(parts_of_sets, min_size=1, max_size=4))
def test_sets_keep_their_columns_as_in_memory(sets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    files, in_memory = [], []
    for number, (metadata, first) in enumerate(sets):
        series = None if first is None else [first, first + 2 * number]
        in_memory.append(
            sx.ShapeSet(np.eye(2, 4) + 1j, sequence=series, metadata=metadata, provenance={"number": number})
        )
        files.append(sx.write(in_memory[-1], folder / f"{number}.npz"))
    np.testing.assert_array_equal(read_both(files, folder).sequence, sx.ShapeSet.concatenate(in_memory).sequence)


@pytest.mark.parametrize(
    "options",
    [{"n_points": 7}, {"space": sx.BSpline(6)}, {"space": sx.HermiteSpline(4)}, {"n_points": 5, "closed": True}],
)
def test_outlines_of_any_lengths(tmp_path, options):
    (tmp_path / "a.tps").write_text("".join(outline(circle(n)) for n in (6, 9, 200, 12, 30)))
    (tmp_path / "b.tps").write_text(outline(circle(77)))
    read_both(tmp_path / "*.tps", tmp_path, **options)


WORM = (
    '{"units": {"t": "s", "x": "mm", "y": "mm"}, "data": [{"id": "w", "t": [0, 1], "x": [[0, 1, 2], [0, 1, 2]], '
    '"y": [[0, 0, 1], [0, 1, 0]]}]}'
)


def test_sets_and_records_of_several_files(tmp_path):
    ready = sx.ShapeSet(
        np.random.default_rng(0).normal(size=(5, 3, 2)), ids=list("abcde"), labels=list("xxyyx"),
        sequence=[0, 0, -1, 1, 1], metadata={"age": np.arange(5) / 2, "old": [True] * 5, "frame": range(5)},
    )  # fmt: skip
    sx.write(ready, tmp_path / "a.npz")
    sx.write(ready[:2], tmp_path / "b.npz")
    (tmp_path / "c.tps").write_text(tps() * 4)
    (tmp_path / "d.wcon").write_text(WORM)
    found = read_both([tmp_path / name for name in ("a.npz", "b.npz", "c.tps", "d.wcon")], tmp_path)
    first = ["a/a", "a/b", "c", "d", "e", "b/a", "b/b", "s3", "s3:2", "s3:3", "s3:4"]
    assert found.ids[:11].tolist() == first
    assert found.metadata["given_id"][:11].tolist() == [*"abcde", "a", "b", *["s3"] * 4]
    assert len(set(found.ids.tolist())) == len(found)
    assert found.labels.tolist() == [*"xxyyx", "x", "x", *[""] * 6]
    np.testing.assert_array_equal(found.configurations[:5], ready.configurations)
    np.testing.assert_array_equal(found.metadata["age"], [0, 0.5, 1, 1.5, 2, 0, 0.5, *[np.nan] * 6])
    # Series of different files keep apart.
    check_set(found, sequence=[0, 0, -1, 1, 1, 2, 2, *[-1] * 4, 3, 3], frame=[0, 1, 2, 3, 4, 0, 1, *[-1] * 4, 0, 1])
    assert found.metadata["frame"].dtype == np.int64
    names = [Path(path).name for path in found.metadata["file"]]
    assert names == ["a.npz"] * 5 + ["b.npz"] * 2 + ["c.tps"] * 4 + ["d.wcon"] * 2


@skips
def test_a_file_that_is_damaged_further_on_is_left_out_whole(tmp_path, monkeypatch):
    good = "".join(tps(key=f"COMMENT={n}\n") for n in range(4))
    for name, n_copies in (("a.tps", 2), ("b.tps", 5), ("c.tps", 1)):
        (tmp_path / name).write_text(good * n_copies)
    read_records = FORMATS["tps"].reader

    @functools.wraps(read_records)
    def fail_late(path, **options):
        for number, record in enumerate(read_records(path, **options)):
            if path.name == "b.tps" and number == 17:
                raise ShapeFileError(f"{path}: the rest is damaged.")
            yield record

    monkeypatch.setitem(FORMATS["tps"].__dict__, "reader", fail_late)
    assert len(read_both(tmp_path / "*.tps", tmp_path, on_error="skip")) == 12


@skips
def test_nothing_of_a_file_that_is_left_out_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_shapes, "LARGE_BYTES", 1)
    monkeypatch.setattr(storage, "BLOCK_ROWS", 2)
    rows = np.random.default_rng(7).normal(size=(6, 7, 2)) @ [1, 1j]
    rows[5, 0] = np.nan
    bad = sx.ShapeSet(
        rows, labels=list("abcabc"), sequence=[0, 0, 1, 1, 2, 2], metadata={"age": list("abcdef"), "only": range(6)},
        missing="allow", notes=["of the bad file"],
    )  # fmt: skip
    good = sx.ShapeSet(rows[:, 1:6].astype(np.complex64), sequence=[7] * 6, metadata={"age": np.arange(6)})
    files = [sx.write(bad, tmp_path / "a.npz"), sx.write(good, tmp_path / "b.npz")]
    found = read_both(files, tmp_path, on_error="skip")
    assert found.configurations.dtype == np.complex64
    assert found.labels is None


@skips
def test_bad_records_are_skipped_and_told(tmp_path):
    (tmp_path / "a.tps").write_text(tps() * 4 + tps(bad=True) + tps() * 3)
    found = read_both(tmp_path / "a.tps", tmp_path, on_error="skip")
    assert len(found) == 7
    assert "left out" in notes_of(found)
    check_refused("record 5", read_parts, tmp_path / "a.tps", tmp_path / "again", limit=0)


@pytest.mark.parametrize(
    ("late", "message"),
    [
        (tps(4), r"numbers of points: 3 \(.*, 4 \(.*n_points=100"),
        (outline(circle(3)), "Some shapes are closed"),
    ],
)
@pytest.mark.parametrize("n_records", [3, 1000])
def test_a_shape_unlike_the_others_makes_no_set_and_is_no_bad_file(tmp_path, monkeypatch, n_records, late, message):
    monkeypatch.setattr(parts_module, "_BATCH_RECORDS", n_records)
    (tmp_path / "a.tps").write_text(tps() * 3)
    (tmp_path / "b.tps").write_text(late)
    check_refused(message, spooled, tmp_path / "*.tps", tmp_path, on_error="skip")


def test_memory_stays_flat(tmp_path, monkeypatch):
    monkeypatch.setattr(parts_module, "_BATCH_RECORDS", 64)
    rows = np.random.default_rng(0).normal(size=(250, 50, 2))
    for number in range(40):
        np.save(tmp_path / f"{number:02}.npy", rows)

    def peak(n_files):
        tracemalloc.start()
        try:
            found = read_parts(sorted(tmp_path.glob("*.npy"))[:n_files], tmp_path / f"spool{n_files}", limit=1 << 18)
            for _ in found.blocks():
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    small, large = peak(10), peak(40)
    assert small < 40 * 250 * 50 * 16 / 4
    # The ids are compared with each other: some bytes for each shape, whose points take 800.
    assert large - small < 30 * 250 * 80


def test_the_limit_is_that_of_what_shapes_become(tmp_path):
    (tmp_path / "a.tps").write_text(tps(4) * 20)
    assert read_parts(tmp_path / "a.tps", tmp_path / "one", limit=40_000).in_memory
    found = read_parts(tmp_path / "a.tps", tmp_path / "two", limit=40_000, n_points=500)
    assert not found.in_memory


@pytest.mark.parametrize("n_records", [1, 3, 1000])
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2], None, [1.0, 2.0, np.nan, np.nan]),
        ([2**60, 2], None, [str(2**60), "2", "", ""]),
        ([2**60, 2], [0.5, np.nan], [str(2**60), "2", "0.5", ""]),
        ([1, 2], ["x", ""], ["1", "2", "x", ""]),
        ([0.1, 2.0], ["x", ""], ["0.1", "2", "x", ""]),
        ([True, False], None, ["True", "False", "", ""]),
        ([True, False], ["yes", ""], ["True", "False", "yes", ""]),
        ([1, 2], ["", ""], [1.0, 2.0, np.nan, np.nan]),
        (["", ""], [1, 2], [np.nan, np.nan, 1.0, 2.0]),
        (["", ""], None, ["", "", "", ""]),
        ([1, 2], [0.5, np.nan], [1.0, 2.0, 0.5, np.nan]),
    ],
)
def test_entries_that_are_absent_in_some_files(tmp_path, monkeypatch, n_records, first, second, expected):
    monkeypatch.setattr(parts_module, "_BATCH_RECORDS", n_records)
    rows = np.eye(2, 3) + 1j
    sets = [sx.ShapeSet(rows, metadata={} if one is None else {"value": np.array(one)}) for one in (first, second)]
    files = [sx.write(one, tmp_path / f"{number}.npz") for number, one in enumerate(sets)]
    found = read_both(files, tmp_path)
    np.testing.assert_array_equal(found.metadata["value"], expected)
    is_told = "The column 'value' holds numbers and text, so all its entries are text." in found.notes
    assert is_told == (second in (["x", ""], ["yes", ""]))


def test_remarks_of_many_files_are_added_up():
    remarks = [
        ("a.tif", "the image", "1 object left out: below 5 % of the median area (3 pixels)."),
        ("b.tif", "the image", "4 objects left out: below 5 % of the median area (3 pixels)."),
        ("a.tps", "3 of 20 records", "their curves were left out."),
        ("b.tps", "1 of 10 records", "their curves were left out."),
        ("c.tps", "all records", "one."),
        ("d.tps", "all records", "one."),
        ("e.tps", "2 of 3 records", "other."),
    ]
    assert sum_up((Path(name), Remark(where, text)) for name, where, text in remarks) == [
        "a.tif and 1 more file, the image: 5 objects left out: below 5 % of the median area (3 pixels).",
        "a.tps and 1 more file, 4 of 30 records: their curves were left out.",
        "c.tps and 1 more file, all records: one.",
        "e.tps, 2 of 3 records: other.",
    ]
