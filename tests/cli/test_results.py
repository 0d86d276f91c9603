"""What commands write is what the library computes; what an interrupted or killed run leaves."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import shapelex as sx
from shapelex.estimators.progress import FitProgress
from tests.cli.conftest import facts_of, lines_of, refused, run


def test_learn_is_what_the_estimator_learns(folder, shapes):
    shown = lines_of(run("learn shapes.npz -o m.npz --atoms 4 --nonzero 2 --coder ormp --seed 3 --restarts 2"))
    model = sx.ShapeDictionary(4, 2, space=shapes.space, coder="ormp", n_restarts=2, random_state=3).fit(shapes)
    np.testing.assert_array_equal(sx.load("m.npz").atoms_, model.atoms_)
    assert shown[0] == f"40 shapes, 4 atoms, at most 2 per shape: RMSE {100 * model.rmse_:.2f} %"
    assert lines_of(run("info m.npz"))[-1].startswith("made by: shapelex learn shapes.npz -o m.npz")
    facts = facts_of(run("info m.npz --json"))
    assert (facts["n_atoms"], facts["seed"]) == (4, 3)


def test_a_fit_keeps_the_best_and_goes_on_from_its_checkpoint(folder, monkeypatch):
    learn = "learn shapes.npz --atoms 4 --nonzero 2 --coder ormp"
    lines_of(run(f"{learn} -o whole.npz"))
    (folder / "m.npz").write_text("mine")
    tell, passes = FitProgress.__call__, []

    def interrupt(self, iteration):
        passes.append(iteration.rmse)
        if len(passes) == 4:
            raise KeyboardInterrupt
        return tell(self, iteration)

    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "__call__", interrupt)
        stopped = run(f"{learn} -o m.npz --checkpoint c.npz --force --json")
    found = json.loads(stopped.stdout)
    assert (stopped.exit_code, found["error"]["kind"], found["outputs"]) == (130, "interrupted", ["m.interrupted.npz"])
    assert "interrupted: m.interrupted.npz has the best dictionary so far, RMSE" in found["error"]["message"]
    assert "; the same command goes on from c.npz" in found["error"]["message"]
    assert sx.load("m.interrupted.npz").rmse_ == pytest.approx(min(passes))
    assert (folder / "m.npz").read_text() == "mine"
    lines_of(run(f"{learn} -o m.npz --checkpoint c.npz --force"))
    np.testing.assert_array_equal(sx.load("m.npz").atoms_, sx.load("whole.npz").atoms_)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a process")
def test_ctrl_c_of_a_real_process(folder, shapes):
    many = sx.ShapeSet(np.tile(shapes.configurations, (500, 1)), shapes.space)
    noise = 0.01 * np.random.default_rng(0).normal(size=(*many.shape, 2)) @ [1, 1j]
    sx.write(many.replace(configurations=many.configurations + noise), "many.npz")
    command = [sys.executable, "-m", "shapelex", "learn", "many.npz", "-o", "m.npz", "--restarts", "1000"]
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
    learn = "learn shapes.npz -o m.npz --atoms 4 --nonzero 2 --max-iter 5"
    facts = facts_of(run(f"{learn} --json"))["stability"]
    found = sx.load("m.npz").stability_
    expected = sx.ShapeDictionary(4, 2, space=shapes.space, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
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
    wide = "more than 65536 columns" if "wide" in name else "holds no codes that can be read"
    with pytest.raises(sx.exceptions.CodesError, match=f"{name} .*{wide}.*{words}"):
        sx.read_codes(name)
    assert "wide" not in name or refused(f"report model.npz shapes.npz -o page.html --predictions {name}", wide)


def test_landmarks_are_filled_in_and_the_set_says_so(folder, shapes):
    rows = shapes.configurations.copy()
    rows[:6, 2] = rows[3:6, 9] = np.nan
    gaps = shapes.replace(configurations=rows, missing="allow")
    sx.write(gaps, "gaps.npz")
    result = facts_of(run("impute gaps.npz -o full.npz --atoms 3 --nonzero 2 --json"))
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


def test_groups_of_a_joined_sheet_are_held_out_together(folder, shapes):
    rows = np.repeat(shapes.configurations[:10], 4, axis=0)
    rows = rows + 0.001 * np.random.default_rng(0).normal(size=rows.shape)
    sx.write(shapes.replace(configurations=rows), "all.npz")
    sheet = pd.DataFrame({"id": shapes.ids, "specimen": np.repeat([f"s{n}" for n in range(10)], 4)})
    sheet.to_csv("sheet.csv", index=False)
    lines_of(run("import all.npz -o specimens.npz --labels sheet.csv"))
    found = sx.read("specimens.npz")
    expected = sx.compare(
        found, ["complex PCA"], [1], n_atoms=8, cv=5, groups=found.metadata["specimen"], random_state=0
    )
    compare = "compare specimens.npz --atoms 8 --nonzero 1 --method 'complex PCA' --folds 5 --json"
    grouped, shuffled = (
        [row["rmse"] for row in facts_of(run(f"{compare} {option}"))["rows"] if row["split"] == "held out"]
        for option in ("--group specimen", "--shuffle")
    )
    np.testing.assert_allclose(grouped, [row["rmse"] for row in expected.rows() if row["split"] == "held out"])
    # A shape that is held out alone has near copies among the others.
    assert np.mean(grouped) > 1.01 * np.mean(shuffled)
