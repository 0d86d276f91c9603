import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import NotHorizontalError, ShapeInputError
from tests import oracles, strategies
from tests.conftest import in_each_product

times = st.floats(0, 1)


@given(strategies.stacks(2))
def test_exp_undoes_log(stack):
    space, (z, w) = stack
    reached = sx.exp(z, sx.log(z, w, space), space)
    assert sx.distance(reached, w, "geodesic", space) < 1e-12
    np.testing.assert_allclose(reached, sx.rotate_onto(w, z, space), atol=1e-11)


@given(strategies.stacks(2), st.floats(1e-9, np.pi / 2 - 1e-3))
def test_log_undoes_exp(stack, length):
    space, (z, v) = stack
    tangent = sx.horizontal_projection(z, v, space)
    tangent *= length / space.norm(tangent)
    back = sx.log(z, sx.exp(z, tangent, space), space)
    # The cut locus is at pi / 2: the rotation onto the base is found from a product of modulus cos(length).
    size = max(1.0, np.abs(tangent).max(), np.abs(space.preshape(z)).max())
    np.testing.assert_allclose(back, tangent, rtol=0, atol=1e-13 * size / np.cos(length))


@given(strategies.stacks(2), strategies.phases, strategies.sizes, strategies.offsets)
def test_log_is_horizontal_and_as_long_as_the_distance_and_turns_with_its_base(stack, phase, size, offset):
    space, (z, w) = stack
    v = sx.log(z, w, space)
    assert abs(space.inner(space.preshape(z), v)) < 1e-13
    assert abs(space.center(v)) < 1e-12
    assert space.norm(v) == pytest.approx(sx.distance(z, w, "geodesic", space), rel=1e-12)
    np.testing.assert_allclose(sx.log(phase * z, w, space), phase * v, atol=1e-9)
    np.testing.assert_allclose(sx.log(z, size * (phase * w + offset * space.shift), space), v, atol=1e-7)


@given(strategies.stacks(2))
def test_horizontal_projection(stack):
    space, (z, v) = stack
    base = space.preshape(z)
    h = sx.horizontal_projection(z, v, space)
    assert abs(space.inner(base, h)) < 1e-12
    assert abs(space.center(h)) < 1e-12
    np.testing.assert_allclose(sx.horizontal_projection(z, h, space), h, atol=1e-11)
    removed = v - h
    np.testing.assert_allclose(
        removed, space.inner(base, v) * base + space.center(v) * space.shift, atol=1e-10 * (1 + space.norm(v))
    )


@given(strategies.stacks(2), times, times)
def test_geodesic_runs_at_constant_speed_from_end_to_end(stack, s, t):
    space, (z, w) = stack
    path = sx.geodesic(z, w, [s, t, 0.0, 1.0], space)
    rho = sx.distance(z, w, "geodesic", space)
    np.testing.assert_allclose(space.norm(path), 1, atol=1e-12)
    assert sx.distance(*path[:2], "geodesic", space) == pytest.approx(abs(t - s) * rho, abs=1e-12)
    np.testing.assert_array_equal(path[2], sx.rotate_onto(z, w, space))
    np.testing.assert_array_equal(path[3], space.preshape(w))


@pytest.mark.parametrize("gap", [0.0, 1e-300, 1e-16, 1e-9, 1e-5])
@in_each_product
def test_geodesic_between_nearly_equal_shapes(gap, space):
    z, v = strategies.random_configurations(space, 2, 20)
    w = z + gap * v
    path = sx.geodesic(z, w, np.linspace(0, 1, 5), space)
    rho = sx.distance(z, w, "geodesic", space)
    np.testing.assert_allclose(space.norm(path), 1, atol=1e-14)
    np.testing.assert_allclose(sx.distance(path, path[0], "geodesic", space), rho * np.linspace(0, 1, 5), atol=2e-15)


def test_geodesic_at_the_cut_locus():
    z, w = np.array([1, -1, 0, 0]) + 0j, np.array([0, 0, 1, -1]) + 0j
    path = sx.geodesic(z, w, [0, 0.5, 1])
    np.testing.assert_allclose(path, np.array([z, (z + w) / np.sqrt(2), w]) / np.sqrt(2), atol=1e-15)
    np.testing.assert_allclose(sx.log(z, w), np.pi / 2 * w / np.sqrt(2), atol=1e-15)


