"""Scales and offsets of errors, against a minimizer that knows no gradient."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from shapelex.estimators.error_calibration import calibrate


def make_errors(seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(n_classes, size=60)
    errors = rng.uniform(0.1, 0.5, (60, n_classes))
    errors[np.arange(60), numbers] *= np.array([0.5, 0.8, 1.0])[numbers]
    return errors, numbers, rng.uniform(0.5, 2, 60)


def objective(temperatures, offsets, errors, numbers, weights):
    scales = -np.log(temperatures)
    # The common scale is free, so the best one for given temperatures is their mean.
    deviations = scales - scales.mean()
    logarithms = log_softmax(offsets - errors**2 / temperatures, axis=1)[np.arange(len(numbers)), numbers]
    shares = weights * len(numbers) / weights.sum()
    return -(shares @ logarithms) + 6 * deviations @ deviations + 1.5 * offsets @ offsets


def test_is_the_minimum():
    errors, numbers, weights = make_errors()
    found = calibrate(errors, numbers, weights)
    reached = objective(found.temperatures, found.offsets, errors, numbers, weights)

    def loss(parameters):
        return objective(np.exp(parameters[:3]), parameters[3:], errors, numbers, weights)

    start = np.r_[np.full(3, np.log(0.1)), np.zeros(3)]
    options = {"maxiter": 20000, "maxfev": 20000, "xatol": 1e-8, "fatol": 1e-10}
    oracle = minimize(loss, start, method="Nelder-Mead", options=options)
    assert reached == pytest.approx(oracle.fun, rel=1e-6)
    np.testing.assert_allclose(np.log(found.temperatures), oracle.x[:3], atol=2e-2)
    np.testing.assert_allclose(found.offsets, oracle.x[3:], atol=2e-2)


def test_scores_follow_the_formula():
    errors, numbers, weights = make_errors()
    found = calibrate(errors, numbers, weights)
    np.testing.assert_allclose(found.scores(errors), found.offsets - errors**2 / found.temperatures)


def test_separated_and_vanishing_errors_stay_finite():
    numbers = np.repeat([0, 1], 10)
    errors = np.where(np.arange(2) == numbers[:, None], 0.0, 1.0)
    for scale in (1.0, 0.0):
        found = calibrate(scale * errors, numbers, np.ones(20))
        assert np.isfinite(found.temperatures).all()
        assert (found.temperatures > 0).all()
        assert np.isfinite(found.scores(errors)).all()


def test_a_frequent_class_gets_an_offset():
    rng = np.random.default_rng(1)
    numbers = np.repeat([0, 1], [90, 10])
    found = calibrate(rng.uniform(0.1, 0.2, (100, 2)), numbers, np.ones(100))
    assert found.offsets[0] > found.offsets[1] + 0.5
    heavy = calibrate(rng.uniform(0.1, 0.2, (100, 2)), numbers, np.where(numbers == 1, 81.0, 1.0))
    assert heavy.offsets[1] > heavy.offsets[0] + 0.5
