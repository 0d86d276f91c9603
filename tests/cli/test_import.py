"""Shapes as commands read them: formats, labels, exclusion, registration like that of a model, missing landmarks."""

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import shapelex as sx
from shapelex.cli.app import app
from shapelex.files.provenance import read_run
from shapelex.io.registry import FORMATS
from tests.cli.conftest import error_of, facts_of, lines_of, refused, run
from tests.rounding import assert_close, assert_close_codes


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
    shown = lines_of(run("import cells -o c.npz --n-points 24 --closed --register --label-from parent"))
    assert shown[0] == "6 shapes in Landmarks(n_points=24, closed=True), closed"
    assert any("6 shapes registered" in line for line in shown)
    found = sx.read("c.npz")
    assert sorted(found.labels.tolist()) == ["a"] * 3 + ["b"] * 3
    plain = sx.read("cells", n_points=24, closed=True)
    assert sx.pairwise_distances(found).mean() < 0.8 * sx.pairwise_distances(plain).mean()


def test_time_series_are_registered_along_their_motion(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y, x = np.mgrid[:50, :60]
    for frame in range(6):
        # An ellipse with a bump at one end, that turns by a quarter.
        turned = (x - 30.0 + 1j * (y - 25.0)) * np.exp(0.3j * frame)
        mask = (turned.real / 18) ** 2 + (turned.imag / 9) ** 2 < 1
        mask |= np.abs(turned - 17) < 4 + frame % 2
        Image.fromarray(mask.astype("u1")).save(tmp_path / f"cell{frame}.png")
    shown = lines_of(run("import . -o c.npz --n-points 40 --register --option tracked=true --option kind=labels"))
    assert any("to the frame before" in line for line in shown)
    plain = sx.read(tmp_path, format="image", n_points=40, tracked=True, kind="labels")
    found, expected = sx.read("c.npz"), sx.sequences.register_sequence(plain)
    np.testing.assert_array_equal(found.configurations, expected.configurations)
    assert found.preparation.is_registered
    # Others are registered along their motion, too, and to the same mean.
    lines_of(run("import cell0.png cell1.png cell2.png -o later.npz --like c.npz "
                 "--option tracked=true --option kind=labels"))  # fmt: skip
    later = sx.read("later.npz")
    assert not later.preparation.difference(found.preparation)
    assert sx.distance(later, found[:3]).max() < 0.1


def test_later_masks_follow_the_same_rules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = np.zeros((80, 200), dtype="u1")
    for number in range(8):
        y, x = np.mgrid[:80, :200]
        labels[((x - 24 * number) / 11) ** 2 + ((y - 40) / (20 + number)) ** 2 < 1] = number + 1
    labels[35:45, 94:98] = 0
    Image.fromarray(labels).save("plate.png")
    rules = "--option border=drop --option holes=drop"
    lines_of(run(f"import plate.png -o like.npz --n-points 30 {rules}"))
    like = sx.read("like.npz")
    assert like.preparation.left_out == ("border", "holes")
    assert str(like.preparation).endswith("without objects at the border of the image, without objects with holes")
    assert like.ids.tolist() == [f"plate:{number}" for number in (2, 3, 4, 6, 7, 8)]
    lines_of(run("learn", "like.npz", "-o", "m.npz", *LEARN))
    lines_of(run("import plate.png -o raw.npz --n-points 30"))
    told = "2 of 8 shapes left out, as in "
    for source in ("plate.png", "raw.npz"):
        shown = lines_of(run("import", source, "-o", "same.npz", "--like", "like.npz", "--force"))
        assert any(line.startswith(told) for line in shown)
        assert sx.read("same.npz").ids.tolist() == like.ids.tolist()
        assert sx.read("same.npz").preparation == like.preparation
        shown = lines_of(run("encode", "m.npz", source, "-o", "codes.csv", "--force"))
        assert any(line.startswith(told) for line in shown)
        assert len(sx.read_codes("codes.csv").codes) == 6
    assert not any(line.startswith(told) for line in lines_of(run("encode m.npz like.npz -o codes.csv --force")))


def test_bad_records_are_left_out_on_request_and_outlines_of_different_lengths_name_the_option(outlines):
    result = refused("import cells -o c.npz --closed", "--n-points 100 resamples them")
    assert "--space bspline --n-points 40 fits a curve" in result.stderr
    learned = run("learn", "cells", "-o", "m.npz")
    assert learned.stderr.rstrip().endswith("as in: shapelex import cells -o shapes.npz --n-points 100")
    (outlines / "cells" / "a" / "9.txt").write_text("0 1\n1 2\n")
    refused("import cells -o c.npz --n-points 24 --closed", "--skip-bad reads the files without what is wrong in them")
    assert not (outlines / "c.npz").exists()
    result = run("import cells -o c.npz --n-points 24 --closed --skip-bad")
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


def test_every_format_and_option_is_listed_and_explained(folder):
    listed = {line.split()[0]: line.split()[1:] for line in lines_of(run("formats"))[: len(FORMATS)]}
    assert list(listed) == list(FORMATS)
    assert listed["tps"] == ["read,", "write", ".tps", ".tps.gz"]
    for described in facts_of(run("formats --json"))["formats"]:
        known = FORMATS[described["name"]]
        assert described["can_write"] == known.can_write
        assert {option["name"] for option in described["options"]} == known.options
        for option in described["options"]:
            assert len(option["explanation"].split()) > 2, option["name"]
            assert "\n" not in option["explanation"]
    assert facts_of(run("formats tps --json"))["formats"][0]["name"] == "tps"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("formats t", {"tps", "tsv"}),
        ("import a.txt --format t", {"tps", "tsv"}),
        ("learn shapes.npz --distance ", {"full", "partial", "geodesic"}),
    ],
)
def test_formats_and_distances_are_completed(typed, offered):
    asked = {"COMP_WORDS": f"shapelex {typed}", "COMP_CWORD": str(typed.count(" ") + 1)}
    environment = {"_SHAPELEX_COMPLETE": "complete_bash", **asked}
    shown = CliRunner().invoke(app, [], env=environment, prog_name="shapelex").stdout
    assert set(shown.split()) == offered


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
    assert kept.ids.tolist() == [f"two/cell {n}" for n in range(20) if n != 5]
    assert {Path(file).name for file in kept.metadata["file"].tolist()} == {"two.npz"}
    assert kept.notes[-1] == "21 of 40 shapes were excluded by list.csv"
    # A file alone leaves out all its shapes.
    excluded = write_list("file;why\none.npz;blurred\n")
    lines_of(run("import", "parts", "-o", name, "--force", "--exclude", excluded))
    assert len(sx.read(name)) == 20


