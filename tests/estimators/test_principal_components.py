"""Complex principal components against an eigen-decomposition, and those of tangent vectors against an SVD."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import shapelex as sx
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError
from tests.conftest import in_each_product
from tests.strategies import random_configurations

# Whether the average is subtracted, and whether shapes are aligned before.
AVERAGES = [(False, True), (True, True), (True, False)]
PROJECTIONS = ["log", "orthogonal"]
MEANS = ["full", "partial", "geodesic"]
KINDS = {f"complex {subtracts} {aligns}": (subtracts, aligns) for subtracts, aligns in AVERAGES}
KINDS |= {projection: projection for projection in PROJECTIONS}


def make_model(kind, n_components=None, space=None, **options):
    if kind in PROJECTIONS:
        return sx.TangentPCA(n_components, space=space, projection=kind, **options)
    subtracts, aligns = KINDS[kind]
    return sx.ComplexPCA(n_components, space=space, subtract_average=subtracts, align=aligns, **options)


def make_shapes(space, n_shapes=40, seed=0, spread=0.3):
    """Return shapes around one base shape, in any pose."""
    rng = np.random.default_rng(seed)
    X = random_configurations(space, 1, seed) + spread * random_configurations(space, n_shapes, seed + 1)
    return X * np.exp(1j * rng.uniform(0, 6, (n_shapes, 1))) + rng.normal(size=(n_shapes, 1)) * space.shift


def data_of(X, space, subtract_average, align):
    """Return pre-shapes less their average, and the average."""
    Z = sx.align_to_mean(X, space=space) if subtract_average and align else space.preshape(X)
    average = Z.mean(axis=0) if subtract_average else np.zeros(Z.shape[1])
    return Z - average, average


def tangent_vectors(X, mean, projection, space):
    if projection == "log":
        return sx.log(mean, X, space=space)
    return sx.horizontal_projection(mean, sx.rotate_onto(X, mean, space), space)


def as_columns(vectors, space):
    """Return coordinates whose plain product is the real one of the space, by a root of the matrix Psi."""
    values, axes = np.linalg.eigh(sx.real_gram(space.gram))
    stacked = np.concatenate([vectors.real, vectors.imag], axis=1)
    return stacked @ (axes * np.sqrt(np.maximum(values, 0)) @ axes.T)


@pytest.mark.parametrize(("subtract_average", "align"), AVERAGES)
@in_each_product
def test_complex_modes_are_eigenvectors_and_the_loss_is_what_their_energies_leave(space, subtract_average, align):
    X = make_shapes(space)
    options = {"space": space, "subtract_average": subtract_average, "align": align}
    model = sx.ComplexPCA(**options).fit(X)
    Z, average = data_of(X, space, subtract_average, align)
    np.testing.assert_allclose(model.average_, average, atol=1e-12)
    matrix = Z.T @ Z.conj() @ space.gram
    energies = np.sort(np.linalg.eigvals(matrix).real)[::-1]
    n_components = space.n_coordinates - 1
    assert model.n_components_ == n_components
    np.testing.assert_allclose(model.explained_energy_, energies[:n_components], rtol=1e-8, atol=1e-9)
    # Not by direction, which is chance where two energies are close.
    W = model.components_
    np.testing.assert_allclose(matrix @ W.T, W.T * model.explained_energy_, atol=1e-9 * len(X))
    np.testing.assert_allclose(W.conj() @ space.gram @ W.T, np.eye(n_components), atol=1e-10)
    np.testing.assert_allclose(space.center(W), 0, atol=1e-9)
    total = (space.norm(Z) ** 2).sum()
    for n_components in (1, 3):
        small = sx.ComplexPCA(n_components, **options).fit(X)
        loss = total - small.explained_energy_.sum()
        assert small.loss_ == pytest.approx(loss, abs=1e-10)
        assert (small.errors(X) ** 2).sum() == pytest.approx(loss, abs=1e-10)
        np.testing.assert_allclose(small.explained_energy_ratio_, small.explained_energy_ / total, rtol=1e-9)
    codes = small.transform(X)
    np.testing.assert_allclose(codes[:, 0], space.inner(small.components_[0], Z), atol=1e-10)
    np.testing.assert_allclose(small.inverse_transform(codes), average + codes @ small.components_, atol=1e-10)


@pytest.mark.parametrize("projection", PROJECTIONS)
class TestTangentModes:
    @in_each_product
    def test_are_those_of_a_singular_value_decomposition(self, space, projection):
        X = make_shapes(space)
        model = sx.TangentPCA(space=space, projection=projection).fit(X)
        mean = sx.mean_shape(X, space=space)
        np.testing.assert_allclose(model.mean_, mean, atol=1e-12)
        vectors = tangent_vectors(X, mean, projection, space)
        np.testing.assert_allclose(model.average_, vectors.mean(axis=0), atol=1e-10)
        columns = as_columns(vectors, space)
        columns -= columns.mean(axis=0)
        assert model.n_components_ == min(2 * space.n_coordinates - 4, 39)
        variances = np.linalg.svd(columns, compute_uv=False)[: model.n_components_] ** 2 / 39
        np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-8, atol=1e-12)
        total = columns.var(axis=0, ddof=1).sum()
        np.testing.assert_allclose(model.explained_variance_ratio_, variances / total, rtol=1e-8, atol=1e-12)
        scores = model.transform(X)
        np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-10)
        # Scores are coordinates in an orthonormal basis of horizontal vectors: they keep the products of the vectors.
        np.testing.assert_allclose(scores @ scores.T, columns @ columns.T, atol=1e-9)
        W = model.components_
        np.testing.assert_allclose((W.conj() @ space.gram @ W.T).real, np.eye(len(W)), atol=1e-10)
        np.testing.assert_allclose(space.inner(model.mean_, W), 0, atol=1e-10)
        np.testing.assert_allclose(space.center(W), 0, atol=1e-9)
        shapes = model.inverse_transform(scores)
        np.testing.assert_allclose(space.norm(shapes), 1, atol=1e-10)
        np.testing.assert_allclose(shapes, sx.rotate_onto(X, model.mean_, space), atol=1e-8)
        np.testing.assert_allclose(model.transform(shapes), scores, atol=1e-8)

    def test_lengths_are_distances_to_the_mean(self, projection):
        X = make_shapes(sx.Landmarks(9))
        model = sx.TangentPCA(projection=projection).fit(X)
        vectors = model.average_ + model.transform(X) @ model.components_
        distances = sx.distance(model.mean_, X, "geodesic" if projection == "log" else "full")
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), distances, atol=1e-10)

    @pytest.mark.parametrize("mean", MEANS)
    def test_means(self, projection, mean):
        X = make_shapes(sx.Landmarks(9))
        model = sx.TangentPCA(projection=projection, mean=mean).fit(X)
        np.testing.assert_allclose(model.mean_, sx.mean_shape(X, mean), atol=1e-10)
        is_balanced = (projection, mean) in (("log", "geodesic"), ("orthogonal", "partial"))
        assert (np.linalg.norm(model.average_) < 1e-10) == is_balanced
        assert model.errors(X).max() < 1e-8


@pytest.mark.parametrize("kind", KINDS)
class TestBoth:
    @in_each_product
    def test_fewer_modes_are_those_of_a_smaller_fit_and_all_leave_nothing(self, space, kind):
        X = make_shapes(space)
        model = make_model(kind, space=space).fit(X)
        last = np.inf
        for n_components in sorted({1, 2, model.n_components_ - 1, model.n_components_}):
            small = make_model(kind, n_components, space).fit(X)
            errors, reconstructed = model.errors(X, n_components), model.reconstruct(X, n_components)
            np.testing.assert_allclose(small.errors(X), errors, atol=1e-9)
            np.testing.assert_allclose(small.reconstruct(X), reconstructed, atol=1e-8)
            if kind in PROJECTIONS:
                np.testing.assert_allclose(errors, sx.distance(X, reconstructed, space=space), atol=1e-9)
            else:
                np.testing.assert_allclose(errors, space.norm(space.preshape(X) - reconstructed), atol=1e-9)
            assert small.score(X) == pytest.approx(-np.sqrt(np.mean(errors**2)), rel=1e-6, abs=1e-9)
            assert -small.score(X) < last
            last = -small.score(X) + 1e-12
        np.testing.assert_allclose(model.reconstruct(X), space.preshape(X), atol=1e-8)
        assert model.errors(X).max() < 1e-8

    def test_poses_change_nothing_but_the_phases_of_codes(self, kind, rng):
        X = make_shapes(sx.Landmarks(9))
        moved = X * rng.uniform(0.1, 9, (40, 1)) * np.exp(1j * rng.uniform(0, 6, (40, 1))) + rng.normal(size=(40, 1))
        first, second = (make_model(kind, 4).fit(data) for data in (X, moved))
        if kind == "complex True False":
            assert abs(first.score(X) - second.score(moved)) > 1e-3
            return
        if kind in PROJECTIONS:
            np.testing.assert_allclose(first.transform(moved), first.transform(X), atol=1e-10)
        np.testing.assert_allclose(np.abs(second.transform(moved)), np.abs(first.transform(X)), atol=1e-9)
        np.testing.assert_allclose(first.errors(moved), first.errors(X), atol=1e-10)
        np.testing.assert_allclose(second.errors(moved), first.errors(X), atol=1e-10)

    def test_single_precision_stays(self, kind):
        space = sx.HermiteSpline(5)
        X = make_shapes(space)
        double = make_model(kind, 4, space).fit(X)
        X = X.astype(np.complex64)
        single = make_model(kind, 4, space).fit(X)
        assert single.components_.dtype == single.average_.dtype == single.reconstruct(X).dtype == np.complex64
        codes = single.transform(X)
        assert codes.dtype == (np.float32 if kind in PROJECTIONS else np.complex64)
        assert single.inverse_transform(codes).dtype == np.complex64
        name = "explained_variance_" if kind in PROJECTIONS else "explained_energy_"
        assert getattr(single, name).dtype == getattr(single, f"{name}ratio_").dtype == np.float32
        assert single.errors(X).dtype == np.float32
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), rtol=1e-3)
        assert make_model(kind, space=space).fit(X).n_components_ == (16 if kind in PROJECTIONS else 9)

    def test_few_shapes_in_many_coordinates(self, kind):
        X = make_shapes(sx.Landmarks(30), n_shapes=6)
        model = make_model(kind).fit(X)
        assert model.n_components_ == (6 if kind == "complex False True" else 5)
        assert model.errors(X).max() < 1e-8

    def test_numbers_of_modes(self, kind):
        X = make_shapes(sx.Landmarks(9))
        most = make_model(kind).fit(X).n_components_
        for n_components, words in ((0, "at least 1, got 0"), (most + 1, f"between 1 and {most}, .*, got {most + 1}")):
            with pytest.raises(ParameterError, match=words):
                make_model(kind, n_components).fit(X)
        with pytest.raises(ParameterTypeError, match="integer"):
            make_model(kind, 0.9).fit(X)
        model = make_model(kind, 4).fit(X)
        for method in (model.errors, model.reconstruct):
            with pytest.raises(ParameterError, match="4 that were fitted, got 5"):
                method(X, n_components=5)

    def test_shapes_that_are_all_the_same(self, kind):
        if kind != "complex False True":
            X = make_shapes(sx.Landmarks(9))[:1]
            with pytest.raises(ShapeInputError, match="nothing varies"):
                make_model(kind).fit(np.repeat(X, 3, axis=0))


def test_the_first_complex_mode_without_average_is_the_mean_shape():
    X = make_shapes(sx.BSpline(9))
    model = sx.ComplexPCA(3, space=sx.BSpline(9)).fit(X)
    distances = sx.distance(X, model.reconstruct(X), space=model.space_)
    np.testing.assert_allclose(model.errors(X), distances, atol=1e-10)
    assert float(sx.distance(model.components_[0], sx.mean_shape(X, space=model.space_), space=model.space_)) < 1e-7


def test_new_shapes_meet_the_stored_mean():
    X, new = make_shapes(sx.Landmarks(9)), make_shapes(sx.Landmarks(9), seed=0)[::-1] * 1j
    model = sx.ComplexPCA(3, subtract_average=True).fit(X)
    deviations = sx.rotate_onto(new, model.mean_) - model.average_
    np.testing.assert_allclose(model.transform(new), deviations @ model.components_.conj().T, atol=1e-12)
    assert not hasattr(model.set_params(subtract_average=False).fit(X), "mean_")


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


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sx.ComplexPCA(subtract_average="yes"), "subtract_average must be True or False"),
        (sx.ComplexPCA(align=1), "align must be True or False"),
        (sx.TangentPCA(projection="stereographic"), "projection must be one of"),
        (sx.TangentPCA(mean="median"), "mean must be one of"),
    ],
)
def test_bad_parameters(model, words):
    with pytest.raises((ParameterError, ParameterTypeError), match=words):
        model.fit(make_shapes(sx.Landmarks(9)))


def test_in_pipelines():
    first, second = make_shapes(sx.Landmarks(9)), make_shapes(sx.Landmarks(9), seed=7)
    X, y = np.concatenate([first, second]), np.repeat(["a", "b"], 40)
    assert cross_val_score(make_pipeline(sx.TangentPCA(6), LinearDiscriminantAnalysis()), X, y, cv=3).mean() > 0.95
    assert make_pipeline(sx.ComplexPCA(3), sx.CodeFeatures()).fit_transform(X).shape == (80, 6)
