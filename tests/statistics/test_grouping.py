"""Units of comparisons: averages, contrasts within strata, and how many divisions there are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.statistics.grouping import group_units, remark_on_divisions
from tests.strategies import seeds

pd = pytest.importorskip("pandas")


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=8))
def test_divisions_are_counted_within_strata(pairs):
    groups, strata = (np.array(column) for column in zip(*pairs, strict=True))
    kept = {
        division
        for division in product(*(range(2) for _ in groups))
        if all(
            sorted(np.array(division)[strata == stratum]) == sorted(groups[strata == stratum])
            for stratum in set(strata)
        )
    }
    remark = remark_on_divisions(groups, strata, 10**6, "shapes")
    assert remark[0].startswith(f"Only {len(kept)} different divisions of the shapes")
    assert remark_on_divisions(groups, strata, len(kept) - 1, "shapes") == []


@given(seeds)
def test_contrasts_stay_orthonormal_and_free_of_strata_when_units_are_exchanged(seed):
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 3, size=20)
    groups = np.concatenate([[0, 0, 1, 1], rng.integers(0, 3, size=16)])
    groups[4:6] = 2
    grouping = group_units(pd.Series(groups).map(str), pd.Series(strata))
    basis = grouping.contrasts()
    for indices in next(grouping.exchange.chunks(5, 0)):
        moved = basis[indices]
        np.testing.assert_allclose(moved.T @ moved, np.eye(basis.shape[1]), atol=1e-12)
        sums = np.zeros((3, basis.shape[1]))
        np.add.at(sums, strata, moved)
        np.testing.assert_allclose(sums, 0, atol=1e-12)


def test_averages_leave_out_missing_entries():
    grouping = group_units(pd.Series(list("aabbaabb")), pd.Series([0, 0, 1, 1, 2, 2, 3, 3]))
    values = np.array([1, np.nan, 3, 5, np.nan, np.nan, 2, 4])[:, None]
    np.testing.assert_array_equal(grouping.averaged(values)[:, 0], [1, 4, np.nan, 3])
    assert grouping.counts.tolist() == [2, 2]
    assert grouping.group_of_shapes().tolist() == [0, 0, 1, 1, 0, 0, 1, 1]


def test_bootstrap_samples_keep_the_sizes_of_groups_and_draw_whole_strata():
    plain = group_units(pd.Series(list("aaabbbbb")))
    for copies in plain.resampled(20, np.random.default_rng(0)):
        assert (copies[:, :3].sum(axis=1) == 3).all()
        assert (copies[:, 3:].sum(axis=1) == 5).all()
    paired = group_units(pd.Series(list("ab" * 6)), pd.Series(np.repeat(np.arange(6), 2)))
    (copies,) = paired.resampled(20, np.random.default_rng(0))
    assert copies.shape == (20, 6)
    assert (copies.sum(axis=1) == 6).all()


def test_bootstrap_samples_keep_few_strata_as_they_are():
    grouping = group_units(pd.Series(list("aabbbaabbb")), pd.Series([0] * 5 + [1] * 5))
    for copies in grouping.resampled(20, np.random.default_rng(0)):
        for first, last in ((0, 2), (2, 5), (5, 7), (7, 10)):
            assert (copies[:, first:last].sum(axis=1) == last - first).all()
