"""What the learner makes of rows: errors, weights, threads, swaps, batches and degenerate sets."""

import numpy as np
import pytest
from hypothesis import given, settings

import shapelex as sx
from shapelex.coding import encode_rows, squared_residuals
from shapelex.learning.sampling import shuffled_batches
from shapelex.shapes import storage
from tests import strategies
from tests.learning.samples import clustered, learn, plain_shapes, planted, random_rows

QUICK = {"n_atoms": 6, "n_nonzero": 2, "max_iter": 8}
WAYS = {
    "default": {},
    "swaps": {"n_swaps": 3},
    "paper": {"init": "random"},
    "restarts": {"init": "random", "n_restarts": 3},
    "given": {"init": random_rows(6, 10)},
}


def rmse_of(rows, atoms, n_nonzero, coder="auto"):
    return np.sqrt(squared_residuals(rows, atoms, encode_rows(rows, atoms, n_nonzero, method=coder)).mean())


def distances_to(atoms, others):
    moduli = np.abs(atoms.conj() @ others.T).max(axis=1)
    return np.sqrt(np.maximum(1 - moduli**2, 0))


@pytest.mark.parametrize(
    ("coder", "way"),
    [("ormp", "default"), ("omp", "paper"), ("beam", "given"), ("exact", "restarts"), ("auto", "swaps")],
)
def test_what_is_reported_belongs_to_the_atoms(coder, way):
    rows = clustered()
    found = learn(rows, **QUICK, **WAYS[way], coder=coder, generator=0)
    assert found.rmse == pytest.approx(rmse_of(rows, found.atoms, 2, coder), rel=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found.atoms, axis=1), 1, atol=1e-13)
    assert np.isclose(found.curve, found.loss / found.weight, rtol=1e-13).any()
    codes = encode_rows(rows, found.atoms, 2, method=coder)
    np.testing.assert_allclose(found.usage / found.weight, (codes.toarray() != 0).mean(axis=0), atol=1e-12)


def test_a_sample_is_followed_by_passes_over_all():
    rows = clustered(2600)
    found = learn(rows, **QUICK, generator=0)
    assert found.weight == 2600
    assert found.rmse == pytest.approx(rmse_of(rows, found.atoms, 2), rel=1e-9)
    assert not np.array_equal(found.atoms, learn(rows, **QUICK, generator=1).atoms)
    # The order of the rows matters no more than the draw of the sample.
    assert learn(rows[::-1], **QUICK, generator=0).rmse == pytest.approx(found.rmse, rel=0.02)


def test_small_sets_need_no_draws():
    rows = clustered()
    np.testing.assert_array_equal(learn(rows, **QUICK, generator=0).atoms, learn(rows, **QUICK, generator=1).atoms)


def test_slow_codes_are_only_made_at_the_end():
    rows = random_rows(300, 12)
    found = learn(rows, 30, 6, generator=0, max_iter=3)
    assert found.rmse == pytest.approx(rmse_of(rows, found.atoms, 6), rel=1e-9)


@settings(max_examples=10)
@given(strategies.seeds)
def test_exact_coding_never_raises_the_loss(seed):
    found = learn(clustered(80, seed=seed), 5, 2, coder="exact", init="random", max_iter=15, generator=seed)
    assert not (np.diff(found.curve) > 1e-12).any()


