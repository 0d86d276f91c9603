from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import ParameterTypeError

N_POINTS = 40
SPACES = [
    sx.Landmarks(N_POINTS, closed=True),
    sx.BSpline(20),
    sx.HermiteSpline(10),
    sx.Landmarks(N_POINTS),
    sx.BSpline(20, closed=False),
]
# A response may cross a whole ramp where rounding moves it by the width of that ramp; ramps are 1e-3 wide or more.
TOLERANCE = 2e-3


def make_outlines(n_shapes=12, n_points=200, seed=0, closed=True):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1 if closed else 0.8, n_points, endpoint=not closed)
    orders = np.array([-4, -3, -2, -1, 2, 3, 4, 5])
    weights = rng.normal(size=(n_shapes, 2, len(orders))) / orders**2 * 0.6
    return np.exp(2j * np.pi * t) + (weights[:, 0] + 1j * weights[:, 1]) @ np.exp(2j * np.pi * np.outer(orders, t))


def make_configurations(space, **options):
    points = make_outlines(closed=space.closed, **options)
    return sx.resample(points, N_POINTS, closed=space.closed) if isinstance(space, sx.Landmarks) else space.fit(points)


def slow_features(points, closed, thresholds, slopes, copies):
    """Definition of the features of one curve by every eighteenth kernel: loops over all taps."""
    points = points - points.mean()
    if closed and sum((points[i].conjugate() * points[(i + 1) % len(points)]).imag for i in range(len(points))) < 0:
        points = points[::-1]
    return np.mean([_slow_copy(change(points), closed, thresholds, slopes) for change in copies], axis=0)


def _slow_copy(points, closed, thresholds, slopes):
    n = len(points)
    radii = np.abs(points)
    signals = [dict(enumerate(radii / np.sqrt(np.mean(radii**2))))]
    for step in (1, 3, 6):
        places = range(n) if closed else range(step, n - step)
        angles = {}
        for i in places:
            ahead, behind = points[(i + step) % n] - points[i], points[i] - points[(i - step) % n]
            angles[i] = np.angle(ahead / behind) / step
        signals.append(angles)
    heavy_taps = list(combinations(range(9), 3))[::18]
    features = np.empty(thresholds.shape)
    for s, signal in enumerate(signals):
        for d, dilation in enumerate((1, 2, 4, 8)):
            for k, heavy in enumerate(heavy_taps):
                weights = [2 if tap in heavy else -1 for tap in range(9)]
                responses = []
                for i in range(n):
                    taps = [i + dilation * (tap - 4) for tap in range(9)]
                    taps = [place % n for place in taps] if closed else taps
                    if all(place in signal for place in taps):
                        responses.append(sum(w * signal[place] for w, place in zip(weights, taps, strict=True)))
                for q, threshold in enumerate(thresholds[s, d, k]):
                    ramps = np.clip((np.array(responses) - threshold) * slopes[s, d, k] + 0.5, 0, 1)
                    features[s, d, k, q] = ramps.mean()
    return features


def keep(points):
    return points


def mirror_closed(points):
    return points.conj()[::-1]


def reverse(points):
    return points[::-1]


@pytest.mark.parametrize(
    ("space", "mirror", "copies"),
    [
        (SPACES[0], False, [keep]),
        (SPACES[1], True, [keep, mirror_closed]),
        (SPACES[3], False, [keep, reverse]),
        (SPACES[4], True, [keep, reverse, np.conj, mirror_closed]),
    ],
    ids=["closed", "closed, mirrored", "open", "open, mirrored"],
)
def test_agrees_with_the_definition(space, mirror, copies):
    X = make_configurations(space, n_shapes=5)
    model = sx.OutlineConvolutions(space, mirror, random_state=1).fit(X)
    points = space.sample(X[0], space.parameters(model.n_samples_))
    thresholds, slopes = model.thresholds_[:, :, ::18], model.slopes_[:, :, ::18]
    expected = slow_features(points, space.closed, thresholds, slopes, copies)
    found = model.transform(X[:1]).reshape(model.thresholds_.shape)[:, :, ::18]
    assert np.abs(found - expected).max() < TOLERANCE
    assert np.abs(found - expected).mean() < 1e-5
    assert found.std() > 0.1


@settings(max_examples=15)
@given(
    space=st.sampled_from(SPACES),
    angle=st.floats(0, 7),
    scale=st.floats(1e-3, 1e3),
    shift=st.complex_numbers(max_magnitude=10),
    start=st.integers(0, 100),
    reverses=st.booleans(),
    mirror=st.booleans(),
    seed=st.integers(0, 5),
)
def test_invariance(space, angle, scale, shift, start, reverses, mirror, seed):
    X = make_configurations(space, n_shapes=4, seed=seed)
    model = sx.OutlineConvolutions(space, mirror, random_state=0).fit(X)
    moved = space.roll(X, start) if space.closed else X
    moved = space.reverse(moved) if reverses else moved
    moved = moved.conj() if mirror else moved
    moved = scale * (np.exp(1j * angle) * moved + shift * space.shift)
    difference = np.abs(model.transform(moved) - model.transform(X))
    assert difference.max() < TOLERANCE
    assert difference.mean() < 1e-5


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_samples_and_mirror_images(space):
    X = make_configurations(space)
    model = sx.OutlineConvolutions(space, random_state=0).fit(X)
    assert np.abs(model.transform(X.conj()) - model.transform(X)).max() > 0.1
    assert 64 <= model.n_samples_ <= 256
    if space.closed:
        assert model.n_samples_ % (space.n_coordinates // space.coordinates_per_point) == 0


def test_many_points_are_sampled_at_fewer():
    X = make_outlines(5, n_points=1000)
    model = sx.OutlineConvolutions(random_state=0).fit(X)
    assert model.n_samples_ == 256
    difference = np.abs(model.transform(np.roll(X, 333, axis=1)) - model.transform(X))
    assert difference.mean() < 0.01


def test_only_thresholds_are_random():
    X = make_outlines(20)
    first, second, third = (sx.OutlineConvolutions(random_state=seed).fit(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    assert (first.thresholds_ != third.thresholds_).mean() > 0.5
    third.thresholds_, third.slopes_ = first.thresholds_, first.slopes_
    np.testing.assert_array_equal(first.transform(X), third.transform(X))


def test_thresholds_are_quartiles_of_a_training_shape():
    X = make_outlines(1, n_points=80)
    model = sx.OutlineConvolutions(random_state=0).fit(X)
    shares = model.transform(X).reshape(-1, 3).mean(axis=0)
    np.testing.assert_allclose(shares, [0.75, 0.5, 0.25], atol=0.02)


def test_names_types_and_parameters():
    X = make_outlines(20, n_points=70)
    model = sx.OutlineConvolutions(random_state=0).fit(X)
    names = model.get_feature_names_out()
    assert len(set(names)) == 4032
    assert names[-1] == "turning6_d8_k678_q75"
    assert model.transform(X.astype(np.complex64)).dtype == np.float32
    with pytest.raises(ParameterTypeError, match="mirror"):
        sx.OutlineConvolutions(mirror="yes").fit(X)


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("mirror", [False, True])
def test_torch_agrees(space, mirror):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = make_configurations(space, n_shapes=4)
    model = sx.OutlineConvolutions(space, mirror, random_state=0).fit(X)
    difference = np.abs(model._transform_tensor(torch.from_numpy(X)).numpy() - model.transform(X))
    assert difference.max() < TOLERANCE
    assert difference.mean() < 1e-5
    assert isinstance(model.transform(torch.from_numpy(X)), torch.Tensor)
