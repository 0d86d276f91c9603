import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from shapelex.estimators.score_calibration import calibrate_scores, pool, pooling_weights


def draw(n_shapes=400, n_classes=3, sharpness=2.0, seed=0):
    """Return scores, and labels drawn with the probabilities softmax(sharpness * scores)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_shapes, n_classes))
    return scores, _labels(sharpness * scores, rng)


def _labels(logits, rng):
    return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_finds_the_scale_and_offsets_that_made_the_labels(unit):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(20000, 3))
    offsets = np.array([0.5, -0.5, 0.0])
    numbers = _labels(2 * scores + offsets, rng)
    found = calibrate_scores(unit * scores, numbers)
    assert found.scale * unit == pytest.approx(2, rel=0.05)
    np.testing.assert_allclose(found.offsets - found.offsets.mean(), offsets, atol=0.1)


@settings(max_examples=20)
@given(seed=st.integers(0, 100), shift=st.floats(-5, 5), factor=st.floats(0.1, 10))
def test_probabilities_do_not_depend_on_the_unit_of_scores(seed, shift, factor):
    scores, numbers = draw(60, seed=seed)
    plain, moved = calibrate_scores(scores, numbers), calibrate_scores(factor * scores + shift, numbers)
    expected = log_softmax(plain.scores(scores), axis=1)
    np.testing.assert_allclose(log_softmax(moved.scores(factor * scores + shift), axis=1), expected, atol=2e-3)


def test_useless_scores_give_the_frequencies():
    rng = np.random.default_rng(0)
    numbers = (rng.random(2000) < 0.3).astype(int)
    scores = rng.normal(size=(2000, 2))
    probabilities = np.exp(log_softmax(calibrate_scores(scores, numbers).scores(scores), axis=1))
    np.testing.assert_allclose(probabilities[:, 1], 0.3, atol=0.1)


def test_separated_and_constant_scores_stay_finite():
    numbers = np.repeat([0, 1], 10)
    perfect = np.where(numbers[:, None] == np.arange(2), 1.0, -1.0)
    for scores in (perfect, np.zeros((20, 2)), np.ones((20, 2))):
        found = calibrate_scores(scores, numbers)
        assert np.isfinite(found.scores(scores)).all()


def test_pools_are_probabilities_and_no_method_excludes_a_class():
    certain = np.log(np.array([[[1 - 1e-300, 1e-300]], [[1e-300, 1 - 1e-300]]]))
    pooled = np.exp(pool(certain, np.array([0.5, 0.5])))
    np.testing.assert_allclose(pooled, 0.5)
    logarithms = log_softmax(np.random.default_rng(0).normal(size=(3, 20, 4)), axis=2)
    np.testing.assert_allclose(np.exp(pool(logarithms, np.array([0.2, 0.7, 1.4]))).sum(axis=1), 1)


def test_a_single_useful_method_gets_the_weight():
    scores, numbers = draw(2000)
    right = log_softmax(2 * scores, axis=1)
    wrong = log_softmax(2 * np.random.default_rng(5).normal(size=scores.shape), axis=1)
    weights = pooling_weights(np.stack([right, wrong]), numbers)
    assert weights[0] == pytest.approx(1, abs=0.1)
    assert weights[1] < 0.1
    few = pooling_weights(np.stack([right, wrong])[:, :15], numbers[:15])
    assert few[1] > 0.2


def test_weights_are_a_minimum():
    scores, numbers = draw(300)
    rng = np.random.default_rng(2)
    logarithms = log_softmax(scores + rng.normal(size=(3, *scores.shape)), axis=2)

    def objective(weights):
        found = pool(logarithms, weights)[np.arange(300), numbers]
        return -found.sum() + 25 * np.sum((weights - 1 / 3) ** 2)

    weights = pooling_weights(logarithms, numbers)
    least = objective(weights)
    for _ in range(30):
        assert objective(np.clip(weights + 0.05 * rng.normal(size=3), 0, 3)) >= least - 1e-6
