"""Model files: round trips, and files that are damaged or mean harm."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ModelFileError
from tests.conftest import FOURIER, custom_space
from tests.io.conftest import check_refused

SPACES = [
    None,
    sx.Landmarks(6, closed=True),
    sx.BSpline(6),
    sx.BSpline(6, degree=2, closed=False),
    sx.HermiteSpline(3),
    custom_space(6),
]


def fit(space=None, dtype=complex, **parameters):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 6)) + 1j * rng.normal(size=(30, 6))).astype(dtype)
    settings = {"n_atoms": 4, "n_nonzero": 2, "max_iter": 3, "random_state": 0} | parameters
    return sx.ShapeDictionary(space=space, **settings).fit(X), X


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return fit()[0].save(tmp_path_factory.mktemp("models") / "model")


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_round_trip(space, tmp_path):
    for dtype in (np.complex64, np.complex128):
        model, X = fit(space, dtype)
        path = model.save(tmp_path / "worms", overwrite=True)
        assert path.name == "worms.npz"
        copy = sx.load(str(path))
        assert copy.get_params() == model.get_params()
        assert copy.space_ == model.space_
        for name in ("atoms_", "usage_", "loss_curve_", "rmse_", "n_iter_", "n_features_in_"):
            np.testing.assert_array_equal(getattr(copy, name), getattr(model, name))
        np.testing.assert_array_equal(copy.transform(X), model.transform(X))


def test_parameters_that_are_arrays_or_generators(tmp_path):
    _, X = fit()
    model, _ = fit(init=X[:4], random_state=np.random.default_rng(0), tol=np.float64(0.1), n_atoms=np.int64(4))
    copy = sx.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(copy.init, X[:4])
    assert copy.random_state is None
    assert copy.n_atoms == 4


def test_functions_cannot_be_saved(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 5, 2)) @ [1, 1j]
    model = sx.ShapeDictionary(4, 2, space=sx.BasisSpace(FOURIER), max_iter=1).fit(X)
    words = "holds functions, which no file of data can hold; pickle the estimator"
    check_refused(words, model.save, tmp_path / "model", error=ModelFileError)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_loses_nothing(saved, tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    path.write_bytes(saved.read_bytes())

    def full_disk(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shapelex.files.archive.np.savez", full_disk)
    check_refused("No space left", sx.load(saved).save, path, overwrite=True, error=OSError)
    assert path.read_bytes() == saved.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["model.npz"]


def test_an_existing_file_is_replaced_only_when_told_to(tmp_path):
    model, old = fit()[0], os.umask(0o022)
    try:
        path = model.save(tmp_path / "model")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o644
    before = path.read_bytes()
    model.set_params(n_jobs=1)
    check_refused(r"model\.npz exists already: give overwrite=True", model.save, path, error=FileExistsError)
    assert path.read_bytes() == before
    assert sx.load(model.save(path, overwrite=True)).n_jobs == 1
    words = "overwrite must be True or False, got 'yes'"
    check_refused(words, model.save, path, overwrite="yes", error=TypeError)


def rewrite(saved, tmp_path, change, compression=zipfile.ZIP_STORED):
    """Write a model file whose members went through `change`."""
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    path = tmp_path / "changed.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def change_header(members, results=None, **changes):
    header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes()) | changes
    if results is not None:
        header["results"] = header["results"] | results if results else {}
    header = {name: value for name, value in header.items() if value is not None}
    members["header.npy"] = npy(np.frombuffer(json.dumps(header).encode(), np.uint8))


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def arrays(**changed):
    return lambda members: members.update({f"{name}.npy": npy(array) for name, array in changed.items()})


def header(**changes):
    return lambda members: change_header(members, **changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (header(version=2), "format version 2, this shapelex reads up to 1: upgrade"),
        (header(version="1"), "its version is '1'"),
        (header(format="pickle"), "another kind"),
        (header(kind="os.system"), "holds a 'os.system'"),
        (header(kind=None), "header is incomplete"),
        (header(parameters=[1]), "header is incomplete"),
        (header(parameters={"n_atoms": 4, "code": "x"}), "damaged"),
        (header(parameters={"n_atoms": 5}), r"atoms_ must be complex \(n_atoms=5, .*got .* \(4, 6\)"),
        (header(parameters={"n_atoms": 4, "n_nonzero": 99}), "n_nonzero"),
        (header(parameters={"n_atoms": 4, "n_nonzero": 2, "coder": "evil"}), "coder"),
        (header(parameters={"n_atoms": 4, "n_nonzero": 2, "space": 5}), "not a parameter"),
        (header(space={"type": "Landmarks", "n_points": 7}), "n_coordinates=7"),
        (header(space={"type": "Landmarks", "n_points": -1}), "space cannot be built"),
        (header(space={"type": "Space"}), "does not know"),
        (header(space={"type": "BSpline", "n_points": 6, "degree": 100_000}), "cannot be built"),
        (header(results={}), "damaged"),
        (header(results={"n_iter_": float("inf")}), "damaged"),
        (header(results={"rmse_": float("nan")}), "rmse_ must be a finite number, got nan"),
        (header(results={"n_features_in_": 7}), "n_features_in_ must be 6, got 7"),
        (arrays(usage_=np.full(4, np.nan)), "usage_ must be finite"),
        (arrays(loss_curve_=np.array([b"x"])), "loss_curve_ must be float"),
        (arrays(atoms_=np.zeros((4, 6), complex)), "collapsed"),
        (arrays(atoms_=np.full((4, 6), np.nan + 0j)), "NaN"),
        (arrays(atoms_=np.ones((4, 6))), "atoms_ must be complex"),
        (arrays(memory_gram=np.zeros((3, 3), complex)), r"memory_gram must be .*n_atoms=4"),
        (arrays(extra=np.ones(3)), "its header names"),
        (arrays(header=np.frombuffer(b"{not json", np.uint8)), "not JSON"),
        (arrays(header=np.frombuffer(b"[" * 100_000, np.uint8)), "not JSON"),
        (lambda m: m.pop("header.npy"), "no header"),
        (lambda m: m.pop("atoms_.npy"), "its header names"),
        (lambda m: m.update({"atoms_.npy": m["atoms_.npy"][:-8]}), "does not fit|shorter or longer"),
        (lambda m: m.update({"atoms_.npy": m["atoms_.npy"] + b"more"}), "shorter or longer"),
        (lambda m: m.update({"atoms_.npy": npy(np.array([{}]), allow_pickle=True)}), "objects"),
        (lambda m: m.update({"atoms_.npy": m["atoms_.npy"].replace(b"(4, 6)", b"(4, 6000000000)"[:6])}), "damaged"),
        (lambda m: m.update({"atoms_.npy": b"garbage"}), "damaged"),
    ],
)
def test_changed_files_are_refused(saved, tmp_path, change, message):
    check_refused(message, sx.load, rewrite(saved, tmp_path, change), error=ModelFileError)


def test_compressed_members_are_refused(saved, tmp_path):
    bomb = rewrite(saved, tmp_path, arrays(atoms_=np.zeros((4, 2_000_000), complex)), zipfile.ZIP_DEFLATED)
    check_refused("declares more data than it holds", sx.load, bomb, error=ModelFileError)


def test_other_files_are_refused(tmp_path):
    for name, content in (("a.npz", b""), ("b.npz", b"PK\x03\x04"), ("c.npz", b"\x93NUMPY"), ("d.csv", b"1,2,3")):
        path = tmp_path / name
        path.write_bytes(content)
        check_refused("is damaged or no model file", sx.load, path, error=ModelFileError)
    np.savez(tmp_path / "plain.npz", a=np.ones(3))
    check_refused("no header", sx.load, tmp_path / "plain.npz", error=ModelFileError)


def test_a_file_cannot_name_a_checkpoint_to_write(saved, tmp_path):
    parameters = {"n_atoms": 4, "n_nonzero": 2, "checkpoint": str(tmp_path / "evil")}
    assert sx.load(rewrite(saved, tmp_path, header(parameters=parameters))).checkpoint is None


@pytest.mark.parametrize("estimator", [sx.ComplexPCA(2, subtract_average=True), sx.ComplexPCA(2), sx.TangentPCA(2)])
def test_modes_of_another_norm(tmp_path, estimator):
    _, X = fit()
    path = estimator.fit(X).save(tmp_path / "modes.npz")
    assert np.isfinite(sx.load(path).transform(X)).all()
    for factor in (0.5, 1e200, 1e308):
        changed = rewrite(path, tmp_path, arrays(components_=estimator.components_ * factor))
        check_refused("is damaged", sx.load, changed, error=ModelFileError)
