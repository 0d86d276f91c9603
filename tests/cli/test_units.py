"""What is independent, from import to every command that draws a conclusion: said, kept, changed, refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import shapelex as sx
from tests.cli.conftest import facts_of, lines_of, refused, run
from tests.report.conftest import payload_of

NOTE = "note: 72 shapes from 12 images; images are the independent units; --unit none treats shapes as independent."
IN_IMAGES = "72 shapes from 12 images; images are the independent units"


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """TPS file of six landmarks of each of 72 cells of 12 images, which differ; the labels are those of images."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    image = np.repeat(np.arange(12), 6)
    own, each = 0.15 * rng.normal(size=(12, 6, 2)), 0.1 * rng.normal(size=(72, 6, 2))
    points = np.array([[0, 0], [1, 0], [2, 0], [2, 1], [1, 1.2], [0, 1]]) + own[image] + each
    records = [
        "LM=6\n" + "\n".join(f"{x:.6f} {y:.6f}" for x, y in cell) + f"\nIMAGE=im{number:02d}.jpg\nID=c{row}\n"
        for row, (cell, number) in enumerate(zip(points, image, strict=True))
    ]
    (tmp_path / "cells.tps").write_text("".join(records))
    drug = pd.DataFrame({"id": [f"c{row}" for row in range(72)], "drug": np.array(["yes", "no"])[image % 2]})
    drug.to_csv("drug.csv", index=False)
    assert IN_IMAGES in lines_of(run("import cells.tps -o cells.npz --join drug.csv --label drug"))
    return tmp_path


def test_images_are_the_units_of_a_test_and_of_the_page(cells):
    lines = lines_of(run("test cells.npz --by label --permutations 99"))
    assert lines[0] == NOTE
    assert lines[1].startswith("No difference in shape between no and yes was found: P = ")
    assert "(99 permutations of 12 images)" in lines[1]
    alone = lines_of(run("test cells.npz --by label --permutations 99 --unit none"))[0]
    assert alone.startswith("Shape differs between no and yes, at ")
    lines_of(run("learn cells.npz -o model.npz --n-atoms 3 --n-nonzero 2 --no-stability"))
    expected = facts_of(run("test cells.npz --by label --dictionary model.npz --json"))
    for options, unit in (("", "images"), ("--by label --unit none", "shapes")):
        lines_of(run(f"report model.npz cells.npz -o page.html --force {options}"))
        page = payload_of(cells / "page.html")["group_tests"]
        assert page["units"] == unit
        assert (page["shape"]["p"] == expected["tables"]["anova"][0]["P"]) == (unit == "images")
        assert sum(page["counts"]) == (12 if unit == "images" else 72)


def test_folds_hold_out_whole_images(cells):
    shown = lines_of(run("classify cells.npz --cv 3 --tested tested.csv"))
    assert shown[0] == NOTE
    image, table = sx.read("cells.npz").metadata["image"], pd.read_csv("tested.csv")
    assert (table.groupby(image)["fold"].nunique() == 1).all()
    lines_of(run("classify cells.npz --cv 3 --tested alone.csv --unit none"))
    assert (pd.read_csv("alone.csv").groupby(image)["fold"].nunique() > 1).any()
    assert "in which all shapes of one of the images were held out together" in " ".join(
        run("methods tested.csv").stdout.split()
    )

    found = sx.read("cells.npz")
    sizes = "--n-atoms 2 --n-nonzero 1 --cv 4"
    for options, groups in (("", image), ("--unit none", None), ("--shuffle", None)):
        result = run(f"compare cells.npz {sizes} --methods 'complex PCA' --json {options}")
        cv = KFold(4, shuffle=True, random_state=0) if options == "--shuffle" else 4
        loose = found.replace(roles={"unit": None})
        expected = sx.compare(loose, ["complex PCA"], [1], n_atoms=2, cv=cv, groups=groups, random_state=0)
        assert facts_of(result)["rows"][1]["rmse"] == pytest.approx(expected.rows()[1]["rmse"])
    assert "whole groups held out" in run(f"suggest cells.npz {sizes} --no-stability").stdout
    assert "parts of the set held out" in run(f"suggest cells.npz {sizes} --no-stability --unit none").stdout
    # More folds than units are made fewer where nobody asked for these units.
    few = found[np.isin(found.metadata["image"], ["im00.jpg", "im01.jpg"])]
    sx.write(few, "few.npz")
    assert "2 whole groups held out" in run("suggest few.npz --n-atoms 2 --n-nonzero 1 --no-stability").stdout


def test_what_is_independent_is_kept_and_shown(cells):
    lines_of(run("import cells.npz -o alone.npz --unit none"))
    assert IN_IMAGES not in lines_of(run("info alone.npz"))
    assert IN_IMAGES in lines_of(run("info cells.npz"))
    lines_of(run("import alone.npz -o again.zarr"))
    assert sx.open_shapes("again.zarr").units() is None
    lines_of(run("import cells.npz -o labels.npz --unit label"))
    told = "72 shapes from 2 values of label; values of label are the independent units"
    assert told in lines_of(run("info labels.npz"))
    refused("import cells.npz -o bad.npz --unit imag", "which is not a column of the shapes (did you mean 'image'?)")
    assert not (cells / "bad.npz").exists()


def test_labels_that_cannot_be_compared_are_told_on_the_page(cells):
    lines_of(run("learn cells.npz -o model.npz --n-atoms 3 --n-nonzero 2 --no-stability"))
    found = sx.read("cells.npz")
    sx.write(found.replace(labels=["a", "b"] * 36), "mixed.npz")
    lines_of(run("report model.npz mixed.npz -o page.html"))
    told = payload_of(cells / "page.html")["group_tests"]
    assert "label varies within 12 of 12 images" in told["refused"]
    refused("report model.npz mixed.npz -o other.html --by label", "--unit none treats shapes as independent")
    refused("test mixed.npz --by label", "--unit none treats shapes as independent")


@pytest.mark.realdata
def test_tracks_are_the_units_of_frames(data_folder):
    frames = data_folder / "cells_u373_tracks_100.npz"
    lines = lines_of(run("test", frames, "--by", "label", "--permutations", "99"))
    assert lines[0].startswith("note: 1313 shapes from 19 time series; time series are the independent units")
    assert lines[1].startswith("No difference in shape between movie 01 and movie 02 was found")
