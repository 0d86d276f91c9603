"""Tables: layouts that are told, found or refused, separators, decimal marks, damaged rows."""

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from tests.io.conftest import notes_of

FILE = "leaves.csv"
SQUARE = np.array([0, 1, 1 + 1j, 1j])
WIDE = "name,species,site,x1,y1,x2,y2,x3,y3,x4,y4\na,oak,3,0,0,1,0,1,1,0,1\nb,elm,4,0,0,2,0,2,2,0,2\n"
LONG = "id,landmark,x,y,label\n" + "".join(
    f"{name},{place + 1},{scale * z.real},{scale * z.imag},{label}\n"
    for name, scale, label in (("a", 1, "oak"), ("b", 2, "elm"))
    for place, z in enumerate(SQUARE)
)


def is_expected(shapes):
    np.testing.assert_array_equal(shapes.configurations, [SQUARE, 2 * SQUARE])
    return shapes.ids.tolist() == ["a", "b"] and (shapes.labels is None or shapes.labels.tolist() == ["oak", "elm"])


class TestWide:
    def test_names_tell_the_layout(self, read):
        shapes = read(WIDE)
        assert is_expected(shapes)
        assert shapes.labels is not None
        assert shapes.metadata["site"].tolist() == [3, 4]

    @pytest.mark.parametrize(
        "names",
        [
            ["x{}", "y{}"],
            ["X{}", "Y{}"],
            ["{}_X", "{}_Y"],
            ["lm{}_x", "lm{}_y"],
            ["x.{}", "y.{}"],
            ["Coord {} X", "Coord {} Y"],
            ["x_00{}", "y_00{}"],
        ],
    )
    @pytest.mark.parametrize("layout", ["interleaved", "blocks"])
    def test_names_of_coordinates(self, read, names, layout):
        x, y = ([name.format(number) for number in range(1, 5)] for name in names)
        ordered = [name for pair in zip(x, y, strict=True) for name in pair] if layout == "interleaved" else x + y
        rows = [sx.to_columns(scale * SQUARE, layout=layout) for scale in (1, 2)]
        lines = [["id", *ordered], *([name, *map(str, row)] for name, row in zip("ab", rows, strict=True))]
        assert is_expected(read("\n".join(map(",".join, lines))))

    @pytest.mark.parametrize("numbers", [[3, 1, 2], [10, 9, 1, 2], [0, 7, 3], sorted(range(1, 13), key=str)])
    def test_points_are_in_the_order_of_their_numbers(self, read, numbers):
        names = [f"x{number}" for number in numbers] + [f"y{number}" for number in reversed(numbers)]
        cells = [*numbers, *(10 * number for number in reversed(numbers))]
        shapes = read(f"{','.join(names)}\n{','.join(map(str, cells))}\n")
        expected = [number + 10j * number for number in sorted(numbers)]
        np.testing.assert_array_equal(shapes.configurations, [expected])
        frame = pd.DataFrame([cells], columns=names)
        np.testing.assert_array_equal(sx.read(frame).configurations, [expected])

    def test_without_names_the_layout_must_be_told(self, read):
        text = "0,1,1,0,0,0,1,1\n0,2,2,0,0,0,2,2\n"
        with pytest.raises(ShapeFileError, match=r'table of 8 columns .* layout="blocks" .* layout="inter'):
            read(text)
        np.testing.assert_array_equal(read(text, layout="blocks").configurations, [SQUARE, 2 * SQUARE])
        np.testing.assert_array_equal(read(text, layout="interleaved").configurations[0], [1j, 1, 0, 1 + 1j])
        assert read(text, layout="blocks").ids.tolist() == ["leaves-1", "leaves-2"]

    def test_without_names_one_column_of_words_is_the_id(self, read):
        assert is_expected(read("a,0,1,1,0,0,0,1,1\nb,0,2,2,0,0,0,2,2\n", layout="blocks"))
        words = "oak,a,0,1,1,0,0,0,1,1\nelm,b,0,2,2,0,0,0,2,2\n"
        with pytest.raises(ShapeFileError, match="columns 0, 1 hold words"):
            read(words, layout="blocks")
        assert is_expected(read(words, layout="blocks", id_column=1, label_column=0))
        numbers = words.replace("oak,a", "7").replace("elm,b", "8")
        with pytest.raises(ShapeFileError, match="9 columns of coordinates, but x and y come in pairs"):
            read(numbers, layout="blocks")
        assert read(numbers, layout="blocks", id_column=0).ids.tolist() == ["7", "8"]

    @pytest.mark.parametrize(("named", "other"), [("interleaved", "blocks"), ("blocks", "interleaved")])
    def test_a_layout_that_contradicts_the_names_is_refused(self, read, named, other):
        x, y = [f"X{number}" for number in range(1, 5)], [f"Y{number}" for number in range(1, 5)]
        names = x + y if named == "blocks" else [name for pair in zip(x, y, strict=True) for name in pair]
        rows = [sx.to_columns(scale * SQUARE, layout=named) for scale in (1, 2)]
        lines = [["id", *names, "age"], *([name, *map(str, row), "7"] for name, row in zip("ab", rows, strict=True))]
        text = "\n".join(map(",".join, lines))
        shapes = read(text, layout=named)
        assert is_expected(shapes)
        assert shapes.metadata["age"].tolist() == [7, 7]
        with pytest.raises(ShapeFileError, match=r"contradicts the names .* 'X1' and 'Y1', 'X2' and 'Y2' are x and"):
            read(text, layout=other)

    def test_first_row_that_counts(self, read):
        text = ",0,1,2,3,4,5,6,7\na,0,1,1,0,0,0,1,1\nb,0,2,2,0,0,0,2,2\n"
        with pytest.raises(ShapeFileError, match=r"first row just counts.*header=True"):
            read(text, layout="blocks")
        assert is_expected(read(text, layout="blocks", header=True))
        assert len(read(text, layout="blocks", header=False, id_column=0)) == 3

    @pytest.mark.parametrize(
        ("names", "words"),
        [
            ("x1,y1,z1,x2,y2,z2", "shapes here are planar"),
            ("x1,y1,x2,y3,x4,y4", "point 2 has only one of x and y"),
            ("x1,y1,x1,y2,x3,y3", "two columns are x of point 1"),
            ("site,x1,y1,x2,y2, site", "two columns are named 'site': rename"),
            ("id,x1,y1,x2,y2,id", "two columns are named 'id': rename"),
            ("x,y,site,a,b,site", "two columns are named 'site': rename"),
        ],
    )
    def test_names_that_contradict(self, read, names, words):
        with pytest.raises(ShapeFileError, match=words):
            read(names + "\n1,2,3,4,5,6\n")

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

    def test_closed_is_not_guessed(self, read):
        frame = pd.DataFrame({"closed": [1, True, "Yes"], "x1": 0, "y1": 0, "x2": 1, "y2": 0, "x3": 1, "y3": 1})
        assert sx.read(frame).closed
        text = "id,closed,x1,y1,x2,y2,x3,y3\na,yes,0,0,1,0,1,1\nb,in May,0,0,1,0,1,1\n"
        with pytest.raises(ShapeFileError, match=r"leaves\.csv, record 2, line 3: its 'closed' is 'in may': write tr"):
            read(text)

    def test_thousands_of_columns(self, read):
        n_points = 1000
        row = np.arange(2 * n_points) / 7
        names = ",".join(f"x{number},y{number}" for number in range(n_points))
        shapes = read(f"{names}\n{','.join(map(repr, row.tolist()))}\n")
        np.testing.assert_array_equal(shapes.configurations, [row[::2] + 1j * row[1::2]])

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ("c,elm,3,0,0,1,0,1,1,0", "it has 10 columns, the table has 11"),
            ("c,elm,3,0,0,1,0,1,1,0,one", "'one' is no number"),
            ("c,elm,3,0,0,1,0,1,1,0,1e999", "'1e999' is infinite"),
            ("c,elm,3,0,0,1,0,1,1,0,1_0", "'1_0' is no number"),
        ],
    )
    def test_bad_rows(self, check_bad_record, row, words):
        first, second, third, _ = WIDE.split("\n")
        check_bad_record("\n".join([first, second, row, third]), 2, f"leaves.csv, record 2, line 3: {words}")

    def test_a_frame_that_is_infinite_is_a_bad_record(self, check_bad_record):
        check_bad_record("frame,x1,y1,x2,y2\n1e999,0,0,1,1\n2,0,0,1,1\n", 1, "record 1")

    @pytest.mark.parametrize("word", ["", "NA", "nan", "NaN", "-", "."])
    def test_missing(self, read, word):
        text = WIDE + f"c,elm,3,0,0,{word},0,1,1,0,1\n"
        with pytest.raises(ShapeFileError, match="record 3, line 4: 1 of its 4 landmarks is missing"):
            read(text)
        assert read(text, missing="allow").is_missing[2].tolist() == [False, True, False, False]


