"""Kernels that code a sample, against least squares and brute force."""

from itertools import combinations

import numpy as np
import pytest

from shapelex.coding.coders import make_limits
from shapelex.kernels.alignment import aligned_zeros
from shapelex.kernels.sample import (
    best_supports,
    correlate_sample,
    nearest_distance2,
    solve_supports,
    sum_sample,
    update_sample,
)
from tests.coding_oracles import project, random_rows

LIMITS = {dtype: make_limits(np.dtype(dtype), None) for dtype in (np.float32, np.float64)}


def correlate(rows, atoms):
    n_atoms = len(atoms)
    correlations = np.empty((len(rows), n_atoms), dtype=complex)
    gram = aligned_zeros((n_atoms, 2, -(-n_atoms // 8) * 8), np.float64)
    search_gram = aligned_zeros((n_atoms, 2, -(-n_atoms // 16) * 16), np.float32)
    correlate_sample(rows, atoms, correlations, gram, search_gram)
    return correlations, {np.float64: gram, np.float32: search_gram}


def solve(rows, atoms, support):
    correlations, grams = correlate(rows, atoms)
    coefs, squares = np.full((len(rows), 2 * support.shape[1]), np.nan), np.full(len(rows), np.nan)
    solve_supports(correlations.view(float), grams[np.float64], support, LIMITS[np.float64], coefs, squares)
    return coefs.view(complex), squares


def make_sample(n_rows, n_atoms, n_coordinates, seed=0):
    rng = np.random.default_rng(seed)
    return random_rows(rng, n_rows, n_coordinates), random_rows(rng, n_atoms, n_coordinates)


def test_correlations_and_gram_matrices():
    rows, atoms = make_sample(9, 5, 7)
    correlations, grams = correlate(rows, atoms)
    np.testing.assert_allclose(correlations, rows @ atoms.conj().T, atol=1e-14)
    expected = atoms.conj() @ atoms.T
    for dtype, gram in grams.items():
        found = gram[:, 0, :5] + 1j * gram[:, 1, :5]
        np.testing.assert_allclose(found, expected, atol=4 * np.finfo(dtype).eps)
        assert not gram[:, :, 5:].any()


# Less than one lane of rows, and more than one.
@pytest.mark.parametrize("n_rows", [1, 140])
@pytest.mark.parametrize(("n_atoms", "n_nonzero"), [(1, 1), (6, 1), (7, 3), (5, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_best_supports_are_the_best(n_rows, n_atoms, n_nonzero, dtype):
    rows, atoms = make_sample(n_rows, n_atoms, 8)
    correlations, grams = correlate(rows, atoms)
    support = np.full((n_rows, n_nonzero), -9, dtype=np.int32)
    best_supports(correlations.view(float), grams[dtype], LIMITS[dtype], support)
    assert (np.diff(support, axis=1) > 0).all()
    candidates = [list(chosen) for chosen in combinations(range(n_atoms), n_nonzero)]
    errors = np.array([[project(row, atoms[chosen])[1] for chosen in candidates] for row in rows])
    taken = [candidates.index(list(chosen)) for chosen in support]
    found = errors[np.arange(n_rows), taken]
    np.testing.assert_allclose(found**2, errors.min(axis=1) ** 2, atol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("n_nonzero", [1, 2, 4])
def test_weights_are_least_squares(n_nonzero):
    rows, atoms = make_sample(30, 6, 9)
    rng = np.random.default_rng(1)
    support = np.argsort(rng.random((30, 6)), axis=1)[:, :n_nonzero].astype(np.int32)
    # Some supports are not full, at any place.
    support[rng.random(support.shape) < 0.2] = -1
    coefs, squares = solve(rows, atoms, support)
    for row, chosen, weights, square in zip(rows, support, coefs, squares, strict=True):
        expected, error = project(row, atoms[chosen[chosen >= 0]])
        np.testing.assert_allclose(weights[chosen >= 0], expected, atol=1e-12)
        assert not weights[chosen < 0].any()
        assert square == pytest.approx(error**2, abs=1e-13)


def test_atoms_that_others_span_get_no_weight():
    rows, atoms = make_sample(20, 5, 6)
    atoms[2] = 1j * atoms[0]
    atoms[3] = atoms[0] + atoms[1]
    atoms[3] /= np.linalg.norm(atoms[3])
    support = np.tile(np.array([0, 1, 2, 3, 4], dtype=np.int32), (20, 1))
    coefs, squares = solve(rows, atoms, support)
    assert not coefs[:, 2:4].any()
    for row, weights, square in zip(rows, coefs, squares, strict=True):
        expected, error = project(row, atoms[[0, 1, 4]])
        np.testing.assert_allclose(weights[[0, 1, 4]], expected, atol=1e-11)
        assert square == pytest.approx(error**2, abs=1e-13)


def test_squares_are_never_negative():
    rows, atoms = make_sample(50, 4, 4)
    support = np.tile(np.arange(4, dtype=np.int32), (50, 1))
    _, squares = solve(rows, atoms, support)
    assert squares.min() >= 0
    assert squares.max() < 1e-12


def test_sums_begin_at_zero():
    rows, atoms = make_sample(12, 4, 5)
    weights = np.linspace(0.5, 2, 12)
    support = np.tile(np.array([0, 2], dtype=np.int32), (12, 1))
    coefs, _ = solve(rows, atoms, support)
    dense = np.zeros((12, 4), dtype=complex)
    dense[:, [0, 2]] = coefs
    gram, products, usage = np.full((4, 4), 9j), np.full((4, 5), 9j), np.full(4, 9.0)
    sum_sample(
        support,
        coefs.view(float),
        rows.view(float),
        np.ones(12),
        weights,
        gram.view(float),
        products.view(float),
        usage,
    )
    np.testing.assert_allclose(gram, (weights[:, None] * dense).conj().T @ dense, atol=1e-13)
    np.testing.assert_allclose(products, (weights[:, None] * dense).conj().T @ rows, atol=1e-13)
    np.testing.assert_allclose(usage, [weights.sum(), 0, weights.sum(), 0])


def test_nearest_rows_have_a_positive_weight():
    rows, atoms = make_sample(40, 3, 5)
    weights = np.resize([1.0, 0.0], 40)
    rows[1] = atoms[0]  # of weight 0
    correlations, _ = correlate(rows, atoms)
    index, closeness = np.zeros(3, dtype=np.int64), np.empty(3)
    found = nearest_distance2(correlations.view(float), weights, index, closeness)
    squares = 1 - np.abs(correlations[::2]) ** 2
    np.testing.assert_array_equal(index, 2 * squares.argmin(axis=0))
    assert found == pytest.approx(squares.min(axis=0).mean(), rel=1e-12)


@pytest.mark.parametrize("nearest_weight", [0.0, 3.0])
def test_updates_are_least_squares_of_all_samples(nearest_weight):
    rows, atoms = make_sample(60, 4, 6)
    correlations, _ = correlate(rows, atoms)
    rng = np.random.default_rng(2)
    factors = np.array([0.3, 1.7])
    codes = rng.normal(size=(2, 60, 4)) + 1j * rng.normal(size=(2, 60, 4))
    codes[:, :, 3] = 0  # nothing uses the last atom, but its nearest row
    grams = np.array([code.conj().T @ code for code in codes])
    products = np.array([code.conj().T @ rows for code in codes])
    index = np.abs(correlations).argmax(axis=0)
    updated, beyond = np.empty((2, 4, 6), dtype=complex)
    update_sample(grams, products, factors, nearest_weight, index, correlations, rows, atoms, 0.5, updated, beyond)
    roots = np.sqrt([*np.repeat(factors, 60), *np.full(4, nearest_weight)])[:, None]
    samples = np.concatenate([rows, rows, rows[index]])
    all_codes = np.concatenate([*codes, np.diag(correlations[index].diagonal())])
    expected = np.linalg.lstsq(roots * all_codes, roots * samples, rcond=None)[0]
    if nearest_weight == 0:
        expected[3] = atoms[3]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    # A ridge of 1e-10 keeps dependent codes from raising an error.
    np.testing.assert_allclose(updated, expected, atol=1e-8)
    farther = expected + 0.5 * (expected - atoms)
    np.testing.assert_allclose(beyond, farther / np.linalg.norm(farther, axis=1, keepdims=True), atol=1e-8)


def test_updates_of_dependent_codes_are_finite():
    rows, atoms = make_sample(10, 3, 5)
    code = np.ones((10, 3), dtype=complex)
    updated, beyond = np.empty((2, 3, 5), dtype=complex)
    update_sample(
        (code.conj().T @ code)[None], (code.conj().T @ rows)[None], np.ones(1), 0.0, np.zeros(3, dtype=np.int64),
        rows @ atoms.conj().T, rows, atoms, 1.5, updated, beyond,
    )  # fmt: skip
    for found in (updated, beyond):
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-12)
