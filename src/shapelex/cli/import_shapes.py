"""``shapelex import``: files of any kind to one set of shapes."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.check import say_findings
from shapelex.cli.errors import CommandError
from shapelex.cli.exclusion import ExcludeOption, exclude_shapes, flip_shapes, read_exclusion
from shapelex.cli.format_options import FormatOption, complete_format, parse_format_options
from shapelex.cli.json_report import current_report
from shapelex.cli.options import (
    ForceOption,
    JsonOption,
    MissingName,
    MissingOption,
    QuietOption,
    RawCellsOption,
    SeedOption,
)
from shapelex.cli.outputs import record_run
from shapelex.cli.registering import register_shapes
from shapelex.cli.screen import Screen
from shapelex.cli.shape_files import claim_shapes, write_shapes
from shapelex.cli.shapes import is_registered, leave_out_like, make_space, read_shapes, reading_options
from shapelex.cli.stored import assembled_shapes, open_if_large, open_stored_shapes
from shapelex.cli.units import UnitOption, with_unit


class SpaceName(StrEnum):
    """Spaces that shapes can be brought into."""

    landmarks = "landmarks"
    bspline = "bspline"
    hermite = "hermite"


def import_shapes(
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Files, folders or patterns such as '*.tps'.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="File to write: .npz or .zarr (keep everything), .csv or .tps (for other programs)."
        ),
    ],
    space: Annotated[
        SpaceName,
        typer.Option("--space", help="Landmarks, or curves fitted to the points (these need --n-points)."),
    ] = SpaceName.landmarks,
    points: Annotated[
        int | None,
        typer.Option(
            "--n-points",
            min=2,
            help="Number of points per shape, at equal steps of arc length; of curves, number of control points.",
            show_default=False,
        ),
    ] = None,
    closed: Annotated[
        bool | None,
        typer.Option("--closed/--open", help="Read shapes as closed or as open curves.", show_default=False),
    ] = None,
    register: Annotated[
        bool, typer.Option("--register", help="Give outlines a common start point and direction.")
    ] = False,
    reflection: Annotated[bool, typer.Option("--reflection", help="With --register: also mirror shapes.")] = False,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            help="Prepare the shapes like the set in this file: same space, points and registration.",
            show_default=False,
        ),
    ] = None,
    label_from: Annotated[
        str | None,
        typer.Option(
            "--label-from",
            help="Label from the path: 'parent' for the folder, a regular expression, or a pattern whose names become "
            "columns: {arm}/{well}.tif",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--join", help="Sheet of metadata to join: .csv, .tsv, .xlsx or .parquet.", show_default=False),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="COLUMN",
            help="What rows of the sheet name: id, file, or id=Specimen for another name of its column.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Column that becomes the label, too.", show_default=False)
    ] = None,
    unit: UnitOption = None,
    fps: Annotated[
        float | None,
        typer.Option(
            "--fps", help="Frames per second of the recordings; what the files say by default.", show_default=False
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format of the input, if it is not recognized; shapelex formats lists them.",
            show_default=False,
            autocompletion=complete_format,
        ),
    ] = None,
    missing: MissingOption = MissingName.error,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out records that cannot be read.")] = False,
    exclude: ExcludeOption = None,
    flip: Annotated[
        Path | None,
        typer.Option(
            "--flip",
            help="Mirror these shapes, given as for --exclude, such as those that shapelex check names.",
            show_default=False,
        ),
    ] = None,
    missing_mark: Annotated[
        float | None,
        typer.Option(
            "--missing-mark",
            help="Landmarks with this number as x and y are missing, such as -1 or 0.",
            show_default=False,
        ),
    ] = None,
    option: FormatOption = None,
    raw_cells: RawCellsOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read shapes from files of any kind into one set: masks, TPS, tables, ImageJ, COCO, WCON, HDF5.

    Sets larger than memory can be written to .npz and .zarr files.

    Example: shapelex import masks/ -o shapes.npz --n-points 100 --register --label-from parent
    """
    if reflection and not register:
        raise typer.BadParameter("works only with --register.", param_hint="--reflection")
    if space is not SpaceName.landmarks and points is None and like is None:
        raise typer.BadParameter(f"--space {space} needs --n-points: how many the curve has.", param_hint="--space")
    import shapelex as sx
    from shapelex.shapes.set import join_blocks
    from shapelex.shapes.summary import Summary

    target = claim_shapes(out, force)
    screen = Screen(quiet, as_json)
    options: dict[str, Any] = {
        "format": file_format,
        "missing": str(missing),
        "on_error": "skip" if skip_bad else "raise",
        "label_from": label_from,
        "join": labels,
        "on": on,
        "label": label,
        "fps": fps,
        **parse_format_options(option),
    }
    current_report().note_inputs([] if labels is None else [labels])
    model_set: Any = None if like is None else open_if_large(like) or read_shapes(like, screen)
    if model_set is not None:
        if points is not None or closed is not None or space is not SpaceName.landmarks:
            raise typer.BadParameter("takes the place of --space, --n-points and --open/--closed.", param_hint="--like")
        if reflection and is_registered(model_set):
            raise typer.BadParameter("registers as the set in that file, so --reflection is not needed.",
                                     param_hint="--like")  # fmt: skip
        _check_openness(inputs, like, model_set)
        register |= is_registered(model_set)
        options |= reading_options(model_set.space, model_set.preparation)
    elif space is SpaceName.landmarks:
        options |= {"n_points": points, "closed": closed}
    else:
        assert points is not None
        # A curve is open or closed like what it is fitted to, unless the option says so.
        curve = partial(make_space, str(space), points)
        options["space"] = curve if closed is None else curve(closed)
    exclusion = None if exclude is None else read_exclusion(exclude)
    with assembled_shapes(inputs, out, screen, **options) as shapes:
        if exclusion is not None:
            # Before registration, whose mean they would change.
            shapes = exclude_shapes(shapes, exclusion)
        if missing_mark is not None:
            shapes = sx.mark_missing(join_blocks(list(shapes.blocks())), missing_mark)
        if flip is not None:
            shapes = flip_shapes(shapes, read_exclusion(flip))
        if model_set is not None:
            shapes = leave_out_like(shapes, model_set.preparation, str(like), screen)
        if register:
            shapes, _ = register_shapes(shapes, model_set, reflection, seed, screen, start=closed is not False)
        shapes = with_unit(shapes, unit)
        lists = [one for one in (exclude, flip) if one is not None and one.exists()]
        run = record_run(seed, (*inputs, *(one for one in (like, labels) if one is not None), *lists))
        with screen.progress("writing"):
            write_shapes(shapes, target, run, raw_cells=raw_cells)
        checked = shapes if isinstance(shapes, sx.ShapeSet) else sx.open_shapes(target)
        summary = Summary(checked)
    screen.say(str(summary))
    say_findings(checked, out, screen, sizes_count=True)
    screen.wrote(target)
    found_labels = sorted(summary.labels) if summary.labels else None
    current_report().note_remarks(shapes.notes)
    screen.show({"n_shapes": shapes.shape[0], "space": repr(shapes.space), "labels": found_labels})


def _check_openness(inputs: list[str], like: str | None, model_set: Any) -> None:
    """Refuse sets that are known to be open where the set to prepare them like is closed, and the other way round."""
    for path in inputs:
        stored = open_stored_shapes(path, whatever_size=True)
        if stored is None or stored.preparation is None or stored.space.closed == model_set.space.closed:
            continue
        raise CommandError(
            f"{path} is in {stored.space}, but {like} is in {model_set.space}: --like changes neither landmarks into "
            "outlines nor outlines into landmarks. If both are outlines, import the files again, with --closed or "
            "--open for all."
        )
