"""Numbers in text: read fast and strictly, written so that they come back to the bit."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray

MISSING_WORDS = frozenset({"", "na", "nan", "n/a", "null", "none", ".", "-", "missing", "#n/a"})


DECIMAL_POINT = re.compile(r"[0-9]\.|\.[0-9]")
"""A point in a number, and not a word for what is missing."""


def parse_number(text: str, decimal: str = ".") -> float:
    """Return the number that text stands for; NaN for the usual words for what is missing.

    Parameters
    ----------
    text : str
        The text, which may have spaces around it.
    decimal : {".", ","}
        Decimal mark.

    Returns
    -------
    float
        The number.

    Raises
    ------
    ValueError
        If it is no number, or an infinite one.
    """
    word = text if decimal == "." else text.replace(decimal, ".")
    try:
        number: float | None = float(word)
    except ValueError:
        number = None
    # float also takes 1_000 and the digits of all scripts, which no file of numbers means.
    if number is None or "_" in word or not word.strip().isascii():
        if word.strip().lower() in MISSING_WORDS:
            return math.nan
        raise ValueError(f"{text.strip()[:40]!r} is no number")
    if math.isinf(number):
        raise ValueError(f"{text.strip()[:40]!r} is infinite or too large")
    return number


def parse_pairs(lines: Sequence[str]) -> tuple[ComplexArray | None, int]:
    """Return the points of lines that hold x and y, or None and the place of the first line that does not.

    Parameters
    ----------
    lines : sequence of str
        Two numbers a line, with blanks between them. A comma is the decimal mark where no line has a point; beside
        points it may as well part thousands, so that its line is bad.

    Returns
    -------
    ndarray of complex, shape (n_lines,), or None
        The points.
    int
        Place of the first bad line; the number of lines when there is none.
    """
    # Lines of two finite numbers each, the usual case, are read in a few calls: every third word must be a bar.
    text = " | ".join(lines)
    words = text.split()
    if len(words) == 3 * len(lines) - 1 and words[2::3].count("|") == len(lines) - 1 and _is_plain(text):
        del words[2::3]
        with suppress(ValueError):
            numbers = np.array(list(map(float, words)), dtype=np.float64)
            if np.isfinite(numbers).all():
                return numbers.view(np.complex128), len(lines)
    pairs = [line.split() for line in lines]
    points: Any = np.empty((len(pairs), 2))
    has_points = DECIMAL_POINT.search(text) is not None
    for place, pair in enumerate(pairs):
        if len(pair) != 2 or (has_points and "," in lines[place]):
            return None, place
        try:
            points[place] = [_parse_word(word) for word in pair]
        except ValueError:
            return None, place
    is_gone = np.isnan(points).any(axis=1)
    points[is_gone] = np.nan
    return points.view(np.complex128)[:, 0], len(pairs)


def format_number(number: float) -> str:
    """Return the shortest text that reads back as the same number; whole numbers without a point.

    Parameters
    ----------
    number : float
        The number, of either precision.

    Returns
    -------
    str
        Its text, ``nan`` where it is missing.
    """
    if number != number:
        return "nan"
    return repr(float(number)).removesuffix(".0")


def _is_plain(text: str) -> bool:
    return "_" not in text and text.isascii()


def _parse_word(word: str) -> float:
    decimal = "," if word.count(",") == 1 and "." not in word else "."
    return parse_number(word, decimal)
