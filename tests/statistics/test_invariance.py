"""Results do not depend on the poses and sizes of shapes, nor on the rotations of codes."""

import numpy as np
from hypothesis import given

import shapelex as sx
from shapelex import statistics as st
from tests.statistics.conftest import make_shapes
from tests.strategies import seeds

N = 24
COLUMNS = {"group": np.array(["a", "b"])[np.arange(N) % 2], "x": np.random.default_rng(0).normal(size=N)}


def numbers_of_shapes(Z):
    shapes = sx.ShapeSet(Z, sx.BSpline(6))
    found = st.mean_test(shapes[::2], shapes[1::2], permutations=9, bootstrap=0)
    local = st.local_test(shapes, COLUMNS["group"], permutations=19)
    return [
        *st.shape_lm("shape ~ x + group", shapes, COLUMNS, permutations=19).table.to_numpy(dtype=float).ravel(),
        *(number for one in found.tests for number in (one.statistic, one.P)),
        found.distance,
        *local.statistic,
        *local.P,
    ]


def numbers_of_codes(weights):
    space = sx.Landmarks(7)
    model = type("Model", (), {})()
    model.space_ = space
    model.atoms_ = space.preshape(np.random.default_rng(0).normal(size=(weights.shape[1], 7, 2)) @ [1, 1j])
    atoms = st.atom_tests(weights, COLUMNS["group"], permutations=9, bootstrap=9)
    fits = [st.code_lm("codes ~ x", weights, COLUMNS, model=one, permutations=9) for one in (None, model)]
    tables = [atoms.table, *(table for fit in fits for table in (fit.table, fit.atoms))]
    return [
        *np.linalg.norm(atoms.mean_weights, axis=1),
        *(number for table in tables for number in table.select_dtypes("number").to_numpy(dtype=float).ravel()),
    ]


@given(seeds)
def test_poses_and_sizes_of_shapes(seed):
    rng = np.random.default_rng(seed)
    Z = make_shapes(rng, N, effect=0.1).configurations
    factors = rng.uniform(0.1, 9, size=(N, 1)) * np.exp(1j * rng.uniform(0, 7, size=(N, 1)))
    moved = factors * Z + rng.normal(size=(N, 2)) @ np.array([[1], [1j]])
    np.testing.assert_allclose(numbers_of_shapes(moved), numbers_of_shapes(Z), rtol=1e-6, atol=1e-12)


@given(seeds)
def test_rotations_of_codes(seed):
    rng = np.random.default_rng(seed)
    weights = 0.5 + 0.1 * (rng.normal(size=(N, 4, 2)) @ [1, 1j])
    weights[rng.random(weights.shape) < 0.1] = 0
    turned = weights * np.exp(1j * rng.uniform(0, 7, size=(N, 1)))
    np.testing.assert_allclose(numbers_of_codes(turned), numbers_of_codes(weights), rtol=1e-5, atol=1e-9)
