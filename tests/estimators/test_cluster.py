"""A real cluster of processes: workers that die, come late or are slow change nothing but the time."""

import os
import signal
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest

from shapelex.io import read_codes
from tests.estimators.test_dask import make_model, make_shapes

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def cluster():
    # A worker asks one that was killed for its results until it cannot connect, for 30 s by default.
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as started,
    ):
        yield started


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


def disturb(chunk, kind, folder, block_info=None):
    """Read a chunk of the shapes, on a worker that something happens to."""
    number = block_info[0]["chunk-location"][0]
    if kind == "slow" and os.getpid() % 2:
        time.sleep(0.05)
    if kind == "killed" and number == 3:
        n_read = len(list(Path(folder).iterdir()))
        (Path(folder) / str(n_read)).touch()
        if n_read == 3:
            os.kill(os.getpid(), signal.SIGKILL)
    return chunk


@pytest.fixture(scope="module")
def expected():
    return make_model(coder="ormp", init="random", max_iter=4).fit(da.from_array(make_shapes(), chunks=(40, 7)))


@pytest.mark.parametrize("kind", ["quiet", "slow", "killed", "added"])
def test_same_dictionary_whatever_happens(kind, cluster, client, expected, tmp_path):
    X = da.from_array(make_shapes(), chunks=(40, 7))
    X = X.map_blocks(disturb, kind=kind, folder=str(tmp_path), dtype=X.dtype, meta=np.empty((0, 0), dtype=X.dtype))
    if kind == "added":
        timer = threading.Timer(0.05, cluster.scale, [3])
        timer.start()
    model = make_model(coder="ormp", init="random", max_iter=4).fit(X)
    if kind == "added":
        timer.join()
        client.wait_for_workers(3)
        model = make_model(coder="ormp", init="random", max_iter=4).fit(X)
    if kind == "killed":
        assert len(list(tmp_path.iterdir())) > 5
    # Workers may round otherwise than this process: their BLAS has one thread.
    np.testing.assert_allclose(model.atoms_, expected.atoms_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-12)


@pytest.mark.parametrize("kind", ["quiet", "killed"])
def test_codes_go_to_a_file_whatever_happens(kind, client, expected, tmp_path):
    (tmp_path / "reads").mkdir()
    X = da.from_array(make_shapes(), chunks=(40, 7))
    X = X.map_blocks(
        disturb, kind=kind, folder=str(tmp_path / "reads"), dtype=X.dtype, meta=np.empty((0, 0), dtype=X.dtype)
    )
    for _ in range(5 if kind == "killed" else 1):
        path = expected.encode_to(X, tmp_path / "codes.zarr", overwrite=True)
    if kind == "killed":
        assert len(list((tmp_path / "reads").iterdir())) > 5
    codes, errors = read_codes(path)
    here = expected.encode(make_shapes())
    np.testing.assert_array_equal(codes.support, here.support)
    np.testing.assert_allclose(codes.coefs, here.coefs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(errors, expected.errors(make_shapes()), rtol=0, atol=1e-12)
