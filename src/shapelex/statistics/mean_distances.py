"""How far the means of groups are apart: distances between mean shapes with bootstrap intervals."""

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import FloatArray
from shapelex.plotting.axes import name_rows_along_y, own_axes
from shapelex.plotting.palette import BLUE, DARK_GRAY, GRAY
from shapelex.plotting.style import styled, text_size
from shapelex.statistics.grouping import Grouping

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def mean_distances(
    grouping: Grouping, values: FloatArray, bootstrap: int, confidence: float, rng: np.random.Generator
) -> "pd.DataFrame":
    """Return the distance between the means of each pair of groups, with its interval.

    `values` are aligned shapes, or means of units, as real rows. Means of samples are farther apart than those of the
    populations: the squared distance d² exceeds theirs by V, the sum of the variances of both means, on average.
    ``adjusted`` is the root of ``d² − V``, and 0 where that is negative. The interval is the basic bootstrap interval
    of the squared distance, which has the same adjustment: with quantiles q of the squared distances of bootstrap
    samples, its ends are the roots of ``2 d² − q``. ``D`` is the adjusted distance in root mean squared distances of
    shapes from the mean of their group.
    """
    import pandas as pd

    members = (grouping.groups == np.arange(len(grouping.names))[:, None]).astype(np.float64)
    means = members @ values / grouping.counts[:, None]
    pairs = np.array(list(combinations(range(len(grouping.names)), 2)))
    squares = np.sum((means[pairs[:, 1]] - means[pairs[:, 0]]) ** 2, axis=1)
    within = members @ np.sum((values - means[grouping.groups]) ** 2, axis=1)
    variances = within / np.maximum(grouping.counts - 1, 1) / grouping.counts
    adjusted = _root(squares - variances[pairs].sum(axis=1))
    # Squared distances between means are sums over products of shapes, of which there are n² for any number of points.
    gram = values @ values.T if len(values) < values.shape[1] else None
    drawn = []
    for copies in replace(grouping, strata=None).resampled(bootstrap, rng):
        shares = copies[:, None, :] * members / grouping.counts[:, None]
        contrasts = shares[:, pairs[:, 1]] - shares[:, pairs[:, 0]]
        steps = contrasts @ (values if gram is None else gram)
        drawn.append(np.sum(steps * (steps if gram is None else contrasts), axis=2))
    low, high = np.full((2, len(pairs)), np.nan)
    if drawn:
        upper, lower = np.percentile(np.concatenate(drawn), (50 * (1 + confidence), 50 * (1 - confidence)), axis=0)
        low, high = _root(2 * squares - upper), _root(2 * squares - lower)
    spread = np.sqrt(within.sum() / max(grouping.n_units - len(grouping.names), 1))
    return pd.DataFrame({
        "first": [grouping.names[first] for first, _ in pairs],
        "second": [grouping.names[second] for _, second in pairs],
        "distance": np.sqrt(squares),
        "adjusted": adjusted,
        "low": low,
        "high": high,
        "D": adjusted / spread if spread > 0 else np.full(len(pairs), np.nan),
    })  # fmt: skip


def _root(squares: FloatArray) -> FloatArray:
    """Return square roots, 0 for negative numbers."""
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


@styled
def plot_mean_distances(table: "pd.DataFrame", *, alpha: float = 0.05, ax: "Axes | None" = None) -> "Axes":
    """Draw the distances with their intervals, one line per pair; pairs of which `P` exceeds `alpha` are gray."""
    ax, size = own_axes(ax), text_size()
    for place, row in enumerate(table.itertuples()):
        is_found = alpha >= row.P
        color = BLUE if is_found else GRAY
        ax.plot([row.low, row.high], [place, place], color=color, linewidth=1.4, solid_capstyle="butt")
        ax.plot([row.adjusted], [place], marker="o", markersize=5, color=color,
                markerfacecolor=color if is_found else "white", linestyle="none")  # fmt: skip
        ax.annotate(f"P = {row.P:.3g}", (1, place), xycoords=("axes fraction", "data"), xytext=(4, 0),
                    textcoords="offset points", va="center", fontsize=size, color=DARK_GRAY)  # fmt: skip
    ax.axvline(0, color=DARK_GRAY, linewidth=0.6, zorder=0)
    names = [f"{one.first} – {one.second}" for one in table.itertuples()]
    name_rows_along_y(ax, names, "distance between the mean shapes, adjusted for sampling (centroid size 1)", size)
    return ax
