"""Dask arrays over files: chunks are read by those who need them, and only paths travel."""

import pickle

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ShapeFileError

pytest.importorskip("dask")
pytest.importorskip("zarr")


def make_set():
    rows = np.random.default_rng(0).normal(size=(2000, 6, 2))
    return sx.ShapeSet(rows, sx.Landmarks(6, closed=True))


@pytest.mark.parametrize("name", ["a.npz", "a.zarr", "a.npy"])
def test_the_array_is_what_the_file_holds(tmp_path, name):
    shapes = make_set()
    if name == "a.npy":
        np.save(tmp_path / name, shapes.configurations)
    else:
        sx.write(shapes, tmp_path / name)
    found = sx.distributed.from_file(tmp_path / name, chunk_rows=300)
    assert len(found) == 2000
    assert found.space == (sx.Landmarks(6) if name == "a.npy" else shapes.space)
    X = found.configurations
    assert X.dtype == shapes.configurations.dtype
    assert sum(X.chunks[0]) == 2000
    np.testing.assert_array_equal(X.compute(scheduler="sync"), shapes.configurations)
    np.testing.assert_array_equal(X[700:703, 2].compute(scheduler="sync"), shapes.configurations[700:703, 2])
    # The 192 kB of the shapes stay where they are.
    assert len(pickle.dumps(found)) < 20_000


def test_chunks_are_whole_chunks_of_the_file(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(tmp_path / "a.zarr"), shape=(100, 4), chunks=(16, 4), dtype="complex128")
    array[:] = np.arange(400).reshape(100, 4)
    X = sx.distributed.from_file(tmp_path / "a.zarr", chunk_rows=30).configurations
    assert X.chunks == ((32, 32, 32, 4), (4,))
    np.testing.assert_array_equal(X.compute(), array[:])


def test_a_file_that_changed_is_another_array(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 3), dtype=complex))
    first = sx.distributed.from_file(tmp_path / "a.npy").configurations
    (tmp_path / "a.npy").unlink()
    np.save(tmp_path / "a.npy", np.zeros((4, 3), dtype=complex))
    second = sx.distributed.from_file(tmp_path / "a.npy").configurations
    assert first.name != second.name
    assert second.sum().compute() == 0


def test_the_same_dictionary_as_in_memory(tmp_path):
    shapes = make_set()
    learn = {"n_atoms": 5, "n_nonzero": 2, "coder": "ormp", "tol": 0.3, "random_state": 0}
    X = sx.distributed.from_file(sx.write(shapes, tmp_path / "a.npz"), chunk_rows=700)
    model = sx.ShapeDictionary(**learn).fit(X)
    assert model.space_ == shapes.space
    np.testing.assert_allclose(model.atoms_, sx.ShapeDictionary(**learn).fit(shapes).atoms_, atol=1e-9)


def test_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        sx.distributed.from_file(tmp_path / "none.npz")
    (tmp_path / "a.tps").write_text("LM=3\n0 0\n1 0\n0 1\n")
    with pytest.raises(ShapeFileError, match="read whole"):
        sx.distributed.from_file(tmp_path / "a.tps")
    np.save(tmp_path / "a.npy", np.ones((4, 3), dtype=complex))
    with pytest.raises(ValueError, match="chunk_rows"):
        sx.distributed.from_file(tmp_path / "a.npy", chunk_rows=0)
