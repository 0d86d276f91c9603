"""What files of regions share (COCO, GeoJSON, ImageJ, WKT): values of JSON, rings and lines, kinds, and remarks.

JSON of unknown origin leaves as plain values, or as one of two errors: ShapeFileError for the file, ValueError with a
reason for one value in it. Outlines are closed, lines open, points neither. A set is closed or open as a whole, so that
a remark says where a file has regions of several kinds. Of a region in several parts one is read, of one with holes the
outer ring; remarks count what was left out.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from shapelex._messages import format_option
from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.io.records import BadRecord, Record, Remark

# Parsed, JSON takes ten to thirty times the memory of its text.
MAX_JSON = 1 << 30
# Kinds of region by whether they are closed: what the option `only` calls them, one of them, several of them.
_KINDS: Final = {
    True: ("outlines", "outline", "outlines"),
    False: ("lines", "line", "lines"),
    None: ("points", "set of points", "sets of points"),
}
# What a geometry of GeoJSON and WKT is, where it can be read.
_GEOMETRIES: Final = {
    "Polygon": True,
    "MultiPolygon": True,
    "LineString": False,
    "MultiLineString": False,
    "MultiPoint": None,
}
# A tuple, since what a file has in the place of a type may be unhashable.
GEOMETRIES: Final = (*_GEOMETRIES, "Point", "GeometryCollection")
_REMARKS: Final = {
    "crowd": "left out, since they are crowd regions; the option crowd=True reads them.",
    "empty": "left out, since they are empty: they have no coordinates.",
    "parts": "have several parts, of which the largest was read; the column n_parts of the metadata counts them.",
    "holes": "have holes, which were left out; the column n_holes of the metadata counts them.",
    "nested": "have properties that are lists or objects, such as measurements of QuPath, which were left out.",
    "more": "have more coordinates than x and y, such as z, which were left out: shapes here are planar.",
}

Item = TypeVar("Item")


def read_regions(
    items: Iterable[tuple[str, Item]],
    read: Callable[[Item, str, Counter[str]], Record | None],
    noun: str,
    only: str | None = None,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield what `read` makes of each item, then remarks on what was left out and on regions of several kinds.

    Parameters
    ----------
    items : iterable of (str, item)
        The place of each region, for messages, and the region as the file has it; a BadRecord is passed on.
    read : callable
        Returns the record of an item, or None where it counts the item as left out; a ValueError makes a bad record.
    noun : str
        What the file calls its regions, in the plural.
    only : {"outlines", "lines", "points"}, optional
        The kind to keep; bad records are of no kind, and stay.
    """
    if only is not None:
        check_choice(only, [kind for kind, *_ in _KINDS.values()], format_option("only"))
    left_out: Counter[str] = Counter()
    kinds: Counter[bool | None] = Counter()
    n_items = 0
    for where, item in items:
        n_items += 1
        found: Counter[str] = Counter()
        try:
            record = read(item, where, found)
        except ValueError as error:
            yield BadRecord(where, f"{error}.")
            continue
        if record is None:
            left_out += found
        elif only in (None, _KINDS[record.closed][0]):
            found["parts"] = record.metadata.get("n_parts", 1) > 1
            found["holes"] = record.metadata.get("n_holes", 0) > 0
            left_out += found
            kinds[record.closed] += 1
            yield record
    for what, text in _REMARKS.items():
        if left_out[what]:
            n_all = n_items if text.startswith("left out") else kinds.total()
            yield Remark(f"{left_out[what]} of {n_all} {noun}", text)
    if len(kinds) > 1:
        named = [f"{kinds[kind]} {names[1 + (kinds[kind] > 1)]}" for kind, names in _KINDS.items() if kinds[kind]]
        yield Remark(
            f"{kinds.total()} {noun}",
            f"{', '.join(named[:-1])} and {named[-1]} were all read as shapes of one kind, closed or open as asked; "
            "the option only=outlines reads the outlines alone.",
        )


