"""Batches: what is forgotten, what is kept, what is refused."""

import numpy as np
import pytest

from shapelex.learning import LearningOptions, OnlineLearner, survey
from tests.learning.samples import clustered, plain_shapes, random_rows

OPTIONS = LearningOptions(n_atoms=6, n_nonzero=2, coder="ormp")


def test_first_batch_is_one_update_from_its_first_atoms():
    batch = plain_shapes(clustered(200))
    learner = OnlineLearner(OPTIONS, np.random.default_rng(0))
    loss = learner.learn_batch(batch)
    assert learner.n_batches == 1
    assert survey(batch, learner.atoms, OPTIONS).loss < loss


def test_old_batches_are_forgotten_by_the_stated_rule():
    learner = OnlineLearner(OPTIONS, np.random.default_rng(0))
    weights = []
    for _ in range(4):
        learner.learn_batch(plain_shapes(clustered(100)))
        weights.append(learner.best.statistics.weight)
    expected = [100.0]
    for t in (2, 3, 4):
        expected.append((1 - t**-0.7) * expected[-1] + 100)
    assert weights == pytest.approx(expected, rel=1e-12)


def test_a_replaced_atom_starts_with_a_clean_memory():
    rng = np.random.default_rng(3)
    rows = random_rows(300, 10)
    # Only the first batch needs the last coordinate, and the last atom spans nothing else.
    rows[:, -1] = 0
    first = np.concatenate([rows[:100], np.eye(10, dtype=complex)[[9] * 20]])
    atoms = np.concatenate([rows[:5], np.eye(10, dtype=complex)[[9]]])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    learner = OnlineLearner(LearningOptions(n_atoms=6, n_nonzero=2, coder="ormp", init=atoms), rng)
    learner.learn_batch(plain_shapes(first / np.linalg.norm(first, axis=1, keepdims=True)))
    assert learner.best.statistics.gram[5, 5].real > 1
    for _ in range(60):
        learner.learn_batch(plain_shapes(rows[100:]))
        if np.abs(learner.atoms[5, 9]) < 0.5:
            break
    memory = learner.best.statistics
    assert np.abs(learner.atoms[5, 9]) < 0.5, "the atom that nothing uses any more was never replaced"
    assert memory.gram[5, 5] == 0
    assert not memory.gram[:, 5].any()
    assert not memory.products[5].any()
    assert learner.best.usage[5] == 0


def test_resume_goes_on_from_given_atoms():
    atoms = random_rows(6, 10)
    source = plain_shapes(clustered(300))
    found = survey(source, atoms, OPTIONS)
    learner = OnlineLearner.resume(
        OPTIONS, np.random.default_rng(0), atoms, found.statistics, n_batches=9, rmse=found.loss**0.5
    )
    learner.learn_batch(source)
    assert learner.n_batches == 10
    assert learner.best.statistics.weight == pytest.approx((1 - 10**-0.7) * 300 + 300)


def test_restarts_are_refused():
    with pytest.raises(ValueError, match="learning from batches needs n_restarts=1, got 2"):
        OnlineLearner(LearningOptions(n_atoms=3, n_nonzero=1, n_restarts=2), np.random.default_rng(0))


@pytest.mark.parametrize("distance", ["full", "partial", "geodesic"])
def test_usage_is_a_fraction_of_the_shapes(distance):
    # One atom per shape: the fractions add up to 1.
    options = LearningOptions(n_atoms=6, n_nonzero=1, distance=distance)
    learner = OnlineLearner(options, np.random.default_rng(0))
    for seed in range(3):
        learner.learn_batch(plain_shapes(random_rows(100, 10, seed)))
        assert learner.best.usage.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("dtypes", [(np.complex64, np.complex128), (np.complex128, np.complex64)])
def test_the_more_precise_of_batch_and_atoms_decides(dtypes):
    batch_dtype, atoms_dtype = dtypes
    options = LearningOptions(n_atoms=6, n_nonzero=2, coder="ormp", init=random_rows(6, 10, dtype=atoms_dtype))
    learner = OnlineLearner(options, np.random.default_rng(0))
    learner.learn_batch(plain_shapes(clustered(100).astype(batch_dtype)))
    assert learner.atoms.dtype == np.complex128
    resumed = OnlineLearner.resume(
        options,
        np.random.default_rng(0),
        random_rows(6, 10, dtype=atoms_dtype),
        learner.best.statistics,
        3,
        learner.best.rmse,
    )
    resumed.learn_batch(plain_shapes(clustered(100).astype(batch_dtype)))
    assert resumed.atoms.dtype == np.complex128
