"""Transition graphs: states as disks, changes from one to another as arrows."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, FloatArray
from shapelex._validation import as_numeric_array, check_count, check_not_negative, is_data_frame
from shapelex.exceptions import ShapeInputError
from shapelex.plotting.axes import clear_axes, resolve_axes
from shapelex.plotting.literal_text import literal
from shapelex.plotting.palette import DARK_GRAY, FILLS
from shapelex.plotting.style import styled, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_RADIUS, _MOST_RADIUS = 0.11, 0.24  # of the disks, on a circle of radius 1
_MOST_WIDTH = 4.5  # points
_BEND = 0.18
# More states than this have so many arrows that only the likely ones have their probability written.
_FEW_STATES, _LIKELY = 6, 0.15


@styled
def plot_transitions(
    matrix: Any,
    *,
    shares: ArrayLike | None = None,
    min_probability: float = 0.05,
    max_states: int = 10,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how often states follow each other, as a graph.

    Disks are states; their areas are the shares of the time. The width of an arrow is the probability that the second
    state follows the first, which is written near its begin; of more than six states, only where it is 15 % or more.
    How long a state lasts is not drawn: the diagonal of the matrix
    is left out.

    Parameters
    ----------
    matrix : DataFrame or array_like of float, shape (n_states, n_states)
        Probabilities: entry (i, j) is that of state j after state i. The index of a data frame names the states.
    shares : array_like of float, shape (n_states,), optional
        Share of the time in each state, by which states are ordered clockwise from the top; disks are of one size, and
        in the order of the matrix, when not given.
    min_probability : float, default 0.05
        Smallest probability that is drawn.
    max_states : int, default 10
        Maximum number of states, those with the largest shares, or the first ones; the title says how many are left
        out.
    fontsize : float, optional
        Size of the text, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ShapeInputError
        If the matrix is not square, has negative entries, or there is not one share per state.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_transitions([[0, 0.9, 0.1], [0.5, 0, 0.5], [1, 0, 0]], ax=Figure().subplots())
    >>> sorted(text.get_text() for text in ax.texts if text.get_gid() == "probability")
    ['10 %', '100 %', '50 %', '50 %', '90 %']
    """
    from matplotlib.patches import Circle, FancyArrowPatch

    names, chances = _as_matrix(matrix)
    held = _as_shares(shares, len(names))
    least = check_not_negative(min_probability, "min_probability")
    order = np.arange(len(names)) if held is None else np.argsort(-held, kind="stable")
    shown = order[: check_count(max_states, 1, "max_states")]
    ax, size = resolve_axes(ax), text_size(fontsize)
    centers = np.exp(1j * (np.pi / 2 - 2 * np.pi * np.arange(len(shown)) / len(shown))) * (len(shown) > 1)
    # Neighbors on the circle do not touch, whatever their number.
    room = 2.0 if len(shown) < 2 else abs(centers[1] - centers[0])
    most = min(_MOST_RADIUS, 0.3 * room)
    radii = np.full(len(shown), 0.7 * most)
    if held is not None:
        radii = np.maximum(most * np.sqrt(held[shown] / held[shown].max()), min(_LEAST_RADIUS, 0.5 * most))
    fills = [FILLS[place % len(FILLS)] for place in range(len(shown))]
    for i, one in enumerate(shown):
        for j, other in enumerate(shown):
            chance = float(chances[one, other])
            if i == j or chance < least or chance == 0:
                continue
            start, stop, label = _ends(centers[i], centers[j], radii[i], radii[j])
            width = _MOST_WIDTH * min(1.0, chance)
            arrow = FancyArrowPatch(
                (start.real, start.imag), (stop.real, stop.imag), connectionstyle=f"arc3,rad={_BEND}",
                arrowstyle="-|>,head_length=0.5,head_width=0.28", mutation_scale=6 + 2.0 * width,
                linewidth=max(0.5, width), color=fills[i], alpha=0.8, shrinkA=0, shrinkB=0, zorder=2,
            )  # fmt: skip
            ax.add_patch(arrow)
            if len(shown) > _FEW_STATES and chance < _LIKELY:
                continue
            ax.text(label.real, label.imag, f"{100 * chance:.0f} %", fontsize=0.85 * size, color=DARK_GRAY, ha="center",
                    va="center", gid="probability", zorder=4,
                    bbox={"facecolor": ax.figure.get_facecolor(), "edgecolor": "none", "pad": 0.6})  # fmt: skip
    for i, one in enumerate(shown):
        place = (float(centers[i].real), float(centers[i].imag))
        ax.add_patch(Circle(place, float(radii[i]), facecolor=fills[i], edgecolor="none", zorder=3))
        _name_state(ax, centers[i], float(radii[i]), names[one], None if held is None else float(held[one]), size)
    # Names stand outside of the disks.
    reach = 1.0 + 2.1 * most
    ax.set(xlim=(-reach - 0.25, reach + 0.25), ylim=(-reach - 0.15, reach + 0.15))
    clear_axes(ax)
    if len(shown) < len(names):
        ax.set_title(f"{len(shown)} of {len(names)} states", fontsize=size)
    return ax


