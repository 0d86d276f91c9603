"""``replay``: what it says of inputs, and what it runs again."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.store.provenance import make_run, read_run, write_sidecar
from tests.cli.conftest import facts_of, lines_of, run

LEARN = ["learn", "shapes.npz", "-o", "m.npz", "--atoms", "3", "--nonzero", "1", "--max-iter", "2", "--quiet"]


@pytest.fixture
def learned(folder):
    lines_of(run(*LEARN, "--figure=atoms.png", "--force", "--checkpoint", "fit.checkpoint"))
    return folder


def test_inputs_are_unchanged_changed_or_missing(learned, shapes):
    for name in ("m.npz", "atoms.png"):
        assert lines_of(run("replay", name))[1:] == ["# input shapes.npz: unchanged"]
    found = facts_of(run("replay", "m.npz", "--json"))["inputs"]
    assert [(one["path"], one["bytes"], one["state"]) for one in found] == [
        ("shapes.npz", (learned / "shapes.npz").stat().st_size, "unchanged")
    ]
    sx.write(shapes[:30], "shapes.npz", overwrite=True)
    assert lines_of(run("replay", "m.npz"))[1:] == ["# input shapes.npz: changed"]
    (learned / "shapes.npz").unlink()
    assert lines_of(run("replay", "m.npz"))[1:] == ["# input shapes.npz: missing"]


def test_run_makes_the_same_model_elsewhere(learned):
    before = {path.name: path.read_bytes() for path in learned.iterdir()}
    shown = lines_of(run("replay", "m.npz", "--run", "-o", "again.npz"))
    assert shown == ["$ " + "shapelex learn shapes.npz --atoms 3 --nonzero 1 --max-iter 2 --quiet -o again.npz "
                     "--figure again.png"]  # fmt: skip
    np.testing.assert_array_equal(sx.load("again.npz").atoms_, sx.load("m.npz").atoms_)
    assert {path.name for path in learned.iterdir()} == {*before, "again.npz", "again.png", "again.png.json"}
    assert all((learned / name).read_bytes() == contents for name, contents in before.items())
    assert f"$ {read_run('again.npz')['command']}" == shown[0]


def test_run_replaces_only_with_force(learned):
    (learned / "again.npz").write_text("mine")
    result = run("replay", "m.npz", "--run", "-o", "again.npz")
    assert (result.exit_code, (learned / "again.npz").read_text()) == (1, "mine")
    assert "again.npz exists: choose another -o, or pass --force" in result.stderr
    facts = facts_of(run("replay", "m.npz", "--run", "-o", "again.npz", "--force", "--json"))
    assert facts["n_iter"] == sx.load("m.npz").n_iter_
    assert "--force" not in read_run("again.npz")["command"]


def test_run_refuses_changed_and_missing_inputs(learned, shapes):
    sx.write(shapes[:30], "shapes.npz", overwrite=True)
    result = run("replay", "m.npz", "--run", "-o", "again.npz")
    assert result.exit_code == 1
    assert "shapes.npz has changed since, so the result may differ: pass --allow-changed" in result.stderr
    assert not (learned / "again.npz").exists()
    lines_of(run("replay", "m.npz", "--run", "-o", "again.npz", "--allow-changed"))
    (learned / "shapes.npz").unlink()
    result = run("replay", "m.npz", "--run", "-o", "more.npz", "--allow-changed")
    assert (result.exit_code, "shapes.npz is missing" in result.stderr) == (1, True)


def test_folders_that_hold_the_output_and_files_beside_the_inputs_count(folder, shapes):
    sx.write(shapes, "like.npz")
    (folder / "sheet.csv").write_text("id,sex\ncell 1,f\n")
    lines_of(run("import", "shapes.npz", "-o", "all.npz", "--like", "like.npz", "--labels", "sheet.csv"))
    assert [one["path"] for one in read_run("all.npz")["inputs"]] == ["shapes.npz", "like.npz", "sheet.csv"]
    (folder / "in").mkdir()
    sx.write(shapes, "in/a.npz")
    lines_of(run("import", "in", "-o", "in/all.npz"))
    assert lines_of(run("replay", "in/all.npz"))[1:] == ["# input in: unchanged"]
    lines_of(run("replay", "in/all.npz", "--run", "-o", "again.npz", "--allow-changed"))


@pytest.mark.parametrize(
    "command",
    [
        "rm -r .",
        "shapelex",
        "shapelex replay x.npz --run -o y.npz",
        "shapelex learn shapes.npz -o m.npz --scheduler tcp://other:8786",
        "shapelex learn 'shapes.npz",
    ],
)
def test_records_of_others_run_nothing(folder, command):
    (folder / "c.csv").write_text("id\n")
    write_sidecar(folder / "c.csv", make_run(command, 0))
    result = run("replay", "c.csv", "--run", "-o", "again.npz")
    assert (result.exit_code, "type it yourself" in result.stderr) == (1, True)
    assert {path.name for path in folder.iterdir()} == {"shapes.npz", "c.csv", "c.csv.json"}


def test_all_tells_the_inputs_of_the_commands_before(folder, shapes):
    sx.write(shapes, "raw.csv")
    lines_of(run("import", "raw.csv", "-o", "made.npz"))
    lines_of(run("learn", "made.npz", *LEARN[2:], "--force"))
    sx.write(shapes[:30], "raw.csv", overwrite=True)
    assert lines_of(run("replay", "m.npz"))[1:] == ["# input made.npz: unchanged"]
    assert set(lines_of(run("replay", "m.npz", "--all"))[2:]) == {
        "# input raw.csv: changed",
        "# input made.npz: unchanged",
    }
    assert facts_of(run("replay", "m.npz", "--all", "--json"))["earlier_inputs"] == {"raw.csv": "changed"}
