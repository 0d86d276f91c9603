"""The kernel of the full distance in scikit-learn's kernel methods, and coding in its feature space."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import shapelex as sx
from shapelex.exceptions import CodesError, NonFiniteError, RealLayoutError
from tests import oracles, strategies
from tests.estimators.test_shape_dictionary_classifier import make_classes


@pytest.fixture(scope="module")
def classes():
    return make_classes()


def brute_force(gram, cross, n_nonzero):
    """Least squared error in the feature space over all supports."""
    best = 1.0
    for support in map(list, itertools.combinations(range(len(gram)), n_nonzero)):
        part = cross[support]
        best = min(best, 1 - part @ np.linalg.solve(gram[np.ix_(support, support)], part))
    return best


def greedy(gram, cross, n_nonzero):
    """Support of order recursive matching pursuit, by solving for every candidate."""
    support = []
    for _ in range(n_nonzero):
        errors = {}
        for candidate in set(range(len(gram))) - set(support):
            trial = [*support, candidate]
            errors[candidate] = -cross[trial] @ np.linalg.solve(gram[np.ix_(trial, trial)], cross[trial])
        support.append(min(errors, key=errors.get))
    return support


class TestKernel:
    @given(strategies.stacks(n_shapes=6), st.floats(0.01, 100))
    def test_values_and_positive_definite(self, stack, gamma):
        space, Z = stack
        kernel = sx.ProcrustesKernel(gamma, space=space)
        gram = kernel.fit_transform(Z)
        expected = np.exp(-gamma * oracles.distance(Z[0], Z[1], "full", space) ** 2)
        assert gram[0, 1] == pytest.approx(expected, rel=1e-5)
        np.testing.assert_array_equal(gram, gram.T)
        np.testing.assert_array_equal(np.diag(gram), 1)
        assert np.linalg.eigvalsh(gram)[0] > -1e-12
        np.testing.assert_allclose(kernel.transform(2j * Z + 3 * space.shift), gram, atol=1e-10)
        np.testing.assert_allclose(kernel(Z[:2], Z), gram[:2], atol=1e-10)

    def test_scale(self, classes):
        X, _ = classes
        kernel = sx.ProcrustesKernel().fit(X)
        assert kernel.gamma_ == pytest.approx(2 / np.mean(sx.pairwise_distances(X) ** 2))
        # Near one shape this is scikit-learn's "scale" of the coordinates in the tangent space.
        near = X[0] + 1e-4 * np.random.default_rng(0).normal(size=(50, 12))
        vectors = sx.log(sx.mean_shape(near), near)
        parts = np.hstack([vectors.real, vectors.imag])
        assert sx.ProcrustesKernel().fit(near).gamma_ == pytest.approx(1 / parts.var(axis=0).sum(), rel=1e-3)
        assert sx.ProcrustesKernel().fit(X[[0, 0]]).gamma_ == 1


class TestKernelMethods:
    def test_pipeline_with_svc(self, classes):
        X, y = classes
        model = make_pipeline(sx.ProcrustesKernel(), SVC(kernel="precomputed", C=10))
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        scores = cross_val_score(model, X, y, cv=folds)
        assert scores.mean() > 0.8
        # Each fold has its own Gram matrix: the same as making both by hand.
        train, test = next(folds.split(np.zeros(60), y))
        gamma = 2 / np.mean(sx.pairwise_distances(X[train]) ** 2)
        by_hand = SVC(kernel="precomputed", C=10).fit(np.exp(-gamma * sx.pairwise_distances(X[train]) ** 2), y[train])
        values = np.exp(-gamma * sx.pairwise_distances(X[test], X[train]) ** 2)
        assert by_hand.score(values, y[test]) == scores[0]
        search = GridSearchCV(model, {"procrusteskernel__gamma": [1e-6, "scale"]}, cv=folds).fit(X, y)
        assert search.best_params_ == {"procrusteskernel__gamma": "scale"}

    @pytest.mark.parametrize("layout", ["blocks", "interleaved"])
    def test_callable_on_columns(self, classes, layout):
        X, y = classes
        columns = sx.to_columns(X, layout=layout)
        kernel = sx.ProcrustesKernel(20.0, layout=layout)
        model = SVC(kernel=kernel).fit(columns, y)
        expected = make_pipeline(sx.ProcrustesKernel(20.0), SVC(kernel="precomputed")).fit(X, y)
        np.testing.assert_allclose(model.decision_function(columns), expected.decision_function(X), atol=1e-9)
        assert cross_val_score(clone(model), columns, y, cv=3).mean() > 0.5
        np.testing.assert_allclose(kernel.fit(columns).transform(columns), kernel(columns, columns), atol=1e-12)
        assert kernel.shapes_.shape == X.shape

    def test_pairs_of_single_shapes(self, classes):
        X, _ = classes
        columns = sx.to_columns(X[:20], layout="blocks")
        by_pairs = KernelPCA(3, kernel=sx.ProcrustesKernel(20.0, layout="blocks")).fit_transform(columns)
        whole = make_pipeline(sx.ProcrustesKernel(20.0), KernelPCA(3, kernel="precomputed")).fit_transform(X[:20])
        np.testing.assert_allclose(np.abs(by_pairs), np.abs(whole), atol=1e-9)


class TestCoding:
    @pytest.mark.parametrize("n_nonzero", [1, 2, 3])
    def test_against_brute_force(self, n_nonzero):
        atoms, X = make_classes(3, seed=2)[0], make_classes(4, seed=3)[0]
        kernel = sx.ProcrustesKernel().fit(atoms)
        cross, gram = kernel.transform(X), kernel.transform(atoms)
        exact, ormp = (kernel.encode(X, n_nonzero, coder=coder) for coder in ("exact", "ormp"))
        assert exact.dtype == ormp.dtype == np.float64
        for row in range(len(X)):
            least = brute_force(gram, cross[row], n_nonzero)
            assert kernel.coding_errors(X, exact)[row] ** 2 == pytest.approx(least, abs=1e-9)
            support = greedy(gram, cross[row], n_nonzero)
            assert set(np.flatnonzero(ormp[row])) == set(support)
            weights = np.linalg.solve(gram[np.ix_(support, support)], cross[row, support])
            np.testing.assert_allclose(ormp[row, support], weights, atol=1e-8)

    def test_repeated_shapes(self):
        atoms, _ = make_classes(2, seed=2)
        kernel = sx.ProcrustesKernel().fit(np.concatenate([atoms, 1j * atoms]))
        codes = kernel.encode(make_classes(4, seed=3)[0], 3)
        assert np.isfinite(codes).all()
        assert ((codes[:, :6] != 0) & (codes[:, 6:] != 0)).sum() == 0


def test_bad_input(classes):
    X, _ = classes
    kernel = sx.ProcrustesKernel()
    with pytest.raises(ValueError, match="give gamma as a number, or call fit first"):
        kernel(X)
    for gamma in (0, -1, np.inf, "auto"):
        with pytest.raises(ValueError, match="gamma must be"):
            sx.ProcrustesKernel(gamma).fit(X)
    with pytest.raises(TypeError, match="gamma must be"):
        sx.ProcrustesKernel(None).fit(X)
    kernel.fit(X)
    with pytest.raises(RealLayoutError):
        SVC(kernel=sx.ProcrustesKernel(1.0)).fit(X.real, classes[1])
    kernel.fit(X)
    with pytest.raises(ValueError, match="n_nonzero must be between 1 and n_atoms=60, got 61"):
        kernel.encode(X, 61)
    with pytest.raises(CodesError, match="60"):
        kernel.coding_errors(X, np.zeros((60, 3)))
    with pytest.raises(NonFiniteError):
        kernel.coding_errors(X, np.full((60, 60), np.nan))
