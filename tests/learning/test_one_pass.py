"""An iteration is that of the paper, by obvious code; devices learn what the CPU does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import DeviceError
from shapelex.learning import one_pass
from tests import oracles, strategies
from tests.coding_oracles import ormp_support, project
from tests.conftest import custom_space
from tests.devices import on_devices
from tests.learning.samples import clustered

# Squared distances by the cosines of the angles, and their derivatives by the squared full distance.
OBJECTIVES = {
    "full": (lambda cos: 1 - cos**2, lambda cos: np.ones(len(cos))),
    "partial": (lambda cos: 2 - 2 * cos, lambda cos: 1 / cos),
    "geodesic": (lambda cos: np.arccos(cos) ** 2, lambda cos: np.arccos(cos) / (np.sqrt(1 - cos**2) * cos)),
}


@pytest.mark.parametrize("space", [sx.Landmarks(8), sx.BSpline(8), custom_space(8)], ids=repr)
@pytest.mark.parametrize("distance", OBJECTIVES)
@given(strategies.seeds, st.sampled_from([np.complex64, np.complex128]), st.booleans(), st.booleans())
def test_an_iteration_is_pursuit_and_weighted_least_squares(space, distance, seed, dtype, is_weighted, is_far):
    farthest = 10 ** (is_far * (2 if dtype == np.complex64 else 5))
    Z, atoms = strategies.scattered_shapes(space, seed, farthest, (-9, 9))
    rows = np.array([space.whiten(oracles.preshape(z, space)) for z in Z])
    weights = np.resize([1, 0, 0.3, 2], len(Z)) if is_weighted else np.ones(len(Z))
    options = {"init": space.unwhiten(atoms), "coder": "ormp", "tie": 0, "n_swaps": 0, "tol": 0, "distance": distance}
    first, second = (
        sx.ShapeDictionary(5, 2, space=space, max_iter=n, **options).fit(Z.astype(dtype), sample_weight=weights)
        for n in (0, 1)
    )
    codes = np.zeros((len(Z), 5), dtype=complex)
    for code, row in zip(codes, rows, strict=True):
        support = ormp_support(row, atoms, 2)
        code[support] = project(row, atoms[support])[0]
    rounding = 64 * float(np.finfo(dtype).eps) * (1 + farthest)
    value_of, slope_of = OBJECTIVES[distance]
    cosines = np.sqrt(1 - (np.abs(rows - codes @ atoms) ** 2).sum(axis=1))
    assert first.loss_curve_[0] == pytest.approx(np.average(value_of(cosines), weights=weights), abs=rounding)
    np.testing.assert_allclose(first.usage_, np.average(codes != 0, axis=0, weights=weights), rtol=1e-6)
    root = np.sqrt(weights * slope_of(cosines))[:, None]
    expected = np.linalg.lstsq(root * codes, root * rows, rcond=None)[0]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(space.whiten(second.atoms_), expected, atol=10 * rounding)


@on_devices
@pytest.mark.parametrize(
    "options",
    [
        {"coder": "ormp"},
        {},
        {"coder": "beam"},
        {"distance": "geodesic"},
        {"coder": "ormp", "init": "random"},
        {"coder": "ormp", "n_swaps": 3},
        {"coder": "ormp", "batch_size": 50},
    ],
    ids=str,
)
def test_dictionaries_are_those_of_the_cpu(options, device):
    shapes = clustered(200, 8) * 3 + 7
    space = sx.BSpline(8)
    arguments = {"n_atoms": 5, "n_nonzero": 2, "space": space, "max_iter": 4, "random_state": 0, **options}
    ours = sx.ShapeDictionary(**arguments).fit(shapes)
    theirs = sx.ShapeDictionary(**arguments, device=device).fit(shapes)
    np.testing.assert_allclose(theirs.atoms_, ours.atoms_, atol=1e-9)
    assert theirs.rmse_ == pytest.approx(ours.rmse_, rel=1e-9)
    np.testing.assert_allclose(theirs.errors(shapes), ours.errors(shapes), atol=1e-9)


@on_devices
def test_the_same_seed_gives_the_same_bits(device):
    shapes = clustered(100, 8).astype(np.complex64)
    fits = [sx.ShapeDictionary(4, 2, max_iter=3, random_state=1, device=device).fit(shapes) for _ in range(2)]
    assert np.array_equal(fits[0].atoms_, fits[1].atoms_)
    assert fits[0].atoms_.dtype == np.complex64


@on_devices
def test_the_cpu_makes_passes_over_small_sets(device, monkeypatch):
    rows = clustered(40, 12)
    monkeypatch.setattr(one_pass, "LEAST_PASS_NS", 1e7)
    fits = [sx.ShapeDictionary(6, 3, random_state=0, device=name).fit(rows) for name in ("cpu", device)]
    np.testing.assert_array_equal(fits[0].atoms_, fits[1].atoms_)
    with pytest.raises(DeviceError, match="'cuda:9'"):
        sx.ShapeDictionary(6, 3, device="cuda:9").fit(rows)
