"""Figures that commands draw, with the options for their look, and the record of what made them beside them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.json_report import current_report
from shapelex.cli.outputs import claim_file, current_outputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shapelex._typing import ComplexArray
    from shapelex.shapes import ShapeSet
    from shapelex.spaces import Space

# As many shapes as a page holds are enough to see how most of them lie.
_POSE_SHAPES = 5000
_DEFAULT_WIDTH = 180.0  # mm
_TALLEST = 230.0  # mm, what a page has room for

FIGURE_SUFFIXES = (".png", ".svg", ".pdf", ".eps", ".tif", ".tiff")


def _option(name: str, text: str, **settings: Any) -> Any:
    return typer.Option(name, help=text, **{"show_default": False, **settings})


@dataclass(frozen=True)
class FigureRequest:
    """The figure that a command is asked for, and its look."""

    figure: Annotated[
        Path | None, _option("--figure", "Also draw a figure: a .png, .svg, .pdf, .eps or .tiff file.")
    ] = None
    width: Annotated[
        str | None,
        _option("--width", "Width in millimeters, or single (85 mm) or double (180 mm).", show_default="double"),
    ] = None
    style: Annotated[
        Path | None,
        _option("--style", "Style file of matplotlib, such as one with the line font.size: 7."),
    ] = None


@dataclass(frozen=True)
class ShapesFigureRequest(FigureRequest):
    """The same for a figure of shapes."""

    columns: Annotated[int | None, _option("--columns", "Number of shapes per row.", min=1)] = None
    no_lines: Annotated[bool, _option("--no-lines", "Draw landmarks as points, without a line through them.")] = False
    numbers: Annotated[
        bool, _option("--numbers", "Mark the landmarks, and number those of the first shape from 1.")
    ] = False

    @property
    def look(self) -> dict[str, Any]:
        """Options of functions that draw shapes."""
        return {**({"points": "numbers"} if self.numbers else {}), **({"linestyle": "none"} if self.no_lines else {})}

    @property
    def gallery_look(self) -> dict[str, Any]:
        """Options of functions that draw shapes side by side."""
        return {"n_columns": self.columns, **self.look}


def with_figure(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the request that its parameter ``figure`` is."""
    signature = inspect.signature(command)
    kind: type[FigureRequest] = signature.parameters["figure"].annotation
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, annotation=one.type, default=one.default)
        for one in fields(kind)
    ]
    names = {one.name for one in options}

    @wraps(command)
    def run(**values: Any) -> None:
        request = kind(**{name: values.pop(name) for name in names})
        given = [one for one in fields(kind) if one.name != "figure" and getattr(request, one.name) != one.default]
        if request.figure is None and given:
            raise typer.BadParameter(
                "works only with --figure.", param_hint=", ".join(_option_name(one.name) for one in given)
            )
        command(figure=request, **values)

    others = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        if name != "figure"
    ]
    place = list(signature.parameters).index("figure")
    run.__signature__ = signature.replace(parameters=[*others[:place], *options, *others[place:]])  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def claim_figure(request: FigureRequest, force: bool) -> Path | None:
    """Return where a figure may go; refuse a name that is none, a file that is there, or a wrong width."""
    path = request.figure
    if path is None:
        return None
    if path.suffix.lower() not in FIGURE_SUFFIXES:
        raise typer.BadParameter(f"{path.name} must end in {', '.join(FIGURE_SUFFIXES)}.", param_hint="--figure")
    _width_in_mm(request.width)
    if request.style is not None:
        current_report().note_inputs([request.style])
    claimed = claim_file(path, force, "--figure")
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ImportError('--figure needs matplotlib, which is not installed: pip install "shapelex[plot]".') from error
    from shapelex.plotting import style

    # Said before the work, not after it.
    with style(request.style):
        return claimed


def draw_figure(
    request: FigureRequest, draw: Callable[["Axes"], Any], run: dict[str, Any], aspect: float = 0.7
) -> None:
    """Draw on a new figure and write it, with the record of what made it beside it.

    `aspect` is the height of the figure divided by its width. Empty space above and below shapes is cut off.
    """
    from matplotlib.figure import Figure

    from shapelex.files.provenance import write_sidecar
    from shapelex.plotting import figure_size, save_figure, style

    assert request.figure is not None
    made = current_outputs().place_to_make(request.figure)
    width = _width_in_mm(request.width)
    # With a given number of columns, shapes take the height that they need.
    height = _TALLEST if getattr(request, "columns", None) else min(aspect * width, _TALLEST)
    with style(request.style):
        figure = Figure(figsize=figure_size(width, height), layout="constrained")
        ax = figure.subplots()
        draw(ax)
        _cut_empty_height(figure, ax)
        save_figure(figure, made)
    write_sidecar(made, run)


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
    if not 20 <= found <= 1000:
        raise typer.BadParameter(
            f"expected 20 to 1000 millimeters, single (85 mm) or double (180 mm), got {width!r}.", param_hint="--width"
        )
    return found


def _cut_empty_height(figure: Any, ax: "Axes") -> None:
    """Lower a figure to the height that axes of equal scales use of it."""
    figure.draw_without_rendering()
    place, used = ax.get_position(original=True), ax.get_position()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height * (1 - (place.height - used.height)))


def _option_name(name: str) -> str:
    return "--" + name.replace("_", "-")
