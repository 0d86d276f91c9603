"""`encode` on configurations: spaces, invariance, paths, blocks."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.coding import CodePath, SparseCodes, decode, encode, encode_rows
from shapelex.exceptions import CodesError, CoordinateCountError
from shapelex.spaces import BSpline, HermiteSpline, Landmarks
from tests.coding_oracles import random_rows
from tests.rounding import assert_close_codes

SPACES = [Landmarks(7), BSpline(8), HermiteSpline(4)]


def problem(space, seed=0, n_rows=12, n_atoms=6):
    rng = np.random.default_rng(seed)
    configurations = random_rows(rng, n_rows, space.n_coordinates)
    return configurations, space.preshape(random_rows(rng, n_atoms, space.n_coordinates))


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_encode_codes_the_whitened_preshapes(space):
    X, atoms = problem(space)
    expected = encode_rows(space.whitened_preshapes(X), space.whiten(atoms), 3)
    assert_close_codes(encode(X, atoms, 3, space=space), expected)


@pytest.mark.parametrize("space", SPACES, ids=repr)
@given(angle=st.floats(-np.pi, np.pi), size=st.floats(0.1, 10), shift=st.floats(-5, 5))
def test_reconstruction_follows_rotation_and_ignores_the_rest(space, angle, size, shift):
    X, atoms = problem(space)
    moved = np.exp(1j * angle) * size * (X + shift * (1 - 2j) * space.shift)
    first = decode(encode(X, atoms, 3, space=space), atoms)
    second = decode(encode(moved, atoms, 3, space=space), atoms)
    np.testing.assert_allclose(second, np.exp(1j * angle) * first, atol=1e-9)


def test_error_is_the_full_distance():
    space = BSpline(8)
    X, atoms = problem(space)
    Z = space.preshape(X)
    reconstruction = decode(encode(X, atoms, 2, space=space), atoms)
    cosine = np.abs([space.inner(z, w / space.norm(w)) for z, w in zip(Z, reconstruction, strict=True)])
    residual = space.norm(Z - reconstruction)
    np.testing.assert_allclose(residual**2, 1 - cosine**2, atol=1e-12)


def test_landmarks_are_the_default_and_points_are_taken():
    X, atoms = problem(Landmarks(7))
    codes = encode(X, atoms, 2)
    assert codes == encode(X, atoms, 2, space=Landmarks(7))
    points = np.stack([X.real, X.imag], axis=-1)
    assert encode(points, atoms, 2) == codes


def test_single_precision_goes_through():
    X, atoms = problem(Landmarks(7))
    codes = encode(X.astype(np.complex64), atoms.astype(np.complex64), 2)
    assert codes.coefs.dtype == np.complex64


def test_path():
    X, atoms = problem(Landmarks(7))
    path = encode(X, atoms, 4, "ormp", path=True)
    assert isinstance(path, CodePath)
    for n_nonzero in range(1, 5):
        assert path[n_nonzero] == encode(X, atoms, n_nonzero, "ormp")
    with pytest.raises(ValueError, match="nested pursuit"):
        encode(X, atoms, 4, "exact", path=True)


def test_whitening_goes_in_parts(monkeypatch):
    X, atoms = problem(BSpline(8), n_rows=50)
    whole = encode(X, atoms, 3, space=BSpline(8))
    monkeypatch.setattr(import_module("shapelex.coding.encode"), "_WHITENED_ROWS", 7)
    parts = encode(X, atoms, 3, space=BSpline(8))
    np.testing.assert_array_equal(parts.support, whole.support)
    np.testing.assert_allclose(parts.coefs, whole.coefs, atol=1e-14)


def test_wrong_sizes_are_refused():
    X, atoms = problem(Landmarks(7))
    with pytest.raises(CoordinateCountError, match="atoms has 6 coordinates"):
        encode(X, atoms[:, :6], 2)
    with pytest.raises(CodesError, match="over 6 atoms, but 5 were given"):
        decode(encode(X, atoms, 2), atoms[:5])


def test_decode_of_empty_rows_is_zero():
    codes = SparseCodes([[-1, -1], [0, -1]], np.array([[0, 0], [2j, 0]]), n_atoms=1)
    np.testing.assert_array_equal(decode(codes, [[1, 1j]]), [[0, 0], [2j, -2]])
