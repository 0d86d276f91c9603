"""Complex principal component analysis, against the dense eigen-decomposition of Z Z* Phi."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import shapelex as sx
from shapelex.exceptions import ShapeInputError
from tests.strategies import random_configurations

# Whether the average is subtracted, and whether shapes are aligned before.
KINDS = [(False, True), (True, True), (True, False)]


def make_shapes(space, n_shapes=40, seed=0):
    """Return shapes around one base shape, in any pose."""
    rng = np.random.default_rng(seed)
    X = random_configurations(space, 1, seed) + 0.4 * random_configurations(space, n_shapes, seed + 1)
    return X * np.exp(1j * rng.uniform(0, 6, (n_shapes, 1))) + rng.normal(size=(n_shapes, 1)) * space.shift


def data_of(X, space, subtract_average, align):
    """Return pre-shapes less their average, and the average."""
    Z = sx.align_to_mean(X, space=space) if subtract_average and align else space.preshape(X)
    average = Z.mean(axis=0) if subtract_average else np.zeros(Z.shape[1])
    return Z - average, average


@pytest.mark.parametrize(("subtract_average", "align"), KINDS)
class TestModes:
    def test_are_the_eigenvectors(self, space, subtract_average, align):
        X = make_shapes(space)
        model = sx.ComplexPCA(space=space, subtract_average=subtract_average, align=align).fit(X)
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

    def test_loss_is_what_the_energies_leave(self, space, subtract_average, align):
        X = make_shapes(space)
        Z, _ = data_of(X, space, subtract_average, align)
        total = (space.norm(Z) ** 2).sum()
        for n_components in range(1, space.n_coordinates):
            model = sx.ComplexPCA(n_components, space=space, subtract_average=subtract_average, align=align).fit(X)
            loss = total - model.explained_energy_.sum()
            assert model.loss_ == pytest.approx(loss, abs=1e-10)
            assert (model.errors(X) ** 2).sum() == pytest.approx(loss, abs=1e-10)
            assert model.score(X) == pytest.approx(-np.sqrt(max(loss, 0) / len(X)), abs=1e-6)
            np.testing.assert_allclose(model.explained_energy_ratio_, model.explained_energy_ / total, rtol=1e-9)

    def test_all_modes_leave_nothing(self, space, subtract_average, align):
        X = make_shapes(space)
        model = sx.ComplexPCA(space=space, subtract_average=subtract_average, align=align).fit(X)
        assert model.errors(X).max() < 1e-12
        np.testing.assert_allclose(model.reconstruct(X), space.preshape(X), atol=1e-10)

    def test_fewer_modes_are_those_of_a_smaller_fit(self, space, subtract_average, align):
        X = make_shapes(space)
        model = sx.ComplexPCA(space=space, subtract_average=subtract_average, align=align).fit(X)
        last = np.full(len(X), np.inf)
        for n_components in range(1, model.n_components_ + 1):
            small = sx.ComplexPCA(n_components, space=space, subtract_average=subtract_average, align=align).fit(X)
            errors = model.errors(X, n_components)
            np.testing.assert_allclose(errors, small.errors(X), atol=1e-9)
            reconstructed = model.reconstruct(X, n_components)
            np.testing.assert_allclose(reconstructed, small.reconstruct(X), atol=1e-8)
            np.testing.assert_allclose(errors, space.norm(space.preshape(X) - reconstructed), atol=1e-9)
            assert (errors <= last + 1e-12).all()
            last = errors

    def test_round_trip(self, space, subtract_average, align):
        X = make_shapes(space)
        model = sx.ComplexPCA(1, space=space, subtract_average=subtract_average, align=align).fit(X)
        codes = model.transform(X)
        Z, average = data_of(X, space, subtract_average, align)
        np.testing.assert_allclose(codes[:, 0], space.inner(model.components_[0], Z), atol=1e-10)
        np.testing.assert_allclose(model.inverse_transform(codes), average + codes @ model.components_, atol=1e-10)


@pytest.mark.parametrize("subtract_average", [False, True])
def test_poses_change_nothing_but_the_phases_of_codes(subtract_average, rng):
    X = make_shapes(sx.Landmarks(9))
    moved = X * rng.uniform(0.1, 9, (40, 1)) * np.exp(1j * rng.uniform(0, 6, (40, 1))) + rng.normal(size=(40, 1))
    first, second = (sx.ComplexPCA(4, subtract_average=subtract_average).fit(data) for data in (X, moved))
    np.testing.assert_allclose(first.components_, second.components_, atol=1e-9)
    np.testing.assert_allclose(first.errors(X), second.errors(moved), atol=1e-10)
    np.testing.assert_allclose(np.abs(first.transform(X)), np.abs(second.transform(moved)), atol=1e-10)
    np.testing.assert_allclose(first.errors(moved), first.errors(X), atol=1e-10)
    given = [sx.ComplexPCA(4, subtract_average=True, align=False).fit(data).score(data) for data in (X, moved)]
    assert abs(given[0] - given[1]) > 1e-3


def test_errors_without_average_are_full_distances():
    X = make_shapes(sx.BSpline(9))
    model = sx.ComplexPCA(3, space=sx.BSpline(9)).fit(X)
    distances = sx.distance(X, model.reconstruct(X), space=model.space_)
    np.testing.assert_allclose(model.errors(X), distances, atol=1e-10)
    assert float(sx.distance(model.components_[0], sx.mean_shape(X, space=model.space_), space=model.space_)) < 1e-7


def test_new_shapes_meet_the_stored_mean():
    space = sx.Landmarks(9)
    X, new = make_shapes(space), make_shapes(space, seed=0)[::-1] * 1j
    model = sx.ComplexPCA(3, subtract_average=True).fit(X)
    aligned = sx.rotate_onto(new, model.mean_)
    np.testing.assert_allclose(
        model.transform(new), (aligned - model.average_) @ model.components_.conj().T, atol=1e-12
    )
    assert not hasattr(model.set_params(subtract_average=False).fit(X), "mean_")


@pytest.mark.parametrize(("subtract_average", "align"), KINDS)
def test_single_precision_stays(subtract_average, align):
    X = make_shapes(sx.HermiteSpline(5))
    settings = {"space": sx.HermiteSpline(5), "subtract_average": subtract_average, "align": align}
    single, double = (sx.ComplexPCA(4, **settings).fit(data) for data in (X.astype(np.complex64), X))
    X = X.astype(np.complex64)
    assert single.components_.dtype == single.average_.dtype == np.complex64
    assert single.transform(X).dtype == single.reconstruct(X).dtype == np.complex64
    assert (
        single.explained_energy_.dtype == single.explained_energy_ratio_.dtype == single.errors(X).dtype == np.float32
    )
    np.testing.assert_allclose(single.explained_energy_, double.explained_energy_, rtol=1e-4)
    assert sx.ComplexPCA(**settings).fit(X).n_components_ == 9


def test_fewer_shapes_than_coordinates():
    X = make_shapes(sx.Landmarks(30), n_shapes=6)
    model = sx.ComplexPCA().fit(X)
    assert model.n_components_ == 6
    assert model.errors(X).max() < 1e-12
    assert sx.ComplexPCA(subtract_average=True).fit(X).n_components_ == 5


class TestBadInput:
    def test_bad_parameters(self):
        X = make_shapes(sx.Landmarks(9))
        for n_components in (0, -1):
            with pytest.raises(ValueError, match=f"n_components must be at least 1, got {n_components}"):
                sx.ComplexPCA(n_components).fit(X)
        with pytest.raises(TypeError, match=r"n_components must be an integer, got 0\.9"):
            sx.ComplexPCA(0.9).fit(X)
        with pytest.raises(ValueError, match=r"n_components must be between 1 and 8, .*, got 9"):
            sx.ComplexPCA(9).fit(X)
        with pytest.raises(ValueError, match=r"n_components must be between 1 and 2, .*, got 3"):
            sx.ComplexPCA(3).fit(np.repeat(X[:2], 10, axis=0))
        with pytest.raises(TypeError, match="subtract_average must be True or False, got 'yes'"):
            sx.ComplexPCA(subtract_average="yes").fit(X)
        with pytest.raises(TypeError, match="align must be True or False, got 1"):
            sx.ComplexPCA(align=1).fit(X)
        model = sx.ComplexPCA(4).fit(X)
        with pytest.raises(ValueError, match="n_components must be between 1 and the 4 that were fitted, got 5"):
            model.errors(X, n_components=5)
        with pytest.raises(ValueError, match="n_components must be at least 1, got 0"):
            model.reconstruct(X, n_components=0)

    def test_bad_shapes(self):
        X = make_shapes(sx.Landmarks(9))
        with pytest.raises(ShapeInputError, match="nothing varies"):
            sx.ComplexPCA(subtract_average=True).fit(np.repeat(X[:1], 5, axis=0) * np.array([[1], [2], [1j], [3], [4]]))


def test_in_pipelines_and_grid_searches():
    X = make_shapes(sx.Landmarks(9))
    assert make_pipeline(sx.ComplexPCA(3), sx.CodeFeatures()).fit_transform(X).shape == (40, 6)
    search = GridSearchCV(sx.ComplexPCA(), {"n_components": [1, 4]}, cv=3).fit(X)
    assert search.best_params_["n_components"] == 4


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("file", "space", "n_nonzero"),
    [
        ("hands", sx.Landmarks(56), 3),
        ("6376_open_worms_6ctrlpts", sx.HermiteSpline(6), 5),
        ("leaves_Bsplines", sx.BSpline(40), 5),
    ],
)
def test_modes_of_real_shapes_are_nested(load_real, file, space, n_nonzero):
    X = load_real(file)
    model = sx.ComplexPCA(space=space).fit(X)
    assert model.errors(X).max() < 1e-10
    rmse = np.sqrt(np.mean(model.errors(X, n_nonzero) ** 2))
    assert rmse == pytest.approx(-sx.ComplexPCA(n_nonzero, space=space).fit(X).score(X), rel=1e-8)
    assert rmse == pytest.approx(np.sqrt(model.explained_energy_[n_nonzero:].sum() / len(X)), rel=1e-8)
