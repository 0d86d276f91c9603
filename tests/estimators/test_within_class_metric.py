"""The product that labels teach, against its definition written out."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.estimators.within_class_metric import within_class_space
from tests.strategies import random_configurations

NUMBERS = np.array([0] * 6 + [1] * 5)
WEIGHTS = np.linspace(1, 2, 11)


def covariance(X, space, shrinkage):
    """Sum over shapes, one at a time, of what they have across the mean of their class."""
    rows = space.whitened_preshapes(X)
    scatter = np.zeros((rows.shape[1],) * 2, complex)
    for number in (0, 1):
        is_member = number == NUMBERS
        mean = space.whiten(sx.mean_shape(X[is_member], weights=WEIGHTS[is_member], space=space))
        for row, weight in zip(rows[is_member], WEIGHTS[is_member], strict=True):
            across = row - mean * np.vdot(mean, row)
            scatter += weight * np.outer(across, across.conj())
    identity = np.eye(len(scatter)) / len(scatter)
    return (1 - shrinkage) * scatter / np.trace(scatter).real + shrinkage * identity


def learn(X, space, shrinkage=0.2):
    return within_class_space(space.whitened_preshapes(X), NUMBERS, WEIGHTS, space, shrinkage)


def test_products_and_centers(space):
    X = random_configurations(space, 11, 0) + 3 * random_configurations(space, 1, 1)
    learned = learn(X, space)
    first, second = random_configurations(space, 2, 2)
    inverse = np.linalg.inv(covariance(X, space, 0.2))
    expected = space.whiten(first).conj() @ inverse @ space.whiten(second)
    found = learned.inner(learned.centered(first), learned.centered(second))
    assert found == pytest.approx(expected, rel=1e-7)
    assert learned.center(first) == pytest.approx(space.center(first), rel=1e-8)


def test_depends_on_shapes_only(space, rng):
    X = random_configurations(space, 11, 0) + 3 * random_configurations(space, 1, 1)
    poses = rng.uniform(0.5, 2, (11, 1)) * np.exp(1j * rng.uniform(0, 6, (11, 1)))
    moved = learn(poses * X + rng.normal(size=(11, 1)) * space.shift, space)
    gram = learn(X, space).gram
    np.testing.assert_allclose(moved.gram, gram, atol=1e-8 * np.abs(gram).max())


def test_nothing_to_learn():
    space = sx.Landmarks(6)
    X = random_configurations(space, 11, 0)
    assert learn(X, space, shrinkage=1.0) is space
    for dtype in (np.complex64, np.complex128):
        copies = (X[[0] * 6 + [7] * 5] * np.exp(1j * np.arange(11))[:, None]).astype(dtype)
        assert learn(copies, space) is space
