"""Agreement with the paper's own code (ansonang3/2DKSD at 1c4f226) on its own data.

``reference.json`` was printed by that code: pre-shape coordinates, Gram entries, and the full mean rotated along the
first shape. The numbers of ``CASES`` were printed by its ORMP with exact Gram matrices, coding every shape over the
first ten pre-shapes of the set; its supports are matched on every shape.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.coding import residual_norms

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


CASES = {
    "hands": (
        sx.Landmarks(56),
        3,
        0.05741698687754387,
        {
            10: ([0, 1, 8], 0.04973772129758794),
            11: ([1, 7, 9], 0.031809931888553904),
            17: ([7, 8, 9], 0.05559697940238428),
            24: ([5, 6, 8], 0.051997911116061106),
            39: ([3, 7, 9], 0.08552283969077273),
        },
    ),
    "6376_open_worms_6ctrlpts": (
        sx.HermiteSpline(6),
        5,
        0.18097514990845678,
        {
            10: ([9], 0.0),
            100: ([1, 4, 5, 6, 9], 0.04327412355115707),
            1500: ([0, 2, 3, 6, 9], 0.18455938706955066),
            4000: ([1, 4, 6, 7, 9], 0.12090494457821445),
            6375: ([2, 5, 6, 8, 9], 0.09514330484628493),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_same_codes_as_the_reference(name, load_real):
    space, n_nonzero, rms, picked = CASES[name]
    X = load_real(name)
    atoms = space.preshape(X[:10])
    codes = sx.encode(X, atoms, n_nonzero, "ormp", space=space)
    errors = residual_norms(space.whitened_preshapes(X), space.whiten(atoms), codes)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(rms, abs=1e-12)
    for row, (support, error) in picked.items():
        assert sorted(j for j in codes.support[row] if j >= 0) == support
        assert errors[row] == pytest.approx(error, abs=1e-12)