def _as_matrix(matrix: Any) -> tuple[list[str], FloatArray]:
    """Return the names of the states and the matrix, checked."""
    values = as_numeric_array(matrix, "matrix")
    if values.ndim != 2 or values.shape[0] != values.shape[1] or np.iscomplexobj(values):
        raise ShapeInputError(f"matrix must be real and square, (n_states, n_states), got shape {values.shape}.")
    # The row of a state that is never left has no probabilities.
    values = np.nan_to_num(values.astype(np.float64), nan=0.0)
    if (values < 0).any():
        raise ShapeInputError("matrix must not have negative probabilities.")
    names = matrix.index.tolist() if is_data_frame(matrix) else range(len(values))
    return [str(name) for name in names], values


def _as_shares(shares: ArrayLike | None, n_states: int) -> FloatArray | None:
    if shares is None:
        return None
    held = as_numeric_array(shares, "shares").astype(np.float64)
    if held.shape != (n_states,) or not (held >= 0).all() or not held.any():
        raise ShapeInputError(
            f"shares must be one number for each of the {n_states} states, not negative, got shape {held.shape}."
        )
    return held


def _ends(start: complex, stop: complex, first: float, second: float) -> tuple[complex, complex, complex]:
    """Return where an arrow begins and ends, at the rims of two disks, and where its label stands."""
    way = (stop - start) / abs(stop - start)
    # Bent arrows leave and enter a little to the right, so that those of both directions stay apart.
    turn = np.exp(-1j * 2.0 * _BEND)
    begin, end = start + 1.08 * first * way * turn, stop - 1.12 * second * way / turn
    # Near the begin, where arrows that cross in the middle of the graph do not meet; halfway where it is near.
    share = 0.5 if abs(stop - start) < 0.8 else 0.27
    label = begin + (share - 2j * _BEND * share * (1 - share)) * (end - begin)
    return complex(begin), complex(end), complex(label)


def _name_state(ax: "Axes", center: complex, radius: float, name: str, share: float | None, fontsize: float) -> None:
    """Write the name of a state, outside of the graph, and its share of the time."""
    way = center / abs(center) if abs(center) > 0 else 1j
    place = center + (radius + 0.05) * way
    side = "center" if abs(way.real) < 0.3 else "left" if way.real > 0 else "right"
    rise = "center" if abs(way.imag) < 0.3 else "bottom" if way.imag > 0 else "top"
    text = name if share is None else f"{name}\n{100 * share:.0f} %"
    ax.text(place.real, place.imag, literal(text), fontsize=fontsize, ha=side, va=rise, gid="state", linespacing=1.1)
