"""Short descents on a sample, against slow code."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapelex.coding import encode_rows, squared_residuals
from shapelex.learning import LearningOptions
from shapelex.learning.distance_values import objective_slopes, objective_values
from shapelex.learning.trials import WEIGHT_PRICE, Trials, _DeviceDescent
from tests import strategies
from tests.coding_oracles import best_error
from tests.learning.samples import clustered, planted, random_rows

KINDS = ["full", "partial", "geodesic"]


def make_trials(rows, n_atoms, n_nonzero, weights=None, **options):
    weights = np.ones(len(rows)) if weights is None else weights
    return Trials(rows, weights, LearningOptions(n_atoms, n_nonzero, **options))


def slow_look(rows, weights, atoms, options):
    """What a pass over a sample finds: objective, losses, values and energies."""
    losses = []
    for n_nonzero in options.sparsities:
        codes = encode_rows(rows, atoms, n_nonzero, method=options.coder, max_weight=options.max_weight)
        squares = squared_residuals(rows, atoms, codes)
        values = objective_values(squares, options.distance)
        losses.append(weights @ values / weights.sum())
    energies = weights * objective_slopes(squares, options.distance) @ np.abs(codes.toarray()) ** 2
    nearest = (np.abs(atoms.conj() @ rows[weights > 0].T) ** 2).max(axis=1)
    objective = options.objective.value(np.array(losses), np.mean(1 - nearest))
    return objective, losses, values, energies


@pytest.mark.parametrize("coder", ["exact", "beam", "ormp", "omp"])
@pytest.mark.parametrize("distance", KINDS)
@pytest.mark.parametrize("nested", [False, True])
def test_a_trial_sees_what_the_codes_are(coder, distance, nested):
    rows, atoms = clustered(150), random_rows(7, 10)
    weights = np.resize([1.0, 0.0, 0.3, 2.0], 150)
    trials = make_trials(rows, 7, 3, weights, coder=coder, distance=distance, nested=nested, tie=0.7)
    found = trials.descend(atoms, 0)
    objective, losses, values, energies = slow_look(rows, weights, atoms, trials.options)
    # Single precision may take a support whose squared error is larger by a rounding.
    assert found.objective == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(found.losses, losses, rtol=1e-6)
    np.testing.assert_allclose(found.values, values, atol=1e-5)
    np.testing.assert_allclose(found.energies, energies, rtol=1e-4)
    price = 1 + WEIGHT_PRICE * energies.sum() / weights.sum()
    assert found.judgement == pytest.approx(objective * price, rel=1e-5)
    assert found.n_passes == 1
    np.testing.assert_array_equal(found.atoms, atoms)


@pytest.mark.parametrize("coder", ["exact", "ormp"])
def test_weights_are_bounded(coder):
    rows, atoms = clustered(100), clustered(7, seed=4)
    trials = make_trials(rows, 7, 3, coder=coder, max_weight=0.6)
    found = trials.descend(atoms, 0)
    objective, _, values, energies = slow_look(rows, trials.weights, atoms, trials.options)
    assert found.objective == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(found.values, values, atol=1e-5)
    np.testing.assert_allclose(found.energies, energies, rtol=1e-4)
    assert found.objective > make_trials(rows, 7, 3, coder=coder).descend(atoms, 0).objective


@pytest.mark.parametrize("distance", KINDS)
def test_descents_on_devices_are_those_of_the_kernels(distance):
    rows, atoms = clustered(100), random_rows(5, 10)
    trials = make_trials(rows, 5, 3, np.resize([1.0, 0.0, 2.0], 100), nested=True, distance=distance, coder="exact")
    # Its passes are those of any device; here they are made on the CPU.
    expected, found = trials.descend(atoms, 4), _DeviceDescent(trials).run(atoms.copy(), 4, np.inf)
    np.testing.assert_allclose(found.atoms, expected.atoms, atol=1e-5)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-5)
    np.testing.assert_allclose(found.energies, expected.energies, rtol=1e-4)
    assert found.judgement == pytest.approx(expected.judgement, rel=1e-5)
    assert found.n_passes == expected.n_passes


def test_trials_can_be_sent_to_workers():
    trials, atoms = make_trials(clustered(60), 4, 2, nested=True), random_rows(4, 10)
    expected = trials.descend(atoms, 3)
    again = pickle.loads(pickle.dumps(trials)).descend(atoms, 3)
    np.testing.assert_array_equal(again.atoms, expected.atoms)


@settings(max_examples=10)
@given(strategies.seeds, st.integers(1, 3), st.sampled_from(KINDS), st.sampled_from([0.0, 1.0]))
def test_updates_never_raise_the_objective(seed, n_nonzero, distance, tie):
    trials = make_trials(
        clustered(60, 8, seed % 1000), 4, n_nonzero, coder="exact", distance=distance, nested=True, tie=tie
    )
    atoms = random_rows(4, 8, seed)
    objectives = [trials.descend(atoms, n_updates).objective for n_updates in range(5)]
    assert (np.diff(objectives) <= 1e-12).all()
    found = trials.descend(atoms, 5)
    np.testing.assert_allclose(np.linalg.norm(found.atoms, axis=1), 1, atol=1e-12)
    # What is reported belongs to the atoms.
    again = slow_look(trials.rows, trials.weights, found.atoms, trials.options)
    assert found.objective == pytest.approx(again[0], rel=1e-5)


def test_the_dictionary_that_comes_in_stays():
    trials, atoms = make_trials(clustered(60), 4, 2), random_rows(4, 10)
    before = atoms.copy()
    found = trials.descend(atoms, 3)
    np.testing.assert_array_equal(atoms, before)
    # Arrays are used again: an earlier result must not change with a later one.
    kept = found.atoms.copy(), found.values.copy(), found.losses.copy()
    trials.descend(random_rows(4, 10, 5), 3)
    for array, copied in zip((found.atoms, found.values, found.losses), kept, strict=True):
        np.testing.assert_array_equal(array, copied)


def test_trials_are_the_same_in_any_order():
    trials = make_trials(clustered(60), 4, 2)
    starts = [random_rows(4, 10, seed) for seed in range(3)]
    forwards = [trials.descend(start, 4) for start in starts]
    backwards = [trials.descend(start, 4) for start in starts[::-1]][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        np.testing.assert_array_equal(one.atoms, other.atoms)
        assert one.objective == other.objective


def test_weight_is_repetition():
    rows, atoms = clustered(40), random_rows(4, 10)
    counts = np.random.default_rng(0).integers(0, 4, size=40)
    weighted = make_trials(rows, 4, 2, counts.astype(float), nested=True).descend(atoms, 4)
    copied = make_trials(np.repeat(rows, counts, axis=0), 4, 2, nested=True).descend(atoms, 4)
    np.testing.assert_allclose(weighted.atoms, copied.atoms, atol=1e-9)
    assert weighted.objective == pytest.approx(copied.objective, rel=1e-9)


@pytest.mark.parametrize("nested", [False, True])
def test_small_losses_are_searched_in_double_precision(nested):
    rows, atoms = planted(n_rows=200, n_atoms=6, n_coordinates=8, n_nonzero=2)
    trials = make_trials(rows, 6, 2, coder="exact", nested=nested, tie=0)
    near = atoms + 1e-5 * random_rows(6, 8, 3)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    found = trials.descend(near, 12)
    squares = np.array([best_error(row, found.atoms, 2) ** 2 for row in rows])
    np.testing.assert_allclose(found.values, squares, atol=1e-13)
    if not nested:
        assert squares.mean() < 1e-13


def test_equal_and_dependent_atoms():
    rows = clustered(40, 6)
    atoms = random_rows(6, 6)
    atoms[1] = 1j * atoms[0]
    atoms[2] = (atoms[3] + atoms[4]) / np.linalg.norm(atoms[3] + atoms[4])
    found = make_trials(rows, 6, 3, coder="exact").descend(atoms, 0)
    expected = [best_error(row, atoms, 3) ** 2 for row in rows]
    np.testing.assert_allclose(found.values, expected, atol=1e-5)
    improved = make_trials(rows, 6, 3, coder="exact").descend(atoms, 6)
    assert np.isfinite(improved.atoms).all()
    assert improved.objective < found.objective


@pytest.mark.parametrize("n_atoms", [1, 4])
def test_all_atoms_for_every_shape(n_atoms):
    rows, atoms = clustered(50, 8), random_rows(n_atoms, 8)
    found = make_trials(rows, n_atoms, n_atoms, tie=0).descend(atoms, 0)
    np.testing.assert_allclose(found.values, [best_error(row, atoms, n_atoms) ** 2 for row in rows], atol=1e-12)
    singular = np.linalg.svd(rows, compute_uv=False)
    best = make_trials(rows, n_atoms, n_atoms, tie=0).descend(atoms, 60)
    assert best.losses[0] == pytest.approx((singular[n_atoms:] ** 2).sum() / 50, rel=1e-2)


def test_hopeless_trials_end_early():
    trials, atoms = make_trials(clustered(100), 6, 2), random_rows(6, 10)
    whole = trials.descend(atoms, 8)
    given_up = trials.descend(atoms, 8, limit=whole.objective / 10)
    assert given_up.n_passes < whole.n_passes
    assert given_up.objective >= whole.objective


def test_the_sample_may_be_in_single_precision():
    rows, atoms = clustered(80).astype(np.complex64), random_rows(5, 10, dtype=np.complex64)
    found = make_trials(rows, 5, 2, nested=True).descend(atoms, 4)
    expected = make_trials(rows.astype(complex), 5, 2, nested=True).descend(atoms.astype(complex), 4)
    np.testing.assert_array_equal(found.atoms, expected.atoms)
    assert found.atoms.dtype == np.complex128


def test_bounded_weights_of_dependent_atoms_are_finite():
    rows = random_rows(40, 12, 3)
    atoms = rows[:20].copy()
    atoms[1] = atoms[0]
    options = LearningOptions(20, 4, max_weight=0.5, tie=0.0)
    found = Trials(rows, np.ones(40), options).descend(atoms, 3)
    assert np.isfinite(found.objective)
    assert np.isfinite(found.energies).all()
