import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shapelex.coding import SparseCodes
from shapelex.learning import Statistics
from tests import strategies
from tests.learning.samples import random_codes, random_rows


def dense_statistics(rows, codes, weights):
    """Return the sums as the paper writes them, with a dense matrix of codes."""
    A = codes.toarray()
    return (
        A.conj().T @ (weights[:, None] * A),
        A.conj().T @ (weights[:, None] * rows),
        weights @ (A != 0),
        weights.sum(),
    )


def assert_same(statistics, expected, atol=1e-10):
    for found, value in zip(
        (statistics.gram, statistics.products, statistics.usage, statistics.weight), expected, strict=True
    ):
        np.testing.assert_allclose(found, value, atol=atol)


@given(strategies.seeds, st.integers(1, 60), st.integers(1, 7), st.integers(1, 6), st.booleans())
def test_equals_the_dense_sums(seed, n_rows, n_atoms, n_coordinates, weighted):
    rows = random_rows(n_rows, n_coordinates, seed)
    codes = random_codes(n_rows, n_atoms, max(1, n_atoms // 2), seed)
    weights = np.random.default_rng(seed).uniform(size=n_rows) if weighted else np.ones(n_rows)
    statistics = Statistics.of(rows, codes, weights if weighted else None)
    assert_same(statistics, dense_statistics(rows, codes, weights))
    np.testing.assert_array_equal(statistics.gram, statistics.gram.conj().T)


@given(strategies.seeds, st.integers(0, 40))
def test_merged_is_batch(seed, cut):
    rows, codes = random_rows(40, 5, seed), random_codes(40, 6, 3, seed)
    weights = np.random.default_rng(seed).uniform(size=40)
    whole = Statistics.of(rows, codes, weights)
    merged = Statistics.of(rows[:cut], codes[:cut], weights[:cut]) + Statistics.of(
        rows[cut:], codes[cut:], weights[cut:]
    )
    assert_same(merged, (whole.gram, whole.products, whole.usage, whole.weight))


def test_zeros_and_scaled():
    rows, codes = random_rows(9, 4), random_codes(9, 5, 2)
    statistics = Statistics.of(rows, codes)
    same = Statistics.zeros(5, 4) + statistics
    assert_same(same, (statistics.gram, statistics.products, statistics.usage, statistics.weight), atol=0)
    doubled = Statistics.of(rows, codes, np.full(9, 2.0))
    half = doubled.scaled(0.5)
    assert_same(half, (statistics.gram, statistics.products, statistics.usage, statistics.weight), atol=1e-14)


def test_weight_is_repetition():
    rows, codes = random_rows(12, 4), random_codes(12, 5, 2)
    counts = np.arange(12) % 4
    repeated = np.repeat(np.arange(12), counts)
    weighted = Statistics.of(rows, codes, counts.astype(float))
    copied = Statistics.of(rows[repeated], codes[repeated])
    assert_same(weighted, (copied.gram, copied.products, copied.usage, copied.weight))


def test_single_precision_is_summed_in_double():
    rows, codes = random_rows(4000, 6, dtype=np.complex64), random_codes(4000, 5, 2, dtype=np.complex64)
    statistics = Statistics.of(rows, codes)
    assert statistics.gram.dtype == np.complex128
    wide = SparseCodes(codes.support, codes.coefs.astype(complex), 5)
    expected = dense_statistics(rows.astype(complex), wide, np.ones(4000))
    np.testing.assert_allclose(statistics.products, expected[1], rtol=1e-11, atol=1e-9)
