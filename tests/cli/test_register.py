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


def test_it_does_what_register_does_in_python(rolled):
    result = facts_of(run("register", "rolled.npz", "-o", "out.npz", "--json"))
    expected = sx.register(rolled, rolled.space)
    found = sx.read("out.npz")
    np.testing.assert_array_equal(found.configurations, expected.configurations)
    assert found.preparation.is_registered
    assert list(found.labels) == list(rolled.labels)
    assert result["n_moved"] == np.count_nonzero(expected.shift)
    assert result["n_reversed"] == expected.is_reversed.sum()
    assert result["n_mirrored"] == 0
    assert result["distance_after"] < result["distance_before"]
    assert "40 shapes registered" in found.notes[-1]
    assert lines_of(run("replay", "out.npz"))[0] == "shapelex register rolled.npz -o out.npz --json"


def test_it_is_what_import_does(rolled):
    lines_of(run("register", "rolled.npz", "-o", "one.npz", "--reflection"))
    lines_of(run("import", "rolled.npz", "-o", "two.npz", "--register", "--reflection"))
    np.testing.assert_array_equal(sx.read("one.npz").configurations, sx.read("two.npz").configurations)


def test_start_and_direction_can_be_kept(rolled):
    assert facts_of(run("register", "rolled.npz", "-o", "a.npz", "--no-start", "--json"))["n_moved"] == 0
    assert facts_of(run("register", "rolled.npz", "-o", "b.npz", "--no-direction", "--json"))["n_reversed"] == 0


def test_to_the_mean_of_another_set(rolled):
    lines_of(run("register", "rolled.npz", "-o", "first.npz"))
    lines_of(run("register", "rolled.npz", "-o", "second.npz", "--like", "first.npz"))
    assert not sx.read("second.npz").preparation.difference(sx.read("first.npz").preparation)
    result = run("register", "rolled.npz", "-o", "third.npz", "--like", "first.npz", "--reflection")
    assert result.exit_code == 2


def test_sets_larger_than_memory(rolled, everything_is_large):
    result = facts_of(run("register", "rolled.npz", "-o", "out.zarr", "--json"))
    assert result["n_shapes"] == 40
    assert result["distance_after"] < result["distance_before"]
    expected = sx.register(rolled, rolled.space)
    np.testing.assert_allclose(sx.read("out.zarr").configurations, expected.configurations)


def test_open_shapes_are_told_to_have_no_start_point(folder, shapes):
    sx.write(shapes.replace(space=sx.Landmarks(16)), "open.csv")
    shown = lines_of(run("import", "open.csv", "-o", "o.npz", "--register"))
    assert any("only their direction is registered" in line and "--closed" in line for line in shown)
    for option in ("--closed", "--open"):
        shown = lines_of(run("import", "open.csv", "-o", "o.npz", "--register", option, "--force"))
        assert not any("only their direction" in line for line in shown)
