"""``shapelex report``: one page to explore a dictionary and its shapes."""

from pathlib import Path
from typing import Any

from shapelex.cli.command import Page, command
from shapelex.cli.errors import CommandError, refuse
from shapelex.cli.run import Run
from shapelex.cli.shapes import fit_for, load_dictionary, open_if_large, read_shapes_for, refuse_incomplete, unit_of


@command()
def report(
    run: Run,
    model: Path,
    shapes: str,
    *,
    out: Page,
    title: str | None = None,
    joined: bool = True,
    max_shapes: int = 5000,
    by: str | None = None,
    unit: str | None = None,
    tested: Path | None = None,
) -> dict[str, Any]:
    """Write an HTML page to explore atoms, shapes and codes: a single file that works without a server.

    Example: shapelex report model.npz shapes.npz -o report.html --title "Wings of bees"

    Options
    -------
    out : Page to write, .html.
    title : Title of the page.
    joined : Draw a line through the points; use --no-joined for anatomical landmarks.
    max_shapes : Maximum number of shapes on the page.
    by : Column whose groups are compared; few labels are by default.
    tested : Table that classify --tested wrote: show the confusion matrix and the misclassified shapes.
    """
    dictionary = load_dictionary(run, model)
    large: Any = open_if_large(run, shapes)
    found = read_shapes_for(run, dictionary, shapes) if large is None else fit_for(run, dictionary, large, shapes)
    refuse_incomplete(found, shapes, "the page shows complete shapes")
    import shapelex as sx

    predictions = None if tested is None else _read_predictions(tested)
    run.make_record(dictionary.random_state, shapes, model, tested)
    if tested is not None:
        _compare_inputs(run, tested, shapes)
    with run.progress("writing the page"):
        page = sx.report.write_report(
            dictionary,
            found,
            run.outputs.place(out),
            title=title,
            joined=joined,
            max_shapes=max_shapes,
            overwrite=True,
            tested=predictions,
            provenance=on_page(run.record),
            by=by,
            unit=unit_of(unit),
        )
    size = page.stat().st_size
    run.told[out] = f", {size / 1e6:.1f} MB: open it in a browser"
    return {"n_shapes": len(found), "bytes": size}


def _read_predictions(path: Path) -> Any:
    """Read a table of predictions as text."""
    from shapelex.exceptions import reason_of
    from shapelex.files.table_file import TABLE_SUFFIXES, read_table

    is_table = path.suffix.lower() in TABLE_SUFFIXES
    refuse(not is_table, "--tested", f"{path.name} must end in {', '.join(TABLE_SUFFIXES)}.")
    try:
        return read_table(path, str)
    except FileNotFoundError as error:
        raise CommandError(f"There is no file {path}.") from error
    except ImportError:
        raise
    except Exception as error:  # libraries raise nearly anything on damaged files
        raise CommandError(f"{path} is not a table that classify --tested wrote: {reason_of(error)}.") from error


def _compare_inputs(run: Run, predictions: Path, shapes: str) -> None:
    """Say so where the record of a table of predictions names other shapes than those of the page."""
    from shapelex.exceptions import ShapeFileError
    from shapelex.files.provenance import read_run

    try:
        before = {one["path"]: one["sha256"] for one in read_run(predictions).get("inputs", ())}
    except (ShapeFileError, OSError):
        return
    now = {one["sha256"] for one in run.record["inputs"] if one["path"] == shapes}
    if before and now and not now & set(before.values()):
        run.note(f"{predictions} was made from {', '.join(before)}, whose content is not that of {shapes}.")


def on_page(run: dict[str, Any]) -> dict[str, str]:
    """Return the record of a run in words, for the end of a page; replay reads it from there."""
    from shapelex.files.provenance import INPUT

    words = {"command": str(run["command"])}
    if run["earlier"]:
        words["earlier"] = "\n".join(run["earlier"])
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    inputs = {f"{INPUT}{one['path']}": f"{one['bytes']} bytes, SHA-256 {one['sha256']}" for one in run["inputs"]}
    return {**words, **inputs, "seed": str(run["seed"]), "versions": versions}
