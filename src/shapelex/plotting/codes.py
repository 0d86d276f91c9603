"""Codes: complex weights as arrows, and the sum of weighted atoms that they stand for."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray, IntArray
from shapelex._validation import as_numeric_array
from shapelex.exceptions import CodesError
from shapelex.plotting.axes import clear_axes, resolve_axes
from shapelex.plotting.curves import checked_shape
from shapelex.plotting.dictionaries import in_percent
from shapelex.plotting.drawing import draw_shape, extents, with_defaults
from shapelex.plotting.grids import Grid, arrange, label_size
from shapelex.plotting.palette import DARK_GRAY, GRAY, LIGHT_GRAY
from shapelex.plotting.style import cycle_color, styled, text_size
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shapelex.coding import SparseCodes

_SIGN_ROOM = 0.3  # between the cells of a sum, for its signs


@styled
def plot_code(code: "ArrayLike | SparseCodes", *, fontsize: float | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the complex weights of one shape as arrows, each with the number of its atom.

    The length of an arrow is how much the atom is scaled, its direction how far the atom is turned.

    Parameters
    ----------
    code : array_like of complex, shape (n_atoms,), or SparseCodes of one row
        Weights of all atoms, most of them zero, as a row of ``ShapeDictionary.transform(X)``.
    fontsize : float, optional
        Size of the numbers, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes: the complex plane, with circles of constant modulus.

    Raises
    ------
    CodesError
        If `code` is not the code of one shape, or uses no atom.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> ax = sx.plotting.plot_code([0, 0.8j, 0, 0.3], ax=Figure().subplots())
    >>> [(text.get_text(), complex(*text.xy)) for text in ax.texts if text.get_gid() == "atom"]
    [('1', 0.8j), ('3', (0.3+0j))]
    """
    weights, used = _used_atoms(code)
    ax, size = resolve_axes(ax), text_size(fontsize)
    outermost = _draw_circles(ax, weights[used], size)
    for color, atom in zip(_colors(len(used)), used, strict=True):
        weight = weights[atom]
        ax.annotate(
            "",
            (weight.real, weight.imag),
            xytext=(0, 0),
            arrowprops={"arrowstyle": "-|>,head_length=0.5,head_width=0.22", "color": color, "linewidth": 1.5,
                        "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8},
        )  # fmt: skip
        away = 0.8 * size * weight / abs(weight)
        ax.annotate(
            str(atom),
            (weight.real, weight.imag),
            xytext=(away.real, away.imag),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=size,
            color=color,
            gid="atom",
        )
    ax.set_xlim(-1.15 * outermost, 1.15 * outermost)
    ax.set_ylim(-1.15 * outermost, 1.15 * outermost)
    clear_axes(ax)
    return ax


@styled
def plot_combination(
    code: "ArrayLike | SparseCodes",
    atoms: ArrayLike,
    space: Space | None = None,
    *,
    original: ArrayLike | None = None,
    n_columns: int | None = None,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    r"""Draw how atoms, scaled and rotated by their weights, add up to a shape, as in figure 6 of the paper [1]_.

    Each cell has an atom as it is, thin and gray, and the atom times its weight, in color; the last one has their sum
    over the original. Crosses mark the origin.

    Parameters
    ----------
    code : array_like of complex, shape (n_atoms,), or SparseCodes of one row
        Weights of all atoms, most of them zero. The atoms of largest weight come first.
    atoms : array_like of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    space : Space, optional
        Space of the atoms; landmarks when not given.
    original : array_like of complex, shape (n_coordinates,), optional
        The shape that was coded; its pre-shape is drawn under the sum, with the error in percent.
    n_columns : int, optional
        Cells in a row; as many as make the shapes largest when not given.
    fontsize : float, optional
        Size of the labels, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of the lines in color, as in :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    CodesError
        If `code` is not the code of one shape over these atoms, or uses no atom.
    ShapeInputError
        If `atoms` or `original` are not configurations of the space.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> circle = np.exp(2j * np.pi * np.arange(30) / 30)
    >>> atoms = sx.Landmarks(30).preshape(np.array([circle, circle**-2, circle**3]))
    >>> ax = sx.plotting.plot_combination([0.9, 0, 0.3j], atoms, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['atom 0\n0.90, 0°', '+', 'atom 2\n0.30, 90°', '=', 'sum']
    """
    weights, used = _used_atoms(code)
    configurations, space = read_configurations(atoms, space, "atoms")
    if len(weights) != len(configurations):
        raise CodesError(f"code is over {len(weights)} atoms, but {len(configurations)} were given.")
    chosen = space.centered(configurations[used])
    terms = weights[used, None] * chosen
    total = terms.sum(axis=0)
    shape = None if original is None else space.preshape(checked_shape(original, space, "original")[0])
    ax, size = resolve_axes(ax), text_size(fontsize)

    labels = [f"atom {atom}\n{_polar(weights[atom])}" for atom in used]
    labels.append("sum" if shape is None else f"sum\nerror {in_percent(float(space.norm(shape - total)))}")
    sums = total[None] if shape is None else np.stack([total, shape])
    cells = [*np.concatenate([extents(terms, space), extents(chosen, space)], axis=1), extents(sums, space)]
    grid = arrange(ax, cells, n_columns=n_columns, label=label_size(labels, size), gap=_SIGN_ROOM)
    for cell, (color, origin) in enumerate(zip(_colors(len(used)), grid.origins, strict=False)):
        draw_shape(ax, chosen[cell], space, origin=origin, color=LIGHT_GRAY, linewidth=0.8)
        draw_shape(ax, terms[cell], space, origin=origin, **with_defaults(line, color=color))
    if shape is not None:
        draw_shape(ax, shape, space, origin=grid.origins[-1], color=GRAY, linewidth=3.2, alpha=0.7)
    draw_shape(ax, total, space, origin=grid.origins[-1], **line)
    signs = ["", *["+"] * (len(used) - 1), "="]
    for cell, (label, sign) in enumerate(zip(labels, signs, strict=True)):
        _mark_cell(ax, grid, cell, sign, size)
        grid.write_under(ax, cell, label, size)
    return ax


def _used_atoms(code: "ArrayLike | SparseCodes") -> tuple[ComplexArray, IntArray]:
    """Return all weights, and the atoms that are used, the largest weight first."""
    # Sparse codes and SciPy's sparse rows alike.
    dense = as_numeric_array(code.toarray() if hasattr(code, "toarray") else code, "code")
    weights = dense[0] if dense.ndim == 2 and len(dense) == 1 else dense
    if weights.ndim != 1:
        raise CodesError(
            f"code must be the weights of one shape, (n_atoms,), got shape {dense.shape}; "
            "take one row: codes[k : k + 1]."
        )
    if not np.isfinite(weights).all():
        raise CodesError("code must be finite, but some weights are NaN or infinite.")
    order = np.argsort(-np.abs(weights), kind="stable")
    used = order[weights[order] != 0]
    if not used.size:
        raise CodesError("code uses no atom: all its weights are zero, so there is nothing to draw.")
    return weights.astype(np.complex128), used


def _colors(n_colors: int) -> list[str]:
    return [cycle_color(k) for k in range(n_colors)]


def _polar(weight: complex) -> str:
    degrees = int(np.rint(np.degrees(np.angle(weight))))
    return f"{abs(weight):.2f}, {degrees}°".replace("-", "−")


def _draw_circles(ax: "Axes", weights: ComplexArray, fontsize: float) -> float:
    """Draw and label two or three circles of round radius; return that of the outermost, beyond every arrow."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]).tick_values(0, float(np.abs(weights).max()))
    radii = [float(radius) for radius in ticks if radius > 0]
    # The circles are labeled along the diagonal that is farthest from all arrows, downwards if it does not matter.
    diagonals = np.exp(1j * np.pi * np.array([-0.375, -0.625, -0.125, -0.875, 0.125, 0.375, 0.625, 0.875]))
    nearness = np.cos(np.angle(diagonals)[:, None] - np.angle(weights)).max(axis=1)
    along = complex(diagonals[np.argmin(nearness)])
    turn = np.exp(1j * np.linspace(0, 2 * np.pi, 181))
    for radius in radii:
        circle = radius * turn
        ax.plot(circle.real, circle.imag, color=LIGHT_GRAY, linewidth=0.6, zorder=1)
        ax.annotate(
            f"{radius:g}",
            (radius * along.real, radius * along.imag),
            ha="center",
            va="center",
            fontsize=0.85 * fontsize,
            color=DARK_GRAY,
            bbox={"facecolor": ax.figure.get_facecolor(), "edgecolor": "none", "pad": 0.8},
            zorder=1.5,
        )
    outermost = radii[-1]
    for end in (1, 1j):
        reach = np.array([-outermost, outermost]) * end
        ax.plot(reach.real, reach.imag, color=LIGHT_GRAY, linewidth=0.6, zorder=1)
    return outermost


def _mark_cell(ax: "Axes", grid: Grid, cell: int, sign: str, fontsize: float) -> None:
    """Draw the cross at the origin of a cell, and the sign of the sum before it."""
    origin = complex(grid.origins[cell])
    look: dict[str, Any] = {"marker": "+", "color": "black", "markersize": 4, "markeredgewidth": 0.7, "zorder": 1.5}
    ax.plot([origin.real], [origin.imag], linestyle="none", **look)
    if sign:
        # Halfway to the cell on the left, also where there is none.
        x = origin.real + (grid.left + grid.right - grid.width) / 2
        ax.text(x, origin.imag, sign, ha="center", va="center", fontsize=1.4 * fontsize)
