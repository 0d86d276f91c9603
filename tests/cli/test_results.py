"""What commands write is what the library computes, also piece by piece; what interrupted runs leave."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex.io import parts, read_codes, stored_shapes
from tests.cli.conftest import facts_of, lines_of, needs_processes, refused, run
from tests.learning.samples import interrupt_when
from tests.rounding import assert_close, assert_close_codes


def test_learn_is_what_the_estimator_learns(folder, shapes):
    shown = lines_of(
        run("learn shapes.npz -o m.npz --n-atoms 4 --n-nonzero 2 --coder ormp --random-state 3 --n-restarts 2")
    )
    model = sx.ShapeDictionary(4, 2, space=shapes.space, coder="ormp", n_restarts=2, random_state=3).fit(shapes)
    np.testing.assert_array_equal(sx.load("m.npz").atoms_, model.atoms_)
    assert shown[0] == f"40 shapes, 4 atoms, at most 2 per shape: training RMSE {100 * model.rmse_:.2f} %"
    assert lines_of(run("info m.npz"))[-1].startswith("made by: shapelex learn shapes.npz -o m.npz")
    facts = facts_of(run("info m.npz --json"))
    assert (facts["n_atoms"], facts["seed"]) == (4, 3)


def test_a_fit_keeps_the_best_and_goes_on_from_its_checkpoint(folder, monkeypatch):
    learn = "learn shapes.npz --n-atoms 4 --n-nonzero 2 --coder ormp"
    lines_of(run(f"{learn} -o whole.npz"))
    lines_of(run(f"{learn} -o m.npz --max-iter 0"))
    before = (folder / "m.npz").read_bytes()
    passes = []

    def is_time(learner):
        passes.append(learner.rmse)
        return len(passes) == 4

    with monkeypatch.context() as patch:
        interrupt_when(is_time, patch)
        stopped = run(f"{learn} -o m.npz --checkpoint c.npz --force --json")
    found = json.loads(stopped.stdout)
    assert (stopped.exit_code, found["error"]["kind"], found["outputs"]) == (130, "interrupted", ["m.interrupted.npz"])
    assert "interrupted: m.interrupted.npz has the best dictionary so far, RMSE" in found["error"]["message"]
    assert "; the same command goes on from c.npz" in found["error"]["message"]
    assert sx.load("m.interrupted.npz").rmse_ == pytest.approx(min(passes))
    assert (folder / "m.npz").read_bytes() == before
    lines_of(run(f"{learn} -o m.npz --checkpoint c.npz --force"))
    np.testing.assert_array_equal(sx.load("m.npz").atoms_, sx.load("whole.npz").atoms_)


@needs_processes
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a process")
def test_ctrl_c_of_a_real_process(folder, shapes):
    many = sx.ShapeSet(np.tile(shapes.configurations, (100, 1)), shapes.space)
    noise = 0.01 * np.random.default_rng(0).normal(size=(*many.shape, 2)) @ [1, 1j]
    sx.write(many.replace(configurations=many.configurations + noise), "many.npz")
    command = [sys.executable, "-m", "shapelex", "learn", "many.npz", "-o", "m.npz", "--n-restarts", "1000"]
    process = subprocess.Popen(
        [*command, "--checkpoint", "fit.checkpoint"],
        stderr=subprocess.PIPE,
        text=True,
        # Processes that a shell runs in the background, and their children, ignore this signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # The first checkpoint shows that the fit is under way, however slow the machine is.
    while process.poll() is None and not (folder / "fit.checkpoint").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "shapelex: interrupted" in stderr
    assert "Traceback" not in stderr
    names = {path.name for path in folder.iterdir() if not path.name.startswith("fit.checkpoint")}
    assert names <= {"shapes.npz", "many.npz", "m.interrupted.npz"}


def test_learn_measures_which_atoms_are_found_again(folder, shapes):
    learn = "learn shapes.npz -o m.npz --n-atoms 4 --n-nonzero 2 --max-iter 5"
    facts = facts_of(run(f"{learn} --json"))["stability"]
    found = sx.load("m.npz").stability_
    expected = sx.ShapeDictionary(4, 2, space=shapes.space, max_iter=5, random_state=0)
    expected.fit(shapes)
    assert facts == found.to_json() == expected.stability_.to_json()
    assert len(facts["can_be_named"]) == 4
    assert found.summary() in run("info m.npz").stdout
    assert facts_of(run("info m.npz --json"))["stability"] == facts
    assert "can be named" not in run(f"{learn} --no-stability --force").stdout
    assert "can be named" not in run("info m.npz").stdout
    assert not hasattr(sx.load("m.npz"), "stability_")


def test_models_pages_and_figures_are_described(ready, shapes):
    sx.ShapeDictionaryClassifier(3, 2, tol=0.1, random_state=0).fit(shapes, shapes.labels).save("classes.npz")
    shown = lines_of(run("info classes.npz"))
    assert shown[0].startswith("ShapeDictionaryClassifier in Landmarks(n_points=16")
    assert shown[1] == "2 classes, 3 to 3 atoms each"
    facts = facts_of(run("info classes.npz --json"))
    assert (facts["classes"], facts["n_atoms"]) == (["a", "b"], [3, 3])
    sx.ProcrustesKernel(2.0).fit(shapes).save("kernel.npz")
    assert lines_of(run("info kernel.npz"))[1] == "40 shapes, gamma 2"
    refused("encode classes.npz shapes.npz -o codes.csv", "this command needs a dictionary that learn wrote")
    lines_of(run("report model.npz shapes.npz -o page.html"))
    before = ["shapelex import cells.tps -o shapes.npz", "shapelex learn shapes.npz -o model.npz"]
    made_by = "shapelex report model.npz shapes.npz -o page.html"
    described = ["page for the eye, no shapes", *(f"made before it: {one}" for one in before), f"made by: {made_by}"]
    assert lines_of(run("info page.html")) == described
    inputs = ["# input shapes.npz: unchanged", "# input model.npz: unchanged"]
    assert lines_of(run("replay page.html --all")) == [*before, made_by, *inputs]
    facts = facts_of(run("info page.html --json"))
    assert (facts["holds"], facts["command"].split()[1], len(facts["earlier"])) == ("page", "report", 2)
    for name in ("mean.png", "mean.svg", "mean.pdf"):
        lines_of(run(f"mean shapes.npz -o mean.npz --figure {name} --force"))
        assert lines_of(run("info", name))[0] == "figure for the eye, no shapes"


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        *(("c.csv", "slots"), ("c.csv", "atoms"), ("c.tsv", "atoms"), ("c.xlsx", "slots"), ("c.xlsx", "atoms")),
        *(("c.parquet", "slots"), ("c.parquet", "atoms"), ("c.npz", "slots"), ("c.zarr", "atoms")),
    ],
)
def test_codes_come_back_with_what_is_known_of_the_shapes(ready, shapes, model, name, layout):
    rows = np.arange(40)
    told = {
        "area": np.linspace(1, 2, 40),
        "file": np.array([f"{row:03d}.tif" for row in rows]),
        "frame": rows,
        "touches": rows % 2 == 0,
    }
    known = {"id": np.array([f"{row:03d}" for row in rows]), "label": np.array(["NA", "", *["x"] * 38]), **told}
    marked = shapes.replace(ids=known["id"], labels=known["label"], metadata={**told, "error": np.ones(40)})
    sx.write(marked, "told.npz")
    lines_of(run(f"encode model.npz told.npz -o {name} --layout {layout}"))
    found = sx.read_codes(name)
    np.testing.assert_allclose(found.codes.toarray(), model.transform(shapes), atol=1e-12)
    assert found.codes.n_atoms == 4
    np.testing.assert_allclose(found.errors, model.errors(shapes), atol=1e-12)
    assert set(found.columns) == {*known, "meta error"}
    for column, values in known.items():
        assert found.columns[column].dtype.kind == values.dtype.kind
        if column == "area":  # sheets have 16 digits
            np.testing.assert_allclose(found.columns[column], values, rtol=1e-15)
        else:
            np.testing.assert_array_equal(found.columns[column], values)


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("old.csv", "id,error,n_used,atom_1,modulus_1,angle_1\na,0.5,1,2,1,0\n", "it does not say how many atoms"),
        ("bad.csv", "id,error,n_used,n_atoms,atom_1,modulus_1,angle_1\na,0.5,1,2,7,1,0\n", ""),
        ("bad.xlsx", "no workbook", ""),
        *(
            (f"wide.{end}", f"id{by}class{by}predicted{by * 100_000}\n", "")
            for end, by in (("csv", ","), ("tsv", "\t"))
        ),
    ],
)
def test_tables_of_codes_that_cannot_be_read(name, text, words):
    Path(name).write_text(text)
    wide = "more than 65536 columns" if "wide" in name else "cannot be read as codes"
    with pytest.raises(sx.exceptions.CodesError, match=f"{name} .*{wide}.*{words}"):
        sx.read_codes(name)
    assert "wide" not in name or refused(f"report model.npz shapes.npz -o page.html --tested {name}", wide)


def test_landmarks_are_filled_in_and_the_set_says_so(folder, shapes):
    rows = shapes.configurations.copy()
    rows[:6, 2] = rows[3:6, 9] = np.nan
    gaps = shapes.replace(configurations=rows, missing="allow")
    sx.write(gaps, "gaps.npz")
    result = facts_of(run("impute gaps.npz -o full.npz --n-atoms 3 --n-nonzero 2 --json"))
    assert (result["n_shapes"], result["n_incomplete"], result["n_imputed"]) == (40, 6, 9)
    assert result["hidden_error"] < result["hidden_error_of_mean"]
    found = sx.read("full.npz")
    present = ~gaps.is_missing
    np.testing.assert_array_equal(found.configurations[present], shapes.configurations[present])
    assert found.metadata["n_imputed"].sum() == 9
    assert "9 of 640 landmarks filled in, in 6 of 40 shapes." in found.notes[-1]
    expected = sx.impute(gaps, sx.ShapeDictionary(3, 2, tol=1e-3, random_state=0))
    np.testing.assert_array_equal(found.configurations, expected.configurations)


def test_register_to_the_mean_of_another_set_with_kept_start_or_direction(folder, shapes):
    sx.write(shapes.replace(space=sx.Landmarks(16)), "open.csv")
    for option in ("", "--closed", "--open"):
        shown = lines_of(run(f"import open.csv -o o.npz --register {option} --force"))
        told = ["only their direction is registered" in line and "--closed" in line for line in shown]
        assert any(told) == (option == "")
    rows = shapes.space.roll(shapes.configurations, np.random.default_rng(1).integers(0, 16, 40))
    rows[::3] = shapes.space.reverse(rows[::3])
    sx.write(shapes.replace(configurations=rows), "rolled.npz")
    assert facts_of(run("register rolled.npz -o a.npz --no-start --json"))["n_moved"] == 0
    assert facts_of(run("register rolled.npz -o b.npz --no-direction --json"))["n_reversed"] == 0
    lines_of(run("register rolled.npz -o first.npz"))
    lines_of(run("register rolled.npz -o second.npz --like first.npz"))
    assert not sx.read("second.npz").preparation.difference(sx.read("first.npz").preparation)
    refused("register rolled.npz -o third.npz --like first.npz --reflection", "--reflection", status=2)


LEARN = "-o m.npz --n-atoms 4 --n-nonzero 2 --coder ormp --max-iter 30 --random-state 1"


@pytest.mark.parametrize("name", ["shapes.npy", "shapes.zarr"])
def test_learn_and_encode_from_files_that_are_not_read_whole(folder, shapes, name):
    expected = sx.ShapeDictionary(4, 2, coder="ormp", max_iter=30, random_state=1).fit(shapes.configurations)
    np.save("shapes.npy", shapes.configurations)
    pytest.importorskip("zarr").save_array("shapes.zarr", shapes.configurations)
    lines_of(run(f"learn {name} {LEARN}"))
    model = sx.load("m.npz")
    assert_close(model.atoms_, expected.atoms_)
    errors = expected.errors(shapes.configurations)
    said = f"40 shapes, RMSE {100 * (errors**2).mean() ** 0.5:.2f} %, worst {100 * errors.max():.2f} %"
    assert lines_of(run(f"encode m.npz {name} -o codes.zarr")) == [said, "wrote codes.zarr"]
    codes, found = read_codes("codes.zarr")
    assert_close_codes(codes, expected.encode(shapes.configurations))
    assert_close(found, errors)
    assert lines_of(run("info", "codes.zarr"))[0].startswith("codes of 40 shapes over 4 atoms")
    refused(f"encode m.npz {name} -o codes.zarr", "--force")
    lines_of(run(f"encode m.npz {name} -o codes.zarr --force"))


@pytest.mark.parametrize(
    ("layout", "suffix"), [("slots", ".csv"), ("atoms", ".tsv"), ("slots", ".parquet"), ("atoms", ".parquet")]
)
def test_tables_of_codes_are_the_same_piece_by_piece(ready, everything_is_large, layout, suffix, monkeypatch):
    encode = f"encode model.npz shapes.npz --layout {layout}"
    lines_of(run(f"{encode} -o pieces{suffix}"))
    monkeypatch.setattr(stored_shapes, "LARGE_BYTES", 1 << 40)
    lines_of(run(f"{encode} -o whole{suffix}"))
    read = {".csv": pd.read_csv, ".tsv": pd.read_table, ".parquet": pd.read_parquet}[suffix]
    pieces = read(f"pieces{suffix}")
    assert pieces["id"].tolist() == [f"cell {n}" for n in range(40)]
    pd.testing.assert_frame_equal(pieces, read(f"whole{suffix}"))
    assert lines_of(run("info", f"pieces{suffix}"))[-1].startswith("made by: shapelex encode model.npz")


def test_the_page_of_a_large_set_shows_shapes_spread_over_it(ready, everything_is_large):
    for option, shown in (
        ("--max-shapes 1", '"n_shapes":10,"n_population":40'),
        ("", '"n_shapes":40,"n_population":null'),
    ):
        lines_of(run(f"report model.npz shapes.npz -o r.html --force {option}"))
        assert shown in (ready / "r.html").read_text().replace(" ", "")


@pytest.fixture
def tables(folder, shapes):
    """Outlines of different start points in a table a class."""
    for name in "ab":
        some = shapes[shapes.labels == name]
        rows = [np.roll(row, 3 * place) for place, row in enumerate(some.configurations)]
        (folder / name).mkdir()
        sx.write(some.replace(configurations=rows, labels=None), folder / name / "table.csv")
    return folder


@pytest.mark.parametrize("options", ["", "--n-points 9 ", "--space bspline --n-points 8 "])
def test_import_piece_by_piece_is_the_import_in_memory(tables, monkeypatch, options):
    command = f"import a b {options}--label-from parent -o"
    said = lines_of(run(f"{command} whole.npz"))
    expected = sx.read("whole.npz")
    with monkeypatch.context() as patched:
        patched.setattr(stored_shapes, "LARGE_BYTES", 1)
        patched.setattr(parts, "_BATCH_RECORDS", 7)
        for out in ("pieces.npz", "pieces.zarr"):
            assert lines_of(run(f"{command} {out}"))[:-1] == [line.replace("whole.npz", out) for line in said[:-1]]
    for out in ("pieces.npz", "pieces.zarr"):
        found = sx.read(out)
        # Least squares round differently for another number of curves.
        tolerance = 1e-13 if "bspline" in options else 0
        np.testing.assert_allclose(found.configurations, expected.configurations, atol=tolerance)
        assert found.replace(configurations=expected.configurations).equals(expected)
        assert found.notes == expected.notes
        assert lines_of(run("info", out))[:-1] == [line for line in said[:-1] if "check" not in line]
        assert lines_of(run("info", out))[-1] == f"made by: shapelex {command} {out}"
    assert {path.name for path in tables.iterdir()} == {
        "a", "b", "shapes.npz", "whole.npz", "pieces.npz", "pieces.zarr"
    }  # fmt: skip


def test_the_way_from_files_to_codes_without_the_set_in_memory(tables, everything_is_large, monkeypatch):
    lines_of(run("import", "a", "b", "-o", "all.zarr", "--closed"))

    def refuse(*_, **__):
        raise AssertionError("the set was read whole")

    monkeypatch.setattr(sx, "read", refuse)
    lines_of(run(f"learn all.zarr {LEARN}"))
    assert sx.load("m.npz").space_ == sx.Landmarks(16, closed=True)
    lines_of(run("encode", "m.npz", "all.zarr", "-o", "codes.parquet"))
    assert lines_of(run("info", "codes.parquet"))[0].startswith("codes of 40 shapes")
    assert facts_of(run("info", "codes.parquet", "--json"))["command"].startswith("shapelex encode")


@pytest.mark.parametrize("out", ["pieces.npz", "pieces.zarr"])
@pytest.mark.parametrize("step", ["shapelex.io.parts.SetBuilder.finish", "shapelex.shapes.ShapeSet.blocks"])
def test_an_interrupted_import_leaves_nothing(tables, everything_is_large, monkeypatch, out, step):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupt)
    before = sorted(path.name for path in tables.iterdir())
    assert run(f"import a b -o {out}").exit_code == 130
    assert sorted(path.name for path in tables.iterdir()) == before


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["shapes.npz", "shapes.zarr"])
def test_learn_on_the_cluster_of_a_scheduler(folder, shapes, name):
    distributed = pytest.importorskip("distributed")
    sx.write(shapes, name, overwrite=True)
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        scheduler = f"--scheduler {cluster.scheduler_address}"
        lines_of(run(f"learn {name} {LEARN} {scheduler}"))
        if name == "shapes.zarr":
            here = lines_of(run(f"encode m.npz {name} -o here.csv"))
            lines = lines_of(run(f"encode m.npz {name} -o c.csv {scheduler}"))
            assert lines[0] == here[0]
            pd.testing.assert_frame_equal(pd.read_csv("c.csv"), pd.read_csv("here.csv"), rtol=1e-9)
    assert sx.load("m.npz").space_ == shapes.space
    alone = sx.ShapeDictionary(4, 2, space=shapes.space, coder="ormp", max_iter=30, random_state=1).fit(shapes)
    np.testing.assert_allclose(sx.load("m.npz").atoms_, alone.atoms_, atol=1e-9)
    refused(f"learn {name} -o n.npz --scheduler nonsense://nowhere", "no scheduler answers at nonsense://nowhere")
    # What comes next in this process runs without a cluster.
    assert pytest.importorskip("dask").delayed(abs)(-1).compute() == 1


@pytest.mark.parametrize("out", ["out.npz", "out.zarr"])
def test_an_output_in_the_folder_of_the_inputs_is_not_read(tables, out):
    for _ in range(2):
        lines_of(run("import", "a", "-o", f"a/{out}", "--force"))
        assert len(sx.read(f"a/{out}")) == 20


@pytest.mark.parametrize("option", ["--closed", "--like shapes.npz"])
def test_a_shape_that_cannot_be_registered_is_named_by_its_row(folder, shapes, everything_is_large, option):
    rows = shapes.configurations.copy()
    rows[33] = 5
    np.save("bad.npy", rows)
    refused(f"import bad.npy -o c.npz --register {option}", "row 33")
    assert not (folder / "c.npz").exists()
