"""Sets that are read in pieces: the same as sets in memory, whatever the files, and nothing left behind."""

import functools
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import ShapeFileError, SkippedRecordsWarning
from shapelex.io import parts as parts_module
from shapelex.io import stored_shapes
from shapelex.io.parts import AssembledShapes
from shapelex.io.read import read_to, sum_up
from shapelex.io.records import Remark
from shapelex.io.registry import FORMATS
from shapelex.shapes import storage
from shapelex.shapes.set import join_blocks


def tps(n_points=3, key="", bad=False):
    lines = "".join(f"{x} {x * x}\n" for x in range(n_points))
    return f"LM={n_points + bad}\n{lines}ID=s{n_points}\n{key}"


def outline(n_points, closed=True):
    z = np.exp(2j * np.pi * np.arange(n_points) / n_points)
    lines = "".join(f"{x} {y}\n" for x, y in zip(z.real, z.imag, strict=True))
    return f"LM=0\n{'OUTLINES' if closed else 'CURVES'}=1\nPOINTS={n_points}\n{lines}ID=leaf\n"


def read_parts(paths, folder, **options):
    folder.mkdir()
    return read_to(paths, folder, **options)


def spooled(paths, folder, **options):
    """Read a set piece by piece, and put the pieces together."""
    found = read_parts(paths, folder / "spool", limit=0, **options)
    assert isinstance(found, AssembledShapes)
    blocks = list(found.blocks())
    assert found.shape == (sum(map(len, blocks)), found.space.n_coordinates)
    whole = join_blocks(blocks)
    for block in blocks:
        for name, column in block.metadata.items():
            assert found.column_types[f"metadata:{name}"].kind == column.dtype.kind == whole.metadata[name].dtype.kind
    return whole


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parts_module, "_BATCH_RECORDS", 3)


values = st.one_of(
    st.none(), st.integers(-5, 5), st.integers(2**52, 2**64), st.floats(-9, 9), st.sampled_from(["a", "1", "", "é x"])
)


