"""The option ``--unit``: which shapes are not independent of each other."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.json_report import current_report
from shapelex.cli.screen import Screen

if TYPE_CHECKING:
    from shapelex.shapes import ShapeSet
    from shapelex.shapes.study import Units

UnitOption = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="COLUMN|none",
        help="Column of what is independent, such as animal, or none. By default time series, else images or files.",
        show_default=False,
    ),
]


def unit_of(option: str | None) -> str | None:
    """Return the unit that the option names, as functions of the library take it."""
    return "auto" if option is None else None if option == "none" else option


def say_units(shapes: "ShapeSet", option: str | None, screen: Screen) -> "Units | None":
    """Find the units of a set, and say what they are."""
    units = shapes.units(unit_of(option))
    if units is not None:
        note = f"{units}; --unit none treats shapes as independent."
        current_report().note_remarks([note])
        screen.say(f"note: {note}")
    return units


def with_unit(shapes: Any, option: str | None) -> Any:
    """Return a set, or one that is being read, with the unit that the option names."""
    return shapes if option is None else shapes.replace(roles={**shapes.roles, "unit": unit_of(option)})


def in_commands(text: Any) -> str:
    """Return remarks of the library in the words of the command line."""
    return re.sub(r"\bsx\.(register|impute)\b", r"shapelex \1", text.replace("unit=None", "--unit none"))
