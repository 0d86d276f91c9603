"""Deformations: against the dense kernel of the paper, their size, and what they leave alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.datasets import deform
from shapelex.datasets.deformation import _smooth
from shapelex.exceptions import CollapsedShapeError, ShapeInputError


def dense_kernel(shape):
    """The paper's kernel, entry by entry."""
    n_points = len(shape)
    return np.array([[abs(shape[i] - shape[j]) ** 2 for j in range(n_points)] for i in range(n_points)])


@given(st.integers(3, 12), st.integers(1, 4), st.integers(0, 2**32))
def test_smoothing_is_the_product_with_the_dense_kernel(n_points, n_copies, seed):
    rng = np.random.default_rng(seed)
    shapes = sx.Landmarks(n_points).preshape(rng.normal(size=(3, n_points, 2)))
    vectors = rng.normal(size=(3, n_copies, n_points)) + 1j * rng.normal(size=(3, n_copies, n_points))
    for shape, one, found in zip(shapes, vectors, _smooth(shapes, vectors), strict=True):
        kernel = dense_kernel(shape)
        expected = one @ kernel / np.sqrt(2 * np.sum(kernel**2))
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_root_mean_squared_size_is_the_amplitude(rng):
    shape = sx.Landmarks(15).preshape(rng.normal(size=(1, 15, 2)))
    vectors = rng.normal(size=(1, 20000, 15)) + 1j * rng.normal(size=(1, 20000, 15))
    mean_square = np.mean(np.sum(np.abs(_smooth(shape, vectors)[0]) ** 2, axis=1))
    assert mean_square == pytest.approx(1.0, rel=0.05)


def test_copies_follow_each_other_and_are_preshapes(rng):
    X = rng.normal(size=(4, 9, 2))
    copies = deform(X, 6, amplitude=0.05, random_state=1)
    assert copies.shape == (24, 9)
    np.testing.assert_allclose(np.linalg.norm(copies, axis=1), 1)
    np.testing.assert_allclose(copies.mean(axis=1), 0, atol=1e-15)
    nearest = sx.pairwise_distances(copies, X).argmin(axis=1)
    assert nearest.tolist() == [k for k in range(4) for _ in range(6)]


def test_amplitude_zero_changes_nothing(rng):
    X = rng.normal(size=(2, 7, 2))
    np.testing.assert_allclose(deform(X, 2, amplitude=0), np.repeat(sx.Landmarks(7).preshape(X), 2, axis=0), atol=1e-15)


def test_deformations_turn_with_the_shape(rng):
    """The kernel only sees distances, so a turned shape with turned vectors is deformed alike."""
    shape = sx.Landmarks(8).preshape(rng.normal(size=(1, 8, 2)))
    vectors = rng.normal(size=(1, 3, 8)) + 1j * rng.normal(size=(1, 3, 8))
    turn = np.exp(0.7j)
    np.testing.assert_allclose(_smooth(turn * shape, turn * vectors), turn * _smooth(shape, vectors), atol=1e-13)


def test_seed_decides(rng):
    X = rng.normal(size=(2, 7, 2))
    np.testing.assert_array_equal(deform(X, random_state=3), deform(X, random_state=np.random.default_rng(3)))
    assert not np.allclose(deform(X, random_state=3), deform(X, random_state=4))


def test_single_precision_stays(rng):
    assert deform(rng.normal(size=(2, 7, 2)).astype(np.float32), 2).dtype == np.complex64


def test_bad_input(rng):
    X = rng.normal(size=(2, 7, 2))
    with pytest.raises(ValueError, match="n_deformations must be at least 1, got 0"):
        deform(X, 0)
    with pytest.raises(ValueError, match="amplitude must be finite and not negative, got -1"):
        deform(X, amplitude=-1)
    with pytest.raises(TypeError, match="amplitude must be a number"):
        deform(X, amplitude="large")
    with pytest.raises(ShapeInputError):
        deform(rng.normal(size=(2, 7)))
    with pytest.raises(CollapsedShapeError):
        deform(np.ones((1, 5), dtype=complex))
