"""Tables: layouts that are told, found or refused, separators, decimal marks, damaged rows."""

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from tests.io.conftest import check_refused, check_set, notes_of

FILE = "leaves.csv"
SQUARE = np.array([0, 1, 1 + 1j, 1j])
WIDE = "name,species,site,x1,y1,x2,y2,x3,y3,x4,y4\na,oak,3,0,0,1,0,1,1,0,1\nb,elm,4,0,0,2,0,2,2,0,2\n"
LONG = "id,landmark,x,y,label\n" + "".join(
    f"{name},{place + 1},{scale * z.real},{scale * z.imag},{label}\n"
    for name, scale, label in (("a", 1, "oak"), ("b", 2, "elm"))
    for place, z in enumerate(SQUARE)
)
LONG_ROWS = LONG.splitlines(keepends=True)
NO_NAMES = "0,1,1,0,0,0,1,1\n0,2,2,0,0,0,2,2\n"
WITH_IDS = "a,0,1,1,0,0,0,1,1\nb,0,2,2,0,0,0,2,2\n"
WITH_WORDS = "oak,a,0,1,1,0,0,0,1,1\nelm,b,0,2,2,0,0,0,2,2\n"
WITH_NUMBERS = WITH_IDS.replace("a", "7").replace("b", "8")
COUNTED = ",0,1,2,3,4,5,6,7\n" + WITH_IDS
LONG_NO_NAMES = "".join(",".join([*row.split(",")[:1], *row.split(",")[2:4]]) + "\n" for row in LONG_ROWS[1:])
COMMAS = 'id,x1,y1,x2,y2,x3,y3\na,"1,000",2,3,4,5,6\nb,"2,000",3,4,5,6,7\n'


def is_expected(shapes):
    np.testing.assert_array_equal(shapes.configurations, [SQUARE, 2 * SQUARE])
    return shapes.ids.tolist() == ["a", "b"] and (shapes.labels is None or shapes.labels.tolist() == ["oak", "elm"])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (WIDE, {}),
        (LONG, {}),
        (LONG_ROWS[0] + "".join(LONG_ROWS[place + 1] for place in (3, 4, 0, 7, 1, 5, 2, 6)), {}),
        (WITH_IDS, {"layout": "blocks"}),
        (WITH_WORDS, {"layout": "blocks", "id_column": 1, "label_column": 0}),
        (COUNTED, {"layout": "blocks", "header": True}),
        (LONG_NO_NAMES, {}),
        ("# leaves, of two trees\n\n" + WIDE.replace("\n", "\n\n"), {}),
        # A number that was kept from being taken for a formula.
        (WIDE.replace("1,1,0,1\n", "'+1,1,0,1\n"), {}),
        *((text.replace(",", mark), {}) for text in (WIDE, LONG) for mark in (";", "\t", "|", " ", ", ", "   ")),
    ],
)
def test_two_squares(read, text, options):
    shapes = read(text, **options)
    assert is_expected(shapes)
    assert (shapes.labels is not None) == ("oak" in text)
    assert "site" not in text or shapes.metadata["site"].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (NO_NAMES, {}, r'table of 8 columns .* layout="blocks" .* layout="inter'),
        (WITH_WORDS, {"layout": "blocks"}, "columns 0, 1 hold words"),
        (WITH_NUMBERS, {"layout": "blocks"}, "9 columns of coordinates, but x and y come in pairs"),
        (COUNTED, {"layout": "blocks"}, r"first row just counts.*header=True"),
        ("x1,y1,z1,x2,y2,z2\n1,2,3,4,5,6\n", {}, "shapes here are planar"),
        ("x1,y1,x2,y3,x4,y4\n1,2,3,4,5,6\n", {}, "point 2 has only one of x and y"),
        ("x1,y1,x1,y2,x3,y3\n1,2,3,4,5,6\n", {}, "two columns are x of point 1"),
        ("site,x1,y1,x2,y2, site\n1,2,3,4,5,6\n", {}, "two columns are named 'site': rename"),
        ("id,x1,y1,x2,y2,id\n1,2,3,4,5,6\n", {}, "two columns are named 'id': rename"),
        ("x,y,site,a,b,site\n1,2,3,4,5,6\n", {}, "two columns are named 'site': rename"),
        ("id,closed,x1,y1,x2,y2\na,yes,0,0,1,0\nb,in May,0,0,1,0\n", {}, r"record 2, line 3: its 'closed' is 'in may'"),
        (COMMAS, {"layout": "interleaved"}, "'1,000' is no number"),
        ("id,landmark,x,y\na,nose,0,0\na,nose,1,0\na,eye,0,1\n", {}, "it has landmark nose twice"),
        (LONG.replace("a,4", "a,999999999"), {}, "run to 999999999, but only 4 are there"),
        (LONG_NO_NAMES.replace("a", "7").replace("b", "8"), {}, "3 columns of numbers without names"),
        (WIDE, {"id_column": 99}, "99"),
        (WIDE, {"id_column": "tree"}, "tree"),
    ],
)
def test_refused(read, text, options, words):
    check_refused(words, read, text, **options)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"layout": "rows"}, ValueError), ({"delimiter": "::"}, ValueError), ({"decimal": "-"}, ValueError),
     ({"header": "yes"}, TypeError)],
)  # fmt: skip
def test_options_out_of_range(read, options, error):
    check_refused(f"^{next(iter(options))} must be", read, WIDE, error=error, **options)