class TestLong:
    def test_names_tell_the_layout(self, read):
        shapes = read(LONG)
        assert is_expected(shapes)
        assert shapes.labels is not None

    def test_rows_in_any_order(self, read):
        names, *rows = LONG.strip().split("\n")
        shuffled = [rows[place] for place in (3, 4, 0, 7, 1, 5, 2, 6)]
        assert is_expected(read("\n".join([names, *shuffled])))

    def test_landmark_left_out_is_missing(self, read):
        text = LONG.replace("a,2,1.0,0.0,oak\n", "")
        assert read(text, missing="allow").is_missing.tolist() == [[False, True, False, False], [False] * 4]
        with pytest.raises(ShapeFileError, match="shape a, line 2: 1 of its 4 landmarks is missing"):
            read(text)

    @pytest.mark.parametrize("names", [("nose", "tail", "eye"), ("LM1", "LM2", "LM3"), ("1.0", "2.0", "3.0")])
    def test_landmarks_correspond_by_name_in_any_order_of_rows(self, read, names):
        points = list(zip(names, ("0,0", "5,0", "1,1"), strict=True))
        rows = [f"a,{name},{point}" for name, point in points]
        rows += [f"b,{name},{point}" for name, point in (points[1], points[2], points[0])]
        shapes = read("id,landmark,x,y\n" + "\n".join(rows))
        np.testing.assert_array_equal(shapes.configurations, [[0, 5, 1 + 1j]] * 2)

    def test_name_twice(self, read):
        with pytest.raises(ShapeFileError, match="it has landmark nose twice"):
            read("id,landmark,x,y\na,nose,0,0\na,nose,1,0\na,eye,0,1\n")

    def test_names_that_never_recur_leave_the_rows_in_order(self, read):
        text = "id,vertex,x,y\n" + "".join(f"{s},{s}-{n}-v,{n},{n * n}\n" for s in "ba" for n in range(4))
        np.testing.assert_array_equal(read(text).configurations, [[0, 1 + 1j, 2 + 4j, 3 + 9j]] * 2)

    def test_landmark_far_away(self, read):
        with pytest.raises(ShapeFileError, match="run to 999999999, but only 4 are there"):
            read(LONG.replace("a,4", "a,999999999"))

    def test_one_outline(self, read):
        for text in ("x,y\n0,0\n1,0\n1,1\n0,1\n", "0,0\n1,0\n1,1\n0,1\n", "0 0\n1 0\n1 1\n0 1\n"):
            shapes = read(text, closed=True)
            np.testing.assert_array_equal(shapes.configurations, [SQUARE])
            assert shapes.ids.tolist() == ["leaves"]

    def test_no_names(self, read):
        text = "\n".join(
            f"{name},{scale * z.real},{scale * z.imag}" for name, scale in (("a", 1), ("b", 2)) for z in SQUARE
        )
        assert is_expected(read(text))
        numbered = text.replace("a", "7").replace("b", "8")
        assert read(numbered, layout="long").ids.tolist() == ["7", "8"]
        with pytest.raises(ShapeFileError, match="3 columns of numbers without names"):
            read(numbered)

    def test_columns_that_vary_along_a_shape_are_not_kept(self, read):
        shapes = read("id,x,y,weight,tree\n" + "".join(f"a,{z.real},{z.imag},{z.real},T1\n" for z in SQUARE))
        assert list(shapes.metadata) == ["tree"]

    def test_bad_row_spoils_its_shape_only(self, check_bad_record):
        check_bad_record(LONG.replace("b,2,2.0", "b,2,two"), 1, "shape b, line 7: 'two' is no number")


