"""What the cells of a column are: booleans, whole numbers, numbers or text.

In come the cells of a column, a few at a time; out goes a function that turns a cell into its value. A column is of a
kind only where all its cells are, so nothing can be turned before all have been seen.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from shapelex.io.numbers import parse_number

_LARGEST = 1 << 62


class CellKind:
    """The kind of one column, as far as its cells have been seen.

    Examples
    --------
    >>> kind = CellKind()
    >>> for cell in ("1", "2.5"):
    ...     kind.add(cell)
    >>> kind.converter()("3")
    3.0
    """

    def __init__(self) -> None:
        self._possible = tuple(_TESTS)
        self._has_number = False

    def agrees(self, cells: Sequence[str]) -> bool:
        """Tell whether none of these cells would change what is known.

        Parameters
        ----------
        cells : sequence of str
            Cells of the column.

        Returns
        -------
        bool
            True where :meth:`add` need not be called.
        """
        if not self._possible:
            return True
        # A first cell leaves a boolean alone, or numbers; and what is whole is a number.
        if len(self._possible) == len(_TESTS) or not _TESTS[self._possible[0]](cells):
            return False
        return (
            self._has_number or "number" not in self._possible or all(math.isnan(parse_number(cell)) for cell in cells)
        )

    def add(self, cell: str) -> None:
        """Take a cell into account.

        Parameters
        ----------
        cell : str
            A cell of the column.
        """
        self._possible = tuple(name for name in self._possible if _TESTS[name]([cell]))
        if "number" in self._possible and not math.isnan(parse_number(cell)):
            self._has_number = True

    def converter(self) -> Callable[[str], Any]:
        """Return the function that turns a cell into its value.

        Returns
        -------
        callable
            From text to a boolean, a whole number, a number, or the text itself.
        """
        if "boolean" in self._possible:
            return "True".__eq__
        if "whole" in self._possible:
            return int
        # A column of missing numbers alone says nothing of its kind.
        return parse_number if "number" in self._possible and self._has_number else str


def _are_booleans(cells: Sequence[str]) -> bool:
    return all(cell in ("True", "False") for cell in cells)


def _are_whole(cells: Sequence[str]) -> bool:
    try:
        # 007 and 1_0 are names, not numbers.
        return all(cell == str(number := int(cell)) and abs(number) < _LARGEST for cell in cells)
    except ValueError:
        return False


def _are_numbers(cells: Sequence[str]) -> bool:
    try:
        return all(parse_number(cell) is not None for cell in cells)
    except ValueError:
        return False


_TESTS: dict[str, Callable[[Sequence[str]], bool]] = {
    "boolean": _are_booleans,
    "whole": _are_whole,
    "number": _are_numbers,
}
