"""Who is who: ids of several files, and sheets and lists that name files and ids."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw

import shapelex as sx
from shapelex.exceptions import ShapeInputError, ShapelexError
from tests.cli.conftest import facts_of, lines_of, refused, run
from tests.io.conftest import notes_of

N_CELLS = {"control": 5, "drug": 3}


def draw_cells(outlines, path, size=60):
    """Write outlines as a label image, side by side."""
    image = Image.new("I", (size * len(outlines), size))
    for number, outline in enumerate(outlines):
        corner = outline.real.min() + 1j * outline.imag.min()
        placed = (outline - corner) / max(np.ptp(outline.real), np.ptp(outline.imag)) * (size - 12)
        points = [(z.real + 6 + number * size, z.imag + 6) for z in placed]
        ImageDraw.Draw(image).polygon(points, fill=number + 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.array(image).astype(np.uint16)).save(path)


@pytest.fixture
def wells(tmp_path, monkeypatch):
    """Masks ``data/control/well1.tif`` and ``data/drug/well1.tif``, and sheets that name them in several ways."""
    monkeypatch.chdir(tmp_path)
    leaves = sx.datasets.make_leaves(8, random_state=0).configurations
    draw_cells(leaves[:5], tmp_path / "data" / "control" / "well1.tif")
    draw_cells(leaves[5:8], tmp_path / "data" / "drug" / "well1.tif")
    for name, text in {
        "bare.csv": "file,arm\nwell1.tif,control\n",
        "twice.csv": "file,arm\nwell1.tif,control\nwell1.tif,drug\n",
        "folders.csv": "file,arm\ncontrol/well1.tif,control\ndrug/well1.tif,drug\n",
        "windows.csv": "file,arm\nD:\\x\\control\\well1.tif,control\nD:\\x\\drug\\well1.tif,drug\n",
        "names.csv": "Specimen,arm\ncontrol/well1,control\ndrug/well1,drug\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def ids_of(folder, **numbers):
    return [f"{folder}{name}/well1:{k}" for name, n in numbers.items() for k in range(1, n + 1)]


@pytest.mark.parametrize("name", ["cells.npz", "cells.zarr"])
@pytest.mark.parametrize("large", [False, True])
def test_ids_begin_with_the_folder_where_names_of_files_repeat(wells, name, large, request):
    if large:
        request.getfixturevalue("everything_is_large")
    lines_of(run("import", "data", "-o", name, "--n-points", "30"))
    found = sx.read(name)
    assert found.ids.tolist() == ids_of("", **N_CELLS)
    assert "control/well1:3" in notes_of(found)
    # The same where the files are named one by one, from within the folder.
    again = sx.read(["data/control/well1.tif", "data/drug/well1.tif"], n_points=30)
    assert again.ids.tolist() == found.ids.tolist()
    assert sx.read("data/drug", n_points=30).ids.tolist() == ["well1:1", "well1:2", "well1:3"]


@pytest.mark.parametrize("large", [False, True])
def test_ids_of_files_that_repeat_them_begin_with_the_file_and_are_numbered(tmp_path, monkeypatch, large, request):
    monkeypatch.chdir(tmp_path)
    if large:
        request.getfixturevalue("everything_is_large")
    record = "LM=3\n0 0\n1 0\n1 1\nID={}\n"
    for name, ids in (("a", "xyx"), ("b", "xw"), ("a_x", "v")):
        (tmp_path / f"{name}.tps").write_text("".join(map(record.format, ids)))
    lines_of(run("import", "*.tps", "-o", "set.npz"))
    found = sx.read("set.npz")
    assert found.ids.tolist() == ["a/x", "y", "a/x:2", "v", "b/x", "w"]
    assert found.metadata["given_id"].tolist() == ["x", "y", "x", "v", "x", "w"]
    assert "given_id" in notes_of(found)
    # Of a specimen that is in several files, the given id says which row is meant.
    sheet = pd.DataFrame({"id": list("vwxy"), "sex": list("fmfm")})
    with pytest.raises(ShapeInputError, match=r"'x' in the data frame may be 'a/x' or 'b/x'.*given_id=id"):
        found.join(sheet)
    assert found.join(sheet, on="given_id=id").metadata["sex"].tolist() == list("fmfffm")
    with pytest.raises(ShapeInputError, match=r"'x' in the data frame may be '.*/a/x' or '.*/b/x'"):
        sx.read("*.tps", join=sheet)
    read = sx.read("*.tps", join=sheet, on="given_id=id")
    assert read.metadata["sex"].tolist() == list("fmfffm")
    exact = sheet.assign(id=["v", "w", "b/x", "y"])
    assert sx.read("*.tps", join=exact, on="id").metadata["sex"].tolist() == ["", "m", "", "f", "f", "m"]


def test_ids_given_twice_are_numbered():
    shapes = sx.ShapeSet([[0, 1, 1j]] * 4, ids=["a", "b", "a", "a:2"])
    assert shapes.ids.tolist() == ["a", "b", "a:3", "a:2"]
    assert shapes.metadata["given_id"].tolist() == ["a", "b", "a", "a:2"]
    assert "numbered" in shapes.summary()
    both = sx.ShapeSet.concatenate([shapes[:2], shapes[:2]])
    assert both.ids.tolist() == ["a", "b", "a:2", "b:2"]
    # A shape that is taken twice stays the same shape.
    assert shapes[[0, 0]].replace(labels=["x", "x"]).ids.tolist() == ["a", "a"]
    assert shapes.join(pd.DataFrame({"id": ["a", "b"], "n": [1, 2]})).metadata["n"].tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize("options", [(), ("--on", "file")])
@pytest.mark.parametrize("sheet", ["folders.csv"])
def test_sheets_name_files_by_the_end_of_their_paths(wells, sheet, options):
    shown = lines_of(
        run("import", "data", "-o", "c.npz", "--n-points", "30", "--join", sheet, "--label", "arm", *options)
    )
    found = sx.read("c.npz")
    assert found.labels.tolist() == ["control"] * 5 + ["drug"] * 3 == found.metadata["arm"].tolist()
    assert any("joined arm from folders.csv by file" in line for line in shown)
    assert any("--on file" in line for line in shown) == (not options)


def test_a_name_that_fits_several_files_is_refused(wells):
    told = (
        "'well1.tif' in bare.csv may be 'data/control/well1.tif' or 'data/drug/well1.tif': write which, as in 'control/"
    )
    for options in ("", "--on file"):
        refused(f"import data -o c.npz --n-points 30 --join bare.csv {options}", told)
        # Rows that differ are not to be deleted.
        refused(f"import data -o c.npz --n-points 30 --join twice.csv {options}", "name every file with its folder")
    with pytest.raises(ShapeInputError, match=r"may be 'data/control/well1.tif' or 'data/drug/well1.tif'"):
        sx.read("data", n_points=30).join(pd.read_csv("bare.csv"))


def test_names_of_two_columns_are_joined(wells):
    for on, used in (("file=Specimen",) * 2, (None, "id=Specimen")):
        found = sx.read("data", n_points=30, join="names.csv", on=on, label="arm")
        assert found.labels.tolist() == ["control"] * 5 + ["drug"] * 3
        assert f"by {used}, " in notes_of(found)
    sheet = pd.DataFrame({"Cell": ids_of("data/", **N_CELLS), "n": range(8)})
    for on in ("id=Cell", None):
        assert sx.read("data", n_points=30).join(sheet, on=on).metadata["n"].tolist() == list(range(8))
    sheet.to_csv("cells.csv", index=False)
    shown = facts_of(
        run("import", "data", "-o", "c.npz", "--n-points", "30", "--join", "cells.csv", "--on", "id=Cell", "--json")
    )
    assert shown["n_shapes"] == 8
    # A first column that is not named like a key is a guess, which must fit all shapes.
    sheet[1:].to_csv("cells.csv", index=False)
    refused("import data -o d.npz --n-points 30 --join cells.csv", "if it names them, say --on id=Cell")
    assert len(sx.read("data", n_points=30, join="cells.csv", on="id=Cell")) == 8
    refused("import data -o d.npz --n-points 30 --join cells.csv --on id=Zelle", "has no column 'Zelle'")
    refused(
        "import data -o d.npz --n-points 30 --join cells.csv --on tree=Cell", "'tree' is not a column of the shapes"
    )


def test_a_stored_set_is_joined_by_the_paths_it_was_read_from(wells):
    shapes = sx.read("data", n_points=30)
    for sheet in ("folders.csv", "names.csv"):
        assert shapes.join(pd.read_csv(sheet)).metadata["arm"].tolist() == ["control"] * 5 + ["drug"] * 3
    sx.write(sx.read("data/control", n_points=30).replace(metadata={"file": ["well1.tif"] * 5}), "c.npz")
    with pytest.raises(ShapelexError, match=r"'well1.tif' may be 'D:.*control.*' or 'D:.*drug"):
        sx.read("c.npz", join="windows.csv", on="file")
    shapes = sx.read("c.npz", join=pd.read_csv("windows.csv")[:1], on="file")
    assert shapes.metadata["arm"].tolist() == ["control"] * 5


@pytest.mark.parametrize(
    ("text", "n_left"),
    [
        ("id,file\nwell1:3,drug/well1.tif\n", 7),
        ("id,file\ndrug/well1:3,data/drug/well1.tif\n", 7),
        ("id\ndrug/well1:3\n", 7),
        ("file\ndrug/well1.tif\n", 5),
        ("file\nwell1.tif\n", "'well1.tif' in list.csv may be 'data/control/well1.tif' or 'data/drug/well1.tif'"),
        ("id\nwell1:3\n", "'well1:3' in list.csv may be 'control/well1:3' or 'drug/well1:3'"),
    ],
)
@pytest.mark.parametrize("large", [False, True])
def test_a_list_leaves_out_only_what_it_names(wells, text, n_left, large, request):
    if large:
        request.getfixturevalue("everything_is_large")
    (wells / "list.csv").write_text(text)
    command = "import data -o c.npz --n-points 30 --exclude list.csv"
    if isinstance(n_left, str):
        refused(command, n_left)
        return
    lines_of(run(command))
    left = sx.read("c.npz").ids.tolist()
    assert len(left) == n_left
    assert left[:5] == ids_of("", control=5)


@pytest.mark.parametrize("large", [False, True])
def test_a_list_with_an_id_in_full_means_no_other(tmp_path, monkeypatch, large, request):
    monkeypatch.chdir(tmp_path)
    if large:
        request.getfixturevalue("everything_is_large")
    ids = ["worm", *(f"worm:{n}" for n in range(2, 20)), "b/worm"]
    sx.write(sx.ShapeSet(np.ones((20, 3)) * [0, 1, 1j], ids=ids), "worms.npz")
    (tmp_path / "list.csv").write_text("id\nworm\nworm:7\n")
    lines_of(run("import worms.npz -o left.npz --exclude list.csv"))
    assert sx.read("left.npz").ids.tolist() == [name for name in ids if name not in ("worm", "worm:7")]


def test_patterns_of_paths_become_columns(wells):
    for name in ("control/w1_2.tif", "drug/w1_3.tif"):
        (wells / "data" / name.split("/")[0] / "well1.tif").rename(wells / "data" / name)
    for pattern in ("{arm}/{well}_{field}.tif", r"(?P<arm>\w+)/(?P<well>\w+)_(?P<field>\w+)\.tif"):
        lines_of(run("import", "data", "-o", "c.npz", "--n-points", "30", "--label-from", pattern, "--force"))
        found = sx.read("c.npz")
        assert found.labels.tolist() == found.metadata["arm"].tolist() == ["control"] * 5 + ["drug"] * 3
        assert set(found.metadata["well"].tolist()) == {"w1"}
        assert found.metadata["field"].tolist() == ["2"] * 5 + ["3"] * 3
        assert "columns arm, well, field from the paths, arm of 2 files: 'control' (1), 'drug' (1)" in notes_of(found)
    assert sx.read("data", n_points=30, label_from=pattern, label="field").labels.tolist() == ["2"] * 5 + ["3"] * 3
    (wells / "data" / "drug" / "w1_3.tif").rename(wells / "data" / "drug" / "w_1_3.tif")
    refused("import data -o d.npz --n-points 30 --label-from {arm}/{well}_{field}.tif", "in several ways")
    refused("import data -o d.npz --n-points 30 --label-from {id}.tif", "has a part named 'id'", status=2)


def test_groups_that_differ_by_blanks_or_case_are_named(wells):
    sheet = pd.DataFrame({"file": ["control/well1.tif", "drug/well1.tif"], "arm": ["Control", "control "]})
    found = sx.read("data", n_points=30, join=sheet, label="arm")
    assert set(found.labels.tolist()) == {"Control", "control"}
    assert "column 'arm' of the data frame: 'Control' and 'control' differ only in case" in notes_of(found)
    found = sx.read("data", n_points=30, join=sheet.assign(arm=["control", "control "]), label="arm")
    assert set(found.labels.tolist()) == {"control"}
    assert "blanks were removed from 'control '" in notes_of(found)
    (wells / "a.csv").write_text('id,label,x1,y1,x2,y2,x3,y3\na,"oak ",0,0,1,0,1,1\nb,oak,0,0,2,0,2,1\n')
    found = sx.read("a.csv")
    assert "labels: 'oak' and 'oak ' differ only in case or blanks" in notes_of(found)


@pytest.mark.realdata
def test_cells_of_two_arms_from_masks_to_a_list(data_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = np.load(data_folder / "cells_osteosarcoma_outlines_100.npz")
    outlines = cells["points"] @ [1, 1j]
    for arm, treatment in (("control", "control"), ("drug", "jasp")):
        chosen = outlines[(cells["treatment"] == treatment) & (cells["cell_line"] == "dlm8")][:40]
        draw_cells(chosen, tmp_path / arm / "well1.tif")
    (tmp_path / "sheet.csv").write_text("file,arm\ncontrol/well1.tif,control\ndrug/well1.tif,drug\n")
    lines_of(run("import control drug -o cells.npz --n-points 60 --join sheet.csv --label arm"))
    found = sx.read("cells.npz")
    assert len(set(found.ids.tolist())) == len(found) == 80
    assert json.loads(json.dumps(found.labels.tolist())) == ["control"] * 40 + ["drug"] * 40
    (tmp_path / "list.csv").write_text(f"id,file\n{found.ids[42]},{found.metadata['file'][42]}\n")
    lines_of(run("import control drug -o left.npz --n-points 60 --exclude list.csv"))
    left = set(sx.read("left.npz").ids.tolist())
    assert set(found.ids.tolist()) - left == {found.ids[42]}


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.tsv", "sheet.xlsx"])
@pytest.mark.parametrize("on", [None, "file", "file=Image"])
def test_titles_above_the_names_of_the_columns_are_left_out(wells, name, on):
    key = "Image" if on == "file=Image" else "file"
    rows = [
        ["Study of wells", "", ""],
        ["", "", ""],
        [key, "arm", "dose"],
        ["control/well1.tif", "control", "0"],
        ["drug/well1.tif", "drug", "007"],
    ]
    if name.endswith("xlsx"):
        pd.DataFrame(rows).to_excel(name, header=False, index=False)
    else:
        pd.DataFrame(rows).to_csv(name, header=False, index=False, sep="\t" if name.endswith("tsv") else ",")
    found = sx.read("data", n_points=30, join=name, on=on, label="arm")
    assert found.labels.tolist() == ["control"] * 5 + ["drug"] * 3
    assert f"above the names of the columns of {name}: 'Study of wells'" in notes_of(found)
    assert found.metadata["dose"].tolist()[-1] in (7, "007")
