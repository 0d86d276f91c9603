"""``shapelex methods``: what the records of files say, as sentences."""

import numpy as np
import pytest

import shapelex as sx
from tests.cli.conftest import facts_of, lines_of, run

pytest.importorskip("formulaic")


@pytest.fixture
def results(folder, shapes):
    """Outputs of import, learn and test, in a folder."""
    sx.write(shapes.replace(missing="allow"), "points.tps")
    assert run("import", "points.tps", "-o", "cells.npz", "--closed").exit_code == 0
    stored = sx.read("cells.npz")
    labels = ["a", "b"] * 19 + ["", ""]
    sx.write(stored.replace(labels=labels), "labelled.npz", command="shapelex import points.tps -o labelled.npz")
    learned = run("learn", "cells.npz", "-o", "model.npz", "--atoms", 3, "--nonzero", 2, "--seed", 4, "--no-stability")
    assert learned.exit_code == 0, learned.output
    tested = run("test", "labelled.npz", "--by", "label", "--dictionary", "model.npz", "-o", "found",
                 "--permutations", 49)  # fmt: skip
    assert tested.exit_code == 0, tested.output
    return folder


def test_paragraph_tells_numbers_exclusions_settings_and_versions(results):
    text = "\n".join(lines_of(run("methods", "found/anova.csv", "model.npz")))
    assert "40 shapes were read from points.tps as closed configurations in Landmarks(n_points=16, closed=True)" in text
    assert "A dictionary of 3 atoms was learned from cells.npz, with at most 2 atoms per shape and seed 4" in text
    assert "38 of 40 shapes were used. Left out were rows 38 (no label), 39 (no label)." in text
    assert "The model shape ~ label was tested by Procrustes analysis of variance with 49 random residual" in text
    assert f"shapelex {sx.__version__} (Python " in text
    assert f"NumPy {np.__version__}" in text
    assert "Benjamini" in text
    assert "arXiv:1903.11356" in text
    # Each step once, though both files have them.
    assert text.count("A dictionary of 3 atoms was learned") == 1


def test_text_goes_to_a_file_and_json(results):
    assert run("methods", "found/anova.csv", "-o", "methods.md").exit_code == 0
    text = (results / "methods.md").read_text()
    facts = facts_of(run("methods", "found/anova.csv", "--json"))
    assert facts["paragraph"] in text
    assert [step["name"] for step in facts["steps"]] == ["import", "import", "learn", "test"]
    assert run("methods", "found/anova.csv", "-o", "methods.md").exit_code == 1
