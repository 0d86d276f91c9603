"""Errors name the argument that the caller gave, and the row in it, whatever happens to it inside."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import shapelex as sx
from shapelex.exceptions import ShapelexError

OPTIONS = {"tol": 0.1, "random_state": 0}
ESTIMATORS = {
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
y = np.arange(30) % 2


def make_shapes():
    rng = np.random.default_rng(0)
    circle = np.exp(2j * np.pi * np.arange(8) / 8)
    return circle + 0.2 * (rng.normal(size=(30, 8)) + 1j * rng.normal(size=(30, 8)))


def make_bad(kind):
    X = make_shapes()
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


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request):
    return clone(ESTIMATORS[request.param]).fit(make_shapes(), y)


@pytest.mark.parametrize("kind", ["collapsed", "NaN", "infinite", "real", "empty", "text"])
def test_shapes_are_called_by_their_name(fitted, kind):
    X = make_bad(kind)
    assert_named(lambda: clone(fitted).fit(X, y[: len(X)]), "X", kind)
    methods = [name for name in METHODS if hasattr(fitted, name)]
    assert methods
    for name in methods:
        assert_named(lambda name=name: getattr(fitted, name)(X), "X", kind)


def test_weights_are_called_by_their_name(fitted):
    X = make_shapes()
    for call in (clone(fitted).fit, getattr(fitted, "score", None)):
        if call is None or "sample_weight" not in inspect.signature(call).parameters or call == _score_of(fitted):
            continue
        for weights in (np.full(30, -1.0), np.ones(29), np.zeros(30), np.full(30, np.nan)):
            with pytest.raises(ValueError, match=r"^sample_weight "):
                call(X, y, sample_weight=weights)


def _score_of(model):
    # That of classifiers is scikit-learn's, with its words.
    return model.score if isinstance(model, sx.ShapeDictionaryClassifier) else None


@pytest.mark.parametrize("kind", ["collapsed", "NaN", "real", "empty"])
def test_both_sets_of_a_kernel_have_names(kind):
    kernel, X, bad = sx.ProcrustesKernel(1.0), make_shapes(), make_bad(kind)
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
        model = clone(ESTIMATORS[name]).set_params(init=make_bad(kind), n_atoms=30)
        assert_named(lambda model=model: model.fit(make_shapes()), "init", kind)


def test_functions_call_shapes_by_their_name():
    bad = make_bad("collapsed")
    space = sx.Landmarks(8, closed=True)
    for call in (
        lambda: sx.invariance_report(bad, space, max_shapes=30),
        lambda: sx.compare(bad, n_nonzero=[1], n_atoms=3, random_state=0),
        lambda: sx.suggest(bad, [3], [1], random_state=0),
        lambda: sx.impute(bad, clone(ESTIMATORS["dictionary"])),
        lambda: sx.impute(bad, clone(ESTIMATORS["dictionary"]).fit(make_shapes())),
    ):
        assert_named(call, "X", "collapsed")
    fitted = clone(ESTIMATORS["dictionary"]).fit(make_shapes())
    assert_named(lambda: sx.impute(make_shapes(), fitted, reference=bad), "reference", "collapsed")
