"""A small sample of ``python -m tests.killed_runs``: fits and commands that are killed lose nothing."""

import sys

import dask
import pytest

from tests import killed_runs

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are copied"),
    pytest.mark.filterwarnings("ignore:.*fork"),
]


@pytest.fixture(autouse=True)
def _keep_setting(monkeypatch):
    """The script changes settings in its own process."""
    monkeypatch.setattr(killed_runs.checkpoint, "_LEAST_SECONDS", 1.0)
    with dask.config.set(scheduler="synchronous"):
        yield


def test_killed_fits(tmp_path):
    _, faults = killed_runs.run_fits(4, 0, tmp_path, lambda text: None)
    assert faults == []


def test_killed_commands(tmp_path):
    _, faults = killed_runs.run_commands(5, 0, tmp_path, lambda text: None)
    assert faults == []
