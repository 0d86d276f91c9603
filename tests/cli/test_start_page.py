"""The commands of the start page on masks run as they stand there, on the images of the demo."""

import re
import shlex
from pathlib import Path

import pytest

from shapelex.cli.leaf_sheets import write_leaf_sheets
from tests.cli.conftest import run

pytest.importorskip("matplotlib")
pytest.importorskip("PIL")
pytest.importorskip("skimage")

PAGE = Path(__file__).parents[2] / "docs" / "start" / "masks.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is in the repository only")
def test_commands_run(folder):
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    demo, *commands = [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]
    assert demo == ["demo", "-o", "demo"]
    (folder / "demo").mkdir()
    write_leaf_sheets(folder / "demo" / "leaves", 2, 0)
    for command in commands:
        result = run(*command)
        assert result.exit_code == 0, result.output
    assert {"leaves.npz", "model.npz", "atoms.png", "codes.csv", "leaves.html"} <= {p.name for p in folder.iterdir()}
