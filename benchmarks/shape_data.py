"""Sets of real shapes for the benchmarks, by the names of ``shapelex.datasets``; skipped where they cannot be had."""

from functools import cache

import shapelex as sx
from measure import skip


def open_set(name: str, rows: str) -> sx.ShapeSet | None:
    """Return a set of shapes, or None, with a line on the rows that are skipped without it."""
    found = _fetch(name)
    if isinstance(found, sx.ShapeSet):
        return found
    skip(rows, found)
    return None


@cache
def _fetch(name: str) -> sx.ShapeSet | OSError:
    """Try once per run: without a network, every try may take its time."""
    try:
        found: sx.ShapeSet = sx.datasets.fetch(name)
    except OSError as error:
        return error
    return found
