import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.coding import encode_rows, squared_residuals
from shapelex.exceptions import ParameterError
from shapelex.learning import Learner, LearningOptions, learn
from shapelex.learning import descent as module
from tests import strategies
from tests.learning.samples import clustered, plain_shapes, planted, random_rows

QUICK = {"n_atoms": 6, "n_nonzero": 2, "max_iter": 8, "n_swaps": 4}


def rmse_of(rows, atoms, n_nonzero, coder="auto"):
    return np.sqrt(squared_residuals(rows, atoms, encode_rows(rows, atoms, n_nonzero, method=coder)).mean())


def distances_to(atoms, others):
    moduli = np.abs(atoms.conj() @ others.T).max(axis=1)
    return np.sqrt(np.maximum(1 - moduli**2, 0))


@pytest.mark.parametrize("init", ["spread", "random"])
@pytest.mark.parametrize("coder", ["ormp", "omp", "beam", "exact", "auto"])
def test_what_is_reported_belongs_to_the_atoms(coder, init):
    rows = clustered()
    found = learn(rows, **QUICK, coder=coder, init=init, generator=0)
    assert found.rmse == pytest.approx(rmse_of(rows, found.atoms, 2, coder), rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.atoms, axis=1), 1, atol=1e-13)
    assert found.loss_curve.shape == (found.n_iter + 1,)
    assert found.n_iter <= 8
    assert np.isclose(found.loss_curve, found.rmse**2, rtol=1e-14).any()
    codes = encode_rows(rows, found.atoms, 2, method=coder)
    np.testing.assert_allclose(found.usage, (codes.toarray() != 0).mean(axis=0), atol=1e-12)


@settings(max_examples=10)
@given(strategies.seeds)
def test_exact_coding_never_raises_the_loss(seed):
    rows = clustered(80, seed=seed)
    found = learn(rows, 5, 2, coder="exact", tie=0, n_swaps=0, max_iter=15, generator=seed)
    replaced = np.diff(found.loss_curve) > 1e-12
    assert not replaced.any()
    assert found.rmse**2 == pytest.approx(found.loss_curve.min())


@settings(max_examples=10)
@given(strategies.seeds, st.sampled_from(["partial", "geodesic"]))
def test_other_distances_never_rise(seed, distance):
    # Far from their reconstructions, where the distances differ most.
    rows = random_rows(60, 8, seed)
    found = learn(rows, 4, 1, distance=distance, tie=0, n_swaps=0, max_iter=15, generator=seed)
    assert (np.diff(found.loss_curve) <= 0).all()
    space = sx.CustomSpace(np.eye(9), np.eye(9)[8])
    rebuilt = encode_rows(rows, found.atoms, 1).toarray() @ found.atoms
    distances = sx.distance(np.pad(rows, ((0, 0), (0, 1))), np.pad(rebuilt, ((0, 0), (0, 1))), distance, space)
    assert found.rmse == pytest.approx(np.sqrt((distances**2).mean()), rel=1e-10)


