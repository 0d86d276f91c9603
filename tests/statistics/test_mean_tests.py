"""Tests of two means against slow code, their invariances, and distances between means with intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats

import shapelex as sx
from shapelex.statistics.grouping import group_units
from shapelex.statistics.mean_distances import mean_distances, plot_mean_distances
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


def make_groups(space, seed=0, n_first=15, n_second=12, effect=0.1):
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    base, change = draw(space.n_coordinates), draw(space.n_coordinates)
    first = base + 0.1 * draw(n_first, space.n_coordinates)
    return first, base + effect * change + 0.1 * draw(n_second, space.n_coordinates)


def test_result_is_symmetric_in_the_groups():
    groups = make_groups(sx.Landmarks(5))
    one, other = (sx.statistics.mean_test(*pair, permutations=9, bootstrap=0) for pair in (groups, groups[::-1]))
    assert [test.statistic for test in one.tests] == pytest.approx([test.statistic for test in other.tests])


def test_tests_of_a_curve_are_those_of_its_whitened_landmarks():
    """Only products count, so that the Gram matrix of the space is enough."""
    space = sx.HermiteSpline(3, closed=False)
    first, second = make_groups(space)
    found = sx.statistics.mean_test(sx.ShapeSet(first, space), sx.ShapeSet(second, space), bootstrap=99)
    whitened = [space.whiten(group) for group in (first, second)]
    # Whitened rows are no landmarks: their average is not 0, and it must not be removed.
    identity = sx.CustomSpace(np.eye(space.n_coordinates), space.whiten(second[0]) * 0 + _unit_shift(space))
    plain = sx.statistics.mean_test(*(sx.ShapeSet(group, identity) for group in whitened), bootstrap=99)
    for one, two in zip(found.tests, plain.tests, strict=True):
        assert one.statistic == pytest.approx(two.statistic)
        assert (one.P, one.P_bootstrap) == (two.P, two.P_bootstrap)


def _unit_shift(space):
    return space._unit_shift.view(np.complex128)


def test_a_difference_is_found_and_equal_groups_are_not():
    different = sx.statistics.mean_test(*make_groups(sx.Landmarks(5), n_first=30, n_second=25, effect=0.3))
    assert all(one.P == 0.001 and one.P_bootstrap < 0.02 for one in different.tests)
    equal = sx.statistics.mean_test(*make_groups(sx.Landmarks(5), seed=3, n_first=30, n_second=25, effect=0))
    assert all(one.P > 0.1 and one.P_bootstrap > 0.1 for one in equal.tests)


def test_too_few_shapes_leave_out_tests_and_say_why():
    first, second = make_groups(sx.Landmarks(12), n_first=10, n_second=11)
    test = sx.statistics.mean_test(first, second, names=("small", "large"), bootstrap=9)
    assert np.isfinite(test.goodall.F)
    assert np.isnan([test.hotelling.F, test.james.statistic, test.lambda_min.P]).all()
    text = str(test)
    assert "small (10 shapes) and large (11 shapes)" in text
    assert "20 dimensions need 22 shapes in all, there are 21" in text
    enough = sx.statistics.mean_test(*make_groups(sx.Landmarks(12), n_first=11, n_second=11), bootstrap=0)
    assert enough.hotelling.Df == (20, 1)


def test_shapes_that_do_not_vary_in_all_dimensions_are_not_tested_by_hotelling():
    rng = np.random.default_rng(0)
    line = np.array([0, 1, 2, 3.0])
    flat = line + 0.1 * rng.normal(size=(20, 4))  # all points on a line
    test = sx.statistics.mean_test(flat[:10] + 0j, flat[10:] + 0j, bootstrap=9)
    assert "vary in" in test.hotelling.reason
    assert np.isfinite(test.goodall.P)


def test_incomplete_shapes_are_left_out_and_named():
    first, second = make_groups(sx.Landmarks(5))
    broken = first.copy()
    broken[2, 1] = np.nan
    with_missing = sx.statistics.mean_test(sx.ShapeSet(broken, missing="allow"), second, bootstrap=0)
    without = sx.statistics.mean_test(np.delete(first, 2, axis=0), second, bootstrap=0)
    assert with_missing.dropped == {2: "missing landmarks in a"}
    assert with_missing.n_used == 26
    assert pytest.approx(without.goodall.F) == with_missing.goodall.F
    assert "1 of 27 shapes left out" in str(with_missing)


def test_plot_draws_both_means_and_the_displacements():
    ax = sx.statistics.mean_test(*make_groups(sx.Landmarks(6)), bootstrap=0).plot(Figure().subplots())
    assert len(ax.lines) == 2
    assert len(ax.collections) == 1


def make_grouping(*counts):
    return group_units(pd.Series(np.repeat(list("abcdef")[: len(counts)], counts)))


@given(seeds)
def test_squared_distances_are_adjusted_by_the_variances_of_the_means(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(15, 4))
    table = mean_distances(make_grouping(4, 5, 6), values, 0, 0.95, rng)
    groups = {"a": values[:4], "b": values[4:9], "c": values[9:]}
    for row in table.itertuples():
        first, second = groups[row.first], groups[row.second]
        squared = np.sum((first.mean(axis=0) - second.mean(axis=0)) ** 2)
        variance = sum(np.trace(np.cov(group.T)) / len(group) for group in (first, second))
        assert row.distance == pytest.approx(np.sqrt(squared))
        assert row.adjusted == pytest.approx(np.sqrt(max(squared - variance, 0)))
        assert np.isnan(row.low)


def test_intervals_do_not_depend_on_the_number_of_coordinates_that_do_not_vary():
    """Many coordinates are handled by products of shapes, few by the coordinates themselves."""
    values = np.random.default_rng(0).normal(size=(12, 3))
    wide = np.hstack([values, np.zeros((12, 30))])
    one, two = (mean_distances(make_grouping(6, 6), v, 99, 0.9, np.random.default_rng(1)) for v in (values, wide))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize("true", [0.0, 0.6])
def test_intervals_hold_the_distance_of_the_populations(true):
    """Intervals of 95 % hold it in at least 85 % of 100 sets; those of plain lengths would never hold 0."""
    rng = np.random.default_rng(0)
    grouping, n_held = make_grouping(15, 20), 0
    for _ in range(100):
        values = 0.25 * rng.normal(size=(35, 16))
        values[15:, 0] += true
        row = mean_distances(grouping, values, 199, 0.95, rng).iloc[0]
        n_held += row["low"] <= true <= row["high"]
    assert n_held >= 85


def test_plot_has_a_line_for_each_pair():
    rng = np.random.default_rng(0)
    table = mean_distances(make_grouping(5, 5, 5), rng.normal(size=(15, 4)), 49, 0.95, rng)
    ax = plot_mean_distances(table.assign(P=[0.01, 0.2, 0.5]), ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a – b", "a – c", "b – c"]
    assert [text.get_text() for text in ax.texts] == ["P = 0.01", "P = 0.2", "P = 0.5"]
