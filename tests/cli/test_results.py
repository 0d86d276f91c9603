"""What commands write is what the library computes; what an interrupted or killed run leaves."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import shapelex as sx
from shapelex.estimators.progress import FitProgress
from shapelex.exceptions import CodesError
from tests.cli.conftest import facts_of, lines_of, run


def test_learn_is_what_the_estimator_learns(folder, shapes):
    arguments = ["--atoms", "4", "--nonzero", "2", "--coder", "ormp", "--seed", "3", "--restarts", "2"]
    shown = lines_of(run("learn", "shapes.npz", "-o", "m.npz", *arguments))
    model = sx.ShapeDictionary(4, 2, space=shapes.space, coder="ormp", n_restarts=2, random_state=3).fit(shapes)
    np.testing.assert_array_equal(sx.load("m.npz").atoms_, model.atoms_)
    assert shown[0] == f"40 shapes, 4 atoms, at most 2 per shape: RMSE {100 * model.rmse_:.2f} %"
    assert lines_of(run("info", "m.npz"))[-1].startswith("made by: shapelex learn shapes.npz -o m.npz")
    facts = facts_of(run("info", "m.npz", "--json"))
    assert (facts["n_atoms"], facts["seed"]) == (4, 3)


def test_commands_before_are_replayed_in_order(ready):
    lines_of(run("report", "model.npz", "shapes.npz", "-o", "page.html"))
    assert lines_of(run("replay", "page.html", "--all")) == [
        "shapelex import cells.tps -o shapes.npz",
        "shapelex learn shapes.npz -o model.npz",
        "shapelex report model.npz shapes.npz -o page.html",
        "# input shapes.npz: unchanged",
        "# input model.npz: unchanged",
    ]


def test_an_interrupted_fit_keeps_the_best_beside_the_output(folder, monkeypatch):
    (folder / "m.npz").write_text("mine")
    passes = []

    def interrupt(self, iteration):
        passes.append(iteration.rmse)
        if len(passes) == 3:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr("shapelex.estimators.progress.FitProgress.__call__", interrupt)
    sizes = ["--atoms", "4", "--nonzero", "2", "--tie", "0"]
    result = run("learn", "shapes.npz", "-o", "m.npz", *sizes, "--coder", "ormp", "--force")
    assert result.exit_code == 130
    assert result.stderr.startswith("shapelex: interrupted: m.interrupted.npz has the best dictionary so far, RMSE")
    assert sx.load("m.interrupted.npz").rmse_ == pytest.approx(min(passes))
    assert (folder / "m.npz").read_text() == "mine"


def test_a_fit_goes_on_from_its_checkpoint(folder, monkeypatch):
    arguments = ["learn", "shapes.npz", "--atoms", "4", "--nonzero", "2", "--coder", "ormp"]
    lines_of(run(*arguments, "-o", "whole.npz"))
    tell, passes = FitProgress.__call__, []

    def interrupt(self, iteration):
        passes.append(iteration)
        if len(passes) == 4:
            raise KeyboardInterrupt
        return tell(self, iteration)

    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "__call__", interrupt)
        stopped = run(*arguments, "-o", "m.npz", "--checkpoint", "c.npz")
    assert stopped.exit_code == 130
    assert "; the same command goes on from c.npz" in stopped.stderr
    assert not (folder / "m.npz").exists()
    lines_of(run(*arguments, "-o", "m.npz", "--checkpoint", "c.npz"))
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
    arguments = ("learn", "shapes.npz", "-o", "m.npz", "--atoms", "4", "--nonzero", "2", "--max-iter", "5")
    facts = facts_of(run(*arguments, "--json"))["stability"]
    found = sx.load("m.npz").stability_
    expected = sx.ShapeDictionary(4, 2, space=shapes.space, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected.fit(shapes)
    assert facts == found.to_json() == expected.stability_.to_json()
    assert len(facts["can_be_named"]) == 4
    told = run("info", "m.npz")
    assert found.summary() in told.stdout
    assert facts_of(run("info", "m.npz", "--json"))["stability"] == facts
    result = run(*arguments, "--no-stability", "--force")
    assert "can be named" not in result.stdout
    assert "can be named" not in run("info", "m.npz").stdout
    assert not hasattr(sx.load("m.npz"), "stability_")


def test_other_models_are_described(folder, shapes):
    sx.ShapeDictionaryClassifier(3, 2, tol=0.1, random_state=0).fit(shapes, shapes.labels).save("classes.npz")
    shown = lines_of(run("info", "classes.npz"))
    assert shown[0].startswith("ShapeDictionaryClassifier in Landmarks(n_points=16")
    assert shown[1] == "2 classes, 3 to 3 atoms each"
    facts = facts_of(run("info", "classes.npz", "--json"))
    assert (facts["classes"], facts["n_atoms"]) == (["a", "b"], [3, 3])
    sx.ProcrustesKernel(2.0).fit(shapes).save("kernel.npz")
    assert lines_of(run("info", "kernel.npz"))[1] == "40 shapes, gamma 2"
    result = run("encode", "classes.npz", "shapes.npz", "-o", "codes.csv")
    assert result.exit_code == 1
    assert "holds a ShapeDictionaryClassifier: this command needs a dictionary that learn wrote" in result.stderr


def test_pages_and_figures_are_described(ready):
    lines_of(run("report", "model.npz", "shapes.npz", "-o", "page.html"))
    assert lines_of(run("info", "page.html")) == [
        "page for the eye, no shapes",
        "made before it: shapelex import cells.tps -o shapes.npz",
        "made before it: shapelex learn shapes.npz -o model.npz",
        "made by: shapelex report model.npz shapes.npz -o page.html",
    ]
    facts = facts_of(run("info", "page.html", "--json"))
    assert (facts["holds"], facts["command"].split()[1], len(facts["earlier"])) == ("page", "report", 2)
    for name in ("mean.png", "mean.svg", "mean.pdf"):
        lines_of(run("mean", "shapes.npz", "-o", "mean.npz", "--figure", name, "--force"))
        assert lines_of(run("info", name))[0] == "figure for the eye, no shapes"


@pytest.mark.parametrize("layout", ["slots", "atoms"])
@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.xlsx", "c.parquet", "c.npz", "c.zarr"])
def test_codes_come_back_with_what_is_known_of_the_shapes(ready, shapes, model, name, layout):
    n_shapes = len(shapes)
    told = {
        "area": np.linspace(1, 2, n_shapes),
        "file": np.array([f"{k:03d}.tif" for k in range(n_shapes)]),
        "frame": np.arange(n_shapes),
        "touches": np.arange(n_shapes) % 2 == 0,
        "error": np.ones(n_shapes),
    }
    labels = np.array(["NA", "", *["x"] * (n_shapes - 2)])
    ids = np.array([f"{k:03d}" for k in range(n_shapes)])
    sx.write(shapes.replace(ids=ids, labels=labels, metadata=told), "told.npz")
    lines_of(run("encode", "model.npz", "told.npz", "-o", name, "--layout", layout))
    found = sx.read_codes(name)
    codes, errors = found
    np.testing.assert_allclose(codes.toarray(), model.transform(shapes), atol=1e-12)
    assert codes.n_atoms == 4
    np.testing.assert_allclose(errors, model.errors(shapes), atol=1e-12)
    assert set(found.columns) == {"id", "label", "area", "file", "frame", "touches", "meta error"} | (
        set() if shapes.sequence is None else {"sequence"}
    )
    for name_, column in {"id": ids, "label": labels, **{k: v for k, v in told.items() if k != "error"}}.items():
        if column.dtype.kind == "f":
            # Sheets have 16 digits.
            np.testing.assert_allclose(found.columns[name_], column, rtol=1e-15)
        else:
            np.testing.assert_array_equal(found.columns[name_], column)
        assert found.columns[name_].dtype.kind == column.dtype.kind


def test_tables_of_codes_that_cannot_be_read(folder):
    (folder / "old.csv").write_text("id,error,n_used,atom_1,modulus_1,angle_1\na,0.5,1,2,1,0\n")
    with pytest.raises(CodesError, match=r"old\.csv holds no codes that can be read: it does not say how many atoms"):
        sx.read_codes("old.csv")
    (folder / "bad.csv").write_text("id,error,n_used,n_atoms,atom_1,modulus_1,angle_1\na,0.5,1,2,7,1,0\n")
    with pytest.raises(CodesError, match=r"bad\.csv holds no codes that can be read"):
        sx.read_codes("bad.csv")
    (folder / "bad.xlsx").write_text("no workbook")
    with pytest.raises(CodesError, match=r"bad\.xlsx holds no codes that can be read"):
        sx.read_codes("bad.xlsx")
