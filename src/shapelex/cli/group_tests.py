"""``shapelex test``: whether groups of shapes differ, by how much, where, and in which atoms."""

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.check import say_findings
from shapelex.cli.errors import ARGUMENTS
from shapelex.cli.figures import FigureRequest, claim_figure, draw_figure, with_figure
from shapelex.cli.group_results import FIGURE_WIDTH, RESULT_FILES, GroupResults, tell_results
from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, RawCellsOption, SeedOption, ShapesArgument
from shapelex.cli.outputs import claim_folder, claim_table, options_apart, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import load_dictionary, read_complete_shapes, read_shapes_for, say_notes
from shapelex.cli.units import UnitOption, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@with_figure
def compare_groups(
    shapes: ShapesArgument,
    by: Annotated[
        str | None, typer.Option("--by", help="Column whose groups are compared.", show_default=False)
    ] = None,
    unit: UnitOption = None,
    formula: Annotated[
        str | None,
        typer.Option(
            "--formula",
            help='Linear model, such as "~ log(size) * species"; by default the groups alone.',
            show_default=False,
        ),
    ] = None,
    sums: Annotated[
        int, typer.Option("--type", min=1, max=3, help="Type of the sums of squares: 1, 2 or 3, as in SAS and R.")
    ] = 1,
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
            help="Also write the analysis of variance: .csv, .tsv or .parquet; as .xlsx all tables, a sheet for each.",
            show_default=False,
        ),
    ] = None,
    permutations: Annotated[int, typer.Option("--permutations", min=19, help="Number of permutations.")] = 999,
    lines: Annotated[
        bool,
        typer.Option(
            "--joined/--no-joined", help="Draw a line through the points; use --no-joined for anatomical landmarks."
        ),
    ] = True,
    raw_cells: RawCellsOption = False,
    seed: SeedOption = 0,
    figure: FigureRequest = FigureRequest(),  # noqa: B008 -- it cannot change
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Test whether groups of shapes differ, by how much, and where.

    The answer is one sentence; then come the analysis of variance, the pairs of groups, the points of the outline or
    the landmarks that differ, and with --dictionary the atoms that differ. P values are by permutation. In --formula,
    size is the centroid size; other names are columns of the shapes. Shapes without a value, and groups of one shape,
    are left out, and named. Shapes that are not independent, such as those of one image, are averaged (--unit).

    After a model with an interaction of --by with another column, such as "~ species * sex", the combinations of both
    are compared in pairs, too. --figure draws the mean shapes, or what the model fits; --width single is one column of
    a journal.

    With --force, the results of an earlier test in the folder -o are replaced as a whole; other files in it are kept.

    Example: shapelex test shapes.npz --by treatment --unit animal -o results
    """
    if by is None and formula is None:
        raise typer.BadParameter("give the column of the groups, or a model by --formula.", param_hint="--by")
    target = None if table is None else claim_table(table, force, "--table")
    if out is not None:
        _check_folder_is_named()
        from shapelex.plotting.style import import_matplotlib

        # Said before the work, not after it.
        import_matplotlib()
    folder = None if out is None else claim_folder(out, force, RESULT_FILES)
    picture = claim_figure(figure, force)
    screen = Screen(quiet, as_json)
    model = None if dictionary is None else load_dictionary(dictionary)
    if model is None:
        found = read_complete_shapes(shapes, screen, missing="allow")
        say_notes(found, screen)
    else:
        found = read_shapes_for(model, shapes, screen)
    with screen.progress("comparing"):
        from shapelex.files.table_file import write_workbook
        from shapelex.statistics.group_comparison import compare_groups as compare

        compared = compare(
            found,
            by,
            unit=unit_of(unit),
            formula=None if formula is None else f"shape ~ {formula.rpartition('~')[2].strip()}",
            type=sums,
            codes=None if model is None else model.encode(found),
            model=model,
            permutations=permutations,
            seed=seed,
        )
    results = tell_results(compared, len(found), permutations)
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
    say_findings(found, shapes, screen)
    if folder is not None:
        for path in _write_results(folder, results, run, lines, raw_cells):
            screen.wrote(path)
    if target is not None:
        if target.suffix.lower() == ".xlsx":
            write_workbook(target, results.tables, run)
        else:
            _write(target, results.tables["anova"], run, raw_cells)
        screen.wrote(target)
    if picture is not None:
        draw, height = next(iter(results.figures(lines).values()))
        draw_figure(figure, draw, run, height / FIGURE_WIDTH)
        screen.wrote(picture)
    screen.show({"answer": results.answer, **results.facts, "tables": results.records()})


def _check_folder_is_named() -> None:
    """Refuse an empty name, which becomes the same path as that of the current folder."""
    for option, value in pairwise(options_apart(ARGUMENTS.get())):
        if option in ("-o", "--out") and not value:
            raise typer.BadParameter("needs the name of a folder; . is the current one.", param_hint="-o")


def _write(path: Path, table: Any, run: dict[str, Any], raw_cells: bool) -> None:
    from shapelex.files.table_file import write_table

    columns = {str(name): table[name].to_numpy() for name in table.columns}
    write_table(path, [columns], run, raw_cells=raw_cells)


def _write_results(
    folder: Path, results: GroupResults, run: dict[str, Any], lines: bool, raw_cells: bool
) -> list[Path]:
    """Write all tables and figures with their records, and return where they went."""
    from matplotlib.figure import Figure

    from shapelex.files.provenance import write_sidecar
    from shapelex.plotting import figure_size, save_figure, style

    written = []
    for name, table in results.tables.items():
        written.append(folder / f"{name}.csv")
        _write(written[-1], table, run, raw_cells)
    for name, (draw, height) in results.figures(lines).items():
        path = folder / f"{name}.png"
        with style():
            figure = Figure(figsize=figure_size(FIGURE_WIDTH, height), layout="constrained")
            ax: Axes = figure.subplots()
            draw(ax)
            save_figure(figure, path)
        write_sidecar(path, run)
        written.append(path)
    return written
