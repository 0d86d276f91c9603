import numpy as np
import pytest
from hypothesis import given, settings

import shapelex as sx
from shapelex.exceptions import CollapsedShapeError
from tests import oracles, strategies

KINDS = ["full", "partial", "geodesic"]


@settings(max_examples=10)
@given(strategies.stacks(2), strategies.kinds)
def test_is_the_smallest_gap(stack, kind):
    space, (z, w) = stack
    assert sx.distance(z, w, kind, space) == pytest.approx(oracles.distance(z, w, kind, space), abs=1e-6)


@given(strategies.stacks(2), strategies.kinds, strategies.phases, strategies.sizes, strategies.offsets)
def test_is_invariant_to_similitudes(stack, kind, phase, size, offset):
    space, (z, w) = stack
    moved = size * (phase * w + offset * space.shift)
    assert sx.distance(z, moved, kind, space) == pytest.approx(sx.distance(z, w, kind, space), abs=1e-9)
    assert sx.distance(w, moved, kind, space) < 1e-9


@given(strategies.stacks(3), strategies.kinds)
def test_is_a_metric(stack, kind):
    space, (a, b, c) = stack
    ab, ba, bc, ac, aa = (sx.distance(*pair, kind, space) for pair in ((a, b), (b, a), (b, c), (a, c), (a, a)))
    assert ab == pytest.approx(ba, abs=1e-13)
    assert aa < 1e-14 < ab <= ac + bc + 1e-12


@given(strategies.stacks(2))
def test_closed_forms(stack):
    space, (z, w) = stack
    product = abs(space.inner(space.preshape(z), space.preshape(w)))
    full, partial, rho = (sx.distance(z, w, kind, space) for kind in KINDS)
    assert full == pytest.approx(np.sqrt(1 - product**2), abs=1e-7)
    assert full == pytest.approx(np.sin(rho), abs=1e-13)
    assert partial == pytest.approx(2 * np.sin(rho / 2), abs=1e-13)


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-9, 1e-12])
@given(stack=strategies.stacks(2), kind=strategies.kinds)
def test_small_distances_keep_relative_accuracy(gap, stack, kind):
    space, (z, v) = stack
    tangent = sx.horizontal_projection(z, v, space)
    near = sx.exp(z, gap * tangent / space.norm(tangent), space)
    expected = pytest.approx(gap, rel=1e-6 if gap > 1e-4 else 1e-14 / gap + 1e-9)
    assert sx.distance(z, near, kind, space) == expected
    assert sx.pairwise_distances(np.array([z, near]), kind=kind, space=space)[0, 1] == expected


def test_largest_distances():
    z, w = np.array([[1, -1, 0, 0], [0, 0, 1, -1]]) + 0j
    assert [sx.distance(z, w, kind) for kind in KINDS] == pytest.approx([1, np.sqrt(2), np.pi / 2], abs=1e-15)


@given(strategies.stacks(5), strategies.kinds)
def test_pairwise_agrees_with_single_ones(stack, kind):
    space, Z = stack
    expected = [[sx.distance(z, w, kind, space) for w in Z] for z in Z]
    square = sx.pairwise_distances(Z, kind=kind, space=space)
    np.testing.assert_allclose(square, expected, atol=1e-12)
    np.testing.assert_array_equal(square, square.T)
    np.testing.assert_array_equal(np.diag(square), 0)
    np.testing.assert_allclose(sx.pairwise_distances(Z, Z[:2], kind, space), square[:, :2], atol=1e-12)


def test_large_sets_are_worked_on_in_blocks(rng):
    Z = rng.normal(size=(1700, 6)) + 1j * rng.normal(size=(1700, 6))
    Z[1500:] = Z[:200] + 1e-8 * Z[1500:]
    square, rows = sx.pairwise_distances(Z), [3, 1180, 1520]
    np.testing.assert_allclose(square[rows], sx.pairwise_distances(Z[rows], Z), atol=1e-14)
    np.testing.assert_array_equal(square, square.T)
    np.testing.assert_allclose(sx.pairwise_distances(Z, Z[rows]), square[:, rows], atol=1e-14)


@pytest.mark.parametrize(("dtype", "factor"), [(np.complex128, 1e-310), (np.complex64, 1e-40)])
@pytest.mark.parametrize(
    "use",
    [
        lambda Z: sx.distance(Z[0], Z[1]),
        sx.pairwise_distances,
        sx.mean_shape,
        lambda Z: sx.encode(Z, np.eye(6, dtype=Z.dtype)[:3], 2),
        lambda Z: sx.ShapeDictionary(3, 2, max_iter=1).fit(Z),
    ],
)
def test_shapes_too_small_for_full_precision_are_refused(rng, dtype, factor, use):
    Z = (factor * (rng.normal(size=(9, 6)) + 1j * rng.normal(size=(9, 6)))).astype(dtype)
    with pytest.raises(CollapsedShapeError, match=r"in rows? 0.* of a size below .*: multiply the coordinates"):
        use(Z)


def test_the_smallest_shapes_of_full_precision(rng):
    Z = rng.normal(size=(2, 6)) + 1j * rng.normal(size=(2, 6))
    np.testing.assert_allclose(sx.distance(1e-300 * Z[0], 1e-305 * Z[1]), sx.distance(*Z), rtol=1e-9)
