"""`encode` on configurations: spaces, invariance, paths, blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.coding import SparseCodes, decode, encode, encode_rows, residual_norms
from shapelex.exceptions import NonFiniteError
from shapelex.spaces import BSpline, HermiteSpline, Landmarks
from tests.coding_oracles import random_rows
from tests.rounding import assert_close_codes

SPACES = [Landmarks(7), BSpline(8), HermiteSpline(4)]


def problem(space, seed=0, n_rows=12, n_atoms=6):
    rng = np.random.default_rng(seed)
    configurations = random_rows(rng, n_rows, space.n_coordinates)
    return configurations, space.preshape(random_rows(rng, n_atoms, space.n_coordinates))


@pytest.mark.parametrize("space", SPACES, ids=repr)
@given(angle=st.floats(-np.pi, np.pi), size=st.floats(0.1, 10), shift=st.floats(-5, 5))
def test_reconstruction_follows_rotation_and_ignores_the_rest(space, angle, size, shift):
    X, atoms = problem(space)
    moved = np.exp(1j * angle) * size * (X + shift * (1 - 2j) * space.shift)
    first = decode(encode(X, atoms, 3, space=space), atoms)
    second = decode(encode(moved, atoms, 3, space=space), atoms)
    np.testing.assert_allclose(second, np.exp(1j * angle) * first, atol=1e-9)


def test_landmarks_are_the_default_and_points_are_taken():
    X, atoms = problem(Landmarks(7))
    codes = encode(X, atoms, 2)
    assert codes == encode(X, atoms, 2, space=Landmarks(7))
    points = np.stack([X.real, X.imag], axis=-1)
    assert encode(points, atoms, 2) == codes


def test_decode_of_empty_rows_is_zero():
    codes = SparseCodes([[-1, -1], [0, -1]], np.array([[0, 0], [2j, 0]]), n_atoms=1)
    np.testing.assert_array_equal(decode(codes, [[1, 1j]]), [[0, 0], [2j, -2]])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("method", ["ormp", "exact"])
@pytest.mark.parametrize(("space", "offset"), [*zip(SPACES, [30, 0, 1e3], strict=True)], ids=repr)
def test_raw_configurations_are_coded_as_their_preshapes(space, method, dtype, offset):
    X, atoms = problem(space, n_rows=300)
    X = (1e-3 * (X + offset * (1 - 2j) * space.shift)).astype(dtype)
    atoms = atoms.astype(dtype)
    rows, atom_rows = space.whitened_preshapes(X), space.whiten(atoms)
    codes = encode(X, atoms, 3, method, space=space)
    assert codes.coefs.dtype == dtype
    # Different roundings may prefer another of two equally good supports: compare what is reached.
    found, expected = (
        residual_norms(rows, atom_rows, one) for one in (codes, encode_rows(rows, atom_rows, 3, method=method))
    )
    np.testing.assert_allclose(found, expected, atol=20 * np.finfo(dtype).eps * (1 + offset))


def test_huge_and_tiny_configurations():
    X, atoms = problem(Landmarks(7), n_rows=40)
    codes = encode(X, atoms, 3)
    for scale in (1e-300, 1e-170, 1e-160, 1e-158, 1e158, 1e170, 1e300):
        assert_close_codes(encode(scale * X, atoms, 3), codes)
    X, atoms = X.astype(np.complex64), atoms.astype(np.complex64)
    codes = encode(X, atoms, 3)
    for scale in (1e-36, 1e-30, 1e30, 1e37):
        assert_close_codes(encode(np.float32(scale) * X, atoms, 3), codes, 1e-4)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_the_first_bad_row_is_named_whatever_the_threads(n_threads, monkeypatch):
    monkeypatch.setattr("shapelex.coding.cpu._MIN_WORK_NS", 1.0)
    X, atoms = problem(Landmarks(7), n_rows=9000)
    X[[3000, 3500, 7000, 8500]] = np.nan
    for _ in range(5):
        with pytest.raises(NonFiniteError, match=r"X has NaN in rows? 3000\b"):
            encode(X, atoms, 2, "beam", n_threads=n_threads)


@pytest.mark.parametrize("tol", [0.3, 0.5])
def test_a_target_is_met_by_no_more_atoms_than_needed_beside_a_near_copy(tol):
    rng = np.random.default_rng(0)
    rows, atoms = random_rows(rng, 200, 8), random_rows(rng, 12, 8)
    near = np.concatenate([atoms, atoms[:1] + 1e-6 * random_rows(rng, 1, 8)])
    few, more = (encode_rows(rows, one, 4, tol=tol, method="exact").counts() for one in (atoms, near))
    assert (more <= few).all()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-3, 0.3])
def test_errors_are_accurate_also_where_they_are_small(dtype, noise):
    space = BSpline(8)
    X, atoms = problem(space, n_rows=200)
    rng = np.random.default_rng(1)
    X = (random_rows(rng, 200, 2) @ atoms[:2] + noise * X + 2 * space.shift).astype(dtype)
    model = sx.ShapeDictionary(6, 2, coder="ormp", space=space, init=atoms.astype(dtype), max_iter=0).fit(X)
    expected = residual_norms(space.whitened_preshapes(X), space.whiten(model.atoms_), model.encode(X))
    np.testing.assert_allclose(
        model.errors(X), expected, rtol=1e-4 if dtype == np.complex64 else 1e-10, atol=20 * np.finfo(dtype).eps
    )
