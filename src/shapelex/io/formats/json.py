"""JSON of unknown origin: from a file's bytes to plain values, and from nested lists to coordinates.

Depth, sizes and types are checked, so that what is no JSON, or JSON of another kind, leaves as one of two errors:
:class:`~shapelex.exceptions.ShapeFileError` for the file, ValueError with a reason for one value in it.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex.exceptions import ShapeFileError

# Parsed, JSON takes ten to thirty times the memory of its text.
MAX_JSON = 1 << 30


def parse_json(content: bytes, source: Path | str) -> Any:
    """Return the value that `content` spells; NaN and Infinity, which some writers emit, become NaN."""
    try:
        return json.loads(content, parse_constant=lambda _: float("nan"))
    except RecursionError as error:
        raise ShapeFileError(f"{source} is refused: its JSON is nested too deeply.") from error
    except (ValueError, OverflowError) as error:  # also bad UTF-8, and integers of thousands of digits
        raise ShapeFileError(f"{source} is no valid JSON: {error}.") from error


def number_array(values: Any, name: str, *, allow_null: bool = False) -> FloatArray:
    """Return a flat list of numbers as floats; null is NaN where it is allowed.

    Raises
    ------
    ValueError
        It is no list, or holds what is no finite number.
    """
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list of numbers, got {describe(values)}")
    allowed = {int, float, type(None)} if allow_null else {int, float}
    kinds = set(map(type, values))
    if not kinds <= allowed:
        odd = next(value for value in values if type(value) not in allowed)
        raise ValueError(f"{name} must hold numbers only, got {describe(odd)}")
    try:
        array = np.array(values, dtype=float)
    except OverflowError as error:
        raise ValueError(f"{name} holds a number too large for a coordinate") from error
    # A number too large for a float is read as infinity.
    if np.isinf(array).any():
        raise ValueError(f"{name} holds a number too large for a coordinate")
    if not allow_null and np.isnan(array).any():
        raise ValueError(f"{name} holds a coordinate that is not a number")
    return array


def position_array(values: Any, name: str) -> FloatArray:
    """Return a list of positions ``[x, y]`` or ``[x, y, z]`` as points ``(n, 2)``; z is dropped.

    Raises
    ------
    ValueError
        It is no list of positions.
    """
    if not isinstance(values, list) or not all(isinstance(position, list) for position in values):
        raise ValueError(f"{name} must be a list of [x, y] pairs, got {describe(values)}")
    if not all(len(position) >= 2 for position in values):
        raise ValueError(f"{name} holds a position of fewer than two numbers")
    columns = [number_array([position[axis] for position in values], name) for axis in (0, 1)]
    return np.stack(columns, axis=1)


def describe(value: Any) -> str:
    """Say in a few words what a JSON value is, without printing all of it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "a list" if isinstance(value, list) else "an object"


def text_of(value: Any) -> str:
    """Return a name or number as text; anything else, and null, as the empty string."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if isinstance(value, int) and abs(value) >= 10**30:
        return ""
    return str(value)[:500]
