"""A small sample of ``python -m tests.killed_runs``: fits and commands that are killed lose nothing."""

import sys

import dask
import pytest

from tests import killed_runs

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are copied"),
    pytest.mark.filterwarnings("ignore:.*fork"),
]


@pytest.fixture(autouse=True)
def _keep_setting(monkeypatch):
    """The script changes settings in its own process."""
    monkeypatch.setattr(killed_runs.dictionary_learning, "_LEAST_SECONDS", 1.0)
    with dask.config.set(scheduler="synchronous"):
        yield


def test_killed_fits(tmp_path):
    assert [one for one in killed_runs.kill_fits(8, 0, tmp_path) if one.fault] == []


def test_killed_commands(tmp_path):
    assert [one for one in killed_runs.kill_commands(14, 0, tmp_path) if one.fault] == []
