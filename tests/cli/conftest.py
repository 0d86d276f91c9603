"""Made shapes in files, and commands in this process."""

import json
import os
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import shapelex as sx
from shapelex.cli.app import app
from shapelex.io import parts, stored_shapes
from shapelex.kernels.compilation import CompilationLog
from shapelex.shapes import storage

needs_processes = pytest.mark.skipif("CI" not in os.environ, reason="more processes are started where CI is set")


@pytest.fixture(autouse=True)
def _compiled_before(monkeypatch):
    """Say nothing of kernels that are compiled on the way: what a command prints does not depend on numba's cache."""
    monkeypatch.setattr(CompilationLog, "on_start", CompilationLog.on_end)


@pytest.fixture(scope="session")
def shapes():
    rng = np.random.default_rng(0)
    t = 2j * np.pi * np.arange(16) / 16
    noise = 0.2 * rng.normal(size=(40, 3)) @ [np.exp(-t), np.exp(2 * t), np.exp(-2 * t)]
    outlines = (np.exp(t) + noise) * np.exp(1j * rng.uniform(0, 6, size=(40, 1)))
    return sx.ShapeSet(
        outlines, sx.Landmarks(16, closed=True), ids=[f"cell {n}" for n in range(40)], labels=["a", "b"] * 20
    )


@pytest.fixture
def folder(tmp_path, shapes, monkeypatch):
    """A folder to work in, with ``shapes.npz``."""
    monkeypatch.chdir(tmp_path)
    sx.write(shapes, "shapes.npz", command="shapelex import cells.tps -o shapes.npz")
    return tmp_path


@pytest.fixture(scope="session")
def model(shapes):
    return sx.ShapeDictionary(4, 2, space=shapes.space, coder="ormp", max_iter=5, tol=0.1, random_state=0).fit(shapes)


@pytest.fixture
def ready(folder, model):
    """A folder with ``shapes.npz`` and ``model.npz``."""
    model.save("model.npz", run={"command": "shapelex learn shapes.npz -o model.npz", "earlier": []})
    return folder


@pytest.fixture
def everything_is_large(monkeypatch):
    """Read everything piece by piece, in small pieces."""
    monkeypatch.setattr(stored_shapes, "LARGE_BYTES", 1)
    monkeypatch.setattr(parts, "_BATCH_RECORDS", 7)
    monkeypatch.setattr(storage, "BLOCK_ROWS", 7)


def run(*words):
    """Run a command: its words, or one text as it is typed."""
    typed = shlex.split(words[0]) if len(words) == 1 else words
    return CliRunner().invoke(app, [str(word) for word in typed])


def facts_of(result):
    """Return the results that a command printed as JSON."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["result"]


def lines_of(result):
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def error_of(result):
    """Return what a command that failed said on standard error, without line breaks and frames."""
    assert result.exit_code != 0, result.output
    return " ".join(result.stderr.replace("│", " ").split())


def refused(command, message, status=1):
    """Run a command that must fail with this status, and say so."""
    result = run(command)
    assert result.exit_code == status, result.output
    assert message in error_of(result)
    return result
