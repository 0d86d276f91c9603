"""The code in the README and the documentation runs as it stands; links lead to files; benchmarks have names."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

ROOT = Path(__file__).parents[1]
SECTIONS = ("start", "how-to", "theory", "about", "reference")
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(page for section in SECTIONS for page in sorted((ROOT / "docs" / section).glob("*.md"))),
]


needs_docs = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="docs/ is in the repository only")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "CI" not in os.environ:
        # The outlines of all 1,797 digits take seconds.
        monkeypatch.setattr("sklearn.datasets.load_digits", few_digits)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    assert page.name != "README.md" or names


def few_digits():
    digits = load_digits()
    return Bunch(images=digits.images[:300], target=digits.target[:300])


# Sphinx checks the links between its pages; nothing else checks these.
@needs_docs
@pytest.mark.parametrize("page", [ROOT / name for name in ("README.md", "CONTRIBUTING.md")], ids=name_of)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing


@needs_docs
@pytest.mark.parametrize("name", ["accuracy", "coding-speed", "learning-speed"])
def test_tables_are_those_of_the_benchmarks(name):
    def squeeze(text):
        return re.sub(r"-+", "-", re.sub(r" +", " ", text))

    table = (ROOT / "docs" / "results" / f"{name}.md").read_text(encoding="utf-8")
    assert squeeze(table).replace(" ", "") in squeeze((ROOT / "README.md").read_text(encoding="utf-8")).replace(" ", "")


FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="benchmarks/ is in the repository only")
def test_every_name_of_a_benchmark_has_a_function(monkeypatch):
    def run(*arguments):
        command = [sys.executable, str(FOLDER / "run.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    done = run("coding", "codin")
    assert done.returncode == 1
    assert done.stderr.startswith("unknown benchmarks: codin; known are import, ")
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
