"""The folder of ``shapelex test``: results of one run alone, files of the user kept, nothing lost after an error."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex import plotting
from shapelex.cli.group_results import RESULT_FILES
from shapelex.store.provenance import read_run
from tests.cli.conftest import lines_of, run

pytest.importorskip("formulaic")
BY_LABEL = ("test", "cells.npz", "--by", "label", "--dictionary", "model.npz", "--permutations", 19, "-o", "found")
BY_ANIMAL = ("test", "cells.npz", "--by", "animal", "--permutations", 19, "-o", "found", "--force")
OF_ATOMS = {"atoms.csv", "atom_means.csv", "atoms.png", "typical.png"}


@pytest.fixture
def cells(ready, shapes):
    sx.write(shapes.replace(metadata={"animal": np.arange(40) // 10}), "cells.npz")
    return ready


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def results_in(folder: Path) -> dict[str, str]:
    """Return the column whose groups each result compares, by the name of the file."""
    names = [name for name in RESULT_FILES if (folder / name).exists()]
    return {name: read_run(folder / name)["facts"]["by"] for name in names}


def test_results_of_an_earlier_test_are_replaced_as_a_whole(cells):
    found = cells / "found"
    lines_of(run(*BY_LABEL))
    assert set(results_in(found)) >= OF_ATOMS
    lines_of(run(*BY_ANIMAL))
    assert set(results_in(found).values()) == {"animal"}
    # Every file is a result, or the record of one.
    assert names_in(found) == {one for name in results_in(found) for one in (name, f"{name}.json")}
    assert not OF_ATOMS & names_in(found)


def test_files_of_others_are_kept(cells):
    found = cells / "found"
    found.mkdir()
    lines_of(run("encode", "model.npz", "cells.npz", "-o", "found/atoms.csv"))
    (found / "notes.txt").write_text("mine")
    (found / "typical.png").write_text("mine too")
    (found / "atom_means.csv").write_text("mine as well")
    (found / "atom_means.csv.json").write_text("{")
    (found / "sub").mkdir()
    lines_of(run(*BY_ANIMAL))
    assert {"notes.txt", "typical.png", "atoms.csv", "atoms.csv.json", "sub"} <= names_in(found)
    assert read_run(found / "atoms.csv")["command"].startswith("shapelex encode")
    assert (found / "atom_means.csv.json").read_text() == "{"


@pytest.mark.parametrize("is_new", [True, False])
def test_error_leaves_the_earlier_results(cells, monkeypatch, is_new):
    if not is_new:
        lines_of(run(*BY_LABEL))
    found = cells / "found"
    before = {} if is_new else {path: path.read_bytes() for path in found.iterdir()}

    def fail(figure, path, **options):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(plotting, "save_figure", fail)
    result = run(*BY_ANIMAL)
    assert (result.exit_code, result.stderr) == (1, "shapelex: found: No space left on device.\n")
    assert found.exists() is not is_new
    if not is_new:
        assert {path: path.read_bytes() for path in found.iterdir()} == before


def test_earlier_results_come_back_where_new_ones_cannot_be_put_in_place(cells):
    found = cells / "found"
    lines_of(run(*BY_LABEL))
    (found / "pairs.csv").unlink()
    (found / "pairs.csv").mkdir()
    before = {path.name for path in found.iterdir()}
    result = run(*BY_ANIMAL)
    assert (result.exit_code, "pairs.csv is a folder, where a result would go" in result.stderr) == (1, True)
    assert {path.name for path in found.iterdir()} == before
    assert {read_run(found / name)["facts"]["by"] for name in OF_ATOMS} == {"label"}


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
@pytest.mark.parametrize("moment", ["_write_results", "_exchange"])
def test_killed_test_mixes_nothing_and_the_next_one_cleans_up(cells, moment):
    found = cells / "found"
    lines_of(run(*BY_LABEL))
    code = f"""
import os, signal
from shapelex.cli import group_tests
from shapelex.cli.main import main
done = group_tests.{moment}
def die(*words):
    # After the earlier results have left, and before the new ones come in.
    done(words[0], [], *words[2:]) if len(words) == 4 else done(*words)
    os.kill(os.getpid(), signal.SIGKILL)
group_tests.{moment} = die
main()
"""
    killed = subprocess.run([sys.executable, "-c", code, *map(str, BY_ANIMAL)], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert set(results_in(found).values()) == ({"label"} if moment == "_write_results" else set())
    lines_of(run(*BY_ANIMAL))
    assert set(results_in(found).values()) == {"animal"}
    assert not [name for name in names_in(found) if name.startswith(".")]
