"""Shapes of a long table whose rows may be mixed: rows come in, all shapes go out, once the last row is there."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from shapelex.io.landmark_order import LandmarkOrder, find_order
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord
from shapelex.io.table_layout import TableLayout
from shapelex.io.table_rows import Row
from shapelex.io.wide_table import TableShape, as_points

Key = tuple[str, ...]


def hold_shapes(
    rows: Iterator[Row], layout: TableLayout, n_columns: int, decimal: str
) -> tuple[list[TableShape | BadRecord], set[int]]:
    """Return the shapes of a long table, in the order of their first rows.

    Parameters
    ----------
    rows : iterator
        Numbers and cells of the rows.
    layout : TableLayout
        What the columns mean.
    n_columns : int
        How many there are.
    decimal : {".", ","}
        Decimal mark.

    Returns
    -------
    list of TableShape or BadRecord
        The shapes, and what is wrong with those that cannot be read; first those of which no row can be.
    set of int
        Columns of metadata that vary along a shape.
    """
    (x_place,), (y_place,) = layout.x, layout.y
    keys = [layout.roles[role] for role in ("id", "sequence", "frame") if role in layout.roles]
    kept = [*layout.roles.values(), *layout.metadata.values()]
    landmark = layout.roles.get("landmark")
    # Columns that change along a shape say something of its points, not of the shape.
    told, varying = set(layout.metadata.values()), set[int]()
    known: dict[str, str] = {}
    shapes: dict[Key, TableShape] = {}
    bad: dict[Key, BadRecord] = {}
    for line, row in rows:
        if len(row) != n_columns:
            key: Key = tuple(row[place] for place in keys if place < len(row))
            reason = f"it has {len(row)} columns, the table has {n_columns}."
            bad.setdefault(key, BadRecord(name_shape(key, line), reason))
            continue
        key = tuple(row[place] for place in keys)
        try:
            x, y = parse_number(row[x_place], decimal), parse_number(row[y_place], decimal)
        except ValueError as error:
            bad.setdefault(key, BadRecord(name_shape(key, line), f"{error}, but a coordinate is expected."))
            continue
        shape = shapes.get(key)
        if shape is None:
            cells = {place: row[place] for place in kept}
            shape = shapes[key] = TableShape(array("d"), cells, name_shape(key, line))
        elif told:
            varying |= {place for place in told - varying if row[place] != shape.cells[place]}
        shape.points.extend((x, y))
        if landmark is not None:
            name = row[landmark].strip()
            # The same few names come with every shape: one copy of each is enough.
            shape.landmarks.append(known.setdefault(name, name))
    order = find_order(Counter(name for shape in shapes.values() for name in shape.landmarks))
    lost = [fault for key, fault in bad.items() if key not in shapes]
    found = (bad.get(key, shape) for key, shape in shapes.items())
    return [*lost, *order_points(found, order)], varying


def name_shape(key: Key, line: int) -> str:
    """Return the place of a shape in its file, for messages.

    Parameters
    ----------
    key : tuple of str
        Cells that tell it from others.
    line : int
        Number of its line.

    Returns
    -------
    str
        Such as ``shape a, line 3``.
    """
    return f"shape {'/'.join(part[:40] for part in key) or '1'}, line {line}"


def order_points(
    shapes: Iterable[TableShape | BadRecord], order: LandmarkOrder | None
) -> Iterator[TableShape | BadRecord]:
    """Put the points of shapes at the places of their landmarks; one left out is a missing landmark.

    Parameters
    ----------
    shapes : iterable of TableShape or BadRecord
        Shapes with their points in the order of rows.
    order : LandmarkOrder, or None
        Where landmarks go; None leaves points as they are.

    Yields
    ------
    TableShape or BadRecord
        The same; a shape whose landmarks cannot be placed is a bad one.
    """
    names: list[str] | None = None
    for shape in shapes:
        if isinstance(shape, BadRecord):
            yield shape
            continue
        points = as_points(shape.points)
        if order is not None:
            if shape.landmarks != names:
                try:
                    places, n_points = order.place(shape.landmarks)
                except ValueError as error:
                    yield BadRecord(shape.where, str(error))
                    continue
                names = shape.landmarks
            ordered = np.full(n_points, complex(np.nan, np.nan))
            ordered[places] = points
            points = ordered
        yield TableShape(points, shape.cells, shape.where)
