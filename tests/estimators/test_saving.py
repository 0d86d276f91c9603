"""Model files of estimators: the same results after a round trip, damaged files, and what a failed refit leaves."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import clone

import shapelex as sx
from shapelex.exceptions import ModelFileError
from shapelex.files.model_file import read_model, write_model
from tests.conftest import FOURIER, custom_space

SPACE = sx.BSpline(6)
PEERS = {
    "align-first": sx.AlignFirstDictionary(4, 2, random_state=0, tol=1e-3),
    "align-first, init": sx.AlignFirstDictionary(
        2, 1, space=SPACE, init=np.eye(6)[:2] + 0j, random_state=np.random.default_rng(0), tol=1e-2
    ),
    "complex PCA": sx.ComplexPCA(2),
    "complex PCA, centered": sx.ComplexPCA(space=SPACE, subtract_average=True),
    "tangent PCA": sx.TangentPCA(3, projection="orthogonal", mean="partial", space=SPACE),
    "Riemannian": sx.RiemannianDictionary(3, alpha=0.05, random_state=0, tol=1e-1),
    "kernel": sx.ProcrustesKernel(np.float64(3), space=SPACE),
    "kernel, columns": sx.ProcrustesKernel(layout="blocks"),
}


@pytest.fixture(scope="module")
def shapes():
    rng = np.random.default_rng(3)
    circle = np.exp(2j * np.pi * np.arange(6) / 6)
    return circle + 0.3 * (rng.normal(size=(30, 6)) + 1j * rng.normal(size=(30, 6)))


@pytest.fixture(scope="module", params=PEERS, ids=str)
def fitted(request, shapes):
    return PEERS[request.param].fit(shapes)


def _fitted_state(model):
    return {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_") and name != "space_"}


def _assert_same_state(model, state):
    assert set(_fitted_state(model)) == set(state)
    for name, value in _fitted_state(model).items():
        np.testing.assert_array_equal(value, state[name], err_msg=name)


def test_comes_back_whole(fitted, shapes, tmp_path):
    path = fitted.save(tmp_path / "peer")
    assert path.suffix == ".npz"
    back = sx.load(path)
    assert type(back) is type(fitted)
    _assert_same_state(back, _fitted_state(fitted))
    assert back.space_ == fitted.space_
    np.testing.assert_array_equal(back.transform(shapes), fitted.transform(shapes))
    if hasattr(fitted, "errors"):
        np.testing.assert_array_equal(back.errors(shapes), fitted.errors(shapes))
    else:
        np.testing.assert_array_equal(back.encode(shapes[:5], 2), fitted.encode(shapes[:5], 2))
    for name, value in fitted.get_params().items():
        if name != "random_state":
            np.testing.assert_array_equal(back.get_params()[name], value, err_msg=name)


def test_a_name_without_its_suffix_is_told(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match=r"but there is .*model\.npz"):
        sx.load(tmp_path / "model")


def test_single_precision_stays(shapes, tmp_path):
    single = shapes.astype(np.complex64)
    for model, name in ((sx.TangentPCA(2), "components_"), (sx.ProcrustesKernel(), "shapes_")):
        assert getattr(sx.load(model.fit(single).save(tmp_path / name)), name).dtype == np.complex64


def test_what_made_it_is_kept(fitted, tmp_path):
    run = {"command": "shapelex learn", "seed": 0}
    assert read_model(fitted.save(tmp_path / "peer", run=run)).provenance["run"] == run


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (sx.ShapeDictionary(3, 2, max_iter=0, random_state=0), {"n_atoms": 9}),
        (sx.ShapeDictionary(3, 2, max_iter=0, random_state=0), {"n_nonzero": 9}),
        (sx.ComplexPCA(2), {"n_components": 3}),
        (sx.TangentPCA(2), {"projection": "none"}),
        (sx.ProcrustesKernel(), {"gamma": 99.0}),
    ],
)
def test_what_could_not_be_loaded_is_not_written(model, change, shapes, tmp_path):
    model = clone(model).fit(shapes).set_params(**change)
    with pytest.raises(ModelFileError, match=f"The estimator cannot be saved .*{next(iter(change))}|modes"):
        model.save(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def _damages(model):
    stack = next(name for name in ("components_", "atoms_", "shapes_") if name in model.arrays)
    rows = model.arrays[stack]
    yield "fewer rows", {"arrays": {**model.arrays, stack: rows[:-1]}}
    yield "not finite", {"arrays": {**model.arrays, stack: np.where(np.eye(*rows.shape) > 0, np.nan, rows)}}
    yield "no shapes", {"arrays": {**model.arrays, stack: np.zeros_like(rows)}}
    yield "another space", {"space": sx.Landmarks(5)}
    yield "wrong number", {"results": {**model.results, "n_features_in_": 7}}
    if "projection" in model.parameters:
        yield "unknown projection", {"parameters": {**model.parameters, "projection": "evil"}}
    if "align" in model.parameters:
        yield "mean that no fit has", {"parameters": {**model.parameters, "align": "yes"}}
    if "n_components" in model.parameters:
        yield "other modes", {"parameters": {**model.parameters, "n_components": 1}}
    if "coder" in model.parameters:
        yield "unknown coder", {"parameters": {**model.parameters, "coder": "evil"}}
    if "gamma" in model.parameters:
        yield "negative gamma", {"results": {**model.results, "gamma_": -1.0}}
        yield "no gamma", {"results": {**model.results, "gamma_": float("nan")}}
        yield "unknown layout", {"parameters": {**model.parameters, "layout": "evil"}}
    if "alpha" in model.parameters:
        yield "negative alpha", {"parameters": {**model.parameters, "alpha": -1}}


@pytest.mark.parametrize("kind", [*PEERS, "classifier"])
def test_damaged_files_are_told(kind, shapes, tmp_path):
    fitted = fit_classifier()[0] if kind == "classifier" else PEERS[kind].fit(shapes)
    model = read_model(fitted.save(tmp_path / "peer"))
    for what, change in (_classifier_damages if kind == "classifier" else _damages)(model):
        path = write_model(tmp_path / "damaged", dataclasses.replace(model, **change))
        with pytest.raises(ModelFileError, match="is damaged"):
            pytest.fail(f"{what} was taken: {sx.load(path)}")


BAD_REFITS = {
    "no numbers": lambda: np.full((30, 9), np.nan + 0j),
    "collapsed": lambda: np.ones((30, 9), dtype=complex),
    "one shape": lambda: np.tile(np.exp(2j * np.pi * np.arange(9) / 9), (1, 1)),
}


@pytest.mark.parametrize("bad", BAD_REFITS)
def test_failed_refit_leaves_the_old_fit(fitted, shapes, bad):
    if bad == "one shape" and isinstance(fitted, sx.ProcrustesKernel):
        return  # a kernel can be fitted to one shape
    state, space = _fitted_state(fitted), fitted.space_
    given = fitted.space
    fitted.set_params(space=None)
    try:
        with pytest.raises(ValueError):  # noqa: PT011
            fitted.fit(BAD_REFITS[bad]())
    finally:
        fitted.set_params(space=given)
    assert fitted.space_ is space
    _assert_same_state(fitted, state)
    assert np.isfinite(fitted.transform(shapes)).all()


@pytest.mark.parametrize("model", [sx.ComplexPCA(99), sx.TangentPCA(99), sx.AlignFirstDictionary(99, 2)], ids=repr)
def test_failed_first_fit_leaves_nothing(model, shapes):
    with pytest.raises(ValueError, match=r"99|atoms"):
        model.fit(shapes)
    assert not _fitted_state(model)
    assert not hasattr(model, "space_")


def test_classifier_is_left_whole(shapes):
    labels = np.repeat([0, 1], 15)
    model = sx.ShapeDictionaryClassifier(2, 1, random_state=0, tol=1e-2).fit(shapes, labels)
    before = model.predict(shapes)
    state = _fitted_state(model)
    with pytest.raises(ValueError, match="temperature"):
        model.set_params(temperature=-1.0).fit(shapes[:, :5], labels)
    assert model.n_features_in_ == 6
    assert set(_fitted_state(model)) == set(state)
    np.testing.assert_array_equal(model.predict(shapes), before)


LABELS = {
    "text": np.array(["round", "long", "größer"]),
    "objects": np.array(["round", "long", "größer"], dtype=object),
    "integers": np.array([3, -1, 7]),
    "flags": np.array([True, False, True]),
}


def make_classes(n_shapes=45, seed=3):
    rng = np.random.default_rng(seed)
    circle = np.exp(2j * np.pi * np.arange(6) / 6)
    X = circle + 0.2 * (rng.normal(size=(n_shapes, 6)) + 1j * rng.normal(size=(n_shapes, 6)))
    return X + np.linspace(0, 0.6, 3)[np.arange(n_shapes) % 3, None] * circle**-1


def fit_classifier(labels="text", dtype=complex, **options):
    X = make_classes().astype(dtype)
    model = sx.ShapeDictionaryClassifier(**{"n_atoms": 3, "n_nonzero": 2, "tol": 1e-2, "random_state": 0} | options)
    return model.fit(X, LABELS[labels][np.arange(len(X)) % 3]), make_classes(20, seed=4).astype(dtype)


def assert_same(back, model, X):
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.class_errors(X), model.class_errors(X))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    for name in ("classes_", "temperatures_", "offsets_", "temperature_", "shrinkage_", "n_iter_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))
    assert back.space_ == model.space_
    assert back.metric_space_ == model.metric_space_
    for ours, theirs in zip(back.dictionaries_, model.dictionaries_, strict=True):
        for name in ("atoms_", "usage_", "loss_curve_", "rmse_", "n_iter_"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        assert ours.get_params() == theirs.get_params()


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": np.complex64},
        *[{"labels": kind} for kind in ("objects", "integers", "flags")],
        {"space": sx.BSpline(6)},
        {"space": custom_space(6)},
        {"shrinkage": 1.0},
        {"cv": 3, "shrinkage": 0.3},
        {"temperature": 0.1, "random_state": np.random.default_rng(0)},
        {"n_atoms": 40, "n_nonzero": 12, "coder": "ormp", "n_swaps": 0},
    ],
    ids=lambda options: " ".join(options),
)
def test_all_kinds_come_back_whole(options, tmp_path):
    model, X = fit_classifier(**options)
    back = sx.load(model.save(tmp_path / "classes"))
    assert_same(back, model, X)
    assert back.dictionaries_[0].atoms_.dtype == model.dictionaries_[0].atoms_.dtype
    assert (back.metric_space_ is back.space_) == (model.metric_space_ is model.space_)


def test_what_was_changed_since_the_fit_comes_back(tmp_path):
    model, X = fit_classifier()
    model.set_params(n_atoms=9, n_nonzero=4)
    model.dictionaries_[1].set_params(n_nonzero=1)
    assert_same(sx.load(model.save(tmp_path / "classes")), model, X)


def test_what_a_file_cannot_hold_is_said(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        sx.ShapeDictionaryClassifier().save(tmp_path / "none")
    model, _ = fit_classifier()
    model.classes_ = np.array([1, "a", None], dtype=object)
    with pytest.raises(ModelFileError, match="use text or numbers as labels"):
        model.save(tmp_path / "none")
    model = sx.ShapeDictionaryClassifier(3, 2, space=sx.BasisSpace(FOURIER), tol=1e-2, random_state=0)
    model.fit(make_classes()[:, :5], np.arange(45) % 3)
    with pytest.raises(ModelFileError, match="holds functions"):
        model.save(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_hundreds_of_classes_fit_in_a_header(tmp_path):
    model, _ = fit_classifier()
    model.classes_ = np.arange(200)
    model.temperatures_, model.offsets_ = np.ones(200), np.zeros(200)
    model.dictionaries_ = [model.dictionaries_[number % 3] for number in range(200)]
    assert len(sx.load(model.save(tmp_path / "many")).dictionaries_) == 200


def _classifier_damages(model):
    def arrays(**changes):
        changed = {**model.arrays, **changes}
        return {"arrays": {name: array for name, array in changed.items() if array is not None}}

    def results(**changes):
        return {"results": {**model.results, **changes}}

    def parameters(**changes):
        return {"parameters": {**model.parameters, **changes}}

    atoms, described = model.arrays["class1_atoms_"], model.results["dictionaries"]
    yield "no labels", arrays(classes_=None)
    yield "labels out of order", arrays(classes_=model.arrays["classes_"][::-1])
    yield "a label twice", arrays(classes_=np.array(["a", "a", "b"]))
    yield "labels in a table", arrays(classes_=np.array([["a", "b", "c"]]))
    yield "complex labels", arrays(classes_=np.arange(3) + 0j)
    yield "fewer labels", arrays(classes_=model.arrays["classes_"][:2])
    yield "no class", arrays(classes_=model.arrays["classes_"][:0]) | results(dictionaries=[])
    yield "no temperatures", arrays(temperatures_=None)
    yield "negative temperatures", arrays(temperatures_=-np.ones(3))
    yield "fewer offsets", arrays(offsets_=np.zeros(2))
    yield "infinite offsets", arrays(offsets_=np.full(3, np.inf))
    yield "more arrays", arrays(more=np.ones(2))
    yield "more arrays of a class", arrays(class1_more=np.ones(2))
    yield "one class more", arrays(class3_atoms_=atoms)
    yield "no atoms", arrays(class1_atoms_=None)
    yield "fewer atoms", arrays(class1_atoms_=atoms[:-1])
    yield "collapsed atoms", arrays(class1_atoms_=np.ones_like(atoms))
    yield "atoms that are not finite", arrays(class1_atoms_=np.full_like(atoms, np.nan))
    yield "a product of another size", arrays(metric_space_gram=np.eye(5), metric_space_shift=np.ones(5))
    yield "a product that is none", arrays(metric_space_gram=-model.arrays["metric_space_gram"])
    yield "no product", arrays(metric_space_gram=None)
    yield "an unknown product", results(metric={"type": "Evil"})
    yield "a product that is text", results(metric="evil")
    yield "no results", {"results": {}}
    yield "fewer dictionaries", results(dictionaries=described[:2])
    yield "dictionaries by name", results(dictionaries={"0": described[0]})
    yield "dictionaries that are text", results(dictionaries=["a", "b", "c"])
    yield "dictionaries without parameters", results(dictionaries=[{}, {}, {}])
    yield "no shrinkage", results(shrinkage_=0.0)
    yield "infinite temperature", results(temperature_=float("inf"))
    yield "unknown parameter", parameters(evil=1)
    yield "space as parameter", parameters(space=None)
    yield "more nonzero than atoms", parameters(n_nonzero=50)
    yield "one fold", parameters(cv=1)
    yield "negative temperature", parameters(temperature=-1)
    yield "unknown shrinkage", parameters(shrinkage="evil")
