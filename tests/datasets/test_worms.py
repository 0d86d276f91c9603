"""Worms made in code."""

import numpy as np
import pytest

import shapelex as sx


@pytest.mark.parametrize("n_postures", [1, 2, 4, 8])
def test_the_true_weights_are_in_the_angles(n_postures):
    worms = sx.datasets.make_worms(60, 2, 24, n_postures=n_postures, random_state=3)
    postures = sx.datasets.worm_postures(24, n_postures)
    angles = np.unwrap(np.angle(np.diff(np.asarray(worms), axis=1)), axis=1)
    found = angles @ postures.T / 23
    told = np.stack([worms.metadata[f"posture_{k + 1}"] for k in range(n_postures)], axis=1)
    np.testing.assert_allclose(found, told, atol=1e-10)
    # Nothing but the heading is left.
    rest = angles - told @ postures
    np.testing.assert_allclose(rest, np.broadcast_to(rest[:, :1], rest.shape), atol=1e-10)


@pytest.mark.parametrize("n_points", [12, 20, 101])
def test_postures_are_orthonormal_and_turn_nothing(n_points):
    postures = sx.datasets.worm_postures(n_points, 8)
    np.testing.assert_allclose(postures @ postures.T / (n_points - 1), np.eye(8), atol=1e-12)
    np.testing.assert_allclose(postures.mean(axis=1), 0, atol=1e-13)


def test_midlines_have_length_one_and_equal_steps():
    worms = sx.datasets.make_worms(30, 2, 15, random_state=1)
    np.testing.assert_allclose(np.abs(np.diff(np.asarray(worms), axis=1)), 1 / 14)
    assert worms.space == sx.Landmarks(15)


def test_time_series():
    worms = sx.datasets.make_worms(200, 3, random_state=2)
    assert worms.sequence.tolist() == [0] * 200 + [1] * 200 + [2] * 200
    assert worms.metadata["frame"].tolist() == [*range(200)] * 3
    assert len(set(worms.ids)) == 600
    shapes = np.asarray(worms)
    steps = sx.distance(shapes[:-1], shapes[1:])
    within = np.diff(worms.sequence) == 0
    anywhere = sx.distance(shapes[:200], shapes[400:])
    # A worm moves little from frame to frame, and a lot over time.
    assert np.median(steps[within]) < 0.5 * np.median(anywhere)
    first, second = (worms.metadata[f"posture_{k}"] for k in (1, 2))
    turned = np.diff(np.angle(first + 1j * second)[:200])
    np.testing.assert_allclose(np.abs((turned + np.pi) % (2 * np.pi) - np.pi), 2 * np.pi / 24, atol=1e-9)


def test_worms_crawl_head_first():
    ahead = []
    for seed in range(20):
        worms = np.asarray(sx.datasets.make_worms(60, random_state=seed))
        moved = worms[12:].mean(axis=1) - worms[:-12].mean(axis=1)
        facing = worms[6:-6, 0] - worms[6:-6, -1]
        ahead.append(np.mean(np.real(np.conj(facing) * moved)))
    assert np.mean(np.array(ahead) > 0) > 0.7


def test_noise_and_seeds():
    clean = sx.datasets.make_worms(500, random_state=5)
    noisy = sx.datasets.make_worms(500, noise=0.01, random_state=5)
    rest = np.asarray(noisy) - np.asarray(clean)
    assert rest.real.std() == pytest.approx(0.01, rel=0.05)
    assert rest.imag.std() == pytest.approx(0.01, rel=0.05)
    assert clean.equals(sx.datasets.make_worms(500, random_state=5))
    assert not clean.equals(sx.datasets.make_worms(500, random_state=6))
    generator = np.random.default_rng(5)
    assert clean.equals(sx.datasets.make_worms(500, random_state=generator))
    assert not clean.equals(sx.datasets.make_worms(500, random_state=generator))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_frames": 0}, ValueError, "n_frames"),
        ({"n_points": 5}, ValueError, "n_points must be at least 12"),
        ({"n_postures": 9}, ValueError, "at most 8"),
        ({"noise": -1}, ValueError, "noise must be finite and not negative"),
        ({"noise": "much"}, TypeError, "noise must be a number"),
        ({"n_worms": 1.5}, TypeError, "n_worms"),
    ],
)
def test_what_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        sx.datasets.make_worms(**options)
