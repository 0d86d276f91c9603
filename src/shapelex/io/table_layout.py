"""What the columns of a table of shapes mean.

Where several readings are possible none is taken: misread coordinates are worse than an error.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from shapelex._messages import format_option, parameter
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.files.tables import is_number

LAYOUTS = ("blocks", "interleaved", "long")

# Names of columns in lower case without blanks and signs, those preferred first.
_ROLES = {
    "id": (
        *("id", "specimenid", "specimen", "shapeid", "shape", "name", "sampleid", "sample", "individual"),
        *("image", "filename", "file"),
    ),
    "label": ("label", "labels", "class", "group", "species"),
    **{name: (name,) for name in ("sequence", "frame", "closed")},
}
_X_NAMES = ["x", "xcoord", "coordx", "posx", "xpos", "xposition", "positionx", "xcoordinate"]
_Y_NAMES = [name.replace("x", "y") for name in _X_NAMES]
_POINT_ROLES = {
    "landmark": (
        *("landmark", "lm", "landmarkid", "landmarknumber", "point", "pointid", "pointnumber", "vertex", "vertexid"),
        *("index", "order", "i"),
    )
}
_PREFIX = "(?:lm|landmark|point|pt|p|coord|c|raw|v|vertex)?"
_NUMBERED = re.compile(rf"{_PREFIX}([xyz])([0-9]{{1,7}})|{_PREFIX}([0-9]{{1,7}})([xyz])")
_WKT = re.compile(r"\s*(SRID=\d+;)?\s*(MULTI)?(POLYGON|LINESTRING|POINT)\s*[ZM]*\s*\(", re.IGNORECASE)
_SAY_LAYOUT = (
    f"give {format_option('layout', 'blocks')} for columns x1..xN, y1..yN, {format_option('layout', 'interleaved')} "
    f"for x1, y1, .., xN, yN, or {format_option('layout', 'long')} "
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
    remarks : tuple of str
        What a reader of the table may not expect.
    """

    is_long: bool
    x: tuple[int, ...]
    y: tuple[int, ...]
    roles: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def order(self) -> list[int]:
        """Columns of x and y in turn."""
        return [place for pair in zip(self.x, self.y, strict=True) for place in pair]


def find_layout(
    names: Sequence[str] | None,
    row: Sequence[str],
    decimal: str,
    layout: str | None,
    id_column: str | int | None,
    label_column: str | int | None,
) -> TableLayout:
    """Return what the columns of a table mean.

    Parameters
    ----------
    names : sequence of str, or None
        Names of the columns.
    row : sequence of str
        The first row of values.
    decimal : {".", ","}
        Decimal mark.
    layout : {"blocks", "interleaved", "long"}, optional
        What the caller says.
    id_column, label_column : str or int, optional
        Columns that hold ids and labels, by name or number.

    Returns
    -------
    TableLayout
        The layout.

    Raises
    ------
    ShapeFileError
        If the columns can be read in several ways, or in none, or `layout` contradicts their names.
    """
    if layout is not None:
        check_choice(layout, LAYOUTS, format_option("layout"))
    given = {
        role: _place(column, names, len(row), f"{role}_column")
        for role, column in (("id", id_column), ("label", label_column))
        if column is not None
    }
    if names is None:
        return _without_names(row, layout, given, decimal)
    plain = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in names]
    x, y = ([place for place, name in enumerate(plain) if name in known] for known in (_X_NAMES, _Y_NAMES))
    is_long = layout == "long" or (layout is None and bool(x or y))
    if is_long:
        if len(x) != 1 or len(y) != 1:
            raise ShapeFileError(
                f"a long table needs one column x and one column y, found {len(x)} and {len(y)} among "
                f"{_name_some(names)}; name them so, or give {format_option('columns=')}."
            )
        if "z" in plain:
            raise ShapeFileError("there is a column z, but shapes here are planar: take it out of the table.")
        given = _find_roles(plain, _POINT_ROLES, given, ())
    elif (numbered := _find_numbered(names, plain)) is not None:
        x, y = numbered
        if layout is not None and {*zip(x, y, strict=True)} != {*zip(*_split(sorted(x + y), layout), strict=True)}:
            raise ShapeFileError(_contradiction(layout, names, x, y))
    elif layout is None:
        raise _cannot_tell(row, f"the columns {_name_some(names)} do not say where x and y are: {_SAY_LAYOUT}.")
    elif len(x) == len(y) == 1:
        raise ShapeFileError(_contradiction(layout, names, x, y))
    else:
        given = _find_roles(plain, _ROLES, given, ())
        free = [place for place in range(len(names)) if place not in given.values()]
        x, y = _split([place for place in free if is_number(row[place], decimal, place)], layout)
    roles = _find_roles(plain, _ROLES, given, (*x, *y))
    # R and pandas write row names in a first column without a name.
    if "id" not in roles and not plain[0] and 0 not in x:
        roles["id"] = 0
    used = {names[place].strip() for place in roles.values()}
    rest: dict[str, int] = {}
    for place in sorted({*range(len(names))} - {*x, *y, *roles.values()}):
        told = names[place].strip() or f"column {place}"
        # Tables that are written here name metadata so where the name alone would mean something else.
        name = told[5:] if told.startswith("meta ") and is_known_name(told[5:]) else told
        if name in rest or told in used:
            raise ShapeFileError(f"two columns are named {name!r}: rename or remove one of them.")
        rest[name] = place
    remarks = () if is_long else _remark_on_names(plain, names, (*x, *y), rest.values())
    return TableLayout(is_long, tuple(x), tuple(y), roles, rest, remarks)


