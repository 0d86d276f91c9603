"""Coders: what they promise, on random and on degenerate dictionaries."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.coding import SparseCodes, decode, encode_path_rows, encode_rows, residual_norms, squared_residuals
from shapelex.coding import encode as encode_function
from shapelex.coding.coders import CODERS, EXACT_MAX_SUPPORTS, Coding, choose_search
from shapelex.exceptions import CodesError, CoordinateCountError, NonFiniteError, SearchTooLargeError, ShapeInputError
from tests.coding_oracles import best_error, omp_support, ormp_support, project, random_rows
from tests.rounding import assert_close_codes

METHODS = ["ormp", "omp", "beam", "exact"]
# Both sides of the switch between the two pursuit kernels.
SMALL, LARGE = (9, 8), (20, 40)
seeds = st.integers(0, 2**32 - 1)


def problem(seed, n_rows=6, n_coordinates=9, n_atoms=8, dtype=np.complex128):
    rng = np.random.default_rng(seed)
    rows, atoms = random_rows(rng, n_rows, n_coordinates), random_rows(rng, n_atoms, n_coordinates)
    return rows.astype(dtype), atoms.astype(dtype)


def tolerance(dtype):
    return 1e-12 if dtype == np.complex128 else 2e-5


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("method", METHODS)
@given(seed=seeds, n_nonzero=st.integers(1, 5), shape=st.sampled_from([SMALL, LARGE]))
def test_residual_is_orthogonal_to_the_chosen_atoms(method, dtype, seed, n_nonzero, shape):
    if method == "exact":
        n_nonzero = min(n_nonzero, 3)
    rows, atoms = problem(seed, 6, *shape, dtype=dtype)
    codes = encode_rows(rows, atoms, n_nonzero, method=method)
    residuals = rows - codes.toarray() @ atoms
    correlations = np.take_along_axis(residuals @ atoms.conj().T, codes.support.astype(np.intp), axis=1)
    assert np.abs(correlations[codes.support >= 0]).max() < tolerance(dtype)
    assert codes.coefs.dtype == dtype


@given(seed=seeds, n_nonzero=st.integers(1, 5), shape=st.sampled_from([SMALL, LARGE]))
def test_pursuits_choose_as_the_obvious_code_does(seed, n_nonzero, shape):
    rows, atoms = problem(seed, 3, *shape)
    ormp = encode_rows(rows, atoms, n_nonzero, method="ormp")
    omp = encode_rows(rows, atoms, n_nonzero, method="omp")
    for k, row in enumerate(rows):
        assert [j for j in ormp.support[k] if j >= 0] == ormp_support(row, atoms, n_nonzero)
        assert [j for j in omp.support[k] if j >= 0] == omp_support(row, atoms, n_nonzero)


@pytest.mark.parametrize("n_nonzero", [1, 2, 3, 4, 7, 8])
@given(seed=seeds, are_dependent=st.booleans())
def test_exact_is_the_best_of_all_supports(n_nonzero, seed, are_dependent):
    rows, atoms = problem(seed, 3)
    if are_dependent:
        atoms[3] = 0
        atoms[5] = 1j * atoms[1]
        atoms[6] = atoms[0] - 2 * atoms[2]
    errors = residual_norms(rows, atoms, encode_rows(rows, atoms, n_nonzero, method="exact"))
    np.testing.assert_allclose(errors, [best_error(row, atoms, n_nonzero) for row in rows], atol=1e-12)


def test_exact_beyond_one_lane_and_block():
    rows, atoms = problem(0, 300)
    errors = residual_norms(rows, atoms, encode_rows(rows, atoms, 3, method="exact"))
    np.testing.assert_allclose(errors, [best_error(row, atoms, 3) for row in rows], atol=1e-12)


@given(seed=seeds, n_nonzero=st.integers(1, 5), shape=st.sampled_from([SMALL, (12, 14)]))
def test_exact_beats_beam_beats_ormp(seed, n_nonzero, shape):
    rows, atoms = problem(seed, 6, *shape)
    exact, beam, narrow, ormp = (
        residual_norms(rows, atoms, encode_rows(rows, atoms, n_nonzero, method=method, width=width))
        for method, width in (("exact", 1), ("beam", 16), ("beam", 2), ("ormp", 1))
    )
    assert (exact <= beam + 1e-12).all()
    assert (beam <= ormp + 1e-12).all()
    assert (narrow <= ormp + 1e-12).all()


def test_a_beam_as_wide_as_all_supports_is_exact():
    rows, atoms = problem(2, 20)
    beam = residual_norms(rows, atoms, encode_rows(rows, atoms, 3, method="beam", width=60))
    exact = residual_norms(rows, atoms, encode_rows(rows, atoms, 3, method="exact"))
    np.testing.assert_allclose(beam, exact, atol=1e-13)


@pytest.mark.parametrize("n_atoms", [1, 7, 24, 40])
@pytest.mark.parametrize("method", ["ormp", "omp"])
@pytest.mark.parametrize("tol", [None, 0.5])
def test_atoms_of_zeros_change_nothing(n_atoms, method, tol):
    """With many of them, a dictionary is coded by the kernel for many atoms."""
    rows, atoms = problem(n_atoms, 70, 16, n_atoms)
    n_nonzero = min(n_atoms, 9)
    few, many = (
        encode_rows(rows, part, n_nonzero, method=method, tol=tol)
        for part in (atoms, np.vstack([atoms, np.zeros((500, 16))]))
    )
    np.testing.assert_array_equal(many.support, few.support)
    np.testing.assert_allclose(many.coefs, few.coefs, atol=1e-12)


@pytest.mark.parametrize("method", ["ormp", "omp"])
@pytest.mark.parametrize("shape", [SMALL, LARGE])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_path_is_nested_and_equals_separate_runs(method, shape, dtype):
    rows, atoms = problem(5, 40, *shape, dtype=dtype)
    rows[0] = atoms[2]
    path = encode_path_rows(rows, atoms, 6, method=method)
    for n_nonzero in range(1, 7):
        assert path[n_nonzero] == encode_rows(rows, atoms, n_nonzero, method=method)
        np.testing.assert_array_equal(path[n_nonzero].support, path.support[:, :n_nonzero])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("shape", [SMALL, (12, 34)])
def test_a_shape_that_is_an_atom_has_one_nonzero(method, dtype, shape):
    _, atoms = problem(7, 1, *shape, dtype=dtype)
    rows = (np.exp(0.3j) * atoms).astype(dtype)
    codes = encode_rows(rows, atoms, 3, method=method)
    np.testing.assert_array_equal(codes.support[:, 0], np.arange(len(atoms)))
    np.testing.assert_array_equal(codes.support[:, 1:], -1)
    assert residual_norms(rows, atoms, codes).max() < (1e-14 if dtype == np.complex128 else 1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_atoms", [10, 40])
@pytest.mark.parametrize("factor", [1, 3 * np.exp(0.4j)], ids=["equal", "turned"])
def test_copies_of_atoms_give_way_to_the_lowest_index(method, n_atoms, factor):
    rows, atoms = problem(8, 60, 12, n_atoms)
    half = n_atoms // 2
    atoms[half:] = factor * atoms[:half]
    codes = encode_rows(rows, atoms, 3, method=method)
    alone = encode_rows(rows, atoms[:half], 3, method=method)
    np.testing.assert_allclose(codes.toarray()[:, :half], alone.toarray(), atol=1e-13)
    assert (codes.toarray()[:, half:] == 0).all()


def test_atoms_that_almost_agree_are_two_atoms():
    _, atoms = problem(26, 1)
    atoms[1] = atoms[0] + 1e-7 * atoms[1]
    codes = encode_rows(atoms[[1, 0]], atoms, 1, method="ormp")
    np.testing.assert_array_equal(codes.support, [[1], [0]])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_atoms", [8, 40])
def test_all_zero_atoms_and_zero_rows_give_empty_codes(method, n_atoms):
    rows, atoms = problem(10, 5, 9, n_atoms)
    assert (encode_rows(rows, 0 * atoms, 2, method=method).support == -1).all()
    codes = encode_rows(0 * rows, atoms, 2, method=method)
    assert (codes.support == -1).all()
    assert (codes.coefs == 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n_coordinates", "n_atoms"), [(4, 8), (50, 8), (50, 36)])
def test_all_atoms_and_more_than_the_rank(method, n_coordinates, n_atoms):
    rows, atoms = problem(12, 10, n_coordinates, n_atoms)
    codes = encode_rows(rows, atoms, n_atoms, method=method, width=3)
    expected = [project(row, atoms)[1] for row in rows]
    np.testing.assert_allclose(residual_norms(rows, atoms, codes), expected, atol=1e-12)
    assert codes.counts().max() == min(n_coordinates, n_atoms)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_atoms", [8, 40])
def test_nearly_collinear_atoms_keep_their_digits(method, n_atoms):
    rng = np.random.default_rng(13)
    rows, atoms = problem(13, 20, 60, n_atoms)
    atoms[1] = atoms[0] + 5e-4 * random_rows(rng, 1, 60)[0]
    rows[:] = (atoms[1] - atoms[0]) / 5e-4 + 0.3 * atoms[0] + 0.1 * rows
    codes = encode_rows(rows, atoms, 3, method=method)
    for k, row in enumerate(rows):
        used = codes.support[k][codes.support[k] >= 0]
        assert residual_norms(rows, atoms, codes)[k] == pytest.approx(project(row, atoms[used])[1], abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_atoms", [8, 40])
def test_atoms_of_any_norm_and_rows_of_any_norm(method, n_atoms):
    rows, atoms = problem(14, 20, 12, n_atoms)
    scales = 10.0 ** np.linspace(-6, 6, n_atoms)
    codes = encode_rows(rows, atoms, 3, method=method)
    scaled = encode_rows(1e3 * rows, scales[:, None] * atoms, 3, method=method)
    # A beam may reach one support in two orders of equal gain: compare weights by atom.
    np.testing.assert_allclose(scaled.toarray() * scales, 1e3 * codes.toarray(), atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_atoms", [10, 40])
@pytest.mark.parametrize("tol", [0.5, 0.2, 1e-3, 1e-9])
def test_error_target(method, n_atoms, tol):
    rows, atoms = problem(15, 40, 12, n_atoms)
    rows[:4] = atoms[:4]
    rows[4:8] = atoms[4:8] + 1e-6 * rows[4:8]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    most = 3 if method == "exact" and n_atoms > 10 else 10
    codes = encode_rows(rows, atoms, most, method=method, tol=tol)
    errors = residual_norms(rows, atoms, codes)
    reached = errors <= tol
    assert reached[:4].all()
    assert (codes.counts()[:4] == 1).all()
    if tol >= 1e-3:
        assert (codes.counts()[4:8] == 1).all()
    assert (codes.counts()[~reached] == most).all()
    without_last = [project(row, atoms[used[used >= 0][:-1]])[1] for row, used in zip(rows, codes.support, strict=True)]
    if method != "exact":
        assert (np.array(without_last)[reached] > tol).all()


def test_error_target_with_exact_takes_the_fewest_atoms():
    rows, atoms = problem(16, 25)
    tol = 0.6
    codes = encode_rows(rows, atoms, tol=tol, method="exact")
    reached = residual_norms(rows, atoms, codes) <= tol
    assert 5 < reached.sum() < 25
    for row, count, is_reached in zip(rows, codes.counts(), reached, strict=True):
        if count > 1:
            assert best_error(row, atoms, int(count) - 1) > tol
        assert is_reached == (best_error(row, atoms, int(count)) <= tol)


def test_target_is_relative_to_the_norm_of_the_row():
    rows, atoms = problem(17, 20)
    np.testing.assert_array_equal(
        encode_rows(5 * rows, atoms, tol=0.6, method="ormp").support,
        encode_rows(rows, atoms, tol=0.6, method="ormp").support,
    )


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_atoms", [10, 40])
def test_threads_do_not_change_a_bit_and_neighbors_only_the_rounding(monkeypatch, method, dtype, n_atoms):
    monkeypatch.setattr("shapelex.coding.cpu._MIN_WORK_NS", 1.0)
    rows, atoms = problem(18, 700, 12, n_atoms, dtype=dtype)
    n_nonzero = 2 if method == "exact" else 4
    whole = encode_rows(rows, atoms, n_nonzero, method=method, n_threads=1)
    assert encode_rows(rows, atoms, n_nonzero, method=method, n_threads=3) == whole
    assert encode_rows(rows, atoms, n_nonzero, method=method) == whole
    tolerance = 1e-12 if dtype == np.complex128 else 1e-4
    for part in (slice(0, 1), slice(3, 8), slice(127, 130), slice(500, 700)):
        assert_close_codes(encode_rows(rows[part], atoms, n_nonzero, method=method), whole[part], tolerance)
    monkeypatch.setattr(import_module("shapelex.coding.cpu"), "_PART_BYTES", 1)
    assert_close_codes(encode_rows(rows, atoms, n_nonzero, method=method, n_threads=2), whole, tolerance)


def test_no_rows():
    _, atoms = problem(20)
    assert len(encode_rows(np.empty((0, 9), complex), atoms, 2)) == 0


def test_auto_with_a_path_is_ormp():
    rows, atoms = problem(27)
    assert encode_function(rows, atoms, 3, path=True)[3] == encode_function(rows, atoms, 3, "ormp")


@pytest.mark.parametrize(
    ("n_atoms", "n_nonzero", "backend", "settings", "search"),
    [
        (20, 5, "numba", {}, ("exact", 16, False)),
        (230, 30, "numba", {}, ("beam", 8, True)),
        (230, 30, "numba", {"width": 4}, ("beam", 4, True)),
        (230, 30, "numba", {"polish": False}, ("beam", 16, False)),
        (230, 30, "torch", {}, ("ormp", 1, True)),
        (230, 30, "torch", {"width": 4}, ("beam", 4, True)),
        (230, 30, "torch", {"polish": False}, ("beam", 16, False)),
        (230, 30, "torch", {"tol": 0.1}, ("beam", 16, False)),
        (30, 5, "numba", {"method": "beam"}, ("beam", 16, False)),
        (30, 5, "numba", {"method": "beam", "width": 1}, ("ormp", 1, False)),
        (30, 5, "numba", {"method": "ormp", "polish": True}, ("ormp", 1, True)),
    ],
)
def test_searches_that_arguments_mean(n_atoms, n_nonzero, backend, settings, search):
    assert choose_search(Coding(np.empty((n_atoms, 2), complex), **settings), n_nonzero, backend) == search
    assert list(CODERS) == METHODS


def test_exact_refuses_with_the_count():
    rows, atoms = problem(21, 2, 12, 60)
    with pytest.raises(SearchTooLargeError, match="50063860"):
        encode_rows(rows, atoms, 6, method="exact")
    assert EXACT_MAX_SUPPORTS < 2**24, "ranks of supports must be exact in float32"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n_nonzero": 12}, ValueError, r"^n_nonzero must be between 1 and n_atoms=10, got 12\.$"),
        ({"n_nonzero": True}, TypeError, "must be an integer"),
        ({}, ValueError, "give n_nonzero, tol or both"),
        ({"tol": -1.0}, ValueError, "tol must be finite and not negative"),
        ({"tol": "low"}, TypeError, "tol must be a number, got 'low'"),
        ({"n_nonzero": 2, "width": 0, "method": "beam"}, ValueError, "width must be at least 1"),
        ({"n_nonzero": 2, "n_threads": 0}, ValueError, "n_threads must be at least 1"),
        (
            {"n_nonzero": 2, "method": "lasso"},
            ValueError,
            "method must be one of 'auto', 'ormp', 'omp', 'beam', 'exact', got 'lasso'",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, error, words):
    rows, atoms = problem(22, 2, 9, 10)
    with pytest.raises(error, match=words):
        encode_rows(rows, atoms, **arguments)


def test_bad_rows_are_refused():
    rows, atoms = problem(23)
    with pytest.raises(CoordinateCountError, match="got 8 and 9"):
        encode_rows(rows[:, :8], atoms, 2)
    with pytest.raises(ShapeInputError, match="2-D complex array"):
        encode_rows(rows.real, atoms, 2)
    with pytest.raises(NonFiniteError, match="atoms has NaN in row 1"):
        encode_function(rows, np.array([atoms[0], np.nan * atoms[1]]), 1)
    with pytest.raises(CoordinateCountError, match="atoms has 8 coordinates"):
        encode_function(rows, atoms[:, :8], 2)
    codes = encode_rows(rows, atoms, 2)
    with pytest.raises(CodesError, match="over 8 atoms, but 7 were given"):
        decode(codes, atoms[:7])
    with pytest.raises(CodesError, match="over 8 atoms, but 7"):
        squared_residuals(rows, atoms[:7], codes)
    with pytest.raises(CodesError, match=f"same number of rows, got {len(rows)} and 1"):
        squared_residuals(rows[:1], atoms, codes)
    with pytest.raises(ValueError, match='nested pursuit, method "ormp" or "omp", got \'beam\''):
        encode_path_rows(rows, atoms, 2, method="beam")


def test_small_residuals_keep_their_digits():
    rows = np.array([[1, 1e-9, 0], [1, 0, 3e-13j]])
    codes = SparseCodes([[0], [0]], [[1], [1]], n_atoms=1)
    np.testing.assert_allclose(residual_norms(rows, np.eye(1, 3) + 0j, codes), [1e-9, 3e-13], rtol=1e-12)