class TestText:
    @pytest.mark.parametrize("delimiter", [";", "\t", "|", " ", ", ", "   "])
    @pytest.mark.parametrize("text", [WIDE, LONG])
    def test_delimiters(self, read, delimiter, text):
        assert is_expected(read(text.replace(",", delimiter)))

    @pytest.mark.parametrize("delimiter", [";", "\t"])
    def test_decimal_comma(self, read, delimiter):
        text = "id,x1,y1,x2,y2\na,0.5,1.25,2.0,3.5\n".replace(",", delimiter).replace(".", ",")
        np.testing.assert_array_equal(read(text).configurations, [[0.5 + 1.25j, 2 + 3.5j]])
        np.testing.assert_array_equal(read(text, decimal=",").configurations, [[0.5 + 1.25j, 2 + 3.5j]])
        later = "\n".join(map(delimiter.join, (["x1", "y1", "x2", "y2"], "1234", ["1,5"] * 4)))
        np.testing.assert_array_equal(read(later).configurations[1], [1.5 + 1.5j] * 2)

    def test_remarks_and_empty_lines(self, read):
        assert is_expected(read("# leaves, of two trees\n\n" + WIDE.replace("\n", "\n\n")))

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"layout": "rows"}, ValueError),
            ({"delimiter": "::"}, ValueError),
            ({"decimal": "-"}, ValueError),
            ({"header": "yes"}, TypeError),
            ({"id_column": 99}, ShapeFileError),
            ({"id_column": "tree"}, ShapeFileError),
        ],
    )
    def test_options_out_of_range(self, read, options, error):
        with pytest.raises(error):
            read(WIDE, **options)


def test_long_tables_need_ids_that_differ(tmp_path):
    shapes = sx.ShapeSet([[0, 1, 1j]] * 2, ids=["a", "a"])
    with pytest.raises(ShapeFileError, match="'a' names several"):
        sx.write(shapes, tmp_path / "a.csv", layout="long")
    sx.write(shapes, tmp_path / "a.csv")


def test_commas_inside_cells_of_a_comma_table_are_not_guessed(read):
    text = 'id,x1,y1,x2,y2,x3,y3\na,"1,000",2,3,4,5,6\nb,"2,000",3,4,5,6,7\n'
    with pytest.raises(ShapeFileError, match="'1,000' is no number"):
        read(text, layout="interleaved")
    assert read(text, layout="interleaved", decimal=",").configurations[0, 0] == 1 + 2j


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
def test_remarks_on_columns_that_may_be_meant_otherwise(read, names, remark):
    notes = notes_of(read(f"id,{names}\na,0,0,1,0,1,1\nb,0,0,2,0,2,2\n"))
    assert notes == "" if remark is None else remark in notes
