"""``shapelex report``: one page to explore a dictionary and its shapes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.errors import CommandError
from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption, ModelArgument, QuietOption, ShapesArgument
from shapelex.cli.outputs import claim_file, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import count_incomplete, fit_for, load_dictionary, read_shapes_for
from shapelex.cli.stored import open_if_large
from shapelex.cli.units import UnitOption, unit_of


def report(
    model: ModelArgument,
    shapes: ShapesArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="Page to write, .html.")],
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.", show_default=False)] = None,
    lines: Annotated[
        bool,
        typer.Option(
            "--joined/--no-joined", help="Draw a line through the points; use --no-joined for anatomical landmarks."
        ),
    ] = True,
    max_shapes: Annotated[
        int, typer.Option("--max-shapes", min=1, help="Maximum number of shapes on the page.")
    ] = 5000,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Column whose groups are compared; few labels are by default.", show_default=False),
    ] = None,
    unit: UnitOption = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--tested",
            help="Table that classify --tested wrote: show the confusion matrix and the misclassified shapes.",
            show_default=False,
        ),
    ] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write an HTML page to explore atoms, shapes and codes: a single file that works without a server.

    Example: shapelex report model.npz shapes.npz -o report.html --title "Wings of bees"
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"a page ends in .html, got {out.name}.", param_hint="-o")
    target = claim_file(out, force)
    screen = Screen(quiet, as_json)
    dictionary = load_dictionary(model)
    large = open_if_large(shapes)
    found: Any = (
        read_shapes_for(dictionary, shapes, screen) if large is None else fit_for(dictionary, large, shapes, screen)
    )
    n_incomplete = count_incomplete(found)
    if n_incomplete:
        raise CommandError(
            f"{n_incomplete} of {len(found)} shapes of {shapes} have missing landmarks, and the page shows complete "
            f"shapes: first run shapelex impute {shapes} -o complete.npz."
        )
    import shapelex as sx

    tested = None if predictions is None else _read_predictions(predictions)
    run = record_run(dictionary.random_state, (shapes, model, *(() if predictions is None else (predictions,))))
    if predictions is not None:
        _compare_inputs(predictions, shapes, run, screen)
    with screen.progress("writing the page"):
        page = sx.report.write_report(
            dictionary,
            found,
            target,
            title=title,
            joined=lines,
            max_shapes=max_shapes,
            overwrite=force,
            tested=tested,
            provenance=on_page(run),
            by=by,
            unit=unit_of(unit),
        )
    size = page.stat().st_size
    screen.wrote(page, f", {size / 1e6:.1f} MB: open it in a browser")
    screen.show({"n_shapes": len(found), "bytes": size})


def _read_predictions(path: Path) -> Any:
    """Read a table of predictions as text."""
    from shapelex.exceptions import reason_of
    from shapelex.files.table_file import TABLE_SUFFIXES, read_table

    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise typer.BadParameter(f"{path.name} must end in {', '.join(TABLE_SUFFIXES)}.", param_hint="--tested")
    try:
        return read_table(path, str)
    except FileNotFoundError as error:
        raise CommandError(f"There is no file {path}.") from error
    except ImportError:
        raise
    except Exception as error:  # libraries raise nearly anything on damaged files
        raise CommandError(f"{path} is not a table that classify --tested wrote: {reason_of(error)}.") from error


def _compare_inputs(predictions: Path, shapes: str, run: dict[str, Any], screen: Screen) -> None:
    """Say so where the record of a table of predictions names other shapes than those of the page."""
    from shapelex.exceptions import ShapeFileError
    from shapelex.files.provenance import read_run

    try:
        before = {one["path"]: one["sha256"] for one in read_run(predictions).get("inputs", ())}
    except (ShapeFileError, OSError):
        return
    now = {one["sha256"] for one in run["inputs"] if one["path"] == shapes}
    if before and now and not now & set(before.values()):
        note = f"{predictions} was made from {', '.join(before)}, whose content is not that of {shapes}."
        current_report().note_remarks([note])
        screen.say(f"note: {note}")


def on_page(run: dict[str, Any]) -> dict[str, str]:
    """Return the record of a run in words, for the end of a page; replay reads it from there."""
    from shapelex.files.provenance import INPUT

    words = {"command": str(run["command"])}
    if run["earlier"]:
        words["earlier"] = "\n".join(run["earlier"])
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    inputs = {f"{INPUT}{one['path']}": f"{one['bytes']} bytes, SHA-256 {one['sha256']}" for one in run["inputs"]}
    return {**words, **inputs, "seed": str(run["seed"]), "versions": versions}