@pytest.mark.parametrize(
    ("text", "n_good", "message"),
    [
        *(
            (WIDE.replace("b,elm", f"{row}\nb,elm"), 2, f"leaves.csv, record 2, line 3: {words}")
            for row, words in (
                ("c,elm,3,0,0,1,0,1,1,0", "it has 10 columns, the table has 11"),
                ("c,elm,3,0,0,1,0,1,1,0,one", "'one' is no number"),
                ("c,elm,3,0,0,1,0,1,1,0,1e999", "'1e999' is infinite"),
                ("c,elm,3,0,0,1,0,1,1,0,1_0", "'1_0' is no number"),
            )
        ),
        ("frame,x1,y1,x2,y2\n1e999,0,0,1,1\n2,0,0,1,1\n", 1, "record 1"),
        # Lines are counted in cells of several lines, too.
        ('id,x1,y1,x2,y2\n"two\nlines",0,0,1,1\n\nb,0,0,1,one\n', 1, "record 2, line 5: 'one' is no number"),
        # A bad row spoils its shape alone.
        (LONG.replace("b,2,2.0", "b,2,two"), 1, "shape b, line 7: 'two' is no number"),
        (LONG.replace("a,2,1.0,0.0,oak\n", ""), 1, "shape a, line 2: 1 of its 4 landmarks is missing"),
        *((WIDE + f"c,elm,3,0,0,{word},0,1,1,0,1\n", 2, "record 3, line 4: 1 of its 4 landmarks is missing")
          for word in ("", "NA", "nan", "NaN", "-", ".")),
    ],
)  # fmt: skip
def test_bad_records(read, check_bad_record, text, n_good, message):
    check_bad_record(text, n_good, message)
    if "missing" in message:
        place = -1 if text.startswith("name") else 0
        assert read(text, missing="allow").is_missing[place].tolist() == [False, True, False, False]


