"""Agreement with the paper's own code (ansonang3/2DKSD at 1c4f226) on its own data.

``reference.json`` was printed by that code: pre-shape coordinates, Gram entries, and the full mean rotated along the
first shape.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx

pytestmark = pytest.mark.realdata

REFERENCE = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))
SPACES = {
    "hands": sx.Landmarks(56, closed=True),
    "6376_open_worms_6ctrlpts": sx.HermiteSpline(6),
    "100_closed_worms_10ctrlpts": sx.HermiteSpline(10, closed=True),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_agrees_with_the_reference(name, load_real):
    case, space, Z = REFERENCE[name], SPACES[name], load_real(name)
    columns, rows = case["coordinates"], case["rows"]
    preshapes = sx.from_points(case["preshapes"])
    np.testing.assert_allclose(space.preshape(Z)[np.ix_(rows, columns)], preshapes, rtol=0, atol=1e-10)
    for row, column, expected in case["gram"]:
        assert space.gram[row, column] == pytest.approx(expected, abs=1e-15)
    mean = sx.mean_shape(Z, space=space)
    np.testing.assert_allclose(mean[columns], sx.from_points(case["mean"]), rtol=0, atol=1e-10)
    np.testing.assert_allclose(sx.distance(Z[rows], mean, space=space), case["distances"], rtol=0, atol=1e-10)
    energy = 1 - np.mean(sx.distance(Z, mean, space=space) ** 2)
    assert energy == pytest.approx(case["energy"], abs=1e-10)


def test_leaves_use_the_exact_gram_and_not_the_reference_one(load_real):
    space = sx.BSpline(40)
    Z = load_real("leaves_Bsplines")
    assert Z.shape == (1584, 40)
    assert space.norm(space.shift + 0j) ** 2 == pytest.approx(1, abs=1e-14)
    dense = space.sample(space.preshape(Z), space.parameters(4000))
    np.testing.assert_allclose((np.abs(dense) ** 2).mean(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(dense.mean(axis=1), 0, atol=1e-12)
