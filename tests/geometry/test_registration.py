from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import ShapeInputError, UnsupportedBySpaceError
from tests import strategies
from tests.conftest import FOURIER, custom_space

CLOSED_SPACES = [
    sx.Landmarks(3, closed=True),
    sx.Landmarks(20, closed=True),
    sx.Landmarks(21, closed=True),
    sx.BSpline(7),
    sx.BSpline(6, degree=2),
    sx.HermiteSpline(5, closed=True),
    sx.HermiteSpline(2, closed=True),
]
closed_spaces = st.sampled_from(CLOSED_SPACES)


def changed(z, space, shift, is_reversed, is_mirrored):
    """Return one changed configuration, point by point."""
    n_points = space.n_points
    blocks = (z.conj() if is_mirrored else z).reshape(-1, n_points)
    order = [(-n if is_reversed else n) % n_points for n in range(n_points)]
    order = [order[(n + shift) % n_points] for n in range(n_points)]
    signs = [1, -1 if is_reversed else 1]
    return np.concatenate([sign * block[order] for sign, block in zip(signs, blocks, strict=False)])


def outlines(space, seed, n_shapes=6, spread=0.3):
    """Return noisy copies of one configuration, at angles and places of their own."""
    center, noise = (strategies.random_configurations(space, count, seed + count) for count in (1, n_shapes))
    turns, places = strategies.random_configurations(sx.Landmarks(n_shapes), 2, seed)[:, :, None]
    return (center + spread * noise) * turns + places * space.shift


@given(closed_spaces, strategies.seeds, st.booleans(), st.booleans())
def test_finds_the_least_distance_of_all_changes(space, seed, direction, reflection):
    Z = strategies.random_configurations(space, 3, seed)
    target = strategies.random_configurations(space, 1, seed + 1)[0]
    found = sx.register(Z, space, to=target, direction=direction, reflection=reflection)
    changes = list(product(range(space.n_points), {False, direction}, {False, reflection}))
    for number, z in enumerate(Z):
        candidates = [changed(z, space, *change) for change in changes]
        least = sx.distance(np.array(candidates), target, space=space).min()
        assert found.distance_after[number] == pytest.approx(least, abs=1e-12)
        choice = int(found.shift[number]), bool(found.is_reversed[number]), bool(found.is_mirrored[number])
        np.testing.assert_array_equal(found.configurations[number], changed(z, space, *choice))
    np.testing.assert_allclose(found.distance_after, sx.distance(found.configurations, target, space=space))
    np.testing.assert_allclose(found.distance_before, sx.distance(Z, target, space=space))


@given(strategies.seeds, st.integers(1, 19))
def test_tells_apart_what_products_cannot(seed, shift):
    # A shape that is 1e-8 from being the same after half a turn.
    half = strategies.random_configurations(sx.Landmarks(10), 1, seed)[0]
    z = np.concatenate([half, -half])
    z[0] += 1e-8
    space = sx.Landmarks(20, closed=True)
    np.testing.assert_array_equal(sx.register(space.roll(z, shift), space, to=z).configurations[0], z)


def test_equally_good_changes_settle_for_the_first():
    square = np.exp(0.5j * np.pi * np.arange(4))
    space = sx.Landmarks(4, closed=True)
    stack = np.array([space.roll(square * np.exp(0.1j * s), s) for s in range(4)])
    found = sx.register(stack, space, to=square, reflection=True)
    assert not found.shift.any()
    assert not found.is_reversed.any()
    assert not found.is_mirrored.any()


@settings(max_examples=20)
@given(st.sampled_from([s for s in CLOSED_SPACES if s.n_coordinates > 5]), strategies.seeds)
def test_shapes_register_to_their_mean_whatever_their_start(space, seed):
    rng = np.random.default_rng(seed)
    Z = outlines(space, seed, spread=0.05).astype(rng.choice([np.complex64, np.complex128]))
    changes = [(int(rng.integers(space.n_points)), bool(rng.random() < 0.4), False) for _ in Z]
    changes[:4] = [(shift, False, False) for shift, _, _ in changes[:4]]
    moved = np.array([changed(z, space, *change) for z, change in zip(Z, changes, strict=True)])
    found = sx.register(moved, space)
    assert found.converged
    expected = space.roll(Z, changes[0][0])
    assert found.configurations.dtype == Z.dtype
    np.testing.assert_array_equal(found.configurations, expected)
    assert found.shift[0] == 0
    np.testing.assert_array_equal(found.is_reversed, [change[1] for change in changes])
    mean = sx.mean_shape(expected, space=space)
    assert sx.distance(found.target, mean, space=space) < (1e-12 if Z.dtype == complex else 1e-5)


