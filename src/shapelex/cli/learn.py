"""``shapelex learn``: shapes to a dictionary."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.check import say_findings
from shapelex.cli.errors import CommandError, Interruption
from shapelex.cli.exclusion import ExcludeOption, exclude_shapes, read_exclusion
from shapelex.cli.figures import (
    ShapesFigureRequest,
    claim_figure,
    draw_figure,
    gallery_aspect,
    pose_on_page,
    with_figure,
)
from shapelex.cli.fit_progress import follow_fit
from shapelex.cli.format_options import FormatOption, parse_format_options
from shapelex.cli.json_report import current_report
from shapelex.cli.options import (
    DeviceOption,
    DistanceName,
    DistanceOption,
    ForceOption,
    JsonOption,
    MissingName,
    MissingOption,
    QuietOption,
    SchedulerOption,
    SeedOption,
    ShapesArgument,
    StabilityOption,
)
from shapelex.cli.outputs import claim_file, current_outputs, is_ours, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import count_incomplete, read_complete_shapes, say_notes
from shapelex.cli.stored import on_cluster, open_stored_shapes


class CoderName(StrEnum):
    """Ways to find the atoms of a shape."""

    auto = "auto"
    exact = "exact"
    beam = "beam"
    ormp = "ormp"
    omp = "omp"


@with_figure
def learn(
    shapes: ShapesArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="Model file to write, .npz.")],
    atoms: Annotated[int, typer.Option("--n-atoms", min=1, help="Number of atoms.")] = 20,
    nonzero: Annotated[int, typer.Option("--n-nonzero", min=1, help="Maximum number of atoms per shape.")] = 5,
    coder: Annotated[
        CoderName, typer.Option("--coder", help="Algorithm that selects the atoms of a shape; the paper uses ormp.")
    ] = CoderName.auto,
    weight_penalty: Annotated[
        float,
        typer.Option("--weight-penalty", min=0, help="Price of large weights, so that atoms do not cancel each other."),
    ] = 0.0,
    effort: Annotated[
        float,
        typer.Option(
            "--effort",
            min=1,
            help="How much to do for a lower training error: 50 swaps of atoms for each unit above 1. The atoms then "
            "differ more from sample to sample.",
        ),
    ] = 1,
    tie: Annotated[
        float | None,
        typer.Option("--tie", min=0, help="0 not to hold the atoms near their start.", show_default=False),
    ] = None,
    swaps: Annotated[
        int | None,
        typer.Option(
            "--n-swaps",
            min=0,
            help="Number of swaps of atoms that are tried; by default --effort decides.",
            show_default=False,
        ),
    ] = None,
    distance: DistanceOption = DistanceName.full,
    restarts: Annotated[
        int, typer.Option("--n-restarts", min=1, help="Number of searches by swaps; the best is kept.")
    ] = 1,
    max_iter: Annotated[
        int, typer.Option("--max-iter", min=0, help="Maximum number of updates of each dictionary.")
    ] = 100,
    batch_size: Annotated[
        int | None,
        typer.Option("--batch-size", min=1, help="Learn from batches of this number of shapes.", show_default=False),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", help="Save progress to this file, and resume from it if it exists.", show_default=False
        ),
    ] = None,
    stability: StabilityOption = True,
    exclude: ExcludeOption = None,
    missing: MissingOption = MissingName.allow,
    option: FormatOption = None,
    device: DeviceOption = "cpu",
    scheduler: SchedulerOption = None,
    seed: SeedOption = 0,
    figure: ShapesFigureRequest = ShapesFigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn a dictionary: a small set of typical shapes whose weighted sums approximate all shapes.

    Arrays in .npy and .zarr files, and large sets, are read block by block, so they may be larger than memory.

    Of shapes with missing landmarks, the landmarks that are present are used; such sets are read into memory.

    With --exclude, the remaining shapes are read into memory.

    After that, two dictionaries are learned from halves of at most 4,000 of the shapes, to see which atoms are found
    again and can be named; --no-stability saves this time.

    After Ctrl-C, the best dictionary so far is kept beside the output file, as NAME.interrupted.npz.

    Example: shapelex learn shapes.npz -o model.npz --n-atoms 10 --n-nonzero 3 --figure atoms.png
    """
    if out.suffix != ".npz":
        raise typer.BadParameter(f"a model file ends in .npz, got {out.name}.", param_hint="-o")
    if nonzero > atoms:
        raise typer.BadParameter(f"must be at most --n-atoms {atoms}, got {nonzero}.", param_hint="--n-nonzero")
    if exclude is not None and scheduler is not None:
        raise typer.BadParameter(
            "works without --scheduler: leave the shapes out with shapelex import --exclude.", param_hint="--exclude"
        )
    target, picture = claim_file(out, force), claim_figure(figure, force)
    if checkpoint is not None:
        current_outputs().reserve(checkpoint, "--checkpoint")
    screen = Screen(quiet, as_json)
    options = parse_format_options(option)
    found: Any = None if options or missing is not MissingName.allow else open_stored_shapes(shapes)
    if found is None:
        found = read_complete_shapes(shapes, screen, missing=str(missing), **options)
    exclusion = None if exclude is None else read_exclusion(exclude)
    if exclusion is not None:
        found = exclude_shapes(found, exclusion)
        screen.say(found.notes[-1])
    n_incomplete = count_incomplete(found)
    if n_incomplete and (batch_size is not None or scheduler is not None):
        raise CommandError(
            f"{n_incomplete} of {len(found)} shapes of {shapes} have missing landmarks, and --batch-size and "
            f"--scheduler take complete shapes only: first run shapelex impute {shapes} -o complete.npz."
        )
    import shapelex as sx

    model = sx.ShapeDictionary(
        atoms,
        nonzero,
        space=found.space,
        coder=str(coder),
        weight_penalty=weight_penalty,
        tie=tie,
        effort=effort,
        n_swaps=swaps,
        distance=distance.value,
        n_restarts=restarts,
        max_iter=max_iter,
        batch_size=batch_size,
        device=device,
        random_state=seed,
        checkpoint=None if checkpoint is None else str(checkpoint),
    )
    run = record_run(seed, (shapes,) if exclude is None or not exclude.exists() else (shapes, exclude))
    try:
        with (
            on_cluster(found, shapes, scheduler) as source,
            screen.progress("learning") as tell,
            follow_fit(tell),
        ):
            model.fit(source)
    except KeyboardInterrupt:
        raise Interruption(_keep_best(model, out, run, checkpoint)) from None
    if stability:
        _measure_stability(model, target, out, run, screen)
    model.save(target, overwrite=True, run=run)
    if n_incomplete:
        screen.say(f"{n_incomplete} shapes are incomplete: their errors are those on the landmarks that they have")
    screen.say(f"{len(found)} shapes, {atoms} atoms, at most {nonzero} per shape: RMSE {100 * model.rmse_:.2f} %")
    screen.say(f"{model.n_iter_} updates; atoms are used by {_shares(model)} of the shapes")
    if stability:
        screen.say(model.stability_.summary())
    say_notes(found, screen)
    say_findings(found, shapes, screen)
    screen.wrote(target)
    if picture is not None:
        pose = pose_on_page(found, model.space_)
        draw_figure(figure, lambda ax: model.plot(pose=pose, ax=ax, **figure.gallery_look), run, gallery_aspect(atoms))
        screen.wrote(picture)
    screen.show({"rmse": float(model.rmse_), "n_iter": int(model.n_iter_), "n_incomplete": n_incomplete,
                 "n_excluded": 0 if exclusion is None else exclusion.n_excluded,
                 "unmatched": [] if exclusion is None else exclusion.unmatched,
                 "usage": model.usage_.tolist(),
                 "stability": model.stability_.to_json() if stability else None})  # fmt: skip


