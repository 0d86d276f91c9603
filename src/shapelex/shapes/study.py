"""What the columns of a set mean, and which of its shapes are independent of each other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import IntArray
from shapelex._validation import did_you_mean
from shapelex.exceptions import ShapeInputError
from shapelex.shapes.columns import Column

Roles = Mapping[str, str | None]

SERIES = "sequence"
# Columns that have a role where no other is given: of several, the first that the set has.
_USUAL = {
    "id": ("id",),
    "group": ("label",),
    "unit": (SERIES, "image", "file"),
    "side": ("side",),
    "time": ("time", "t"),
    "frame": ("frame", "frames"),
    "scale": ("scale",),
    "file": ("file",),
}
_NOUNS = {SERIES: "time series", "image": "images", "file": "files"}


@dataclass(frozen=True, eq=False)
class Units:
    """Which shapes belong together, such as the frames of a recording, and are not independent of each other.

    Parameters
    ----------
    column : str
        Name of the column that says so.
    values : ndarray of shape (n_shapes,)
        Unit of each shape; empty or NaN where it is not known.
    """

    column: str
    values: Column

    @property
    def noun(self) -> str:
        """What a unit is, in the plural."""
        return _NOUNS.get(self.column, f"values of {self.column}")

    @property
    def numbers(self) -> IntArray:
        """Number of the unit of each shape, in the order in which units appear."""
        _, first, inverse = np.unique(self.values, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[inverse]

    def take(self, rows: Any) -> "Units":
        """Return the units of some shapes."""
        return Units(self.column, self.values[rows])

    def __str__(self) -> str:
        return tell_units(self.column, len(np.unique(self.values)), len(self.values))


def tell_units(column: str, n_units: int, n_shapes: int) -> str:
    """Return how many units there are, and that they are what is independent."""
    noun = _NOUNS.get(column, f"values of {column}")
    if n_units == 1:
        return f"all {n_shapes} shapes are from one of the {noun}, so that none is independent of the others"
    return f"{n_shapes} shapes from {n_units} {noun}; {noun} are the independent units"


def unit_columns(roles: Roles) -> tuple[str, ...]:
    """Return the columns that may be the units of a set."""
    given = roles.get("unit")
    return (given,) if given is not None else () if "unit" in roles else _USUAL["unit"]


def choose_unit(n_units: Mapping[str, int], n_shapes: int, roles: Roles) -> str | None:
    """Return the column of the units, by the number of units that each column would make.

    Time series are units. Images and files are where there are several, as a table of specimens is one file.
    """
    if "unit" in roles:
        return roles["unit"]
    return next((name for name, count in n_units.items() if count < n_shapes and (count > 1 or name == SERIES)), None)


def unit_values(name: str, column: Column, first_row: int = 0) -> Column:
    """Return a column of units; a shape of no time series is a unit by itself."""
    alone = -1 - np.arange(first_row, first_row + len(column))
    return np.where(column == -1, alone, column) if name == SERIES else column


def find_units(columns: Mapping[str, Any], unit: Any, roles: Roles | None) -> Units | None:
    """Return the units of shapes, None where every shape is one: all that draws a conclusion asks here.

    `unit` is a column, values, None, or ``"auto"`` for those of the set, whose `roles` are None for plain arrays.
    """
    if unit is None or isinstance(unit, Units):
        return unit
    if not isinstance(unit, str):
        return Units("unit", np.asarray(unit))
    if unit == "auto":
        found = {name: unit_values(name, columns[name]) for name in unit_columns(roles or {}) if name in columns}
        n_units = {name: len(np.unique(values)) for name, values in found.items()}
        chosen = None if roles is None else choose_unit(n_units, max(map(len, found.values()), default=0), roles)
        return None if chosen is None else Units(chosen, found[chosen])
    if unit not in columns:
        raise ShapeInputError(
            f"{parameter('unit')} names {unit!r}, which is not a column of the shapes{did_you_mean(unit, columns)}: "
            f"they have {', '.join(map(str, columns))}."
        )
    return Units(unit, unit_values(unit, np.asarray(columns[unit])))


def study_of(names: Iterable[str], unit: str | None, roles: Roles) -> dict[str, str]:
    """Return the column of each role: the one that was given, else one that is known by its name."""
    known = set(names)
    usual = {role: next((name for name in choices if name in known), None) for role, choices in _USUAL.items()}
    found = {**usual, **roles, "unit": unit}
    return {role: name for role, name in found.items() if name is not None}


def check_roles(roles: Roles | None, names: Iterable[str]) -> dict[str, str | None]:
    """Return the roles that were given; refuse unknown ones, and columns that the set does not have."""
    given, known = dict(roles or {}), list(names)
    for role, column in given.items():
        if role not in _USUAL:
            raise ShapeInputError(f"roles are {', '.join(_USUAL)}, got {role!r}{did_you_mean(role, _USUAL)}.")
        if column is not None and column not in known:
            raise ShapeInputError(
                f"the {role} of the study is {column!r}, which is not a column of the shapes"
                f"{did_you_mean(str(column), known)}: they have {', '.join(known)}."
            )
    return given


def join_roles(given: Iterable[Roles]) -> dict[str, str | None]:
    """Return the roles of several sets; refuse sets in which different columns have the same role."""
    joined: dict[str, str | None] = {}
    for role, column in ((role, roles[role]) for roles in given for role in roles):
        if joined.setdefault(role, column) != column:
            raise ShapeInputError(
                f"the sets disagree on the {role} of the study: {joined[role]!r} and {column!r}; give all the same "
                f"{parameter('roles=')}, by ShapeSet.replace."
            )
    return joined
