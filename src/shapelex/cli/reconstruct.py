"""``shapelex reconstruct``: what a dictionary makes of shapes, as shapes."""

from pathlib import Path
from typing import Annotated

import typer

from shapelex.cli.encode import draw_overlays
from shapelex.cli.figures import ShapesFigureRequest, claim_figure, with_figure
from shapelex.cli.options import (
    DeviceOption,
    ForceOption,
    JsonOption,
    ModelArgument,
    QuietOption,
    RawCellsOption,
    ShapesArgument,
)
from shapelex.cli.outputs import record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shape_files import claim_shapes, write_shapes
from shapelex.cli.shapes import load_dictionary, read_shapes_for


@with_figure
def reconstruct(
    model: ModelArgument,
    shapes: ShapesArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write: .npz, .csv or .tps.")],
    device: DeviceOption = "cpu",
    raw_cells: RawCellsOption = False,
    figure: ShapesFigureRequest = ShapesFigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the approximations of shapes: centered, with norm about 1, rotated like the originals.

    The set that is written keeps ids, labels and series, and has the column error.

    Example: shapelex reconstruct model.npz shapes.npz -o reconstructed.npz --figure overlays.pdf
    """
    target, picture = claim_shapes(out, force), claim_figure(figure, force)
    screen = Screen(quiet, as_json)
    dictionary = load_dictionary(model, device)
    found = read_shapes_for(dictionary, shapes, screen)
    with screen.progress("coding"):
        made, errors = dictionary.reconstruct(found), dictionary.errors(found)
    run = record_run(dictionary.random_state, (shapes, model))
    write_shapes(
        found.replace(configurations=made, metadata={**found.metadata, "error": errors}),
        target,
        run,
        raw_cells=raw_cells,
    )
    rmse = float((errors**2).mean() ** 0.5)
    screen.say(f"{len(found)} shapes, RMSE {100 * rmse:.2f} %, worst {100 * errors.max():.2f} %")
    screen.wrote(target)
    if picture is not None:
        draw_overlays(figure, found, made, run)
        screen.wrote(picture)
    screen.show({"n_shapes": len(found), "rmse": rmse, "worst": float(errors.max())})
