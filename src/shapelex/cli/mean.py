"""``shapelex mean``: the mean shape of a set, or of each of its labels."""

from pathlib import Path
from typing import Annotated

import typer

from shapelex.cli.errors import CommandError
from shapelex.cli.figures import ShapesFigureRequest, claim_figure, draw_figure, gallery_aspect, with_figure
from shapelex.cli.options import (
    DistanceName,
    DistanceOption,
    ForceOption,
    JsonOption,
    QuietOption,
    RawCellsOption,
    ShapesArgument,
)
from shapelex.cli.outputs import record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shape_files import claim_shapes, write_shapes
from shapelex.cli.shapes import read_complete_shapes


@with_figure
def mean(
    shapes: ShapesArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write: .npz, .csv or .tps.")],
    distance: DistanceOption = DistanceName.full,
    by_label: Annotated[bool, typer.Option("--by-label", help="Compute one mean per label.")] = False,
    raw_cells: RawCellsOption = False,
    figure: ShapesFigureRequest = ShapesFigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the mean shape, which minimizes the sum of squared distances to all shapes.

    --figure draws the mean over the shapes, or with --by-label the means side by side.

    Example: shapelex mean shapes.npz -o mean.csv --figure mean.png
    """
    target, picture = claim_shapes(out, force), claim_figure(figure, force)
    screen = Screen(quiet, as_json)
    found = read_complete_shapes(shapes, screen)
    if by_label and found.labels is None:
        raise CommandError(f"{shapes} has no labels: leave out --by-label, or import with --label-from.")
    import numpy as np

    import shapelex as sx

    names: list[str] = sorted(set(found.labels.tolist())) if by_label and found.labels is not None else []
    groups = [found[found.labels == name] for name in names] or [found]
    means = [sx.mean_shape(group, distance.value, space=found.space) for group in groups]
    # Means of labels in one pose, that of the first.
    means = [means[0], *(sx.rotate_onto(one, means[0], found.space) for one in means[1:])]
    spreads = [
        float(np.sqrt(np.mean(sx.distance(group.configurations, one, kind=distance.value, space=found.space) ** 2)))
        for group, one in zip(groups, means, strict=True)
    ]
    ids = [f"mean of {name or '(none)'}" for name in names] or ["mean"]
    run = record_run(None, (shapes,))
    made = sx.ShapeSet(np.array(means), found.space, ids=ids, labels=names or None,
                       metadata={"n_shapes": [len(group) for group in groups], "rms_distance": spreads},
                       preparation=found.preparation)  # fmt: skip
    write_shapes(made, target, run, raw_cells=raw_cells)
    for name, group, spread in zip(ids, groups, spreads, strict=True):
        screen.say(f"{name}: {len(group)} shapes, RMS {distance} distance to it {spread:.4f}")
    screen.wrote(target)
    if picture is not None:
        if by_label:
            look = {"labels": [name or "(none)" for name in names], **figure.gallery_look}
            draw_figure(
                figure,
                lambda ax: sx.plotting.plot_shapes(np.array(means), found.space, ax=ax, **look),
                run,
                gallery_aspect(len(means)),
            )
        else:
            draw_figure(figure, lambda ax: sx.plotting.plot_mean(found, kind=distance.value, ax=ax, **figure.look), run)
        screen.wrote(picture)
    screen.show({"means": [
        {"id": name, "n_shapes": len(group), "rms_distance": spread}
        for name, group, spread in zip(ids, groups, spreads, strict=True)
    ]})  # fmt: skip