def read_geometry(kind: Any, coordinates: Any, y_down: bool, found: Counter[str]) -> dict[str, Any] | None:
    """Return points, closure and metadata of a geometry of GeoJSON as arguments of Record, or None if it is empty."""
    if not isinstance(kind, str) or kind not in _GEOMETRIES:
        raise ValueError(f"a geometry of type {text_of(kind)!r} is no outline, line or set of landmarks")
    if coordinates == []:
        found["empty"] += 1
        return None
    closed, has_parts = _GEOMETRIES[kind], kind in ("MultiPolygon", "MultiLineString")
    parts = coordinates if has_parts else [coordinates]
    if not isinstance(parts, list) or (closed and not all(isinstance(rings, list) and rings for rings in parts)):
        raise ValueError(f"its coordinates must be lists that are not empty, got {describe(coordinates)}")
    lines = []
    for part in parts:
        positions = part[0] if closed else part
        if not isinstance(positions, list) or not set(map(type, positions)) <= {list}:
            raise ValueError(f"its coordinates must be [x, y] pairs, got {describe(positions)}")
        lengths = set(map(len, positions))
        if lengths and min(lengths) < 2:
            raise ValueError("its coordinates hold a position of fewer than two numbers")
        found["more"] |= bool(lengths) and max(lengths) > 2
        numbers = number_array([number for position in positions for number in position[:2]], "its coordinates")
        lines.append(numbers.reshape(-1, 2))
    chosen = largest(lines, closed=bool(closed))
    metadata = {"geometry": kind} | ({"n_holes": len(parts[chosen]) - 1} if closed else {})
    return {
        "points": to_complex(lines[chosen], closed=bool(closed), y_down=y_down),
        "closed": closed,
        "metadata": metadata | ({"n_parts": len(parts)} if has_parts else {}),
    }


def largest(parts: Sequence[FloatArray], *, closed: bool) -> int:
    """Return the place of the ring ``(n, 2)`` of the largest area, or of the longest line; the first in a tie."""
    if len(parts) == 1:
        return 0
    sizes = []
    with np.errstate(over="ignore", invalid="ignore"):
        for points in parts:
            # Moved to the origin first: products of large coordinates would cancel.
            x, y = (points - points[:1]).T
            area = abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
            sizes.append(area if closed else np.hypot(np.diff(x), np.diff(y)).sum())
    return int(np.argmax(np.nan_to_num(sizes, nan=np.inf, posinf=np.inf)))


def to_complex(points: FloatArray, *, closed: bool, y_down: bool) -> ComplexArray:
    """Return points ``(n, 2)`` as ``x + iy`` with y up; a closed ring loses its repeated last point.

    Raises
    ------
    ValueError
        Fewer distinct points are left than a shape needs.
    """
    # ImageJ repeats the first point of a part twice: as its last, and again where the path is closed.
    while closed and len(points) > 1 and (points[0] == points[-1]).all():
        points = points[:-1]
    if not np.isfinite(points).all():
        raise ValueError("a coordinate is not finite")
    n_needed = 3 if closed else 2
    if len(points) < n_needed:
        kind = "a closed outline" if closed else "a shape"
        raise ValueError(f"{kind} needs at least {n_needed} points, this one has {len(points)}")
    y = -points[:, 1] if y_down else points[:, 1]
    # Adding zero turns the -0.0 that negation leaves into 0.0.
    return np.asarray(points[:, 0] + 1j * (y + 0.0), dtype=np.complex128)


def parse_json(content: bytes, source: Path | str) -> Any:
    """Return the value that `content` spells; NaN and Infinity, which some writers emit, become NaN."""
    try:
        return json.loads(content, parse_constant=lambda _: float("nan"))
    except RecursionError as error:
        raise ShapeFileError(f"{source} is refused: its JSON is nested too deeply.") from error
    except (ValueError, OverflowError) as error:  # also bad UTF-8, and integers of thousands of digits
        raise ShapeFileError(f"{source} is no valid JSON: {error}.") from error


def number_array(values: Any, name: str, *, allow_null: bool = False) -> FloatArray:
    """Return a flat list of finite numbers as floats, or raise ValueError; null is NaN where it is allowed."""
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list of numbers, got {describe(values)}")
    allowed = {int, float, type(None)} if allow_null else {int, float}
    if not set(map(type, values)) <= allowed:
        odd = next(value for value in values if type(value) not in allowed)
        raise ValueError(f"{name} must hold numbers only, got {describe(odd)}")
    try:
        array = np.array(values, dtype=float)
    except OverflowError:
        array = np.array([np.inf])
    # A number too large for a float is read as infinity.
    if np.isinf(array).any():
        raise ValueError(f"{name} holds a number too large for a coordinate")
    if not allow_null and np.isnan(array).any():
        raise ValueError(f"{name} holds a coordinate that is not a number")
    return array


def describe(value: Any) -> str:
    """Say in a few words what a JSON value is, without printing all of it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "an object" if isinstance(value, dict) else "a number"


def text_of(value: Any) -> str:
    """Return a name or number as text; anything else, and null, as the empty string."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return "" if isinstance(value, int) and abs(value) >= 10**30 else str(value)[:500]
