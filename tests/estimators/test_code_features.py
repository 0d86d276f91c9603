import numpy as np
import pytest
from hypothesis import given

import shapelex as sx
from shapelex.exceptions import CodesError, EmptySetError, NonFiniteError
from tests import strategies

KINDS = ["modulus", "phase", "tangent"]


@pytest.fixture
def codes(rng):
    dense = rng.normal(size=(30, 4)) + 1j * rng.normal(size=(30, 4)) + [2, 0, 0, 1j]
    dense[rng.uniform(size=dense.shape) < 0.4] = 0
    return dense


def make(kind, n_atoms=4):
    atoms = np.random.default_rng(1).normal(size=(n_atoms, 6)) + 1j * np.random.default_rng(2).normal(size=(n_atoms, 6))
    return sx.CodeFeatures(kind, atoms=atoms if kind == "tangent" else None)


@pytest.mark.parametrize("kind", KINDS)
@given(phase=strategies.phases)
def test_does_not_depend_on_rotation(kind, phase):
    rng = np.random.default_rng(3)
    codes = rng.normal(size=(20, 4)) + 1j * rng.normal(size=(20, 4))
    features = make(kind).fit(codes)
    np.testing.assert_allclose(features.transform(phase * codes), features.transform(codes), atol=1e-12)


@pytest.mark.parametrize(("kind", "n_columns"), [("modulus", 4), ("phase", 8), ("tangent", 12)])
def test_columns(codes, kind, n_columns):
    features = make(kind)
    columns = features.fit_transform(codes)
    assert columns.shape == (30, n_columns)
    assert columns.dtype == np.float64
    assert len(features.get_feature_names_out()) == n_columns
    sparse = sx.SparseCodes([[0, 2], [1, -1]], [[1j, 2], [1, 0]], n_atoms=4)
    np.testing.assert_allclose(features.transform(sparse), features.transform(sparse.toarray()))


def test_modulus_and_phase_hold_the_same_moduli(codes):
    moduli = sx.CodeFeatures("modulus").fit_transform(codes)
    np.testing.assert_allclose(moduli, np.abs(codes))
    parts = sx.CodeFeatures("phase").fit_transform(codes)
    np.testing.assert_allclose(np.hypot(parts[:, :4], parts[:, 4:]), moduli, atol=1e-12)


def test_tangent_vectors_are_orthogonal_to_the_reference(codes):
    features = make("tangent").fit(codes)
    columns = features.transform(codes)
    vectors = columns[:, :6] + 1j * columns[:, 6:]
    np.testing.assert_allclose(vectors @ features.reference_.conj(), 0, atol=1e-12)


def test_bad_input(codes):
    with pytest.raises(ValueError, match="kind must be one of 'modulus', 'phase', 'tangent'"):
        sx.CodeFeatures("angle").fit(codes)
    with pytest.raises(ValueError, match="needs the atoms"):
        sx.CodeFeatures("tangent").fit(codes)
    with pytest.raises(CodesError, match="atoms must have 4 rows"):
        sx.CodeFeatures("tangent", atoms=np.ones((3, 6), complex)).fit(codes)
    with pytest.raises(CodesError, match="codes are over 3 atoms, but CodeFeatures was fitted on 4"):
        sx.CodeFeatures().fit(codes).transform(codes[:, :3])
    with pytest.raises(CodesError, match=r"shape \(n_shapes, n_atoms\)"):
        sx.CodeFeatures().fit(codes[0])
    with pytest.raises(EmptySetError):
        sx.CodeFeatures().fit(codes[:0])
    with pytest.raises(NonFiniteError):
        sx.CodeFeatures().fit(codes * np.nan)