@pytest.mark.parametrize("distance", ["full", "partial", "geodesic"])
def test_a_single_atom_is_the_mean_shape_of_the_distance(distance):
    # Widely spread, so that the three means differ by far more than the tolerance.
    rows = random_rows(1, 6, 9) + 0.9 * random_rows(30, 6, 1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    space = sx.CustomSpace(np.eye(7), np.eye(7)[6])
    padded = np.pad(rows, ((0, 0), (0, 1)))
    found = learn(rows, 1, 1, distance=distance, tie=0, init="random", tol=0, max_iter=200, generator=0)
    means = {kind: sx.mean_shape(padded, kind, space=space) for kind in ("full", "partial", "geodesic")}
    gaps = {kind: sx.distance(np.pad(found.atoms[0], (0, 1)), mean, space=space) for kind, mean in means.items()}
    assert gaps.pop(distance) < 1e-4
    assert min(gaps.values()) > 1e-3


@pytest.mark.parametrize("distance", ["full", "partial"])
@pytest.mark.parametrize("tie", [None, 0])
def test_weights_count_copies_and_their_unit_does_not_matter(distance, tie):
    rows = clustered(60)
    counts = np.random.default_rng(3).integers(0, 4, size=60)
    options = {**QUICK, "distance": distance, "tie": tie, "coder": "exact"}
    weighted = learn(rows, **options, sample_weight=counts)
    scaled = learn(rows, **options, sample_weight=0.01 * counts)
    np.testing.assert_allclose(scaled.atoms, weighted.atoms, atol=1e-8)
    if tie == 0:
        copied = learn(np.repeat(rows, counts, axis=0), **options)
        np.testing.assert_allclose(distances_to(weighted.atoms, copied.atoms), 0, atol=1e-6)


def test_swaps_leave_poor_starts():
    rows, _ = planted(n_rows=200, n_atoms=12, n_coordinates=10, n_nonzero=3)
    plain, swapped = (
        [learn(rows, 12, 3, init="random", generator=seed, n_swaps=n_swaps).rmse for seed in range(3)]
        for n_swaps in (0, 40)
    )
    assert np.mean(swapped) < 0.5 * np.mean(plain)


def test_atoms_that_are_idle_or_alike_are_replaced():
    rows = np.pad(clustered(), ((0, 0), (0, 1)))
    start = np.pad(random_rows(6, 10), ((0, 0), (0, 1)))
    # No shape has a part along this atom, and two others are nearly one shape in two poses.
    start[3] = np.eye(11)[10]
    start[4] = 1j * (start[5] + 0.02 * start[4])
    seen = []
    found = learn(rows, 6, 2, init=start, max_iter=5, callback=lambda state: seen.append(state.n_replaced))
    assert seen[0] == 2
    assert found.usage.min() / found.weight > 0.05
    assert np.abs(found.atoms[:, 10]).max() < 1e-12


class TestDegenerate:
    @pytest.mark.parametrize("init", ["auto", "random"])
    @pytest.mark.parametrize(
        ("rows", "n_atoms", "n_nonzero"),
        [
            (np.exp(1j * np.arange(20))[:, None] * random_rows(1, 6), 4, 2),  # all equal
            (np.repeat(random_rows(3, 6), 5, axis=0), 5, 2),  # fewer distinct ones than atoms
            (random_rows(6, 9), 6, 1),  # as many as atoms
            (random_rows(1, 5), 1, 1),
        ],
    )
    def test_shapes_that_a_dictionary_holds(self, init, rows, n_atoms, n_nonzero):
        found = learn(rows, n_atoms, n_nonzero, init=init, generator=0)
        assert found.rmse < 1e-7
        assert np.isfinite(found.atoms).all()

    def test_more_atoms_than_axes(self):
        found = learn(clustered(80, 4), 30, 2, generator=0, max_iter=10)
        assert found.rmse < 0.2
        assert np.isfinite(found.atoms).all()


# More than one stretch, and few enough bytes that not all of them are shuffled together.
MANY_ROWS, FEW_BYTES = 50_000, 16 * 4 * 20_000


@pytest.mark.parametrize("batch_size", [3, 50, 333, 10_000])
def test_batches_hold_every_row_once(batch_size):
    rows = random_rows(MANY_ROWS, 4)
    weights = np.arange(float(MANY_ROWS))
    source = plain_shapes(rows, weights)
    batches = list(shuffled_batches(source, batch_size, np.random.default_rng(0), FEW_BYTES))
    sizes = [len(batch) for batch in batches]
    assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
    assert sum(sizes) == MANY_ROWS
    found = np.concatenate([batch.read(0, len(batch)) for batch in batches])
    found_weights = np.concatenate([batch.weights_of(slice(None)) for batch in batches])
    numbers = found_weights.astype(int)
    assert len(set(numbers.tolist())) == len(numbers)
    np.testing.assert_array_equal(found, rows[numbers])
    # Shuffled, over more than one stretch.
    assert np.abs(np.diff(numbers)).max() > 20_000
    again = next(shuffled_batches(source, batch_size, np.random.default_rng(0), FEW_BYTES))
    np.testing.assert_array_equal(again.read(0, len(again)), batches[0].read(0, sizes[0]))


def test_batches_without_weight_are_left_out():
    batches = list(shuffled_batches(plain_shapes(random_rows(40, 4), np.arange(40) % 2), 1, np.random.default_rng(0)))
    assert [len(batch) for batch in batches] == [1] * 20
    assert all(batch.weights_of(slice(None)) == 1 for batch in batches)


@pytest.mark.parametrize("change", [(0, 0), (500, 3), (999, 7)])
def test_the_hash_sees_every_number(change, monkeypatch):
    rows = clustered(1000, 8)
    digest = plain_shapes(rows).digest()
    monkeypatch.setattr(storage, "BLOCK_ROWS", 64)
    assert plain_shapes(rows).digest() == digest
    changed = rows.copy()
    changed[change] *= 1 + 1e-15
    assert plain_shapes(changed).digest() != digest


def test_integer_weights_count_as_copies():
    rows = random_rows(4, 5)
    for weights, n_copies in ((None, 4), ([3, 0, 1, 2], 6), ([0.5, 0, 0.1, 2.7], 4)):
        with pytest.raises(sx.exceptions.ParameterError, match=f"at most the number of shapes.*, {n_copies}, got 7"):
            sx.ShapeDictionary(7, 1).fit(rows, sample_weight=weights)
