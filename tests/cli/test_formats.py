"""``shapelex formats``, options of formats, and shell completion."""

import os
import subprocess
import sys

import pytest

from shapelex.io.registry import FORMATS
from tests.cli.conftest import facts_of, lines_of, run


def test_all_formats_are_listed_with_their_endings(folder):
    shown = lines_of(run("formats"))
    assert [line.split()[0] for line in shown[: len(FORMATS)]] == list(FORMATS)
    assert next(line for line in shown if line.startswith("tps ")).split() == [
        "tps",
        "read,",
        "write",
        ".tps",
        ".tps.gz",
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_every_option_is_listed_with_its_default_and_explained(folder, name):
    (described,) = facts_of(run("formats", name, "--json"))["formats"]
    assert described["can_write"] == FORMATS[name].can_write
    assert {option["name"] for option in described["options"]} == FORMATS[name].options
    for option in described["options"]:
        assert len(option["explanation"].split()) > 2, option["name"]
        assert "\n" not in option["explanation"]


def completions(*words):
    """Return what bash is offered for the last word."""
    line = " ".join(["shapelex", *words])
    environment = {
        **os.environ,
        "_SHAPELEX_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
    }
    command = [sys.executable, "-m", "shapelex"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_formats_and_distances_are_completed():
    assert completions("formats", "t") == ["tps", "tsv"]
    assert completions("import", "a.txt", "--format", "t") == ["tps", "tsv"]
    assert set(completions("learn", "shapes.npz", "--distance", "")) == {"full", "partial", "geodesic"}
