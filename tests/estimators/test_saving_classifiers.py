"""Model files of classifiers: the same predictions after a round trip, and files that are damaged or mean harm."""

import dataclasses

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ModelFileError
from shapelex.files.model_file import read_model, write_model
from tests.conftest import FOURIER, custom_space

LABELS = {
    "text": np.array(["round", "long", "größer"]),
    "objects": np.array(["round", "long", "größer"], dtype=object),
    "integers": np.array([3, -1, 7]),
    "flags": np.array([True, False, True]),
}


def make_shapes(n_shapes=45, seed=3):
    rng = np.random.default_rng(seed)
    circle = np.exp(2j * np.pi * np.arange(6) / 6)
    X = circle + 0.2 * (rng.normal(size=(n_shapes, 6)) + 1j * rng.normal(size=(n_shapes, 6)))
    return X + np.linspace(0, 0.6, 3)[np.arange(n_shapes) % 3, None] * circle**-1


def fit(labels="text", dtype=complex, **options):
    X = make_shapes().astype(dtype)
    model = sx.ShapeDictionaryClassifier(**{"n_atoms": 3, "n_nonzero": 2, "tol": 1e-2, "random_state": 0} | options)
    return model.fit(X, LABELS[labels][np.arange(len(X)) % 3]), make_shapes(20, seed=4).astype(dtype)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return fit()[0].save(tmp_path_factory.mktemp("models") / "classifier")


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
    model, X = fit(**options)
    back = sx.load(model.save(tmp_path / "classes"))
    assert_same(back, model, X)
    assert back.dictionaries_[0].atoms_.dtype == model.dictionaries_[0].atoms_.dtype
    assert (back.metric_space_ is back.space_) == (model.metric_space_ is model.space_)


def test_what_was_changed_since_the_fit_comes_back(tmp_path):
    model, X = fit()
    model.set_params(n_atoms=9, n_nonzero=4)
    model.dictionaries_[1].set_params(n_nonzero=1)
    assert_same(sx.load(model.save(tmp_path / "classes")), model, X)


def test_what_a_file_cannot_hold_is_said(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        sx.ShapeDictionaryClassifier().save(tmp_path / "none")
    model, _ = fit()
    model.classes_ = np.array([1, "a", None], dtype=object)
    with pytest.raises(ModelFileError, match="use text or numbers as labels"):
        model.save(tmp_path / "none")
    model = sx.ShapeDictionaryClassifier(3, 2, space=sx.BasisSpace(FOURIER), tol=1e-2, random_state=0)
    model.fit(make_shapes()[:, :5], np.arange(45) % 3)
    with pytest.raises(ModelFileError, match="holds functions"):
        model.save(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_hundreds_of_classes_fit_in_a_header(tmp_path):
    model, _ = fit()
    model.classes_ = np.arange(200)
    model.temperatures_, model.offsets_ = np.ones(200), np.zeros(200)
    model.dictionaries_ = [model.dictionaries_[number % 3] for number in range(200)]
    assert len(sx.load(model.save(tmp_path / "many")).dictionaries_) == 200


def _damages(model):
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


def test_damaged_files_are_told(saved, tmp_path):
    model = read_model(saved)
    for what, change in _damages(model):
        path = write_model(tmp_path / "damaged", dataclasses.replace(model, **change))
        with pytest.raises(ModelFileError, match="is damaged"):
            pytest.fail(f"{what} was taken: {sx.load(path)}")
