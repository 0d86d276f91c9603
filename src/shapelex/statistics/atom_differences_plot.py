"""Differences in use and weight of atoms with their intervals, and the atoms beside them."""

from typing import TYPE_CHECKING

import numpy as np

from shapelex._validation import check_count
from shapelex.plotting.axes import clear_axes, name_rows_along_y, own_axes
from shapelex.plotting.drawing import draw_shape
from shapelex.plotting.literal_text import literal
from shapelex.plotting.palette import BLUE, DARK_GRAY, GRAY, ORANGE
from shapelex.plotting.poses import pose_rotations
from shapelex.plotting.style import cycle_color, styled, text_size

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from shapelex.statistics.atom_differences import AtomTests

_COLORS = {"use": BLUE, "weight": ORANGE}
_MARKERS = {"use": "o", "weight": "s"}
_ROOM = 0.06
# Distance in inches of the legend from the axes, above the ticks and the name of the upper axis.
_ABOVE = 0.42
_OFFSETS = {"use": -0.16, "weight": 0.16}


@styled
def plot_atom_differences(tests: "AtomTests", *, max_atoms: int = 15, ax: "Axes | None" = None) -> "Axes":
    """Draw one line per atom, the smallest P on top; differences that are not significant are gray and hollow."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    check_count(max_atoms, 1, "max_atoms")
    ax, size = own_axes(ax), text_size()
    table = tests.table[tests.table["P"].notna()]
    order = table.groupby("atom")["P_fdr"].min().sort_values(kind="stable").index[:max_atoms].tolist()
    has_pairs = len(tests.groups) > 2
    # Use is a share and weight has the scale of the codes: each has its own axis, with 0 at the same place.
    axes, scales, left, right = {"use": ax, "weight": ax.twiny()}, {"use": 1.0, "weight": 1.0}, 0.0, 0.0
    for measure, own in axes.items():
        shown = table[(table["measure"] == measure) & table["atom"].isin(order)]
        for row in shown.itertuples():
            is_found = row.P_fdr <= tests.alpha
            color, height = _COLORS[measure] if is_found else GRAY, order.index(row.atom) + _OFFSETS[measure]
            if np.isfinite(row.low):
                own.plot([row.low, row.high], [height, height], color=color, linewidth=1.2, solid_capstyle="butt")
            own.plot([row.difference], [height], marker=_MARKERS[measure], color=color, markersize=4.5,
                     markerfacecolor=color if is_found else "white", linestyle="none")  # fmt: skip
            if has_pairs:
                end = row.high if np.isfinite(row.high) else row.difference
                own.annotate(literal(row.contrast), (end, height), (4, 0), textcoords="offset points", va="center",
                             fontsize=0.85 * size, color=DARK_GRAY)  # fmt: skip
        values = shown[["difference", "low", "high"]].to_numpy(dtype=np.float64)
        scales[measure] = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        left = max(left, -float(np.nanmin(values, initial=0.0)) / scales[measure])
        right = max(right, float(np.nanmax(values, initial=0.0)) / scales[measure])
    for measure, own in axes.items():
        # Names of groups stand at the right of the intervals.
        room = _ROOM * (left + right)
        own.set_xlim(-(left + room) * scales[measure], (right + (6 if has_pairs else 1) * room) * scales[measure])
    ax.axvline(0, color=DARK_GRAY, linewidth=0.6, zorder=0)
    contrast = "largest − smallest group" if has_pairs else tests.table["contrast"].iloc[0]
    name_rows_along_y(ax, [f"atom {atom}" for atom in order], f"difference in use (share of shapes), {contrast}", size)
    axes["weight"].set_xlabel("difference in weight where used", fontsize=size, color=_COLORS["weight"])
    axes["weight"].tick_params(labelsize=size, colors=_COLORS["weight"])
    axes["weight"].spines[["right", "top"]].set_visible(False)
    ax.xaxis.label.set_color(_COLORS["use"])
    ax.tick_params(axis="x", colors=_COLORS["use"])
    handles = [
        Line2D([], [], color=_COLORS["use"], marker=_MARKERS["use"], markersize=4.5, label="use"),
        Line2D([], [], color=_COLORS["weight"], marker=_MARKERS["weight"], markersize=4.5, label="weight"),
        Line2D([], [], color=GRAY, marker="o", markerfacecolor="white", markersize=4.5, label="not significant"),
    ]
    above = ax.transAxes + ScaledTranslation(0, _ABOVE, ax.figure.dpi_scale_trans)
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), bbox_transform=above, ncols=3,
              borderaxespad=0.0, frameon=False, fontsize=size, columnspacing=1.2, handlelength=1.6)  # fmt: skip
    if tests.atoms is not None and tests.space is not None and order:
        _draw_atoms(ax, tests, order)
    return ax


def _draw_atoms(ax: "Axes", tests: "AtomTests", order: list[int]) -> None:
    """Draw the atoms at the right of their lines."""
    assert tests.atoms is not None
    assert tests.space is not None
    preshapes = tests.space.preshape(tests.atoms)
    turned = pose_rotations(preshapes, tests.space, "mean")[:, None] * preshapes
    height = 1 / len(order)
    for place, atom in enumerate(order):
        inset = ax.inset_axes((1.01, 1 - (place + 0.94) * height, 0.14, 0.88 * height))
        draw_shape(inset, turned[atom], tests.space, color=DARK_GRAY, linewidth=0.9)
        clear_axes(inset)


@styled
def plot_explained_weights(
    table: "pd.DataFrame", *, alpha: float, max_atoms: int = 15, ax: "Axes | None" = None
) -> "Axes":
    """Draw the share of the variation of each weight that each term explains, one line per atom."""
    from matplotlib.lines import Line2D

    check_count(max_atoms, 1, "max_atoms")
    ax, size = own_axes(ax), text_size()
    tested = table[table["Rsq"].notna()]
    order = tested.groupby("atom")["Rsq"].sum().sort_values(ascending=False, kind="stable").index[:max_atoms].tolist()
    terms = table["term"].unique().tolist()
    for place, atom in enumerate(order):
        for row in tested[tested["atom"] == atom].itertuples():
            number = terms.index(row.term)
            height = place + 0.6 * ((number + 0.5) / len(terms) - 0.5)
            color = cycle_color(number)
            ax.plot([0, row.Rsq], [height, height], color=color, linewidth=1, solid_capstyle="butt")
            ax.plot([row.Rsq], [height], linestyle="none", marker="o", markersize=4.5, color=color,
                    markerfacecolor=color if row.P_fdr <= alpha else "white")  # fmt: skip
    ax.set_xlim(left=0)
    name_rows_along_y(ax, [f"atom {atom}" for atom in order], "share of the variation of the weight (R²)", size)
    handles = [
        Line2D([], [], color=cycle_color(k), marker="o", markersize=4.5, label=literal(term))
        for k, term in enumerate(terms)
    ]
    handles.append(Line2D([], [], color=GRAY, marker="o", markerfacecolor="white", markersize=4.5,
                          label="not significant"))  # fmt: skip
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=size,
              columnspacing=1.2, handlelength=1.6)  # fmt: skip
    return ax
