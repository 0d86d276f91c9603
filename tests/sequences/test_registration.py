import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.kernels.shift_path import follow_shifts
from shapelex.sequences import register_sequence

SPACE = sx.Landmarks(24, closed=True)


def cells(n_frames=12):
    """A nearly symmetric outline that deforms slowly."""
    t, k = 2 * np.pi * np.arange(24) / 24, np.arange(n_frames)[:, None]
    return np.exp(1j * t) + 0.4 * np.exp(-1j * t) + 0.03 * np.cos(0.5 * k) * np.exp(2j * t)


@given(st.lists(st.integers(0, 23), min_size=12, max_size=12))
def test_start_points_follow_whatever_they_were(shifts):
    rows = cells()
    found = register_sequence(SPACE.roll(rows, shifts), SPACE)
    expected = register_sequence(rows, SPACE)
    steps, wanted = found.step_after[1:], expected.step_after[1:]
    np.testing.assert_allclose(steps, wanted, atol=1e-7)
    # The outlines themselves are a path, so the best one is no longer.
    given = sx.distance(rows[1:], rows[:-1], space=SPACE)
    assert np.sum(steps**2) <= np.sum(given**2) + 0.2 * np.sum(found.distance_before**2)


def test_shifts_against_all_paths():
    generator = np.random.default_rng(0)
    to_target, to_previous = generator.random((2, 4, 3))
    starts = np.array([True, False, False, True])
    found = np.empty(4, dtype=np.int64)
    follow_shifts(to_target, to_previous, starts, found)

    def cost(path):
        total = sum(to_target[t, s] for t, s in enumerate(path))
        return total + sum(to_previous[t, (path[t] - path[t - 1]) % 3] for t in (1, 2))

    assert cost(found) == pytest.approx(min(cost(path) for path in np.ndindex(3, 3, 3, 3)))


def test_slippage_and_what_register_returns():
    rows = SPACE.roll(cells(), np.arange(12) * 5 % 24)
    found = register_sequence(rows, SPACE, frames=np.arange(12), sequence=[0] * 12)
    assert found.slippage.shape == (12,)
    assert (np.abs(found.slippage) <= 0.5).all()
    np.testing.assert_array_equal(found.configurations, SPACE.roll(rows, found.shift))
    np.testing.assert_allclose(found.distance_after, sx.distance(found.configurations, found.target, space=SPACE))
    assert "RMS full distance to the frame before" in str(found)
    assert np.isnan(found.step_after[0])
    prepared = sx.ShapeSet(found.configurations, SPACE, preparation=found.preparation)
    assert prepared.preparation.is_registered


def exchange_ends(worms, rows):
    """Return configurations in which some worms begin with their tails."""
    configurations = np.asarray(worms).copy()
    configurations[rows] = configurations[rows, ::-1]
    return configurations


def test_swapped_ends_are_mended_with_a_remark():
    worms, swapped = sx.datasets.make_worms(50, 2, random_state=0), [10, 11, 12, 70, 99]
    found = register_sequence(worms.replace(configurations=exchange_ends(worms, swapped)))
    np.testing.assert_array_equal(found.configurations, np.asarray(worms))
    assert np.flatnonzero(found.is_reversed).tolist() == swapped
    assert "exchanged between two frames 5 times: 5 of 100 frames were reversed" in found.remarks[0]
    assert register_sequence(worms).remarks == ()
    assert not found.slippage.any()


def test_most_frames_keep_their_direction_whatever_their_pose():
    worms = sx.datasets.make_worms(50, 1, random_state=0)
    aligned = sx.align_to_mean(worms)
    for X, swapped, reversed_frames in (
        (getattr(aligned, "configurations", aligned), list(range(20, 25)), list(range(20, 25))),
        (worms, list(range(5, 50)), list(range(5))),
    ):
        found = register_sequence(exchange_ends(X, swapped), worms.space)
        assert np.flatnonzero(found.is_reversed).tolist() == reversed_frames
