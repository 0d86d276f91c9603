"""``shapelex reproduce``: the paper's table and figures."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shapelex.cli.errors import CommandError, Interruption
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, SeedOption
from shapelex.cli.outputs import claim_folder, typed_command
from shapelex.cli.screen import Screen

if TYPE_CHECKING:
    from shapelex.report.reproduction.measure import SetResult

DATASETS = ("1", "2", "3", "4", "4b", "5")


def reproduce(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Use only the datasets in this folder. By default they come from the folder that SHAPELEX_DATA "
            "names, from the cache, or are downloaded.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the page and its figures.")] = Path(
        "reproduction"
    ),
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Datasets to run, such as 2,3 or 4b; all by default.", show_default=False),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use few shapes and updates, to test the installation.")
    ] = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Repeat the experiments of the paper and write its table and figures.

    Downloads the datasets on first use, and prints their source and license on standard error. Writes reproduction.md,
    results.json and figures/ (PNG and SVG). Datasets that are not available are skipped, and the reason is printed.
    All datasets together take about ten minutes on two cores.

    Example: shapelex reproduce -o reproduction --only 2,3
    """
    names = _dataset_names(only)
    if data is not None and not data.is_dir():
        raise CommandError(f"there is no folder {data}: pass --data FOLDER with the shape data, or leave it out.")
    from shapelex.report.reproduction import find_sets
    from shapelex.report.reproduction import reproduce as run_reproduction

    if quiet:
        import pooch

        pooch.get_logger().setLevel(logging.ERROR)
    sets = find_sets(data, names)
    target = claim_folder(out, force)
    screen = Screen(quiet, as_json)
    finished: list[SetResult] = []

    def note(result: "SetResult") -> None:
        finished.append(result)
        screen.say(_line(result))

    try:
        with screen.progress("reproducing") as tell:
            found = run_reproduction(
                target,
                sets,
                quick=quick,
                random_state=seed,
                command=typed_command(),
                tell=tell,
                finished=note,
            )
    except KeyboardInterrupt:
        kept = ", ".join(result.paper_set.name for result in finished)
        what = f"{target} has dataset {kept}" if kept else "no dataset was finished"
        raise Interruption(f"interrupted: {what}; run again with --force.") from None
    for name, reason in found.missing.items():
        screen.say(f"skipped dataset {name}: {reason}")
    screen.wrote(found.page)
    screen.show(found.to_json())


def _dataset_names(only: list[str] | None) -> list[str] | None:
    if not only:
        return None
    names = [name.strip() for part in only for name in part.split(",") if name.strip()]
    unknown = [name for name in names if name not in DATASETS]
    if unknown or not names:
        given = ", ".join(unknown) or "nothing"
        raise typer.BadParameter(f"datasets are {', '.join(DATASETS)}, got {given}.", param_hint="--only")
    return names


def _line(result: "SetResult") -> str:
    paper_set = result.paper_set
    errors = ", ".join(f"{method} {100 * one.rmse:.2f} %" for method, one in result.measured.items())
    return f"dataset {paper_set.name}: {errors}; the paper {paper_set.paper_rmse:.2f} %"
