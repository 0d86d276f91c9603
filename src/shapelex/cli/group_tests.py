"""``shapelex test``: whether groups of shapes differ, by how much, where, and in which atoms."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex.cli.check import say_findings
from shapelex.cli.command import Table, command
from shapelex.cli.errors import refuse
from shapelex.cli.figures import save_drawing
from shapelex.cli.run import Run
from shapelex.cli.shapes import load_dictionary, read_shapes, read_shapes_for, say_notes, unit_of

if TYPE_CHECKING:
    import pandas as pd

RESULT_FILES = (
    "anova.csv", "pairs.csv", "interactions.csv", "points.csv", "atoms.csv", "atom_means.csv",
    "means.png", "effects.png", "allometry.png", "atoms.png", "typical.png", "model.png",
)  # fmt: skip
"""Names of all files that may be in the folder of results."""

_FIGURE_WIDTH = 140  # mm


@command("raw_cells", "figure")
def compare_groups(
    run: Run,
    shapes: str,
    *,
    by: str | None = None,
    unit: str | None = None,
    formula: str | None = None,
    type: int = 1,  # noqa: A002 -- named like the option
    dictionary: Path | None = None,
    out: Path | None = None,
    table: Table | None = None,
    permutations: int = 999,
    joined: bool = True,
    random_state: int = 0,
) -> dict[str, Any]:
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

    Options
    -------
    formula : Linear model, such as "~ log(size) * species"; by default the groups alone.
    type : Type of the sums of squares: 1, 2 or 3, as in SAS and R.
    dictionary : Model file that learn wrote: also compare its atoms.
    out : Folder for tables and figures.
    table : Also write the analysis of variance: .csv, .tsv or .parquet; as .xlsx all tables, a sheet for each.
    permutations : Number of permutations.
    joined : Draw a line through the points; use --no-joined for anatomical landmarks.
    """
    import shapelex as sx

    refuse(by is None and formula is None, "--by", "give the column of the groups, or a model by --formula.")
    if out is not None:
        # An empty name becomes the same path as that of the current folder.
        is_unnamed = out == Path() and bool({"", "--out="} & {*run.words})
        refuse(is_unnamed, "-o", "needs the name of a folder; . is the current one.")
        from shapelex.plotting.style import import_matplotlib

        # Said before the work, not after it.
        import_matplotlib()
        run.outputs.claim_folder(out, "-o", RESULT_FILES)
    model = None if dictionary is None else load_dictionary(run, dictionary)
    if model is None:
        found = read_shapes(run, shapes, missing="allow")
        say_notes(run, found)
    else:
        found = read_shapes_for(run, model, shapes)
    with run.progress("comparing"):
        from shapelex.files.table_file import write_workbook
        from shapelex.statistics.group_comparison import compare_groups as compare

        compared = compare(
            found,
            by,
            unit=unit_of(unit),
            formula=None if formula is None else f"shape ~ {formula.rpartition('~')[2].strip()}",
            type=type,
            codes=None if model is None else model.encode(found),
            model=model,
            permutations=permutations,
            seed=random_state,
        )
    tables, figures, facts = compared.tables(), compared.figures(joined), compared.facts()
    run.make_record(random_state, shapes, dictionary, facts=facts)
    run.note(*map(_in_commands, compared.notes()))
    answer = compared.answer()
    run.say(answer)
    for text in compared.texts():
        run.say(f"\n{_in_commands(text)}")
    with run.progress("checking"):
        findings = sx.check(found)
    say_findings(run, findings, shapes)
    if out is not None:
        folder = run.outputs.place(out)
        for name, one in tables.items():
            run.write_table(folder / f"{name}.csv", one)
        for name, (draw, height) in figures.items():
            save_drawing(run, folder / f"{name}.png", draw, (_FIGURE_WIDTH, height))
    if table is not None:
        if table.suffix.lower() == ".xlsx":
            write_workbook(run.outputs.place(table), tables, run.record)
        else:
            run.write_table(table, tables["anova"])
    if run.figure is not None:
        draw, height = next(iter(figures.values()))
        run.draw(draw, height / _FIGURE_WIDTH)
    return {"answer": answer, **facts, "tables": {name: _rows_of(one) for name, one in tables.items()}}


def _in_commands(text: str) -> str:
    """Return remarks of the library in the words of the command line."""
    return re.sub(r"\bsx\.(register|impute)\b", r"shapelex \1", text.replace("unit=None", "--unit none"))


def _rows_of(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a table as JSON values, None in place of NaN."""
    rows: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return rows
