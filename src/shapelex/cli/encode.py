"""``shapelex encode`` and ``reconstruct``: codes of shapes over a dictionary, and what the dictionary makes of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shapelex.cli.command import CodesFile, ShapesFile, command
from shapelex.cli.errors import CommandError, refuse
from shapelex.cli.figures import gallery_aspect, pose_on_page
from shapelex.cli.run import Run
from shapelex.cli.shapes import fit_for, load_dictionary, on_cluster, open_stored_shapes, read_shapes_for

if TYPE_CHECKING:
    from shapelex.estimators import ShapeDictionary
    from shapelex.files.code_files import CodeBlock
    from shapelex.shapes import ShapeSet

_DRAWN = 24


@command("raw_cells", "shapes_figure")
def encode(
    run: Run,
    model: Path,
    shapes: str,
    *,
    out: CodesFile,
    layout: Literal["slots", "atoms"] = "slots",
    device: str = "cpu",
    scheduler: str | None = None,
) -> dict[str, Any]:
    """Write the codes of shapes: the atoms of each shape, their scales and rotations, and the error.

    Arrays in .npy and .zarr files, and large sets, are read block by block; a .zarr folder stores their codes as
    arrays. Shapes with missing landmarks are coded from the landmarks that are present, and their error is computed on
    these. The output has all columns of the set; in Python, shapelex.read_codes reads every kind of output. Angles are
    in radians. --figure draws reconstructions over shapes, from the best to the worst.

    Example: shapelex encode model.npz shapes.npz -o codes.csv --figure overlays.png

    Options
    -------
    out : File to write: .csv, .tsv, .xlsx, .parquet, .npz or .zarr.
    layout : slots: columns for the atoms that a shape uses; atoms: columns for every atom.
    """
    suffix = out.suffix.lower()
    refuse(suffix == ".zarr" and run.figure, "--figure", "works with tables and .npz, not with .zarr.")
    dictionary = load_dictionary(run, model, device)
    needs_blocks = suffix == ".zarr" or scheduler is not None
    is_whole = suffix == ".npz" or run.figure is not None
    found: Any = None if is_whole else _open_to_code(run, shapes, dictionary, needs_blocks)
    in_blocks = found is not None
    if in_blocks:
        found = fit_for(run, dictionary, found, shapes)
    elif needs_blocks:
        if not Path(shapes).exists():
            raise CommandError(f"There is no file {shapes}.")
        raise CommandError(
            f"{shapes} cannot be coded piece by piece, as .zarr and a cluster need it: import it first, as .npz or "
            ".zarr, and write .zarr or a table, without --figure."
        )
    else:
        found = read_shapes_for(run, dictionary, shapes)
    from shapelex.coding.codes import shape_columns
    from shapelex.files.code_files import write_codes

    run.make_record(dictionary.random_state, shapes, model)
    squares, worst = 0.0, 0.0

    def blocks(source: Any) -> "Iterator[CodeBlock]":
        nonlocal squares, worst
        for block in dictionary._coded_blocks(source):
            squares += float((block.errors**2).sum())
            worst = max(worst, float(block.errors.max()))
            end = block.start + len(block.codes)
            yield block.codes, block.errors, shape_columns(found[block.start : end])
            tell(end / len(found), "")

    with on_cluster(found, shapes, scheduler) as source, run.progress("coding") as tell:
        if in_blocks:
            coded = blocks(source)
        else:
            codes, errors = dictionary.encode(found), dictionary.errors(found)
            squares, worst = float((errors**2).sum()), float(errors.max())
            coded = iter([(codes, errors, shape_columns(found))])
        write_codes(run.outputs.place(out), coded, run.record, layout, raw_cells=run.raw_cells)
    if run.figure is not None:
        _draw_overlays(run, found, dictionary.inverse_transform(codes))
    return _tell_errors(run, len(found), (squares / len(found)) ** 0.5, worst)


@command("raw_cells", "shapes_figure")
def reconstruct(run: Run, model: Path, shapes: str, *, out: ShapesFile, device: str = "cpu") -> dict[str, Any]:
    """Write the approximations of shapes: centered, with norm about 1, rotated like the originals.

    The set that is written keeps ids, labels and series, and has the column error.

    Example: shapelex reconstruct model.npz shapes.npz -o reconstructed.npz --figure overlays.pdf

    Options
    -------
    out : File to write: .npz, .csv or .tps.
    """
    dictionary = load_dictionary(run, model, device)
    found = read_shapes_for(run, dictionary, shapes)
    with run.progress("coding"):
        made, errors = dictionary.reconstruct(found), dictionary.errors(found)
    run.make_record(dictionary.random_state, shapes, model)
    run.write_shapes(out, found.replace(configurations=made, metadata={**found.metadata, "error": errors}))
    if run.figure is not None:
        _draw_overlays(run, found, made)
    return _tell_errors(run, len(found), float((errors**2).mean() ** 0.5), float(errors.max()))


def _tell_errors(run: Run, n_shapes: int, rmse: float, worst: float) -> dict[str, Any]:
    run.say(f"{n_shapes} shapes, RMSE {100 * rmse:.2f} %, worst {100 * worst:.2f} %")
    return {"n_shapes": n_shapes, "rmse": rmse, "worst": worst}


def _open_to_code(run: Run, path: str, model: "ShapeDictionary", whatever_size: bool) -> "ShapeSet | None":
    """Open shapes to be coded piece by piece; None for those that are read, and brought into form, in memory."""
    from shapelex.io.stored_shapes import is_large

    stored = open_stored_shapes(run, path, whatever_size=whatever_size)
    if stored is None or whatever_size or is_large(Path(path)):
        return stored
    is_ready = stored.space == model.space_ or (stored.preparation is None and stored.shape[1] == model.n_features_in_)
    return stored if is_ready else None


def _draw_overlays(run: Run, shapes: Any, reconstructions: Any) -> None:
    """Draw reconstructions over complete shapes, evenly from the least error to the greatest."""
    import shapelex as sx

    is_complete = ~shapes.is_missing.any(axis=1)
    if not is_complete.any():
        raise CommandError("--figure draws complete shapes, but all of these have missing landmarks: leave it out.")
    shown, made, pose = shapes[is_complete], reconstructions[is_complete], pose_on_page(shapes, shapes.space)
    look = {"n_columns": run.columns, "pose": pose, "max_shapes": _DRAWN, **run.look}
    run.draw(
        lambda ax: sx.plotting.plot_reconstructions(shown, made, ax=ax, **look), gallery_aspect(min(_DRAWN, len(shown)))
    )
