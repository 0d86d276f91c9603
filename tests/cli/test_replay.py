"""``replay`` and records of runs: what is said of inputs, what is run again, and records that others wrote."""

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.files.provenance import make_run, read_run, write_sidecar
from shapelex.files.table_file import write_table
from tests.cli.conftest import facts_of, lines_of, refused, run

LEARN = "-o m.npz --atoms 3 --nonzero 1 --max-iter 2 --quiet"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="there are such files on Linux")


@pytest.fixture
def learned(folder):
    lines_of(run(f"learn shapes.npz {LEARN} --figure=atoms.png --force --checkpoint fit.checkpoint"))
    return folder


def test_inputs_are_unchanged_changed_or_missing_and_then_not_run(learned, shapes):
    for name in ("m.npz", "atoms.png"):
        assert lines_of(run("replay", name))[1:] == ["# input shapes.npz: unchanged"]
    found = facts_of(run("replay m.npz --json"))["inputs"]
    size = (learned / "shapes.npz").stat().st_size
    assert [(one["path"], one["bytes"], one["state"]) for one in found] == [("shapes.npz", size, "unchanged")]
    sx.write(shapes[:30], "shapes.npz", overwrite=True)
    assert lines_of(run("replay m.npz"))[1:] == ["# input shapes.npz: changed"]
    again = "replay m.npz --run -o again.npz"
    refused(again, "shapes.npz has changed since, so the result may differ: pass --allow-changed")
    assert not (learned / "again.npz").exists()
    lines_of(run(f"{again} --allow-changed"))
    (learned / "shapes.npz").unlink()
    assert lines_of(run("replay m.npz"))[1:] == ["# input shapes.npz: missing"]
    refused("replay m.npz --run -o more.npz --allow-changed", "shapes.npz is missing")


def test_run_makes_the_same_model_elsewhere_and_replaces_it_only_with_force(learned):
    before = {path.name: path.read_bytes() for path in learned.iterdir()}
    again = "replay m.npz --run -o again.npz"
    shown = lines_of(run(again))
    words = "--atoms 3 --nonzero 1 --max-iter 2 --quiet -o again.npz --figure again.png"
    assert shown == [f"$ shapelex learn shapes.npz {words}"]
    np.testing.assert_array_equal(sx.load("again.npz").atoms_, sx.load("m.npz").atoms_)
    assert {path.name for path in learned.iterdir()} == {*before, "again.npz", "again.png", "again.png.json"}
    assert all((learned / name).read_bytes() == contents for name, contents in before.items())
    assert f"$ {read_run('again.npz')['command']}" == shown[0]
    (learned / "again.npz").write_text("mine")
    refused(again, "again.npz exists: choose another -o, or pass --force")
    assert (learned / "again.npz").read_text() == "mine"
    assert facts_of(run(f"{again} --force --json"))["n_iter"] == sx.load("m.npz").n_iter_
    assert "--force" not in read_run("again.npz")["command"]


def test_folders_that_hold_the_output_and_files_beside_the_inputs_count(folder, shapes):
    sx.write(shapes, "like.npz")
    (folder / "sheet.csv").write_text("id,sex\ncell 1,f\n")
    lines_of(run("import shapes.npz -o all.npz --like like.npz --labels sheet.csv"))
    assert [one["path"] for one in read_run("all.npz")["inputs"]] == ["shapes.npz", "like.npz", "sheet.csv"]
    (folder / "in").mkdir()
    sx.write(shapes, "in/a.npz")
    lines_of(run("import in -o in/all.npz"))
    assert lines_of(run("replay in/all.npz"))[1:] == ["# input in: unchanged"]
    lines_of(run("replay in/all.npz --run -o again.npz --allow-changed"))
    # Words after two dashes are recorded as such.
    sx.write(shapes, "-cells.npz")
    lines_of(run("import -o a.npz -- -cells.npz"))
    lines_of(run("replay a.npz --run -o b.npz"))
    assert len(sx.read("b.npz")) == 40
    # The inputs of the commands before.
    lines_of(run(f"learn a.npz {LEARN}"))
    sx.write(shapes[:30], "-cells.npz", overwrite=True)
    inputs = ["# input -cells.npz: changed", "# input a.npz: unchanged"]
    assert lines_of(run("replay m.npz"))[1:] == inputs[1:]
    assert sorted(lines_of(run("replay m.npz --all"))[2:]) == sorted(inputs)
    assert facts_of(run("replay m.npz --all --json"))["earlier_inputs"] == {"-cells.npz": "changed"}


