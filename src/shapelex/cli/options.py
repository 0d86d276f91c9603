"""Options that several commands share, so that they read alike everywhere."""

from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar="SHAPELEX_DATA", help="Folder of the shape data.", show_default=False),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace what is there; nothing is replaced without.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the results as JSON, and nothing else.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of all that is random.")]