class TestWide:
    @pytest.mark.parametrize(
        "names",
        [("x{}", "y{}"), ("X{}", "Y{}"), ("{}_X", "{}_Y"), ("lm{}_x", "lm{}_y"), ("x.{}", "y.{}"),
         ("Coord {} X", "Coord {} Y"), ("x_00{}", "y_00{}")],
    )  # fmt: skip
    @pytest.mark.parametrize(("layout", "other"), [("interleaved", "blocks"), ("blocks", "interleaved")])
    def test_names_tell_the_layout(self, read, names, layout, other):
        x, y = ([name.format(number) for number in range(1, 5)] for name in names)
        ordered = [name for pair in zip(x, y, strict=True) for name in pair] if layout == "interleaved" else x + y
        rows = [sx.to_columns(scale * SQUARE, layout=layout) for scale in (1, 2)]
        lines = [["id", *ordered, "age"], *([name, *map(str, row), "7"] for name, row in zip("ab", rows, strict=True))]
        text = "\n".join(map(",".join, lines))
        for options in ({}, {"layout": layout}):
            assert is_expected(read(text, **options))
            assert read(text, **options).metadata["age"].tolist() == [7, 7]
        check_refused(f"contradicts the names .* '{x[0]}' and '{y[0]}', .* are x and", read, text, layout=other)

    @pytest.mark.parametrize("numbers", [[3, 1, 2], [10, 9, 1, 2], [0, 7, 3], sorted(range(1000), key=str)])
    def test_points_are_in_the_order_of_their_numbers(self, read, numbers):
        names = [f"x{number}" for number in numbers] + [f"y{number}" for number in reversed(numbers)]
        cells = [*numbers, *(10 * number for number in reversed(numbers))]
        expected = [number + 10j * number for number in sorted(numbers)]
        text = f"{','.join(names)}\n{','.join(map(str, cells))}\n"
        for shapes in (read(text), sx.read(pd.DataFrame([cells], columns=names))):
            np.testing.assert_array_equal(shapes.configurations, [expected])

    def test_layout_and_ids_are_options(self, read):
        np.testing.assert_array_equal(read(NO_NAMES, layout="blocks").configurations, [SQUARE, 2 * SQUARE])
        np.testing.assert_array_equal(read(NO_NAMES, layout="interleaved").configurations[0], [1j, 1, 0, 1 + 1j])
        assert read(NO_NAMES, layout="blocks").ids.tolist() == ["leaves-1", "leaves-2"]
        assert read(WITH_NUMBERS, layout="blocks", id_column=0).ids.tolist() == ["7", "8"]
        assert len(read(COUNTED, layout="blocks", header=False, id_column=0)) == 3

    @pytest.mark.parametrize(
        ("cells", "values"),
        [
            (["1", "", "NA", "-"], [1, np.nan, np.nan, np.nan]),
            (["100000000000000001", "3", "5", "2"], [100000000000000001, 3, 5, 2]),
            (["1.5", "nan", "2", "missing"], [1.5, np.nan, 2.0, np.nan]),
            (["True", "False", "False", "True"], [True, False, False, True]),
            (["True", "", "n/a", "False"], ["True", "", "", "False"]),
            (["drug", "none", "-", "NA"], ["drug", "none", "-", ""]),
            (["007", "12", "1e3", ""], ["007", "12", "1e3", ""]),
            (["-01.5", "0.5", "0", "00"], ["-01.5", "0.5", "0", "00"]),
            (["0.5", "-0.25", "0", "1e3"], [0.5, -0.25, 0.0, 1000.0]),
            (["NA", "nan", "", "N/A"], ["", "", "", ""]),
        ],
    )
    def test_values_of_metadata(self, read, cells, values):
        column = read("id,site,x1,y1,x2,y2\n" + "".join(f"a,{cell},0,0,1,1\n" for cell in cells)).metadata["site"]
        np.testing.assert_array_equal(column, values)
        assert column.dtype.kind == np.array(values).dtype.kind

    @pytest.mark.parametrize("word", ["true", "TRUE", "yes", "T", "1", " t ", "false", "No", "f", "0", "", "NA"])
    def test_closed(self, read, word):
        shapes = read(f"id,closed,x1,y1,x2,y2,x3,y3\na,{word},0,0,1,0,1,1\n")
        assert shapes.closed == (word.strip().lower() in ("true", "yes", "t", "1"))
        frame = pd.DataFrame({"closed": [1, True, "Yes"], "x1": 0, "y1": 0, "x2": 1, "y2": 0, "x3": 1, "y3": 1})
        assert sx.read(frame).closed

    @pytest.mark.parametrize(
        ("names", "remark"),
        [
            ("x1,y1,x2,y2,xx3,yy3", "the columns xx3 and yy3 were read as metadata"),
            ("x1,y1,x2,y2,x4,y4", "there are no columns of the points 3;"),
            ("x1,y1,x3,y3,x9,y9", "there are no columns of the points 2, 4, 5, 6, 7, 8;"),
            ("x1,y1,x2,y2,x3,y3", None),
            ("x0,y0,x1,y1,x2,y2", None),
            ("x5,y5,x6,y6,area,length", None),
        ],
    )
    def test_remarks_on_columns_that_may_be_meant_otherwise(self, read, names, remark):
        notes = notes_of(read(f"id,{names}\na,0,0,1,0,1,1\nb,0,0,2,0,2,2\n"))
        assert notes == "" if remark is None else remark in notes

    @pytest.mark.parametrize("delimiter", [";", "\t"])
    def test_decimal_comma(self, read, delimiter):
        text = "id,x1,y1,x2,y2\na,0.5,1.25,2.0,3.5\n".replace(",", delimiter).replace(".", ",")
        for options in ({}, {"decimal": ","}):
            np.testing.assert_array_equal(read(text, **options).configurations, [[0.5 + 1.25j, 2 + 3.5j]])
        later = "\n".join(map(delimiter.join, (["x1", "y1", "x2", "y2"], "1234", ["1,5"] * 4)))
        np.testing.assert_array_equal(read(later).configurations[1], [1.5 + 1.5j] * 2)
        assert read(COMMAS, layout="interleaved", decimal=",").configurations[0, 0] == 1 + 2j


