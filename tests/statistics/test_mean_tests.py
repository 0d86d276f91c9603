"""Tests of two means against slow code, their invariances, and distances between means with intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from matplotlib.figure import Figure
from scipy import stats

import shapelex as sx
from shapelex.statistics.grouping import group_units
from shapelex.statistics.mean_distances import mean_distances, plot_mean_distances
from shapelex.statistics.permutations import Exchange
from shapelex.statistics.two_sample import james_p, james_t2, moved_to_common_mean, two_samples
from tests.strategies import seeds


def make_groups(space, seed=0, n_first=15, n_second=12, effect=0.1):
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    base, change = draw(space.n_coordinates), draw(space.n_coordinates)
    first = base + 0.1 * draw(n_first, space.n_coordinates)
    return first, base + effect * change + 0.1 * draw(n_second, space.n_coordinates)


def slow_tests(rows, rows_by_sample):
    """Return Goodall's F, T², James's T² and λ_min of whitened pre-shapes, in the tangent space at the mean of rows."""
    # The first vector is that of translations, the last one the mean.
    vectors = np.linalg.eigh(rows.T @ rows.conj())[1]
    samples, matrix = [], np.zeros((len(vectors), len(vectors)), dtype=complex)
    for sample in rows_by_sample:
        products = sample @ vectors[:, -1].conj()
        tangent = sample * (np.abs(products) / products)[:, None] @ vectors[:, 1:-1].conj()
        samples.append(np.hstack([tangent.real, tangent.imag]))
        # The minimum over all unit vectors of the sum of the one-sample statistics.
        values, own = np.linalg.eigh(sample.T @ sample.conj() / len(sample))
        others = range(1, len(own) - 1)
        m = np.stack([own[:, j].conj() for j in others])
        g = np.zeros((len(others), len(others)), dtype=complex)
        for z in sample:
            projected = np.array([np.vdot(own[:, j], z) / (values[-1] - values[j]) for j in others])
            g += np.outer(projected, projected.conj()) * abs(np.vdot(own[:, -1], z)) ** 2 / len(sample)
        matrix += 2 * len(sample) * m.conj().T @ np.linalg.inv(g) @ m
    a, b = samples
    difference, n_a, n_b = a.mean(axis=0) - b.mean(axis=0), len(a), len(b)
    cov_a, cov_b = np.cov(a.T), np.cov(b.T)
    pooled = ((n_a - 1) * cov_a + (n_b - 1) * cov_b) / (n_a + n_b - 2)
    return np.array([
        n_a * n_b / (n_a + n_b) * difference @ difference / np.trace(pooled),
        difference @ np.linalg.solve(pooled * (1 / n_a + 1 / n_b), difference),
        difference @ np.linalg.solve(cov_a / n_a + cov_b / n_b, difference),
        np.linalg.eigvalsh(matrix)[1],
    ])  # fmt: skip


@pytest.mark.parametrize("space", [sx.Landmarks(4), sx.HermiteSpline(2)], ids=repr)
@given(seed=seeds)
def test_statistics_and_p_are_those_of_slow_code(space, seed):
    groups = make_groups(space, seed)
    found = sx.statistics.mean_test(*(sx.ShapeSet(one, space) for one in groups), permutations=20, bootstrap=0)
    rows, is_first = space.whitened_preshapes(np.concatenate(groups)), np.arange(27) < 15
    orders = np.concatenate(list(Exchange(27).chunks(20, 0)))
    slow = np.array([slow_tests(rows, [rows[is_first[order]], rows[~is_first[order]]]) for order in orders])
    assert [one.statistic for one in found.tests] == pytest.approx(slow[0])
    assert [one.P for one in found.tests] == pytest.approx(np.mean(slow >= slow[0] * (1 - 1e-9), axis=0))
    assert pytest.approx(slow[0, 1] * (27 - 4 - 1) / (25 * 4)) == found.hotelling.F
    # Bootstrap samples are sets in which shapes of groups with one mean are repeated.
    found = sx.statistics.mean_test(*(sx.ShapeSet(one, space) for one in groups), permutations=0, bootstrap=20)
    moved, rng = moved_to_common_mean(rows, is_first.astype(float)), np.random.default_rng(0)
    list(Exchange(27).chunks(0, rng))
    copies = np.hstack([rng.multinomial(n, np.full(n, 1 / n), size=20) for n in (15, 12)])
    drawn = [slow[0]]
    for times in copies:
        samples = [np.repeat(moved[is_in], times[is_in], axis=0) for is_in in (is_first, ~is_first)]
        drawn.append(slow_tests(np.concatenate(samples), samples))
    assert [one.P_bootstrap for one in found.tests] == pytest.approx(np.mean(drawn >= slow[0] * (1 - 1e-9), axis=0))
    means = []
    for is_in in (is_first, ~is_first):
        means.append(np.linalg.eigh(moved[is_in].T @ moved[is_in].conj())[1][:, -1])
        np.testing.assert_allclose(moved[is_in] @ moved[is_in].conj().T, rows[is_in] @ rows[is_in].conj().T, atol=1e-12)
    assert abs(np.vdot(*means)) == pytest.approx(1)


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


def test_a_difference_is_found_and_equal_groups_are_not():
    different = sx.statistics.mean_test(*make_groups(sx.Landmarks(5), n_first=30, n_second=25, effect=0.3))
    assert all(one.P == 0.001 and one.P_bootstrap < 0.02 for one in different.tests)
    equal = sx.statistics.mean_test(*make_groups(sx.Landmarks(5), seed=3, n_first=30, n_second=25, effect=0))
    assert all(one.P > 0.1 and one.P_bootstrap > 0.1 for one in equal.tests)
    ax = different.plot(Figure().subplots())
    assert (len(ax.lines), len(ax.collections)) == (2, 1)


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
    flat = np.array([0, 1, 2, 3.0]) + 0.1 * np.random.default_rng(0).normal(size=(20, 4)) + 0j  # points on a line
    test = sx.statistics.mean_test(flat[:10], flat[10:], bootstrap=9)
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


def test_intervals_do_not_depend_on_coordinates_that_do_not_vary_and_are_drawn_for_each_pair():
    """Many coordinates are handled by products of shapes, few by the coordinates themselves."""
    values = np.random.default_rng(0).normal(size=(15, 3))
    wide = np.hstack([values, np.zeros((15, 30))])
    one, two = (mean_distances(make_grouping(5, 5, 5), v, 99, 0.9, np.random.default_rng(1)) for v in (values, wide))
    pd.testing.assert_frame_equal(one, two)
    ax = plot_mean_distances(one.assign(P=[0.01, 0.2, 0.5]), ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a – b", "a – c", "b – c"]
    assert [text.get_text() for text in ax.texts] == ["P = 0.01", "P = 0.2", "P = 0.5"]