def is_known_name(name: str, roles: Collection[str] = ()) -> bool:
    """Tell whether a column of metadata with this name would be taken for something else.

    Parameters
    ----------
    name : str
        The name.
    roles : collection of str
        What the table has columns for, such as ``id``: their other names, such as ``specimen``, are then metadata.

    Returns
    -------
    bool
        True for names such as ``x``, ``x12``, ``closed`` and ``meta x``.
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    if name.startswith("meta ") or plain in (*_X_NAMES, *_Y_NAMES, "z") or _NUMBERED.fullmatch(plain):
        return True
    return any(plain in names[: 1 if role in roles else None] for role, names in (_ROLES | _POINT_ROLES).items())


def _without_names(row: Sequence[str], layout: str | None, given: dict[str, int], decimal: str) -> TableLayout:
    free = [place for place in range(len(row)) if place not in given.values()]
    words = [place for place in free if not is_number(row[place], decimal, place)]
    wanted = [place for place in free if place not in words]
    if len(wanted) < 2:
        raise _cannot_tell(
            row,
            "it has no two columns of numbers, so it holds no shapes. A sheet of metadata is joined to the shapes of "
            f"other files with {parameter('join=')}.",
        )
    if len(words) > (0 if "id" in given else 1):
        raise _cannot_tell(
            row,
            f"columns {', '.join(map(str, words[:6]))} hold words, but have no names: say what they are with "
            f"{format_option('id_column=')} and {format_option('label_column=')}, or name all columns with "
            f"{format_option('columns=')}.",
        )
    roles = given | ({"id": words[0]} if words else {})
    if layout in (None, "long") and len(wanted) == 2:
        return TableLayout(True, (wanted[0],), (wanted[1],), roles)
    if layout == "long":
        if len(wanted) == 3 and not roles:
            return TableLayout(True, (wanted[1],), (wanted[2],), {"id": wanted[0]})
        raise ShapeFileError(
            f"a long table of {len(row)} columns needs names: give {format_option('columns=')}, such as "
            f"{format_option('columns', ['id', 'landmark', 'x', 'y'])}."
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
            f"something else with {format_option('id_column=')} and {format_option('label_column=')}, or all with "
            f"{format_option('columns=')}."
        )
    half = len(wanted) // 2
    if layout == "blocks":
        return wanted[:half], wanted[half:]
    return wanted[::2], wanted[1::2]


def _find_numbered(names: Sequence[str], plain: Sequence[str]) -> tuple[list[int], list[int]] | None:
    """Return the columns of x and y in the order of the numbers in their names."""
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
    return [x[number] for number in sorted(x)], [y[number] for number in sorted(x)]


def _remark_on_names(
    plain: Sequence[str], names: Sequence[str], coordinates: Collection[int], rest: Collection[int]
) -> tuple[str, ...]:
    """Return remarks on points that the numbers of columns skip, and on columns that may be coordinates, too."""
    remarks = []
    matches = [_NUMBERED.fullmatch(plain[place]) for place in coordinates]
    numbers = {int(match[2] or match[3]) for match in matches if match is not None}
    n_skipped = max(numbers) - min(numbers) + 1 - len(numbers) if numbers and None not in matches else 0
    if n_skipped:
        # Numbers in names may be huge: skipped ones are counted, and only the first of them are listed.
        skipped = islice((number for number in count(min(numbers)) if number not in numbers), min(n_skipped, 6))
        told = ", ".join(map(str, skipped)) + (f" and {n_skipped - 6} more" if n_skipped > 6 else "")
        remarks.append(f"there are no columns of the points {told}; the others were read as neighbors.")
    others = {plain[place]: names[place] for place in rest}
    pairs = [(name, name.replace("x", "y")) for name in others if re.fullmatch(r"[a-z]*x[a-z]*[0-9]+", name)]
    odd = [f"{others[first]} and {others[second]}" for first, second in pairs if second in others]
    if odd:
        told = ", ".join(odd[:3]) + (f" and {len(odd) - 3} more pairs" if len(odd) > 3 else "")
        remarks.append(f"the columns {told} were read as metadata; if they are coordinates, name them like the others.")
    return tuple(remarks)


def _find_roles(
    plain: Sequence[str], known: Mapping[str, Sequence[str]], given: Mapping[str, int], taken: Sequence[int]
) -> dict[str, int]:
    """Return the columns that are `given`, and of each role the first known name that a free column has."""
    roles = dict(given)
    for role in [role for role in known if role not in given]:
        used = {*roles.values(), *taken}
        places = [plain.index(name) for name in known[role] if name in plain and plain.index(name) not in used]
        if places:
            roles[role] = places[0]
    return roles


def _cannot_tell(row: Sequence[str], message: str) -> ShapeFileError:
    """Return the error for columns without coordinates, which may be outlines as text."""
    if any(map(_WKT.match, row)):
        message = (
            "it has outlines as well-known text (WKT), which is read from .wkt files: write each row to one as a line "
            f"such as oak1; POLYGON ((0 0, 4 0, 4 3, 0 0)), and add the other columns with {parameter('join=')}."
        )
    return ShapeFileError(message)


def _contradiction(layout: str, names: Sequence[str], x: Sequence[int], y: Sequence[int]) -> str:
    pairs = ", ".join(f"{names[one]!r} and {names[other]!r}" for one, other in zip(x[:2], y[:2], strict=True))
    return (
        f"{format_option('layout', layout)} contradicts the names of the columns, by which {pairs} are x and y of "
        "points: leave this option out to follow the names, or rename the columns."
    )


def _place(column: str | int, names: Sequence[str] | None, n_columns: int, argument: str) -> int:
    if isinstance(column, int):
        if not -n_columns <= column < n_columns:
            raise ShapeFileError(f"{format_option(argument, column)} is not there: the table has {n_columns} columns.")
        return column % n_columns
    if names is None or column not in names:
        raise ShapeFileError(
            f"{format_option(argument, column)} is none of the columns: {_name_some(names or ['(no names)'])}."
        )
    return list(names).index(column)


def _name_some(names: Sequence[str]) -> str:
    shown = ", ".join(name[:24] for name in names[:6])
    return shown + (f", … ({len(names)} in all)" if len(names) > 6 else "")
