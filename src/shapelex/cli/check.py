"""``shapelex check``: what may be wrong with a set, and the command that mends it."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex.cli.command import Table, command
from shapelex.cli.run import Run
from shapelex.cli.shapes import open_or_read

if TYPE_CHECKING:
    from shapelex.checks.findings import Finding


@command("raw_cells")
def check(run: Run, shapes: str, *, out: Table | None = None, kind: list[str] | None = None) -> list[dict[str, Any]]:
    """Look for what may be wrong with a set: mirrored or swapped specimens, outliers, missing values, merged objects.

    Each finding comes with the command that mends it; nothing is changed. The table of one kind is a list that the
    options --exclude and --flip of import take.

    Example: shapelex check shapes.npz

    Options
    -------
    out : Table to write, one row per finding and shape: .csv, .tsv, .xlsx or .parquet.
    kind : Only findings of this kind, or kinds.
    """
    import shapelex as sx

    found = open_or_read(run, shapes)
    with run.progress("checking"):
        findings = [
            {"kind": one.kind, "ids": list(one.ids), "text": one.text,
             "command": one.command.replace("SHAPES", shlex.quote(shapes))}
            for one in sx.check(found) if not kind or one.kind in kind
        ]  # fmt: skip
    for one in findings:
        run.say(f"{one['kind']}: {one['text']}\n    {one['command']}")
    run.say(f"{len(findings)} finding{'s' * (len(findings) != 1)} in {len(found)} shapes")
    if out is not None:
        rows = [{**one, "id": name} for one in findings for name in one["ids"] or [""]]
        run.make_record(None, shapes)
        run.write_table(out, {name: [row[name] for row in rows] for name in ("kind", "id", "text", "command")})
    return findings


def say_findings(run: Run, findings: "Sequence[Finding]", path: str | Path, *, sizes_count: bool = False) -> None:
    """Say in one line each what was found in the shapes of a file; of their sizes only where these count."""
    lines = [f"check: {one.text}" for one in findings if sizes_count or one.kind != "no_scale"]
    for line in lines:
        run.say(line)
    if lines:
        run.say(f"shapelex check {shlex.quote(str(path))} tells what to do about {'each' if lines[1:] else 'it'}")
    run.keep_remarks(lines)
