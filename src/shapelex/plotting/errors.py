"""Errors: how they fall while a dictionary is learned, and with the number of atoms a shape may use."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, FloatArray
from shapelex._validation import as_numeric_array
from shapelex.exceptions import ParameterError
from shapelex.plotting.axes import label_axes, resolve_axes, size_in_inches
from shapelex.plotting.drawing import with_defaults
from shapelex.plotting.literal_text import literal
from shapelex.plotting.palette import DARK_GRAY, MARKERS
from shapelex.plotting.style import cycle_color, styled, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_COLUMNS = ("method", "n_nonzero", "rmse")
_STYLES = ("-", "--", ":")


@styled
def plot_loss(loss_curve: ArrayLike, *, fontsize: float | None = None, ax: "Axes | None" = None, **line: Any) -> "Axes":
    """Draw the loss over the iterations of a fit, as root mean squared error in percent.

    Parameters
    ----------
    loss_curve : array_like of float, shape (n_iterations,)
        Mean squared distance of each dictionary on the way, as ``ShapeDictionary.loss_curve_``; entry 0 is that of the
        initial one.
    fontsize : float, optional
        Size of all text, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of the line, as in :meth:`matplotlib.axes.Axes.plot`; with a `label`, a legend names it.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        If `loss_curve` is not a list of finite, non-negative numbers.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_loss([0.04, 0.01, 0.0025], ax=Figure().subplots())
    >>> ax.lines[0].get_ydata().tolist()
    [20.0, 10.0, 5.0]
    """
    losses = as_numeric_array(loss_curve, "loss_curve")
    if losses.ndim != 1 or not losses.size or np.iscomplexobj(losses):
        raise ParameterError(f"loss_curve must be a list of real losses, one per iteration, got shape {losses.shape}.")
    if not (np.isfinite(losses).all() and losses.min() >= 0):
        raise ParameterError("loss_curve must be finite and not negative: mean squared distances.")
    ax, size = resolve_axes(ax), text_size(fontsize)
    errors = 100 * np.sqrt(losses)
    _draw_line(ax, np.arange(losses.size), errors, line, color=cycle_color(0))
    ax.annotate(
        f"{errors[-1]:#.3g}".removesuffix("."),
        (losses.size - 1, errors[-1]),
        xytext=(4, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        fontsize=size,
        color=ax.lines[-1].get_color(),
    )
    _finish(ax, "iteration", size)
    return ax


@styled
def plot_rmse_curves(table: Any, *, fontsize: float | None = None, ax: "Axes | None" = None, **line: Any) -> "Axes":
    """Draw the root mean squared error of several methods against sparsity, on a log scale.

    This is figure 5 of the paper [1]_.

    Parameters
    ----------
    table : mapping or table
        Either the curve of each method, ``{method: {n_nonzero: rmse}}``, or a tidy table with the columns ``method``,
        ``n_nonzero`` and ``rmse``: a dict of lists, a structured array, a data frame. Of rows that repeat a method and
        a sparsity, such as the folds of a cross-validation, the mean is drawn, in a band from the least to the
        greatest. A table of :func:`shapelex.compare` goes in as it is; where it has errors of held-out shapes besides
        those of the shapes that were learned from, they are drawn dashed, in the colors of their methods.
    fontsize : float, optional
        Size of all text, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of all the lines, as in :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a legend.

    Raises
    ------
    ValueError
        If the table lacks a column, has columns of different lengths, no rows, or errors that are not positive.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> curves = {"ours": {1: 0.2, 2: 0.1}, "align-first": {1: 0.2, 2: 0.16}}
    >>> ax = sx.plotting.plot_rmse_curves(curves, ax=Figure().subplots())
    >>> [(one.get_label(), one.get_ydata().tolist()) for one in ax.lines]
    [('ours', [20.0, 10.0]), ('align-first', [20.0, 16.0])]
    """
    curves = _as_curves(table)
    ax, size = resolve_axes(ax), text_size(fontsize)
    methods = list(dict.fromkeys(method for method, _ in curves))
    splits = list(dict.fromkeys(split for _, split in curves))
    for (method, split), (sparsities, errors) in curves.items():
        found = np.unique(sparsities)
        groups = [100 * errors[sparsities == n_nonzero] for n_nonzero in found]
        k, style = methods.index(method), _STYLES[splits.index(split) % len(_STYLES)]
        color, marker = cycle_color(k), MARKERS[k % len(MARKERS)]
        means = np.array([group.mean() for group in groups])
        # With several splits, the legend names each method and each style of lines once.
        name = method if split == splits[0] else "_"
        _draw_line(ax, found, means, line, color=color, marker=marker, linestyle=style, label=name)
        if len(errors) > len(found):
            least, greatest = [group.min() for group in groups], [group.max() for group in groups]
            ax.fill_between(found, least, greatest, color=color, alpha=0.15, linewidth=0)
    for split, style in zip(splits if len(splits) > 1 else (), _STYLES, strict=False):
        ax.plot([], [], color=DARK_GRAY, linestyle=style, label=literal(split))
    use_log_scale(ax)
    _finish(ax, "atoms per shape", size)
    _make_room_for_legend(ax, size)
    return ax


def _as_curves(table: Any) -> dict[tuple[str, str], tuple[FloatArray, FloatArray]]:
    """Return sparsities and errors by method and split, in the order in which they first appear."""
    columns = _column_names(table)
    if any(name in columns for name in _COLUMNS) or not isinstance(table, Mapping):
        missing = [name for name in _COLUMNS if name not in columns]
        if missing:
            raise ParameterError(
                f"table must have the columns method, n_nonzero and rmse, but lacks {', '.join(missing)}."
            )
        methods = [str(method) for method in table["method"]]
        splits = [str(split) for split in table["split"]] if "split" in columns else [""] * len(methods)
        sparsities, errors = _as_reals(table["n_nonzero"], "n_nonzero"), _as_reals(table["rmse"], "rmse")
        if not len(methods) == len(splits) == len(sparsities) == len(errors):
            raise ParameterError(
                "table must have columns of one length, got "
                f"{len(methods)} of method, {len(sparsities)} of n_nonzero, {len(errors)} of rmse."
            )
        keys = list(zip(methods, splits, strict=True))
        is_of = {key: np.array([other == key for other in keys]) for key in dict.fromkeys(keys)}
        curves = {key: (sparsities[rows], errors[rows]) for key, rows in is_of.items()}
    else:
        if not all(isinstance(curve, Mapping) for curve in table.values()):
            raise ValueError("table must give each method its errors by sparsity, as {method: {n_nonzero: rmse}}.")
        curves = {
            (str(method), ""): (_as_reals(list(curve), "n_nonzero"), _as_reals(list(curve.values()), "rmse"))
            for method, curve in table.items()
        }
    if not curves or not all(len(errors) for _, errors in curves.values()):
        raise ParameterError("table must hold at least one error for each method, got none.")
    if not all(np.isfinite(errors).all() and errors.min() > 0 for _, errors in curves.values()):
        raise ValueError("rmse must be finite and positive, since its scale is logarithmic.")
    return curves


def _column_names(table: Any) -> list[Any]:
    if isinstance(table, np.ndarray):
        return list(table.dtype.names or ())
    return list(table.keys()) if hasattr(table, "keys") else []


def _as_reals(values: Any, name: str) -> FloatArray:
    array = as_numeric_array(np.asarray(values, dtype=np.float64), name)
    return np.atleast_1d(array)


def _draw_line(ax: "Axes", x: Any, y: FloatArray, line: dict[str, Any], **look: Any) -> None:
    properties = with_defaults(line, markersize=3.6, solid_joinstyle="round", **look)
    if properties.get("label") is not None:
        properties["label"] = literal(properties["label"])
    ax.plot(x, y, **properties)


def use_log_scale(ax: "Axes") -> None:
    """Make the errors logarithmic, with plain numbers at a few marks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    ax.set_yscale("log")
    least, greatest = ax.get_ylim()
    # Powers of ten alone would leave one or two marks on most curves, and 1, 2, 5 none on flat ones.
    ratio = greatest / least
    steps = (1, 2, 3, 5, 7) if ratio < 10 else (1, 2, 5) if ratio < 500 else (1,)
    locator = MaxNLocator(5) if ratio < 5 else LogLocator(subs=steps)
    ax.yaxis.set_major_locator(locator)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_minor_locator(NullLocator())