@pytest.mark.parametrize("distance", ["full", "partial", "geodesic"])
def test_a_single_atom_is_the_mean_shape_of_the_distance(distance):
    # Widely spread, so that the three means differ by far more than the tolerance.
    rows = random_rows(1, 6, 9) + 0.9 * random_rows(30, 6, 1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    space = sx.CustomSpace(np.eye(7), np.eye(7)[6])
    padded = np.pad(rows, ((0, 0), (0, 1)))
    found = learn(rows, 1, 1, distance=distance, tie=0, tol=0, max_iter=200, generator=0)
    means = {kind: sx.mean_shape(padded, kind, space=space) for kind in ("full", "partial", "geodesic")}
    gaps = {kind: sx.distance(np.pad(found.atoms[0], (0, 1)), mean, space=space) for kind, mean in means.items()}
    assert gaps.pop(distance) < 1e-4
    assert min(gaps.values()) > 1e-3


def test_objective_with_a_tie_never_rises():
    rows = clustered(120)
    objectives = []
    options = LearningOptions(5, 2, coder="exact", n_swaps=0, tie=2.0, max_iter=20)
    learner = Learner(plain_shapes(rows), options, np.random.default_rng(0))
    learner.callback = lambda step: objectives.append(
        np.sqrt(step.loss) + 2.0 * np.mean(distances_to(step.atoms, rows) ** 2)
    )
    learner.run()
    assert len(objectives) > 5
    assert (np.diff(objectives) <= 1e-12).all()


def test_a_tie_makes_truer_atoms():
    rows = clustered(120)
    loose, tied = (learn(rows, 5, 2, n_swaps=0, tie=tie, generator=0) for tie in (0, 3.0))
    assert np.median(distances_to(tied.atoms, rows)) < 0.7 * np.median(distances_to(loose.atoms, rows))
    assert loose.rmse <= tied.rmse < 1.2 * loose.rmse


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_same_seed_same_bits_for_any_thread_count(dtype):
    # Long enough that several threads start.
    rows = clustered(4000, 12).astype(dtype)
    runs = [
        learn(rows, **{**QUICK, "max_iter": 4, "n_nonzero": 3}, generator=7, n_threads=n_threads)
        for n_threads in (1, 2, 3, 2)
    ]
    assert runs[0].atoms.dtype == dtype
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].atoms, other.atoms)
        np.testing.assert_array_equal(runs[0].loss_curve, other.loss_curve)
    assert not np.array_equal(runs[0].atoms, learn(rows, **{**QUICK, "max_iter": 4, "n_nonzero": 3}, generator=8).atoms)


@pytest.mark.parametrize("distance", ["full", "partial"])
def test_weight_is_repetition(distance):
    rows = clustered(60)
    counts = np.random.default_rng(3).integers(0, 4, size=60)
    options = {**QUICK, "distance": distance, "coder": "exact", "generator": 1}
    # Swaps draw shapes by number, so copies change what is drawn.
    options["n_swaps"] = 0
    weighted = learn(rows, **options, sample_weight=counts)
    copied = learn(np.repeat(rows, counts, axis=0), **options)
    np.testing.assert_allclose(weighted.atoms, copied.atoms, atol=1e-9)
    np.testing.assert_allclose(weighted.loss_curve, copied.loss_curve, rtol=1e-9)
    np.testing.assert_allclose(weighted.usage, copied.usage, atol=1e-12)


def test_recovers_a_planted_dictionary():
    rows, atoms = planted(n_rows=600, n_atoms=8, n_coordinates=10, n_nonzero=3)
    found = learn(rows, 8, 3, generator=0, max_iter=300, tol=0)
    assert distances_to(atoms, found.atoms).max() < 1e-3
    assert found.rmse < 1e-3
    noisy, _ = planted(n_rows=600, n_atoms=8, n_coordinates=10, n_nonzero=3, noise=0.01)
    found = learn(noisy, 8, 3, generator=0)
    assert distances_to(atoms, found.atoms).max() < 0.05


def test_swaps_leave_poor_starts():
    rows, _ = planted(n_rows=300, n_atoms=8, n_coordinates=10, n_nonzero=2)
    plain, swapped = (
        [learn(rows, 8, 2, generator=seed, n_swaps=n_swaps).rmse for seed in range(4)] for n_swaps in (0, 60)
    )
    assert np.mean(swapped) < 0.5 * np.mean(plain)


def test_restarts_keep_the_best():
    rows = clustered()
    seen = []
    options = {**QUICK, "n_swaps": 0, "tie": 0, "generator": 2}
    found = learn(rows, **options, n_restarts=4, callback=seen.append)
    assert {step.restart for step in seen} == {0, 1, 2, 3}
    assert found.rmse**2 == pytest.approx(min(step.loss for step in seen))
    assert found.restart == min(seen, key=lambda step: step.loss).restart
    assert found.rmse <= learn(rows, **options).rmse


