"""The public names: what importing them costs, where they are documented, and what misspelled ones are told."""

import ast
import inspect
import pickle
import re
import subprocess
import sys
from importlib import import_module
from importlib.resources import files
from inspect import ismodule
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

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
    assert (files("shapelex") / "py.typed").is_file()


HEAVY = {"numpy", "scipy", "sklearn", "pandas", "matplotlib", "numba", "torch", "dask"}


@pytest.mark.parametrize(
    ("code", "not_loaded"),
    [
        ("sx.__version__", HEAVY),
        ("sx.mean_shape([[0, 1, 1j], [0, 1, 2j]])", {"sklearn", "matplotlib", "numba"}),
        ("sx.plotting.plot_mean", {"sklearn", "matplotlib", "numba"}),
    ],
)
def test_nothing_is_loaded_that_is_not_needed(code, not_loaded):
    command = [sys.executable, "-c", f"import sys, shapelex as sx; {code}; print(*sys.modules)"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not_loaded.isdisjoint(result.stdout.split())


def test_names_of_packages_load_on_first_use():
    for package in (sx.files, sx.io):
        assert set(package.__all__) <= {*dir(package), "read_codes"}
        assert package.read_codes is sx.read_codes
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = package.no_such_name


def test_removed_names_say_what_to_use():
    with pytest.raises(AttributeError, match="OutlineConvolutions"):
        _ = sx.PieceCorrelations


REFERENCE = Path(__file__).parents[1] / "docs" / "reference"

needs_docs = pytest.mark.skipif(not REFERENCE.is_dir(), reason="docs/ is in the repository only")

# Exported for other folders of the package, not for users.
INTERNAL = {
    "coding.RowCoder",
    "coding.encode_path_rows",
    "coding.encode_rows",
    "coding.residual_norms",
    "coding.squared_residuals",
}


def listed_names():
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md")))
    tables = re.findall(r"\.\. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n((?:   \S+\n)+)", text)
    return [name for table in tables for name in table.split()]


def value_of(name):
    module, _, last = name.rpartition(".")
    return getattr(import_module(f"shapelex.{module}") if module else sx, last)


@needs_docs
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


@needs_docs
def test_every_error_is_documented():
    assert ".. automodule:: shapelex.exceptions\n   :members:" in (REFERENCE / "exceptions.md").read_text(
        encoding="utf-8"
    )


ESTIMATORS = [
    one
    for one in (getattr(sx, name) for name in sx.__all__)
    if isinstance(one, type) and issubclass(one, BaseEstimator)
]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("natoms", "n_atoms"), ("nonzero", "n_nonzero"), ("n_nonzeros", "n_nonzero"), ("randomstate", "random_state"),
     ("maxIter", "max_iter")],
)  # fmt: skip
def test_a_constructor_suggests_the_parameter(name, meant):
    with pytest.raises(TypeError, match=rf"ShapeDictionary has no argument {name} \(did you mean {meant}\?\)"):
        sx.ShapeDictionary(**{name: 3})


@pytest.mark.parametrize("estimator_class", ESTIMATORS, ids=lambda one: one.__name__)
def test_all_estimators_check_names_and_stay_ordinary_estimators(estimator_class):
    first = next(iter(inspect.signature(estimator_class).parameters))
    with pytest.raises(TypeError, match=rf"{estimator_class.__name__} has no argument zzzzz; it has .*{first}"):
        estimator_class(zzzzz=1)
    model = estimator_class()
    assert pickle.loads(pickle.dumps(model)).get_params().keys() == clone(model).get_params().keys()


def test_read_suggests_its_own_arguments_and_those_of_the_format(tmp_path):
    path = tmp_path / "a.tps"
    path.write_text("LM=3\n0 0\n1 0\n0 1\nID=a\n")
    with pytest.raises(TypeError, match=r"tps has no option npoints \(did you mean n_points\?\); its options are"):
        sx.read(path, npoints=10)
    with pytest.raises(TypeError, match=r"no option curve \(did you mean curves\?\)"):
        sx.read(path, curve="append")


def test_replace_suggests_the_part():
    shapes = sx.ShapeSet(np.ones((1, 3)) * [0, 1, 1j])
    with pytest.raises(TypeError, match=r"ShapeSet\.replace has no argument label \(did you mean labels\?\)"):
        shapes.replace(label=["a"])
    assert shapes.replace(labels=["a"]).labels.tolist() == ["a"]
