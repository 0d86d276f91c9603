"""Averages of groups, differences between groups, and their bootstrap intervals.

Input: values with one row per unit, in which NaN does not count. Output: estimates for each column.
"""

from dataclasses import dataclass, replace

import numpy as np

from shapelex._typing import BoolArray, FloatArray, IntArray
from shapelex.statistics.grouping import Grouping

Interval = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class GroupEstimates:
    """Estimates for each column of values.

    Attributes
    ----------
    means : ndarray of float, shape (n_groups, n_columns)
        Averages of the groups.
    means_interval : tuple of ndarray of float, shape (n_groups, n_columns)
        Their intervals.
    pairs : ndarray of int, shape (n_columns, 2)
        The two groups whose difference is given: the second and the first of two, else the largest and the smallest.
    differences : ndarray of float, shape (n_columns,)
        Difference between these groups, within strata where there are some.
    interval : tuple of ndarray of float, shape (n_columns,)
        Its interval.
    """

    means: FloatArray
    means_interval: Interval
    pairs: IntArray
    differences: FloatArray
    interval: Interval


def estimate_groups(
    grouping: Grouping, values: FloatArray, bootstrap: int, confidence: float, rng: np.random.Generator
) -> GroupEstimates:
    """Return averages and differences with percentile intervals; NaN without bootstrap samples."""
    plain = replace(grouping, strata=None)
    means = _group_means(plain, np.ones((1, grouping.n_units)), values)[0]
    drawn = [_group_means(plain, copies, values) for copies in plain.resampled(bootstrap, rng)]
    compared, compared_drawn = means, drawn
    if grouping.strata is not None:
        n_strata = int(grouping.strata.max()) + 1
        compared = _group_means(grouping, np.ones((1, n_strata)), values)[0]
        compared_drawn = [_group_means(grouping, copies, values) for copies in grouping.resampled(bootstrap, rng)]
    pairs, columns = _pairs(compared), np.arange(values.shape[1])

    def difference(estimates: FloatArray) -> FloatArray:
        return np.asarray(estimates[..., pairs[:, 0], columns] - estimates[..., pairs[:, 1], columns])

    return GroupEstimates(
        means=means,
        means_interval=_interval(drawn, means, confidence),
        pairs=pairs,
        differences=difference(compared),
        interval=_interval([difference(one) for one in compared_drawn], difference(compared), confidence),
    )


def _pairs(means: FloatArray) -> IntArray:
    if len(means) == 2:
        return np.tile([1, 0], (means.shape[1], 1))
    lowest, highest = np.where(np.isnan(means), np.inf, means), np.where(np.isnan(means), -np.inf, means)
    return np.stack([highest.argmax(axis=0), lowest.argmin(axis=0)], axis=1)


def _interval(drawn: list[FloatArray], like: FloatArray, confidence: float) -> Interval:
    low, high = np.full(like.shape, np.nan), np.full(like.shape, np.nan)
    if drawn:
        samples = np.concatenate(drawn)
        # Samples in which a group has no entry say nothing about its average.
        usable = np.isfinite(samples).mean(axis=0) > 0.5
        tails = 50 * (1 - confidence), 50 * (1 + confidence)
        low[usable], high[usable] = np.nanpercentile(samples[:, usable], tails, axis=0)
    return low, high


def _group_means(grouping: Grouping, copies: FloatArray, values: FloatArray) -> FloatArray:
    """Return averages of groups for each column, (n_samples, n_groups, n_columns).

    `copies` says how often each unit counts: (n_samples, n_units), or how often each stratum counts where there are
    strata. With strata, averages are those of the additive model of groups and strata, up to a constant: differences
    between them are differences within strata.
    """
    is_known = ~np.isnan(values)
    filled = np.where(is_known, values, 0)
    groups = (grouping.groups[:, None] == np.arange(len(grouping.names))).astype(np.float64)
    if grouping.strata is None:
        weighted = np.swapaxes(copies[:, :, None] * groups, 1, 2)
        counts = weighted @ is_known.astype(np.float64)
        return np.where(counts > 0, weighted @ filled / np.maximum(counts, 1), np.nan)
    return _adjusted_means(grouping.strata, groups, copies, filled, is_known)


def _adjusted_means(
    strata: IntArray, groups: FloatArray, copies: FloatArray, filled: FloatArray, is_known: BoolArray
) -> FloatArray:
    """Solve the normal equations of groups within strata, which are sums over strata."""
    in_stratum = (strata[:, None] == np.arange(int(strata.max()) + 1)).astype(np.float64)
    counts = np.einsum("ks,kg,kj->sjg", in_stratum, groups, is_known.astype(np.float64), optimize=True)
    sums = np.einsum("ks,kg,kj->sjg", in_stratum, groups, filled, optimize=True)
    n_in_stratum = np.maximum(counts.sum(axis=2), 1)
    matrices = counts[..., None] * np.eye(groups.shape[1]) - (
        counts[..., :, None] * counts[..., None, :] / n_in_stratum[..., None, None]
    )
    sides = sums - counts * (sums.sum(axis=2) / n_in_stratum)[..., None]
    normal = np.tensordot(copies, matrices, axes=1)
    solved = (np.linalg.pinv(normal, rcond=1e-9, hermitian=True) @ np.tensordot(copies, sides, axes=1)[..., None])[
        ..., 0
    ]
    has_entries = np.tensordot(copies, counts, axes=1) > 0
    return np.swapaxes(np.where(has_entries, solved, np.nan), 1, 2)
