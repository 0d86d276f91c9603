"""Dictionaries and codes of Dask arrays and of files in chunks are those of arrays in memory."""

import pickle

import dask
import dask.array as da
import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import (
    ArrayTypeError,
    CheckpointError,
    CoordinateCountError,
    DeviceError,
    EmptySetError,
    RealLayoutError,
    ShapeFileError,
)
from shapelex.learning import descent
from tests.rounding import assert_close_codes


def make_shapes(n_shapes=240, n_points=7, dtype=complex):
    rng = np.random.default_rng(5)
    atoms, noise = (rng.normal(size=(rows, n_points, 2)) @ [1, 1j] for rows in (6, n_shapes))
    weights = rng.normal(size=(n_shapes, 6)) * (rng.random((n_shapes, 6)) < 0.4) + 0.1
    return (weights @ atoms + 0.1 * noise).astype(dtype)


def make_lazy(X=None, n_rows=50):
    return da.from_array(make_shapes() if X is None else X, chunks={0: n_rows})


def make_model(**changes):
    options = {"n_atoms": 5, "n_nonzero": 2, "max_iter": 6, "tol": 0, "random_state": 0}
    return sx.ShapeDictionary(**options | changes)


def assert_close_fit(ours, theirs, tolerance=1e-9):
    for name in ("atoms_", "usage_", "loss_curve_", "rmse_", "n_iter_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=0, atol=tolerance)


@pytest.mark.parametrize("init", ["auto", "random"])
@pytest.mark.parametrize(
    ("chunks", "changes"),
    [
        ((240, 7), {}),
        ((17, 3), {"coder": "ormp", "space": sx.BSpline(7)}),
        (((1, 0, 200, 39), 7), {"distance": "partial"}),
    ],
    ids=["one chunk", "small chunks", "an empty chunk"],
)
def test_fits_are_those_in_memory(chunks, changes, init, monkeypatch):
    # The last passes of the default learner are then over more shapes than the sample has.
    monkeypatch.setattr(descent, "SAMPLE_ROWS", 120)
    X, changes = make_shapes(), {**changes, "init": init}
    assert_close_fit(make_model(**changes).fit(da.from_array(X, chunks=chunks)), make_model(**changes).fit(X))


def test_fits_do_not_depend_on_the_scheduler():
    atoms = []
    for options in ({"scheduler": "threads"}, {"scheduler": "sync"}, {"scheduler": "threads", "num_workers": 1}):
        with dask.config.set(**options):
            atoms.append(make_model(coder="ormp", init="random").fit(make_lazy()).atoms_)
    np.testing.assert_array_equal(atoms[1:], atoms[:1] * 2)


def test_only_few_rows_come_here(monkeypatch):
    X = make_lazy(make_shapes(8000), 500)
    sizes = []
    compute = dask.compute

    def weigh(*arguments, **options):
        results = compute(*arguments, **options)
        sizes.append(sum(len(pickle.dumps(result)) for result in results))
        return results

    monkeypatch.setattr(dask, "compute", weigh)
    make_model(coder="ormp", init=make_shapes(5)).fit(X)
    # But for the sample of 4,000 shapes from which stability_ is computed.
    *others, sample = sorted(sizes)
    assert others[-1] < 20_000 < sample < X.nbytes


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_codes_are_lazy_and_have_the_chunks_of_the_shapes(dtype):
    X = make_shapes(dtype=dtype)
    lazy = make_lazy(X, 100)
    model = make_model(coder="ormp").fit(X)
    codes, here = model.encode(lazy), model.encode(X)
    assert_close_codes(codes.compute(), here, 1e-5 if dtype == np.complex64 else 1e-10)
    assert len(codes) == 240
    results = {
        "support": (codes.support, here.support),
        "coefs": (codes.coefs, here.coefs),
        "transform": (model.transform(lazy), model.transform(X)),
        "errors": (model.errors(lazy), model.errors(X)),
        "reconstruct": (model.reconstruct(lazy), model.reconstruct(X)),
    }
    for name, (ours, expected) in results.items():
        assert isinstance(ours, da.Array), name
        assert ours.chunks[0] == (100, 100, 40), name
        assert ours.dtype == ours._meta.dtype == expected.dtype, name
        assert ours.shape == expected.shape, name
        np.testing.assert_allclose(ours.compute(), expected, atol=1e-5 if dtype == np.complex64 else 1e-12)
    assert model.score(lazy) == pytest.approx(model.score(X), abs=1e-6)
    np.testing.assert_allclose(model.realism(lazy), model.realism(X), atol=1e-6)


def test_unknown_chunk_sizes_are_found_out():
    X = make_shapes()
    lazy = make_lazy(X, 60)
    some = lazy[lazy[:, 0].real > 0]
    assert np.isnan(some.shape[0])
    assert_close_fit(make_model(coder="ormp").fit(some), make_model(coder="ormp").fit(X[X[:, 0].real > 0]))


@pytest.mark.parametrize(
    ("X", "changes", "error"),
    [
        (da.ones((30, 8)), {}, RealLayoutError),
        (da.ones((0, 8), dtype=complex), {}, EmptySetError),
        (da.ones((30, 7), dtype=complex), {"space": sx.BSpline(9)}, CoordinateCountError),
        (dask.delayed(np.ones((30, 7), dtype=complex))(), {}, ArrayTypeError),
    ],
)
def test_what_does_not_fit_is_refused(X, changes, error):
    with pytest.raises(error):
        make_model(**changes).fit(X)


def test_bad_options_are_refused_before_anything_is_computed():
    X = make_lazy(n_rows=100)
    model = make_model().fit(X).set_params(n_nonzero=99)
    for method in (model.encode, model.errors, model.reconstruct):
        with pytest.raises(ValueError, match=r"n_nonzero.*n_atoms"):
            method(X)
    with pytest.raises(ValueError, match="n_threads"):
        sx.encode(X, model.atoms_, 1, n_threads=0)
    with pytest.raises(DeviceError, match="xpu:99"):
        sx.encode(X, model.atoms_, 1, device="xpu:99").compute()


def test_checkpoints_know_all_shapes(tmp_path):
    X = make_shapes()
    model = make_model(coder="ormp", checkpoint=tmp_path / "fit")
    atoms = model.fit(make_lazy(X)).atoms_
    np.testing.assert_array_equal(model.fit(make_lazy(X)).atoms_, atoms)
    X[50] += 1j * X[51]
    with pytest.raises(CheckpointError, match="shapes"):
        model.fit(make_lazy(X))


@pytest.mark.parametrize("is_real", [False, True])
def test_a_set_over_a_dask_array_stays_there(is_real):
    X = make_shapes()
    space = sx.Landmarks(X.shape[1], closed=True)
    shapes = sx.ShapeSet(make_lazy(sx.to_points(X) if is_real else X), space, labels=["a"] * len(X))
    assert isinstance(shapes.configurations, da.Array)
    assert len(shapes) == len(X)
    model = make_model(coder="ormp", max_iter=3).fit(shapes)
    assert model.space_ == space
    assert isinstance(model.transform(shapes), da.Array)
    np.testing.assert_allclose(model.errors(shapes).compute(), model.errors(X), atol=1e-9)
    with pytest.raises(CoordinateCountError):
        sx.ShapeSet(make_lazy(), sx.Landmarks(9))


def test_batches_compute_every_chunk_once_an_epoch():
    counts = []

    def count(block):
        counts.append(len(block))
        return block

    X = make_lazy().map_blocks(count, dtype=complex, meta=np.empty((0, 7), complex))
    totals = []
    for n_epochs in (2, 3):
        counts.clear()
        make_model(coder="ormp", batch_size=13, max_iter=n_epochs).fit(X)
        totals.append(sum(counts))
    assert totals[1] - totals[0] == len(make_shapes())


@pytest.mark.parametrize("name", ["a.npz", "a.zarr", "a.npy"])
def test_files_in_chunks(tmp_path, name):
    shapes = sx.ShapeSet(make_shapes(2000), sx.Landmarks(7, closed=name != "a.npy"))
    path = tmp_path / name
    if name == "a.npy":
        np.save(path, shapes.configurations)
    else:
        sx.write(shapes, path)
    found = sx.open_shapes(path, chunks=300)
    X = found.configurations
    assert isinstance(found, sx.ShapeSet)
    assert isinstance(X, da.Array)
    assert (len(found), found.space, X.dtype) == (2000, shapes.space, shapes.configurations.dtype)
    np.testing.assert_array_equal(X.compute(scheduler="sync"), shapes.configurations)
    np.testing.assert_array_equal(X[700:703, 2].compute(scheduler="sync"), shapes.configurations[700:703, 2])
    # Only the path travels.
    assert len(pickle.dumps(X)) < 20_000 < shapes.configurations.nbytes
    model = make_model(coder="ormp", max_iter=3).fit(found)
    assert model.space_ == shapes.space
    np.testing.assert_allclose(model.atoms_, make_model(coder="ormp", max_iter=3).fit(shapes).atoms_, atol=1e-9)


def test_chunks_are_whole_chunks_of_the_file(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(tmp_path / "a.zarr"), shape=(100, 4), chunks=(16, 4), dtype="complex128")
    array[:] = np.arange(400).reshape(100, 4)
    X = sx.open_shapes(tmp_path / "a.zarr", chunks=30).configurations
    assert X.chunks == ((32, 32, 32, 4), (4,))
    np.testing.assert_array_equal(X.compute(), array[:])


def test_a_file_that_changed_is_another_array(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 3), dtype=complex))
    first = sx.open_shapes(tmp_path / "a.npy", chunks=9).configurations
    (tmp_path / "a.npy").unlink()
    np.save(tmp_path / "a.npy", np.zeros((4, 3), dtype=complex))
    second = sx.open_shapes(tmp_path / "a.npy", chunks=9).configurations
    assert first.name != second.name
    assert second.sum().compute() == 0


def test_files_without_chunks_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        sx.open_shapes(tmp_path / "none.npz", chunks=9)
    (tmp_path / "a.tps").write_text("LM=3\n0 0\n1 0\n0 1\n")
    with pytest.raises(ShapeFileError, match="read whole"):
        sx.open_shapes(tmp_path / "a.tps", chunks=9)
    np.save(tmp_path / "a.npy", np.ones((4, 3), dtype=complex))
    with pytest.raises(ValueError, match="chunks"):
        sx.open_shapes(tmp_path / "a.npy", chunks=0)
    with pytest.raises(AttributeError, match="open_shapes"):
        sx.distributed  # noqa: B018
