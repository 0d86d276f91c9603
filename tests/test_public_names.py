"""The public names, and what importing them costs."""

import ast
import subprocess
import sys
from importlib.resources import files

import pytest

import shapelex as sx


def _names_in_stub() -> set[str]:
    tree = ast.parse((files("shapelex") / "__init__.pyi").read_text())
    imported = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    annotated = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert annotated == {"__version__"}
    return imported


def test_every_name_loads():
    assert set(sx.__all__) == _names_in_stub()
    for name in sx.__all__:
        assert getattr(sx, name) is not None
    assert set(sx.__all__) <= set(dir(sx))


def test_typed():
    assert (files("shapelex") / "py.typed").is_file()


def test_import_loads_nothing_heavy():
    code = (
        "import sys, shapelex; "
        "print(*(m for m in ('numpy', 'scipy', 'sklearn', 'pandas', 'matplotlib', 'numba', 'torch', 'dask') "
        "if m in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_geometry_needs_no_plotting_and_no_learning():
    code = (
        "import sys, shapelex as sx; sx.mean_shape([[0, 1, 1j], [0, 1, 2j]]); "
        "print(*(m for m in ('sklearn', 'matplotlib', 'numba') if m in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_names_of_packages_load_on_first_use():
    for package in (sx.store, sx.io):
        assert set(package.__all__) <= {*dir(package), "read_codes"}
        assert package.read_codes is sx.read_codes
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = package.no_such_name


@pytest.mark.parametrize(("name", "instead"), [("PieceCorrelations", "OutlineConvolutions")])
def test_removed_names_say_what_to_use(name, instead):
    with pytest.raises(AttributeError, match=instead):
        getattr(sx, name)
    assert not hasattr(sx, name)
