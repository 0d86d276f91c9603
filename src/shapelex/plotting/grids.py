"""Many shapes side by side in one axes, at one scale, with a label under each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_count
from shapelex.plotting.axes import clear_axes, size_in_inches
from shapelex.plotting.literal_text import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.14  # between cells, as a share of their larger side
_POINTS_PER_INCH = 72.0
_CHARACTER = 0.62  # width of a character of a label, as a share of its size
_LINE = 1.3  # height of a line of a label, likewise
_ABOVE_LABEL = 3.0  # points


@dataclass(frozen=True)
class Grid:
    """Cells in rows, from the upper left.

    Attributes
    ----------
    origins : ndarray of complex, shape (n_cells,)
        Where the origin of each cell lies in the axes.
    bottoms : ndarray of float, shape (n_cells,)
        Lower edge of what the row of each cell shows, in the axes.
    left, right : float
        Extent of every cell around its origin, gaps left out.
    width : float
        Distance from one column to the next.
    scale : float
        Size of a unit of the shapes, in inches.
    """

    origins: ComplexArray
    bottoms: FloatArray
    left: float
    right: float
    width: float
    scale: float

    def write_under(self, ax: "Axes", cell: int, text: str, fontsize: float, shift: float = 0.0, **look: Any) -> None:
        """Write `text` under the middle of a cell, or `shift` points to the right of it."""
        ax.annotate(
            literal(text),
            (self.origins[cell].real + (self.left + self.right) / 2, self.bottoms[cell]),
            xytext=(shift, -_ABOVE_LABEL),
            textcoords="offset points",
            va="top",
            fontsize=fontsize,
            **{"ha": "center", **look},
        )


def label_size(labels: Sequence[str], fontsize: float) -> tuple[float, float]:
    """Return width and height, in inches, that are enough for each of the labels."""
    lines = [label.split("\n") for label in labels]
    width = _CHARACTER * max((len(line) for label in lines for line in label), default=0) * fontsize
    height = _LINE * max(map(len, lines), default=0) * fontsize
    return width / _POINTS_PER_INCH, (height + _ABOVE_LABEL if height else 0.0) / _POINTS_PER_INCH


def arrange(
    ax: "Axes",
    cells: Sequence[ComplexArray],
    *,
    n_columns: int | None = None,
    label: tuple[float, float] = (0.0, 0.0),
    gap: float = GAP,
    strip: float = 0.0,
    beside: float = 0.0,
) -> Grid:
    """Clear `ax` and give each of the `cells` a place: points to show, relative to the origin of their cell.

    All cells are as wide as the widest; a row is as high as its highest. Under each row is room for labels of the size
    `label`, in inches, and below all rows a strip of the height `strip`; `beside` is the height that a legend outside
    the axes will take. What that is in the units of the shapes follows from the size of the axes, so it is right as
    long as the axes keep that size.
    """
    left, right = min(cell.real.min() for cell in cells), max(cell.real.max() for cell in cells)
    bottoms, tops = np.array([(cell.imag.min(), cell.imag.max()) for cell in cells]).T
    side = max(right - left, (tops - bottoms).max())
    # Straight lines have no height, and upright ones no width; their cells still need some.
    thin = np.maximum(0.0, 0.1 * side - (tops - bottoms)) / 2
    cell_size = (max(right - left, 0.1 * side) + gap * side, tops - bottoms + 2 * thin + gap * side)
    whole_width, whole_height = size_in_inches(ax)
    size = (whole_width, max(whole_height - strip - beside, whole_height / 3))
    columns, scale = _best_columns(size, cell_size, label, n_columns)

    width = max(cell_size[0], label[0] / scale)
    row, column = np.divmod(np.arange(len(cells)), columns)
    row_bottoms = np.array([np.min((bottoms - thin)[row == r]) for r in range(row[-1] + 1)])
    row_tops = np.array([np.max((tops + thin)[row == r]) for r in range(row[-1] + 1)])
    steps = row_tops - row_bottoms + gap * side + label[1] / scale
    ends = np.cumsum(steps)
    # The origin of the first row is at 0, and each row hangs below the one above it.
    y = row_tops[0] - (ends - steps) - row_tops
    clear_axes(ax)
    middle = (left + right) / 2
    ax.set_xlim(middle - width / 2, middle - width / 2 + columns * width)
    ax.set_ylim(row_tops[0] + gap * side / 2 - ends[-1] - strip / scale, row_tops[0] + gap * side / 2)
    origins, lower = column * width + 1j * y[row], (y + row_bottoms)[row]
    return Grid(origins, lower, float(left), float(right), float(width), scale)


def _best_columns(
    size: tuple[float, float], cell: tuple[float, FloatArray], label: tuple[float, float], n_columns: int | None
) -> tuple[int, float]:
    """Return the number of columns, and the inches that a unit of the shapes then gets."""
    n_cells = len(cell[1])
    candidates = range(1, n_cells + 1)
    if n_columns is not None:
        columns = min(check_count(n_columns, 1, "n_columns"), n_cells)
        candidates = range(columns, columns + 1)
    # Labels that touch are worse than small shapes; where even one column is too narrow, so be it.
    wide_enough = [columns for columns in candidates if columns * label[0] <= size[0]] or candidates[:1]
    best_columns, best_scale, best_merit = wide_enough[0], 0.0, 0.0
    for columns in wide_enough:
        heights = [cell[1][start : start + columns].max() for start in range(0, n_cells, columns)]
        # At least a third of the height is for the shapes, however small the axes.
        shape_height = max(size[1] - len(heights) * label[1], size[1] / 3)
        scale = float(min(size[0] / (columns * cell[0]), shape_height / sum(heights)))
        # A full last row is worth shapes a little smaller.
        merit = scale * (0.85 + 0.15 * n_cells / (columns * len(heights)))
        if merit > best_merit:
            best_columns, best_scale, best_merit = columns, scale, merit
    return best_columns, best_scale
