"""Records of runs that others wrote, and paths that are none: every one ends in one line, and nothing is written."""

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import shapelex as sx
from shapelex.store.provenance import make_run, write_sidecar
from shapelex.store.table_file import write_table
from tests.cli import conftest

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="there are such files on Linux")


def run(*words, exit_code=0):
    result = conftest.run(*words)
    assert result.exit_code in (exit_code if isinstance(exit_code, tuple) else (exit_code,)), result.output
    return result


def make_record(words, facts=None, inputs=()):
    """Write a table with the record of a command."""
    Path("table.csv").write_text("a\n1\n")
    described = [
        {"path": one, "bytes": Path(one).stat().st_size, "sha256": hashlib.sha256(Path(one).read_bytes()).hexdigest()}
        for one in inputs
    ]
    record = {"command": shlex.join(["shapelex", *words]), "facts": facts or {}, "inputs": described}
    write_sidecar(Path("table.csv"), record)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("joined", "exit_code", "words_of_end"),
    [
        (("-qovictim",), 1, "cannot be run with out victim"),
        (("-qo", "victim"), 1, "cannot be run with out victim"),
        (("--out=victim",), 0, "wrote new.csv"),
    ],
)
def test_run_again_writes_to_no_other_path(joined, exit_code, words_of_end):
    words = ["test", "shapes.npz", "--by", "label", "--permutations", "19", "--table", "table.csv", *joined]
    make_record(words, inputs=["shapes.npz"])
    result = run("replay", "table.csv", "--run", "-o", "new.csv", "--allow-changed", exit_code=exit_code)
    assert words_of_end in result.output
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
    make_record([command, "a.npz", "--by", "label", "-o", "b.npz"], facts)
    result = run("methods", "table.csv", exit_code=1)
    assert f"the record of 'shapelex {command}" in result.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["info", "replay", "methods"])
@pytest.mark.parametrize(
    "content",
    ["[]", "5", '"x"', '{"provenance":null}', '{"provenance":5}', '{"provenance":[1]}', '{"provenance":[[]]}'],
)
def test_pages_with_other_data(command, content):
    Path("page.html").write_text(f'<script type="application/json" id="shapelex-data">{content}</script>')
    assert "page.html" in run(command, "page.html", exit_code=1).output


@pytest.mark.usefixtures("folder")
def test_a_new_file_does_not_keep_the_record_of_the_old_one(shapes):
    write_table("cells.csv", [{"id": ["a"]}], make_run("shapelex distances", 0))
    assert run("replay", "cells.csv").output.startswith("shapelex distances")
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
        assert f"{target} is no regular file" in run("mean", "shapes.npz", "-o", target, "--force", exit_code=1).output
        with pytest.raises(sx.exceptions.ShapeFileError, match="is no regular file"):
            sx.write(shapes, target, overwrite=True)
    assert Path("pipe.csv").is_fifo()
    assert Path("link.csv").is_char_device()


@on_linux
@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("words", [("info", "shapes.npz"), ("info", "shapes.npz", "--json"), ("--help",)])
def test_output_to_a_full_disk(words):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "shapelex", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "shapelex: standard output: No space left on device.\n"


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("mark", [",", "\t"])
def test_very_wide_tables_are_not_parsed_as_codes(mark):
    name = {",": "wide.csv", "\t": "wide.tsv"}[mark]
    Path(name).write_text(f"id{mark}class{mark}predicted{mark * 100_000}\n")
    with pytest.raises(sx.exceptions.CodesError, match="more than 65536 columns"):
        sx.read_codes(name)
    words = ("report", "model.npz", "shapes.npz", "-o", "page.html", "--predictions", name)
    assert "more than 65536 columns" in run(*words, exit_code=1).output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("code", ["np.f2py.os.system('touch owned')", "np.savetxt('owned', [0])", "open('owned', 'w')"])
def test_a_recorded_formula_runs_nothing(code):
    pytest.importorskip("formulaic")
    formula = f"~ label + I(size + 0 * {code})"
    words = ["test", "shapes.npz", "--by", "label", "--model", formula, "--permutations", "19", "-o", "results"]
    make_record(words, inputs=["shapes.npz"])
    result = run("replay", "table.csv", "--run", "-o", "again", exit_code=2)
    assert "must not contain" in result.output
    assert not Path("owned").exists()


@pytest.mark.usefixtures("ready")
def test_recorded_words_after_two_dashes(shapes):
    sx.write(shapes, "-cells.npz")
    run("import", "-o", "a.npz", "--", "-cells.npz")
    run("replay", "a.npz", "--run", "-o", "b.npz")
    assert len(sx.read("b.npz")) == 40