def test_callback_sees_every_pass_and_can_stop():
    rows = clustered()
    seen = []
    found = learn(rows, **QUICK, generator=0, tol=0, callback=seen.append)
    tried = [step for step in seen if step.n_trials is not None]
    assert [step.n_trials for step in tried] == [0, 4]
    assert [step.explored for step in tried] == [0, 1]
    assert [step.iteration for step in tried] == [0, 0]
    seen = [step for step in seen if step.n_trials is None]
    assert all(step.explored is None for step in seen)
    assert [step.iteration for step in seen] == list(range(9))
    np.testing.assert_array_equal([step.loss for step in seen], found.loss_curve)
    assert (np.diff([step.best_objective for step in seen]) <= 0).all()
    assert all(step.best_objective <= step.objective for step in seen)
    assert seen[-1].best_rmse == found.rmse
    assert all(step.rmse == pytest.approx(np.sqrt(step.loss)) for step in seen)
    stopped = learn(rows, **QUICK, n_restarts=3, generator=0, callback=lambda step: step.iteration == 3)
    assert stopped.n_iter == 3
    assert not stopped.converged


@pytest.mark.parametrize("when", [1, 4])
def test_interruption_leaves_the_best(when):
    rows = clustered()

    def interrupt(step):
        if step.iteration == when:
            raise KeyboardInterrupt

    learner = Learner(plain_shapes(rows), LearningOptions(**QUICK, tie=0), np.random.default_rng(0), interrupt)
    assert learner.best is None
    with pytest.raises(KeyboardInterrupt):
        learner.run()
    assert learner.best.n_iter == when
    assert learner.best.rmse == pytest.approx(rmse_of(rows, learner.best.atoms, 2))
    assert learner.best.rmse**2 == pytest.approx(learner.best.loss_curve.min())


def test_interruption_inside_a_pass_leaves_the_best(monkeypatch):
    rows = clustered()
    learner = Learner(plain_shapes(rows), LearningOptions(**QUICK), np.random.default_rng(0))

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "explore", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.run()
    assert learner.best.rmse == pytest.approx(rmse_of(rows, learner.best.atoms, 2))


def test_stops_by_tolerance():
    rows = clustered()
    loose, tight = (learn(rows, 6, 2, tol=tol, tie=0, n_swaps=0, generator=0, max_iter=500) for tol in (1e-2, 1e-6))
    assert loose.converged
    assert tight.converged
    assert loose.n_iter < tight.n_iter < 500
    assert tight.rmse <= loose.rmse
    assert not learn(rows, 6, 2, tol=0, generator=0, max_iter=3).converged
    untouched = learn(rows, 6, 2, generator=0, max_iter=0)
    assert untouched.n_iter == 0
    assert distances_to(untouched.atoms, rows).max() < 1e-7


def test_best_is_kept_where_the_loss_rises():
    rows = clustered(60, seed=5)
    rises = 0
    for seed in range(10):
        found = learn(rows, 8, 4, coder="omp", tie=0, n_swaps=0, init="random", max_iter=30, tol=0, generator=seed)
        assert found.rmse**2 == pytest.approx(found.loss_curve.min())
        rises += found.loss_curve[-1] > found.loss_curve.min()
    assert rises > 0


def test_idle_atoms_are_replaced():
    rows = np.pad(clustered(), ((0, 0), (0, 1)))
    start = np.pad(random_rows(6, 10), ((0, 0), (0, 1)))
    # No shape has a part along this atom.
    start[3] = np.eye(11)[10]
    seen = []
    found = learn(rows, 6, 2, init=start, max_iter=5, callback=lambda step: seen.append(step.n_replaced))
    assert seen == [0, 1, 0, 0, 0, 0]
    assert found.usage.min() > 0.05
    assert np.abs(found.atoms[:, 10]).max() < 1e-12