NAMED_POINTS = "a,{0},0,0\na,{1},5,0\na,{2},1,1\nb,{1},5,0\nb,{2},1,1\nb,{0},0,0"


@pytest.mark.parametrize(
    ("text", "options", "points", "ids"),
    [
        # Landmarks correspond by name, whatever the order of the rows.
        *(("id,landmark,x,y\n" + NAMED_POINTS.format(*names), {}, [[0, 5, 1 + 1j]] * 2, ["a", "b"])
          for names in (("nose", "tail", "eye"), ("LM1", "LM2", "LM3"), ("1.0", "2.0", "3.0"))),
        # Names that never recur leave the rows in order.
        ("id,vertex,x,y\n" + "".join(f"{s},{s}-{n}-v,{n},{n * n}\n" for s in "ba" for n in range(4)), {},
         [[0, 1 + 1j, 2 + 4j, 3 + 9j]] * 2, ["b", "a"]),
        *((text, {"closed": True}, [SQUARE], ["leaves"]) for text in
          ("x,y\n0,0\n1,0\n1,1\n0,1\n", "0,0\n1,0\n1,1\n0,1\n", "0 0\n1 0\n1 1\n0 1\n")),
        (LONG_NO_NAMES.replace("a", "7").replace("b", "8"), {"layout": "long"}, [SQUARE, 2 * SQUARE], ["7", "8"]),
    ],
)  # fmt: skip
def test_long(read, text, options, points, ids):
    shapes = read(text, **options)
    check_set(shapes, points, ids=ids)


def test_columns_that_vary_along_a_shape_are_not_kept(read):
    shapes = read("id,x,y,weight,tree\n" + "".join(f"a,{z.real},{z.imag},{z.real},T1\n" for z in SQUARE))
    assert list(shapes.metadata) == ["tree"]


def test_long_tables_need_ids_that_differ(tmp_path):
    shapes = sx.ShapeSet([[0, 1, 1j]], ids=["a"])[[0, 0]]
    check_refused("'a' names several", sx.write, shapes, tmp_path / "a.csv", layout="long")
    sx.write(shapes, tmp_path / "a.csv")
