"""Permutations and P values."""

from itertools import permutations as all_permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.statistics.permutations import (
    Exchange,
    block_exchange,
    effect_sizes,
    p_values,
    plain_exchange,
    remark_on_count,
)


def draw(exchange, permutations=99, seed=0):
    return np.concatenate(list(exchange.chunks(permutations, seed)))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 600))
def test_permutations_stay_within_strata_and_start_with_the_identity(strata, permutations):
    codes = np.array(strata)
    indices = draw(plain_exchange(len(codes), codes), permutations)
    assert indices.shape == (permutations + 1, len(codes))
    assert (indices[0] == np.arange(len(codes))).all()
    assert (np.sort(indices, axis=1) == np.arange(len(codes))).all()
    assert (codes[indices] == codes).all()


def test_permutations_depend_on_the_seed_alone():
    first, second, other = (draw(Exchange(20), 300, seed) for seed in (1, 1, 2))
    assert (first == second).all()
    assert (first[1:] != other[1:]).any()
    # A shorter run is the beginning of a longer one.
    assert (draw(Exchange(20), 50, 1) == first[:51]).all()


def test_all_permutations_are_equally_likely():
    indices = draw(Exchange(3), 60_000)[1:]
    counts = [(indices == order).all(axis=1).sum() for order in all_permutations(range(3))]
    assert np.abs(np.array(counts) - 10_000).max() < 5 * 100


def test_blocks_keep_their_stratum():
    exchange = block_exchange(np.array([0, 1, 1, 0, 2]), np.array([5, 5, 5, 5, 7]))
    assert exchange.n_units == 3
    assert (draw(exchange)[:, 2] == 2).all()
    with pytest.raises(ValueError, match="differ within a block in row 3"):
        block_exchange(np.array([0, 1, 1, 0]), np.array([5, 5, 5, 7]))


def test_p_counts_the_observed_statistic_and_ties():
    statistics = np.array([[3.0, 1, 2, 3 - 1e-13], [3, 1, 2, 2.9], [np.nan, 1, 2, 3]])
    np.testing.assert_array_equal(p_values(statistics), [0.5, 0.25, np.nan])
    assert np.isnan(p_values(np.array([1.0])))


def test_effect_sizes_are_standard_scores_of_logarithms():
    logs = np.array([3.0, 1, 2, 0])
    assert effect_sizes(np.exp(logs)) == pytest.approx((3 - 1.5) / logs.std())
    assert np.isnan(effect_sizes(np.ones(4)))


def test_few_permutations_are_remarked():
    assert "Only 6 different permutations of the animals" in remark_on_count(Exchange(3), 99, "animals")[0]
    assert remark_on_count(Exchange(30), 99) == []
    assert remark_on_count(Exchange(3), 0) == []