def make_record(command, facts=None, inputs=()):
    """Write a table with the record of a command."""
    Path("table.csv").write_text("a\n1\n")
    described = [
        {"path": one, "bytes": Path(one).stat().st_size, "sha256": hashlib.sha256(Path(one).read_bytes()).hexdigest()}
        for one in inputs
    ]
    write_sidecar(Path("table.csv"), {"command": command, "facts": facts or {}, "inputs": described})


TEST = "shapelex test shapes.npz --by label --permutations 19 --table table.csv"
CODE = ("np.f2py.os.system('touch victim')", "np.savetxt('victim', [0])", "open('victim', 'w')")


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("rm -r .", 1, "type it yourself"),
        ("shapelex", 1, "type it yourself"),
        ("shapelex replay x.npz --run -o y.npz", 1, "type it yourself"),
        ("shapelex learn shapes.npz -o m.npz --scheduler tcp://other:8786", 1, "type it yourself"),
        ("shapelex learn 'shapes.npz", 1, "type it yourself"),
        (f"{TEST} -qovictim", 1, "cannot be run with out victim"),
        (f"{TEST} -qo victim", 1, "cannot be run with out victim"),
        *((f"{TEST} --model {shlex.quote(f'~ label + I(size + 0 * {code})')}", 2, "must not contain") for code in CODE),
    ],
)
def test_records_of_others_run_nothing(folder, command, status, message):
    make_record(command, inputs=["shapes.npz"])
    refused("replay table.csv --run -o again.csv", message, status)
    assert {path.name for path in folder.iterdir()} == {"shapes.npz", "table.csv", "table.csv.json"}


@pytest.mark.usefixtures("folder")
def test_run_again_writes_to_no_other_path():
    make_record(f"{TEST} --out=victim", inputs=["shapes.npz"])
    assert "wrote new.csv" in run("replay table.csv --run -o new.csv --allow-changed").output
    assert not Path("victim").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("test", {"dropped": [1]}),
        ("test", {"n_pairs": "x", "correction": "holm"}),
        ("test", {"adjustment": 5}),
        ("test", {"n_used": 3}),
        ("classify", {"methods": [1]}),
        ("classify", {"accuracy": 0.5}),
        ("learn", {"rmse": "abc"}),
        ("import", {"preparation": "x"}),
        ("import", {"notes": [1]}),
    ],
)
def test_facts_that_make_no_sense(command, facts):
    make_record(f"shapelex {command} a.npz --by label -o b.npz", facts)
    refused("methods table.csv", f"the record of 'shapelex {command}")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["info", "replay", "methods"])
@pytest.mark.parametrize(
    "content",
    ["[]", "5", '"x"', '{"provenance":null}', '{"provenance":5}', '{"provenance":[1]}', '{"provenance":[[]]}'],
)
def test_pages_with_other_data(command, content):
    Path("page.html").write_text(f'<script type="application/json" id="shapelex-data">{content}</script>')
    refused(f"{command} page.html", "page.html")


@pytest.mark.usefixtures("folder")
def test_a_new_file_does_not_keep_the_record_of_the_old_one(shapes):
    write_table("cells.csv", [{"id": ["a"]}], make_run("shapelex distances", 0))
    assert run("replay cells.csv").output.startswith("shapelex distances")
    sx.write(shapes, "cells.csv", overwrite=True)
    assert not Path("cells.csv.json").exists()
    # A file of the user that only has such a name stays.
    Path("other.csv.json").write_text("{}")
    sx.write(shapes, "other.csv")
    assert Path("other.csv.json").read_text() == "{}"


@on_linux
@pytest.mark.usefixtures("folder")
def test_pipes_and_devices_are_no_targets(shapes):
    os.mkfifo("pipe.csv")
    Path("link.csv").symlink_to("/dev/null")
    for target in ("pipe.csv", "link.csv"):
        refused(f"mean shapes.npz -o {target} --force", f"{target} is not a regular file")
        with pytest.raises(sx.exceptions.ShapeFileError, match="is not a regular file"):
            sx.write(shapes, target, overwrite=True)
    assert Path("pipe.csv").is_fifo()
    assert Path("link.csv").is_char_device()


@on_linux
@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("command", ["info shapes.npz --json", "--help"])
def test_output_to_a_full_disk(command):
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "shapelex", *command.split()]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "shapelex: standard output: No space left on device.\n"