class TestDegenerate:
    def test_all_shapes_equal(self):
        rows = np.exp(1j * np.arange(20))[:, None] * random_rows(1, 6)
        found = learn(rows, 4, 2, generator=0)
        assert found.rmse < 1e-7
        assert found.converged
        assert np.isfinite(found.atoms).all()

    def test_fewer_distinct_shapes_than_atoms(self):
        found = learn(np.repeat(random_rows(3, 6), 5, axis=0), 5, 2, generator=0)
        assert found.rmse < 1e-7
        assert found.converged

    def test_as_many_shapes_as_atoms(self):
        found = learn(random_rows(6, 9), 6, 1, generator=0)
        assert found.rmse < 1e-7

    def test_all_atoms_for_every_shape(self):
        rows = clustered(50, 8)
        found = learn(rows, 3, 3, generator=0, tol=1e-9, max_iter=300, tie=0)
        singular = np.linalg.svd(rows, compute_uv=False)
        assert found.rmse == pytest.approx(np.sqrt((singular[3:] ** 2).sum() / 50), rel=1e-4)

    def test_more_atoms_than_coordinates(self):
        found = learn(clustered(80, 4), 12, 2, generator=0, max_iter=10, n_swaps=3)
        assert found.rmse < 0.2
        assert np.isfinite(found.atoms).all()

    def test_one_atom(self):
        rows = clustered(40, 7)
        found = learn(rows, 1, 1, generator=0, tie=0, tol=0, max_iter=200)
        leading = np.linalg.svd(rows)[2][:1]
        assert distances_to(found.atoms, leading).max() < 1e-5

    def test_one_shape(self):
        found = learn(random_rows(1, 5), 1, 1, generator=0)
        assert found.rmse < 1e-7

    def test_fewer_shapes_than_atoms(self):
        with pytest.raises(ParameterError, match="n_atoms must be at most the number of shapes, 3, got 5"):
            learn(random_rows(3, 6), 5, 2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_atoms": 0}, ValueError, "n_atoms must be at least 1, got 0"),
        ({"n_atoms": 2.5}, TypeError, "n_atoms must be an integer, got 2.5"),
        ({"n_nonzero": 7}, ValueError, "n_nonzero must be between 1 and n_atoms=6, got 7"),
        ({"coder": "lasso"}, ValueError, "coder must be one of 'auto'"),
        ({"distance": "l1"}, ValueError, "distance must be one of 'full', 'partial', 'geodesic'"),
        ({"init": "kmeans"}, ValueError, "init must be one of 'spread', 'random'"),
        ({"n_restarts": 0}, ValueError, "n_restarts must be at least 1"),
        ({"max_iter": -1}, ValueError, "max_iter must be at least 0"),
        ({"tol": -1e-3}, ValueError, "tol must be finite and not negative, got -0.001"),
        ({"tol": "low"}, TypeError, "tol must be a number, got 'low'"),
        ({"tie": np.inf}, ValueError, "tie must be finite"),
        ({"n_swaps": -1}, ValueError, "n_swaps must be at least 0"),
        ({"effort": 0}, ValueError, "effort must be a positive number, such as 1 or 4, got 0"),
        ({"effort": np.nan}, ValueError, "effort"),
        ({"effort": "high"}, TypeError, "effort must be a positive number"),
        ({"n_threads": 0}, ValueError, "n_threads must be at least 1"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        learn(clustered(20), **{**QUICK, **arguments})


def test_number_of_trials():
    assert LearningOptions(5, 2).n_trials is None  # effort decides
    assert LearningOptions(5, 2, n_swaps=7).n_trials == 7
    assert LearningOptions(5, 2, init=random_rows(5, 4)).n_trials == 0
    assert LearningOptions(5, 2, init=random_rows(5, 4), n_swaps=2).n_trials == 2
