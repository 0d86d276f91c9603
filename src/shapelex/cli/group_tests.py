"""``shapelex test``: whether groups of shapes differ, by how much, where, and in which atoms."""

import shlex
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.check import say_findings
from shapelex.cli.errors import ARGUMENTS, CommandError
from shapelex.cli.group_results import RESULT_FILES, GroupResults, tell_results
from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, SafeCellsOption, SeedOption, ShapesArgument
from shapelex.cli.outputs import claim_folder, claim_table, options_apart, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import load_dictionary, read_complete_shapes, read_shapes_for, say_notes
from shapelex.cli.units import UnitOption, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare_groups(
    shapes: ShapesArgument,
    by: Annotated[
        str | None, typer.Option("--by", help="Column whose groups are compared.", show_default=False)
    ] = None,
    unit: UnitOption = None,
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
    safe_cells: SafeCellsOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Test whether groups of shapes differ, by how much, and where.

    The answer is one sentence; then come the analysis of variance, the pairs of groups, the points of the outline or
    the landmarks that differ, and with --dictionary the atoms that differ. P values are by permutation. In --model,
    size is the centroid size; other names are columns of the shapes. Shapes without a value, and groups of one shape,
    are left out, and named. Shapes that are not independent, such as those of one image, are averaged (--unit).

    With --force, the results of an earlier test in the folder -o are replaced as a whole; other files in it are kept.

    Example: shapelex test shapes.npz --by treatment --unit animal -o results
    """
    if by is None and formula is None:
        raise typer.BadParameter("give the column of the groups, or a model by --model.", param_hint="--by")
    target = None if table is None else claim_table(table, force, "--table")
    if out is not None:
        _check_folder_is_named()
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
        from shapelex.statistics.group_comparison import compare_groups as compare

        compared = compare(
            found,
            by,
            unit=unit_of(unit),
            formula=None if formula is None else f"shape ~ {formula.rpartition('~')[2].strip()}",
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
        for path in _replace_results(folder, results, run, lines, safe_cells):
            screen.wrote(path)
    # After the folder, in which it may lie under the name of an earlier result.
    if target is not None:
        _write(target, results.tables["anova"], run, safe_cells)
        screen.wrote(target)
    screen.show({"answer": results.answer, **results.facts, "tables": results.records()})


def _check_folder_is_named() -> None:
    """Refuse an empty name, which becomes the same path as that of the current folder."""
    for option, value in pairwise(options_apart(ARGUMENTS.get())):
        if option in ("-o", "--out") and not value:
            raise typer.BadParameter("needs the name of a folder; . is the current one.", param_hint="-o")


def _replace_results(
    folder: Path, results: GroupResults, run: dict[str, Any], lines: bool, safe_cells: bool
) -> list[Path]:
    """Write all results, put them into the folder in place of those of an earlier test, and return where they went.

    The earlier ones are touched only when all new ones are written, and leave the folder before the new ones come in:
    results of two tests are never mixed.
    """
    from shapelex.files.atomic import work_folder
    from shapelex.files.sidecar import sidecar_path

    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    # Inside, because the folder may be on another disk than the one above it.
    place = folder / ".shapelex"
    try:
        with work_folder(place) as work:
            (work / "new").mkdir()
            written = _write_results(work / "new", results, run, lines, safe_cells)
            # The record first: a result without one would be taken for a file of the user.
            new = [one for path in written for one in (sidecar_path(path), path)]
            _exchange(_earlier_results(folder), new, folder, work / "earlier")
    except OSError as error:
        if error.filename != str(place):
            raise
        raise type(error)(error.errno, error.strerror, str(folder)) from error
    finally:
        if is_new:
            # It stays where it holds something.
            with suppress(OSError):
                folder.rmdir()
    return [folder / path.name for path in written]


def _earlier_results(folder: Path) -> list[Path]:
    """Return the results of earlier tests with their records, by which and by their names they are known."""
    from shapelex.files.sidecar import sidecar_path

    found = [folder / name for name in RESULT_FILES if _is_of_a_test(folder / name)]
    # The record last, so that a result is never without it.
    return [one for path in found for one in (path, sidecar_path(path)) if one.is_file()]


def _exchange(earlier: list[Path], new: list[Path], folder: Path, aside: Path) -> None:
    """Move earlier files aside and new ones into the folder; where that fails, it is as before."""
    occupied = next((folder / one.name for one in new if (folder / one.name).is_dir()), None)
    if occupied is not None:
        raise CommandError(f"{occupied} is a folder, where a result would go: rename it, or choose another -o.")
    aside.mkdir()
    moved: list[tuple[Path, Path]] = []
    try:
        for path, target in [(one, aside / one.name) for one in earlier] + [(one, folder / one.name) for one in new]:
            # Another process may have moved an earlier result already.
            if path in new or path.exists():
                path.replace(target)
                moved.append((path, target))
    except BaseException:
        for path, target in reversed(moved):
            target.replace(path)
        raise


def _is_of_a_test(path: Path) -> bool:
    from shapelex.files.sidecar import read_sidecar

    try:
        return shlex.split(read_sidecar(path)["command"])[:2] == ["shapelex", "test"]
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return False  # no record, or none of ours


def _write(path: Path, table: Any, run: dict[str, Any], safe_cells: bool) -> None:
    from shapelex.files.table_file import write_table

    columns = {str(name): table[name].to_numpy() for name in table.columns}
    write_table(path, [columns], run, safe_cells=safe_cells)


def _write_results(
    folder: Path, results: GroupResults, run: dict[str, Any], lines: bool, safe_cells: bool
) -> list[Path]:
    """Write all tables and figures with their records, and return where they went."""
    from matplotlib.figure import Figure

    from shapelex.files.provenance import write_sidecar
    from shapelex.plotting import figure_size, save_figure, style

    written = []
    for name, table in results.tables.items():
        written.append(folder / f"{name}.csv")
        _write(written[-1], table, run, safe_cells)
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
