"""A misspelled argument is refused with the name that was probably meant."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import shapelex as sx

ESTIMATORS = [
    sx.AlignFirstDictionary,
    sx.CodeFeatures,
    sx.ComplexPCA,
    sx.OutlineRegistration,
    sx.ProcrustesKernel,
    sx.RiemannianDictionary,
    sx.ShapeDictionary,
    sx.ShapeDictionaryClassifier,
    sx.TangentPCA,
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
