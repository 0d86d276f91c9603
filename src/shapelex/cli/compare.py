"""``shapelex compare``: errors of several methods against sparsity."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.figures import FigureRequest, claim_figure, draw_figure, with_figure
from shapelex.cli.options import (
    ForceOption,
    JsonOption,
    QuietOption,
    SeedOption,
    ShapesArgument,
    numbers_in,
)
from shapelex.cli.outputs import claim_table, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import read_complete_shapes
from shapelex.cli.units import UnitOption, say_units

if TYPE_CHECKING:
    from shapelex.shapes import ShapeSet


@with_figure
def compare(
    shapes: ShapesArgument,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Table to write: .csv, .tsv or .parquet.", show_default=False)
    ] = None,
    atoms: Annotated[int, typer.Option("--n-atoms", min=1, help="Number of atoms.")] = 10,
    nonzero: Annotated[
        str, typer.Option("--n-nonzero", help="Maximum numbers of atoms per shape, such as 1-5 or 2,4.")
    ] = "1-5",
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--methods", help="Method to compare; can be repeated. All methods by default.", show_default=False
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--cv", min=2, help="Number of folds: also compute the errors of held-out shapes.", show_default=False
        ),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Hold out shapes at random instead of consecutive blocks.")
    ] = False,
    unit: UnitOption = None,
    seed: SeedOption = 0,
    figure: FigureRequest = FigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the dictionary with align-first and principal component analyses, as the paper does.

    Shapes that are not independent, such as those of one recording or specimen, are held out together (--unit).

    Example: shapelex compare shapes.npz --n-atoms 10 --n-nonzero 1-5 --cv 3 --figure errors.png
    """
    sparsities = numbers_in(nonzero, "--n-nonzero")
    if unit is not None and folds is None:
        raise typer.BadParameter("works only with --cv.", param_hint="--unit")
    target = None if out is None else claim_table(out, force)
    picture = claim_figure(figure, force)
    screen = Screen(quiet, as_json)
    found = read_complete_shapes(shapes, screen)
    if folds is not None:
        found = held_out(found, unit, shuffle, screen)
    import shapelex as sx

    with screen.progress("comparing") as tell:
        table = sx.compare(
            found,
            method or None,
            sparsities,
            n_atoms=atoms,
            space=found.space,
            cv=splitter(folds, shuffle, seed),
            random_state=seed,
            callback=lambda n_done, n_all, row: tell(n_done / n_all, row["method"]),
        )
    run = record_run(seed, (shapes,))
    screen.say(str(table))
    if target is not None:
        from shapelex.files.table_file import write_table

        write_table(target, [{name: table[name] for name in table.columns}], run)
        screen.wrote(target)
    if picture is not None:
        draw_figure(figure, lambda ax: sx.plotting.plot_rmse_curves(table, ax=ax), run)
        screen.wrote(picture)
    screen.show({"rows": table.rows()})


def held_out(shapes: "ShapeSet", unit: str | None, shuffle: bool, screen: Screen) -> "ShapeSet":
    """Return the set with the units that are held out as a whole, and say what they are."""
    if shuffle and unit not in (None, "none"):
        raise typer.BadParameter("holds out whole units, and --shuffle single shapes: leave one out.",
                                 param_hint="--unit")  # fmt: skip
    units = None if shuffle else say_units(shapes, unit, screen)
    return shapes.replace(roles={**shapes.roles, "unit": None if units is None else units.column})


def splitter(folds: int | None, shuffle: bool, seed: int) -> Any:
    """Return how to hold out shapes."""
    if folds is None or not shuffle:
        return folds
    from sklearn.model_selection import KFold

    return KFold(folds, shuffle=True, random_state=seed)
