"""``shapelex suggest``: how many atoms a dictionary should have, and how many atoms per shape to use."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.compare import held_out, splitter
from shapelex.cli.figures import FigureRequest, claim_figure, draw_figure, with_figure
from shapelex.cli.options import (
    ForceOption,
    JsonOption,
    QuietOption,
    SeedOption,
    ShapesArgument,
    StabilityOption,
    numbers_in,
)
from shapelex.cli.outputs import claim_table, record_run
from shapelex.cli.screen import Screen, Tell
from shapelex.cli.shapes import read_complete_shapes
from shapelex.cli.terminal import echo
from shapelex.cli.units import UnitOption

LINE_SECONDS = 3.0
"""Seconds between lines of progress, where standard error is not a terminal."""


@with_figure
def suggest(
    shapes: ShapesArgument,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Table of the held-out errors to write.", show_default=False)
    ] = None,
    atoms: Annotated[
        str | None,
        typer.Option(
            "--n-atoms",
            help="Numbers of atoms to try, such as 4-12; chosen automatically by default.",
            show_default=False,
        ),
    ] = None,
    nonzero: Annotated[
        str | None,
        typer.Option("--n-nonzero", help="Maximum numbers of atoms per shape to try, such as 1-5.", show_default=False),
    ] = None,
    folds: Annotated[int, typer.Option("--cv", min=2, help="Number of folds, each held out in turn.")] = 3,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Hold out shapes at random, even those of a recording.")
    ] = False,
    unit: UnitOption = None,
    max_shapes: Annotated[int, typer.Option("--max-shapes", min=6, help="Maximum number of shapes to use.")] = 1500,
    stability: StabilityOption = True,
    seed: SeedOption = 0,
    figure: FigureRequest = FigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Suggest values of --n-atoms and --n-nonzero for learn, by errors of held-out shapes, with reasons.

    Shapes that are not independent, such as those of one recording or specimen, are held out together (--unit).
    Otherwise, a set that is sorted by label or file is shuffled. Progress is printed on standard error.

    Example: shapelex suggest shapes.npz --figure suggestion.png
    """
    sizes, sparsities = numbers_in(atoms, "--n-atoms"), numbers_in(nonzero, "--n-nonzero")
    target = None if out is None else claim_table(out, force)
    picture = claim_figure(figure, force)
    screen = Screen(quiet, as_json)
    found = held_out(read_complete_shapes(shapes, screen), unit, shuffle, screen)
    import shapelex as sx

    with screen.progress("trying sizes") as tell:
        advice = sx.suggest(
            found,
            sizes,
            sparsities,
            space=found.space,
            cv=splitter(folds, shuffle, seed),
            max_shapes=max_shapes,
            stability=stability,
            random_state=seed,
            callback=_progress(tell, writes_lines=not (quiet or as_json or sys.stderr.isatty())),
        )
    run = record_run(seed, (shapes,))
    screen.say(str(advice))
    screen.say(
        f"\nNext: shapelex learn {shapes} -o model.npz --n-atoms {advice.n_atoms} --n-nonzero {advice.n_nonzero}"
    )
    if target is not None:
        from shapelex.files.table_file import write_table

        write_table(target, [{name: advice.surface[name] for name in advice.surface.columns}], run)
        screen.wrote(target)
    if picture is not None:
        draw_figure(figure, lambda ax: sx.plotting.plot_suggestion(advice, ax=ax), run, 0.8)
        screen.wrote(picture)
    screen.show({"n_atoms": advice.n_atoms, "n_nonzero": advice.n_nonzero, "rmse": float(advice.rmse),
                 "reasons": advice.reasons})  # fmt: skip


def _progress(tell: Tell, writes_lines: bool) -> Callable[[int, int, dict[str, Any]], None]:
    """Return a callback that moves the bar, or writes a line now and then."""
    last = time.monotonic()

    def report(n_done: int, n_most: int, row: dict[str, Any]) -> None:
        nonlocal last
        tell(min(n_done / n_most, 1.0), f"{row['n_atoms']} atoms")
        if writes_lines and time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            text = f"{n_done} of about {n_most} dictionaries, {row['n_atoms']} atoms, {row['n_nonzero']} per shape"
            echo(f"shapelex: trying sizes: {text}", err=True)

    return report
