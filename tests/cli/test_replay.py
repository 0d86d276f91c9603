"""``replay`` and records of runs: what is said of inputs, and records that others wrote."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shapelex as sx
from shapelex.files.provenance import make_run, read_run, write_sidecar
from shapelex.files.table_file import write_table
from tests.cli.conftest import facts_of, lines_of, needs_processes, refused, run

LEARN = "-o m.npz --n-atoms 3 --n-nonzero 1 --max-iter 2 --quiet"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="there are such files on Linux")


@pytest.fixture
def learned(folder):
    lines_of(run(f"learn shapes.npz {LEARN} --figure=atoms.png --force --checkpoint fit.checkpoint"))
    return folder


def test_inputs_are_unchanged_changed_or_missing(learned, shapes):
    for name in ("m.npz", "atoms.png"):
        assert lines_of(run("replay", name))[1:] == ["# input shapes.npz: unchanged"]
    found = facts_of(run("replay m.npz --json"))["inputs"]
    size = (learned / "shapes.npz").stat().st_size
    assert [(one["path"], one["bytes"], one["state"]) for one in found] == [("shapes.npz", size, "unchanged")]
    sx.write(shapes[:30], "shapes.npz", overwrite=True)
    assert lines_of(run("replay m.npz"))[1:] == ["# input shapes.npz: changed"]
    (learned / "shapes.npz").unlink()
    assert lines_of(run("replay m.npz"))[1:] == ["# input shapes.npz: missing"]


def test_folders_that_hold_the_output_and_files_beside_the_inputs_count(folder, shapes):
    sx.write(shapes, "like.npz")
    (folder / "sheet.csv").write_text("id,sex\ncell 1,f\n")
    lines_of(run("import shapes.npz -o all.npz --like like.npz --join sheet.csv"))
    assert [one["path"] for one in read_run("all.npz")["inputs"]] == ["shapes.npz", "like.npz", "sheet.csv"]
    (folder / "in").mkdir()
    sx.write(shapes, "in/a.npz")
    lines_of(run("import in -o in/all.npz"))
    assert lines_of(run("replay in/all.npz"))[1:] == ["# input in: unchanged"]
    # Words after two dashes are recorded as such.
    sx.write(shapes, "-cells.npz")
    lines_of(run("import -o a.npz -- -cells.npz"))
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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("test", {"n_used": 3, "n_shapes": 4, "dropped": [1]}),
        ("test", {"n_pairs": "x", "correction": "holm"}),
        ("test", {"correction": "holm", "other_terms": 5}),
        ("test", {"n_used": 3}),
        ("classify", {"methods": [1]}),
        ("classify", {"accuracy": 0.5}),
        ("learn", {"rmse": "abc"}),
        ("import", {"described": "outlines"}),
    ],
)
def test_facts_that_make_no_sense(command, facts):
    make_record(f"shapelex {command} a.npz --by label -o b.npz", facts)
    refused("methods table.csv", f"the record of 'shapelex {command}")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["info", "replay", "methods"])
@pytest.mark.parametrize(
    "content",
    ["[]", '"x"', '{"provenance":5}', '{"provenance":[[]]}'],
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
@needs_processes
@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("command", ["info shapes.npz --json", "--help"])
def test_output_to_a_full_disk(command):
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "shapelex", *command.split()]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "shapelex: standard output: No space left on device.\n"


@pytest.mark.usefixtures("folder")
def test_options_of_earlier_versions_are_told_by_methods():
    make_record("shapelex learn a.npz -o b.npz --atoms 7 --nonzero 2 --seed 5")
    text = run("methods table.csv").stdout
    assert "A dictionary of 7 typical shapes (atoms) was learned" in text
    assert "at most 2 of them" in text
    assert "random seed 5" in text
