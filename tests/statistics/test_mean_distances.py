"""Distances between means: adjusted for sampling, with intervals that hold the distance of the populations."""

import numpy as np
import pytest
from hypothesis import given
from matplotlib.figure import Figure

from shapelex.statistics.grouping import group_units
from shapelex.statistics.mean_distances import mean_distances, plot_mean_distances
from tests.strategies import seeds

pd = pytest.importorskip("pandas")


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
