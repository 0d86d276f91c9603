"""Data frames, sheets and Parquet files: read by the rules of text tables, and written."""

import numpy as np
import openpyxl
import pandas as pd
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError
from tests.io.conftest import check_left_out, check_refused, check_set

SQUARES = np.array([[0, 1, 1 + 1j, 1j], [0, 2, 2 + 2j, 2j], [0, 1, 3 + 1j, 0.1 + 1j / 3]])


def save_sheet(folder, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


@pytest.fixture
def squares():
    return sx.ShapeSet(
        SQUARES,
        space=sx.Landmarks(4, closed=True),
        ids=["a", "007", "c"],
        labels=["oak", "elm", "oak"],
        sequence=[0, 0, 1],
        metadata={"frame": [1, 2, 1], "temp": [1.5, np.nan, 3.25], "wet": [True, False, True], "site": ["1", "2", "x"]},
    )


class TestDataFrame:
    def test_long(self):
        df = pd.DataFrame(
            {
                "id": [7, 7, 7, 8, 8, 8],
                "landmark": [2, 1, 3, 1, 2, 3],
                "x": [1.0, 0, 1, 0, 2, 2],
                "y": [0.0, 0, 1, 0, 0, 2],
                "species": pd.Categorical(["oak"] * 3 + ["elm"] * 3),
                "depth": [np.nan] * 3 + [2.0] * 3,
            }
        )
        for one in (df, df.sample(frac=1, random_state=0)):
            found = sx.read(one)
            found = found[np.argsort(found.ids)]
            check_set(found, [[0, 1, 1 + 1j], [0, 2, 2 + 2j]], ids=["7", "8"], labels=["oak", "elm"])
            np.testing.assert_array_equal(found.metadata["depth"], [np.nan, 2.0])

    def test_index(self, squares):
        df = squares.to_dataframe().drop(columns=["label", "sequence", "frame", "temp", "wet", "site"])
        assert sx.read(df.set_index("id")).ids.tolist() == ["a", "007", "c"]
        assert sx.read(df.set_index("id").rename_axis(None)).ids.tolist() == ["a", "007", "c"]
        assert sx.read(df[1:]).ids.tolist() == ["007", "c"]
        assert not sx.read(df[1:]).metadata

    def test_missing(self):
        df = pd.DataFrame({"x1": [0, 0], "y1": [0, None], "x2": [1, 2], "y2": [0, 1], "x3": [3, 3], "y3": [1, 2]})
        check_left_out(1, r"DataFrame, record 2, row 1: 1 of its 3 landmarks is missing", sx.read, df)
        assert sx.read(df, missing="allow").is_missing.tolist() == [[False] * 3, [True, False, False]]

    def test_bad_rows(self):
        df = pd.DataFrame({"x1": ["0", "two"], "y1": [0, 0], "x2": [1, 2], "y2": [0, 1]}, index=[10, 20])
        check_left_out(1, r"row 20: 'two' is no number, but a coordinate is expected", sx.read, df)

    @pytest.mark.parametrize(
        ("columns", "options", "error", "words"),
        [
            ({"x1": [0, np.inf], "y1": [0, 0]}, {}, ShapeFileError, "row 1: 'inf' is infinite"),
            (dict.fromkeys(range(6), (0.5, 2)), {}, ShapeFileError, "DataFrame: a table of 6 columns of numbers with"),
            ({"x1": [0], "y1": [0], "x2": [0]}, {}, ShapeFileError, "point 2 has only one of x and y"),
            ({"x1": [], "y1": []}, {}, ShapeFileError, "DataFrame: it holds no values"),
            ({"x1": [0], "y1": [0]}, {"label_from": "parent"}, ValueError, "label_from are for files"),
            ({"x1": [0], "y1": [0]}, {"header": True}, TypeError, "dataframe has no option header"),
        ],
    )
    def test_refused(self, columns, options, error, words):
        check_refused(words, sx.read, pd.DataFrame(columns), error=error, **options)

    def test_layout_is_an_option(self):
        df = pd.DataFrame(np.arange(12.0).reshape(2, 6) ** 2)
        blocks = sx.ShapeSet.from_dataframe(df, layout="blocks")
        np.testing.assert_array_equal(blocks.configurations[0], [9j, 1 + 16j, 4 + 25j])


class TestModels:
    def test_fit_encode(self):
        rng = np.random.default_rng(0)
        shapes = sx.ShapeSet(rng.standard_normal((30, 5, 2)), sx.Landmarks(5, closed=True))
        wide = shapes.to_dataframe()
        learn = {"n_atoms": 3, "n_nonzero": 2, "coder": "ormp", "random_state": 0}
        model = sx.ShapeDictionary(**learn).fit(shapes)
        # Columns may be named like attributes of sets.
        for X in (wide.sample(frac=1, axis=1, random_state=0), wide.assign(preparation="fixed", shape="a")):
            own = sx.ShapeDictionary(**learn, space=shapes.space).fit(X)
            np.testing.assert_array_equal(own.atoms_, model.atoms_)
            np.testing.assert_array_equal(model.transform(X), model.transform(shapes))
        assert sx.encode(wide, model.atoms_, 2) == sx.encode(shapes, model.atoms_, 2)
        np.testing.assert_array_equal(sx.mean_shape(wide), sx.mean_shape(shapes.configurations))


class TestFiles:
    @pytest.mark.parametrize("layout", ["interleaved", "blocks", "long"])
    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".xlsx"])
    def test_there_and_back(self, squares, tmp_path, suffix, layout):
        found = sx.read(sx.write(squares, tmp_path / f"squares{suffix}", layout=layout))
        assert found.equals(squares)
        assert list(found.metadata) == list(squares.metadata)
        if layout != "long":
            assert sx.ShapeSet.from_dataframe(squares.to_dataframe(layout), closed=True).equals(squares)

    @pytest.mark.parametrize("layout", ["interleaved", "long"])
    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ""])
    @pytest.mark.parametrize("labels", [["oak", "elm", "ash"], None])
    def test_metadata_named_like_other_columns(self, tmp_path, suffix, layout, labels):
        names = [
            "id", "label", "group", "species", "file", "specimen", "sequence", "closed", "landmark", "lm", "x", "y2",
            "ID", "meta x", "meta site",
        ]  # fmt: skip
        told = {name: [f"{name} {place}" for place in range(3)] for name in names}
        told |= {"frame": ["early", "late", "late"], "Closed": [True, True, True]}
        shapes = sx.ShapeSet(SQUARES, ids=list("abc"), labels=labels, metadata=told)
        if suffix:
            found = sx.read(sx.write(shapes, tmp_path / f"a{suffix}", layout=layout))
        else:
            found = sx.ShapeSet.from_dataframe(shapes.to_dataframe())
        assert set(found.metadata) == set(told)
        assert found.equals(shapes.replace(metadata={name: told[name] for name in found.metadata}))
        assert not found.closed

    def test_parts_of_a_parquet_file(self, squares, tmp_path, monkeypatch):
        monkeypatch.setattr("shapelex.files.tables._PARQUET_ROWS", 2)
        for layout in ("interleaved", "long"):
            path = sx.write(squares, tmp_path / f"{layout}.parquet", layout=layout)
            assert sx.read(path).equals(squares)

    def test_words_are_missing_numbers_but_labels(self, tmp_path):
        names = ["label", "dose", "x1", "y1", "x2", "y2"]
        path = save_sheet(tmp_path, names, ["None", 1.5, 0, 1, 2, 3], ["drug", "null", 0, "NULL", 2, 3])
        shapes = sx.read(path, layout="interleaved", missing="allow")
        assert shapes.labels.tolist() == ["None", "drug"]
        np.testing.assert_array_equal(shapes.metadata["dose"], [1.5, np.nan])
        assert shapes.is_missing[:, 0].tolist() == [False, True]

    def test_sheets(self, squares, tmp_path):
        path = tmp_path / "two.xlsx"
        with pd.ExcelWriter(path) as book:
            pd.DataFrame({"note": ["see the other"]}).to_excel(book, sheet_name="notes", index=False)
            squares.to_dataframe().to_excel(book, sheet_name="shapes", index=False, startrow=2)
        check_refused(r"two\.xlsx: it has the sheets 'notes', 'shapes': name one", sx.read, path)
        for sheet in ("shapes", 1):
            assert sx.read(path, sheet=sheet, closed=True).equals(squares)
        check_refused("got 'other'", sx.read, path, sheet="other")

    def test_sheets_made_by_hand(self, tmp_path):
        path = save_sheet(tmp_path, ["id", "x1", "y1", "x2", "y2"], ["a", 0, 0, 1, 1], ["b", 0, "two", 1, 1])
        check_refused(r"a\.xlsx, record 2, row 3: 'two' is no number", sx.read, path)
        # Without names of columns.
        path = save_sheet(tmp_path, [0, 0, 1, 1.5], [0, 1, 2, 2])
        for options, points in (
            ({"layout": "interleaved"}, [[0, 1 + 1.5j], [1j, 2 + 2j]]),
            ({"columns": ["x1", "x2", "y1", "y2"]}, [[1j, 1.5j], [2j, 1 + 2j]]),
        ):
            np.testing.assert_array_equal(sx.read(path, **options).configurations, points)

    def test_words_that_look_like_formulas(self, squares, tmp_path):
        odd = squares.replace(ids=["=1+1", "+a", "'b"])
        assert sx.read(sx.write(odd, tmp_path / "a.xlsx")).ids.tolist() == odd.ids.tolist()
        with pytest.raises(ShapeFileError, match="characters that a sheet cannot hold"):
            sx.write(squares.replace(ids=["a", "b", "\x01"]), tmp_path / "b.xlsx")


def test_a_damaged_description_of_the_columns_is_an_error_of_the_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    path = sx.write(sx.ShapeSet([[0, 1, 1j]]), tmp_path / "a.parquet")
    table = pyarrow.read_table(path).replace_schema_metadata({"pandas": '{"columns": [{"field_name": "id"}]}'})
    pyarrow.write_table(table, path)
    check_refused("cannot be read as a Parquet file", sx.read, path)