@given(closed_spaces, strategies.seeds)
def test_no_single_change_improves_the_mean(space, seed):
    Z = outlines(space, seed)
    found = sx.register(Z, space, reflection=True)
    assert found.converged
    again = sx.register(found.configurations, space, to=found.target, reflection=True)
    np.testing.assert_allclose(again.distance_after, found.distance_after, atol=1e-12)
    mean = sx.mean_shape(found.configurations, space=space)
    assert np.sum(found.distance_after**2) <= np.sum(sx.distance(found.configurations, mean, space=space) ** 2) + 1e-12
    before = sx.mean_shape(Z, space=space)
    assert np.sum(found.distance_after**2) <= np.sum(sx.distance(Z, before, space=space) ** 2) + 1e-12


def test_most_shapes_keep_direction_and_handedness():
    space = sx.Landmarks(12, closed=True)
    Z = outlines(space, 5, n_shapes=9, spread=0.05)
    Z[0] = changed(Z[0], space, 4, True, True)
    found = sx.register(Z, space, reflection=True)
    np.testing.assert_array_equal(np.flatnonzero(found.is_reversed), [0])
    np.testing.assert_array_equal(np.flatnonzero(found.is_mirrored), [0])
    assert found.shift[0] == 0


def test_only_what_is_asked_for_is_changed():
    space = sx.Landmarks(12, closed=True)
    Z = outlines(space, 7)
    rolled = space.roll(Z, np.arange(6))
    found = sx.register(rolled, space, to=Z)
    np.testing.assert_array_equal(found.configurations, Z)
    np.testing.assert_array_equal(found.target, space.preshape(Z))
    assert sx.register(Z.conj(), space, to=Z).distance_after.min() > 0.1
    np.testing.assert_array_equal(sx.register(rolled, space, to=Z, start=False).shift, 0)
    assert not sx.register(space.reverse(Z), space, to=Z, direction=False).is_reversed.any()
    nothing = sx.register(rolled, space, to=Z, start=False, direction=False)
    np.testing.assert_array_equal(nothing.configurations, rolled)


@pytest.mark.parametrize("space", [sx.Landmarks(9), sx.BSpline(9, closed=False), sx.HermiteSpline(6)], ids=repr)
def test_open_curves_have_a_direction_only(space):
    Z = outlines(space, 8, spread=0.05)
    mixed = Z.copy()
    mixed[[1, 4]] = space.reverse(Z[[1, 4]])
    with pytest.raises(UnsupportedBySpaceError, match="give a space with closed=True"):
        sx.register(mixed, space)
    found = sx.register(mixed, space, start=False)
    np.testing.assert_array_equal(found.configurations, Z)
    np.testing.assert_array_equal(np.flatnonzero(found.is_reversed), [1, 4])


def test_large_sets_are_registered_like_their_parts():
    space = sx.Landmarks(200, closed=True)
    rng = np.random.default_rng(2)
    Z = outlines(space, 2, n_shapes=3000, spread=0.2)
    Z = space.roll(Z, rng.integers(200, size=len(Z)))
    found = sx.register(Z, space)
    again = sx.register(Z, space, to=found.target)
    assert found.converged
    np.testing.assert_array_equal(again.configurations, found.configurations)
    last = sx.register(Z[-5:], space, to=found.target)
    np.testing.assert_array_equal(last.configurations, found.configurations[-5:])
    mean = sx.mean_shape(found.configurations, space=space)
    assert sx.distance(found.target, mean, space=space) < 1e-12
    np.testing.assert_allclose(found.distance_after, sx.distance(found.configurations, found.target, space=space))
    np.testing.assert_allclose(found.distance_before, sx.distance(Z, found.target, space=space))
    with pytest.raises(ShapeInputError, match="row 2990"):
        sx.register(np.where(np.arange(3000)[:, None] == 2990, 1, Z), space)


