"""What the columns of a table of shapes mean.

In come the names of the columns, or a row without names, and what the caller says; out goes the place of every
coordinate and of what else is known of a shape. Where several readings are possible none is taken: misread coordinates
are worse than an error.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.io.numbers import MISSING_WORDS, parse_number

LAYOUTS = ("blocks", "interleaved", "long")

_ROLES: dict[str, tuple[str, ...]] = {
    "id": (
        *("id", "specimenid", "specimen", "shapeid", "shape", "name", "sampleid", "sample", "individual"),
        *("image", "filename", "file"),
    ),
    "label": ("label", "labels", "class", "group", "species"),
    "sequence": ("sequence",),
    "frame": ("frame",),
    "closed": ("closed",),
}
_X_NAMES = ("x", "xcoord", "coordx", "posx", "xpos", "xposition", "positionx", "xcoordinate")
_LANDMARK_NAMES = (
    *("landmark", "lm", "landmarkid", "landmarknumber", "point", "pointid", "pointnumber", "vertex", "vertexid"),
    *("index", "order", "i"),
)
_PREFIX = "(?:lm|landmark|point|pt|p|coord|c|raw|v|vertex)?"
_NUMBERED = re.compile(rf"{_PREFIX}([xyz])([0-9]{{1,7}})|{_PREFIX}([0-9]{{1,7}})([xyz])")
_SAY_LAYOUT = (
    'give layout="blocks" for columns x1..xN, y1..yN, layout="interleaved" for x1, y1, .., xN, yN, or layout="long" '
    "for one point a row"
)


@dataclass(frozen=True)
class TableLayout:
    """Where things are in a row.

    Parameters
    ----------
    is_long : bool
        Whether a row is a point rather than a shape.
    x, y : tuple of int
        Columns of the coordinates, one a point; a single one in long tables.
    roles : dict of str to int
        Columns of ``id``, ``label``, ``sequence``, ``frame``, ``closed``, ``landmark``, where there are some.
    metadata : dict of str to int
        All other columns, by name.
    """

    is_long: bool
    x: tuple[int, ...]
    y: tuple[int, ...]
    roles: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, int] = field(default_factory=dict)

    @property
    def order(self) -> list[int]:
        """Columns of x and y in turn."""
        return [place for pair in zip(self.x, self.y, strict=True) for place in pair]


def find_layout(
    names: Sequence[str] | None,
    row: Sequence[str],
    *,
    layout: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
    decimal: str = ".",
) -> TableLayout:
    """Return what the columns of a table mean.

    Parameters
    ----------
    names : sequence of str, or None
        Names of the columns.
    row : sequence of str
        The first row of values.
    layout : {"blocks", "interleaved", "long"}, optional
        What the caller says.
    id_column, label_column : str or int, optional
        Columns that hold ids and labels, by name or number.
    decimal : {".", ","}
        Decimal mark.

    Returns
    -------
    TableLayout
        The layout.

    Raises
    ------
    ShapeFileError
        If the columns can be read in several ways, or in none.
    """
    if layout is not None:
        check_choice(layout, LAYOUTS, "layout")
    given = {
        role: _place(column, names, len(row), f"{role}_column")
        for role, column in (("id", id_column), ("label", label_column))
        if column is not None
    }
    if names is None:
        return _without_names(row, layout, given, decimal)
    plain = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in names]
    x_places = [place for place, name in enumerate(plain) if name in _X_NAMES]
    y_places = [place for place, name in enumerate(plain) if name in [known.replace("x", "y") for known in _X_NAMES]]
    if layout in (None, "long") and (x_places or y_places or layout == "long"):
        if len(x_places) != 1 or len(y_places) != 1:
            raise ShapeFileError(
                f"a long table needs one column x and one column y, found {len(x_places)} and {len(y_places)} among "
                f"{_name_some(names)}; name them so, or give columns=."
            )
        if "z" in plain:
            raise ShapeFileError("there is a column z, but shapes here are planar: take it out of the table.")
        landmark = _first_of(plain, _LANDMARK_NAMES, given.values())
        roles = given | _find_roles(plain, given, {x_places[0], y_places[0]} | set(landmark))
        roles |= {"landmark": landmark[0]} if landmark else {}
        return _finish(names, True, x_places, y_places, roles)
    numbered = _find_numbered(names, plain)
    if numbered is not None and layout is None:
        roles = given | _find_roles(plain, given, {*numbered[0], *numbered[1]})
        return _finish(names, False, *numbered, roles)
    if layout is None:
        raise ShapeFileError(f"the columns {_name_some(names)} do not say where x and y are: {_SAY_LAYOUT}.")
    roles = given | _find_roles(plain, given, set())
    wanted = [
        place for place in range(len(names)) if place not in roles.values() and _is_number(row[place], decimal, place)
    ]
    return _finish(names, False, *_split(wanted, layout), roles)


def looks_like_names(first: Sequence[str], second: Sequence[str] | None, decimal: str) -> bool:
    """Tell whether the first row of a table names its columns.

    Parameters
    ----------
    first, second : sequence of str
        The first two rows; the second is None in a table of one row.
    decimal : {".", ","}
        Decimal mark.

    Returns
    -------
    bool
        True where a column has a word above a number.

    Raises
    ------
    ShapeFileError
        If the first row counts 0, 1, 2, … or 1, 2, 3, …, as the names of nameless columns do.
    """
    are_numbers = [_is_number(cell, decimal) for cell in first]
    if second is None:
        return not any(are_numbers)
    for cell, below, is_number in zip(first, second, are_numbers, strict=False):
        if not is_number and cell.strip().lower() not in MISSING_WORDS and _is_number(below, decimal):
            return True
    numbers = [cell.strip() for cell, is_number in zip(first, are_numbers, strict=True) if is_number and cell.strip()]
    if len(numbers) >= 4 and any(numbers == [str(start + place) for place in range(len(numbers))] for start in (0, 1)):
        raise ShapeFileError(
            "the first row just counts, so it may be names or numbers: give header=True if it names the columns, else "
            "header=False."
        )
    return False


def is_coordinate_name(name: str) -> bool:
    """Tell whether a column of this name is taken for coordinates.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``x``, ``y`` and ``x12``.
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return plain.replace("y", "x") in _X_NAMES or plain == "z" or _NUMBERED.fullmatch(plain) is not None


