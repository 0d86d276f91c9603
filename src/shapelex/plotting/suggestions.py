"""What speaks for a size and a sparsity: held-out errors, and how well atoms come back."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex.exceptions import ParameterTypeError
from shapelex.plotting.axes import label_axes, resolve_axes
from shapelex.plotting.errors import use_log_scale
from shapelex.plotting.palette import DARK_GRAY, GRAY, LIGHT_GRAY
from shapelex.plotting.style import cycle_color, styled, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@styled
def plot_suggestion(suggestion: Any, *, fontsize: float | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw held-out errors over the number of atoms, a curve a sparsity, and the stability of the atoms below.

    The curve of the suggested sparsity is blue, with its standard error over folds; a ring marks the suggested size.
    Bars show the stability of atoms at that sparsity, where it was measured: 1 where the same atoms are found
    again from halves of the shapes, 0 where random shapes would do as well.

    Parameters
    ----------
    suggestion : Suggestion
        What :func:`shapelex.suggest` returns.
    fontsize : float, optional
        Size of all text, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given. The bars are drawn below it: a constrained layout
        makes room for them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the errors.

    Raises
    ------
    TypeError
        If `suggestion` is none.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> X = np.random.default_rng(0).normal(size=(60, 5, 2))
    >>> found = sx.suggest(X, n_atoms=[2, 3], n_nonzero=[1, 2], cv=2, random_state=0)
    >>> ax = sx.plotting.plot_suggestion(found, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'held-out RMSE (%)'
    """
    if not all(hasattr(suggestion, name) for name in ("surface", "stability", "n_atoms", "n_nonzero")):
        raise ParameterTypeError(f"suggestion must be what suggest returns, got {type(suggestion).__name__}.")
    ax, size = resolve_axes(ax), text_size(fontsize)
    surface, chosen = suggestion.surface, suggestion.n_nonzero
    main, mark = cycle_color(0), cycle_color(1)
    for n_nonzero in surface.sparsities():
        sizes = np.array([size for size in surface.sizes() if n_nonzero in surface.sparsities(size)])
        errors = 100 * np.array([surface.rmse(size, n_nonzero) for size in sizes])
        is_chosen = n_nonzero == chosen
        color, width = (main, 1.6) if is_chosen else (GRAY, 0.8)
        ax.plot(sizes, errors, color=color, linewidth=width, marker="o", markersize=3 if is_chosen else 2, zorder=2)
        spreads = 100 * np.array([surface.spread(size, n_nonzero) for size in sizes])
        if is_chosen and np.isfinite(spreads).all():
            ax.fill_between(sizes, errors - spreads, errors + spreads, color=main, alpha=0.2, linewidth=0)
        ax.annotate(
            f"{n_nonzero} per shape" if is_chosen else str(n_nonzero),
            (sizes[-1], errors[-1]),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=size,
            color=main if is_chosen else DARK_GRAY,
        )
    ax.plot(
        [suggestion.n_atoms],
        [100 * suggestion.rmse],
        marker="o",
        markersize=9,
        markerfacecolor="none",
        markeredgecolor=mark,
        markeredgewidth=1.6,
        zorder=3,
    )
    use_log_scale(ax)
    label_axes(ax, "atoms in the dictionary", "held-out RMSE (%)", size)
    if len(suggestion.stability):
        _draw_stability(ax, suggestion, size)
    return ax


def _draw_stability(ax: "Axes", suggestion: Any, fontsize: float) -> None:
    """Draw the bars on a strip below the axes, over the same numbers of atoms."""
    if ax.figure.get_layout_engine() is None:
        # Nothing else makes room for the strip.
        box = ax.get_position()
        height = box.height / 1.36
        ax.set_position((box.x0, box.y1 - height, box.width, height))
    strip = ax.inset_axes((0, -0.36, 1, 0.3), sharex=ax)
    sizes, values = suggestion.stability["n_atoms"], suggestion.stability["stability"]
    colors = [cycle_color(1) if size == suggestion.n_atoms else LIGHT_GRAY for size in sizes]
    bars = strip.bar(sizes, values, width=0.6, color=colors, edgecolor=DARK_GRAY, linewidth=0.5)
    # A stability of 0 has no bar, but is a result.
    strip.bar_label(bars, fmt="%.2f", fontsize=0.8 * fontsize)
    strip.set_ylim(0, 1.3)
    strip.set_yticks([0, 0.5, 1])
    label_axes(strip, ax.get_xlabel(), "stability", fontsize)
    # A constrained layout takes the height of the strip from axes that it then enlarges: an empty line is the slack.
    slack = (0, -4.6 * fontsize)
    strip.annotate(" ", (0.5, 0), slack, "axes fraction", textcoords="offset points", fontsize=fontsize)
    ax.tick_params(labelbottom=False)
    ax.set_xlabel("")
