"""What users of scikit-learn and notebooks expect of every estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shapelex as sx
from shapelex.exceptions import CodesError, CoordinateCountError, NonFiniteError, ShapeInputError

CIRCLE = np.exp(2j * np.pi * np.arange(12) / 12)
QUICK = {"n_swaps": 0, "max_iter": 2, "tol": 1.0, "random_state": 0}


def make_shapes(n_shapes=20):
    rng = np.random.default_rng(0)
    X = CIRCLE + 0.1 * rng.normal(size=(n_shapes, 2)) @ [CIRCLE**2, CIRCLE**3]
    X[n_shapes // 2 :] += 0.5 / CIRCLE
    return X, np.repeat(["round", "long"], n_shapes // 2)


class TestLabels:
    def test_a_classifier_takes_the_labels_of_a_set(self):
        X, y = make_shapes()
        model = sx.ShapeDictionaryClassifier(3, 2, **QUICK)
        expected = model.fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(model.fit(sx.ShapeSet(X, labels=y)).predict_proba(X), expected)

    def test_given_labels_come_first(self):
        X, y = make_shapes()
        model = sx.ShapeDictionaryClassifier(3, 2, **QUICK).fit(sx.ShapeSet(X, labels=y), np.repeat(["a", "b"], 10))
        assert model.classes_.tolist() == ["a", "b"]

    def test_without_labels_the_error_names_the_set(self):
        X, y = make_shapes()
        for shapes in (X, sx.ShapeSet(X)):
            with pytest.raises(ShapeInputError, match=r"target y is None.*give y, or a ShapeSet with labels"):
                sx.ShapeDictionaryClassifier().fit(shapes)
        y[3] = ""
        with pytest.raises(ShapeInputError, match=r"X has no label in row 3: take X"):
            sx.ShapeDictionaryClassifier().fit(sx.ShapeSet(X, labels=y))


class TestPipelines:
    @pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["direct", "scaled"])
    def test_complex_codes_explain_code_features(self, steps):
        X, y = make_shapes()
        pipeline = make_pipeline(sx.ShapeDictionary(3, 2, **QUICK), *steps, LogisticRegression())
        with pytest.raises(
            ValueError, match=r"Complex data not supported(?s:.*)make_pipeline\(CodeFeatures\(dictionary="
        ):
            pipeline.fit(X, y)

    def test_codes_are_ordinary_arrays_otherwise(self):
        X, _ = make_shapes()
        codes = sx.ShapeDictionary(3, 2, **QUICK).fit(X).transform(X)
        assert isinstance(codes, np.ndarray)
        assert repr(codes[:1]).startswith("array([[")
        for derived in (np.abs(codes), 2 * codes, codes @ np.eye(3), codes.conj()):
            assert type(derived) is np.ndarray
        assert type(codes.sum()) is np.complex128
        assert "CodeFeatures" not in f"{codes.real} {codes[0]}"


ESTIMATORS = {
    "shapedictionary0": sx.ShapeDictionary(3, 2, **QUICK),
    "real0": sx.CodeFeatures(dictionary=sx.ShapeDictionary(3, 2, **QUICK)),
    "alignfirstdictionary0": sx.AlignFirstDictionary(3, 2, **QUICK),
    "complexpca0": sx.ComplexPCA(2, subtract_average=True),
    "tangentpca0": sx.TangentPCA(2),
    "procrusteskernel0": sx.ProcrustesKernel(),
    "riemanniandictionary0": sx.RiemannianDictionary(3, max_iter=1, tol=1.0, random_state=0),
    "distance_d1_k012_q25": sx.OutlineConvolutions(random_state=0),
    "outlineregistration0": sx.OutlineRegistration(space=sx.Landmarks(12, closed=True)),
}


@pytest.mark.parametrize("first_column", ESTIMATORS)
class TestEveryTransformer:
    def test_gives_data_frames(self, first_column):
        X, _ = make_shapes()
        estimator = clone(ESTIMATORS[first_column])
        plain = estimator.fit_transform(X)
        table = estimator.set_output(transform="pandas").fit_transform(X)
        assert isinstance(table, pd.DataFrame)
        assert table.columns[0] == first_column
        assert list(table.columns) == list(estimator.get_feature_names_out())
        np.testing.assert_array_equal(table.to_numpy(), plain)

    def test_clone_pickle_and_points(self, first_column):
        X, _ = make_shapes()
        fitted = clone(ESTIMATORS[first_column]).fit(X)
        copy = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(copy.transform(X), fitted.transform(X))
        np.testing.assert_array_equal(clone(fitted).fit(sx.to_points(X)).transform(X), fitted.transform(X))
        with pytest.raises(CoordinateCountError):
            fitted.transform(X[:, :8])

    def test_must_be_fitted(self, first_column):
        X, _ = make_shapes()
        estimator = clone(ESTIMATORS[first_column])
        for name in ("transform", "errors", "score", "reconstruct", "encode"):
            if hasattr(estimator, name):
                with pytest.raises(NotFittedError):
                    getattr(estimator, name)(X)
        if hasattr(estimator, "inverse_transform") and not isinstance(estimator, sx.RiemannianDictionary):
            with pytest.raises(NotFittedError):
                estimator.inverse_transform(np.ones((1, 3)))


@pytest.mark.parametrize("first_column", ["shapedictionary0", "alignfirstdictionary0", "complexpca0", "tangentpca0"])
def test_codes_are_checked(first_column):
    model = clone(ESTIMATORS[first_column]).fit(make_shapes()[0])
    n_columns = len(model.get_feature_names_out())
    with pytest.raises(CodesError, match=rf"\(n_shapes, {n_columns}\), got \(2, 7\)"):
        model.inverse_transform(np.ones((2, 7)))
    with pytest.raises(NonFiniteError, match="finite"):
        model.inverse_transform(np.full((2, n_columns), np.inf))
    if first_column in ("alignfirstdictionary0", "tangentpca0"):
        with pytest.raises(CodesError, match="must be real"):
            model.inverse_transform(1j * np.ones((2, n_columns)))


class TestVerbose:
    @pytest.mark.parametrize("estimator_class", [sx.ShapeDictionary, sx.AlignFirstDictionary])
    def test_true_reports_the_beginning_and_the_end(self, estimator_class, capsys):
        X, _ = make_shapes()
        estimator_class(3, 2, **QUICK, verbose=True).fit(X)
        captured = capsys.readouterr()
        lines = captured.err.splitlines()
        assert captured.out == ""
        assert "iteration 0/2" in lines[0]
        assert lines[-1].startswith(f"{estimator_class.__name__}: finished, RMSE 0.")
        estimator_class(3, 2, **QUICK).fit(X)
        assert capsys.readouterr().err == ""

    def test_a_classifier_reports_every_class(self, capsys):
        sx.ShapeDictionaryClassifier(3, 2, **QUICK, verbose=True).fit(*make_shapes())
        lines = capsys.readouterr().err.splitlines()
        assert [line.split(",")[0] for line in lines] == [
            "ShapeDictionaryClassifier: class long (1/2)",
            "ShapeDictionaryClassifier: class round (2/2)",
        ]

    @pytest.mark.parametrize("verbose", [-1, "yes", 0.5])
    def test_other_values_are_refused(self, verbose):
        with pytest.raises((TypeError, ValueError), match="verbose must be"):
            sx.ShapeDictionary(3, 2, verbose=verbose).fit(make_shapes()[0])
