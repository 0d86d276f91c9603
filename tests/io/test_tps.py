"""TPS files: the traps that real ones hold, and records that are damaged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import ParameterError, SkippedRecordsWarning
from tests.io.conftest import check_refused, check_set

FILE = "wings.tps"
PLAIN = "LM=3\n0 0\n1 0\n0 1\nIMAGE=left.jpg\nID=wing 1\nSCALE=0.5\n"
CURVED = "LM=2\n0 0\n1 0\nCURVES=2\nPOINTS=2\n2 2\n3 3\nPOINTS=1\n4 4\nID=1\n"
OUTLINE = "LM=0\nOUTLINES=1\nPOINTS=4\n0 0\n1 0\n1 1\n0 1\nIMAGE=leaf.png\n"


@pytest.mark.parametrize(
    "variant",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\ufeff" + PLAIN,
        PLAIN.encode("utf-16"),
        PLAIN.lower(),
        "# digitized twice\n\n" + PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace("1\n", "1\n\n").replace(".jpg", ".jpg\n\n"),
        PLAIN.replace("0 0", "  0.0\t0e0  "),
        PLAIN.replace("=", " = "),
        PLAIN.replace("ID=wing 1", "ID=wing 1 "),
    ],
)
def test_variants(read, variant):
    shapes = read(variant, "WINGS.TPS")
    check_set(shapes, [[0, 0.5, 0.5j]], space=sx.Landmarks(3), ids=["wing 1"])
    known = {"image": ["left.jpg"], "applied_scale": [0.5]}
    assert {key: column.tolist() for key, column in shapes.metadata.items()} == known
    assert shapes.provenance["formats"] == read(PLAIN, "wings.txt").provenance["formats"] == ["tps"]


@pytest.mark.parametrize(
    ("text", "options", "points"),
    [
        ("LM=3\n0 0\n-1 5\n2 -3\n", {}, [0, -1 + 5j, 2 - 3j]),
        ("LM=3\n0 0\n-1 5\n2 -3\n", {"missing": "negative"}, [0, np.nan, np.nan]),
        ("LM=3\n1,5 2\n0 1,25\n. .\n", {"missing": "allow"}, [1.5 + 2j, 1.25j, np.nan]),
        (PLAIN, {}, [0, 0.5, 0.5j]),
        (PLAIN, {"scale": "drop"}, [0, 0.5, 0.5j]),
        (PLAIN, {"scale": "ignore"}, [0, 1, 1j]),
        (CURVED, {}, [0, 1]),
        (CURVED, {"curves": "ignore"}, [0, 1]),
        (CURVED, {"curves": "append"}, [0, 1, 2 + 2j, 3 + 3j, 4 + 4j]),
        (CURVED, {"curves": "only"}, [2 + 2j, 3 + 3j, 4 + 4j]),
        (OUTLINE, {}, [0, 1, 1 + 1j, 1j]),
    ],
)
def test_points(read, text, options, points):
    shapes = read(text, **options)
    is_missing = np.isnan(points)
    np.testing.assert_array_equal(shapes.is_missing, [is_missing])
    np.testing.assert_array_equal(shapes.configurations[0][~is_missing], np.array(points)[~is_missing])
    assert shapes.closed == (text == OUTLINE)
    leaves_out = text == CURVED and options.get("curves") in (None, "ignore")
    assert ("ignored_curve_points" in shapes.metadata) == leaves_out
    assert sum("1 of 1 records" in note and "curves=append" in note for note in shapes.notes) == leaves_out


def test_keys_and_comments(read):
    shapes = read(PLAIN + "COMMENT=torn = bad\nVARIABLES=sex:f\nTEMP=21.5\nCOMMENT=two\nID=wing 1\n")
    check_set(shapes, ids=["wing 1"], comment=["torn = bad; two"], variables=["sex:f"], temp=[21.5])


def test_scale_of_every_record_is_applied_and_that_of_some_is_refused(read, tmp_path):
    (note,) = read(PLAIN + PLAIN.replace("wing 1", "wing 2")).notes
    assert "2 of 2 records: their coordinates were multiplied by SCALE" in note
    assert "scale=ignore" in note
    for other in ("SCALE=\n", "SCALE=0\n", "SCALE=-1\n", "SCALE=nan\n", "SCALE=two\n", ""):
        text = PLAIN + PLAIN.replace("SCALE=0.5\n", other).replace("wing 1", "wing 2")
        words = '1 of its 2 records .*first without is record 2.*scale="drop".*scale="ignore"'
        check_refused(words, read, text)
        check_refused(words, read, text, on_error="skip")
        kept = read(text, scale="drop")
        check_set(kept, [[0, 0.5, 0.5j]], ids=["wing 1"], applied_scale=[0.5])
        assert "1 of 2 records: left out, since they have no positive SCALE" in kept.notes[0]
        plain = read(text, scale="ignore")
        check_set(plain, [[0, 1, 1j]] * 2, ids=["wing 1", "wing 2"])
        assert plain.metadata["scale"][0] == 0.5
        assert "of 2 records: their SCALE was not applied" in plain.notes[0]
    check_refused("no record with a positive SCALE", read, PLAIN.replace("SCALE=0.5\n", ""), scale="drop")
    check_refused(
        "scale must be one of 'auto', 'ignore', 'drop', got True", read, PLAIN, error=ParameterError, scale=True
    )


def test_files_with_and_without_a_scale_are_not_mixed(tmp_path):
    (tmp_path / "a.tps").write_text(PLAIN)
    (tmp_path / "b.tps").write_text(PLAIN.replace("SCALE=0.5\n", ""))
    words = 'a.tps are in the unit of SCALE, those of .*b.tps in pixels.*scale="drop".*scale="ignore"'
    check_refused(words, sx.read, tmp_path)
    check_refused(words, sx.read, tmp_path, on_error="skip")
    check_set(sx.read(tmp_path, scale="ignore"), [[0, 1, 1j]] * 2)
    with pytest.warns(SkippedRecordsWarning, match="b.tps.*no record with a positive SCALE"):
        check_set(sx.read(tmp_path, scale="drop", on_error="skip"), [[0, 0.5, 0.5j]])


def test_curves_left_out_of_some_records_are_counted(read):
    with pytest.warns(SkippedRecordsWarning):
        (*_, note) = read("LM=2\n0 0\n1 0\n" + CURVED * 2 + "LM=2\n0 0\n1 x\n", on_error="skip").notes
    assert "2 of 3 records: their curves or outlines were left out" in note
    (note,) = read("LM=2\n0 0\n1 0\nRADII=2\n0.5\n0.25\n").notes
    assert "1 of 1 records: their RADII were left out" in note


@pytest.mark.parametrize(
    ("record", "line", "words"),
    [
        ("LM=3\n0 0\n1 0\nID=1\n", 11, "expected x and y of point 3 of 3, found only 2 points"),
        ("LM=2\n0 0\n1 x\nID=1\n", 10, "expected x and y of point 2 of 2, found '1 x'"),
        ("LM=2\n0 0\n1 2 3\nID=1\n", 10, "found '1 2 3'"),
        ("LM=2\n0 0\n1e999 2\nID=1\n", 10, "found '1e999 2'"),
        ("LM=2\n0 0\n1_0 2\nID=1\n", 10, "found '1_0 2'"),
        ("LM=2\n\u0661 1\n2 3\n", 9, "expected x and y of point 1 of 2"),
        ("LM=2\n0.5 1.5\n2.5 1,536\n", 10, "expected x and y of point 2 of 2, found '2.5 1,536'"),
        ("LM=2\n0 0\n1 1\n2 2\n", 11, "expected a key such as IMAGE= or ID=, found '2 2'"),
        ("LM=2\n0 0\n1 1\n\xa0LM=2\n0 0\n1 1\n", 11, "expected a key such as IMAGE= or ID=, found 'LM=2'"),
        ("LM=two\n0 0\n", 8, "'two' is no number of landmarks"),
        ("LM=0_2\n0 1\n2 3\n", 8, "'0_2' is no number of landmarks"),
        ("LM=\u0662\n0 1\n2 3\n", 8, "is no number of landmarks"),
        ("LM=-2\n0 0\n", 8, "-2 landmarks are declared"),
        ("LM=999999999999\n0 0\n", 8, "999999999999 landmarks are declared, but there is room for at most 2"),
        ("LM=2\n0 0\n1 1\nCURVES=1\nPOINTS=9\n0 0\n", 12, "9 points are declared"),
        ("LM=0\n", 8, "it holds no landmarks"),
        ("LM3=2\n0 0 0\n1 1 1\n", 8, "LM3 holds points in space"),
        ("LM=2\n0 1\n2 3\nID=b\nID=c\n", 12, "a second line ID="),
        ("LM=2\n0 1\n2 3\nSCALE=1\nSCALE=2\n", 12, "a second line SCALE="),
    ],
)
def test_bad_records_are_named_and_stepped_over(check_bad_record, record, line, words):
    check_bad_record(PLAIN + record + PLAIN, 2, rf"wings\.tps, record 2, line {line}: .*{words}")


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        *((CURVED + CURVED.replace("CURVES=2", f"CURVES={count}"), {}, f"line 14: {count} curves are declared, 2 are")
          for count in (1, 3)),
        (OUTLINE, {"curves": "ignore"}, "it holds no landmarks"),
        (OUTLINE + "LM=4\n0 0\n1 1\n2 2\n3 0\n", {}, r"Some shapes are closed .*record 1.*others .*record 2.*closed=T"),
        ("LM=2\n1,536 2.5\n0.5 1.5\n", {}, "expected x and y of point 1 of 2, found '1,536 2.5'"),
        ("LM=2\n0.5 1.5\n2 3\nLM=2\n1,536 2,048\n0 1\n", {}, "as in the records before, found '1,536 2,048'"),
        ("LM=2\n0,5 1,5\n2 3\nLM=2\n1.536 2.048\n0 1\n", {}, "as in the records before, found '1.536 2.048'"),
        ("LM=3\n1.5 2\n3 1\n1 1\nSCALE=1,536\nID=a\n", {}, "line 5: .* found '1,536'"),
        ("LM=3\n1,5 2\n3 1\n1 1\nSCALE=1.536\nID=a\n", {}, "line 5: .* found '1.536'"),
    ],
)  # fmt: skip
def test_refused(read, text, options, words):
    check_refused(words, read, text, **options)


def test_a_record_too_long_for_memory_is_refused(read, monkeypatch):
    monkeypatch.setattr("shapelex.io.formats.tps.MAX_BYTES", 100)
    check_refused("more than 100 characters", read, "LM=2\n" + "0 0\n" * 50)


class TestRoundTrip:
    def test_values_keep_their_kinds(self, tmp_path):
        metadata = {
            "clone": ["1e5", "12", "007"],
            "kind": ["True", "nan", '"1"'],
            "note": ['"torn"', '"', "-"],
            "height": [1.0, 2.5, np.nan],
            "leg": [1, 2, 3],
            "is_torn": [True, False, True],
            "scale": [0.5, 1.0, 2.0],
            "points3": ["a", "b", "c"],
            "x" * 90: [4, 5, 6],
        }
        shapes = sx.ShapeSet([[0, 1, 1j]] * 3, ids=["1", "02", "c d"], labels=["3", "", '"4"'], metadata=metadata)
        copy = sx.read(sx.write(shapes, tmp_path / "a.tps"), scale="ignore")
        check_set(copy, ids=shapes.ids.tolist(), labels=shapes.labels.tolist())
        renamed = {"points3": "x_points3", "x" * 90: "x" * 80}
        for name, column in shapes.metadata.items():
            found = copy.metadata[renamed.get(name, name)]
            assert found.dtype.kind == column.dtype.kind
            np.testing.assert_array_equal(found, column)

    def test_columns_that_would_share_a_key_are_refused(self, tmp_path):
        shapes = sx.ShapeSet([[0, 1, 1j]], metadata={"leg length": [1], "Leg_length": [2]})
        check_refused("the key LEG_LENGTH of a TPS file: rename 'Leg_length'", sx.write, shapes, tmp_path / "a.tps")

    def test_scale_is_applied_once(self, read, tmp_path):
        for points, scale in (("1.5 2", "."), ("1,5 2", ","), ("1 2", ","), ("1,5 2", ".")):
            shapes = read(f"LM=3\n{points}\n3 1\n1 1\nSCALE=0{scale}536\nID=a\n")
            assert shapes.metadata["applied_scale"].tolist() == [0.536]
        scaled = read(PLAIN)
        assert scaled.metadata["applied_scale"].tolist() == [0.5]
        copy = sx.write(scaled, tmp_path / "a.tps")
        assert sx.read(copy).equals(scaled)

    @given(value=st.text(st.sampled_from('01.e+-_"a TrueFalsnif'), min_size=1, max_size=8).map(str.strip).filter(bool))
    def test_any_text_stays_text(self, tmp_path_factory, value):
        shapes = sx.ShapeSet([[0, 1, 1j]], ids=["a"], metadata={"tree": [value]})
        path = tmp_path_factory.getbasetemp() / "texts.tps"
        copy = sx.read(sx.write(shapes, path, overwrite=True))
        assert copy.metadata["tree"].tolist() == [value]
