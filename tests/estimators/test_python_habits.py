"""What users of scikit-learn and notebooks expect of every estimator, and errors that name the argument they gave."""

import inspect
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
from shapelex.exceptions import CodesError, CoordinateCountError, NonFiniteError, ShapeInputError, ShapelexError

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


OPTIONS = {"tol": 0.1, "random_state": 0}
NAMED = {
    "dictionary": sx.ShapeDictionary(3, 2, **OPTIONS),
    "align-first": sx.AlignFirstDictionary(3, 2, **OPTIONS),
    "complex PCA": sx.ComplexPCA(2),
    "complex PCA, centered": sx.ComplexPCA(2, subtract_average=True),
    "tangent PCA": sx.TangentPCA(2),
    "Riemannian": sx.RiemannianDictionary(3, **OPTIONS),
    "kernel": sx.ProcrustesKernel(1.0),
    "classifier": sx.ShapeDictionaryClassifier(3, 2, **OPTIONS),
    "registration": sx.OutlineRegistration(n_starts=1),
    "convolutions": sx.OutlineConvolutions(random_state=0),
    "features": sx.CodeFeatures(dictionary=sx.ShapeDictionary(3, 2, **OPTIONS)),
}
METHODS = ("transform", "errors", "encode", "reconstruct", "realism", "register", "class_errors", "predict", "__call__")
NUMBERS = np.arange(30) % 2


def make_circles():
    rng = np.random.default_rng(0)
    circle = np.exp(2j * np.pi * np.arange(8) / 8)
    return circle + 0.2 * (rng.normal(size=(30, 8)) + 1j * rng.normal(size=(30, 8)))


def make_bad(kind):
    X = make_circles()
    if kind == "real":
        return X.real.copy()
    if kind == "empty":
        return X[:0]
    if kind == "text":
        return np.full((30, 8), "a")
    X[13] = {"collapsed": 2.0, "NaN": np.nan, "infinite": np.inf}[kind]
    return X


def assert_named(call, name, kind):
    with pytest.raises(ShapelexError) as caught:
        call()
    message = str(caught.value)
    assert message.startswith(f"{name} "), message
    if kind in ("collapsed", "NaN", "infinite"):
        assert f"{kind.replace('infinite', 'infinite coordinates')}" in message
        assert "in row 13:" in message


@pytest.fixture(scope="module", params=NAMED)
def fitted(request):
    return clone(NAMED[request.param]).fit(make_circles(), NUMBERS)


@pytest.mark.parametrize("kind", ["collapsed", "NaN", "infinite", "real", "empty", "text"])
def test_shapes_are_called_by_their_name(fitted, kind):
    X = make_bad(kind)
    assert_named(lambda: clone(fitted).fit(X, NUMBERS[: len(X)]), "X", kind)
    methods = [name for name in METHODS if hasattr(fitted, name)]
    assert methods
    for name in methods:
        assert_named(lambda name=name: getattr(fitted, name)(X), "X", kind)


def test_weights_are_called_by_their_name(fitted):
    X = make_circles()
    for call in (clone(fitted).fit, getattr(fitted, "score", None)):
        if call is None or "sample_weight" not in inspect.signature(call).parameters or call == _score_of(fitted):
            continue
        for weights in (np.full(30, -1.0), np.ones(29), np.zeros(30), np.full(30, np.nan)):
            with pytest.raises(ValueError, match=r"^sample_weight "):
                call(X, NUMBERS, sample_weight=weights)


def _score_of(model):
    # That of classifiers is scikit-learn's, with its words.
    return model.score if isinstance(model, sx.ShapeDictionaryClassifier) else None


@pytest.mark.parametrize("kind", ["collapsed", "NaN", "real", "empty"])
def test_both_sets_of_a_kernel_have_names(kind):
    kernel, X, bad = sx.ProcrustesKernel(1.0), make_circles(), make_bad(kind)
    for one in (kernel, kernel.fit(X)):
        assert_named(lambda one=one: one(bad), "X", kind)
        assert_named(lambda one=one: one(bad, X), "X", kind)
        assert_named(lambda one=one: one(X, bad), "Y", kind)
    assert_named(lambda: kernel.coding_errors(bad, np.zeros((30, 30))), "X", kind)


def test_columns_of_a_kernel_have_names():
    kernel = sx.ProcrustesKernel(1.0, layout="blocks")
    with pytest.raises(ShapelexError, match=r"^Y must be"):
        kernel(np.arange(12.0).reshape(2, 6) ** 2, np.full((2, 6), "a"))


@pytest.mark.parametrize("kind", ["collapsed", "NaN", "real", "empty"])
def test_first_atoms_have_a_name(kind):
    for name in ("dictionary", "align-first", "Riemannian"):
        model = clone(NAMED[name]).set_params(init=make_bad(kind), n_atoms=30)
        assert_named(lambda model=model: model.fit(make_circles()), "init", kind)


def test_functions_call_shapes_by_their_name():
    bad = make_bad("collapsed")
    space = sx.Landmarks(8, closed=True)
    for call in (
        lambda: sx.invariance_report(bad, space, max_shapes=30),
        lambda: sx.compare(bad, n_nonzero=[1], n_atoms=3, random_state=0),
        lambda: sx.suggest(bad, [3], [1], random_state=0),
        lambda: sx.impute(bad, clone(NAMED["dictionary"])),
        lambda: sx.impute(bad, clone(NAMED["dictionary"]).fit(make_circles())),
    ):
        assert_named(call, "X", "collapsed")
    model = clone(NAMED["dictionary"]).fit(make_circles())
    assert_named(lambda: sx.impute(make_circles(), model, reference=bad), "reference", "collapsed")
