"""What the cells of a column are: booleans, whole numbers, numbers or text.

In come the cells of a column, a few at a time; out goes a function that turns a cell into its value. A column is of a
kind only where all its cells are, so nothing can be turned before all have been seen.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from shapelex.io.numbers import parse_number

_LARGEST = 1 << 62


class CellKind:
    """The kind of one column, as far as its cells have been seen.

    Examples
    --------
    >>> kind = CellKind()
    >>> kind.see(["1", "2.5"])
    >>> kind.converter()("3")
    3.0
    """

    def __init__(self, decimal: str = ".") -> None:
        self._possible = ["boolean", "whole", "number"]
        self._parse = partial(parse_number, decimal=decimal)
        self._has_number = False

    def see(self, cells: Sequence[str]) -> None:
        """Take cells into account."""
        if "boolean" in self._possible and not all(cell in ("True", "False") for cell in cells):
            self._possible.remove("boolean")
        if "whole" in self._possible and not _are_whole(cells):
            self._possible.remove("whole")
        if "number" in self._possible:
            try:
                numbers = list(map(self._parse, cells))
                self._has_number |= not all(map(math.isnan, numbers))
            except ValueError:
                self._possible.remove("number")

    def converter(self, is_text: bool = True) -> Callable[[Any], Any]:
        """Return the function that turns a cell into its value; values that are no text stay as they are."""
        if not is_text:
            return lambda value: value
        if "boolean" in self._possible:
            return "True".__eq__
        if "whole" in self._possible:
            return int
        # A column of missing numbers alone says nothing of its kind.
        return self._parse if "number" in self._possible and self._has_number else str


def _are_whole(cells: Sequence[str]) -> bool:
    try:
        # 007 and 1_0 are names, not numbers.
        return all(cell == str(number := int(cell)) and abs(number) < _LARGEST for cell in cells)
    except ValueError:
        return False
