"""Options that several commands share, so that they read alike everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class DistanceName(StrEnum):
    """Procrustes distances."""

    full = "full"
    partial = "partial"
    geodesic = "geodesic"


class MissingName(StrEnum):
    """What missing landmarks are."""

    error = "error"
    allow = "allow"
    negative = "negative"


_MOST_NUMBERS = 10_000


def numbers_in(text: str | None, option: str) -> list[int] | None:
    """Return the whole numbers of words such as ``1-5`` or ``2,4,8``."""
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise typer.BadParameter(f"expected numbers such as 3, 1-5 or 2,4,8, got {text!r}.", param_hint=option)
        numbers = range(int(first), int(last if dash else first) + 1)
        if len(numbers) > _MOST_NUMBERS:
            raise typer.BadParameter(
                f"at most {_MOST_NUMBERS} numbers are tried, got {part.strip()}.", param_hint=option
            )
        found += numbers
    return sorted(set(found))


DeviceOption = Annotated[
    str, typer.Option("--device", help="Device to compute on: cpu, cuda, or another torch device.")
]
DistanceOption = Annotated[DistanceName, typer.Option("--distance", help="Procrustes distance.")]
StabilityOption = Annotated[
    bool,
    typer.Option("--stability/--no-stability", help="Measure which atoms are found again from halves of the shapes."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that shapelex wrote, but no others.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the results as JSON, and nothing else.")]
MissingOption = Annotated[
    MissingName,
    typer.Option(
        "--missing",
        help="Missing landmarks: error refuses them, allow keeps them, negative reads negative coordinates as missing.",
    ),
]
RawCellsOption = Annotated[
    bool,
    typer.Option(
        "--raw-cells",
        help="In .csv and .tsv, put no apostrophe before text that a spreadsheet takes for a formula (=, +, -, @).",
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that learn wrote.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
SeedOption = Annotated[int, typer.Option("--random-state", min=0, help="Seed of the random numbers.")]
ShapesArgument = Annotated[
    str,
    typer.Argument(
        metavar="SHAPES", help="File that import wrote, or any file, folder or pattern that import can read."
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", help="Address of the Dask scheduler of the cluster to compute on.", show_default=False),
]