@given(
    tables=st.lists(
        st.tuples(
            st.lists(st.fixed_dictionaries({"scale": values, "frame": st.integers(0, 9)}), min_size=1, max_size=5),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_pieces_equal_the_set_in_memory(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pieces")
    for number, (rows, has_worms) in enumerate(tables):
        names = ["id", "note", "frame", *(["sequence"] if has_worms else [])]
        lines = [",".join([*names, "x1,y1,x2,y2,x3,y3"])]
        for row, told in enumerate(rows):
            cells = [f"{number}-{row}", "" if told["scale"] is None else str(told["scale"]), str(told["frame"])]
            lines.append(",".join([*cells, *([str(row % 2)] if has_worms else []), f"0,0,1,0,{row}.5,1"]))
        (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")
    files = sorted(folder.glob("*.csv"))
    check_same(files, folder)


def check_same(files, folder):
    """Check that files make up the same set in memory and on disk, or none for the same reason."""
    try:
        expected, reason = sx.read(files), ""
    except ShapeFileError as error:
        expected, reason = None, str(error)
    if expected is None:
        assert "correct the column" in reason
        with pytest.raises(ShapeFileError) as caught:
            spooled(files, folder)
        assert str(caught.value) == reason
        return
    found = spooled(files, folder)
    assert found.equals(expected)
    assert (found.notes, found.provenance) == (expected.notes, expected.provenance)
    for name, column in expected.metadata.items():
        assert found.metadata[name].dtype == column.dtype


@pytest.mark.parametrize(
    "options",
    [{"n_points": 7}, {"space": sx.BSpline(6)}, {"space": sx.HermiteSpline(4)}, {"n_points": 5, "closed": True}],
)
def test_outlines_of_any_lengths(tmp_path, options):
    (tmp_path / "a.tps").write_text("".join(outline(n) for n in (6, 9, 200, 12, 30)))
    (tmp_path / "b.tps").write_text(outline(77))
    found = spooled(tmp_path / "*.tps", tmp_path, **options)
    expected = sx.read(tmp_path / "*.tps", **options)
    assert found.equals(expected)
    assert found.notes == expected.notes


def test_sets_and_records_of_several_files(tmp_path):
    rng = np.random.default_rng(0)
    ready = sx.ShapeSet(
        rng.normal(size=(5, 3, 2)), ids=list("abcde"), labels=list("xxyyx"), sequence=[0, 0, -1, 1, 1],
        metadata={"weight": np.arange(5) / 2, "old": [True] * 5},
    )  # fmt: skip
    sx.write(ready, tmp_path / "a.npz")
    sx.write(ready[:2], tmp_path / "b.npz")
    (tmp_path / "c.tps").write_text(tps() * 4)
    found = spooled([tmp_path / name for name in ("a.npz", "b.npz", "c.tps")], tmp_path)
    assert found.ids.tolist() == [*"abcde", "a", "b", *["s3"] * 4]
    assert found.labels.tolist() == [*"xxyyx", "x", "x", *[""] * 4]
    np.testing.assert_array_equal(found.configurations[:5], ready.configurations)
    np.testing.assert_array_equal(found.metadata["weight"], [0, 0.5, 1, 1.5, 2, 0, 0.5, *[np.nan] * 4])
    # Series of different files keep apart.
    assert found.sequence.tolist() == [0, 0, -1, 1, 1, 2, 2, *[-1] * 4]
    assert [path[-5:] for path in found.metadata["file"]] == ["a.npz"] * 5 + ["b.npz"] * 2 + ["c.tps"] * 4


@pytest.mark.filterwarnings("ignore::shapelex.exceptions.SkippedRecordsWarning")
def test_a_file_that_is_damaged_further_on_is_left_out_whole(tmp_path, monkeypatch):
    good = "".join(tps(key=f"COMMENT={n}\n") for n in range(4))
    (tmp_path / "a.tps").write_text(good * 2)
    (tmp_path / "b.tps").write_text(good * 5)
    (tmp_path / "c.tps").write_text(good)

    known = FORMATS["tps"]
    read_records = known.reader

    @functools.wraps(read_records)
    def fail_late(path, **options):
        for number, record in enumerate(read_records(path, **options)):
            if path.name == "b.tps" and number == 17:
                raise ShapeFileError(f"{path}: the rest is damaged.")
            yield record

    monkeypatch.setitem(known.__dict__, "reader", fail_late)
    expected = sx.read(tmp_path / "*.tps", on_error="skip")
    found = spooled(tmp_path / "*.tps", tmp_path, on_error="skip")
    assert len(expected) == 12
    assert found.equals(expected)
    assert found.notes == expected.notes


def test_bad_records_are_skipped_and_told(tmp_path):
    (tmp_path / "a.tps").write_text(tps() * 4 + tps(bad=True) + tps() * 3)
    with pytest.warns(SkippedRecordsWarning, match="Left out 1 record"):
        found = spooled(tmp_path / "a.tps", tmp_path, on_error="skip")
    assert len(found) == 7
    assert any("left out" in note for note in found.notes)
    with pytest.raises(ShapeFileError, match="record 5"):
        read_parts(tmp_path / "a.tps", tmp_path / "again", limit=0)


@pytest.mark.parametrize(
    ("late", "message"),
    [
        (tps(4), r"numbers of points: 3 \(.*record 1.*\), 4 \(.*n_points=100"),
        (outline(3), "Some shapes are closed"),
    ],
)
def test_a_shape_unlike_the_others_in_a_later_piece(tmp_path, late, message):
    (tmp_path / "a.tps").write_text(tps() * 3 + late)
    with pytest.raises(ShapeFileError, match=message):
        read_parts(tmp_path / "a.tps", tmp_path / "spool", limit=0)


def test_memory_stays_flat(tmp_path, monkeypatch):
    monkeypatch.setattr(parts_module, "_BATCH_RECORDS", 256)
    rng = np.random.default_rng(0)
    for number in range(40):
        np.save(tmp_path / f"{number:02}.npy", rng.normal(size=(1000, 50, 2)))
    n_bytes = 40 * 1000 * 50 * 16

    def peak(n_files):
        tracemalloc.start()
        try:
            found = read_parts(sorted(tmp_path.glob("*.npy"))[:n_files], tmp_path / f"spool{n_files}", limit=1 << 20)
            for _ in found.blocks():
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(40) < 1.2 * peak(10) < n_bytes / 4


def wide_set(n_points, **parts):
    return sx.ShapeSet(np.random.default_rng(n_points).normal(size=(6, n_points, 2)), **parts)


@pytest.mark.filterwarnings("ignore::shapelex.exceptions.SkippedRecordsWarning")
def test_nothing_of_a_file_that_is_left_out_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_shapes, "LARGE_BYTES", 1)
    monkeypatch.setattr(storage, "BLOCK_ROWS", 2)
    rows = wide_set(7).configurations.copy()
    rows[5, 0] = np.nan
    bad = sx.ShapeSet(
        rows, labels=list("abcabc"), sequence=[0, 0, 1, 1, 2, 2], metadata={"age": list("abcdef"), "only": range(6)},
        missing="allow", notes=["of the bad file"],
    )  # fmt: skip
    sx.write(bad, tmp_path / "a.npz")
    good = wide_set(5, sequence=[7] * 6, metadata={"age": np.arange(6)})
    good = good.replace(configurations=good.configurations.astype(np.complex64))
    sx.write(good, tmp_path / "b.npz")
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    expected, found = sx.read(files, on_error="skip"), spooled(files, tmp_path, on_error="skip")
    assert found.equals(expected)
    assert found.configurations.dtype == np.complex64
    assert found.notes == expected.notes
    assert found.labels is None


@pytest.mark.parametrize("n_rows", [3, 1000])
def test_shapes_that_make_no_set_are_no_bad_files(tmp_path, n_rows, monkeypatch):
    monkeypatch.setattr(parts_module, "_BATCH_RECORDS", n_rows)
    (tmp_path / "a.tps").write_text(tps(5) * 7)
    (tmp_path / "b.tps").write_text(tps(6) * 7)
    with pytest.raises(ShapeFileError, match="differ in their numbers of points"):
        spooled(tmp_path / "*.tps", tmp_path, on_error="skip")


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


@given(
    sets=st.lists(
        st.tuples(st.dictionaries(st.sampled_from(["p", "q"]), columns), st.none() | st.integers(0, 3)),
        min_size=1,
        max_size=4,
    )
)
def test_sets_keep_their_columns_as_in_memory(sets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    files, in_memory = [], []
    for number, (metadata, first) in enumerate(sets):
        series = None if first is None else [first, first + 2 * number]
        shapes = sx.ShapeSet(np.eye(2, 4) + 1j, sequence=series, metadata=metadata, provenance={"number": number})
        in_memory.append(shapes)
        files.append(sx.write(shapes, folder / f"{number}.npz"))
    check_same(files, folder)
    np.testing.assert_array_equal(sx.read(files).sequence, sx.ShapeSet.concatenate(in_memory).sequence)


def test_the_limit_is_that_of_what_shapes_become(tmp_path):
    (tmp_path / "a.tps").write_text(tps(4) * 20)
    assert isinstance(read_parts(tmp_path / "a.tps", tmp_path / "one", limit=40_000), sx.ShapeSet)
    found = read_parts(tmp_path / "a.tps", tmp_path / "two", limit=40_000, n_points=500)
    assert isinstance(found, AssembledShapes)


WORM = (
    '{"units": {"t": "s", "x": "mm", "y": "mm"}, "data": [{"id": "w", "t": [0, 1], "x": [[0, 1, 2], [0, 1, 2]], '
    '"y": [[0, 0, 1], [0, 1, 0]]}]}'
)


def test_mixed_files_have_the_same_columns_in_memory_and_on_disk(tmp_path):
    (tmp_path / "a.tps").write_text(tps() * 4)
    (tmp_path / "b.wcon").write_text(WORM)
    sx.write(sx.ShapeSet([[0, 1, 2j]], metadata={"frame": [7], "age": [3]}), tmp_path / "c.npz")
    files = [tmp_path / name for name in ("a.tps", "b.wcon", "c.npz")]
    check_same(files, tmp_path)
    shapes = sx.read(files)
    assert [file[-5:] for file in shapes.metadata["file"]] == ["a.tps"] * 4 + [".wcon"] * 2 + ["c.npz"]
    assert shapes.metadata["frame"].tolist() == [-1, -1, -1, -1, 0, 1, 7]
    assert shapes.metadata["frame"].dtype == np.int64
    np.testing.assert_array_equal(shapes.metadata["age"], [np.nan] * 6 + [3])


def test_the_file_is_told_wherever_several_were_named(tmp_path):
    (tmp_path / "a.tps").write_text(tps())
    (tmp_path / "b.tps").write_text("LM=3\n0 0\n")
    with pytest.warns(SkippedRecordsWarning):
        shapes = sx.read([tmp_path / "a.tps", tmp_path / "b.tps"], on_error="skip")
    assert shapes.metadata["file"].tolist() == [str(tmp_path / "a.tps")]


@pytest.mark.parametrize("n_records", [3, 1000])
def test_numbers_and_text_in_one_column_whatever_the_parts(tmp_path, monkeypatch, n_records):
    monkeypatch.setattr(parts_module, "_BATCH_RECORDS", n_records)
    lines = [f"{row},0,0,1,0,{row}.5,1,{'unknown' if row == 5 else row}" for row in range(6)]
    (tmp_path / "a.csv").write_text("id,x1,y1,x2,y2,x3,y3,site\n" + "\n".join(lines[:3]) + "\n")
    (tmp_path / "b.csv").write_text("id,x1,y1,x2,y2,x3,y3,site\n" + "\n".join(lines[3:]) + "\n")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    shapes = sx.read(files)
    assert shapes.metadata["site"].tolist() == ["0", "1", "2", "3", "4", "unknown"]
    assert "The column 'site' holds numbers and text, so all its entries are text." in shapes.notes
    check_same(files, tmp_path)


def test_a_file_named_twice_is_read_once(tmp_path):
    (tmp_path / "a.tps").write_text(tps())
    shapes = sx.read([tmp_path, tmp_path / "a.tps"])
    assert len(shapes) == 1
    assert "named several times, but read once: a.tps" in shapes.notes


def test_missing_landmarks_of_another_number_are_a_bad_record(tmp_path):
    (tmp_path / "a.tps").write_text("LM=3\n0 0\nnan nan\n1 1\nLM=4\n0 0\n1 0\n1 1\n0 1\n")
    with pytest.warns(SkippedRecordsWarning, match="neither resampled nor fitted"):
        shapes = sx.read(tmp_path / "a.tps", space=sx.Landmarks(4), missing="allow", on_error="skip")
    assert len(shapes) == 1


def test_the_start_point_of_an_open_curve_is_not_registered(tmp_path):
    outlines = np.exp(2j * np.pi * np.arange(9) / 9) * (1 + 0.1 * np.arange(9)) + 0.01 * np.arange(4)[:, None] ** 2
    shapes = sx.OutlineRegistration().fit_transform(sx.ShapeSet(outlines, sx.Landmarks(9, closed=True)))
    sx.write(shapes, tmp_path / "a.npz")
    assert sx.read(tmp_path / "a.npz").preparation.is_registered
    assert not sx.read(tmp_path / "a.npz", closed=False).preparation.is_registered


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
def test_entries_that_are_absent_in_some_files(tmp_path, first, second, expected):
    files = []
    for name, values in (("a", first), ("b", second)):
        metadata = {} if values is None else {"value": np.array(values)}
        files.append(sx.write(sx.ShapeSet(np.eye(2, 3) + 1j, metadata=metadata), tmp_path / f"{name}.npz"))
    check_same(files, tmp_path)
    np.testing.assert_array_equal(sx.read(files).metadata["value"], expected)


def test_remarks_of_many_files_are_added_up():
    remarks = [
        (Path("a.tif"), Remark("the image", "1 object left out: below 5 % of the median area (3 pixels).")),
        (Path("b.tif"), Remark("the image", "4 objects left out: below 5 % of the median area (3 pixels).")),
        (Path("a.tps"), Remark("3 of 20 records", "their curves were left out.")),
        (Path("b.tps"), Remark("1 of 10 records", "their curves were left out.")),
        (Path("c.tps"), Remark("all records", "one.")),
        (Path("d.tps"), Remark("all records", "one.")),
        (Path("e.tps"), Remark("2 of 3 records", "other.")),
    ]
    assert sum_up(remarks) == [
        "a.tif and 1 more file, the image: 5 objects left out: below 5 % of the median area (3 pixels).",
        "a.tps and 1 more file, 4 of 30 records: their curves were left out.",
        "c.tps and 1 more file, all records: one.",
        "e.tps, 2 of 3 records: other.",
    ]
