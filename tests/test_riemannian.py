"""The intrinsic dictionary, as a user of scikit-learn meets it."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import shapelex as sx
from shapelex.exceptions import ParameterError
from tests import strategies
from tests.conftest import custom_space
from tests.estimators.test_shape_dictionary_classifier import make_classes


def make_model(**options):
    defaults = {"n_atoms": 5, "alpha": 0.005, "max_iter": 10, "random_state": 0}
    return sx.RiemannianDictionary(**defaults | options)


@pytest.fixture(scope="module")
def shapes():
    return make_classes()[0]


@pytest.fixture(scope="module")
def fitted(shapes):
    return make_model().fit(shapes)


def test_attributes(fitted, shapes):
    assert fitted.space_ == sx.Landmarks(12)
    assert fitted.atoms_.shape == (5, 12)
    np.testing.assert_allclose(fitted.space_.norm(fitted.atoms_), 1, atol=1e-12)
    assert fitted.n_features_in_ == 12
    assert fitted.loss_curve_.shape == (fitted.n_iter_ + 1,)
    assert (np.diff(fitted.loss_curve_) <= 0).all()
    assert fitted.objective_ == fitted.loss_curve_[-1] < fitted.loss_curve_[0]
    assert len(fitted.get_feature_names_out()) == 5


@pytest.mark.parametrize("space", [sx.Landmarks(12), sx.BSpline(12), sx.HermiteSpline(6), custom_space(12)], ids=repr)
def test_codes_and_reconstructions_are_those_of_the_public_geometry(shapes, space):
    model = make_model(space=space, max_iter=3).fit(shapes)
    codes = model.transform(shapes)
    assert codes.dtype == np.float64
    np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-12)
    sums = np.zeros_like(shapes)
    for number, atom in enumerate(model.atoms_):
        sums += codes[:, number : number + 1] * sx.log(shapes, atom, space=space)
    losses = space.norm(sums) ** 2 + model.alpha * np.abs(codes).sum(axis=1)
    assert model.objective_ == pytest.approx(losses.mean(), rel=1e-9)
    rebuilt = model.reconstruct(shapes)
    np.testing.assert_allclose(rebuilt, sx.exp(shapes, sums, space=space), atol=1e-9)
    np.testing.assert_allclose(model.errors(shapes), sx.distance(shapes, rebuilt, space=space), atol=1e-9)
    assert model.score(shapes) == pytest.approx(-np.sqrt(np.mean(model.errors(shapes) ** 2)))


def brute_force(gram, alpha):
    """Return the least objective over all patterns of signs, each a linear system."""
    n_atoms, best = len(gram), np.inf
    for signs in map(np.array, itertools.product([-1, 0, 1], repeat=n_atoms)):
        used = signs != 0
        if not used.any():
            continue
        system = np.block([[2 * gram[np.ix_(used, used)], np.ones((used.sum(), 1))], [np.ones((1, used.sum())), 0]])
        code = np.zeros(n_atoms)
        code[used] = np.linalg.lstsq(system, np.r_[-alpha * signs[used], 1])[0][:-1]
        if abs(code.sum() - 1) < 1e-9:
            best = min(best, code @ gram @ code + alpha * np.abs(code).sum())
    return best


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.3, 5.0])
@pytest.mark.parametrize("n_points", [3, 8])
def test_codes_are_the_minimum_over_all_signs(alpha, n_points):
    Z = strategies.random_configurations(sx.Landmarks(n_points), 12, 0)
    model = make_model(n_atoms=4, alpha=alpha, init=Z[:4], max_iter=0).fit(Z)
    codes = model.transform(Z)
    vectors = np.stack([sx.log(Z, atom) for atom in model.atoms_], axis=1)
    grams = np.einsum("kin,kjn->kij", vectors.conj(), vectors).real
    np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-12)
    # A shape that is an atom has no tangent to it.
    np.testing.assert_allclose(codes[:4], np.eye(4), atol=1e-6)
    for gram, code in zip(grams, codes, strict=True):
        value = code @ gram @ code + alpha * np.abs(code).sum()
        assert value == pytest.approx(brute_force(gram, alpha), rel=1e-9, abs=1e-10)
    if alpha == 5:
        assert codes.min() >= 0


def test_codes_alone_give_no_shapes(fitted, shapes):
    with pytest.raises(NotImplementedError, match="reconstruct"):
        fitted.inverse_transform(fitted.transform(shapes))


def test_one_atom_is_the_geodesic_mean(shapes):
    model = make_model(n_atoms=1, max_iter=200, tol=1e-14).fit(shapes)
    assert sx.distance(model.atoms_[0], sx.mean_shape(shapes, kind="geodesic")) < 1e-5
    np.testing.assert_array_equal(model.transform(shapes), 1)


def test_first_atoms_and_weights(shapes):
    given = make_model(init=shapes[:5], max_iter=0).fit(shapes)
    np.testing.assert_allclose(sx.distance(given.atoms_, shapes[:5]), 0, atol=1e-12)
    weights = np.ones(60)
    weights[3:6] = 2
    options = {"n_atoms": 4, "init": shapes[:4], "max_iter": 5, "tol": 0}
    weighted = make_model(**options).fit(shapes, sample_weight=weights)
    copied = make_model(**options).fit(np.repeat(shapes, weights.astype(int), axis=0))
    np.testing.assert_allclose(weighted.loss_curve_, copied.loss_curve_, rtol=1e-8)
    heavy = make_model(n_atoms=1, max_iter=50).fit(shapes, sample_weight=np.r_[1e6, np.ones(59)])
    assert sx.distance(heavy.atoms_[0], shapes[0]) < 1e-3


def test_what_is_refused_and_warned_of(shapes):
    for wrong, error in (
        ({"n_atoms": 61}, ParameterError),
        ({"alpha": -1}, ValueError),
        ({"tol": "small"}, TypeError),
        ({"init": "near"}, ValueError),
    ):
        with pytest.raises(error, match=next(iter(wrong))):
            make_model(**wrong).fit(shapes)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        make_model(max_iter=1, tol=0).fit(shapes)
