"""PERMANOVA against sums of squared distances, and against the analysis of variance of Euclidean data."""

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.distance import cdist

import shapelex as sx
from tests.strategies import seeds


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
