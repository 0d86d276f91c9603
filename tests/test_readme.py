"""The code in the README and the documentation runs as it stands, and the pages link to files that exist."""

import os
import re
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
