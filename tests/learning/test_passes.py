from itertools import combinations
from unittest.mock import patch

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.coding import encode_rows, squared_residuals
from shapelex.learning import LearningOptions, Statistics, passes
from shapelex.shapes.opening import as_shapes
from tests import oracles, strategies
from tests.coding_oracles import ormp_support, project
from tests.conftest import custom_space
from tests.devices import DEVICES
from tests.learning.samples import clustered, plain_shapes, random_rows
from tests.shapes.test_stored import as_memmap

KINDS = ["full", "partial", "geodesic"]
SPACES = [sx.Landmarks(8), sx.BSpline(8), sx.HermiteSpline(4, closed=True), custom_space(8)]
INPUTS = {
    "array": lambda X, folder: X,
    "blocks": lambda X, folder: [X[:13], X[13:]],
    "memory map": as_memmap,
    "stream": lambda X, folder: lambda: (X[start : start + 11] for start in range(0, len(X), 11)),
    "Dask": lambda X, folder: da.from_array(X, chunks=(17, X.shape[1])),
}
# In roundings of the coordinates of one shape.
ROUNDING = 64


def survey(source, atoms, n_nonzero, *, keeps_values=False, **options):
    return passes.survey(source, atoms, LearningOptions(len(atoms), n_nonzero, **options), keeps_values=keeps_values)


@pytest.mark.parametrize("coder", ["ormp", "omp", "auto"])
def test_loss_is_that_of_the_codes_of_the_same_dictionary(coder):
    rows, atoms = clustered(150), random_rows(6, 10)
    weights = np.random.default_rng(0).uniform(size=150)
    found = survey(plain_shapes(rows, weights), atoms, 3, coder=coder)
    codes = encode_rows(rows, atoms, 3, method=coder)
    squares = squared_residuals(rows, atoms, codes)
    assert found.loss == pytest.approx(weights @ squares / weights.sum(), rel=1e-13)
    expected = Statistics.of(rows, codes, weights)
    np.testing.assert_allclose(found.statistics.products, expected.products, atol=1e-12)
    np.testing.assert_allclose(found.statistics.usage, weights @ (codes.toarray() != 0), atol=1e-12)
    order = np.argsort(-squares)
    np.testing.assert_allclose(found.worst[:10], rows[order[:10]], atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_other_distances(kind):
    rows, atoms = clustered(80), random_rows(5, 10)
    found = survey(plain_shapes(rows), atoms, 2, coder="ormp", distance=kind, keeps_values=True)
    space = sx.CustomSpace(np.eye(11), np.eye(11)[10])
    codes = encode_rows(rows, atoms, 2, method="ormp")
    rebuilt = codes.toarray() @ atoms
    distances = sx.distance(np.pad(rows, ((0, 0), (0, 1))), np.pad(rebuilt, ((0, 0), (0, 1))), kind, space)
    assert found.loss == pytest.approx((distances**2).mean(), rel=1e-10)
    np.testing.assert_allclose(found.values, distances**2, atol=1e-12)
    assert found.statistics.usage.sum() == (codes.support >= 0).sum()
    assert found.statistics.weight == 80


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_nearest_shapes(dtype):
    rows, atoms = clustered(300).astype(dtype), random_rows(6, 10, 4).astype(dtype)
    found = survey(plain_shapes(rows), atoms, 2, coder="ormp")
    moduli = np.abs(atoms.conj() @ rows.T)
    np.testing.assert_allclose(found.nearest, rows[moduli.argmax(axis=1)], atol=4 * np.finfo(dtype).eps)
    assert found.mean_nearest_distance2 == pytest.approx(np.mean(1 - moduli.max(axis=1) ** 2), rel=1e-5)


def test_blocks_change_only_the_rounding(monkeypatch):
    rows, atoms = clustered(500), random_rows(6, 10)
    whole = survey(plain_shapes(rows), atoms, 3, keeps_values=True)
    monkeypatch.setattr(passes, "BLOCK_ROWS", 64)
    parts = survey(plain_shapes(rows), atoms, 3, keeps_values=True)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-13)
    np.testing.assert_allclose(parts.statistics.gram, whole.statistics.gram, atol=1e-11)
    np.testing.assert_array_equal(parts.nearest, whole.nearest)
    np.testing.assert_array_equal(parts.worst, whole.worst)
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-14)


def test_shapes_of_weight_zero_are_never_the_worst():
    rows, atoms = clustered(40), random_rows(3, 10)
    weights = (np.arange(40) < 20).astype(float)
    found = survey(plain_shapes(rows, weights), atoms, 1, coder="ormp")
    best_kept = found.worst[:12]
    assert np.abs(best_kept.conj() @ rows[20:].T).max() < 1 - 1e-9


