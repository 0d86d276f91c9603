"""``shapelex encode``: codes of shapes over a dictionary, as a table."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.coding_in_blocks import open_to_code, write_codes_in_blocks
from shapelex.cli.errors import CommandError
from shapelex.cli.figures import (
    ShapesFigureRequest,
    claim_figure,
    draw_figure,
    gallery_aspect,
    pose_on_page,
    with_figure,
)
from shapelex.cli.options import (
    DeviceOption,
    ForceOption,
    JsonOption,
    ModelArgument,
    QuietOption,
    RawCellsOption,
    SchedulerOption,
    ShapesArgument,
)
from shapelex.cli.outputs import claim_file, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import fit_for, load_dictionary, read_shapes_for
from shapelex.cli.stored import on_cluster

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN = 24


class LayoutName(StrEnum):
    """Layouts of a table of codes."""

    slots = "slots"
    atoms = "atoms"


@with_figure
def encode(
    model: ModelArgument,
    shapes: ShapesArgument,
    out: Annotated[
        Path, typer.Option("-o", "--out", help="File to write: .csv, .tsv, .xlsx, .parquet, .npz or .zarr.")
    ],
    layout: Annotated[
        LayoutName,
        typer.Option("--layout", help="slots: columns for the atoms that a shape uses; atoms: columns for every atom."),
    ] = LayoutName.slots,
    raw_cells: RawCellsOption = False,
    device: DeviceOption = "cpu",
    scheduler: SchedulerOption = None,
    figure: ShapesFigureRequest = ShapesFigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the codes of shapes: the atoms of each shape, their scales and rotations, and the error.

    Arrays in .npy and .zarr files, and large sets, are read block by block; a .zarr folder stores their codes as
    arrays. Shapes with missing landmarks are coded from the landmarks that are present, and their error is computed on
    these. The output has all columns of the set; in Python, shapelex.read_codes reads every kind of output. Angles are
    in radians. --figure draws reconstructions over shapes, from the best to the worst.

    Example: shapelex encode model.npz shapes.npz -o codes.csv --figure overlays.png
    """
    suffix = out.suffix.lower()
    if suffix == ".zarr" and figure.figure is not None:
        raise typer.BadParameter("works with tables and .npz, not with .zarr.", param_hint="--figure")
    _check_table(out)
    target, picture = claim_file(out, force), claim_figure(figure, force)
    screen = Screen(quiet, as_json)
    dictionary = load_dictionary(model, device)
    needs_blocks = suffix == ".zarr" or scheduler is not None
    stored = None if suffix == ".npz" or figure.figure is not None else open_to_code(shapes, dictionary, needs_blocks)
    if stored is None and needs_blocks:
        if not Path(shapes).exists():
            raise CommandError(f"There is no file {shapes}.")
        raise CommandError(
            f"{shapes} cannot be coded piece by piece, as .zarr and a cluster need it: import it first, as .npz or "
            ".zarr, and write .zarr or a table, without --figure."
        )
    if stored is not None:
        stored = fit_for(dictionary, stored, shapes, screen)
        run = record_run(dictionary.random_state, (shapes, model))
        with on_cluster(stored, shapes, scheduler) as source, screen.progress("coding") as tell:
            rmse, worst = write_codes_in_blocks(
                target, dictionary, stored, source, run, str(layout), tell, raw_cells=raw_cells
            )
        screen.say(f"{len(stored)} shapes, RMSE {100 * rmse:.2f} %, worst {100 * worst:.2f} %")
        screen.wrote(target)
        screen.show({"n_shapes": len(stored), "rmse": rmse, "worst": worst})
        return
    found = read_shapes_for(dictionary, shapes, screen)
    from shapelex.coding.codes import shape_columns
    from shapelex.files.code_files import write_codes

    with screen.progress("coding"):
        codes, errors = dictionary.encode(found), dictionary.errors(found)
    run = record_run(dictionary.random_state, (shapes, model))
    write_codes(target, [(codes, errors, shape_columns(found))], run, str(layout), raw_cells=raw_cells)
    rmse = float((errors**2).mean() ** 0.5)
    screen.say(f"{len(found)} shapes, RMSE {100 * rmse:.2f} %, worst {100 * errors.max():.2f} %")
    screen.wrote(target)
    if picture is not None:
        draw_overlays(figure, found, dictionary.inverse_transform(codes), run)
        screen.wrote(picture)
    screen.show({"n_shapes": len(found), "rmse": rmse, "worst": float(errors.max())})


def draw_overlays(figure: ShapesFigureRequest, shapes: Any, reconstructions: Any, run: dict[str, Any]) -> None:
    """Draw reconstructions over complete shapes, evenly from the least error to the greatest."""
    import shapelex as sx

    is_complete = ~shapes.is_missing.any(axis=1)
    if not is_complete.any():
        raise CommandError("--figure draws complete shapes, but all of these have missing landmarks: leave it out.")
    pose = pose_on_page(shapes, shapes.space)

    def draw(ax: "Axes") -> None:
        sx.plotting.plot_reconstructions(
            shapes[is_complete],
            reconstructions[is_complete],
            pose=pose,
            max_shapes=_DRAWN,
            ax=ax,
            **figure.gallery_look,
        )

    draw_figure(figure, draw, run, gallery_aspect(min(_DRAWN, int(is_complete.sum()))))


def _check_table(path: Path) -> None:
    from shapelex.files.code_files import SUFFIXES
    from shapelex.files.table_file import check_table_path

    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{path.name} must end in {', '.join(SUFFIXES)}.", param_hint="-o")
    if path.suffix.lower() not in (".npz", ".zarr"):
        check_table_path(path)
