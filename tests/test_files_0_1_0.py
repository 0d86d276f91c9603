"""Files written by version 0.1.0; ``files_0_1_0/README.md`` says how they were made."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CheckpointError, PreparationWarning, RemovedParameterWarning
from shapelex.files.code_files import read_code_errors

FILES = Path(__file__).parent / "files_0_1_0"
REMOVED = {"ShapeDictionary": "update='ksvd', checkpoint_every=2", "ShapeDictionaryClassifier": "update='mod'"}
EXPECTED = json.loads((FILES / "expected.json").read_text())


@pytest.fixture(scope="module")
def shapes():
    return sx.read(FILES / "shapes.npz")


def test_shape_set(shapes):
    assert len(shapes) == 24
    assert shapes.space == sx.Landmarks(8, closed=True)
    assert list(shapes.ids[:2]) == ["cell 0", "cell 1"]
    assert list(shapes.labels[:2]) == ["a", "b"]


def load(kind):
    """Load a model; exactly one warning names the parameters that were removed since."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = sx.load(FILES / f"{kind}.npz")
    assert [warning.category for warning in caught] == [RemovedParameterWarning] * (kind in REMOVED)
    for warning in caught:
        assert REMOVED[kind] in str(warning.message)
        assert warning.filename == __file__
    return model


@pytest.mark.parametrize("kind", EXPECTED)
def test_model(kind, shapes, tmp_path):
    model = load(kind)
    assert type(model).__name__ == kind
    method = {"ShapeDictionaryClassifier": "predict", "ProcrustesKernel": "transform"}.get(kind, "errors")
    with pytest.warns(PreparationWarning, match="does not record") as caught:
        found = getattr(model, method)(shapes)
    assert len(caught) == 1
    if kind == "ShapeDictionaryClassifier":
        assert list(found) == EXPECTED[kind]
    elif kind == "ProcrustesKernel":
        np.testing.assert_allclose(np.abs(found).sum(axis=1), EXPECTED[kind], rtol=1e-9)
    else:
        np.testing.assert_allclose(found, EXPECTED[kind], rtol=1e-9)
    sx.load(model.save(tmp_path / "again.npz"))  # without a warning


def test_old_parameters_without_meaning_are_left_out():
    for model in (load("ShapeDictionary"), *load("ShapeDictionaryClassifier").dictionaries_):
        assert model.init == "auto"
        assert not model.nested
        assert not model.tie
        assert model.effort >= 1


def test_a_loaded_dictionary_learns_on(shapes):
    model = load("ShapeDictionary")
    assert model.partial_fit(shapes.configurations).n_iter_ == 4


def test_checkpoint_is_refused_by_name(shapes, tmp_path):
    path = tmp_path / "fit.checkpoint"
    path.write_bytes((FILES / "fit.checkpoint").read_bytes())
    model = sx.ShapeDictionary(4, 2, checkpoint=path, space=shapes.space, max_iter=3, random_state=0)
    with pytest.raises(CheckpointError, match=r"written by shapelex 0\.1\.0, .* remove the file to start again"):
        model.fit(shapes)


def test_codes(shapes):
    model = load("ShapeDictionary")
    found = sx.read_codes(FILES / "codes.npz")
    codes, columns = found.codes, found.columns
    again = model.encode(shapes.configurations)
    np.testing.assert_array_equal(codes.support, again.support)
    np.testing.assert_allclose(codes.coefs, again.coefs, atol=1e-9)
    np.testing.assert_allclose(found.errors, EXPECTED["ShapeDictionary"], rtol=1e-9)
    assert list(columns["id"]) == list(shapes.ids)
    np.testing.assert_allclose(read_code_errors(FILES / "codes.csv"), EXPECTED["ShapeDictionary"], rtol=1e-9)


def test_codes_in_parquet():
    codes, errors = sx.read_codes(FILES / "codes.parquet")
    assert codes == sx.read_codes(FILES / "codes.npz").codes
    np.testing.assert_allclose(errors, EXPECTED["ShapeDictionary"], rtol=1e-9)
