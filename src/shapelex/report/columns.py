"""What is known of each shape, as columns of the page's table, and the columns whose values are groups."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shapelex._typing import IntArray
from shapelex.report.packing import pack_array
from shapelex.shapes.columns import EXACT, Column

MAX_GROUPS = 60
_MAX_NUMBERED_GROUPS = 20  # whole numbers are groups only where they are few, as those of replicates
_MAX_GROUPINGS = 20  # columns with a table of groups each


def pack_columns(columns: Mapping[str, Column], rows: IntArray) -> list[dict[str, Any]]:
    """Return the columns of some shapes, in the order of the table that ``shapelex encode`` writes.

    Parameters
    ----------
    columns : mapping of str to ndarray
        Columns of all shapes. ``id`` is packed by name only: the page has the ids already.
    rows : ndarray of int
        Shapes that the page holds.

    Returns
    -------
    list of dict
        ``name`` and ``kind``. Columns of kind ``"number"`` have ``values`` and ``integer``; those of kind ``"text"``
        have ``names``, the most frequent first, and for each shape the place of its text in them, ``numbers``.
    """
    packed: list[dict[str, Any]] = []
    for name, column in columns.items():
        values = column[rows]
        if name == "id":
            packed.append({"name": name, "kind": "id"})
        elif values.dtype.kind == "f" or _holds_exact_integers(values):
            is_integer = values.dtype.kind != "f"
            packed.append(
                {"name": name, "kind": "number", "integer": is_integer, "values": pack_array(values, "float64")}
            )
        else:
            names, numbers, _ = number_texts(as_texts(values))
            packed.append({"name": name, "kind": "text", "names": names, "numbers": pack_array(numbers, "int32")})
    return packed


def find_groupings(columns: Mapping[str, Column]) -> dict[str, list[str]]:
    """Return the columns whose values divide the shapes into groups, with the value of each shape as text.

    The label always does, where there is one. Other columns do where at most 60 different texts, or 20 whole numbers,
    repeat.

    Parameters
    ----------
    columns : mapping of str to ndarray
        Columns of all shapes.

    Returns
    -------
    dict of str to list of str
        The label first.
    """
    found: dict[str, list[str]] = {}
    for name in sorted(columns, key=lambda name: name != "label"):
        column = columns[name]
        if name == "id" or column.dtype.kind in "fc" or len(found) == _MAX_GROUPINGS:
            continue
        n_different = len(np.unique(column))
        limit = _MAX_NUMBERED_GROUPS if column.dtype.kind in "iu" else MAX_GROUPS
        is_label = name == "label" and any(column.tolist())
        if is_label or 2 <= n_different <= min(limit, len(column) - 1):
            found[name] = as_texts(column)
    return found


def number_texts(texts: list[str]) -> tuple[list[str], IntArray, IntArray]:
    """Return the different texts, the most frequent first and the empty one last; the place of each; and counts."""
    names, inverse, counts = np.unique(texts, return_inverse=True, return_counts=True)
    order = np.lexsort((names, -counts, names == ""))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [str(names[place]) for place in order], rank[inverse], counts[order]


def count_bytes(columns: Mapping[str, Column], n_most: int) -> float:
    """Return about how many bytes of a page the columns take per shape, where it holds at most so many."""
    total = 0.0
    for column in columns.values():
        total += 8 * 4 / 3
        if column.dtype.kind not in "iuf":
            n_characters = np.char.str_len(column.astype(np.str_))
            different = np.char.str_len(np.unique(column).astype(np.str_)) + 3
            # Characters outside of ASCII take more than one byte.
            total += 1.5 * min(n_characters.mean() + 3, different.sum() / min(n_most, len(column)))
    return total


def as_texts(column: Column) -> list[str]:
    """Return the entries of a column as tables write them."""
    return [str(value) for value in column.tolist()]


def _holds_exact_integers(values: Column) -> bool:
    return values.dtype.kind in "iu" and (not len(values) or int(np.abs(values.astype(np.float64)).max()) < EXACT)
