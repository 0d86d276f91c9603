"""``shapelex demo``, which has data of its own."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.cli import demo as demo_command
from shapelex.cli.figures import pose_on_page
from shapelex.cli.leaf_sheets import N_COLUMNS, write_leaf_sheets
from tests.cli.conftest import lines_of, run

PAGE = Path(__file__).parents[2] / "docs" / "start" / "masks.md"
FILES = {
    "leaves", "leaves.json", "shapes.npz", "model.npz", "atoms.png", "atoms.png.json", "codes.csv", "codes.csv.json",
    "reconstructions.png", "reconstructions.png.json",
    "comparison.csv", "comparison.csv.json", "comparison.png", "comparison.png.json", "report.html",
}  # fmt: skip


def test_demo_runs_the_commands_that_it_prints(folder, monkeypatch):
    for name, value in {"N_ROWS": 1, "N_POINTS": 24, "N_ATOMS": 4, "N_NONZERO": 1}.items():
        monkeypatch.setattr(demo_command, name, value)
    result = run("demo", "-o", "demo", "--random-state", "3")
    shown = lines_of(result)
    commands = [line[2:] for line in shown if line.startswith("$ ")]
    assert [command.split()[1] for command in commands] == ["import", "learn", "encode", "compare", "report"]
    assert [command.split()[1] for command in commands if "--random-state 3" in command] == [
        "import",
        "learn",
        "compare",
    ]
    assert "RMSE in percent of held-out shapes" in result.stdout
    assert shown[-1].endswith("Open demo/report.html in a browser; the figures are beside it.")
    assert {path.name for path in (folder / "demo").iterdir()} == FILES
    assert sx.load("demo/model.npz").random_state == 3
    assert lines_of(run("replay", "demo/report.html", "--all"))[:3] == [commands[0], commands[1], commands[4]]


@pytest.mark.parametrize("module", ["matplotlib", "PIL", "skimage"])
def test_without_a_library_one_line_names_the_extra(folder, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    result = run("demo")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("shapelex: shapelex demo needs ")
    assert result.stderr.endswith('which is not installed: pip install "shapelex[report]".\n')
    assert not (folder / "demo").exists()


def test_every_leaf_of_a_sheet_is_read_and_drawn_upright(tmp_path):
    paths = write_leaf_sheets(tmp_path / "leaves", 2, seed=1)
    shapes = sx.read(tmp_path / "leaves", n_points=60, label_from=r"(\w+)\.png")
    assert {path.stem for path in paths} == set(shapes.labels)
    assert np.unique(shapes.labels, return_counts=True)[1].tolist() == [2 * N_COLUMNS] * 6
    assert not shapes.metadata["touches_border"].any()
    registered = shapes.replace(configurations=sx.register(shapes).configurations)
    pose = pose_on_page(registered, shapes.space)
    # The lowest tenth of an upright leaf is a part of its thin stalk.
    stalk = pose[pose.imag < pose.imag.min() + 0.1 * np.ptp(pose.imag)]
    assert np.ptp(stalk.real) < 0.1 * np.ptp(pose.real)


@pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is in the repository only")
def test_commands_of_the_start_page_run(folder):
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    demo, *commands = [line.removeprefix("shapelex ") for block in blocks for line in block.splitlines()]
    assert demo == "demo -o demo"
    (folder / "demo").mkdir()
    write_leaf_sheets(folder / "demo" / "leaves", 2, 0)
    for command in commands:
        lines_of(run(command))
    assert {"leaves.npz", "model.npz", "atoms.png", "codes.csv", "leaves.html"} <= {p.name for p in folder.iterdir()}