@pytest.mark.parametrize("name", ["kept.npz", "kept.zarr"])
def test_import_piece_by_piece_leaves_out_and_mirrors_the_same(files, everything_is_large, name):
    Path("flip.csv").write_text("id\ntwo/cell 3\ntwo/cell 19\n")
    excluded = write_list("file,id\none.npz,\n,two/cell 7\n")
    lines_of(run("import", "parts", "-o", name, "--exclude", excluded, "--flip", "flip.csv"))
    found, whole = sx.read(name), sx.read("parts")
    kept = whole[[not one.startswith("one/") and one != "two/cell 7" for one in whole.ids.tolist()]]
    assert found.equals(sx.flip(kept, ["two/cell 3", "two/cell 19"]))
    excluded = write_list("file\none.npz\ntwo.npz\n")
    refused(f"import parts -o none.npz --exclude {excluded}", "excludes all 40 shapes: none is left")


@pytest.mark.parametrize("is_large", [False, True])
def test_learn_learns_from_the_others(folder, shapes, is_large, request):
    if is_large:
        request.getfixturevalue("everything_is_large")
    excluded = write_list('id,file\ncell 3,\n"cell 7",\ncell 99,\n')
    shown = facts_of(run("learn", "shapes.npz", "-o", "m.npz", *LEARN_GAPS, "--exclude", excluded, "--json"))
    assert (shown["n_excluded"], shown["unmatched"]) == (2, ["cell 99"])
    sx.write(shapes[~np.isin(shapes.ids, ["cell 3", "cell 7"])], "without.npz")
    expected = facts_of(run("learn", "without.npz", "-o", "e.npz", *LEARN_GAPS, "--json"))
    assert shown["rmse"] == pytest.approx(expected["rmse"], rel=1e-9)
    assert "list.csv" in {Path(one["path"]).name for one in read_run("m.npz")["inputs"]}


LEARN = ["--n-atoms", "4", "--n-nonzero", "2", "--max-iter", "5"]
SAID = "is not registered: registered to the mean that the model was learned with"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, shapes):
    """``raw.npz``, ``registered.npz`` and ``model.npz`` of outlines in text files whose start points differ."""
    rng = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "cells").mkdir()
    for number, outline in enumerate(shapes.configurations):
        # As many points as the model has are resampled like all others.
        rows = np.roll(sx.resample(outline, 24 + number % 3, closed=True), rng.integers(24)) * (1 + 1e-3 * number)
        rows[3] = 0.7 * rows[3] + 0.3 * rows[4]
        np.savetxt(folder / "cells" / f"{number:02d}.txt", np.column_stack([rows.real, rows.imag]))
    with contextlib.chdir(folder):
        lines_of(run("import cells -o raw.npz --n-points 24 --closed"))
        lines_of(run("import cells -o registered.npz --n-points 24 --closed --register"))
        lines_of(run("learn", "registered.npz", "-o", "model.npz", *LEARN))
    return folder


