import numpy as np
import pytest
from hypothesis import given, settings

import shapelex as sx
from shapelex.exceptions import CollapsedShapeError, ShapeInputError
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
    ab, bc, ac = (sx.distance(*pair, kind, space) for pair in ((a, b), (b, c), (a, c)))
    assert ab == pytest.approx(sx.distance(b, a, kind, space), abs=1e-13)
    assert sx.distance(a, a, kind, space) < 1e-14
    assert ab > 0
    assert ac <= ab + bc + 1e-12


@given(strategies.stacks(2))
def test_relations(stack):
    space, (z, w) = stack
    full, partial, rho = (sx.distance(z, w, kind, space) for kind in KINDS)
    assert partial**2 == pytest.approx(2 - 2 * np.sqrt(1 - full**2), abs=1e-12)
    assert full == pytest.approx(np.sin(rho), abs=1e-13)
    assert partial == pytest.approx(2 * np.sin(rho / 2), abs=1e-13)


@given(strategies.stacks(2))
def test_closed_forms(stack):
    space, (z, w) = stack
    product = abs(space.inner(space.preshape(z), space.preshape(w)))
    assert sx.distance(z, w, "full", space) == pytest.approx(np.sqrt(1 - product**2), abs=1e-7)
    assert sx.distance(z, w, "partial", space) == pytest.approx(np.sqrt(2 - 2 * product), abs=1e-7)
    assert sx.distance(z, w, "geodesic", space) == pytest.approx(np.arccos(product), abs=1e-7)


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-9, 1e-12])
@given(stack=strategies.stacks(2), kind=strategies.kinds)
def test_small_distances_keep_relative_accuracy(gap, stack, kind):
    space, (z, v) = stack
    tangent = sx.horizontal_projection(z, v, space)
    near = sx.exp(z, gap * tangent / space.norm(tangent), space)
    assert sx.distance(z, near, kind, space) == pytest.approx(gap, rel=1e-6 if gap > 1e-4 else 1e-14 / gap + 1e-9)
    pairwise = sx.pairwise_distances(np.array([z, near]), kind=kind, space=space)
    assert pairwise[0, 1] == pytest.approx(gap, rel=1e-6 if gap > 1e-4 else 1e-14 / gap + 1e-9)


def test_largest_distances():
    z = np.array([1, -1, 0, 0])
    w = np.array([0, 0, 1, -1])
    assert [sx.distance(z + 0j, w + 0j, kind) for kind in KINDS] == pytest.approx([1, np.sqrt(2), np.pi / 2], abs=1e-15)


@given(strategies.stacks(5), strategies.kinds)
def test_pairwise_agrees_with_single_ones(stack, kind):
    space, Z = stack
    expected = [[sx.distance(z, w, kind, space) for w in Z] for z in Z]
    square = sx.pairwise_distances(Z, kind=kind, space=space)
    np.testing.assert_allclose(square, expected, atol=1e-12)
    np.testing.assert_array_equal(square, square.T)
    np.testing.assert_array_equal(np.diag(square), 0)
    np.testing.assert_allclose(sx.pairwise_distances(Z, Z[:2], kind, space), square[:, :2], atol=1e-12)


@pytest.mark.parametrize("entries", [1, 37, 200])
def test_pairwise_blocks_do_not_show(monkeypatch, rng, entries):
    Z = rng.normal(size=(23, 6)) + 1j * rng.normal(size=(23, 6))
    Z[11:] = Z[:12] + 1e-8 * Z[11:]
    W = Z[3:9]
    whole, other = sx.pairwise_distances(Z), sx.pairwise_distances(Z, W)
    monkeypatch.setattr("shapelex.geometry.distances._BLOCK_ENTRIES", entries)
    np.testing.assert_allclose(sx.pairwise_distances(Z), whole, atol=1e-14)
    np.testing.assert_array_equal(sx.pairwise_distances(Z), sx.pairwise_distances(Z).T)
    np.testing.assert_allclose(sx.pairwise_distances(Z, W), other, atol=1e-14)


def test_broadcasting(rng):
    Z = rng.normal(size=(4, 5)) + 1j * rng.normal(size=(4, 5))
    assert sx.distance(Z, Z[0]).shape == sx.distance(Z[0], Z).shape == (4,)
    assert sx.distance(Z[:1], Z[0]).shape == (1,)
    assert np.ndim(sx.distance(Z[1], Z[0])) == 0
    with pytest.raises(ShapeInputError, match=r"z and w must have the same number of shapes.*4 and 2"):
        sx.distance(Z, Z[:2])


def test_single_precision(rng):
    Z = (rng.normal(size=(6, 5)) + 1j * rng.normal(size=(6, 5))).astype(np.complex64)
    for kind in KINDS:
        assert sx.distance(Z, Z[0], kind).dtype == np.float32
        square = sx.pairwise_distances(Z, kind=kind)
        assert square.dtype == np.float32
        np.testing.assert_allclose(square, sx.pairwise_distances(Z.astype(complex), kind=kind), atol=2e-6)


def test_mixed_precision(rng):
    Z = rng.normal(size=(6, 5)) + 1j * rng.normal(size=(6, 5))
    single = Z.astype(np.complex64)
    assert sx.pairwise_distances(single, Z).dtype == sx.pairwise_distances(Z, single).dtype == np.float64


def test_space_must_be_a_space():
    for wrong in (4, "landmarks", sx.Landmarks):
        with pytest.raises(TypeError, match=r"space must be a space such as BSpline\(40\)"):
            sx.distance([0, 1, 1j], [0, 1, 2j], space=wrong)


def test_bad_kind():
    with pytest.raises(ValueError, match="kind must be one of"):
        sx.distance([0, 1, 1j], [0, 1, 1j], np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="kind must be one of 'full', 'partial', 'geodesic', got 'procrustes'"):
        sx.distance([0, 1, 1j], [0, 1, 1j], kind="procrustes")


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
