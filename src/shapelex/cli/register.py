"""``shapelex register``: a set of outlines with a common start point and direction."""

from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.errors import CommandError
from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, RawCellsOption, SeedOption, ShapesArgument
from shapelex.cli.outputs import record_run
from shapelex.cli.registering import register_shapes
from shapelex.cli.screen import Screen
from shapelex.cli.shape_files import claim_shapes, write_shapes
from shapelex.cli.shapes import is_registered, read_shapes
from shapelex.cli.stored import assembled_shapes, open_if_large


def register(
    shapes: ShapesArgument,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="File to write: .npz or .zarr (keep everything), .csv or .tps (for other programs)."
        ),
    ],
    start: Annotated[bool, typer.Option("--start/--no-start", help="Search for the start point.")] = True,
    direction: Annotated[
        bool,
        typer.Option("--direction/--no-direction", help="Reverse shapes where this brings them closer to the mean."),
    ] = True,
    reflection: Annotated[
        bool, typer.Option("--reflection", help="Mirror shapes where this brings them closer to the mean.")
    ] = False,
    like: Annotated[
        str | None,
        typer.Option(
            "--like", help="Register to the mean of the set in this file, with the same options.", show_default=False
        ),
    ] = None,
    raw_cells: RawCellsOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Give outlines the start points and directions that bring them closest to their mean.

    Closed outlines have a start point and a direction, open curves only a direction. Sets larger than memory can be
    written to .npz and .zarr files; a large set is registered to the mean of 10,000 of its shapes.

    Example: shapelex register outlines.npz -o registered.npz --reflection
    """
    from shapelex.shapes import ShapeSet

    target = claim_shapes(out, force)
    screen = Screen(quiet, as_json)
    model_set: Any = None if like is None else open_if_large(like) or read_shapes(like, screen)
    if model_set is not None and is_registered(model_set) and (reflection or not (start and direction)):
        raise typer.BadParameter(
            "registers as the set in that file was: --no-start, --no-direction and --reflection are not needed.",
            param_hint="--like",
        )
    run = record_run(seed, (shapes,) if like is None else (shapes, like))
    with assembled_shapes([shapes], out, screen, missing="allow") as found:
        if isinstance(found, ShapeSet) and found.is_missing.any():
            raise CommandError(
                f"{shapes} has missing landmarks, and incomplete outlines cannot be registered: first run shapelex "
                f"impute {shapes} -o complete.npz."
            )
        registered, changes = register_shapes(
            found, model_set, reflection, seed, screen, start=start, direction=direction
        )
        with screen.progress("writing"):
            write_shapes(registered, target, run, raw_cells=raw_cells)
    screen.say(registered.notes[-1])
    screen.wrote(target)
    current_report().note_remarks(registered.notes)
    screen.show({"n_shapes": registered.shape[0], **changes})