def _without_names(row: Sequence[str], layout: str | None, given: dict[str, int], decimal: str) -> TableLayout:
    free = [place for place in range(len(row)) if place not in given.values()]
    words = [place for place in free if not _is_number(row[place], decimal, place)]
    wanted = [place for place in free if place not in words]
    if len(words) > (0 if "id" in given else 1):
        raise ShapeFileError(
            f"columns {', '.join(map(str, words[:6]))} hold words, but have no names: say what they are with "
            "id_column= and label_column=, or name all columns with columns=."
        )
    roles = given | ({"id": words[0]} if words else {})
    if layout in (None, "long") and len(wanted) == 2:
        return TableLayout(True, (wanted[0],), (wanted[1],), roles)
    if layout == "long":
        if len(wanted) == 3 and not roles:
            return TableLayout(True, (wanted[1],), (wanted[2],), {"id": wanted[0]})
        raise ShapeFileError(
            f"a long table of {len(row)} columns needs names: give columns=, such as "
            'columns=["id", "landmark", "x", "y"].'
        )
    if layout is None:
        raise ShapeFileError(
            f"a table of {len(wanted)} columns of numbers without names does not say where x and y are: {_SAY_LAYOUT}."
        )
    x, y = _split(wanted, layout)
    return TableLayout(False, tuple(x), tuple(y), roles)


def _split(wanted: list[int], layout: str) -> tuple[list[int], list[int]]:
    if len(wanted) % 2 or not wanted:
        raise ShapeFileError(
            f"there are {len(wanted)} columns of coordinates, but x and y come in pairs: name the columns that hold "
            "something else with id_column= and label_column=, or all with columns=."
        )
    half = len(wanted) // 2
    if layout == "blocks":
        return wanted[:half], wanted[half:]
    return wanted[::2], wanted[1::2]


def _find_numbered(names: Sequence[str], plain: Sequence[str]) -> tuple[list[int], list[int]] | None:
    """Return the columns of x and y by the numbers in their names, in the order of x."""
    places: dict[str, dict[int, int]] = {"x": {}, "y": {}, "z": {}}
    for place, name in enumerate(plain):
        match = _NUMBERED.fullmatch(name)
        if match is None:
            continue
        axis, number = (match[1], match[2]) if match[1] else (match[4], match[3])
        if int(number) in places[axis]:
            raise ShapeFileError(f"two columns are {axis} of point {number}, the second is {names[place]!r}.")
        places[axis][int(number)] = place
    x, y, z = places["x"], places["y"], places["z"]
    if not x and not y:
        return None
    if z and set(z) & set(x):
        raise ShapeFileError(
            "the columns have x, y and z of each point, but shapes here are planar: project them first."
        )
    if set(x) != set(y):
        lonely = sorted(set(x) ^ set(y))
        raise ShapeFileError(f"point {lonely[0]} has only one of x and y among the columns.")
    return list(x.values()), [y[number] for number in x]


def _find_roles(plain: Sequence[str], given: dict[str, int], taken: set[int]) -> dict[str, int]:
    roles: dict[str, int] = {}
    for role, known in _ROLES.items():
        if role not in given:
            found = _first_of(plain, known, {*given.values(), *roles.values(), *taken})
            roles |= {role: found[0]} if found else {}
    # R and pandas write row names in a first column without a name.
    if "id" not in {**given, **roles} and plain and not plain[0] and 0 not in taken:
        roles["id"] = 0
    return roles


def _first_of(plain: Sequence[str], known: Sequence[str], taken: Any) -> list[int]:
    """Return the place of the first known name that a free column has, in the order of preference."""
    return [plain.index(name) for name in known if name in plain and plain.index(name) not in taken][:1]


def _finish(names: Sequence[str], is_long: bool, x: list[int], y: list[int], roles: dict[str, int]) -> TableLayout:
    used = {*x, *y, *roles.values()}
    rest = {name.strip() or f"column {place}": place for place, name in enumerate(names) if place not in used}
    return TableLayout(is_long, tuple(x), tuple(y), roles, rest)


def _place(column: str | int, names: Sequence[str] | None, n_columns: int, argument: str) -> int:
    if isinstance(column, int):
        if not -n_columns <= column < n_columns:
            raise ShapeFileError(f"{argument}={column} is not there: the table has {n_columns} columns.")
        return column % n_columns
    if names is None or column not in names:
        raise ShapeFileError(f"{argument}={column!r} is none of the columns: {_name_some(names or ['(no names)'])}.")
    return list(names).index(column)


def _is_number(cell: str, decimal: str, place: int = 1) -> bool:
    """Tell a number; an empty cell counts as a missing one, but not in the first column, where ids are."""
    if not cell.strip():
        return place > 0
    try:
        parse_number(cell, decimal)
    except ValueError:
        return False
    return cell.strip().lower() not in MISSING_WORDS or place > 0


def _name_some(names: Sequence[str]) -> str:
    shown = ", ".join(name[:24] for name in names[:6])
    return shown + (f", … ({len(names)} in all)" if len(names) > 6 else "")