class TestSubsample:
    space = sx.Landmarks(31, closed=True)

    def smooth(self, seed=0, n_shapes=5):
        rng = np.random.default_rng(seed)
        self.amplitudes = (rng.normal(size=(n_shapes, 9)) + 1j * rng.normal(size=(n_shapes, 9))) / (
            1 + np.arange(-4, 5) ** 2
        )
        self.amplitudes[:, 5] += 4
        return self.at(np.zeros(n_shapes))

    def at(self, shifts):
        t = (np.arange(31) + np.asarray(shifts)[:, None]) / 31
        return np.einsum("kf,knf->kn", self.amplitudes, np.exp(2j * np.pi * t[:, :, None] * np.arange(-4, 5)))

    @given(strategies.seeds, st.floats(-40, 40))
    # Midway between two points, another whole shift is closer than those beside the true one.
    @example(2295217618, 1.5)
    def test_a_smooth_curve_comes_back(self, seed, shift):
        Z = self.smooth(seed)
        found = sx.register(self.at(np.full(5, shift)), self.space, to=Z, subsample=True)
        np.testing.assert_allclose(found.configurations, Z, atol=1e-6)
        offsets = (found.shift + shift + 15.5) % 31 - 15.5
        np.testing.assert_allclose(offsets, 0, atol=1e-6)

    def test_is_closer_than_whole_shifts_and_keeps_size_and_place(self):
        self.smooth(2, n_shapes=40)
        self.amplitudes = self.amplitudes[:1] + 0.1 * self.amplitudes
        Z = self.at(np.random.default_rng(3).uniform(0, 31, size=40)) + 2
        whole, fine = (sx.register(Z, self.space, subsample=subsample) for subsample in (False, True))
        assert fine.converged
        assert np.sum(fine.distance_after**2) < np.sum(whole.distance_after**2)
        assert fine.shift[0] == 0
        np.testing.assert_allclose(self.space.center(fine.configurations), self.space.center(Z))
        np.testing.assert_allclose(self.space.norm(fine.configurations), self.space.norm(Z))


OUTLINE = sx.Landmarks(5, closed=True)
SHAPES = outlines(OUTLINE, 11)


@pytest.mark.parametrize(
    ("space", "options", "error", "words"),
    [
        (sx.BSpline(5), {"subsample": True}, UnsupportedBySpaceError, "its control points move as a whole"),
        (OUTLINE, {"subsample": True, "start": False}, ValueError, "needs start=True"),
        (sx.BasisSpace(FOURIER, closed=True), {}, UnsupportedBySpaceError, "BasisSpace has none"),
        (custom_space(), {"start": False}, UnsupportedBySpaceError, "direction=True needs a space that can reverse"),
        (
            custom_space(),
            {"start": False, "direction": False, "reflection": True},
            UnsupportedBySpaceError,
            "mirror images where the gram is real",
        ),
        (None, {}, UnsupportedBySpaceError, "closed=True"),
        (OUTLINE, {"to": "median"}, ValueError, 'to must be "mean" or configurations'),
        (OUTLINE, {"to": SHAPES[:2]}, ShapeInputError, "to must have one shape, or 6 as Z has, got 2"),
        (OUTLINE, {"reflection": "yes"}, TypeError, "reflection must be True or False"),
        (OUTLINE, {"n_starts": 0}, ValueError, "n_starts must be at least 1"),
        (OUTLINE, {"Z": np.ones((2, 5), complex)}, ShapeInputError, "collapsed"),
    ],
)
def test_what_is_refused(space, options, error, words):
    with pytest.raises(error, match=words):
        sx.register(**{"Z": SHAPES, "space": space} | options)


def test_says_when_it_did_not_converge():
    space = sx.Landmarks(20, closed=True)
    Z = strategies.random_configurations(space, 60, 12)
    found = sx.register(Z, space, max_iter=1)
    assert not found.converged
    assert "not converged" in str(found)
