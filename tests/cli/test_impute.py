"""``shapelex impute``: what is filled in, and what the set says of it."""

import numpy as np
import pytest

import shapelex as sx
from tests.cli.conftest import facts_of, run


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
