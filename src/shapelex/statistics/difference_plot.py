"""Mean shapes of groups over each other, with the displacements between them and marks on what differs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray
from shapelex._validation import check_positive
from shapelex.plotting.axes import clear_axes, own_axes
from shapelex.plotting.drawing import draw_shape
from shapelex.plotting.literal_text import literal
from shapelex.plotting.palette import AMBER, BLUE, CYCLE, DARK_GRAY, GRAY
from shapelex.plotting.poses import flat_rotation
from shapelex.plotting.style import styled, text_size
from shapelex.spaces import Landmarks, Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ARROWS = 48
# The largest displacement is drawn at least this long, as a share of the size of the shape.
_SHORTEST = 0.07
_MOST_NUMBERS = 60
_MOST_IN_A_LINE = 4
_MARGIN = 0.06
_MARK = "differs"
_MAGNIFICATIONS = (1, 2, 3, 5, 10, 20, 50, 100)


@styled
def plot_difference(
    means: ComplexArray,
    space: Space,
    names: Sequence[str],
    *,
    parameters: FloatArray | None = None,
    differs: BoolArray | None = None,
    lines: bool | None = None,
    magnify: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw mean shapes in a common pose over each other.

    Of two groups, arrows lead from the first mean to the second one, whose differences are magnified. `differs` says
    which of the points at `parameters` are marked. Without `lines`, landmarks are drawn as points with their numbers,
    counted from 1; by default those that are not closed, as lines between them often mean nothing.
    """
    ax = own_axes(ax)
    lines = not is_points(space) if lines is None else lines
    drawn = flat_rotation(means, space) * space.centered(means)
    n_points = space.n_coordinates if isinstance(space, Landmarks) else _MOST_ARROWS
    where = space.parameters(n_points) if parameters is None else parameters
    points = space.sample(drawn, where)
    factor = _magnification(points) if magnify is None else check_positive(magnify, "magnify")
    if len(drawn) == 2:
        drawn[1] = drawn[0] + factor * (drawn[1] - drawn[0])
        points = space.sample(drawn, where)
    base = points[0] if len(drawn) == 2 else points.mean(axis=0)
    if differs is not None:
        _mark(ax, base, differs, lines, space.closed)
    colors = (GRAY, BLUE) if len(drawn) == 2 else CYCLE
    look: dict[str, Any] = {} if lines else {"linestyle": "none", "linewidth": 2.8}
    has_numbers = not lines and space.n_coordinates <= _MOST_NUMBERS
    groups: list[Any] = []
    for place, (mean, name) in enumerate(zip(drawn, names, strict=True)):
        n_before = len(ax.lines)
        label = f"{name}, differences ×{factor:g}" if place and len(drawn) == 2 and factor != 1 else name
        draw_shape(ax, mean, space, color=colors[place % len(colors)], label=literal(label), zorder=2 + place, **look)
        groups.append(ax.lines[n_before])
    if len(drawn) == 2:
        _draw_arrows(ax, points[0], points[1] - points[0])
    clear_axes(ax)
    # Room for the disks of marks and the numbers of landmarks.
    ax.margins(_MARGIN if lines else 2 * _MARGIN)
    if has_numbers:
        _number(ax, points)
    _explain(ax, groups)
    return ax


def is_points(space: Space) -> bool:
    """Return whether shapes are landmarks through which no line goes."""
    return isinstance(space, Landmarks) and not space.closed


def _number(ax: "Axes", points: ComplexArray) -> None:
    """Write the numbers of landmarks beside them, on the side away from the middle."""
    middle = points.mean()
    for number, places in enumerate(points.T, start=1):
        away = places - middle
        farthest = places[np.argmax(np.abs(away))]
        step = 9 * (farthest - middle) / max(abs(farthest - middle), 1e-12)
        ax.annotate(str(number), (farthest.real, farthest.imag), (step.real, step.imag), textcoords="offset points",
                    ha="center", va="center", fontsize=text_size(), color=DARK_GRAY, zorder=5)  # fmt: skip


def _explain(ax: "Axes", groups: Sequence[Any]) -> None:
    """Add a legend: the groups in their order, then the marks."""
    # Groups are given, because matplotlib leaves out names that begin with an underscore.
    others = [one for one in ax.get_legend_handles_labels()[0] if one not in groups]
    handles = [*groups, *sorted(others, key=lambda one: one.get_gid() == _MARK)]
    n_columns = len(handles) if len(handles) <= _MOST_IN_A_LINE else 3
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=n_columns, frameon=False,
              fontsize=text_size())  # fmt: skip


def _magnification(points: ComplexArray) -> float:
    """Return the smallest round factor at which the largest displacement can be seen."""
    if len(points) != 2:
        return 1
    longest = float(np.abs(points[1] - points[0]).max())
    size = float(max(np.ptp(points.real), np.ptp(points.imag)))
    return next((one for one in _MAGNIFICATIONS if one * longest >= _SHORTEST * size), 1)


def _mark(ax: "Axes", points: ComplexArray, differs: BoolArray, lines: bool, closed: bool) -> None:
    """Mark stretches of a curve by a broad line, and single points and landmarks by a disk."""
    label: str | None = _MARK
    look: dict[str, Any] = {"color": AMBER, "alpha": 0.55, "zorder": 1, "gid": _MARK}
    in_stretch = np.zeros(len(points), dtype=bool)
    if lines:
        for places in stretches(differs, closed):
            if len(places) > 1:
                in_stretch[places] = True
                along = points[places]
                ax.plot(along.real, along.imag, linewidth=7, solid_capstyle="round", label=label, **look)
                label = None
    alone = points[differs & ~in_stretch]
    if len(alone):
        ax.plot(alone.real, alone.imag, linestyle="none", marker="o", markersize=10, markeredgewidth=0,
                label=label, **look)  # fmt: skip


def stretches(differs: BoolArray, closed: bool) -> list[np.ndarray[Any, Any]]:
    """Return the runs of consecutive points that differ; on a closed curve, one may pass the start point."""
    places = np.flatnonzero(differs)
    if not len(places):
        return []
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    n_points = len(differs)
    if closed and differs.all():
        return [np.arange(n_points + 1) % n_points]
    if closed and len(runs) > 1 and runs[0][0] == 0 and runs[-1][-1] == n_points - 1:
        runs = [np.concatenate([runs[-1], runs[0]]), *runs[1:-1]]
    return runs


def _draw_arrows(ax: "Axes", starts: ComplexArray, steps: ComplexArray) -> None:
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(len(starts), _MOST_ARROWS)).astype(int))
    ax.quiver(
        starts[chosen].real,
        starts[chosen].imag,
        steps[chosen].real,
        steps[chosen].imag,
        angles="xy",
        scale_units="xy",
        scale=1,
        width=0.003,
        headwidth=4,
        headlength=5,
        headaxislength=4.5,
        minlength=0.5,
        color=DARK_GRAY,
        zorder=4,
    )
