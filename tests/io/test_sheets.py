"""Sheets of metadata that are joined to shapes, and columns that become labels."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import shapelex as sx
from shapelex.exceptions import ShapeFileError, ShapeInputError
from tests.cli.conftest import run
from tests.io.conftest import check_refused

SHEET = pd.DataFrame(
    {"id": ["003", "001", "9"], "species": ["elm", "oak", "ash"], "age": [3, 1, 9], "height": [1.5, np.nan, 2.0]}
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(
        "id,site,x1,y1,x2,y2,x3,y3\n001,p,0,0,1,0,1,1\n002,q,0,0,2,0,2,1\n003,q,0,0,1,1,3,1\n"
    )
    SHEET.to_csv("sheet.csv", index=False, sep=";", decimal=",")
    SHEET.to_csv("sheet.tsv", index=False, sep="\t")
    SHEET.to_excel("sheet.xlsx", index=False)
    SHEET.to_parquet("sheet.parquet")
    return tmp_path


def check(shapes):
    assert shapes.labels.tolist() == ["oak", "", "elm"]
    np.testing.assert_array_equal(shapes.metadata["age"], [1, np.nan, 3])
    np.testing.assert_array_equal(shapes.metadata["height"], [np.nan, np.nan, 1.5])
    assert shapes.metadata["site"].tolist() == ["p", "q", "q"]
    notes = "\n".join(shapes.notes)
    assert "1 shape has no row in" in notes
    assert ": '002'" in notes
    assert "fits no shape: '9'" in notes


@pytest.mark.parametrize("sheet", ["sheet.csv", "sheet.tsv", "sheet.xlsx", "sheet.parquet", SHEET], ids=str)
def test_join(folder, sheet):
    check(sx.read("a.csv", join=sheet, label="species"))
    sx.write(sx.read("a.csv"), "a.npz")
    check(sx.read("a.npz", join=sheet, label="species"))
    if sheet is SHEET:
        check(sx.read("a.csv").join(SHEET, label="species"))
        check(sx.read("a.csv").join(SHEET.set_index("id"), label="species"))


@pytest.mark.parametrize("names", [["wing 2", "wing 1"], ["wing 2.csv", "wing 1.csv"]])
def test_by_the_name_of_the_file(folder, names):
    for name in ("wing 1", "wing 2"):
        (folder / f"{name}.csv").write_text(f"0,0\n{name[-1]},0\n1,1\n")
        sx.write(sx.read(f"{name}.csv"), f"{name}.npz")
    for end in ("csv", "npz"):
        sheet = pd.DataFrame({"file": [name.replace("csv", end) for name in names], "label": ["b", "a"]})
        assert sx.read(f"wing *.{end}", join=sheet, on="file").labels.tolist() == ["a", "b"]
    other = sheet.assign(file=["x/wing 2.csv", "wing 1"])
    check_refused("no row of the data frame fits", sx.read, "wing 2.csv", join=other, on="file", error=ShapeInputError)


def test_by_another_column(folder):
    sheet = pd.DataFrame({"site": ["q", "p"], "soil": ["wet", "dry"]})
    for shapes in (sx.read("a.csv", join=sheet, on="site"), sx.read("a.csv").join(sheet, on="site")):
        assert shapes.metadata["soil"].tolist() == ["dry", "wet", "wet"]
        assert not any("no row" in note or "fit no" in note for note in shapes.notes)


def test_cells_of_text_sheets(folder):
    # R gives no name to the column of row names, which is not joined.
    (folder / "cells.csv").write_text('"","id","plate","age","drug"\n'
                                      "1,001,0012,3,none\n2,002,0013,,NA\n3,003,0014,-,full\n")  # fmt: skip
    shapes = sx.read("a.csv", join="cells.csv", label="plate")
    assert shapes.labels.tolist() == ["0012", "0013", "0014"]
    np.testing.assert_array_equal(shapes.metadata["age"], [3, np.nan, np.nan])
    assert shapes.metadata["drug"].tolist() == ["none", "", "full"]
    assert "" not in shapes.metadata


def test_numbers_and_ids_have_no_endings():
    shapes = sx.ShapeSet([[0, 1, 1j]] * 3, ids=["plate.12", "plate.13", "plate"], metadata={"dose": [0.0, 0.5, 1.0]})
    joined = shapes.join(pd.DataFrame({"dose": [0, 1], "drug": ["no", "full"]}), on="dose")
    assert joined.metadata["drug"].tolist() == ["no", "", "full"]
    joined = shapes.join(pd.DataFrame({"id": ["plate", "plate.13"], "drug": ["a", "b"]}))
    assert joined.metadata["drug"].tolist() == ["", "b", "a"]


def test_any_column_is_the_label(folder):
    shapes = sx.read("a.csv", label="site")
    assert shapes.labels.tolist() == shapes.metadata["site"].tolist() == ["p", "q", "q"]
    check_refused(r'label="sit" is not a column of a\.csv .did you mean', sx.read, "a.csv", label="sit")
    words = "label and label_from cannot both be given"
    check_refused(words, sx.read, "a.csv", label="site", label_from="parent", error=ValueError)


def test_refused(folder):
    (folder / "ragged.csv").write_text("id,age\n001,1\n002\n")
    (folder / "empty.csv").write_text("id,age\n")
    twice = pd.DataFrame([["001", 1, 2]], columns=["id", "age", "age"])
    twice.to_csv("twice.csv", index=False)
    twice.to_excel("twice.xlsx", index=False)
    several = r"has several columns '(age|id)': rename or remove"
    for sheet, options, error, words in (
        (SHEET, {"label": "genus"}, ShapeInputError, 'label="genus" is not a column'),
        (SHEET, {"on": "key"}, ShapeInputError, r"has no column 'key' .*only id, species, age, height"),
        (pd.concat([SHEET, SHEET]), {}, ShapeInputError, "several rows with id='003'"),
        (pd.DataFrame({"id": ["a"], "b": [1]}), {}, ShapeInputError, "no row of the data frame fits .*'a'.*'001'"),
        (SHEET.rename(columns={"age": "site"}), {}, ShapeInputError, "has a column 'site', which the shapes have too"),
        *((pd.DataFrame({"site": ["p", "q"], name: ["1", "2"]}), {"on": "site"}, ShapeInputError,
           f"has a column '{name}', which means something else.*: rename it") for name in ("id", "sequence", "closed")),
        *((one, {}, ShapeInputError, several) for one in (twice, "twice.csv", "twice.xlsx")),
        (twice.set_axis(["id", "age", "id"], axis=1), {}, ShapeInputError, several),
        ("ragged.csv", {}, ShapeFileError, r"ragged\.csv, line 3: it has 1 columns, the table has 2"),
        ("empty.csv", {}, ShapeFileError, r"empty\.csv: there are names of columns, but no values"),
        ("no.csv", {}, FileNotFoundError, r"no\.csv to join"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            _ = sx.read("a.csv", join=sheet) if isinstance(sheet, str) else sx.read("a.csv").join(sheet, **options)


def test_on_the_command_line(folder):
    result = run("import", "a.csv", "-o", "s.npz", "--join", "sheet.xlsx", "--label", "species", "--json", "--on", "id")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["result"]["labels"] == ["", "elm", "oak"]
    check(sx.read("s.npz"))
    (folder / "twice.csv").write_text("id,age,age\n001,1,2\n")
    for options, words in (
        (("--join", "sheet.csv", "--on", "key"), "name one of them with --on"),
        (("--join", "twice.csv"), "twice.csv has several columns 'age'"),
        (("--label", "sit"), "--label sit is not a column of"),
    ):
        result = run("import", "a.csv", "-o", "t.npz", *options)
        assert result.exit_code == 1
        assert words in result.stderr


@pytest.mark.parametrize("named", ["cell_1.tif", "cell_1", "cell_1.nd2", "cell_1_cp_masks.png"])
def test_sheets_name_the_image_that_a_mask_was_made_of(tmp_path, named):
    image = np.zeros((40, 40), np.uint8)
    image[10:30, 5:25] = 255
    for number in (1, 2):
        Image.fromarray(image).save(tmp_path / f"cell_{number}_cp_masks.png")
    sheet = pd.DataFrame({"file": [named, "cell_9.tif"], "treatment": ["drug", "control"]})
    shapes = sx.read(tmp_path / "*.png", n_points=20, join=sheet, on="file")
    assert shapes.metadata["treatment"].tolist() == ["drug", ""]
    assert any("1 shape has no row" in note and "cell_2_cp_masks.png" in note for note in shapes.notes)
