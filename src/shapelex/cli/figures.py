"""Figures that commands draw, with the record of what made them beside them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shapelex.cli.errors import refuse

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from shapelex._typing import ComplexArray
    from shapelex.cli.run import Run
    from shapelex.shapes import ShapeSet
    from shapelex.spaces import Space

# As many shapes as a page holds are enough to see how most of them lie.
_POSE_SHAPES = 5000
_DEFAULT_WIDTH = 180.0  # mm
_TALLEST = 230.0  # mm, what a page has room for


def prepare_figure(run: "Run") -> None:
    """Refuse a wrong look of the figure of a command before the work, and where nothing can draw it."""
    _width_in_mm(run.width)
    run.reads(run.style)
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ImportError('--figure needs matplotlib, which is not installed: pip install "shapelex[plot]".') from error
    from shapelex.plotting import style

    with style(run.style):
        pass


def draw_figure(run: "Run", draw: Callable[["Axes"], Any], aspect: float) -> None:
    """Draw the figure of a command.

    `aspect` is the height of the figure divided by its width. Empty space above and below shapes is cut off.
    """
    assert run.figure is not None
    width = _width_in_mm(run.width)
    # With a given number of columns, shapes take the height that they need.
    height = _TALLEST if run.columns else min(aspect * width, _TALLEST)

    def draw_and_cut(ax: "Axes") -> None:
        draw(ax)
        _cut_empty_height(ax.figure, ax)

    save_drawing(run, run.outputs.place(run.figure), draw_and_cut, (width, height), run.style)


def save_drawing(
    run: "Run",
    path: "Path",
    draw: Callable[["Axes"], Any],
    size: tuple[float, float],
    style_file: "Path | None" = None,
) -> None:
    """Draw on a new figure of so many millimeters and save it, with the record of what made it beside it."""
    from matplotlib.figure import Figure

    from shapelex.files.provenance import write_sidecar
    from shapelex.plotting import figure_size, save_figure, style

    with style(style_file):
        figure = Figure(figsize=figure_size(*size), layout="constrained")
        draw(figure.subplots())
        save_figure(figure, path)
    write_sidecar(path, run.record)


def gallery_aspect(n_shapes: int) -> float:
    """Return height divided by width of a figure of so many shapes side by side."""
    return 0.3 if n_shapes <= 4 else 0.46 if n_shapes <= 12 else 0.7


def pose_on_page(shapes: "ShapeSet", space: "Space") -> "ComplexArray":
    """Return the pose in which the page shows these shapes: upright where they lie upright, for example."""
    import numpy as np

    from shapelex.learning.sampling import open_incomplete
    from shapelex.report.pose import common_pose
    from shapelex.shapes.opening import as_shapes

    chosen = shapes if shapes.in_memory else shapes[:: -(-len(shapes) // _POSE_SHAPES)]
    # Shapes with missing landmarks are completed by the mean: the pose hardly depends on them.
    whole = open_incomplete(as_shapes(chosen, space)).take(np.arange(len(chosen)))
    return common_pose(space.preshape(whole).astype(np.complex128), space)


def _width_in_mm(width: str | None) -> float:
    from shapelex.plotting.style import COLUMN_WIDTHS

    if width is None:
        return _DEFAULT_WIDTH
    try:
        found = COLUMN_WIDTHS[width] if width in COLUMN_WIDTHS else float(width.removesuffix("mm"))
    except ValueError:
        found = 0.0
    expected = "expected 20 to 1000 millimeters, single (85 mm) or double (180 mm)"
    refuse(not 20 <= found <= 1000, "--width", f"{expected}, got {width!r}.")
    return found


def _cut_empty_height(figure: Any, ax: "Axes") -> None:
    """Lower a figure to the height that axes of equal scales use of it."""
    figure.draw_without_rendering()
    place, used = ax.get_position(original=True), ax.get_position()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height * (1 - (place.height - used.height)))
