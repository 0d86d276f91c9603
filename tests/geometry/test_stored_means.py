"""Means of stored sets: those of arrays to rounding, from blocks."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CollapsedShapeError, CoordinateCountError, NonFiniteError, NonUniqueMeanWarning
from shapelex.shapes import storage
from tests.shapes.test_stored import KINDS, Recorder, make_shapes

MEANS = ["full", "partial", "geodesic"]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(storage, "BLOCK_ROWS", 16)


def make_set(n_shapes=50, dtype=complex):
    return make_shapes(1, 6, dtype, seed=3) + 0.3 * make_shapes(n_shapes, 6, dtype)


@pytest.mark.parametrize("mean", MEANS)
def test_means_are_those_of_arrays_and_no_more_than_a_block_is_read(mean):
    X, weights = make_set(), np.random.default_rng(1).random(50)
    stored = Recorder(X)
    for mean_of in (sx.mean_shape, sx.align_to_mean):
        expected = mean_of(X, mean, weights, sx.BSpline(6))
        np.testing.assert_allclose(mean_of(stored, mean, weights, sx.BSpline(6)), expected, atol=1e-11)
    assert 1 < stored.most_rows <= 16


def test_sets_of_another_space_are_refused():
    with pytest.raises(CoordinateCountError, match="Z has 6 coordinates per shape, but the space has 5"):
        sx.mean_shape(Recorder(make_set()), space=sx.BSpline(5))


def test_missing_landmarks_are_filled_in(tmp_path):
    X = make_set()
    X[::4, 2] = np.nan
    stored = KINDS["list"](X, tmp_path)
    expected = sx.mean_shape(X, missing="allow")
    np.testing.assert_allclose(sx.mean_shape(stored, missing="allow"), expected, atol=1e-12)


@pytest.mark.parametrize(("value", "error"), [(np.nan, NonFiniteError), (3.0, CollapsedShapeError)])
def test_errors_name_rows_of_the_whole_set(value, error):
    X = make_set()
    X[37] = value
    with pytest.raises(error, match=r"Z has .* in row 37\b"):
        sx.mean_shape(Recorder(X))


def test_a_mean_that_is_not_unique_is_said_so_where_it_is_asked_for():
    circle = np.exp(2j * np.pi * np.arange(6) / 6)
    X = np.tile([circle, circle**2], (20, 1))
    for shapes in (X, X[:2], Recorder(X)):
        with pytest.warns(NonUniqueMeanWarning) as warned:
            sx.mean_shape(shapes)
        assert warned[0].filename == __file__
