"""local_test and permanova: statistics against slow code, strata, pictures, and input that cannot be tested."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

import shapelex as sx
from shapelex.statistics.grouping import group_units
from shapelex.statistics.local_differences import permuted_traces
from tests.strategies import seeds


def make_points(seed, groups, n_points=4):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(len(groups), n_points)) + 1j * rng.normal(size=(len(groups), n_points))
    points[:, 0] += 0.8 * np.asarray(groups)
    return points


def slow_trace(points, groups, strata):
    """Return tr(W⁻¹ B) at each point from two least-squares fits: strata alone, and strata with groups."""
    strata = np.zeros(len(points)) if strata is None else np.asarray(strata)
    reduced = (strata[:, None] == np.unique(strata)).astype(float)
    full = np.hstack([reduced, (np.asarray(groups)[:, None] == np.unique(groups)).astype(float)])
    found = []
    for column in points.T:
        values = np.stack([column.real, column.imag], axis=1)
        rest = [values - x @ np.linalg.lstsq(x, values, rcond=None)[0] for x in (reduced, full)]
        within = rest[1].T @ rest[1]
        found.append(np.trace(np.linalg.solve(within, rest[0].T @ rest[0] - within)))
    return np.array(found)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("with_strata", [False, True])
def test_statistics_of_all_permutations_are_those_of_slow_code(n_groups, with_strata):
    rng = np.random.default_rng(3)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, size=20)])
    strata = rng.integers(0, 3, size=len(groups)) if with_strata else None
    points = make_points(1, groups)
    grouping = group_units(pd.Series(groups).map(str), None if strata is None else pd.Series(strata))
    observed, statistics, largest = permuted_traces(grouping, points, 20, np.random.default_rng(5))
    indices = np.concatenate(list(grouping.exchange.chunks(20, np.random.default_rng(5))))
    slow = np.stack([slow_trace(points, groups[order], strata) for order in indices])
    np.testing.assert_allclose(statistics, slow, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(observed, slow[0])
    np.testing.assert_allclose(largest, slow.max(axis=1))


def test_corrected_p_counts_permutations_whose_largest_statistic_reaches_a_point():
    rng = np.random.default_rng(0)
    shapes = np.array([0, 1, 2 + 1j, 1 + 2j, 1j]) + 0.2 * (rng.normal(size=(24, 5)) + 1j * rng.normal(size=(24, 5)))
    shapes[:12, 2] += 0.15
    test = sx.statistics.local_test(shapes, ["a"] * 12 + ["b"] * 12, permutations=99)
    assert (test.P_uncorrected <= test.P).all()
    assert test.P_overall == test.P[np.argmax(test.statistic)]
    order = np.argsort(test.statistic)
    assert (np.diff(test.P[order]) <= 0).all()
    multiples = test.P * 100
    np.testing.assert_allclose(multiples, np.round(multiples))
    table = test.to_dataframe()
    assert table["differs"].tolist() == (test.P <= 0.05).tolist()
    moved = np.diff(test.means, axis=0)[0]
    np.testing.assert_allclose(table["dx"], moved.real)


def test_a_stretch_of_an_outline_is_found_where_it_differs_and_only_there():
    space = sx.BSpline(16)
    circle = space.fit(np.exp(2j * np.pi * np.arange(200) / 200))
    rng = np.random.default_rng(2)
    shapes = circle + 0.01 * (rng.normal(size=(60, 16)) + 1j * rng.normal(size=(60, 16)))
    shapes[:30, 8] *= 1.015
    test = sx.statistics.local_test(sx.ShapeSet(shapes, space), ["a"] * 30 + ["b"] * 30)
    found = space.sample(circle, test.parameters)[test.differs]
    assert test.differs.any()
    # The control point lies opposite to the start.
    assert (np.abs(found - circle[8]) < 0.6).all()
    assert "points of the outline differ between a (30), b (30)" in str(test)


def test_a_difference_between_strata_is_not_taken_for_one_between_groups():
    rng = np.random.default_rng(4)
    strata = np.repeat(["x", "y"], 30)
    groups = np.where(rng.uniform(size=60) < np.where(strata == "x", 0.8, 0.2), "a", "b")
    shapes = np.array([0, 1, 1 + 1j, 1j]) + 0.05 * (rng.normal(size=(60, 4)) + 1j * rng.normal(size=(60, 4)))
    shapes[strata == "x", 2] += 0.2
    assert sx.statistics.local_test(shapes, groups).P_overall <= 0.01
    assert sx.statistics.local_test(shapes, groups, strata=strata).P_overall > 0.05


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("lines", [True, False])
def test_plot_marks_what_differs(n_groups, lines):
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c"])[np.arange(30) % n_groups]
    shapes = np.exp(2j * np.pi * np.arange(10) / 10) + 0.05 * rng.normal(size=(30, 10, 2)) @ [1, 1j]
    shapes[names == "a", :3] *= 1.4
    space = sx.Landmarks(10, closed=True)
    test = sx.statistics.local_test(sx.ShapeSet(shapes, space, labels=names), "label")
    ax = test.plot(Figure().subplots(), lines=lines)
    labels = [line.get_label() for line in ax.lines]
    assert labels.count("differs") == 1
    assert len([label for label in labels if label[0] in "abc"]) == n_groups
    assert len(ax.collections) == (n_groups == 2)
    # Open landmarks have numbers.
    test = sx.statistics.local_test(shapes, names, permutations=99)
    ax = test.plot(Figure().subplots())
    assert all(line.get_linestyle() == "None" for line in ax.lines)
    assert [text.get_text() for text in ax.texts] == [str(number) for number in range(1, 11)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*"abc"[:n_groups], "differs"]
    assert "Landmarks that differ, counted from 1:" in str(test)
    assert "parameter" not in test.to_dataframe()
    assert not test.plot(Figure().subplots(), lines=True).texts


@given(seeds)
def test_squares_are_those_of_anderson(seed):
    """Squares within a group are its squared distances, divided by its number of shapes."""
    rng = np.random.default_rng(seed)
    groups = np.array(["a", "b", "c"])[np.concatenate([np.repeat(np.arange(3), 2), rng.integers(0, 3, size=9)])]
    distances = cdist(points := rng.normal(size=(15, 4)), points, "cityblock")
    distances = (distances + distances.T) / 2
    test = sx.statistics.permanova(distances, groups, permutations=9)
    within = sum(
        np.sum(np.triu(distances[np.ix_(groups == name, groups == name)]) ** 2) / np.sum(groups == name)
        for name in "abc"
    )
    total = np.sum(np.triu(distances) ** 2) / 15
    assert test.table.loc["residuals", "SS"] == pytest.approx(within)
    assert test.table.loc["total", "SS"] == pytest.approx(total)
    assert test.table.loc["groups", "F"] == pytest.approx(((total - within) / 2) / (within / 12))
    assert test.table["Df"].tolist() == [2, 12, 14]


@given(seeds)
def test_strata_are_those_of_least_squares_of_euclidean_data(seed):
    rng = np.random.default_rng(seed)
    strata, groups = np.arange(24) % 4, rng.permutation(np.repeat(["a", "b"], 12))
    groups[:4], groups[4:8] = "a", "b"
    values = rng.normal(size=(24, 3))
    test = sx.statistics.permanova(cdist(values, values), groups, strata, permutations=9)
    reduced = (strata[:, None] == np.arange(4)).astype(float)
    full = np.hstack([reduced, (groups == "b").astype(float)[:, None]])
    rest = [np.sum((values - x @ np.linalg.lstsq(x, values, rcond=None)[0]) ** 2) for x in (reduced, full)]
    assert test.table.loc["groups", "SS"] == pytest.approx(rest[0] - rest[1])
    assert test.table.loc["residuals", "SS"] == pytest.approx(rest[1])
    assert test.table["Df"].tolist() == [1, 19, 20]


def test_shapes_codes_and_distances_give_the_same_test(coded_leaves):
    leaves, model, codes = coded_leaves
    made = model.inverse_transform(codes)
    from_codes = sx.statistics.permanova(codes, leaves.labels, model=model, permutations=19)
    from_shapes = sx.statistics.permanova(sx.ShapeSet(made, leaves.space), leaves.labels, permutations=19)
    distances = sx.pairwise_distances(made, space=leaves.space)
    from_distances = sx.statistics.permanova(distances, leaves.labels, permutations=19)
    np.testing.assert_allclose(from_codes.table, from_shapes.table, rtol=1e-7)
    np.testing.assert_allclose(from_codes.table, from_distances.table, rtol=1e-7)
    assert from_codes.table["P"].iloc[0] == 0.05
    assert "PERMANOVA of" in str(from_codes)
    assert from_codes.to_dataframe()["term"].tolist() == ["groups", "residuals", "total"]


def test_strata_of_one_group_are_averaged():
    rng = np.random.default_rng(0)
    values, animals = rng.normal(size=(20, 3)), np.repeat(np.arange(10), 2)
    groups = np.where(animals < 5, "a", "b")
    test = sx.statistics.permanova(cdist(values, values), groups, animals, permutations=9)
    means = values.reshape(10, 2, 3).mean(axis=1)
    plain = sx.statistics.permanova(cdist(means, means), groups[::2], permutations=9)
    np.testing.assert_allclose(test.table[["SS", "F"]], plain.table[["SS", "F"]])
    assert test.counts == (5, 5)
    shapes = np.array([0, 1, 1 + 1j, 1j]) + 0.1 * (rng.normal(size=(20, 4)) + 1j * rng.normal(size=(20, 4)))
    local = sx.statistics.local_test(shapes, groups, strata=animals, permutations=50)
    assert local.counts == (5, 5)
    assert "strata are compared and exchanged" in str(local)
    assert sx.statistics.local_test(shapes, groups, permutations=50).counts == (10, 10)
