"""The option ``--unit``: which shapes are not independent of each other."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapelex.cli.run import Run
    from shapelex.shapes import ShapeSet
    from shapelex.shapes.study import Units


def unit_of(option: str | None) -> str | None:
    """Return the unit that the option names, as functions of the library take it."""
    return "auto" if option is None else None if option == "none" else option


def say_units(run: "Run", shapes: "ShapeSet", option: str | None) -> "Units | None":
    """Find the units of a set, and say what they are."""
    units = shapes.units(unit_of(option))
    if units is not None:
        run.note(f"{units}; --unit none treats shapes as independent.")
    return units


def with_unit(shapes: Any, option: str | None) -> Any:
    """Return a set, or one that is being read, with the unit that the option names."""
    return shapes if option is None else shapes.replace(roles={**shapes.roles, "unit": unit_of(option)})


def in_commands(text: Any) -> str:
    """Return remarks of the library in the words of the command line."""
    return re.sub(r"\bsx\.(register|impute)\b", r"shapelex \1", text.replace("unit=None", "--unit none"))
