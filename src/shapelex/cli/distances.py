"""``shapelex distances``: all distances between shapes, as a table."""

from pathlib import Path
from typing import Annotated

import typer

from shapelex.cli.figures import FigureRequest, claim_figure, draw_figure, with_figure
from shapelex.cli.options import (
    DistanceName,
    DistanceOption,
    ForceOption,
    JsonOption,
    QuietOption,
    RawCellsOption,
    ShapesArgument,
)
from shapelex.cli.outputs import claim_table, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import read_complete_shapes


@with_figure
def distances(
    shapes: ShapesArgument,
    to: Annotated[
        str | None,
        typer.Argument(
            metavar="OTHER",
            help="Other shapes: compute the distances from SHAPES (rows) to these (columns).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Table to write: .csv, .tsv or .parquet.")] = ...,  # type: ignore[assignment]
    distance: DistanceOption = DistanceName.full,
    raw_cells: RawCellsOption = False,
    figure: FigureRequest = FigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a table of the distances between all pairs of shapes, with their ids.

    --figure draws the distances as colors, sorted by label.

    Example: shapelex distances shapes.npz -o distances.csv --distance full --figure distances.png
    """
    from shapelex.files.table_file import write_table

    target, picture = claim_table(out, force), claim_figure(figure, force)
    screen = Screen(quiet, as_json)
    found = read_complete_shapes(shapes, screen)
    other = None if to is None else read_complete_shapes(to, screen)
    import shapelex as sx

    with screen.progress("measuring"):
        table = sx.pairwise_distances(found, other, kind=distance.value, space=found.space)
    run = record_run(None, (shapes,) if to is None else (shapes, to))
    columns = (found if other is None else other).ids.tolist()
    # Names of columns must differ, ids need not.
    names = columns if len(set(columns)) == len(columns) else [f"{place}:{name}" for place, name in enumerate(columns)]
    cells = {"id": found.ids, **{f"{name}": table[:, place] for place, name in enumerate(names)}}
    write_table(target, [cells], run, raw_cells=raw_cells)
    screen.say(f"{len(table)} x {len(names)} {distance} distances, mean {table.mean():.4f}, greatest {table.max():.4f}")
    screen.wrote(target)
    if picture is not None:
        labels = found.labels if other is None else None
        draw_figure(
            figure, lambda ax: sx.plotting.plot_distances(table, labels=labels, names=found.ids, ax=ax), run, 0.8
        )
        screen.wrote(picture)
    screen.show({"shape": list(table.shape), "mean": float(table.mean()), "greatest": float(table.max())})
