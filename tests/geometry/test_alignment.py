import numpy as np
import pytest
from hypothesis import given

import shapelex as sx
from shapelex.exceptions import SpaceError
from tests import strategies


@given(strategies.stacks(2), strategies.phases, strategies.sizes, strategies.offsets)
def test_rotation_is_found(stack, phase, size, offset):
    space, (z, _) = stack
    moved = size * (phase * z + offset * space.shift)
    turned = np.exp(1j * sx.optimal_rotation(z, moved, space))
    assert turned == pytest.approx(phase, abs=1e-9)
    np.testing.assert_allclose(sx.rotate_onto(z, moved, space), space.preshape(moved), atol=1e-9)
    np.testing.assert_allclose(sx.align_onto(z, moved, space), space.preshape(moved), atol=1e-9)


@given(strategies.stacks(2), strategies.phases, strategies.sizes)
def test_no_other_rotation_or_scale_is_better(stack, phase, size):
    space, (z, w) = stack
    rotated, target = sx.rotate_onto(z, w, space), space.preshape(w)
    best = space.norm(rotated - target)
    assert best == pytest.approx(sx.distance(z, w, "partial", space), abs=1e-12)
    assert space.norm(phase * rotated - target) >= best - 1e-12
    aligned = sx.align_onto(z, w, space)
    best = space.norm(aligned - target)
    assert best == pytest.approx(sx.distance(z, w, "full", space), abs=1e-12)
    assert space.norm(size * phase * aligned - target) >= best - 1e-12
    assert space.norm(aligned) <= 1 + 1e-12
    assert abs(space.inner(aligned, aligned - target)) < 1e-12


def test_orthogonal_shapes_are_not_turned():
    z, w = np.array([1, -1, 0, 0]) + 0j, np.array([0, 0, 1, -1]) + 0j
    assert sx.optimal_rotation(z, w) == 0
    np.testing.assert_array_equal(sx.rotate_onto(z, w), sx.Landmarks(4).preshape(z))
    np.testing.assert_allclose(sx.align_onto(z, w), 0, atol=1e-16)
    orthogonal_to_rounding = sx.horizontal_projection(np.array([0, 1, 1j, 3]), np.array([1j, 2, 0.3, 1]))
    assert sx.optimal_rotation(np.array([0, 1, 1j, 3]), orthogonal_to_rounding) == 0


@given(strategies.stacks(2))
def test_real_gram_gives_the_real_product(stack):
    space, (z, w) = stack
    parts = [np.concatenate([a.real, a.imag]) for a in (z, w)]
    assert parts[0] @ sx.real_gram(space.gram) @ parts[1] == pytest.approx(space.inner(z, w).real, rel=1e-9, abs=1e-10)


def test_real_gram_refuses_what_is_not_square():
    with pytest.raises(SpaceError, match=r"square matrix, got shape \(2, 3\)"):
        sx.real_gram(np.ones((2, 3)))
