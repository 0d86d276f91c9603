"""Start points, directions, curvature, speed and rhythm along a motion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import CollapsedShapeError, ParameterError
from shapelex.sequences import curvature, encode_sequence, phase_velocity, posture_speed, register_sequence

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


def bodies(worms, n_points=60):
    """Outlines of worms of one width whose heads and tails look alike; the first point is beside the head."""
    midlines = sx.resample(np.asarray(worms), n_points // 2, closed=False)
    tangents = np.gradient(midlines, axis=1)
    sides = 0.05j * np.abs(np.diff(midlines, axis=1)).sum(axis=1)[:, None] * tangents / np.abs(tangents)
    return np.concatenate([midlines - sides, (midlines + sides)[:, ::-1]], axis=1)


def test_heads_are_followed_where_worms_look_the_same_from_both_ends():
    worms = sx.datasets.make_worms(150, 2, random_state=1)
    outlines, space = bodies(worms) + 3, sx.Landmarks(60, closed=True)
    shifts = np.random.default_rng(0).integers(60, size=len(outlines))
    rolled = sx.ShapeSet(space.roll(outlines, shifts), space, sequence=worms.sequence, metadata=worms.metadata)

    def n_swaps(found):
        starts = (found.shift + shifts) % 60
        steps = (np.diff(starts) + 30) % 60 - 30
        return np.count_nonzero((np.abs(steps) > 15) & (np.diff(worms.sequence) == 0))

    assert n_swaps(sx.register(rolled)) > 0
    found = register_sequence(rolled)
    assert n_swaps(found) == 0
    # Later recordings are registered to the same mean.
    later = register_sequence(rolled[:150], to=found.target)
    np.testing.assert_allclose(later.target, found.target)
    assert not later.preparation.difference(found.preparation)
    assert np.abs(later.configurations - found.configurations[:150]).max() == 0


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


def crawl(pace):
    """A body wave of constant pace, in radians per frame; the first point is the head."""
    s, t = np.arange(19) / 18, np.arange(150)
    angles = 0.8 * np.sin(2 * np.pi * 1.3 * s[None] - pace * t[:, None]) + 0.03 * t[:, None]
    steps = np.exp(1j * angles) / 19
    return np.concatenate([np.zeros((150, 1)), np.cumsum(steps, axis=1)], axis=1)


@pytest.mark.parametrize("pace", [0.2, -0.35])
def test_velocity_of_a_wave(pace):
    rows, frames = crawl(pace), np.arange(150)
    model = sx.ShapeDictionary(8, 3, n_swaps=0, tol=1e-2, random_state=0).fit(rows)
    result = encode_sequence(rows, model, switch_cost=1e-4)
    velocity = phase_velocity(result, window=31)
    assert np.median(velocity) == pytest.approx(pace, rel=0.05)
    timed = encode_sequence(rows, model, switch_cost=1e-4, fps=30)
    np.testing.assert_allclose(phase_velocity(timed, window=31), 30 * velocity)
    # It does not depend on pose, and gaps take time.
    turned = encode_sequence(rows * np.exp(2j * frames)[:, None], model, switch_cost=1e-4)
    np.testing.assert_allclose(phase_velocity(turned, window=31), velocity, atol=1e-6)
    kept = np.setdiff1d(frames, [60, 61, 90])
    thinned = phase_velocity(encode_sequence(rows[kept], model, frames=kept, switch_cost=1e-4), window=31)
    assert np.median(thinned) == pytest.approx(np.median(velocity), rel=0.05)


def test_speed_is_distance_over_time(worms, result):
    for atoms in [(0, 0), (0, 6), (1,), (-1, 2)]:
        with pytest.raises(ParameterError, match="two different atoms from 0 to 5"):
            phase_velocity(result, atoms)
    speed, rebuilt = posture_speed(result), result.reconstruct()
    assert np.isnan(speed[[0, 60, 120]]).all()
    assert speed[8] == pytest.approx(sx.distance(rebuilt[7], rebuilt[8], kind="geodesic", space=worms.space))


def test_curvature_of_an_arc():
    t = np.linspace(0, 1.0, 15)
    arc = 4 * np.exp(1j * t) * np.exp(0.3j) + 2
    found = curvature([arc, arc[::-1]])
    np.testing.assert_allclose(found, np.array([[1.0], [-1.0]]) * np.ones(13), rtol=1e-3)
    assert curvature(np.arange(6.0)[None] + 0j, sx.BSpline(6, closed=False)).shape == (1, 39)


@pytest.mark.parametrize("space", [None, sx.Landmarks(24, closed=True), sx.BSpline(24, closed=True)])
@pytest.mark.parametrize("size", [1e-307, 1e-200, 1e-160, 1e155, 1e200, 1e306])
def test_curvature_does_not_depend_on_size(space, size):
    t = 2 * np.pi * np.arange(24) / 24
    curves = np.exp(1j * t) + np.array([[0.3], [-0.2]]) * np.exp(-1j * t) + 0.1 * np.exp(3j * t) + 0.5
    np.testing.assert_allclose(curvature(size * curves, space), curvature(curves, space), rtol=1e-9)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.ones((2, 24)) + 0j, "X has collapsed shapes in rows 0, 1"),
        (1e-310 * np.exp(1j * np.arange(8))[None], "X has shapes in row 0 of a size below 2.2e-308"),
        (np.float32(1e-40) * np.exp(1j * np.arange(8))[None].astype(np.complex64), "below 1.2e-38"),
    ],
)
def test_curvature_of_collapsed_shapes_is_refused(X, words):
    with pytest.raises(CollapsedShapeError, match=words):
        curvature(X)


def test_curvature_is_missing_where_three_points_coincide():
    curve = np.exp(1j * np.linspace(0, 1, 9))
    curve[4] = curve[3] = curve[5]
    np.testing.assert_array_equal(np.isnan(curvature(curve[None])), [[False, False, False, True, False, False, False]])


@pytest.mark.realdata
def test_rhythm_of_a_recorded_worm_is_that_of_its_eigenworms(data_folder):
    with np.load(data_folder / "celegans_yemini_cb4853_midlines_20.npz") as file:
        points, frames = sx.from_points(file["points"]), file["frame"]
    model = sx.ShapeDictionary(8, 3, random_state=0).fit(points)
    velocity = phase_velocity(encode_sequence(points, model, frames=frames))
    angles = np.unwrap(np.angle(np.diff(points, axis=1)), axis=1)
    angles -= angles.mean(axis=1, keepdims=True)
    centered = angles - angles.mean(axis=0)
    modes = np.linalg.svd(centered, full_matrices=False)[2][:2]
    phase = np.unwrap(np.arctan2(*(centered @ modes.T).T[::-1]))
    slopes = np.array([np.polyfit(frames[near], phase[near], 1)[0] for near in np.abs(frames[:, None] - frames) <= 4])
    assert abs(np.corrcoef(velocity, slopes)[0, 1]) > 0.9
