"""NTS and Morphologika files: planar ones are read, others refused with the reason."""

import numpy as np
import pytest

import shapelex as sx
from tests.io.conftest import check_refused, check_set

NTS = '"two wings\n1 2L 6 0 DIM=2\nleft right\n0 0 1 0 0 1\n0 0 2 0 0 2\n'
MORPHOLOGIKA = """[Individuals]
2
[landmarks]
3
[Dimensions]
2
[names]
left wing
right wing
[labels]
sex site
[labelvalues]
f 1
m 2
[groups]
bee 1 wasp 1
[rawpoints]
'#1
0 0
1 0
0 1
'#2
0 0
2.0	0
0 2
[wireframe]
1 2
"""
TRIANGLES = [[0, 1, 1j], [0, 2, 2j]]


class TestNts:
    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            (NTS, ["left", "right"]),
            (NTS.replace("2L 6", "2 6").replace("left right\n", ""), ["wings-1", "wings-2"]),
            (NTS.replace("2L 6", "2B 6").replace("left right\n", "left ").replace("\n0 0 2", "\nright 0 0 2"), None),
            (NTS.replace("2L 6", "2e 6").replace("left right\n", "").replace("0 1\n", "0 1 left\n") + "right\n", None),
            (NTS.replace("6 0", "6L 0").replace("left right\n", "left right\nx1 y1 x2 y2 x3 y3\n"), None),
            (NTS.replace("DIM", "dim").replace(" 0 1\n", "\n0 1\n"), None),
            ("'a remark\n\n" + NTS.replace("\n", "\r\n"), None),
        ],
    )
    def test_variants(self, read, text, ids):
        shapes = read(text, "wings.nts")
        np.testing.assert_array_equal(shapes.configurations, TRIANGLES)
        assert shapes.ids.tolist() == (ids or ["left", "right"])

    def test_missing(self, read):
        text = NTS.replace("6 0 DIM", "6 1 -999 DIM").replace("2 0", "-999 -999")
        assert read(text, "wings.nts", missing="allow").is_missing.tolist() == [[False] * 3, [False, True, False]]
        check_refused("record 2, line 5: 1 of its 3 landmarks is missing", read, text, "wings.nts")

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("DIM=2", "DIM=3", "line 2: DIM=3 is not planar"),
            (" DIM=2", "", "no DIM="),
            ("1 2L", "2 2L", "expected a parameter line"),
            ("2L 6", "2L 5", "2 rows of 5 columns hold no planar shapes"),
            ("2L 6", "2L six", "are not numbers of rows and columns"),
            ("2L 6", "999999999 6", "5999999994 values are declared, but 14 are there"),
            ("6 0 DIM", "6 1 DIM", "no number is given that stands for them"),
            ("left right", "left", "14 values are declared, but 13 are there"),
            ("0 2\n", "0 two\n", r"record 2, line 5: 'two' is no number"),
        ],
    )
    def test_refuses(self, read, old, new, words):
        assert old in NTS
        check_refused(rf"wings\.nts.*{words}", read, NTS.replace(old, new), "wings.nts")

    def test_round_trip(self, tmp_path):
        shapes = sx.ShapeSet([[0.1, np.nan, 1j], [1 / 3, 2, 2e-300j]], ids=["a", "b c"], missing="allow")
        copy = sx.read(sx.write(shapes, tmp_path / "wings.nts"), missing="allow")
        assert copy.equals(shapes.replace(ids=["a", "b_c"]))
        check_refused("NTS files hold points", sx.write, sx.ShapeSet([[0, 1, 1j]], sx.BSpline(3)), tmp_path / "b.nts")


class TestMorphologika:
    def test_all_sections(self, read):
        unnumbered = MORPHOLOGIKA.replace("'#1\n", "").replace("'#2\n", "")
        for text in (MORPHOLOGIKA, MORPHOLOGIKA.replace("\n", "\r\n"), unnumbered):
            shapes = read(text, "wings.txt")
            check_set(shapes, TRIANGLES, ids=["left wing", "right wing"], labels=["bee", "wasp"], sex=["f", "m"])

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("[Dimensions]\n2", "[Dimensions]\n3", "has 3 dimensions, but shapes here are planar"),
            ("[Dimensions]", "[size]", r"no section \[dimensions\]"),
            ("als]\n2", "als]\n999999999", "the points of 2 individuals, but declares 999999999"),
            ("right wing\n", "", "1 names for 2 individuals"),
            ("als]\n2", "als]\ntwo", "line 2: 'two' is no number of individuals"),
            ("bee 1", "bee 7", "must be names and sizes that add up to 2"),
            ("f 1", "f", "must have 2 values for each of 2"),
            ("'#2\n", "", "has the points of 1 individuals, but declares 2"),
            ("[labels]", "[names]", r"the section \[names\] is there twice"),
            ("2.0\t0", "2.0\tO", "record 2, line 24: expected x and y of landmark 2"),
            ("2.0\t0\n", "", "record 2, line 23: it has 2 landmarks, but 3 are declared"),
        ],
    )
    def test_refuses(self, read, old, new, words):
        assert old in MORPHOLOGIKA
        check_refused(rf"wings\.txt.*{words}", read, MORPHOLOGIKA.replace(old, new), "wings.txt")
