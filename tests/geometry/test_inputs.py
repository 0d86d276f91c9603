"""What all functions of two shapes, and of sets, have in common: stacks, precision, and what they refuse."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeInputError
from tests.strategies import random_configurations

SPACE = sx.BSpline(6)
KINDS = ["full", "partial", "geodesic"]


def tangent(z, v, space=None):
    return sx.horizontal_projection(z, v, space)


PAIRS = {
    "distance": lambda z, w, space=None: sx.distance(z, w, "geodesic", space),
    "rotation": sx.optimal_rotation,
    "rotate": sx.rotate_onto,
    "align": sx.align_onto,
    "log": sx.log,
    "projection": sx.horizontal_projection,
    "exp": lambda z, w, space=None: sx.exp(z, tangent(z, w, space), space),
    "geodesic path": lambda z, w, space=None: sx.geodesic(z, w, [0.3, 2], space),
    "transport": lambda z, w, space=None: sx.parallel_transport(z, w, tangent(z, w, space), space),
}
SETS = {
    "pairwise": sx.pairwise_distances,
    "means": lambda Z, space=None, **options: np.array([sx.mean_shape(Z, k, space=space, **options) for k in KINDS]),
    "aligned": lambda Z, space=None, **options: sx.align_to_mean(Z, space=space, **options),
}


@pytest.mark.parametrize("space", [None, SPACE], ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_stacks_and_of_single_shapes(name, space):
    function = PAIRS[name]
    Z, W = random_configurations(SPACE, 4, 0), random_configurations(SPACE, 4, 1)
    expected = np.array([function(z, w, space) for z, w in zip(Z, W, strict=True)])
    np.testing.assert_allclose(function(Z, W, space), expected, atol=1e-13)
    np.testing.assert_allclose(function(Z, W[2], space)[2], expected[2], atol=1e-13)
    np.testing.assert_allclose(function(Z[2], W, space)[2], expected[2], atol=1e-13)
    assert function(Z[:1], W[0], space).shape == expected[:1].shape
    single = function(Z.astype(np.complex64), W.astype(np.complex64), space)
    assert single.dtype == (np.complex64 if np.iscomplexobj(expected) else np.float32)
    np.testing.assert_allclose(single, expected, atol=1e-4)
    with pytest.raises(ShapeInputError, match="same number of shapes"):
        function(Z, W[:2], space)


@pytest.mark.parametrize("missing", ["error", "allow"])
@pytest.mark.parametrize("name", SETS)
def test_sets_in_single_precision(name, missing):
    Z = random_configurations(SPACE, 1, 0) + 0.3 * random_configurations(SPACE, 7, 1)
    double, single = (SETS[name](Z.astype(dtype), missing=missing) for dtype in (complex, np.complex64))
    assert single.dtype == (np.complex64 if np.iscomplexobj(double) else np.float32)
    np.testing.assert_allclose(single, double, atol=1e-3)
    if name == "pairwise":
        assert sx.pairwise_distances(Z, Z.astype(np.complex64)).dtype == np.float64


@pytest.mark.parametrize("kind", ["procrustes", np.array([1.0, 2.0])])
def test_kinds_are_checked(kind):
    Z = random_configurations(SPACE, 3, 0)
    for call in (lambda: sx.distance(Z, Z, kind), lambda: sx.mean_shape(Z, kind), lambda: sx.align_to_mean(Z, kind)):
        with pytest.raises(ValueError, match="kind must be one of 'full', 'partial', 'geodesic'"):
            call()


@pytest.mark.parametrize("wrong", [4, "landmarks", sx.Landmarks])
def test_spaces_are_checked(wrong):
    with pytest.raises(TypeError, match="space must be a space"):
        sx.distance([0, 1, 1j], [0, 1, 2j], space=wrong)
