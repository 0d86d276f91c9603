import warnings

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import NonFiniteError, ParameterError, ParameterTypeError, UnsupportedBySpaceError


def family(rng, n_shapes, n_points=14, noise=0.0):
    """Return shapes of a family of four modes, each at a place, size and angle of its own."""
    t = np.exp(2j * np.pi * np.arange(n_points) / n_points)
    weights = rng.normal(size=(n_shapes, 3)) * [0.4, 0.2, 0.2]
    Z = t + weights @ np.array([1 / t, t**2, t**-2])
    Z = Z + noise * (rng.normal(size=Z.shape) + 1j * rng.normal(size=Z.shape))
    poses = rng.normal(size=(n_shapes, 2)) @ [1, 1j]
    return Z * (poses / abs(poses) * rng.uniform(0.1, 10, size=n_shapes))[:, None] + 5 * poses[:, None]


def with_holes(Z, rng, n_hidden=2):
    ranks = np.argsort(np.argsort(rng.random(Z.shape), axis=1), axis=1)
    return np.where(ranks < n_hidden, np.nan, Z)


@pytest.fixture
def shapes(rng):
    return family(rng, 60)


@pytest.fixture
def model(shapes):
    return sx.ShapeDictionary(n_atoms=6, n_nonzero=4, random_state=0, max_iter=20, tol=1e-3).fit(shapes)


def relative(Y, X):
    return np.abs(Y - X) / np.linalg.norm(X - X.mean(axis=1, keepdims=True), axis=1, keepdims=True)


@pytest.mark.parametrize("method", ["posterior", "sparse"])
def test_shapes_of_the_model_are_completed(model, rng, method):
    X = family(rng, 15)
    incomplete = with_holes(X, rng)
    found = sx.impute(incomplete, model, method=method)
    known = ~np.isnan(incomplete)
    np.testing.assert_array_equal(found.configurations[known], X[known])
    np.testing.assert_array_equal(found.is_imputed, ~known)
    assert relative(found.configurations, X).max() < 0.01
    assert found.hidden_error < 0.1 * found.hidden_error_of_mean
    assert found.dictionary is model
    np.testing.assert_array_equal(sx.impute(X[:1], model, method=method).configurations, X[:1])


def completed_by(mean, z, known):
    """Return `z` with the missing landmarks of the mean, laid over the others."""
    A = np.stack([mean[known], np.ones(known.sum())], axis=1)
    factor, offset = np.linalg.lstsq(A, z[known], rcond=None)[0]
    return np.where(known, z, factor * mean + offset)


def test_guesses_are_conditional_means(model, shapes, rng):
    X = family(rng, 3, noise=0.05)
    incomplete = with_holes(X, rng, 4)
    present, noise = ~np.isnan(incomplete), 1e-3
    found = sx.impute(incomplete, model, noise=noise).configurations
    # The second moments of weights do not change when shapes are turned.
    codes = model.encode(shapes).toarray()
    covariance = model.atoms_.T @ (codes.T @ codes.conj() / len(codes)) @ model.atoms_.conj()
    mean = np.linalg.eigh(covariance)[1][:, -1]
    # All translations are as likely: a constant of huge variance.
    wide = covariance + 1e4 * np.ones_like(covariance)
    for z, known, guess in zip(X, present, found, strict=True):
        completed = completed_by(mean, z, known)
        size = np.linalg.norm(completed - completed.mean())
        inner = wide[np.ix_(known, known)] + noise * np.eye(known.sum())
        expected = wide[:, known] @ np.linalg.solve(inner, z[known] / size) * size
        np.testing.assert_allclose(guess[~known], expected[~known], atol=2e-4 * size)

    # With a reference: the average of this guess and that of shapes that are turned along the mean, as real vectors.
    reference = family(rng, 50)
    averaged = sx.impute(incomplete, model, noise=noise, reference=reference).configurations
    rebuilt = model.reconstruct(reference)
    turned = sx.rotate_onto(rebuilt, mean) * sx.Landmarks(14).norm(rebuilt)[:, None]
    real = np.concatenate([turned.real, turned.imag], axis=1)
    center, covariance = turned.mean(axis=0), np.cov(real.T, bias=True)
    poses = np.array([np.ones(14), 1j * np.ones(14), center, 1j * center])
    poses = np.concatenate([poses.real, poses.imag], axis=1)
    poses /= np.linalg.norm(poses, axis=1, keepdims=True)
    free = covariance + poses.T @ poses
    for z, known, guess, one in zip(X, present, averaged, found, strict=True):
        completed = completed_by(mean, z, known)
        completed = completed - completed.mean()
        factor = np.vdot(completed, center) / np.vdot(completed, completed)
        both = np.concatenate([known, known])
        gap = factor * completed - center
        gap = np.concatenate([gap.real, gap.imag])[both]
        move = free[:, both] @ np.linalg.solve(free[np.ix_(both, both)] + noise * np.eye(both.sum()), gap)
        other = (center + move[:14] + 1j * move[14:]) / factor
        other += z[known].mean() - other[known].mean()
        np.testing.assert_allclose(guess[~known], (one + other)[~known] / 2, atol=1e-4 * np.abs(z).max())


