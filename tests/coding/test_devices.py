"""Coding on torch devices: the same codes as the compiled kernels, whatever the size, the precision or the block."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.coding import encode_rows, residual_norms
from shapelex.coding.coders import UNSURE_ROUNDINGS
from tests.coding_oracles import best_exchange_error, project, random_rows
from tests.devices import on_all_devices, on_devices

# (n_coordinates, n_atoms, n_nonzero): several rows a warp, one row a warp, one warp and a bit, several warps.
SIZES = [(12, 10, 5), (40, 20, 5), (9, 3, 3), (30, 33, 9), (50, 120, 12)]
# One warp, one warp with columns beside the atoms in a second slot, several warps.
POLISHED_SIZES = [(8, 7, 3), (12, 20, 4), (20, 33, 6), (40, 120, 8)]


def problem(seed, n_rows, n_coordinates, n_atoms, dtype=np.complex128):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, n_rows, n_coordinates) * rng.uniform(0.5, 2, (n_rows, 1))
    atoms = random_rows(rng, n_atoms, n_coordinates) * rng.uniform(0.5, 2, (n_atoms, 1))
    return rows.astype(dtype), atoms.astype(dtype)


def assert_same_codes(ours, theirs, rows, atoms, dtype):
    tolerance = 1e-10 if dtype == np.complex128 else 1e-5
    errors, expected = residual_norms(rows, atoms, theirs), residual_norms(rows, atoms, ours)
    norms = np.linalg.norm(rows, axis=1)
    assert np.abs(errors - expected).max() <= tolerance * norms.max()
    same = (np.sort(ours.support, axis=1) == np.sort(theirs.support, axis=1)).all(axis=1)
    # Rows whose supports differ must be ties; random rows hardly ever are.
    assert same.mean() >= 0.98
    assert np.abs(ours.toarray() - theirs.toarray())[same].max() <= 100 * tolerance
    assert theirs.coefs.dtype == dtype
    assert theirs.support.dtype == np.int32


@on_devices
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("method", ["ormp", "omp", "beam", "exact"])
def test_codes_are_those_of_the_compiled_kernels(method, size, dtype, device):
    n_coordinates, n_atoms, n_nonzero = size
    if method in ("beam", "exact") and n_atoms > 30:
        n_nonzero = 2
    rows, atoms = problem(0, 150, n_coordinates, n_atoms, dtype)
    ours = encode_rows(rows, atoms, n_nonzero, method=method)
    theirs = encode_rows(rows, atoms, n_nonzero, method=method, device=device)
    assert_same_codes(ours, theirs, rows, atoms, dtype)


@on_devices
@pytest.mark.parametrize("method", ["ormp", "omp", "beam", "exact"])
@pytest.mark.parametrize("tol", [0.3, 0.8, 0.95])
def test_codes_stop_at_the_target_as_the_compiled_kernels_do(method, tol, device):
    rows, atoms = problem(1, 60, 8, 10)
    ours = encode_rows(rows, atoms, 6, method=method, tol=tol)
    theirs = encode_rows(rows, atoms, 6, method=method, tol=tol, device=device)
    assert np.array_equal(ours.support >= 0, theirs.support >= 0)
    assert_same_codes(ours, theirs, rows, atoms, np.complex128)


@on_devices
@pytest.mark.parametrize("method", ["ormp", "omp"])
def test_paths_are_those_of_the_compiled_kernels(method, device):
    rows, atoms = problem(2, 40, 9, 12)
    ours = sx.encode(rows, atoms, 5, method, path=True)
    theirs = sx.encode(rows, atoms, 5, method, path=True, device=device)
    for n_nonzero in range(1, 6):
        assert np.array_equal(ours[n_nonzero].support, theirs[n_nonzero].support)
        np.testing.assert_allclose(ours[n_nonzero].coefs, theirs[n_nonzero].coefs, atol=1e-12)


@on_all_devices
@pytest.mark.parametrize("method", ["ormp", "omp", "beam", "exact"])
def test_zero_repeated_and_dependent_atoms_are_passed_over(method, device):
    rows, atoms = problem(3, 30, 9, 7)
    atoms[2] = 1j * atoms[0]
    atoms[4] = 0
    atoms[5] = atoms[0] + atoms[1]
    codes = encode_rows(rows, atoms, 5, method=method, device=device)
    expected = encode_rows(rows, atoms, 5, method=method)
    assert not np.isin(codes.support, [2, 4]).any()
    assert np.abs(codes.coefs).max() < 1e3
    np.testing.assert_allclose(
        residual_norms(rows, atoms, codes),
        residual_norms(rows, atoms, expected),
        atol=1e-8 if method == "omp" else 1e-7,
    )


@on_all_devices
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("nearness", [1e-1, 1e-2])
def test_exact_is_not_beaten_by_a_pursuit_by_more_than_is_unsure(nearness, dtype, device):
    rng = np.random.default_rng(0)
    atoms = random_rows(rng, 9, 8)
    atoms[4:8] = atoms[:4] + nearness * atoms[4:8]
    rows = random_rows(rng, 200, 3) @ atoms[[0, 4, 8]] + 1e-2 * random_rows(rng, 200, 8)
    rows, atoms = (np.asarray(part / np.linalg.norm(part, axis=1, keepdims=True), dtype) for part in (rows, atoms))
    exact, pursuit = (encode_rows(rows, atoms, 3, method=name, device=device) for name in ("exact", "ormp"))
    excess = residual_norms(rows, atoms, exact) ** 2 - residual_norms(rows, atoms, pursuit) ** 2
    assert excess.max() <= UNSURE_ROUNDINGS * np.finfo(dtype).eps


@on_devices
@pytest.mark.parametrize("size", POLISHED_SIZES, ids=str)
@pytest.mark.parametrize(("method", "dtype"), [("ormp", np.complex128), ("omp", np.complex128), ("beam", np.complex64)])
def test_no_exchange_improves_a_polished_code(size, method, dtype, device):
    n_coordinates, n_atoms, n_nonzero = size
    rng = np.random.default_rng(n_atoms)
    rows, atoms = (random_rows(rng, n_rows, n_coordinates).astype(dtype) for n_rows in (12, n_atoms))
    tolerance = 1e-10 if dtype == np.complex128 else 1e-5
    codes = encode_rows(rows, atoms, n_nonzero, method=method, width=2, polish=True, device=device)
    plain = encode_rows(rows, atoms, n_nonzero, method=method, width=2, device=device)
    errors = residual_norms(rows, atoms, codes)
    assert (errors <= residual_norms(rows, atoms, plain) + tolerance).all()
    for row, support, error in zip(rows, codes.support, errors, strict=True):
        assert error == pytest.approx(project(row, atoms[support])[1], abs=tolerance)
        assert error <= best_exchange_error(row, atoms, support.tolist()) + tolerance


@on_devices
def test_polish_with_dependent_and_zero_atoms_and_rows_that_need_few_atoms(device):
    rng = np.random.default_rng(1)
    rows, atoms = random_rows(rng, 20, 9), random_rows(rng, 12, 9)
    atoms[2], atoms[4], atoms[5] = 1j * atoms[0], 0, (atoms[0] + atoms[1]) / np.linalg.norm(atoms[0] + atoms[1])
    rows[3], rows[4] = atoms[6], (atoms[6] + atoms[7]) / np.linalg.norm(atoms[6] + atoms[7])
    codes = encode_rows(rows, atoms, 5, method="ormp", polish=True, device=device)
    assert not np.isin(codes.support, [2, 4]).any()
    assert np.abs(codes.coefs).max() < 1e3
    assert residual_norms(rows, atoms, codes)[3:5].max() < 1e-10
    assert (codes.support[3] >= 0).sum() == 1
