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
        n_units, n_shapes = len(np.unique(self.values)), len(self.values)
        if n_units == 1:
            return f"all {n_shapes} shapes are from one of the {self.noun}, so that none is independent of the others"
        return f"{n_shapes} shapes from {n_units} {self.noun}; {self.noun} are the independent units"


def _unit_values(name: str, column: Column) -> Column:
    """Return a column of units; a shape of no time series is a unit by itself."""
    return np.where(column == -1, -1 - np.arange(len(column)), column) if name == SERIES else column


def find_units(columns: Mapping[str, Any], unit: Any, roles: Roles | None) -> Units | None:
    """Return the units of shapes, None where every shape is one: all that draws a conclusion asks here.

    `unit` is a column, values, None, or ``"auto"`` for those of the set, whose `roles` are None for plain arrays.
    """
    if unit is None or isinstance(unit, Units):
        return unit
    if not isinstance(unit, str):
        return Units("unit", np.asarray(unit))
    if unit == "auto":
        return None if roles is None else _usual_units(columns, roles)
    if unit not in columns:
        raise ShapeInputError(
            f"{parameter('unit')} names {unit!r}, which is not a column of the shapes{did_you_mean(unit, columns)}: "
            f"they have {', '.join(map(str, columns))}."
        )
    return Units(unit, _unit_values(unit, np.asarray(columns[unit])))


def _usual_units(columns: Mapping[str, Any], roles: Roles) -> Units | None:
    """Return the units by the role, or else time series; images and files are, too, where there are several of them.

    A table of specimens is one file.
    """
    if "unit" in roles:
        given = roles["unit"]
        return None if given is None else Units(given, _unit_values(given, columns[given]))
    for name in _USUAL["unit"]:
        if name in columns:
            units = Units(name, _unit_values(name, columns[name]))
            n_units = len(np.unique(units.values))
            if n_units < len(units.values) and (n_units > 1 or name == SERIES):
                return units
    return None


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
