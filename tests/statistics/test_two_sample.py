"""Two-sample statistics against slow code in real coordinates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shapelex as sx
from shapelex.statistics.two_sample import (
    goodall_f,
    hotelling_t2,
    james_p,
    james_t2,
    lambda_min,
    moved_to_common_mean,
    spanned_rows,
    tangent_coordinates,
    two_samples,
)
from tests.strategies import seeds


def make_rows(seed, n_first=9, n_second=12, space=None, spread=0.1):
    """Return whitened pre-shapes of two groups around one shape, and which are in the first."""
    space = sx.Landmarks(5) if space is None else space
    rng = np.random.default_rng(seed)
    n_shapes = n_first + n_second

    def draw(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    shapes = draw(space.n_coordinates) + spread * draw(n_shapes, space.n_coordinates)
    shapes[:n_first] += 0.05 * draw(space.n_coordinates)
    rows = space.whitened_preshapes(np.exp(1j * rng.uniform(0, 7, size=(n_shapes, 1))) * shapes)
    return spanned_rows(rows, space), (np.arange(n_shapes) < n_first).astype(float)


@given(seeds)
def test_statistics_are_those_of_slow_code_for_every_replicate(seed):
    rows, is_first = make_rows(seed)
    rng = np.random.default_rng(seed)
    first = np.stack([is_first, rng.permutation(is_first), rng.permutation(is_first)])
    coordinates = tangent_coordinates(rows, np.ones(len(rows)))
    samples = two_samples(coordinates, first, 1 - first, scatters=True)
    for replicate, weights in enumerate(first):
        a, b = coordinates[weights == 1], coordinates[weights == 0]
        difference, n_a, n_b = a.mean(axis=0) - b.mean(axis=0), len(a), len(b)
        cov_a, cov_b = np.cov(a.T), np.cov(b.T)
        pooled = ((n_a - 1) * cov_a + (n_b - 1) * cov_b) / (n_a + n_b - 2)
        between = n_a * n_b / (n_a + n_b) * difference @ difference
        assert goodall_f(samples)[replicate] == pytest.approx(between / np.trace(pooled))
        t2 = difference @ np.linalg.solve(pooled * (1 / n_a + 1 / n_b), difference)
        assert hotelling_t2(samples)[replicate] == pytest.approx(t2)
        james = difference @ np.linalg.solve(cov_a / n_a + cov_b / n_b, difference)
        assert james_t2(samples)[replicate] == pytest.approx(james)


@given(seeds)
def test_tangent_coordinates_are_those_of_shapes_rotated_onto_their_mean(seed):
    space = sx.BSpline(6)
    rows, _ = make_rows(seed, space=space)
    coordinates = tangent_coordinates(rows, np.ones(len(rows)))
    mean = np.linalg.eigh(rows.T @ rows.conj())[1][:, -1]
    products = rows @ mean.conj()
    rotated = rows * (np.abs(products) / products)[:, None]
    tangent = rotated - (rotated @ mean.conj())[:, None] * mean
    np.testing.assert_allclose(coordinates @ coordinates.T, np.real(tangent @ tangent.conj().T), atol=1e-12)
    assert coordinates.shape[1] == 2 * space.n_coordinates - 4


@given(seeds, st.integers(2, 4))
def test_weights_count_shapes_as_often_as_they_say(seed, n_copies):
    """A bootstrap sample is the set in which shapes are repeated."""
    rows, is_first = make_rows(seed, 8, 9)
    copies = np.random.default_rng(seed).integers(1, n_copies + 1, size=len(rows)).astype(float)
    repeated = np.repeat(rows, copies.astype(int), axis=0)
    first = np.repeat(is_first, copies.astype(int))[None]
    weights = (copies * is_first)[None], (copies * (1 - is_first))[None]
    assert lambda_min(rows, *weights) == pytest.approx(lambda_min(repeated, first, 1 - first))
    plain = two_samples(tangent_coordinates(repeated, np.ones(len(repeated))), first, 1 - first, scatters=True)
    weighted = two_samples(tangent_coordinates(rows, weights[0] + weights[1]), *weights, scatters=True)
    for statistic in (goodall_f, hotelling_t2, james_t2):
        assert statistic(weighted) == pytest.approx(statistic(plain))


@given(seeds)
def test_lambda_min_is_the_smallest_sum_of_quadratic_forms(seed):
    """It is the minimum over all unit vectors of the sum of the one-sample statistics."""
    rows, is_first = make_rows(seed)
    n_coordinates = rows.shape[1]
    matrix = np.zeros((n_coordinates, n_coordinates), dtype=complex)
    for is_in in (is_first == 1, is_first == 0):
        sample = rows[is_in]
        moments = sample.T @ sample.conj() / len(sample)
        values, vectors = np.linalg.eigh(moments)
        others = [n_coordinates - 2 - place for place in range(n_coordinates - 1)]
        m = np.stack([vectors[:, j].conj() for j in others])
        g = np.zeros((len(others), len(others)), dtype=complex)
        for z in sample:
            projected = np.array([np.vdot(vectors[:, j], z) / (values[-1] - values[j]) for j in others])
            g += np.outer(projected, projected.conj()) * abs(np.vdot(vectors[:, -1], z)) ** 2 / len(sample)
        matrix += 2 * len(sample) * m.conj().T @ np.linalg.inv(g) @ m
    found = lambda_min(rows, is_first[None], 1 - is_first[None])[0]
    assert found == pytest.approx(np.linalg.eigvalsh(matrix)[0])


@given(seeds)
def test_moved_samples_have_one_mean_and_keep_their_products(seed):
    rows, is_first = make_rows(seed)
    moved = moved_to_common_mean(rows, is_first)
    assert lambda_min(moved, is_first[None], 1 - is_first[None])[0] == pytest.approx(0, abs=1e-9)
    for is_in in (is_first == 1, is_first == 0):
        np.testing.assert_allclose(moved[is_in] @ moved[is_in].conj().T, rows[is_in] @ rows[is_in].conj().T, atol=1e-12)


def test_p_of_james_is_exact_in_one_dimension_and_uniform_under_the_null():
    """With one dimension, James's first-order P is close to that of Welch's t test."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=20), 3 * rng.normal(size=30)])[:, None]
    first = (np.arange(50) < 20).astype(float)[None]
    samples = two_samples(values, first, 1 - first, scatters=True)
    welch = stats.ttest_ind(values[:20, 0], values[20:, 0], equal_var=False).pvalue
    assert james_p(samples, float(james_t2(samples)[0])) == pytest.approx(welch, rel=0.02)
    # In four dimensions, with unequal covariances: 2.5 to 7.5 % is six standard errors around the level.
    p = []
    for _ in range(600):
        values = np.concatenate([rng.normal(size=(25, 4)), 3 * rng.normal(size=(40, 4))])
        first = (np.arange(65) < 25).astype(float)[None]
        samples = two_samples(values, first, 1 - first, scatters=True)
        p.append(james_p(samples, float(james_t2(samples)[0])))
    assert 0.025 <= np.mean(np.array(p) <= 0.05) <= 0.075
