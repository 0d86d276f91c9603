"""``shapelex register``: start points and directions of outlines that were imported as they are."""

import numpy as np
import pytest

import shapelex as sx
from tests.cli.conftest import facts_of, lines_of, run


@pytest.fixture
def rolled(folder, shapes):
    """The same outlines, from random start points, some of them reversed, in ``rolled.npz``."""
    rng = np.random.default_rng(1)
    rows = shapes.space.roll(shapes.configurations, rng.integers(0, 16, len(shapes)))
    rows[::3] = shapes.space.reverse(rows[::3])
    moved = shapes.replace(configurations=rows)
    sx.write(moved, "rolled.npz")
    return moved


def test_start_and_direction_can_be_kept(rolled):
    assert facts_of(run("register", "rolled.npz", "-o", "a.npz", "--no-start", "--json"))["n_moved"] == 0
    assert facts_of(run("register", "rolled.npz", "-o", "b.npz", "--no-direction", "--json"))["n_reversed"] == 0


def test_to_the_mean_of_another_set(rolled):
    lines_of(run("register", "rolled.npz", "-o", "first.npz"))
    lines_of(run("register", "rolled.npz", "-o", "second.npz", "--like", "first.npz"))
    assert not sx.read("second.npz").preparation.difference(sx.read("first.npz").preparation)
    result = run("register", "rolled.npz", "-o", "third.npz", "--like", "first.npz", "--reflection")
    assert result.exit_code == 2


def test_open_shapes_are_told_to_have_no_start_point(folder, shapes):
    sx.write(shapes.replace(space=sx.Landmarks(16)), "open.csv")
    shown = lines_of(run("import", "open.csv", "-o", "o.npz", "--register"))
    assert any("only their direction is registered" in line and "--closed" in line for line in shown)
    for option in ("--closed", "--open"):
        shown = lines_of(run("import", "open.csv", "-o", "o.npz", "--register", option, "--force"))
        assert not any("only their direction" in line for line in shown)