@pytest.fixture
def registered_outlines(folder, prepared):
    shutil.copytree(prepared, folder, dirs_exist_ok=True)
    return folder


def encode(source, name="codes.npz"):
    lines = lines_of(run("encode", "model.npz", source, "-o", name, "--force"))
    return sx.read_codes(name), any(SAID in line for line in lines)


def test_raw_sets_and_files_have_the_codes_of_registered_ones(registered_outlines):
    assert sx.load("model.npz").preparation_ == sx.read("registered.npz").preparation
    expected, was_registered = encode("registered.npz")
    assert not was_registered
    # The last one goes block by block.
    for source, name in (("raw.npz", "codes.npz"), ("cells", "codes.npz"), ("raw.npz", "codes.zarr")):
        found, was_registered = encode(source, name)
        assert was_registered
        assert_close_codes(found.codes, expected.codes, 1e-9)
        assert_close(found.errors, expected.errors, 1e-9)


def test_reconstructions_and_pages_are_of_prepared_outlines(registered_outlines):
    for source in ("raw.npz", "registered.npz"):
        lines_of(run("reconstruct", "model.npz", source, "-o", "r.npz", "--figure", "r.png", "--force"))
        found = sx.read("r.npz")
        assert found.preparation == sx.read("registered.npz").preparation
        errors = sx.distance(found.configurations, sx.read("registered.npz").configurations, space=found.space)
        np.testing.assert_allclose(errors, found.metadata["error"], atol=1e-9)
    shown = lines_of(run("report", "model.npz", "raw.npz", "-o", "page.html"))
    assert SAID in shown[0]


def test_sets_that_were_prepared_differently_are_refused(registered_outlines):
    lines_of(run("import", "cells", "-o", "m.npz", "--n-points", "24", "--closed", "--register", "--reflection"))
    for target in ("c.csv", "c.zarr"):
        result = refused(f"encode model.npz m.npz -o {target}", "m.npz was prepared differently")
        assert "reflection=False, got reflection=True" in error_of(result)
    lines_of(run("import", "cells/00.txt", "-o", "given.npz", "--closed"))
    refused("report model.npz given.npz -o p.html", "got the points of the file as they are")
    refused("import raw.npz registered.npz -o both.npz", "prepared in the same way")


def test_like_takes_over_the_whole_preparation(registered_outlines):
    lines_of(run("import", "cells", "-o", "new.npz", "--like", "registered.npz"))
    first, second = sx.read("registered.npz"), sx.read("new.npz")
    assert first.preparation.difference(second.preparation) == ""
    np.testing.assert_array_equal(first.configurations, second.configurations)
    assert not encode("new.npz")[1]
    lines_of(run("import", "cells", "-o", "plain.npz", "--like", "raw.npz"))
    assert sx.read("plain.npz").preparation == sx.read("raw.npz").preparation
    # Each shape has the best start point and direction for the mean of the other set.
    mean, raw = sx.mean_shape(first, space=first.space), sx.read("raw.npz")
    best = sx.register(raw, raw.space, to=mean).distance_after
    np.testing.assert_allclose(sx.distance(second.configurations, mean), best, atol=1e-9)
    refused("import cells -o x.npz --like registered.npz --register --reflection", "--reflection", status=2)


def test_sets_on_disk_record_what_sets_in_memory_do(registered_outlines, everything_is_large):
    said = lines_of(run("import", "cells", "-o", "large.zarr", "--n-points", "24", "--closed", "--register"))
    assert any("40 shapes registered to the mean of 40 of them" in line for line in said)
    lines_of(run("import", "cells", "-o", "large_raw.npz", "--n-points", "24", "--closed"))
    lines_of(run("import", "cells", "-o", "large_like.npz", "--like", "registered.npz"))
    expected = sx.read("registered.npz")
    for name in ("large.zarr", "large_like.npz"):
        found = sx.read(name)
        assert expected.preparation.difference(found.preparation) == ""
        np.testing.assert_array_equal(found.configurations, expected.configurations)
    assert sx.read("large_raw.npz").preparation == sx.read("raw.npz").preparation
    assert run("import", "large_raw.npz", "large.zarr", "-o", "both.npz").exit_code == 1


