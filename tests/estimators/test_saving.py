"""Model files of estimators, and what a failed refit leaves."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import clone

import shapelex as sx
from shapelex.exceptions import ModelFileError
from shapelex.files.model_file import read_model, write_model

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


def test_only_fitted_ones_are_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        sx.ComplexPCA().save(tmp_path / "none")


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


def test_damaged_files_are_told(fitted, tmp_path):
    model = read_model(fitted.save(tmp_path / "peer"))
    for what, change in _damages(model):
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
