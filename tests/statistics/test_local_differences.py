"""local_test: statistics and P against slow code, strata, pictures, and input that cannot be tested."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from shapelex.statistics.grouping import group_units
from shapelex.statistics.local_differences import permuted_traces
from tests.statistics.simulated import make_shapes

pd = pytest.importorskip("pandas")


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


def test_shapes_of_one_stratum_are_averaged_where_the_stratum_has_one_group():
    rng = np.random.default_rng(1)
    animals = np.repeat(np.arange(10), 3)
    treatment = np.where(animals < 5, "drug", "none")
    shapes = np.array([0, 1, 1 + 1j, 1j]) + 0.1 * (rng.normal(size=(30, 4)) + 1j * rng.normal(size=(30, 4)))
    test = sx.statistics.local_test(shapes, treatment, strata=animals, permutations=50)
    assert test.counts == (5, 5)
    assert "strata are compared and exchanged" in str(test)
    # Only 252 different divisions of ten animals exist.
    assert sx.statistics.local_test(shapes, treatment, permutations=50).counts == (15, 15)


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


def test_plot_of_open_landmarks_has_numbered_points(rng):
    test = sx.statistics.local_test(make_shapes(rng, 30, effect=0.3, groups=3), "group", permutations=99)
    ax = test.plot(Figure().subplots())
    assert all(line.get_linestyle() == "None" for line in ax.lines)
    assert [text.get_text() for text in ax.texts] == [str(number) for number in range(1, 7)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c", "differs"]
    assert "Landmarks that differ, counted from 1:" in str(test)
    assert "parameter" not in test.to_dataframe()
    assert not test.plot(Figure().subplots(), lines=True).texts
