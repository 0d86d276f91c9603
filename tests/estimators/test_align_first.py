"""Align-first dictionaries: real codes out of the complex engine, against real oracles."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

import shapelex as sx
from tests.conftest import in_each_product

CODERS = ["auto", "exact", "beam", "ormp", "omp"]


def make_shapes(n_shapes=90, n_coordinates=8, seed=0, spread=0.4):
    """Return shapes around one base shape, in any pose."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    X = draw(n_coordinates) + spread * rng.normal(size=(n_shapes, 3)) @ draw(3, n_coordinates)
    X += 0.05 * draw(n_shapes, n_coordinates)
    return X * np.exp(rng.normal(size=(n_shapes, 1)) + 1j * rng.uniform(0, 6, (n_shapes, 1))) + draw(n_shapes, 1)


def real_rows(X, mean, space):
    """Return aligned pre-shapes as real rows, whitened by a square root of the Gram matrix."""
    values, vectors = np.linalg.eigh(space.gram)
    root = vectors * np.sqrt(values) @ vectors.conj().T
    rows = sx.rotate_onto(X, mean, space) @ root.T
    return np.concatenate([rows.real, rows.imag], axis=1)


@pytest.fixture(scope="module")
def shapes():
    return make_shapes()


@pytest.fixture(scope="module")
def fitted(shapes):
    return sx.AlignFirstDictionary(n_atoms=5, n_nonzero=2, random_state=0, max_iter=20, tol=0).fit(shapes)


class TestFit:
    def test_atoms_are_in_the_pose_of_the_mean(self, fitted, shapes):
        np.testing.assert_allclose(fitted.mean_, sx.mean_shape(shapes), atol=1e-14)
        products = fitted.space_.inner(fitted.mean_, fitted.atoms_)
        np.testing.assert_allclose(products.imag, 0, atol=1e-12)

    @pytest.mark.parametrize("coder", CODERS)
    @pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
    def test_codes_are_real_to_the_last_bit(self, shapes, coder, dtype):
        X = shapes.astype(dtype)
        model = sx.AlignFirstDictionary(n_atoms=6, n_nonzero=3, coder=coder, random_state=0, max_iter=10).fit(X)
        coefs = model.encode(X).coefs
        assert coefs.dtype == dtype
        assert not coefs.imag.any()
        codes = model.transform(X)
        assert codes.dtype == coefs.real.dtype
        assert model.atoms_.dtype == model.mean_.dtype == model.reconstruct(X).dtype == dtype
        assert model.errors(X).dtype == codes.dtype
        assert (np.count_nonzero(codes, axis=1) <= 3).all()

    @in_each_product
    def test_exact_codes_are_the_best_real_ones(self, space):
        X = np.random.default_rng(3).normal(size=(30, space.n_coordinates, 2))
        n_atoms = min(5, 2 * space.n_coordinates - 3)
        model = sx.AlignFirstDictionary(n_atoms, 2, space=space, coder="exact", random_state=0, max_iter=4)
        X = sx.from_points(X)
        model.fit(X)
        rows = real_rows(X, model.mean_, space)
        values, vectors = np.linalg.eigh(space.gram)
        atoms = model.atoms_ @ (vectors * np.sqrt(values) @ vectors.conj().T).T
        atoms = np.concatenate([atoms.real, atoms.imag], axis=1)
        best = np.ones(len(rows))
        for pair in itertools.combinations(range(n_atoms), 2):
            weights = np.linalg.lstsq(atoms[list(pair)].T, rows.T, rcond=None)[0]
            best = np.minimum(best, np.linalg.norm(rows - weights.T @ atoms[list(pair)], axis=1))
        np.testing.assert_allclose(model.errors(X), best, atol=1e-7)

    def test_one_update_is_real_least_squares(self, shapes):
        """Compare with the pseudo-inverse of real codes."""
        settings = {"n_atoms": 4, "n_nonzero": 2, "coder": "ormp", "tie": 0, "init": shapes[:4]}
        first = sx.AlignFirstDictionary(**settings, max_iter=0).fit(shapes)
        second = sx.AlignFirstDictionary(**settings, max_iter=1, tol=0).fit(shapes)
        rows = real_rows(shapes, first.mean_, first.space_)
        atoms = np.linalg.pinv(first.transform(shapes)) @ rows
        atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
        np.testing.assert_allclose(second.atoms_, atoms[:, :8] + 1j * atoms[:, 8:], atol=1e-10)

    def test_finds_the_real_dictionary_that_made_the_shapes(self):
        """Planted atoms are in the pose of the base that outweighs them, so aligning does not mix them."""
        rng = np.random.default_rng(1)
        circle = np.exp(2j * np.pi * np.arange(12) / 12)
        atoms = np.array([circle, circle**-1, circle**2, circle**3])
        codes = np.zeros((300, 4))
        codes[:, 0] = 1
        codes[np.arange(300), rng.integers(1, 4, 300)] = rng.uniform(-0.5, 0.5, 300)
        X = codes @ atoms * np.exp(1j * rng.uniform(0, 6, (300, 1)))
        model = sx.AlignFirstDictionary(n_atoms=4, n_nonzero=2, n_swaps=20, random_state=0).fit(X)
        assert model.rmse_ < 1e-3

    def test_does_not_depend_on_the_pose_of_shapes(self, fitted, shapes):
        rng = np.random.default_rng(5)
        poses = rng.uniform(0.1, 10, (90, 1)) * np.exp(1j * rng.uniform(0, 6, (90, 1)))
        moved = poses * shapes + 3 * rng.normal(size=(90, 1))
        np.testing.assert_allclose(fitted.transform(moved), fitted.transform(shapes), atol=1e-9)
        np.testing.assert_allclose(fitted.errors(moved), fitted.errors(shapes), atol=1e-10)
        assert clone(fitted).fit(moved).rmse_ == pytest.approx(fitted.rmse_, rel=1e-6)

    def test_sample_weight_counts_copies(self, shapes):
        weights = np.random.default_rng(0).integers(0, 4, len(shapes))
        weights[0] = 1  # The first shape sets the pose of the mean.
        settings = {"n_atoms": 4, "n_nonzero": 2, "coder": "ormp", "init": shapes[:4], "max_iter": 8, "tol": 0}
        settings["tie"] = 0
        weighted = sx.AlignFirstDictionary(**settings).fit(shapes, sample_weight=weights)
        repeated = sx.AlignFirstDictionary(**settings).fit(np.repeat(shapes, weights, axis=0))
        np.testing.assert_allclose(weighted.mean_, repeated.mean_, atol=1e-10)
        np.testing.assert_allclose(weighted.atoms_, repeated.atoms_, atol=1e-8)
        assert weighted.score(shapes, sample_weight=weights) == pytest.approx(-weighted.rmse_, rel=1e-9)

    def test_given_first_dictionary_is_turned_along_the_mean(self, shapes):
        model = sx.AlignFirstDictionary(n_atoms=3, n_nonzero=1, init=5j * shapes[:3] + 1, max_iter=0).fit(shapes)
        np.testing.assert_allclose(model.atoms_, sx.rotate_onto(shapes[:3], model.mean_), atol=1e-12)
        again = sx.AlignFirstDictionary(n_atoms=3, n_nonzero=1, init=model.atoms_, max_iter=0).fit(shapes)
        assert again.rmse_ == pytest.approx(model.rmse_, rel=1e-12)


