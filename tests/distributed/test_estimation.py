"""Dictionaries of Dask arrays are those of arrays, on threads of this process."""

import pickle

import dask
import dask.array as da
import numpy as np
import pytest

import shapelex as sx
from shapelex.distributed import DaskCodes
from shapelex.exceptions import (
    ArrayTypeError,
    CheckpointError,
    CollapsedShapeError,
    CoordinateCountError,
    DeviceError,
    EmptySetError,
    NonFiniteError,
    RealLayoutError,
)
from shapelex.learning import device_passes
from shapelex.learning.sampling import shuffled_batches
from shapelex.shapes.opening import as_shapes
from tests.devices import on_devices
from tests.rounding import assert_close_codes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make_shapes(n_shapes=240, n_points=7, dtype=complex):
    rng = np.random.default_rng(5)
    atoms, noise = (
        rng.normal(size=(rows, n_points)) + 1j * rng.normal(size=(rows, n_points)) for rows in (6, n_shapes)
    )
    weights = rng.normal(size=(n_shapes, 6)) * (rng.random((n_shapes, 6)) < 0.4) + 0.1
    return (weights @ atoms + 0.1 * noise).astype(dtype)


def make_model(**changes):
    options = {"n_atoms": 5, "n_nonzero": 2, "max_iter": 6, "tol": 0, "random_state": 0}
    return sx.ShapeDictionary(**options | changes)