def _measure_stability(model: Any, target: Path, out: Path, run: dict[str, Any], screen: Screen) -> None:
    """Learn from halves of the shapes; what was learned from all of them is not lost by an interruption."""
    try:
        with screen.progress("learning from halves") as tell, follow_fit(tell):
            _ = model.stability_
    except KeyboardInterrupt:
        model.save(target, overwrite=True, run=run)
        screen.wrote(target)
        current_outputs().put_in_place()
        raise Interruption(f"interrupted: {out} has the dictionary, without the stability of its atoms.") from None


def _shares(model: Any) -> str:
    return f"{100 * model.usage_.min():.0f} to {100 * model.usage_.max():.0f} %"


def _keep_best(model: Any, out: Path, run: dict[str, Any], checkpoint: Path | None) -> str:
    """Keep what an interrupted fit has, where it cannot pass for a finished one or replace it; return what to say."""
    if not hasattr(model, "atoms_"):
        return "interrupted: nothing was learned yet, and nothing was written."
    more = "" if checkpoint is None else f"; the same command goes on from {checkpoint}"
    names = (f"{out.stem}.interrupted{number}.npz" for number in ("", *range(2, 1000)))
    kept = next(path for path in map(out.with_name, names) if not path.exists() or is_ours(path))
    model.save(kept, overwrite=True, run={**run, "interrupted": True})
    current_report().note_output(kept)
    return f"interrupted: {kept} has the best dictionary so far, RMSE {100 * model.rmse_:.2f} %{more}."