def _make_room_for_legend(ax: "Axes", fontsize: float) -> None:
    """Put the legend into the upper right corner, which falling curves leave free, and raise the axes until they do."""
    names = ax.get_legend_handles_labels()[1]
    width, height = size_in_inches(ax)
    # Ticks, their labels and a title take about five lines of the height and six characters of the width.
    inner_width, inner_height = 72 * width - 4 * fontsize, 72 * height - 5 * fontsize
    left, right = ax.get_xlim()
    least, greatest = np.log(ax.get_ylim())
    needed = {}
    for n_columns in (1, 2, 3):
        n_characters, n_lines = n_columns * (max(map(len, names)) + 5.5), -(-len(names) // n_columns)
        share_x = np.clip(0.57 * fontsize * n_characters / max(inner_width, fontsize), 0, 0.95)
        share_y = np.clip(fontsize * (1.5 * n_lines + 1) / max(inner_height, fontsize), 0, 0.7)
        start = right - share_x * (right - left)
        highest = max(_highest_from(start, line) for line in ax.lines if np.size(line.get_xdata()))
        if n_columns == 1 or share_x < 0.95:
            needed[n_columns] = least + (np.log(highest) - least) / (1 - share_y)
    # As many columns as leave most of the height to the curves.
    best = min(needed, key=lambda n_columns: needed[n_columns])
    ax.set_ylim(top=float(np.exp(max(greatest, needed[best]))))
    # A filled box, so that no grid line runs through the words.
    ax.legend(loc="upper right", framealpha=1, edgecolor="none", fontsize=fontsize, ncols=best)


def _highest_from(start: float, line: "Line2D") -> float:
    """Return the largest value of a curve to the right of `start`, on a log scale; its least where it has ended."""
    x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
    if x[-1] < start:
        return float(np.min(y))
    crossing = np.exp(np.interp(start, x, np.log(y)))
    return float(max(crossing, y[x >= start].max()))


def _finish(ax: "Axes", x_name: str, fontsize: float) -> None:
    label_axes(ax, x_name, "RMSE (%)", fontsize)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False, fontsize=fontsize)