def assert_close_fit(ours, theirs, tolerance=1e-9):
    for name in ("atoms_", "usage_", "loss_curve_", "rmse_", "n_iter_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=0, atol=tolerance)


@pytest.mark.parametrize("chunks", [(240, 7), (100, 7), (17, 3), ((1, 0, 200, 39), 7)])
@pytest.mark.parametrize("changes", [{}, {"coder": "ormp", "space": sx.BSpline(7)}, {"distance": "partial"}])
def test_fits_are_those_in_memory(chunks, changes):
    X = make_shapes()
    model = make_model(**changes).fit(da.from_array(X, chunks=chunks))
    assert_close_fit(model, make_model(**changes).fit(X))


def test_fits_do_not_depend_on_the_scheduler():
    X = da.from_array(make_shapes(), chunks=(50, 7))
    models = []
    for options in ({"scheduler": "threads"}, {"scheduler": "sync"}, {"scheduler": "threads", "num_workers": 1}):
        with dask.config.set(**options):
            models.append(make_model(coder="ormp").fit(X))
    for model in models[1:]:
        np.testing.assert_array_equal(model.atoms_, models[0].atoms_)


def test_weights_and_points():
    points = np.random.default_rng(0).normal(size=(120, 6, 2)).astype(np.float32)
    weights = np.repeat([0.0, 1.0, 3.0], 40)
    model = make_model(coder="ormp").fit(da.from_array(points, chunks=(30, 6, 1)), sample_weight=weights)
    expected = make_model(coder="ormp").fit(points, sample_weight=weights)
    assert model.atoms_.dtype == np.complex64
    assert_close_fit(model, expected, 1e-5)


def test_only_few_rows_come_here():
    X = da.from_array(make_shapes(8000), chunks=(500, 7))
    sizes = []
    compute = dask.compute

    def weigh(*arguments, **options):
        results = compute(*arguments, **options)
        sizes.append(sum(len(pickle.dumps(result)) for result in results))
        return results

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask, "compute", weigh)
        make_model(coder="ormp", init=make_shapes(5)).fit(X)
    # But for the sample of 4,000 shapes from which stability_ is computed.
    *others, sample = sorted(sizes)
    assert others[-1] < 20_000 < sample < X.nbytes


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_codes_are_lazy_and_have_the_chunks_of_the_shapes(dtype):
    X = make_shapes(dtype=dtype)
    lazy = da.from_array(X, chunks=(100, 7))
    model = make_model(coder="ormp").fit(X)
    codes = model.encode(lazy)
    assert isinstance(codes, DaskCodes)
    assert_close_codes(codes.compute(), model.encode(X), 1e-5 if dtype == np.complex64 else 1e-10)
    assert len(codes) == 240
    results = {
        "support": (codes.support, model.encode(X).support),
        "coefs": (codes.coefs, model.encode(X).coefs),
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
    lazy = da.from_array(X, chunks=(60, 7))
    some = lazy[lazy[:, 0].real > 0]
    assert np.isnan(some.shape[0])
    assert_close_fit(make_model(coder="ormp").fit(some), make_model(coder="ormp").fit(X[X[:, 0].real > 0]))


@pytest.mark.parametrize(("value", "error"), [(np.nan, NonFiniteError), (2.0, CollapsedShapeError)])
def test_errors_name_rows_of_the_whole_set(value, error):
    X = make_shapes()
    X[203] = value
    lazy = da.from_array(X, chunks=(50, 7))
    with pytest.raises(error, match="in row 203"):
        make_model().fit(lazy)
    with pytest.raises(error, match="in row 203"):
        make_model(coder="ormp").fit(make_shapes()).transform(lazy).compute()


@pytest.mark.parametrize(
    ("X", "error"),
    [(da.ones((30, 8)), RealLayoutError), (da.ones((0, 8), dtype=complex), EmptySetError)],
)
def test_bad_arrays(X, error):
    with pytest.raises(error):
        make_model().fit(X)


def test_what_does_not_fit():
    lazy = da.from_array(make_shapes(), chunks=(50, 7))
    with pytest.raises(CoordinateCountError, match="7 coordinates"):
        make_model(space=sx.BSpline(9)).fit(lazy)
    with pytest.raises(ArrayTypeError, match="Dask array of shapes"):
        make_model().fit(dask.delayed(make_shapes)())


def test_bad_settings_are_refused_before_anything_is_computed():
    X = da.from_array(make_shapes(), chunks=(100, -1))
    model = make_model().fit(X).set_params(n_nonzero=99)
    for method in (model.encode, model.errors, model.reconstruct):
        with pytest.raises(ValueError, match=r"n_nonzero must be between 1 and n_atoms=.*, got 99"):
            method(X)
    with pytest.raises(ValueError, match="n_threads must be at least 1, got 0"):
        sx.encode(X, model.atoms_, 1, n_threads=0)


def test_checkpoints_work_too(tmp_path):
    X = make_shapes()
    lazy = da.from_array(X, chunks=(50, 7))
    make_model(coder="ormp", checkpoint=tmp_path / "fit", max_iter=3).fit(lazy)
    ours = make_model(coder="ormp", checkpoint=tmp_path / "fit").fit(lazy)
    np.testing.assert_array_equal(ours.atoms_, make_model(coder="ormp").fit(lazy).atoms_)


@pytest.mark.parametrize("is_real", [False, True])
def test_a_set_over_a_dask_array_stays_there(is_real):
    X = make_shapes()
    space = sx.Landmarks(X.shape[1], closed=True)
    given = da.from_array(sx.to_points(X) if is_real else X, chunks=(40, *([7, 2] if is_real else [7])))
    shapes = sx.ShapeSet(given, space, labels=["a"] * len(X))
    assert isinstance(shapes.configurations, da.Array)
    assert len(shapes) == len(X)
    model = make_model(coder="ormp", max_iter=3).fit(shapes)
    assert model.space_ == space
    here = make_model(coder="ormp", max_iter=3, space=space).fit(X)
    np.testing.assert_allclose(model.atoms_, here.atoms_, atol=1e-9)
    assert isinstance(model.transform(shapes), da.Array)
    np.testing.assert_allclose(model.errors(shapes).compute(), here.errors(X), atol=1e-9)


def test_a_set_over_a_dask_array_has_the_coordinates_of_its_space():
    with pytest.raises(CoordinateCountError, match="coordinates"):
        sx.ShapeSet(da.from_array(make_shapes(), chunks=(40, 7)), sx.Landmarks(9))


@on_devices
@pytest.mark.parametrize("is_here", [True, False])
def test_workers_use_their_own_device(device, is_here, monkeypatch):
    X = make_shapes()
    lazy = da.from_array(X, chunks=(50, 7))
    used = []
    add_up = device_passes.sum_on_device
    monkeypatch.setattr(device_passes, "sum_on_device", lambda part, *given: used.append(part) or add_up(part, *given))
    # The sample of the search is small: it is coded by the CPU, whether or not this machine has such a device.
    monkeypatch.setattr("shapelex.learning.options.has_device", lambda name: is_here)
    weights = np.r_[np.zeros(100), np.ones(140)]
    model = make_model(device=device, max_iter=3).fit(lazy, sample_weight=weights)
    assert {len(part) for part in used} == {50, 40}
    assert_close_fit(model, make_model(max_iter=3).fit(X, sample_weight=weights))
    assert_close_codes(
        model.encode(lazy).compute(), make_model(max_iter=3).fit(X, sample_weight=weights).encode(X), 1e-9
    )


@on_devices
def test_batches_that_are_brought_here_do_without_a_device_of_the_workers(device, monkeypatch):
    lazy = da.from_array(make_shapes(), chunks=(50, 7))
    used = []
    add_up = device_passes.sum_on_device
    monkeypatch.setattr(device_passes, "sum_on_device", lambda part, *given: used.append(part) or add_up(part, *given))
    monkeypatch.setattr("shapelex.learning.options.has_device", lambda name: False)
    make_model(device=device, max_iter=2, batch_size=60).fit(lazy)
    # The final loss is that of the chunks, where they are.
    assert {len(part) for part in used} == {50, 40}


def test_a_device_that_workers_do_not_have_is_named():
    with pytest.raises(DeviceError, match="xpu:99"):
        make_model(device="xpu:99").fit(da.from_array(make_shapes(), chunks=(50, 7)))


def test_batches_compute_every_chunk_once_an_epoch():
    counts = []

    def count(block):
        counts.append(len(block))
        return block

    X = da.from_array(make_shapes(), chunks=(40, 7)).map_blocks(count, dtype=complex, meta=np.empty((0, 7), complex))
    shapes = as_shapes(X)
    counts.clear()
    n_rows = sum(len(batch) for batch in shuffled_batches(shapes, 13, np.random.default_rng(0)))
    assert n_rows == sum(counts) == len(make_shapes())


def test_checkpoints_know_all_shapes_of_a_dask_array(tmp_path):
    shapes = make_shapes()
    model = make_model(coder="ormp", n_swaps=0, checkpoint=tmp_path / "fit", max_iter=3)
    model.fit(da.from_array(shapes, chunks=(40, 7)))
    shapes[50] += 1j * shapes[51]
    with pytest.raises(CheckpointError, match="shapes"):
        model.fit(da.from_array(shapes, chunks=(40, 7)))
