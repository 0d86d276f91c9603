"""Classifiers in model files: the same predictions after a round trip, and damaged files."""

import json

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex.exceptions import ModelFileError
from shapelex.store.archive import read_archive, write_archive


def made(space, seed=0, n_each=8):
    rng = np.random.default_rng(seed)
    shape = (2, space.n_coordinates)
    means = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    y = np.repeat(["a", "b"], n_each)
    noise = rng.normal(size=(2 * n_each, shape[1])) + 1j * rng.normal(size=(2 * n_each, shape[1]))
    return means[np.repeat([0, 1], n_each)] + 0.4 * noise, y


@pytest.fixture(scope="module", params=[sx.Landmarks(6), sx.Landmarks(16, closed=True)], ids=["landmarks", "closed"])
def fitted(request):
    X, y = made(request.param)
    return sx.ShapeClassifier(space=request.param, random_state=0).fit(X, y), X


def test_a_loaded_classifier_is_the_same(fitted, tmp_path):
    model, X = fitted
    copy = sx.load(model.save(tmp_path / "c"))
    new, _ = made(model.space_, seed=1)
    for rows in (X, new):
        np.testing.assert_array_equal(copy.predict_proba(rows), model.predict_proba(rows))
    assert copy.candidates_ == model.candidates_
    np.testing.assert_array_equal(copy.weights_, model.weights_)
    np.testing.assert_array_equal(copy.classes_, model.classes_)
    pd.testing.assert_frame_equal(copy.scores_, model.scores_)
    assert str(copy.explain(new[0])) == str(model.explain(new[0]))


def change(member, value):
    def apply(header, arrays):
        header["results"]["members"][0][member] = value

    return apply


def drop_class(header, arrays):
    arrays["_numbers"][:] = 0


def far_sample(header, arrays):
    arrays["_sample"][-1] = 99


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change("method", "magic"), "its method 'magic'"),
        (change("view", "sideways"), "of 'sideways' is not known"),
        (change("setting", 0.123), "has no setting 0.123"),
        (change("weight", -1.0), "weights must not be negative"),
        (change("offsets", [1.0]), "2 finite numbers"),
        (change("scale", [1.0, -1.0]), "its scales must be positive"),
        (change("scale", None), "2 finite numbers"),
        (drop_class, "must be those of 2 classes"),
        (far_sample, "rows of 16 shapes"),
    ],
)
def test_damaged_files_are_refused(fitted, tmp_path, damage, message):
    model, _ = fitted
    path = model.save(tmp_path / "c.npz")
    header, arrays = read_archive(path)
    header, arrays = json.loads(json.dumps(header)), {name: array.copy() for name, array in arrays.items()}
    damage(header, arrays)
    with path.open("wb") as stream:
        write_archive(stream, header, arrays)
    with pytest.raises(ModelFileError, match=message):
        sx.load(path)
