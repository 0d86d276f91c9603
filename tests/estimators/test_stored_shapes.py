"""The dictionary learns from files and blocks what it learns from arrays."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CodesError, CollapsedShapeError
from shapelex.files import read_codes
from shapelex.learning import descent, one_pass
from shapelex.shapes import storage
from tests.devices import on_all_devices
from tests.rounding import assert_close, assert_close_codes, assert_close_fits
from tests.shapes.test_stored import KINDS, Recorder, make_shapes


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Many blocks of few shapes, and more shapes than a sample has."""
    for module in (storage, one_pass):
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    monkeypatch.setattr(descent, "SAMPLE_ROWS", 150)


@pytest.fixture(scope="module")
def shapes():
    rng = np.random.default_rng(5)
    atoms = make_shapes(6, 7, seed=6)
    weights = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.4) + 0.1
    return weights @ atoms + 0.02 * make_shapes(300, 7, seed=7)


def make_model(**changes):
    options = {"n_atoms": 5, "n_nonzero": 2, "coder": "ormp", "n_swaps": 0, "max_iter": 6, "tol": 0, "random_state": 0}
    return sx.ShapeDictionary(**options | changes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"coder": "auto"}, {"init": "random"}], ids=str)
def test_fits_are_those_in_memory(kind, options, shapes, tmp_path):
    stored = KINDS[kind](shapes, tmp_path)
    ours, theirs = (make_model(space=sx.BSpline(7), **options).fit(X) for X in (stored, shapes))
    assert_close_fits(ours, theirs)
    assert_close_codes(ours.encode(stored), theirs.encode(shapes))


def test_a_bad_shape_leaves_no_file_of_codes(shapes, tmp_path):
    bad = shapes.copy()
    bad[203] = 3
    with pytest.raises(CollapsedShapeError, match=r"in row 203"):
        make_model(tol=1).fit(shapes).encode_to(KINDS["memmap"](bad, tmp_path), tmp_path / "codes.parquet")
    assert [path.name for path in tmp_path.iterdir() if "codes" in path.name] == []


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("ending", ["zarr", "parquet", "npz"])
def test_codes_go_to_files(ending, dtype, shapes, tmp_path, monkeypatch):
    monkeypatch.setattr("shapelex.files.code_files._GROUP_ROWS", 100)
    X = shapes.astype(dtype)
    model = make_model(tol=1).fit(X)
    path = tmp_path / f"codes.{ending}"
    for overwrite in (False, True):
        assert model.encode_to(KINDS["memmap"](X, tmp_path), path, overwrite=overwrite) == path
        codes, errors = read_codes(path)
        tolerance = 1e-5 if dtype == np.complex64 else 1e-10
        assert_close_codes(codes, model.encode(X), tolerance)
        assert codes.coefs.dtype == dtype
        assert_close(errors, model.errors(X), tolerance)
    with pytest.raises(FileExistsError, match="give overwrite=True to replace it"):
        model.encode_to(X, path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [f"codes.{ending}", "shapes.npy"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "parquet", "npz", "zarr"])
def test_codes_of_a_set_have_the_table_of_the_command(ending, shapes, tmp_path):
    model = make_model(tol=1).fit(shapes)
    labels = np.where(np.arange(len(shapes)) % 2, "b", "a")
    known = sx.ShapeSet(shapes, labels=labels, metadata={"area": np.arange(len(shapes)) / 4})
    path = model.encode_to(known, tmp_path / f"codes.{ending}")
    found = read_codes(path)
    assert_close_codes(found.codes, model.encode(shapes))
    assert_close(found.errors, model.errors(shapes))
    assert list(found.columns) == ["id", "label", "area"]
    np.testing.assert_array_equal(found.columns["id"], known.ids)
    np.testing.assert_array_equal(found.columns["label"], labels)
    np.testing.assert_array_equal(found.columns["area"], known.metadata["area"])
    if ending == "parquet":
        import pyarrow.parquet as parquet

        assert {"id", "area", "error", "n_used", "n_atoms", "atom_1", "modulus_1", "angle_2"} <= set(
            parquet.read_schema(path).names
        )


def test_files_of_codes_have_known_endings(shapes, tmp_path):
    model = make_model(tol=1).fit(shapes)
    with pytest.raises(CodesError, match=r"must end in .* \.npz or \.zarr, got"):
        model.encode_to(shapes, tmp_path / "codes.txt")
    with pytest.raises(FileNotFoundError, match="no folder"):
        model.encode_to(shapes, tmp_path / "missing" / "codes.zarr")
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(CodesError, match="cannot be read as codes: it has no columns id"):
        read_codes(tmp_path / "other.parquet")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(CodesError, match="cannot be read as codes: it has no header"):
        read_codes(tmp_path / "other.npz")
    (tmp_path / "codes.csv").write_text("id,error\n")
    with pytest.raises(CodesError, match=r"codes\.csv cannot be read as codes: it has no column n_used"):
        read_codes(tmp_path / "codes.csv")
    (tmp_path / "codes.txt").write_text("id,error\n")
    with pytest.raises(CodesError, match=r"must end in \.csv, \.tsv, \.xlsx, \.parquet, \.npz or \.zarr"):
        read_codes(tmp_path / "codes.txt")


@pytest.fixture
def _few_rows_travel(monkeypatch):
    # 64 rows of 7 coordinates in complex128.
    monkeypatch.setattr("shapelex.coding.torch.device_coder._TRAVEL_BYTES", 64 * 7 * 16)
    monkeypatch.setattr("shapelex.estimators.shape_dictionary._REALISM_BLOCK", 64)


def fit_classes(rows):
    return sx.ShapeDictionaryClassifier(3, 2, tol=1, random_state=0).fit(rows, np.arange(len(rows)) % 2)


USES = {
    "encode": lambda model, X, folder: model.encode(X),
    "transform": lambda model, X, folder: model.transform(X),
    "errors": lambda model, X, folder: model.errors(X),
    "reconstruct": lambda model, X, folder: model.reconstruct(X),
    "score": lambda model, X, folder: model.score(X),
    "realism": lambda model, X, folder: model.realism(X),
    "class_errors": lambda model, X, folder: fit_classes(X.rows).class_errors(X),
    "predict_proba": lambda model, X, folder: fit_classes(X.rows).predict_proba(X),
    "encode_to": lambda model, X, folder: model.encode_to(X, folder / "codes.parquet"),
    "features": lambda model, X, folder: sx.CodeFeatures(dictionary=make_model(tol=1)).fit(X).transform(X),
}


@pytest.mark.usefixtures("_few_rows_travel")
@on_all_devices
@pytest.mark.parametrize("use", USES)
def test_no_more_than_a_block_is_read(use, device, shapes, tmp_path):
    model = make_model(tol=1).fit(shapes).set_params(device=device)
    stored = Recorder(shapes)
    USES[use](model, stored, tmp_path)
    assert 1 < stored.most_rows <= 64
