"""Passes and fits on torch devices: the same sums and dictionaries as on the CPU."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.coding.coders import Coding
from shapelex.exceptions import DeviceError
from shapelex.learning import one_pass as passes
from shapelex.learning.one_pass import one_pass
from tests.devices import on_devices
from tests.learning.samples import clustered, plain_shapes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@on_devices
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("distance", ["full", "partial", "geodesic"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_sums_are_those_of_the_cpu(dtype, distance, is_weighted, device, monkeypatch):
    rows = clustered(300, 10).astype(dtype)
    weights = np.random.default_rng(0).integers(0, 4, 300).astype(float) if is_weighted else None
    source = plain_shapes(rows, weights)
    expected = one_pass(source, Coding(rows[:6], 3, "ormp"), distance, keeps_values=True)
    tolerance = 1e-10 if dtype == np.complex128 else 1e-4
    for n_travel in (1 << 18, 37):
        monkeypatch.setattr(passes, "_TRAVEL_ROWS", n_travel)
        source.kept.clear()
        for _ in range(2):  # sent, then resident
            found = one_pass(source, Coding(rows[:6], 3, "ormp", device=device), distance, keeps_values=True)
            assert source.kept
            assert found.loss / found.weight == pytest.approx(expected.loss / expected.weight, rel=tolerance)
            assert found.weight == pytest.approx(expected.weight)
            for name in ("gram", "products", "usage", "worst_rows"):
                value = getattr(expected, name)
                np.testing.assert_allclose(getattr(found, name), value, atol=tolerance * np.abs(value).max())
            np.testing.assert_allclose(found.values, expected.values, rtol=1e-3, atol=1e-6)


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
def test_shapes_far_from_the_origin_are_whitened_well(device):
    shapes = clustered(50, 8).astype(np.complex64)
    far = shapes + np.complex64(3e3)
    near = sx.ShapeDictionary(3, 1, coder="ormp", max_iter=2, random_state=0, device=device).fit(shapes)
    moved = sx.ShapeDictionary(3, 1, coder="ormp", max_iter=2, random_state=0, device=device).fit(far)
    assert moved.rmse_ == pytest.approx(near.rmse_, rel=1e-2)


@on_devices
def test_the_cpu_makes_passes_over_small_sets(device, monkeypatch):
    rows = clustered(40, 12)
    monkeypatch.setattr(passes, "LEAST_PASS_NS", 1e7)
    fits = [sx.ShapeDictionary(6, 3, random_state=0, device=name).fit(rows) for name in ("cpu", device)]
    np.testing.assert_array_equal(fits[0].atoms_, fits[1].atoms_)
    with pytest.raises(DeviceError, match="'cuda:9'"):
        sx.ShapeDictionary(6, 3, device="cuda:9").fit(rows)
