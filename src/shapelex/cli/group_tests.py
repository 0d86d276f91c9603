"""``shapelex test``: whether groups of shapes differ, by how much, where, and in which atoms."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.group_results import GroupResults, compare
from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, SeedOption, ShapesArgument
from shapelex.cli.outputs import claim_folder, claim_table, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import load_dictionary, read_complete_shapes, read_shapes_for, say_notes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare_groups(
    shapes: ShapesArgument,
    by: Annotated[
        str | None, typer.Option("--by", help="Column whose groups are compared.", show_default=False)
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            "--within",
            help="Column of shapes that belong together, such as animal: they are permuted within it, or as a whole.",
            show_default=False,
        ),
    ] = None,
    formula: Annotated[
        str | None,
        typer.Option(
            "--model",
            help='Linear model, such as "~ log(size) * species"; by default the groups alone.',
            show_default=False,
        ),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option("--dictionary", help="Model file that learn wrote: also compare its atoms.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for tables and figures.", show_default=False)
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            help="Also write the analysis of variance: .csv, .tsv, .xlsx or .parquet.",
            show_default=False,
        ),
    ] = None,
    permutations: Annotated[int, typer.Option("--permutations", min=19, help="Number of permutations.")] = 999,
    lines: Annotated[
        bool,
        typer.Option(
            "--lines/--no-lines", help="Draw a line through the points; use --no-lines for anatomical landmarks."
        ),
    ] = True,
    seed: SeedOption = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Test whether groups of shapes differ, by how much, and where.

    The answer is one sentence; then come the analysis of variance, the pairs of groups, the points of the outline or
    the landmarks that differ, and with --dictionary the atoms that differ. P values are by permutation. In --model,
    size is the centroid size; other names are columns of the shapes. Shapes without a value, and groups of one shape,
    are left out, and named.

    Example: shapelex test shapes.npz --by treatment --within animal -o results
    """
    if by is None and formula is None:
        raise typer.BadParameter("give the column of the groups, or a model by --model.", param_hint="--by")
    if by is not None and by == within:
        raise typer.BadParameter(
            f"is {within}, as --by is: give the column of shapes that belong together, such as the animal, or leave it "
            "out.",
            param_hint="--within",
        )
    target = None if table is None else claim_table(table, force, "--table")
    if out is not None:
        from shapelex.plotting.style import import_matplotlib

        # Said before the work, not after it.
        import_matplotlib()
    folder = None if out is None else claim_folder(out, force, make=False)
    screen = Screen(quiet, as_json)
    model = None if dictionary is None else load_dictionary(dictionary)
    if model is None:
        found = read_complete_shapes(shapes, screen, missing="allow")
        say_notes(found, screen)
    else:
        found = read_shapes_for(model, shapes, screen)
    with screen.progress("comparing"):
        results = compare(
            found, by=by, within=within, formula=formula, model=model, permutations=permutations, seed=seed
        )
    run = {
        **record_run(seed, tuple(map(str, filter(None, (shapes, dictionary))))),
        "facts": results.facts,
    }
    current_report().note_remarks(results.notes)
    for note in results.notes:
        screen.say(f"note: {note}")
    screen.say(results.answer)
    for text in results.texts:
        screen.say(f"\n{text}")
    if target is not None:
        _write(target, results.tables["anova"], run)
        screen.wrote(target)
    if folder is not None:
        for path in _write_folder(folder, results, run, lines):
            screen.wrote(path)
    screen.show({"answer": results.answer, **results.facts, "tables": results.records()})


def _write(path: Path, table: Any, run: dict[str, Any]) -> None:
    from shapelex.store.table_file import write_table

    write_table(path, [{str(name): table[name].to_numpy() for name in table.columns}], run)


def _write_folder(folder: Path, results: GroupResults, run: dict[str, Any], lines: bool) -> list[Path]:
    """Write all tables and figures, and return where they went."""
    from matplotlib.figure import Figure

    from shapelex.plotting import figure_size, save_figure, style
    from shapelex.store.provenance import write_sidecar

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in results.tables.items():
        written.append(folder / f"{name}.csv")
        _write(written[-1], table, run)
    for name, (draw, height) in results.figures(lines).items():
        path = folder / f"{name}.png"
        with style():
            figure = Figure(figsize=figure_size(140, height), layout="constrained")
            ax: Axes = figure.subplots()
            draw(ax)
            save_figure(figure, path)
        write_sidecar(path, run)
        written.append(path)
    return written
