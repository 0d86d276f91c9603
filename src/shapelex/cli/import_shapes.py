"""``shapelex import``: files of any kind to one set of shapes."""

from functools import partial
from pathlib import Path
from typing import Any, Literal

from shapelex.cli.check import say_findings
from shapelex.cli.command import Missing, ShapesFile, command
from shapelex.cli.errors import CommandError, refuse
from shapelex.cli.exclusion import exclude_shapes, flip_shapes, read_exclusion
from shapelex.cli.formats import parse_format_options
from shapelex.cli.register import register_shapes
from shapelex.cli.run import Run
from shapelex.cli.shapes import (
    assembled_shapes,
    is_registered,
    leave_out_like,
    make_space,
    open_if_large,
    open_stored_shapes,
    read_shapes,
    reading_options,
    with_unit,
)


@command("raw_cells")
def import_shapes(
    run: Run,
    inputs: list[str],
    *,
    out: ShapesFile,
    space: Literal["landmarks", "bspline", "hermite"] = "landmarks",
    n_points: int | None = None,
    closed: bool | None = None,
    register: bool = False,
    reflection: bool = False,
    like: str | None = None,
    label_from: str | None = None,
    join: Path | None = None,
    on: str | None = None,
    label: str | None = None,
    unit: str | None = None,
    fps: float | None = None,
    format: str | None = None,  # noqa: A002 -- named like the option
    missing: Missing = "error",
    skip_bad: bool = False,
    exclude: Path | None = None,
    flip: Path | None = None,
    missing_mark: float | None = None,
    option: list[str] | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Read shapes from files of any kind into one set: masks, TPS, tables, ImageJ, COCO, WCON, HDF5.

    Sets larger than memory can be written to .npz and .zarr files.

    Example: shapelex import masks/ -o shapes.npz --n-points 100 --register --label-from parent

    Options
    -------
    inputs : Files, folders or patterns such as '*.tps'.
    out : File to write: .npz or .zarr (keep everything), .csv or .tps (for other programs).
    space : Landmarks, or curves fitted to the points (these need --n-points).
    n_points : Number of points per shape, at equal steps of arc length; of curves, number of control points.
    closed : Read shapes as closed or as open curves.
    register : Give outlines a common start point and direction.
    reflection : With --register: also mirror shapes.
    like : Prepare the shapes like the set in this file: same space, points and registration.
    label_from : Label from the path: 'parent' for the folder, a regular expression, or a pattern whose names become
        columns: {arm}/{well}.tif
    join : Sheet of metadata to join: .csv, .tsv, .xlsx or .parquet.
    on : With --join: what rows of the sheet name: id, file, or id=Specimen for another name of its column.
    label : Column that becomes the label, too.
    fps : Frames per second of the recordings; what the files say by default.
    format : Format of the input, if it is not recognized; shapelex formats lists them.
    skip_bad : Leave out records that cannot be read.
    flip : Mirror these shapes, given as for --exclude, such as those that shapelex check names.
    missing_mark : Landmarks with this number as x and y are missing, such as -1 or 0.
    """
    is_curve = space != "landmarks"
    is_endless = is_curve and n_points is None and like is None
    refuse(is_endless, "--space", f"--space {space} needs --n-points: how many the curve has.")
    import shapelex as sx
    from shapelex.shapes.set import join_blocks
    from shapelex.shapes.summary import Summary

    options: dict[str, Any] = {
        "format": format,
        "missing": missing,
        "on_error": "skip" if skip_bad else "raise",
        "label_from": label_from,
        "join": join,
        "on": on,
        "label": label,
        "fps": fps,
        **parse_format_options(option),
    }
    run.reads(join)
    model_set: Any = None if like is None else open_if_large(run, like) or read_shapes(run, like)
    if model_set is not None:
        is_told = is_curve or n_points is not None or closed is not None
        refuse(is_told, "--like", "takes the place of --space, --n-points and --open/--closed.")
        advice = "registers as the set in that file, so --reflection is not needed."
        refuse(reflection and is_registered(model_set), "--like", advice)
        _check_openness(run, inputs, like, model_set)
        register |= is_registered(model_set)
        options |= reading_options(model_set.space, model_set.preparation)
    elif space == "landmarks":
        options |= {"n_points": n_points, "closed": closed}
    else:
        assert n_points is not None
        # A curve is open or closed like what it is fitted to, unless the option says so.
        curve = partial(make_space, space, n_points)
        options["space"] = curve if closed is None else curve(closed)
    exclusion = None if exclude is None else read_exclusion(exclude)
    with assembled_shapes(run, inputs, out, **options) as shapes:
        if exclusion is not None:
            # Before registration, whose mean they would change.
            shapes = exclude_shapes(shapes, exclusion)
        if missing_mark is not None:
            shapes = sx.mark_missing(join_blocks(list(shapes.blocks())), missing_mark)
        if flip is not None:
            shapes = flip_shapes(shapes, read_exclusion(flip))
        if model_set is not None:
            shapes = leave_out_like(run, shapes, model_set.preparation, str(like))
        if register:
            shapes, _ = register_shapes(run, shapes, model_set, reflection, random_state, start=closed is not False)
        shapes = with_unit(shapes, unit)
        lists = [one for one in (exclude, flip) if one is not None and one.exists()]
        run.make_record(random_state, *inputs, like, join, *lists)
        run.write_shapes(out, shapes)
        checked = shapes if shapes.in_memory else sx.open_shapes(run.outputs.place(out))
        summary = Summary(checked)
    run.say(str(summary))
    with run.progress("checking"):
        findings = sx.check(checked)
    say_findings(run, findings, out, sizes_count=True)
    run.keep_remarks(shapes.notes)
    labels = sorted(summary.labels) if summary.labels else None
    return {"n_shapes": shapes.shape[0], "space": repr(shapes.space), "labels": labels}


def _check_openness(run: Run, inputs: list[str], like: str | None, model_set: Any) -> None:
    """Refuse sets that are known to be open where the set to prepare them like is closed, and the other way round."""
    for path in inputs:
        stored = open_stored_shapes(run, path, whatever_size=True)
        if stored is None or stored.preparation is None or stored.space.closed == model_set.space.closed:
            continue
        raise CommandError(
            f"{path} is in {stored.space}, but {like} is in {model_set.space}: --like changes neither landmarks into "
            "outlines nor outlines into landmarks. If both are outlines, import the files again, with --closed or "
            "--open for all."
        )
