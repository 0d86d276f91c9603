"""``shapelex check``: what may be wrong with a set, and the command that mends it."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, RawCellsOption, ShapesArgument
from shapelex.cli.outputs import claim_table, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import read_complete_shapes
from shapelex.cli.stored import open_if_large


def check(
    shapes: ShapesArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Table to write, one row per finding and shape: .csv, .tsv, .xlsx or .parquet.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Only findings of this kind, or kinds.", show_default=False),
    ] = None,
    raw_cells: RawCellsOption = False,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Look for what may be wrong with a set: mirrored or swapped specimens, outliers, missing values, merged objects.

    Each finding comes with the command that mends it; nothing is changed. The table of one kind is a list that the
    options --exclude and --flip of import take.

    Example: shapelex check shapes.npz
    """
    import shapelex as sx
    from shapelex.files.table_file import write_table

    target = None if out is None else claim_table(out, force)
    screen = Screen(quiet, as_json)
    found: Any = open_if_large(shapes) or read_complete_shapes(shapes, screen, missing="allow")
    with screen.progress("checking"):
        findings = [one for one in sx.check(found) if not kind or one.kind in kind]
    commands = [one.command.replace("SHAPES", shlex.quote(shapes)) for one in findings]
    for finding, command in zip(findings, commands, strict=True):
        screen.say(f"{finding.kind}: {finding.text}\n    {command}")
    screen.say(f"{len(findings)} finding{'s' * (len(findings) != 1)} in {len(found)} shapes")
    if target is not None:
        rows = [
            (finding.kind, name, finding.text, command)
            for finding, command in zip(findings, commands, strict=True)
            for name in finding.ids or ("",)
        ]
        columns = zip(*rows, strict=True) if rows else [()] * 4
        table = dict(zip(("kind", "id", "text", "command"), columns, strict=True))
        write_table(target, [table], record_run(None, (shapes,)), raw_cells=raw_cells)
        screen.wrote(target)
    screen.show([
        {"kind": one.kind, "ids": list(one.ids), "text": one.text, "command": command}
        for one, command in zip(findings, commands, strict=True)
    ])  # fmt: skip


def say_findings(shapes: Any, path: str | Path, screen: Screen, *, sizes_count: bool = False) -> None:
    """Say in one line each what may be wrong with the shapes of a file; of their sizes only where these count."""
    import shapelex as sx

    with screen.progress("checking"):
        findings = sx.check(shapes)
    lines = [f"check: {one.text}" for one in findings if sizes_count or one.kind != "no_scale"]
    for line in lines:
        screen.say(line)
    if lines:
        screen.say(f"shapelex check {shlex.quote(str(path))} tells what to do about {'each' if lines[1:] else 'it'}")
    current_report().note_remarks(lines)
