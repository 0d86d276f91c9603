import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import shapelex as sx
from shapelex.exceptions import UnsupportedBySpaceError

SPACE = sx.Landmarks(40, closed=True)


@pytest.fixture
def blobs(rng):
    """Return outlines of one family, all started alike."""
    t = 2j * np.pi * np.arange(40) / 40
    modes = np.stack([np.exp(f * t) for f in (-3, -2, -1, 2, 3)])
    weights = 0.1 * (rng.normal(size=(60, 5)) + 1j * rng.normal(size=(60, 5))) + [0.1, 0.3, 0.1, 0.1j, 0.2]
    return np.exp(t) + weights @ modes


@pytest.fixture
def rolled(blobs, rng):
    return SPACE.roll(blobs, rng.integers(40, size=len(blobs)))


def test_new_outlines_go_to_the_mean_that_was_fitted(blobs, rolled):
    registration = sx.OutlineRegistration(space=SPACE).fit(rolled[:40])
    np.testing.assert_array_equal(registration.transform(rolled[40:]), registration.transform(blobs[40:]))
    expected = sx.register(rolled[40:], SPACE, to=registration.mean_)
    np.testing.assert_array_equal(registration.register(rolled[40:]).shift, expected.shift)


def test_fit_transform_gives_what_the_fit_found(rolled):
    registration = sx.OutlineRegistration()
    np.testing.assert_array_equal(registration.fit_transform(rolled), registration.registration_.configurations)
    assert registration.space_ == SPACE
    assert registration.n_features_in_ == 40
    assert len(registration.get_feature_names_out()) == 40


def test_makes_a_dictionary_blind_to_start_points(blobs, rolled):
    def score(first, X):
        model = sx.ShapeDictionary(n_atoms=6, n_nonzero=2, max_iter=10, random_state=0, tol=1e-2)
        return make_pipeline(first, model).fit(X).score(X)

    plain = sx.OutlineRegistration(start=False, direction=False)
    assert score(sx.OutlineRegistration(), rolled) > 0.75 * score(plain, rolled)
    assert score(sx.OutlineRegistration(), rolled) == pytest.approx(score(sx.OutlineRegistration(), blobs), abs=0.02)


def test_errors(rolled):
    with pytest.raises(UnsupportedBySpaceError, match="closed=True"):
        sx.OutlineRegistration(space=sx.Landmarks(40)).fit(rolled)
    with pytest.raises(TypeError, match="space must be a space"):
        sx.OutlineRegistration(space="closed").fit(rolled)
