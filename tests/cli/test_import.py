"""``shapelex import``: forms, spaces, labels, bad records, formats and their options, and shapes that are left out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.io.registry import FORMATS
from shapelex.store.provenance import read_run
from tests.cli.conftest import facts_of, lines_of, refused, run


@pytest.fixture
def outlines(tmp_path, monkeypatch, shapes):
    """Text files of two columns, of different lengths, in a folder a class."""
    monkeypatch.chdir(tmp_path)
    for number, outline in enumerate(shapes.configurations[:6]):
        path = tmp_path / "cells" / "ab"[number % 2] / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = np.roll(sx.resample(outline, 30 + number, closed=True), 5 * number)
        np.savetxt(path, np.column_stack([rows.real, rows.imag]))
    return tmp_path


def test_folders_become_labels_and_outlines_are_registered(outlines):
    shown = lines_of(run("import cells -o c.npz --points 24 --closed --register --label-from parent"))
    assert shown[0] == "6 shapes in Landmarks(n_points=24, closed=True), closed"
    assert any("6 shapes registered" in line for line in shown)
    found = sx.read("c.npz")
    assert sorted(found.labels.tolist()) == ["a"] * 3 + ["b"] * 3
    plain = sx.read("cells", n_points=24, closed=True)
    assert sx.pairwise_distances(found).mean() < 0.8 * sx.pairwise_distances(plain).mean()


def test_like_another_file(outlines):
    lines_of(run("import", "cells/a", "-o", "a.npz", "--points", "20", "--closed", "--register"))
    lines_of(run("import", "cells/b", "-o", "b.npz", "--like", "a.npz", "--register"))
    first, second = sx.read("a.npz"), sx.read("b.npz")
    assert first.space == second.space
    mean = sx.mean_shape(first, space=first.space)
    raw = sx.read("cells/b", n_points=20, closed=True)
    best = sx.register(raw, raw.space, to=mean).distance_after
    np.testing.assert_allclose(sx.distance(second.configurations, mean), best, atol=1e-12)


def test_bad_records_are_left_out_on_request_and_outlines_of_different_lengths_name_the_option(outlines):
    result = refused("import cells -o c.npz --closed", "--points 100 resamples them")
    assert "--space bspline --points 40 fits a curve" in result.stderr
    learned = run("learn", "cells", "-o", "m.npz")
    assert learned.stderr.rstrip().endswith("as in: shapelex import cells -o shapes.npz --points 100")
    (outlines / "cells" / "a" / "9.txt").write_text("0 1\n1 2\n")
    assert run("import cells -o c.npz --points 24 --closed").exit_code == 1
    assert not (outlines / "c.npz").exists()
    result = run("import cells -o c.npz --points 24 --closed --skip-bad")
    assert result.stderr.startswith("shapelex: warning: Left out 1 record")
    assert len(sx.read("c.npz")) == 6
    np.savetxt(outlines / "hands.csv", np.arange(12.0).reshape(2, 6) ** 2, delimiter=",")
    refused("import hands.csv -o h.npz", "--option layout=blocks")
    lines_of(run("import hands.csv -o h.npz --option layout=blocks --option header=false"))
    np.testing.assert_array_equal(sx.read("h.npz").configurations[0], [9j, 1 + 16j, 4 + 25j])


@pytest.mark.parametrize(
    ("command", "prefix"), [("import cells.geojson -o x.npz", ""), ("info cells.geojson", "import ")]
)
def test_outlines_and_lines_in_one_file_are_told(tmp_path, monkeypatch, command, prefix):
    monkeypatch.chdir(tmp_path)
    kinds = {"Polygon": [[[0, 0], [4, 0], [4, 3]]], "LineString": [[0, 0], [1, 0], [1, 2]]}
    features = [{"type": kind, "coordinates": coordinates} for kind, coordinates in kinds.items()]
    (tmp_path / "cells.geojson").write_text(json.dumps(features))
    told = f"{prefix}--closed or {prefix}--open, or read one kind alone, as with {prefix}--option only=outlines of"
    refused(command, told)
    shown = lines_of(run("import", "cells.geojson", "-o", "closed.npz", "--closed"))
    assert any("1 outline and 1 line were all read as shapes of one kind" in line for line in shown)
    assert any("only=outlines" in note for note in sx.read("closed.npz").notes)
    assert len(sx.read("cells.geojson", only="outlines")) == 1


def test_all_formats_are_listed_with_their_endings(folder):
    shown = lines_of(run("formats"))
    assert [line.split()[0] for line in shown[: len(FORMATS)]] == list(FORMATS)
    assert "tps read, write .tps .tps.gz" in [" ".join(line.split()) for line in shown]


@pytest.mark.parametrize("name", FORMATS)
def test_every_option_is_listed_with_its_default_and_explained(folder, name):
    (described,) = facts_of(run("formats", name, "--json"))["formats"]
    assert described["can_write"] == FORMATS[name].can_write
    assert {option["name"] for option in described["options"]} == FORMATS[name].options
    for option in described["options"]:
        assert len(option["explanation"].split()) > 2, option["name"]
        assert "\n" not in option["explanation"]


def completions(*words):
    """Return what bash is offered for the last word."""
    asked = {"COMP_WORDS": " ".join(["shapelex", *words]), "COMP_CWORD": str(len(words))}
    environment = {**os.environ, "_SHAPELEX_COMPLETE": "complete_bash", **asked}
    command = [sys.executable, "-m", "shapelex"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_formats_and_distances_are_completed():
    assert completions("formats", "t") == ["tps", "tsv"]
    assert completions("import", "a.txt", "--format", "t") == ["tps", "tsv"]
    assert set(completions("learn", "shapes.npz", "--distance", "")) == {"full", "partial", "geodesic"}


LEARN = ("--atoms", "4", "--nonzero", "2", "--swaps", "0")


def write_list(text: str) -> str:
    Path("list.csv").write_text(text, encoding="utf-8")
    return "list.csv"


@pytest.fixture
def files(folder, shapes):
    """A folder ``parts`` with two files whose shapes have the same ids."""
    Path("parts").mkdir()
    for name, start in (("one", 0), ("two", 20)):
        sx.write(shapes[start : start + 20].replace(ids=[f"cell {n}" for n in range(20)]), f"parts/{name}.npz")


def test_import_leaves_out_ids_and_says_which_entries_fit_no_shape(folder, shapes):
    excluded = write_list("id\ncell 3\ncell 41\ncell 7\n")
    shown = lines_of(run(f"import shapes.npz -o kept.npz --exclude {excluded}"))
    kept = sx.read("kept.npz")
    assert kept.ids.tolist() == [name for name in shapes.ids.tolist() if name not in ("cell 3", "cell 7")]
    assert kept.notes[-1] == "2 of 40 shapes were excluded by list.csv; 1 of its entries fit no shape: 'cell 41'"
    assert any(kept.notes[-1] in line for line in shown)


@pytest.mark.parametrize("name", ["kept.npz", "kept.zarr"])
def test_import_piece_by_piece_leaves_out_the_same(files, everything_is_large, name):
    rows = "".join(f"cell {n},one.npz\n" for n in range(20)) + 'cell 5,"parts/two.npz"\n'
    excluded = write_list(f"id,file\n{rows}")
    lines_of(run("import", "parts", "-o", name, "--exclude", excluded))
    kept = sx.read(name)
    assert kept.ids.tolist() == [f"cell {n}" for n in range(20) if n != 5]
    assert {Path(file).name for file in kept.metadata["file"].tolist()} == {"two.npz"}
    assert kept.notes[-1] == "21 of 40 shapes were excluded by list.csv"
    # A file alone leaves out all its shapes.
    excluded = write_list("file;why\none.npz;blurred\n")
    lines_of(run("import", "parts", "-o", name, "--force", "--exclude", excluded))
    assert len(sx.read(name)) == 20


@pytest.mark.parametrize("is_large", [False, True])
def test_learn_learns_from_the_others(folder, shapes, is_large, request):
    if is_large:
        request.getfixturevalue("everything_is_large")
    excluded = write_list('id,file\ncell 3,\n"cell 7",\ncell 99,\n')
    shown = facts_of(run("learn", "shapes.npz", "-o", "m.npz", *LEARN, "--exclude", excluded, "--json"))
    assert (shown["n_excluded"], shown["unmatched"]) == (2, ["cell 99"])
    sx.write(shapes[~np.isin(shapes.ids, ["cell 3", "cell 7"])], "without.npz")
    expected = facts_of(run("learn", "without.npz", "-o", "e.npz", *LEARN, "--json"))
    assert shown["rmse"] == pytest.approx(expected["rmse"], rel=1e-9)
    assert "list.csv" in {Path(one["path"]).name for one in read_run("m.npz")["inputs"]}