class TestCodes:
    def test_round_trip(self, fitted, shapes):
        space = fitted.space_
        codes = fitted.transform(shapes)
        np.testing.assert_allclose(fitted.inverse_transform(codes), codes @ fitted.atoms_, atol=1e-14)
        np.testing.assert_allclose(
            fitted.inverse_transform(fitted.encode(shapes)), fitted.inverse_transform(codes), atol=1e-12
        )
        aligned = sx.rotate_onto(shapes, fitted.mean_)
        np.testing.assert_allclose(fitted.errors(shapes), space.norm(aligned - codes @ fitted.atoms_), atol=1e-12)

    def test_reconstructions_are_in_the_poses_of_the_shapes(self, fitted, shapes):
        reconstructed = fitted.reconstruct(shapes)
        residuals = fitted.space_.norm(fitted.space_.preshape(shapes) - reconstructed)
        np.testing.assert_allclose(fitted.errors(shapes), residuals, atol=1e-12)

    def test_errors_are_above_the_distance(self, fitted, shapes):
        excess = fitted.errors(shapes) - sx.distance(shapes, fitted.reconstruct(shapes))
        assert excess.min() > -1e-12
        assert excess.max() > 1e-6


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("file", "space", "n_atoms", "n_nonzero", "spams", "paper"),
    [
        ("hands", sx.Landmarks(56), 10, 3, 0.0276, 0.0273),
        ("6376_open_worms_6ctrlpts", sx.HermiteSpline(6), 10, 5, 0.0779, 0.0795),
        ("leaves_Bsplines", sx.BSpline(40), 20, 5, 0.0695, 0.0701),
    ],
)
def test_as_accurate_as_spams(load_real, file, space, n_atoms, n_nonzero, spams, paper):
    """`spams` is the error of its `trainDL` (1000 iterations) and `omp` on the same arrays, mean of ten first atoms."""
    X = load_real(file)
    greedy = sx.AlignFirstDictionary(
        n_atoms, n_nonzero, space=space, coder="ormp", tie=0, n_swaps=0, n_restarts=5, random_state=0
    )
    assert greedy.fit(X).rmse_ <= 1.05 * spams
    n_swaps = 50 if file == "hands" else 0
    best = sx.AlignFirstDictionary(n_atoms, n_nonzero, space=space, n_swaps=n_swaps, random_state=0, max_iter=40)
    assert best.fit(X).rmse_ <= min(spams, paper)
