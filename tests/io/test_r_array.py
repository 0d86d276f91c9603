"""Arrays of landmarks that R saved as tables: named, numbered, without names, and what else looks alike."""

import numpy as np
import pytest

from tests.io.conftest import check_refused, check_set

FILE = "array.csv"
# write.csv of the coordinates of gpagen: three landmarks of two specimens.
ARRAY = '"","X.oak 1","Y.oak 1","X.elm","Y.elm"\n"1",0,0.5,10,20\n"2",1,1.5,11,21\n"3",2,2.75,12,NA\n'
NUMBERED = ARRAY.replace("oak 1", "1").replace("elm", "2").replace("NA", "22")
NO_NAMES = '"","X1","X2","X3","X4"\n' + NUMBERED.partition("\n")[2]
TWO_D = '"","1.X","1.Y","2.X","2.Y","3.X","3.Y"\n"oak 1",0,0.5,1,1.5,2,2.75\n"elm",10,20,11,21,12,22\n'
POINTS = [[0.5j, 1 + 1.5j, 2 + 2.75j], [10 + 20j, 11 + 21j, 12 + 22j]]


@pytest.mark.parametrize(
    "text",
    [
        ARRAY,
        # readland.tps names specimens alone; check.names puts an X before what starts with a digit.
        ARRAY.replace("X.", "X1.").replace("Y.", "X2."),
        ARRAY.replace("X.", "x.").replace("Y.", "y."),
        "\n".join(line.partition(",")[2] for line in ARRAY.splitlines()),
        ARRAY.replace(",", ";").replace(".5", ",5").replace(".75", ",75"),
    ],
)
def test_named_specimens(read, text):
    shapes = read(text, missing="allow")
    check_set(shapes, formats=["r_array"], ids=["oak 1", "elm"])
    expected = np.array(POINTS)
    expected[1, 2] = np.nan
    np.testing.assert_array_equal(shapes.configurations.real, expected.real)
    np.testing.assert_array_equal(shapes.configurations[0], expected[0])
    assert "2 specimens: read from two columns each; each row of the table is a landmark" in shapes.notes[0]
    check_refused("specimen elm: 1 of its 3 landmarks is missing", read, text)


def test_numbered_specimens_are_ambiguous(read):
    check_refused(r'landmark or a shape in each row: give rows="landmarks".*rows="shapes"', read, NUMBERED)
    shapes = read(NUMBERED, rows="landmarks")
    check_set(shapes, POINTS, ids=["1", "2"])
    np.testing.assert_array_equal(read(NUMBERED, rows="shapes").configurations[0], [0.5j, 10 + 20j])
    check_refused("rows must be one of", read, NUMBERED, rows="columns", error=ValueError)
    np.testing.assert_array_equal(read(NO_NAMES, format="r_array").configurations, POINTS)


def test_two_d_array_is_a_table(read):
    shapes = read(TWO_D)
    check_set(shapes, POINTS, formats=["csv"], ids=["oak 1", "elm"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NO_NAMES, "point 1 has only one of x and y"),
        ('"","X.a","Y.a","Z.a"\n1,0,0,0\n', "3 coordinates a landmark, but shapes here are planar"),
        (ARRAY.replace("1.5", "one"), "line 3: 'one' is no number"),
        (ARRAY.replace(',"Y.elm"', ""), "do not say where x and y are"),
        (ARRAY.replace("1.5,", ""), "line 3: it has 4 columns, the table has 5"),
        (ARRAY.splitlines()[0] + "\n", "but no values"),
    ],
)
def test_refuses(read, text, words):
    check_refused(words, read, text)