def test_memory_map(tmp_path):
    rows, atoms = clustered(200), random_rows(4, 10)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    in_memory, from_disk = (survey(plain_shapes(array), atoms, 2) for array in (rows, mapped))
    assert in_memory.loss == pytest.approx(from_disk.loss, rel=1e-13)
    np.testing.assert_allclose(in_memory.statistics.gram, from_disk.statistics.gram, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("distance", ["full", "geodesic"])
def test_thread_count_does_not_change_a_bit(dtype, distance):
    source = plain_shapes(random_rows(20_000, 12, dtype=dtype))
    atoms = random_rows(10, 12, seed=1, dtype=dtype)
    found = [survey(source, atoms, 4, coder="ormp", distance=distance, n_threads=n) for n in (1, 2, 3, 7)]
    for other in found[1:]:
        assert other.loss == found[0].loss
        for name in ("gram", "products", "usage"):
            np.testing.assert_array_equal(getattr(other.statistics, name), getattr(found[0].statistics, name))
        np.testing.assert_array_equal(other.worst, found[0].worst)
        np.testing.assert_array_equal(other.nearest, found[0].nearest)


def find_support(row, atoms, coder):
    if coder == "ormp":
        return ormp_support(row, atoms, 2)
    return min(map(list, combinations(range(len(atoms)), 2)), key=lambda chosen: project(row, atoms[chosen])[1])


def assert_equals_dense_sums(found, Z, space, weights, atoms, coder, distance, rounding):
    rows = oracles.whitened_preshapes(Z, space)
    supports = [find_support(row.astype(complex), atoms.astype(complex), coder) for row in rows]
    expected = oracles.dense_pass(rows, weights, atoms, supports, distance)
    values = expected["values"]
    np.testing.assert_allclose(found.values, values, atol=rounding)
    assert found.loss == pytest.approx(weights @ values / weights.sum(), abs=rounding)
    for name in ("gram", "products"):
        np.testing.assert_allclose(getattr(found.statistics, name), expected[name], atol=rounding * weights.sum())
    np.testing.assert_allclose(found.statistics.usage, expected["usage"], rtol=1e-12)
    assert found.statistics.weight == pytest.approx(weights.sum())
    differences = np.abs(oracles.whitened_preshapes(found.worst, space)[:, None] - rows).max(axis=2)
    places = differences.argmin(axis=1)
    assert len(set(places)) == len(places)
    np.testing.assert_allclose(differences.min(axis=1).astype(float), 0, atol=rounding)
    assert weights[places].all()
    largest = np.sort(values[weights > 0])[::-1][: passes.WORST_PER_ATOM * len(atoms)]
    np.testing.assert_allclose(values[places], largest, atol=rounding)
    counted = rows[weights > 0].astype(complex)
    moduli = np.abs(atoms.conj() @ counted.T).max(axis=1)
    assert found.mean_nearest_distance2 == pytest.approx(np.mean(1 - moduli**2), abs=rounding)
    np.testing.assert_allclose(np.abs(np.vecdot(atoms, found.nearest)), moduli, atol=rounding)
    # Each of the nearest is one of the shapes.
    differences = np.abs(found.nearest[:, None] - counted).max(axis=2)
    np.testing.assert_allclose(differences.min(axis=1), 0, atol=rounding)


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("space", SPACES, ids=repr)
@given(
    seed=strategies.seeds,
    dtype=st.sampled_from([np.complex64, np.complex128]),
    remoteness=st.floats(0, 1),
    size=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    is_weighted=st.booleans(),
    distance=strategies.kinds,
    coder=st.sampled_from(["ormp", "exact"]),
    block_rows=st.sampled_from([25, 8192]),
)
def test_a_pass_equals_dense_sums(
    space, kind, tmp_path_factory, seed, dtype, remoteness, size, is_weighted, distance, coder, block_rows
):
    farthest, largest = (1e3**remoteness, 12) if dtype == np.complex64 else (1e6**remoteness, 30)
    Z, atoms = strategies.scattered_shapes(space, seed, farthest, (largest * size[0], largest * size[1]))
    Z, atoms = Z.astype(dtype), atoms.astype(dtype)
    weights = np.resize([1, 0, 0.3, 2], len(Z)) if is_weighted else np.ones(len(Z))
    shapes = as_shapes(INPUTS[kind](Z, tmp_path_factory.mktemp("pass")), space, weights)
    if kind == "array" and seed % 2:
        shapes.keep_scales()
    with patch.multiple(passes, BLOCK_ROWS=block_rows, MAX_PART_ROWS=10):
        found = survey(shapes, atoms, 2, coder=coder, distance=distance, keeps_values=True)
    rounding = ROUNDING * float(np.finfo(dtype).eps) * (1 + farthest)
    assert_equals_dense_sums(found, Z, space, weights, atoms, coder, distance, rounding)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("device", ["cpu", *DEVICES])
def test_copies_and_zeros_among_the_atoms_change_nothing(space, dtype, device):
    Z, atoms = (array.astype(dtype) for array in strategies.scattered_shapes(space, 1, farthest=20))
    places = np.array([0, 1, 1, 2, 0, 3, 4, 0])
    # A copy may be turned.
    turns = np.exp(1j * np.array([0, 0, 1, 0, 2, 0, 0, 3])).astype(dtype)
    repeated = atoms[places] * turns[:, None]
    repeated = np.insert(repeated, [2, 2, 8], 0, axis=0)
    originals = np.array([0, 1, 5, 7, 8])
    options = {"coder": "ormp", "keeps_values": True}
    expected = survey(as_shapes(Z, space), atoms, 2, **options)
    found = survey(as_shapes(Z, space), repeated, 2, device=device, **options)
    tolerance = {"atol": 2e3 * float(np.finfo(dtype).eps), "rtol": 0}
    np.testing.assert_allclose(found.values, expected.values, **tolerance)
    np.testing.assert_allclose(found.statistics.usage[originals], expected.statistics.usage)
    assert found.statistics.usage.sum() == expected.statistics.usage.sum()
    gram = found.statistics.gram
    np.testing.assert_allclose(gram[np.ix_(originals, originals)], expected.statistics.gram, **tolerance)
    assert np.count_nonzero(gram) == np.count_nonzero(expected.statistics.gram)
    np.testing.assert_allclose(found.statistics.products[originals], expected.statistics.products, **tolerance)
    np.testing.assert_allclose(found.nearest[repeated.any(axis=1)], np.asarray(expected.nearest)[places], **tolerance)
    assert np.isfinite(found.mean_nearest_distance2)
