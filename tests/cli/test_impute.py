"""``shapelex impute``: what is filled in, and what the set says of it."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.learning import population
from tests.cli.conftest import facts_of, lines_of, run


@pytest.fixture(autouse=True)
def _short_searches(monkeypatch):
    """Learn many dictionaries, quickly."""
    monkeypatch.setattr(population, "_PASSES", 5)


@pytest.fixture
def gaps(folder, shapes):
    """A set of landmarks, 9 of which are missing in 6 shapes, in ``gaps.npz``."""
    rows = shapes.configurations.copy()
    rows[:6, 2] = rows[3:6, 9] = np.nan
    found = shapes.replace(configurations=rows, missing="allow")
    sx.write(found, "gaps.npz")
    return found


def test_landmarks_are_filled_in_and_the_set_says_so(gaps, shapes):
    result = facts_of(run("impute", "gaps.npz", "-o", "full.npz", "--atoms", "3", "--nonzero", "2", "--json"))
    assert (result["n_shapes"], result["n_incomplete"], result["n_imputed"]) == (40, 6, 9)
    assert result["hidden_error"] < result["hidden_error_of_mean"]
    found = sx.read("full.npz")
    present = ~gaps.is_missing
    np.testing.assert_array_equal(found.configurations[present], shapes.configurations[present])
    assert found.metadata["n_imputed"].sum() == 9
    assert "9 of 640 landmarks filled in, in 6 of 40 shapes." in found.notes[-1]
    expected = sx.impute(gaps, sx.ShapeDictionary(3, 2, tol=1e-3, random_state=0))
    np.testing.assert_array_equal(found.configurations, expected.configurations)


def test_by_a_model_with_its_shapes(gaps, ready, shapes):
    lines_of(run("impute", "gaps.npz", "-o", "full.npz", "--model", "model.npz", "--reference", "shapes.npz"))
    expected = sx.impute(gaps, sx.load("model.npz"), reference=shapes)
    np.testing.assert_array_equal(sx.read("full.npz").configurations, expected.configurations)
    assert lines_of(run("replay", "full.npz"))[0].startswith("shapelex impute gaps.npz -o full.npz")


def test_from_a_file_of_landmarks(gaps):
    sx.write(gaps, "gaps.tps")
    shown = lines_of(
        run("impute", "gaps.tps", "-o", "full.tps", "--option", "curves=only", "--atoms", "3", "--nonzero", "2")
    )
    assert shown[0] == "9 of 640 landmarks filled in, in 6 of 40 shapes."
    assert not np.isnan(sx.read("full.tps").configurations).any()


def test_a_complete_set_is_written_as_it_is(folder, shapes):
    assert "no missing landmarks" in lines_of(run("impute", "shapes.npz", "-o", "same.npz"))[0]
    np.testing.assert_array_equal(sx.read("same.npz").configurations, shapes.configurations)


def test_a_reference_needs_a_model(gaps):
    assert run("impute", "gaps.npz", "-o", "full.npz", "--reference", "gaps.npz").exit_code == 2


def test_negative_marks_are_told_and_read_as_missing(gaps):
    rows = np.where(gaps.is_missing, -1 - 1j, gaps.configurations + 100 * (1 + 1j))
    sx.write(sx.ShapeSet(rows), "marks.tps")
    for command in ("impute", "learn"):
        small = ["--atoms", "3", "--nonzero", "2", "--force"]
        shown = lines_of(run(command, "marks.tps", "-o", "out.npz", *small))
        assert any("9 landmarks at (-1, -1): taken as coordinates" in line for line in shown)
        shown = lines_of(run(command, "marks.tps", "-o", "out.npz", *small, "--missing", "negative"))
        assert not any("taken as coordinates" in line for line in shown)
    assert "--missing" in run("learn", "marks.tps", "-o", "o.npz", "--option", "missing=negative").stderr