def test_a_reference_helps_where_weights_are_real(model, rng):
    X = family(rng, 100, noise=0.05)
    incomplete = with_holes(X, rng, 4)
    alone, helped = sx.impute(incomplete, model), sx.impute(incomplete, model, reference=family(rng, 60))
    assert helped.hidden_error < alone.hidden_error
    with pytest.raises(ValueError, match="reference needs a fitted dictionary"):
        sx.impute(incomplete, sx.ShapeDictionary(n_atoms=3, n_nonzero=2), reference=X)


def test_the_error_on_hidden_landmarks_is_the_error_on_missing_ones(model, rng):
    X = family(rng, 200, noise=0.05)
    incomplete = with_holes(X, rng, 1)
    found = sx.impute(incomplete, model, n_repeats=2)
    true_error = np.sqrt(np.mean(relative(found.configurations, X)[found.is_imputed] ** 2))
    assert found.hidden_error == pytest.approx(true_error, rel=0.25)
    assert f"{found.n_hidden} landmarks hidden on purpose" in str(found)
    for noise in (0.01 * found.noise, 100 * found.noise):
        given = sx.impute(incomplete, model, noise=noise, n_repeats=2)
        assert given.noise == noise
        assert given.hidden_error >= found.hidden_error * 0.999


@pytest.mark.parametrize("method", ["posterior", "sparse"])
def test_learns_from_incomplete_shapes(rng, method):
    X = family(rng, 60)
    unfitted = sx.ShapeDictionary(n_atoms=6, n_nonzero=4, random_state=0, max_iter=10, tol=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sx.impute(with_holes(X, rng, 1), unfitted, method=method, n_repeats=1, max_rounds=4)
    assert not hasattr(unfitted, "atoms_")
    assert found.dictionary.atoms_.shape == (6, 14)
    assert found.hidden_error < 0.5 * found.hidden_error_of_mean
    errors = relative(found.configurations, X)[found.is_imputed]
    assert np.sqrt(np.mean(errors**2)) < 0.5 * found.hidden_error_of_mean


def test_errors(model, rng):
    X = with_holes(family(rng, 5), rng)
    with pytest.raises(TypeError, match="ShapeDictionary"):
        sx.impute(X, model.atoms_)
    with pytest.raises(UnsupportedBySpaceError, match="landmarks"):
        sx.impute(X, sx.ShapeDictionary(space=sx.BSpline(14)))
    for wrong in ({"hide": 1.5}, {"hide": "some"}, {"noise": 0}, {"method": "best"}):
        with pytest.raises((ParameterError, ParameterTypeError), match=next(iter(wrong))):
            sx.impute(X, model, **wrong)
    few = X.copy()
    few[:, 3:] = np.nan
    few[:, :3] = np.arange(3) + 1j * rng.normal(size=(5, 3))
    with pytest.raises(NonFiniteError, match="three landmarks"):
        sx.impute(few, model)
