"""Principal component analysis at the mean shape, against a singular value decomposition of real coordinates."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import shapelex as sx
from shapelex.exceptions import ShapeInputError
from tests.strategies import random_configurations

PROJECTIONS = ["log", "orthogonal"]
MEANS = ["full", "partial", "geodesic"]


def make_shapes(space, n_shapes=40, seed=0, spread=0.3):
    """Return shapes around one base shape, in any pose."""
    rng = np.random.default_rng(seed)
    X = random_configurations(space, 1, seed) + spread * random_configurations(space, n_shapes, seed + 1)
    return X * np.exp(1j * rng.uniform(0, 6, (n_shapes, 1))) + rng.normal(size=(n_shapes, 1)) * space.shift


def tangent_vectors(X, mean, projection, space):
    if projection == "log":
        return sx.log(mean, X, space=space)
    return sx.horizontal_projection(mean, sx.rotate_onto(X, mean, space), space)


def as_columns(vectors, space):
    """Return coordinates whose plain product is the real one of the space, by a root of the matrix Psi."""
    values, axes = np.linalg.eigh(sx.real_gram(space.gram))
    stacked = np.concatenate([vectors.real, vectors.imag], axis=1)
    return stacked @ (axes * np.sqrt(np.maximum(values, 0)) @ axes.T)


@pytest.mark.parametrize("projection", PROJECTIONS)
class TestModes:
    def test_are_those_of_a_singular_value_decomposition(self, space, projection):
        X = make_shapes(space)
        model = sx.TangentPCA(space=space, projection=projection).fit(X)
        mean = sx.mean_shape(X, space=space)
        np.testing.assert_allclose(model.mean_, mean, atol=1e-12)
        vectors = tangent_vectors(X, mean, projection, space)
        np.testing.assert_allclose(model.average_, vectors.mean(axis=0), atol=1e-10)
        columns = as_columns(vectors, space)
        columns -= columns.mean(axis=0)
        n_components = 2 * space.n_coordinates - 4
        assert model.n_components_ == min(n_components, 39)
        variances = np.linalg.svd(columns, compute_uv=False)[: model.n_components_] ** 2 / 39
        np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-8, atol=1e-12)
        total = columns.var(axis=0, ddof=1).sum()
        np.testing.assert_allclose(model.explained_variance_ratio_, variances / total, rtol=1e-8, atol=1e-12)
        scores = model.transform(X)
        np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-10)
        np.testing.assert_allclose(np.cov(scores.T).reshape(2 * [len(variances)]), np.diag(variances), atol=1e-10)
        # Scores are coordinates in an orthonormal basis: they keep the products of the vectors.
        np.testing.assert_allclose(scores @ scores.T, columns @ columns.T, atol=1e-9)

    def test_are_orthonormal_horizontal_vectors(self, space, projection):
        model = sx.TangentPCA(space=space, projection=projection).fit(make_shapes(space))
        W = model.components_
        products = (W.conj() @ space.gram @ W.T).real
        np.testing.assert_allclose(products, np.eye(len(W)), atol=1e-10)
        np.testing.assert_allclose(space.inner(model.mean_, W), 0, atol=1e-10)
        np.testing.assert_allclose(space.center(W), 0, atol=1e-9)

    def test_all_modes_go_there_and_back(self, space, projection):
        X = make_shapes(space)
        model = sx.TangentPCA(space=space, projection=projection).fit(X)
        scores = model.transform(X)
        shapes = model.inverse_transform(scores)
        np.testing.assert_allclose(space.norm(shapes), 1, atol=1e-10)
        np.testing.assert_allclose(shapes, sx.rotate_onto(X, model.mean_, space), atol=1e-8)
        np.testing.assert_allclose(model.transform(shapes), scores, atol=1e-8)
        np.testing.assert_allclose(model.reconstruct(X), space.preshape(X), atol=1e-8)
        assert model.errors(X).max() < 1e-8

    def test_fewer_modes_are_those_of_a_smaller_fit(self, projection):
        space = sx.BSpline(7)
        X = make_shapes(space)
        model = sx.TangentPCA(space=space, projection=projection).fit(X)
        rmses = []
        for n_components in range(1, model.n_components_ + 1):
            small = sx.TangentPCA(n_components, space=space, projection=projection).fit(X)
            np.testing.assert_allclose(small.transform(X), model.transform(X)[:, :n_components], atol=1e-9)
            errors = model.errors(X, n_components)
            np.testing.assert_allclose(errors, small.errors(X), atol=1e-9)
            np.testing.assert_allclose(
                errors, sx.distance(X, model.reconstruct(X, n_components), space=space), atol=1e-12
            )
            assert small.score(X) == pytest.approx(-np.sqrt(np.mean(errors**2)), rel=1e-6, abs=1e-9)
            rmses.append(-small.score(X))
        assert (np.diff(rmses) < 0).all()

    def test_poses_change_nothing(self, projection, rng):
        X = make_shapes(sx.Landmarks(9))
        moved = X * rng.uniform(0.1, 9, (40, 1)) * np.exp(1j * rng.uniform(0, 6, (40, 1))) + rng.normal(size=(40, 1))
        model = sx.TangentPCA(5, projection=projection).fit(X)
        other = sx.TangentPCA(5, projection=projection).fit(moved)
        np.testing.assert_allclose(model.transform(moved), model.transform(X), atol=1e-10)
        np.testing.assert_allclose(other.transform(X), model.transform(X), atol=1e-9)
        np.testing.assert_allclose(other.explained_variance_, model.explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(other.errors(moved), model.errors(X), atol=1e-10)

    def test_reconstructions_are_in_the_poses_of_the_shapes(self, projection):
        X = make_shapes(sx.Landmarks(9))
        model = sx.TangentPCA(4, projection=projection).fit(X)
        reconstructed = model.reconstruct(X)
        in_mean_pose = model.inverse_transform(model.transform(X))
        assert np.max(sx.distance(reconstructed, in_mean_pose)) < 1e-10
        turns = sx.optimal_rotation(X, model.mean_)[:, None]
        np.testing.assert_allclose(reconstructed, np.exp(-1j * turns) * in_mean_pose, atol=1e-10)

    @pytest.mark.parametrize("mean", MEANS)
    def test_means(self, projection, mean):
        X = make_shapes(sx.Landmarks(9))
        model = sx.TangentPCA(projection=projection, mean=mean).fit(X)
        np.testing.assert_allclose(model.mean_, sx.mean_shape(X, mean), atol=1e-10)
        is_balanced = (projection, mean) in (("log", "geodesic"), ("orthogonal", "partial"))
        assert (np.linalg.norm(model.average_) < 1e-10) == is_balanced
        assert model.errors(X).max() < 1e-8

    def test_single_precision_stays(self, projection):
        X = make_shapes(sx.HermiteSpline(5))
        single, double = (
            sx.TangentPCA(4, space=sx.HermiteSpline(5), projection=projection).fit(data)
            for data in (X.astype(np.complex64), X)
        )
        X = X.astype(np.complex64)
        assert single.components_.dtype == single.mean_.dtype == single.average_.dtype == np.complex64
        assert single.transform(X).dtype == single.errors(X).dtype == single.explained_variance_.dtype == np.float32
        assert single.reconstruct(X).dtype == single.inverse_transform(single.transform(X)).dtype == np.complex64
        np.testing.assert_allclose(single.explained_variance_, double.explained_variance_, rtol=1e-3)

    def test_few_shapes_in_many_coordinates(self, projection):
        X = make_shapes(sx.Landmarks(30), n_shapes=6)
        model = sx.TangentPCA(projection=projection).fit(X)
        assert model.n_components_ == 5
        assert model.errors(X).max() < 1e-8


def test_lengths_are_distances_to_the_mean():
    X = make_shapes(sx.Landmarks(9))
    for projection, kind in (("log", "geodesic"), ("orthogonal", "full")):
        model = sx.TangentPCA(projection=projection).fit(X)
        vectors = model.average_ + model.transform(X) @ model.components_
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), sx.distance(model.mean_, X, kind), atol=1e-10)


def test_the_orthogonal_projection_goes_back_no_further_than_it_reaches():
    X = make_shapes(sx.Landmarks(9))
    model = sx.TangentPCA(2, projection="orthogonal").fit(X)
    with pytest.raises(ShapeInputError, match=r'longer than 1 in row 1, .*projection="log"'):
        model.inverse_transform([[0.1, 0], [1.5, 0]])
    far = sx.TangentPCA(2).fit(X).inverse_transform([[1.5, 0], [40, 0]])
    np.testing.assert_allclose(np.linalg.norm(far, axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("mean", MEANS)
def test_shapes_far_from_the_mean_are_rebuilt(mean, tmp_path):
    X = make_shapes(sx.Landmarks(9))
    model = sx.TangentPCA(2, projection="orthogonal", mean=mean).fit(X)
    far = model.components_  # at a right angle to the mean: as far as shapes can be
    vectors = model.average_ + model.transform(far) @ model.components_
    lengths = np.linalg.norm(vectors, axis=1)
    reached = model.reconstruct(far)
    np.testing.assert_allclose(np.linalg.norm(reached, axis=1), 1, atol=1e-12)
    # Vectors of length 1 have no part along the mean left, also those that had to be shortened.
    np.testing.assert_array_less(1 - 1e-12, lengths)
    np.testing.assert_allclose(sx.distance(reached, vectors / lengths[:, None], "full"), 0, atol=1e-6)
    np.testing.assert_allclose(model.errors(far), sx.distance(reached, far, "full"), atol=1e-10)
    np.testing.assert_array_equal(sx.load(model.save(tmp_path / "modes")).errors(X), model.errors(X))


class TestBadInput:
    def test_bad_parameters(self):
        X = make_shapes(sx.Landmarks(9))
        with pytest.raises(ValueError, match="n_components must be at least 1, got 0"):
            sx.TangentPCA(0).fit(X)
        with pytest.raises(ValueError, match=r"n_components must be between 1 and 14, .*, got 15"):
            sx.TangentPCA(15).fit(X)
        with pytest.raises(ValueError, match="projection must be one of 'log', 'orthogonal', got 'stereographic'"):
            sx.TangentPCA(projection="stereographic").fit(X)
        with pytest.raises(ValueError, match="mean must be one of 'full', 'partial', 'geodesic', got 'median'"):
            sx.TangentPCA(mean="median").fit(X)
        with pytest.raises(ValueError, match="n_components must be between 1 and the 4 that were fitted, got 5"):
            sx.TangentPCA(4).fit(X).errors(X, n_components=5)

    def test_bad_shapes(self):
        X = make_shapes(sx.Landmarks(9))
        for same in (X[:1], np.repeat(X[:1], 4, axis=0)):
            with pytest.raises(ShapeInputError, match="nothing varies"):
                sx.TangentPCA().fit(same)


def test_in_pipelines_and_grid_searches():
    first, second = make_shapes(sx.Landmarks(9)), make_shapes(sx.Landmarks(9), seed=7)
    X, y = np.concatenate([first, second]), np.repeat(["a", "b"], 40)
    pipeline = make_pipeline(sx.TangentPCA(6), LinearDiscriminantAnalysis())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.95
    search = GridSearchCV(sx.TangentPCA(), {"n_components": [1, 5]}, cv=3).fit(X)
    assert search.best_params_["n_components"] == 5
