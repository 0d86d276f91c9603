"""How far the means of groups are apart: distances between mean shapes with bootstrap intervals."""

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shapelex._typing import FloatArray
from shapelex.plotting.axes import name_rows_along_y, resolve_axes
from shapelex.plotting.palette import BLUE, DARK_GRAY, GRAY
from shapelex.plotting.style import styled, text_size
from shapelex.statistics.grouping import Grouping

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def mean_distances(
    grouping: Grouping, coordinates: FloatArray, bootstrap: int, confidence: float, rng: np.random.Generator
) -> "pd.DataFrame":
    """Return the distance between the means of each pair of groups, with its interval.

    `coordinates` are aligned shapes as real rows. A length is never negative, so that bootstrap lengths are too large
    where means are near each other: the interval is that of the difference of the means along the direction in which
    they differ, which may reach below 0. ``D`` is the distance in root mean squared distances of shapes from the mean
    of their group.
    """
    import pandas as pd

    values = grouping.averaged(coordinates)
    members = (grouping.groups == np.arange(len(grouping.names))[:, None]).astype(np.float64)
    means = members @ values / grouping.counts[:, None]
    pairs = np.array(list(combinations(range(len(grouping.names)), 2)))
    steps = means[pairs[:, 1]] - means[pairs[:, 0]]
    lengths = np.linalg.norm(steps, axis=1)
    directions = steps / np.where(lengths > 0, lengths, 1)[:, None]
    # Only the parts of the shapes along these directions count.
    along = values @ directions.T
    drawn = []
    for copies in replace(grouping, strata=None).resampled(bootstrap, rng):
        averages = (copies[:, None, :] * members) @ along / grouping.counts[:, None]
        columns = np.arange(len(pairs))
        drawn.append(averages[:, pairs[:, 1], columns] - averages[:, pairs[:, 0], columns])
    tails = 50 * (1 - confidence), 50 * (1 + confidence)
    low, high = np.percentile(np.concatenate(drawn), tails, axis=0) if drawn else np.full((2, len(pairs)), np.nan)
    n_within = max(grouping.n_units - len(grouping.names), 1)
    spread = np.sqrt(np.sum((values - means[grouping.groups]) ** 2) / n_within)
    return pd.DataFrame({
        "first": [grouping.names[first] for first, _ in pairs],
        "second": [grouping.names[second] for _, second in pairs],
        "distance": lengths,
        "low": low,
        "high": high,
        "D": lengths / spread if spread > 0 else np.full(len(lengths), np.nan),
    })  # fmt: skip


@styled
def plot_mean_distances(table: "pd.DataFrame", *, alpha: float = 0.05, ax: "Axes | None" = None) -> "Axes":
    """Draw the distances with their intervals, one line per pair; pairs of which `P` exceeds `alpha` are gray."""
    ax, size = resolve_axes(ax), text_size()
    for place, row in enumerate(table.itertuples()):
        is_found = alpha >= row.P
        color = BLUE if is_found else GRAY
        ax.plot([row.low, row.high], [place, place], color=color, linewidth=1.4, solid_capstyle="butt")
        ax.plot([row.distance], [place], marker="o", markersize=5, color=color,
                markerfacecolor=color if is_found else "white", linestyle="none")  # fmt: skip
        ax.annotate(f"P = {row.P:.3g}", (1, place), xycoords=("axes fraction", "data"), xytext=(4, 0),
                    textcoords="offset points", va="center", fontsize=size, color=DARK_GRAY)  # fmt: skip
    ax.axvline(0, color=DARK_GRAY, linewidth=0.6, zorder=0)
    names = [f"{one.first} – {one.second}" for one in table.itertuples()]
    name_rows_along_y(ax, names, "distance between the mean shapes (centroid size 1)", size)
    return ax
