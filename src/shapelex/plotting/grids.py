"""Many shapes side by side in one axes, at one scale, with a label under each.

In come the extents of what each cell will show; out goes the place of each cell, chosen so that the shapes come out as
large as the axes allow.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import check_count
from shapelex.plotting.axes import clear_axes, size_in_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 0.14  # between cells, as a share of the larger side of a cell
_POINTS_PER_INCH = 72.0


@dataclass(frozen=True)
class Grid:
    """Cells in rows, from the upper left.

    Attributes
    ----------
    origins : ndarray of complex, shape (n_cells,)
        Where the origin of each cell lies in the axes.
    left, right, bottom, top : float
        Extent of every cell around its origin, gaps left out.
    n_columns : int
        Cells in a row.
    """

    origins: ComplexArray
    left: float
    right: float
    bottom: float
    top: float
    n_columns: int

    def write_under(self, ax: "Axes", cell: int, text: str, fontsize: float, shift: float = 0.0, **look: Any) -> None:
        """Write `text` under the middle of a cell, or `shift` points to the right of it."""
        origin = self.origins[cell]
        ax.annotate(
            text,
            (origin.real + (self.left + self.right) / 2, origin.imag + self.bottom),
            xytext=(shift, -3),
            textcoords="offset points",
            va="top",
            fontsize=fontsize,
            **{"ha": "center", **look},
        )


def arrange(
    ax: "Axes",
    points: ComplexArray,
    n_cells: int,
    *,
    n_columns: int | None = None,
    label_points: float = 0.0,
    gap: float = _GAP,
) -> Grid:
    """Clear `ax` and divide it into cells that hold any of `points`, given relative to the origin of their cell.

    Labels take `label_points`, in points of type, under each row. Their room in the units of the shapes follows from
    the size of the axes, so it is right as long as the axes keep that size.
    """
    left, right = float(points.real.min()), float(points.real.max())
    bottom, top = float(points.imag.min()), float(points.imag.max())
    # Straight lines have no height; their cells still need one.
    side = max(right - left, top - bottom)
    slack = max(0.0, 0.1 * side - (top - bottom)) / 2
    bottom, top = bottom - slack, top + slack
    width, height = right - left + gap * side, top - bottom + gap * side
    label = label_points / _POINTS_PER_INCH
    columns, scale = _best_columns(size_in_inches(ax), n_cells, (width, height), label, n_columns)

    step_down = height + label / scale
    row, column = np.divmod(np.arange(n_cells), columns)
    origins: ComplexArray = column * width - 1j * row * step_down
    clear_axes(ax)
    ax.set_xlim(left - gap * side / 2, left - gap * side / 2 + columns * width)
    ax.set_ylim(top + gap * side / 2 - (row[-1] + 1) * step_down, top + gap * side / 2)
    return Grid(origins, left, right, bottom, top, columns)


def _best_columns(
    size: tuple[float, float], n_cells: int, cell: tuple[float, float], label: float, n_columns: int | None
) -> tuple[int, float]:
    """Return the number of columns, and the inches that a unit of the shapes then gets."""
    candidates = range(1, n_cells + 1)
    if n_columns is not None:
        columns = min(check_count(n_columns, 1, "n_columns"), n_cells)
        candidates = range(columns, columns + 1)
    best_columns, best_scale = candidates[0], 0.0
    for columns in candidates:
        rows = -(-n_cells // columns)
        # At least a third of each row is for the shape, however small the axes.
        shape_height = max(size[1] / rows - label, size[1] / rows / 3)
        scale = min(size[0] / (columns * cell[0]), shape_height / cell[1])
        if scale > best_scale:
            best_columns, best_scale = columns, scale
    return best_columns, best_scale
