"""Pipes and devices are refused: one waits for whoever writes to it, the other may never end."""

import os
import signal
import sys

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import CheckpointError, CodesError, ModelFileError, ShapeFileError
from shapelex.files.provenance import read_run
from tests.io.conftest import check_refused

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such files on Windows")


@pytest.fixture(autouse=True)
def _no_hang():
    """End a test that waits at a pipe."""

    def stop(*_):
        # No error that a reader could take for one of the file.
        pytest.fail("this would hang")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_pipe(path):
    os.mkfifo(path)
    return path


def fit_with(path):
    sx.ShapeDictionary(2, 1, max_iter=1, checkpoint=path).fit(np.random.default_rng(0).normal(size=(9, 4, 2)))


@pytest.mark.parametrize(
    ("name", "read", "error"),
    [
        ("a.npz", sx.load, ModelFileError),
        ("a.npz", sx.open_shapes, ShapeFileError),
        ("a.npz", sx.read, ShapeFileError),
        ("a.npz", read_run, ShapeFileError),
        *((f"a{suffix}", sx.read_codes, CodesError) for suffix in (".csv", ".npz", ".parquet", ".xlsx")),
        ("a.checkpoint", fit_with, CheckpointError),
    ],
)
@pytest.mark.parametrize("make", [make_pipe, lambda path: path.symlink_to("/dev/zero")])
def test_only_regular_files_are_opened(tmp_path, name, read, error, make):
    path = tmp_path / name
    make(path)
    check_refused("not a regular file", read, path, error=error)


def test_links_inside_a_zarr_folder(tmp_path):
    path = sx.write(sx.ShapeSet([[0, 1, 1j]]), tmp_path / "a.zarr")
    (path / "configurations").rename(tmp_path / "elsewhere")
    (path / "configurations").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(path)
    assert len(sx.open_shapes(path)[:]) == 1
    for place in ("configurations/c/0/0", "zarr.json"):
        (path / place).rename(tmp_path / "kept")
        (path / place).symlink_to("/dev/zero")
        for read in (sx.open_shapes, sx.read):
            check_refused("a.zarr", read, path, error=(ShapeFileError, FileNotFoundError))
        (tmp_path / "kept").replace(path / place)
