import numpy as np
import pytest

import shapelex as sx
from shapelex.learning.objective import objective_slopes, objective_values
from tests.learning.samples import random_rows

KINDS = ["full", "partial", "geodesic"]


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_squared_distances(kind):
    Z, W = random_rows(50, 5, 1), random_rows(50, 5, 2)
    squares = sx.distance(Z, W) ** 2
    np.testing.assert_allclose(objective_values(squares, kind), sx.distance(Z, W, kind) ** 2, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_are_derivatives(kind):
    squares = np.linspace(0.01, 0.95, 40)
    numeric = (objective_values(squares + 1e-6, kind) - objective_values(squares - 1e-6, kind)) / 2e-6
    np.testing.assert_allclose(objective_slopes(squares, kind), numeric, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_ends_are_finite(kind):
    ends = np.array([0.0, 1e-300, 1 - 1e-16, 1.0, 1.0000001], dtype=float)
    assert np.isfinite(objective_values(ends, kind)).all()
    slopes = objective_slopes(ends, kind)
    assert np.isfinite(slopes).all()
    assert slopes[0] == 1
    assert objective_values(ends, kind)[0] == 0