def test_files_of_landmarks_are_not_made_outlines(registered_outlines):
    rows = np.random.default_rng(0).normal(size=(5, 12)) + 1j * np.random.default_rng(1).normal(size=(5, 12))
    sx.write(sx.ShapeSet(rows), "landmarks.csv")
    told = "holds open shapes of 12 points, but the model is in Landmarks(n_points=24, closed=True)"
    result = refused("encode model.npz landmarks.csv -o c.csv", told)
    assert "shapelex import landmarks.csv -o shapes.npz --n-points 24 --closed" in error_of(result)
    lines_of(run("learn", "landmarks.csv", "-o", "model.npz", "--n-atoms", "2", "--n-nonzero", "1", "--force"))
    sx.write(sx.ShapeSet(rows[:, :9]), "fewer.csv")
    refused("encode model.npz fewer.csv -o c.csv", "open shapes of 9 points")
    np.save("fewer.npy", rows[:, :9])
    refused("encode model.npz fewer.npy -o c.csv", "fewer.npy")


def test_prepared_outlines_in_tables_are_not_resampled_again(registered_outlines):
    for name in ("registered.csv", "registered.tps"):
        sx.write(sx.read("registered.npz"), name)
        lines_of(run("import", name, "-o", "again.npz", "--force"))
        for source in (name, "again.npz"):
            told = "expected points at equal steps of arc length, got the points of the file as they are."
            result = refused(f"encode model.npz {source} -o c.csv", told)
            assert "registered" not in error_of(result).partition("prepared differently")[2]


LEARN_GAPS = ("--n-atoms", "4", "--n-nonzero", "2", "--n-swaps", "0")


@pytest.fixture
def gaps(folder, shapes):
    """A set of landmarks, some of which are missing in 6 of 40 shapes."""
    rows = shapes.configurations.copy()
    rows[3:9, 2] = rows[5, 7] = np.nan
    found = shapes.replace(configurations=rows, space=sx.Landmarks(16), missing="allow")
    sx.write(found, "gaps.npz")
    return found


@pytest.mark.parametrize("name", ["gaps.tps", "gaps.zarr", "gaps.npy"])
def test_learn_and_encode(gaps, name):
    if name == "gaps.npy":
        np.save(name, gaps.configurations)
    else:
        sx.write(gaps, name, overwrite=True)
    options = ("--option", "curves=ignore") if name.endswith("tps") else ()
    shown = lines_of(run("learn", name, "-o", "m.npz", *LEARN_GAPS, *options, "--figure", "atoms.png"))
    assert shown[0].startswith("6 shapes are incomplete")
    model = sx.load("m.npz")
    assert np.sqrt(np.mean(model.errors(gaps) ** 2)) == pytest.approx(model.rmse_)
    result = facts_of(run("encode", "m.npz", name, "-o", "codes.npz", "--json"))
    assert result["rmse"] == pytest.approx(model.rmse_, rel=1e-6)
    codes, errors = sx.read_codes("codes.npz")
    np.testing.assert_allclose(errors, model.errors(gaps), rtol=1e-6)
    np.testing.assert_array_equal(codes.support, model.encode(gaps).support)


@pytest.mark.parametrize("name", ["gaps.npz", "gaps.zarr"])
def test_a_model_of_registered_outlines_needs_complete_ones(ready, gaps, shapes, name):
    lines_of(run("register", "shapes.npz", "-o", "registered.npz"))
    lines_of(run("learn", "registered.npz", "-o", "m.npz", *LEARN_GAPS))
    outlines = shapes.replace(configurations=gaps.configurations, missing="allow")
    sx.write(outlines, name, overwrite=True)
    told = f"incomplete outlines cannot be registered: first run shapelex impute {name}"
    result = refused(f"encode m.npz {name} -o codes.csv", told)
    assert "registered to the mean" not in result.output


@pytest.mark.realdata
def test_broken_trilobites_from_the_file_to_a_page(data_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heads = data_folder / "formats" / "tps" / "trilobite_cephala_landmarks_curves.tps"
    as_is = ["--option", "scale=ignore"]
    shown = lines_of(run("learn", heads, "-o", "m.npz", *LEARN_GAPS, "--option", "curves=ignore", *as_is))
    assert shown[0].startswith("15 shapes are incomplete")
    assert any(line.startswith("note: ") for line in shown)
    shown = lines_of(run("impute", heads, "-o", "complete.npz", "--model", "m.npz", *as_is))
    assert "34 of 4800 landmarks filled in, in 15 of 300 shapes." in shown
    lines_of(run("report", "m.npz", "complete.npz", "-o", "heads.html"))
