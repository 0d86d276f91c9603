"""The reference of the documentation has every public name exactly once."""

import re
from importlib import import_module
from inspect import ismodule
from pathlib import Path

import pytest

import shapelex as sx

FOLDER = Path(__file__).parents[1] / "docs" / "reference"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="docs/ is in the repository only")

# Exported for other folders of the package, not for users.
INTERNAL = {
    "coding.RowCoder",
    "coding.encode_path_rows",
    "coding.encode_rows",
    "coding.residual_norms",
    "coding.squared_residuals",
}


def listed_names():
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(FOLDER.glob("*.md")))
    tables = re.findall(r"\.\. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n((?:   \S+\n)+)", text)
    return [name for table in tables for name in table.split()]


def value_of(name):
    module, _, last = name.rpartition(".")
    return getattr(import_module(f"shapelex.{module}") if module else sx, last)


def test_every_public_name_is_listed_once():
    names = listed_names()
    assert sorted(names) == sorted(set(names))
    listed = [value_of(name) for name in names]
    assert len({id(value) for value in listed}) == len(listed)
    modules = [name for name in sx.__all__ if ismodule(getattr(sx, name)) and name != "exceptions"]
    public = [name for name in sx.__all__ if not ismodule(getattr(sx, name))]
    public += [f"{module}.{name}" for module in modules for name in getattr(sx, module).__all__]
    missing = [name for name in public if name not in INTERNAL and value_of(name) not in listed]
    assert not missing


def test_every_error_is_documented():
    assert ".. automodule:: shapelex.exceptions\n   :members:" in (FOLDER / "exceptions.md").read_text(encoding="utf-8")
