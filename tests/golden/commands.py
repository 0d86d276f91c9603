"""Commands that do not learn, on files of version 0.1.0; what they print as JSON and the tables that they write."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import shapelex as sx
from shapelex.cli.app import app
from tests.golden.calls import FILES_0_1_0, make_incomplete

COMMANDS = {
    "formats": "formats --json",
    "info shapes": "info shapes.npz --json",
    "info model": "info ShapeDictionary.npz --json",
    "info codes": "info codes.npz --json",
    "mean": "mean shapes.npz -o out.csv --json",
    "mean by label": "mean shapes.npz -o out.csv --by-label --distance geodesic --json",
    "encode": "encode ShapeDictionary.npz shapes.npz -o out.csv --json",
    "encode in columns of atoms": "encode ShapeDictionary.npz shapes.npz -o out.csv --layout atoms --json",
    "reconstruct": "reconstruct ShapeDictionary.npz shapes.npz -o out.csv --json",
    "distances": "distances shapes.npz -o out.csv --distance partial --json",
    "register": "register shapes.npz -o out.csv --json",
    "impute": "impute incomplete.npz --model ShapeDictionary.npz -o out.csv --json",
    "sequence": "sequence ShapeDictionary.npz shapes.npz -o out.csv --switch-cost 0.05 --fps 2 --json",
    "replay": "replay codes.npz --json",
}
"""Commands by name; a file ``out.csv`` is compared too."""

UNSTABLE = {"version", "versions", "processors", "inputs", "remarks", "warnings", "explanation", "notes", "state"}
"""Parts of JSON that are left out: versions, paths, and sentences for readers."""


def make_files(folder: Path) -> None:
    for path in FILES_0_1_0.glob("*.npz"):
        shutil.copy(path, folder)
    shapes = sx.ShapeSet(make_incomplete(), sx.Landmarks(8, closed=True), missing="allow")
    sx.write(shapes, folder / "incomplete.npz")


def without_unstable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_unstable(part) for key, part in value.items() if key not in UNSTABLE}
    return [without_unstable(part) for part in value] if isinstance(value, list) else value


def read_table(path: Path) -> list[list[Any]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return [[as_number(cell) for cell in row] for row in csv.reader(stream)]


def as_number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def run(name: str) -> dict[str, Any]:
    """Run a command in the current folder, and return its JSON and the table that it wrote."""
    Path("out.csv").unlink(missing_ok=True)
    result = CliRunner().invoke(app, COMMANDS[name].split())
    assert result.exit_code == 0, result.output
    table = read_table(Path("out.csv")) if "out.csv" in COMMANDS[name] else []
    return {"json": without_unstable(json.loads(result.stdout)), "table": table}


def assert_same(found: Any, expected: Any, where: str = "") -> None:
    """Compare parsed JSON: numbers up to rounding, all else exactly."""
    if isinstance(expected, float) and isinstance(found, int | float):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10, err_msg=where)
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}/{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            assert_same(found[number], value, f"{where}/{number}")
    else:
        assert found == expected, where
