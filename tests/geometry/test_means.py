import numpy as np
import pytest
from hypothesis import given

import shapelex as sx
from shapelex.exceptions import ConvergenceWarning, CoordinateCountError, NonUniqueMeanWarning, ShapeInputError
from shapelex.shapes import storage
from tests import oracles, strategies
from tests.conftest import in_each_product
from tests.shapes.test_stored import Recorder

KINDS = ["full", "partial", "geodesic"]


def cluster(space, seed, n_shapes=6, spread=0.3):
    rng = np.random.default_rng(seed)
    shape = (n_shapes, space.n_coordinates)
    center = rng.normal(size=shape[1]) + 1j * rng.normal(size=shape[1])
    center = space.preshape(center)
    noise = space.preshape(rng.normal(size=shape) + 1j * rng.normal(size=shape))
    return (center + spread * noise) * np.exp(1j * rng.uniform(0, 6, size=(n_shapes, 1)))


@given(strategies.spaces(), strategies.seeds, strategies.kinds)
def test_is_the_minimum(space, seed, kind):
    Z = cluster(space, seed, n_shapes=4)
    weights = np.random.default_rng(seed).uniform(0.2, 1, size=4)
    mean = sx.mean_shape(Z, kind, weights, space)
    best = oracles.best_mean_objective(Z, weights, kind, space)
    assert oracles.mean_objective(mean, Z, weights, kind, space) <= best + 1e-8


@given(strategies.spaces(), strategies.seeds, strategies.kinds, strategies.phases, strategies.sizes, strategies.offsets)
def test_is_a_preshape_in_the_pose_of_the_first_shape_whatever_that_of_the_others(
    space, seed, kind, phase, size, offset
):
    Z = cluster(space, seed)
    mean = sx.mean_shape(Z, kind, space=space)
    Z[1] = size * (phase * Z[1] + offset * space.shift)
    np.testing.assert_allclose(sx.mean_shape(Z, kind, space=space), mean, atol=1e-8)
    assert space.norm(mean) == pytest.approx(1, abs=1e-13)
    assert abs(space.center(mean)) < 1e-12
    assert sx.optimal_rotation(mean, Z[0], space) == pytest.approx(0, abs=1e-12)


@in_each_product
def test_each_mean_by_its_equation(space):
    Z = cluster(space, 5)
    geodesic, partial = (sx.mean_shape(Z, kind, space=space) for kind in ("geodesic", "partial"))
    np.testing.assert_allclose(sx.log(geodesic, Z, space).mean(axis=0), 0, atol=1e-12)
    average = sx.rotate_onto(Z, partial, space).mean(axis=0)
    np.testing.assert_allclose(average / space.norm(average), partial, atol=1e-12)
    preshapes = np.array([oracles.preshape(z, space) for z in Z])
    values, vectors = np.linalg.eig(preshapes.T @ preshapes.conj() @ space.gram)
    assert sx.distance(sx.mean_shape(Z, space=space), vectors[:, np.argmax(values.real)], space=space) < 1e-10


@in_each_product
def test_mean_of_two_shapes_is_the_middle_of_their_geodesic_and_that_of_one_is_itself(space):
    Z = cluster(space, 6, n_shapes=2)
    for kind in KINDS:
        np.testing.assert_allclose(sx.mean_shape(Z[:1], kind, space=space), space.preshape(Z)[0], atol=1e-13)
        middle = sx.geodesic(Z[0], Z[1], 0.5, space)
        assert sx.distance(sx.mean_shape(Z, kind, space=space), middle, space=space) < 1e-12


def test_more_coordinates_than_shapes_and_fewer(rng):
    wide = rng.normal(size=(5, 30)) + 1j * rng.normal(size=(5, 30)) + 3 * np.exp(0.3j * np.arange(30))
    doubled = np.repeat(wide, 8, axis=0)
    np.testing.assert_allclose(sx.mean_shape(wide), sx.mean_shape(doubled), atol=1e-12)


def test_warns_when_not_unique():
    Z = np.array([[1, -1, 0, 0], [0, 0, 1, -1]]) + 0j
    many = np.tile(Z, (20, 1))
    for shapes in (Z, many, Recorder(many)):
        with pytest.warns(NonUniqueMeanWarning, match="not unique") as warned:
            sx.mean_shape(shapes)
        assert warned[0].filename == __file__
    # A small gap is enough.
    mean = sx.mean_shape(Z, weights=[1, 1 - 1e-6])
    assert sx.distance(mean, Z[0]) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_than_a_block_of_stored_shapes_is_read(kind, monkeypatch, rng):
    monkeypatch.setattr(storage, "BLOCK_ROWS", 16)
    space, weights = sx.BSpline(6), rng.random(50)
    Z = cluster(space, 3, n_shapes=50)
    stored = Recorder(Z)
    for mean_of in (sx.mean_shape, sx.align_to_mean):
        expected = mean_of(Z, kind, weights, space)
        np.testing.assert_allclose(mean_of(stored, kind, weights, space), expected, atol=1e-11)
    assert 1 < stored.most_rows <= 16
    with pytest.raises(CoordinateCountError, match="Z has 6 coordinates per shape, but the space has 5"):
        sx.mean_shape(stored, kind, space=sx.BSpline(5))


def test_warns_when_not_converged():
    Z = cluster(sx.Landmarks(5), 9, spread=1.5)
    for kind in KINDS[1:]:
        with pytest.warns(ConvergenceWarning, match=f"The {kind} mean still moved by .* after 1 iterations"):
            sx.mean_shape(Z, kind, max_iter=1)
    with pytest.raises(ValueError, match="max_iter must be at least 1, got 0"):
        sx.mean_shape(Z, max_iter=0)
    for tol in (-1, np.nan, 0):
        with pytest.raises(ValueError, match="tol must be positive"):
            sx.mean_shape(Z, "partial", tol=tol)
    with pytest.raises(ShapeInputError, match="weights must be 6 real numbers"):
        sx.mean_shape(Z, weights=[1, 2])


@given(strategies.spaces(), strategies.seeds, strategies.kinds)
def test_align_to_mean(space, seed, kind):
    Z = cluster(space, seed)
    aligned = sx.align_to_mean(Z, kind, space=space)
    mean = sx.mean_shape(Z, kind, space=space)
    np.testing.assert_allclose(sx.optimal_rotation(aligned, mean, space), 0, atol=1e-9)
    np.testing.assert_allclose(sx.distance(aligned, Z, space=space), 0, atol=1e-12)
    np.testing.assert_allclose(space.norm(aligned), 1, atol=1e-12)
