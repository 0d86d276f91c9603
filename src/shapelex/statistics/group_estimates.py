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
        n_copied = grouping.n_strata if grouping.draws_strata else grouping.n_units
        compared = _group_means(grouping, np.ones((1, n_copied)), values)[0]
        compared_drawn = [_group_means(grouping, copies, values) for copies in grouping.resampled(bootstrap, rng)]
    pairs, columns = _pairs(compared), np.arange(values.shape[1])

    def difference(estimates: FloatArray) -> FloatArray:
        return np.asarray(estimates[..., pairs[:, 0], columns] - estimates[..., pairs[:, 1], columns])

    # Entries that are alone in what samples are drawn from do not vary between samples.
    can_vary, can_differ = _varies(plain, values), _varies(grouping, values)
    both = can_differ[pairs[:, 0], columns] & can_differ[pairs[:, 1], columns]
    return GroupEstimates(
        means=means,
        means_interval=_where(can_vary, _interval(drawn, means, confidence)),
        pairs=pairs,
        differences=difference(compared),
        interval=_where(both, _interval([difference(one) for one in compared_drawn], difference(compared), confidence)),
    )


def _varies(grouping: Grouping, values: FloatArray) -> BoolArray:
    """Return for which groups and columns at least half of the entries vary between samples: (n_groups, n_columns)."""
    is_known = ~np.isnan(values)
    found = np.zeros((len(grouping.names), values.shape[1]), dtype=bool)
    for group in range(len(found)):
        is_own = grouping.groups == group
        known = is_known[is_own].sum(axis=0)
        if grouping.draws_strata:
            found[group] = known > 1
            continue
        members = grouping.cells()[is_own]
        counts = (members[:, None] == np.unique(members)).astype(np.float64).T @ is_known[is_own]
        found[group] = (known > 1) & (2 * np.sum(counts == 1, axis=0) <= known)
    return found


def _where(is_shown: BoolArray, interval: Interval) -> Interval:
    low, high = interval
    return np.where(is_shown, low, np.nan), np.where(is_shown, high, np.nan)


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

    `copies` says how often each unit counts, (n_samples, n_units), or how often each stratum counts where strata are
    drawn. With strata, averages are those of the additive model of groups and strata, up to a constant: differences
    between them are differences within strata.
    """
    is_known = ~np.isnan(values)
    filled, entries = np.where(is_known, values, 0), is_known.astype(np.float64)
    groups = (grouping.groups[:, None] == np.arange(len(grouping.names))).astype(np.float64)
    if grouping.strata is None:
        weighted = np.swapaxes(copies[:, :, None] * groups, 1, 2)
        counts = weighted @ entries
        return np.where(counts > 0, weighted @ filled / np.maximum(counts, 1), np.nan)
    in_stratum = (grouping.strata[:, None] == np.arange(grouping.n_strata)).astype(np.float64)
    if grouping.draws_strata:
        counts = np.einsum("ks,kg,kj->sjg", in_stratum, groups, entries, optimize=True)
        sums = np.einsum("ks,kg,kj->sjg", in_stratum, groups, filled, optimize=True)
        matrices, sides = _normal_equations(counts, sums)
        return _solve(*(np.tensordot(copies, one, axes=1) for one in (matrices, sides, counts)))
    parts = []
    for own in in_stratum.T:
        cells = own * groups.T
        counts, sums = (np.stack([(copies * cell) @ one for cell in cells], axis=-1) for one in (entries, filled))
        parts.append((*_normal_equations(counts, sums), counts))
    return _solve(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))


def _normal_equations(counts: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what a stratum adds to the normal equations of groups, from counts and sums ``(…, n_groups)``."""
    n_in_stratum = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    matrices = counts[..., None] * np.eye(counts.shape[-1]) - (
        counts[..., :, None] * counts[..., None, :] / n_in_stratum[..., None]
    )
    return matrices, sums - counts * sums.sum(axis=-1, keepdims=True) / n_in_stratum


def _solve(normal: FloatArray, right: FloatArray, counts: FloatArray) -> FloatArray:
    """Return averages ``(n_samples, n_groups, n_columns)``; NaN where a group has no entries."""
    solved = (np.linalg.pinv(normal, rcond=1e-9, hermitian=True) @ right[..., None])[..., 0]
    return np.swapaxes(np.where(counts > 0, solved, np.nan), 1, 2)
