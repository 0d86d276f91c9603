"""Pictures that commands draw: PNG, SVG or PDF by the end of the name, with what made them inside."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shapelex.cli.outputs import claim_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shapelex._typing import ComplexArray
    from shapelex.io import StoredShapes
    from shapelex.shapes import ShapeSet
    from shapelex.spaces import Space

# As many shapes as a page holds are enough to see how most of them lie.
_POSE_SHAPES = 5000
SUFFIXES = (".png", ".svg", ".pdf")


def claim_figure(path: Path | None, force: bool) -> Path | None:
    """Return where a picture may go; refuse a name that is none, or a file that is there."""
    if path is None:
        return None
    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{path.name} must end in {', '.join(SUFFIXES)}.", param_hint="--figure")
    claimed = claim_file(path, force)
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ImportError('--figure needs matplotlib, which is not installed: pip install "shapelex[plot]".') from error
    return claimed


def save_figure(
    path: Path, draw: Callable[["Axes"], Any], run: dict[str, Any], size: tuple[float, float] = (7.0, 5.0)
) -> None:
    """Draw on a new figure and write it, whole or not at all, with the record of what made it beside it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from shapelex.store.atomic import write_atomically
    from shapelex.store.provenance import write_sidecar

    # The same picture gives the same bytes, and text stays text.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with rc_context({"svg.hashsalt": "shapelex", "svg.fonttype": "none"}):
        figure = Figure(figsize=size, layout="constrained", dpi=200)
        draw(figure.subplots())
        write_atomically(path, lambda stream: figure.savefig(stream, format=path.suffix[1:].lower(), metadata=metadata))
    write_sidecar(path, run)


def gallery_size(n_shapes: int) -> tuple[float, float]:
    """Return the size of a figure of so many shapes side by side."""
    return (7.0, 2.0) if n_shapes <= 4 else (7.0, 3.2) if n_shapes <= 12 else (7.0, 5.0)


def pose_on_page(shapes: "ShapeSet | StoredShapes", space: "Space") -> "ComplexArray":
    """Return the pose in which the page shows these shapes: upright where they lie upright, for example."""
    import numpy as np

    from shapelex.learning.incomplete_shapes import open_incomplete
    from shapelex.report.pose import common_pose
    from shapelex.shapes.opening import as_shapes
    from shapelex.shapes.stored_set import StoredShapes, thin_out

    chosen = thin_out(shapes, _POSE_SHAPES) if isinstance(shapes, StoredShapes) else shapes
    # Shapes with missing landmarks are completed by the mean: the pose hardly depends on them.
    whole = open_incomplete(as_shapes(chosen, space)).take(np.arange(len(chosen)))
    return common_pose(space.preshape(whole).astype(np.complex128), space)
