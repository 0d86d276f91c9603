"""Figures of results: scores of shapes by group, group means, variances, paths and outliers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.plotting.axes import clear_axes, own_axes
from shapelex.plotting.coloring import Coloring, color_by
from shapelex.plotting.curves import control_points, curve_points
from shapelex.plotting.drawing import draw_shape, spread_rows
from shapelex.plotting.literal_text import literal
from shapelex.plotting.palette import DARK_GRAY, GRAY, LIGHT_GRAY, MARKERS
from shapelex.plotting.poses import flat_rotation
from shapelex.plotting.style import cycle_color, styled, text_size
from shapelex.shapes.columns import column_from_values
from shapelex.spaces import Landmarks, Space
from shapelex.statistics.difference_plot import is_points

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.statistics.bilateral import Symmetry
    from shapelex.statistics.discriminant_analysis import Discriminants
    from shapelex.statistics.models import ShapeLinearModel
    from shapelex.statistics.paths import Trajectories
    from shapelex.statistics.predictions import Prediction
    from shapelex.statistics.size_dependence import Allometry
    from shapelex.statistics.unusual_shapes import Outliers
    from shapelex.statistics.variances import Disparity

_MOST_NAMED = 12
_MOST_NAMED_ERRORS = 3
_MANY_POINTS = 30
_POINT = "o"
_BOX = "#f6f6f6"
_MOST_LETTERS = 24
_MOST_ELLIPSES = 60
_ELLIPSE_POINTS = 60


@styled
def plot_group_means(shapes: ComplexArray, names: Sequence[str], space: Space, ax: Any = None) -> Any:
    """Draw shapes over each other in one pose, one color per name."""
    ax = own_axes(ax)
    turned = shapes * flat_rotation(shapes.mean(axis=0)[None], space)
    coloring = _coloring(list(names), "")
    for row, name in enumerate(names):
        _draw_one(ax, turned[row], space, **_look(coloring, name))
    _explain_shapes(ax, coloring, space)
    return ax


def _explain_shapes(ax: Any, coloring: Coloring, space: Space) -> None:
    """Leave only the shapes, with a legend of lines or points."""
    clear_axes(ax)
    if is_points(space):
        _add_legend(ax, coloring, "upper center", (0.5, 0.0), [_POINT] * len(coloring.categories))
    else:
        coloring.explain(ax)


def _draw_one(ax: Any, shape: ComplexArray, space: Space, **look: Any) -> None:
    """Draw a shape; open landmarks as points alone, as lines between numbered landmarks often mean nothing."""
    draw_shape(ax, shape, space, **({**look, "linestyle": "none"} if is_points(space) else look))


@styled
def plot_fitted_plane(fit: "ShapeLinearModel", ax: Any = None) -> Any:
    """Draw shapes and fitted shapes in the plane of the first two principal components of the fitted shapes."""
    average = fit.shapes.coordinates.mean(axis=0)
    axes, labels = _leading_axes(fit.fitted_rows - average, fit.shapes.coordinates - average, "fitted shapes")
    points = (fit.shapes.coordinates - average) @ axes.T
    centers = (fit.fitted_rows - average) @ axes.T
    ax = own_axes(ax)
    coloring = _coloring(fit.groups.tolist(), fit.groups.name) if fit.design.categorical else None
    _scatter(ax, points, coloring)
    if coloring is not None:
        for rows in coloring.categories.values():
            color = coloring.looks[int(rows[0])]["color"]
            ax.plot(*centers[rows].mean(axis=0), marker="X", markersize=8, color=color, markeredgecolor="white")
    _label(ax, labels[0], labels[1], coloring)
    ax.set_aspect("equal", adjustable="datalim")
    return ax


@styled
def plot_trajectories(found: "Trajectories", ax: Any = None) -> Any:
    """Draw paths over the shapes, in the plane of the first two principal components of the means."""
    rows = found.fit.shapes.coordinates
    average = rows.mean(axis=0)
    space = found.space
    factor = space.fold(np.eye(space.n_coordinates, dtype=np.complex128))
    flat = (found.means.reshape(-1, space.n_coordinates) @ factor).view(np.float64) - average
    axes, labels = _leading_axes(flat, rows - average, "the means")
    paths = (flat @ axes.T).reshape(*found.means.shape[:2], 2)
    ax, size = own_axes(ax), text_size()
    is_marked = len(found.points) <= len(MARKERS)
    points = (rows - average) @ axes.T
    ax.scatter(*points.T, s=6, color=LIGHT_GRAY, linewidths=0, zorder=1)
    coloring = _coloring(found.groups, "")
    for group, path in zip(found.groups, paths, strict=True):
        look = _look(coloring, group)
        ax.plot(*path.T, zorder=2, **look)
        ax.annotate("", path[-1], path[-2], arrowprops={"arrowstyle": "-|>", "color": look["color"], "linewidth": 0.8})
        for place, name in enumerate(found.points):
            marker = MARKERS[place] if is_marked else _POINT
            ax.plot(*path[place], marker=marker, markersize=6, color=look["color"], markeredgecolor="white", zorder=3)
            if not is_marked and place in (0, len(found.points) - 1):
                ax.annotate(literal(name), path[place], (4, -9), textcoords="offset points", fontsize=size,
                            color=DARK_GRAY, zorder=4)  # fmt: skip
    _label(ax, labels[0], labels[1], None)
    _explain_paths(ax, found.points if is_marked else [], coloring)
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def _explain_paths(ax: Any, points: Sequence[str], coloring: Coloring) -> None:
    """Add a legend of the groups, whose paths have colors, and of the points, whose markers are those of all groups."""
    from matplotlib.lines import Line2D

    size = text_size()
    handles = [Line2D([], [], label=literal(name), **_look(coloring, name)) for name in coloring.categories]
    handles += [
        Line2D([], [], linestyle="none", marker=marker, markersize=5, label=literal(name), color=DARK_GRAY)
        for name, marker in zip(points, MARKERS, strict=False)
    ]
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(len(handles), 6), frameon=False,
              fontsize=size, handletextpad=0.4, columnspacing=1.2, borderaxespad=0.3)  # fmt: skip


@styled
def plot_allometry(found: "Allometry", ax: Any = None) -> Any:
    """Draw regression scores against log size, with predicted shapes at both ends."""
    ax = own_axes(ax)
    coloring = None if found.groups is None else _coloring(found.groups.tolist(), "")
    _scatter(ax, np.stack([found.sizes, found.scores], axis=1), coloring)
    groups = [None] if coloring is None else list(coloring.categories)
    for group in groups:
        rows = np.arange(len(found.sizes)) if group is None or coloring is None else coloring.categories[group]
        x = found.sizes[rows]
        slope, start = np.polyfit(x, found.scores[rows], 1)
        ends = np.array([x.min(), x.max()])
        color = cycle_color(0) if coloring is None or group is None else _look(coloring, group)["color"]
        ax.plot(ends, start + slope * ends, color=color, linewidth=1.0)
    _label(ax, "log size", "regression score", coloring)
    _add_predicted(ax, found, groups[0])
    return ax


def _add_predicted(ax: Any, found: "Allometry", group: str | None) -> None:
    """Draw the predicted shapes of the smallest and the largest size inside the axes, above their ends."""
    space, size = found.fit.shapes.space, text_size()
    ends = np.exp([found.sizes.min(), found.sizes.max()])
    shapes = found.shapes_at(ends, group)
    try:
        curve_points(shapes, space)
    except UnsupportedBySpaceError:
        return
    turned = shapes * flat_rotation(shapes.mean(axis=0)[None], space)
    low, high = ax.get_ylim()
    # Room above the points, so that no shape hides them.
    ax.set_ylim(low, high + 0.45 * (high - low))
    for place, (left, word) in enumerate(((0.04, "smallest"), (0.64, "largest"))):
        inset = ax.inset_axes((left, 0.69, 0.33, 0.24))
        look = {"linewidth": 0.2 if is_points(space) and space.n_coordinates > _MANY_POINTS else 1.0}
        _draw_one(inset, turned[place], space, color=DARK_GRAY, **look)
        # A frame, so that landmarks do not look like shapes of the plot.
        inset.set_aspect("equal", adjustable="datalim")
        inset.margins(0.12)
        inset.set_xticks([])
        inset.set_yticks([])
        inset.patch.set_facecolor(_BOX)
        inset.spines[:].set_color(LIGHT_GRAY)
        inset.spines[:].set_visible(True)
        name = f"{word} size" if group is None else f"{word} size, {group}"
        inset.set_title(literal(name), fontsize=size, color=DARK_GRAY, pad=2)


@styled
def plot_variances(found: "Disparity", ax: Any = None) -> Any:
    """Draw the variances of groups as bars, with the overall variance as a line where they are about its mean."""
    ax, size = own_axes(ax), text_size()
    places = np.arange(len(found.variances))
    ax.bar(places, found.variances.to_numpy(), width=0.6, color=cycle_color(0))
    if found.about == "overall":
        ax.axhline(found.overall, color=GRAY, linewidth=0.8, linestyle="--")
        ax.annotate("all\nshapes", (1, found.overall), (2, 0), ("axes fraction", "data"), textcoords="offset points",
                    va="center", fontsize=size, color=DARK_GRAY)  # fmt: skip
    is_long = sum(map(len, found.counts.index)) > _MOST_LETTERS
    names = [name.replace(".", ".\n") if is_long else name for name in found.counts.index]
    labels = [literal(f"{name}\nn = {count}") for name, count in zip(names, found.counts, strict=True)]
    ax.set_xticks(places, labels)
    ax.tick_params(labelsize=size)
    ax.set_ylabel("Procrustes variance", fontsize=size)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


@styled
def plot_outliers(found: "Outliers", ax: Any = None) -> Any:
    """Draw the distances of all shapes in order, and name the outliers."""
    ax, size = own_axes(ax), text_size()
    table = found.table.iloc[::-1].reset_index(drop=True)
    is_far = table["is_outlier"].to_numpy()
    places, distances = np.arange(len(table)), table["distance"].to_numpy()
    ax.scatter(places[~is_far], distances[~is_far], s=9, color=cycle_color(0), linewidths=0)
    ax.scatter(places[is_far], distances[is_far], s=16, color=cycle_color(1), linewidths=0)
    for place in places[is_far][::-1][:_MOST_NAMED]:
        ax.annotate(literal(table["id"][place]), (place, distances[place]), (-5, 0), textcoords="offset points",
                    ha="right", va="center", fontsize=size)  # fmt: skip
    if "group" not in table:
        ax.axhline(table["limit"][0], color=GRAY, linewidth=0.8, linestyle="--")
    _label(ax, "shapes, by distance", "distance from the mean", None)
    return ax


@styled
def plot_errors(errors: "pd.Series", ax: Any = None) -> Any:
    """Draw the measurement error of each specimen in order, and name the largest."""
    ax, size = own_axes(ax), text_size()
    ordered = errors.sort_values()
    places = np.arange(len(ordered))
    ax.scatter(places, ordered.to_numpy(), s=9, color=cycle_color(0), linewidths=0)
    for place in places[::-1][:_MOST_NAMED_ERRORS]:
        ax.annotate(literal(ordered.index[place]), (place, ordered.iloc[place]), (-5, 0), textcoords="offset points",
                    ha="right", va="center", fontsize=size)  # fmt: skip
    _label(ax, "specimens, by error", "mean squared distance from their mean", None)
    return ax


@styled
def plot_permuted(values: FloatArray, name: str, ax: Any = None) -> Any:
    """Draw a histogram of the statistics of permutations, with the observed one, which is the first."""
    ax, size = own_axes(ax), text_size()
    ax.hist(values, bins="auto", color=LIGHT_GRAY)
    ax.axvline(values[0], color=cycle_color(1))
    ax.annotate("observed", (values[0], 1), (3, -2), ("data", "axes fraction"), textcoords="offset points", va="top",
                fontsize=size, color=cycle_color(1))  # fmt: skip
    _label(ax, name, "permutations", None)
    return ax


@styled
def plot_discriminants(found: "Discriminants", ax: Any = None) -> Any:
    """Draw the shapes on the first two discriminant axes, or histograms on the only one."""
    ax = own_axes(ax)
    coloring = _coloring(found.groups.tolist(), "")
    if found.scores.shape[1] > 1:
        _scatter(ax, found.scores[:, :2], coloring)
        _label(ax, "discriminant 1", "discriminant 2", coloring)
        return ax
    bins = np.histogram_bin_edges(found.scores[:, 0], bins="auto")
    for name, rows in coloring.categories.items():
        ax.hist(found.scores[rows, 0], bins=bins, alpha=0.6, color=_look(coloring, name)["color"])
    _label(ax, "discriminant", "shapes", coloring)
    return ax


@styled
def plot_scores(first: FloatArray, second: FloatArray, x_name: str, y_name: str, title: str, ax: Any = None) -> Any:
    """Draw one score of each shape against another."""
    ax = own_axes(ax)
    _scatter(ax, np.stack([first, second], axis=1), None)
    _label(ax, x_name, y_name, None)
    ax.set_title(literal(title), fontsize=text_size())
    return ax


@styled
def plot_predictions(found: "Prediction", ax: Any = None) -> Any:
    """Draw predicted shapes over each other, with the confidence ellipses of landmarks."""
    ax = own_axes(ax)
    turn = flat_rotation(found.shapes.mean(axis=0)[None], found.space)
    varying = [name for name in found.data.columns if found.data[name].nunique() > 1]
    names = [
        ", ".join(str(found.data[name][row]) for name in varying) or f"prediction {row + 1}"
        for row in range(len(found.shapes))
    ]
    coloring = _coloring(names, ", ".join(map(str, varying)))
    has_points = isinstance(found.space, Landmarks)
    for row, name in enumerate(names):
        look = _look(coloring, name)
        _draw_one(ax, found.shapes[row] * turn, found.space, **look)
        if found.covariances is not None and has_points:
            centers = control_points(found.shapes[row] * turn, found.space)
            _draw_ellipses(ax, centers, found.covariances[row], turn, found.confidence, look["color"])
    _explain_shapes(ax, coloring, found.space)
    return ax


@styled
def plot_asymmetry(found: "Symmetry", ax: Any = None) -> Any:
    """Draw the symmetric mean shape, and the mean of the asymmetric component with its differences enlarged."""
    ax, size = own_axes(ax), text_size()
    mean = found.symmetric.mean(axis=0)
    change = found.asymmetric.mean(axis=0) - mean
    enlarged = max(1.0, float(np.round(0.08 / max(float(np.abs(change).max()), 1e-12))))
    turn = flat_rotation(mean[None], found.space)
    _draw_one(ax, mean * turn, found.space, color=GRAY)
    ends = (mean + enlarged * change) * turn
    if is_points(found.space):
        for start, end in zip(mean * turn, ends, strict=True):
            ax.plot([start.real, end.real], [start.imag, end.imag], color=cycle_color(0), linewidth=1.0)
    _draw_one(ax, ends, found.space, color=cycle_color(0))
    clear_axes(ax)
    ax.set_title(f"symmetric mean (gray), directional asymmetry × {enlarged:g}", fontsize=size)
    return ax


def _draw_ellipses(
    ax: Any, centers: ComplexArray, covariances: FloatArray, turn: complex, confidence: float, color: Any
) -> None:
    radius = float(np.sqrt(-2 * np.log(1 - confidence)))
    circle = np.exp(2j * np.pi * np.arange(_ELLIPSE_POINTS + 1) / _ELLIPSE_POINTS)
    around = np.stack([circle.real, circle.imag])
    for place in spread_rows(len(centers), _MOST_ELLIPSES):
        values, vectors = np.linalg.eigh(covariances[place])
        edge = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * around)
        points = centers[place] + radius * (edge[0] + 1j * edge[1]) * turn
        ax.plot(points.real, points.imag, color=color, linewidth=0.5, alpha=0.8)


def _leading_axes(rows: FloatArray, all_rows: FloatArray, what: str) -> tuple[FloatArray, list[str]]:
    """Return the first two principal axes of rows, and their names with the share of the variation of all rows."""
    _, values, axes = np.linalg.svd(rows, full_matrices=False)
    names = [f"axis {place} of {what}" for place in (1, 2)]
    if len(values) < 2 or values[1] <= 1e-9 * values[0]:
        # One dimension only: the second axis is that of what remains of all rows.
        rest = all_rows - (all_rows @ axes[:1].T) @ axes[:1]
        axes = np.vstack([axes[:1], np.linalg.svd(rest, full_matrices=False)[2][:1]])
        names = [f"axis of {what}", "first axis of the rest"]
    chosen: FloatArray = axes[:2]
    shares = ((all_rows @ chosen.T) ** 2).sum(axis=0) / (all_rows**2).sum()
    return chosen, [f"{name} ({100 * share:.0f} % of all variation)" for name, share in zip(names, shares, strict=True)]


def _coloring(values: Sequence[Any], title: Any) -> Coloring:
    return color_by(column_from_values([str(value) for value in values]), str(title or ""))


def _look(coloring: Coloring, name: str) -> dict[str, Any]:
    return dict(coloring.looks[int(coloring.categories[str(name)][0])])


def _scatter(ax: Any, points: FloatArray, coloring: Coloring | None) -> None:
    if coloring is None:
        ax.scatter(*points.T, s=12, color=cycle_color(0), linewidths=0, alpha=0.8)
        return
    for place, rows in enumerate(coloring.categories.values()):
        color = coloring.looks[int(rows[0])]["color"]
        marker = MARKERS[place % len(MARKERS)]
        ax.scatter(*points[rows].T, s=12, color=color, marker=marker, linewidths=0, alpha=0.8)


def _label(ax: Any, x_name: str, y_name: str, coloring: Coloring | None) -> None:
    size = text_size()
    ax.set_xlabel(literal(x_name), fontsize=size)
    ax.set_ylabel(literal(y_name), fontsize=size)
    ax.tick_params(labelsize=size)
    ax.spines[["top", "right"]].set_visible(False)
    if coloring is not None:
        markers = [MARKERS[place % len(MARKERS)] for place in range(len(coloring.categories))]
        _add_legend(ax, coloring, "lower center", (0.5, 1.0), markers)


def _add_legend(ax: Any, coloring: Coloring, place: str, anchor: tuple[float, float], markers: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    size = text_size()
    colors = [coloring.looks[int(rows[0])]["color"] for rows in coloring.categories.values()]
    handles = [
        Line2D([], [], linestyle="none", marker=marker, markersize=4, label=literal(name), color=color)
        for name, marker, color in zip(coloring.categories, markers, colors, strict=True)
    ]
    ax.legend(handles=handles, title=literal(coloring.title) or None, loc=place, bbox_to_anchor=anchor,
              ncols=min(len(handles), 4), frameon=False, fontsize=size, title_fontsize=size,
              handletextpad=0.2, columnspacing=1.2, borderaxespad=0.3)  # fmt: skip