def test_geodesic_axes():
    Z = strategies.random_configurations(sx.Landmarks(5), 3, 20)
    shapes = [sx.geodesic(*given).shape for given in ((Z[0], Z[1], 0.5), (Z[0], Z[1], [0.5, 1]), (Z, Z[1], 0.5))]
    assert shapes == [(5,), (2, 5), (3, 5)]
    assert sx.geodesic(Z[1], Z, [0, 0.5, 1, 2]).shape == (3, 4, 5)
    np.testing.assert_allclose(sx.geodesic(Z[1], Z, [0, 0.5])[2], sx.geodesic(Z[1], Z[2], [0, 0.5]), atol=1e-14)
    for t in (np.nan, [[0.5]], 1j):
        with pytest.raises(ShapeInputError, match="t must be a finite time"):
            sx.geodesic(Z[0], Z[1], t)


@given(strategies.stacks(4))
def test_transport_is_an_isometry(stack):
    space, (z, w, a, b) = stack
    a, b = sx.horizontal_projection(z, np.array([a, b]), space)
    carried = sx.parallel_transport(z, w, np.array([a, b]), space)
    np.testing.assert_allclose(space.inner(space.preshape(w), carried), 0, atol=1e-11 * space.norm(carried).max())
    assert space.inner(*carried) == pytest.approx(space.inner(a, b), abs=1e-10 * space.norm(a) * space.norm(b))
    np.testing.assert_allclose(space.norm(carried), space.norm(np.array([a, b])), rtol=1e-11)


@given(strategies.stacks(3))
def test_transport_carries_the_velocity_and_comes_back(stack):
    space, (z, w, v) = stack
    np.testing.assert_allclose(
        sx.parallel_transport(z, w, sx.log(z, w, space), space), -sx.log(w, z, space), atol=1e-11
    )
    v = sx.horizontal_projection(z, v, space)
    there = sx.parallel_transport(z, w, v, space)
    np.testing.assert_allclose(sx.parallel_transport(w, z, there, space), v, atol=1e-10)
    np.testing.assert_allclose(sx.parallel_transport(z, z, v, space), v, atol=1e-11)


@settings(max_examples=5)
@given(strategies.stacks(3))
def test_transport_agrees_with_small_steps(stack):
    space, (z, w, v) = stack
    v = sx.horizontal_projection(z, v, space)
    expected = oracles.transport_in_small_steps(z, w, v, space)
    np.testing.assert_allclose(sx.parallel_transport(z, w, v, space), expected, atol=2e-3 * np.abs(v).max(), rtol=2e-3)


@in_each_product
def test_vectors_that_are_horizontal_to_rounding_only(space):
    z, v = strategies.random_configurations(space, 2, 20)
    base = space.preshape(z)
    tangent = sx.horizontal_projection(z, v + 1e6 * (np.pi + 1j) * base, space)
    assert abs(space.inner(base, tangent)) < 1e-13
    tangent /= space.norm(tangent)
    assert space.norm(sx.exp(z, tangent + 5e-8 * base, space)) == pytest.approx(1, abs=1e-13)


@in_each_product
def test_vectors_that_are_not_horizontal_are_refused(space):
    z, v = strategies.random_configurations(space, 2, 20)
    tangent, base = sx.horizontal_projection(z, v, space), space.preshape(z)
    sx.exp(z, tangent, space)
    for wrong in (v, tangent + 0.1j * base, tangent + 0.1 * space.shift, base):
        for call in (lambda: sx.exp(z, wrong, space), lambda: sx.parallel_transport(z, z, wrong, space)):  # noqa: B023
            with pytest.raises(NotHorizontalError, match=r"use horizontal_projection\(z, v\)"):
                call()
    np.testing.assert_allclose(sx.exp(z, 0 * v, space), base, atol=1e-13)
    with pytest.raises(NotHorizontalError):
        sx.exp(z, 5e-4 * base, space)
    Z = strategies.random_configurations(space, 3, 20)
    V = sx.horizontal_projection(Z, Z[::-1], space)
    V[[1, 2]] += space.shift
    size = f"{space.norm(space.shift + 0j):.3g}"
    with pytest.raises(NotHorizontalError, match=rf"not in rows 1, 2: .*\|u\* Phi v\| / \|u\| = {size} should"):
        sx.exp(Z, V, space)
