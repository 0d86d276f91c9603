"""The sums of a pass over any kind of input equal the dense sums of the paper, and those of devices do."""

from itertools import combinations
from unittest.mock import patch

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.coding.coders import Coding
from shapelex.exceptions import DeviceError
from shapelex.learning import one_pass
from shapelex.shapes.opening import as_shapes
from tests import oracles, strategies
from tests.coding_oracles import ormp_support, project
from tests.conftest import custom_space
from tests.devices import on_devices
from tests.learning.samples import clustered
from tests.shapes.test_stored import as_memmap

SPACES = [sx.Landmarks(8), sx.BSpline(8), custom_space(8)]
INPUTS = {
    "array": lambda X, folder: X,
    "memory map": as_memmap,
    "stream": lambda X, folder: lambda: (X[start : start + 11] for start in range(0, len(X), 11)),
    "Dask": lambda X, folder: da.from_array(X, chunks=(17, X.shape[1])),
}
# In roundings of the coordinates of one shape.
ROUNDING = 64


def find_support(row, atoms, coder):
    if coder == "ormp":
        return ormp_support(row, atoms, 2)
    return min(map(list, combinations(range(len(atoms)), 2)), key=lambda chosen: project(row, atoms[chosen])[1])


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("space", SPACES, ids=repr)
@given(
    seed=strategies.seeds,
    dtype=st.sampled_from([np.complex64, np.complex128]),
    remoteness=st.floats(0, 1),
    is_weighted=st.booleans(),
    distance=strategies.kinds,
    coder=st.sampled_from(["ormp", "exact"]),
    block_rows=st.sampled_from([25, 8192]),
)
def test_a_pass_equals_dense_sums(
    space, kind, tmp_path_factory, seed, dtype, remoteness, is_weighted, distance, coder, block_rows
):
    farthest = 1e3**remoteness if dtype == np.complex64 else 1e6**remoteness
    Z, atoms = strategies.scattered_shapes(space, seed, farthest, (-9, 9))
    Z, atoms = Z.astype(dtype), atoms.astype(dtype)
    weights = np.resize([1, 0, 0.3, 2], len(Z)) if is_weighted else np.ones(len(Z))
    shapes = as_shapes(INPUTS[kind](Z, tmp_path_factory.mktemp("pass")), space, weights)
    if kind == "array" and seed % 2:
        shapes.keep_scales()
    with patch.multiple(one_pass, BLOCK_ROWS=block_rows, MAX_PART_ROWS=10):
        found = one_pass.one_pass(shapes, Coding(atoms, 2, coder), distance, keeps_values=True)
    rounding = ROUNDING * float(np.finfo(dtype).eps) * (1 + farthest)
    rows = oracles.whitened_preshapes(Z, space)
    supports = [find_support(row.astype(complex), atoms.astype(complex), coder) for row in rows]
    expected = oracles.dense_pass(rows, weights, atoms, supports, distance)
    values = expected["values"]
    np.testing.assert_allclose(found.values, values, atol=rounding)
    assert found.loss / found.weight == pytest.approx(weights @ values / weights.sum(), abs=rounding)
    for name in ("gram", "products"):
        np.testing.assert_allclose(getattr(found, name), expected[name], atol=rounding * weights.sum())
    np.testing.assert_allclose(found.usage, expected["usage"], rtol=1e-12)
    assert found.weight == pytest.approx(weights.sum())
    # The worst are shapes of positive weight, each once.
    differences = np.abs(found.worst_rows[:, None] - rows).max(axis=2)
    places = differences.argmin(axis=1)
    assert len(set(places)) == len(places)
    np.testing.assert_allclose(differences.min(axis=1).astype(float), 0, atol=rounding)
    assert weights[places].all()
    largest = np.sort(values[weights > 0])[::-1][: one_pass.WORST_PER_ATOM * len(atoms)]
    np.testing.assert_allclose(values[places], largest, atol=rounding)


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
