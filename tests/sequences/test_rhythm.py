import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CollapsedShapeError, ParameterError
from shapelex.sequences import curvature, encode_sequence, phase_velocity, posture_speed


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
