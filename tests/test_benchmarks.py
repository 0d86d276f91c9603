"""The command of the benchmarks knows its benchmarks; what they measure is not tested."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="benchmarks/ is in the repository only")


def run(*arguments):
    command = [sys.executable, str(FOLDER / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_every_name_has_a_function(monkeypatch):
    listed = run("--list")
    assert listed.returncode == 0, listed.stderr
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    spec = importlib.util.spec_from_file_location("benchmarks_run", FOLDER / "run.py")
    runner = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "benchmarks_run", runner)
    try:
        spec.loader.exec_module(runner)
        assert names == list(runner.BENCHMARKS)
        for benchmark in runner.BENCHMARKS.values():
            main = benchmark.load()
            assert callable(main)
            assert set(benchmark.options) <= set(main.__code__.co_varnames[: main.__code__.co_argcount])
    finally:
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
                del sys.modules[name]


def test_unknown_name_is_refused():
    done = run("coding", "codin")
    assert done.returncode == 1
    assert done.stderr.startswith("unknown benchmarks: codin; known are import, ")
