"""Tables of shapes as text: a shape a row (wide) or a point a row (long).

In comes a file of values between commas, semicolons, tabs, bars or blanks, with or without names of the columns; out go
records, and back. What the columns mean is found in :mod:`shapelex.io.table_layout`.
"""

import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shapelex._validation import check_choice, check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import read_text
from shapelex.io.landmark_order import LandmarkOrder, find_order
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord, Record
from shapelex.io.shapeset import ShapeSet, coordinate_columns, description_columns
from shapelex.io.table_layout import LAYOUTS, TableLayout, find_layout, is_coordinate_name, looks_like_names
from shapelex.spaces import Landmarks

_DELIMITERS = ("\t", ";", "|", ",", " ")
_SAMPLE_LINES = 20
_SAMPLE_CHARACTERS = 1 << 20
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ANY_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")

Row = tuple[int, list[str]]


@dataclass
class _Shape:
    """A shape on the way from rows to a record."""

    points: Any
    cells: dict[int, str]
    where: str
    landmarks: list[str] = field(default_factory=list)


def read_records(
    path: Path,
    layout: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield the shapes of a table.

    `layout` is ``"blocks"``, ``"interleaved"`` or ``"long"``, needed where the names of the columns do not tell it;
    `header` says whether the first row has names, `columns` gives names to a table that has none.
    """
    text = read_text(path, keeps_line_ends=True)
    try:
        names, rows, mark = _open_table(text, path, header, columns, delimiter, decimal)
        first = next(rows, None)
        if first is None:
            raise ShapeFileError("there are names of columns, but no values.")
        cells = first[1]
        if names is not None and columns is None and len(cells) == len(names) + 1:
            # R gives no name to the column of row names.
            names = ["", *names]
        n_columns = len(cells) if names is None else len(names)
        cells = cells[:n_columns] + [""] * (n_columns - len(cells))
        found = find_layout(names, cells, layout=layout, id_column=id_column, label_column=label_column, decimal=mark)
        body = chain([first], rows)
        if found.is_long:
            shapes = list(_read_long(body, found, n_columns, mark))
        else:
            shapes = list(_read_wide(body, found, n_columns, mark, "_" in text))
    except ShapeFileError as error:
        message = str(error)
        raise ShapeFileError(message if message.startswith(str(path)) else f"{path}: {message}") from error
    yield from _as_records(shapes, found, path)


def write_set(shapes: ShapeSet, stream: BinaryIO, layout: str = "interleaved", delimiter: str = ",") -> None:
    """Write a set as a table with names: a shape a row, or a point a row where `layout` is ``"long"``."""
    check_choice(layout, LAYOUTS, "layout")
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"Tables hold points, but the set is in {shapes.space!r}: write .npz, or the points of space.sample."
        )
    told = [(name, column.tolist()) for name, column in description_columns(shapes)]
    if layout == "long":
        _check_told_apart(told)
    if shapes.closed:
        told.append(("closed", [True] * len(shapes)))
    names = [f"meta {name}" if is_coordinate_name(name) else name for name, _ in told]
    columns = [column for _, column in told]
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    # All words are quoted, so that no id is taken for anything but text, nor loses the blanks around it.
    table = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    if layout == "long":
        table.writerow([*names, "landmark", "x", "y"])
        for row, points in enumerate(shapes.configurations):
            cells = [column[row] for column in columns]
            pairs = zip(points.real.tolist(), points.imag.tolist(), strict=True)
            table.writerows([*cells, number, x, y] for number, (x, y) in enumerate(pairs, start=1))
    else:
        coordinate_names, values = coordinate_columns(shapes, "blocks" if layout == "blocks" else "interleaved")
        table.writerow([*names, *coordinate_names])
        table.writerows([*(column[row] for column in columns), *numbers.tolist()] for row, numbers in enumerate(values))
    text.flush()
    # The stream belongs to the caller.
    text.detach()


def _check_told_apart(told: Sequence[tuple[str, list[Any]]]) -> None:
    keys = list(zip(*(column for name, column in told if name in ("id", "sequence", "frame")), strict=True))
    if len(set(keys)) < len(keys):
        twice = Counter(keys).most_common(1)[0][0]
        raise ShapeFileError(
            f"A long table tells shapes apart by their ids, but {twice[0]!r} names several: give ids that differ, "
            "or write a wide table."
        )


def _open_table(
    text: str,
    path: Path,
    header: bool | None,
    columns: Sequence[str] | None,
    delimiter: str | None,
    decimal: str | None,
) -> tuple[list[str] | None, Iterator[Row], str]:
    """Return the names of the columns, the rows of values and the decimal mark."""
    if header is not None:
        check_flag(header, "header")
    if decimal is not None:
        check_choice(decimal, (".", ","), "decimal")
    separator = delimiter or _find_delimiter(text, path)
    rows = _rows(text, separator, path)
    start = list(islice(rows, _SAMPLE_LINES))
    if not start:
        raise ShapeFileError("it holds no values.")
    first = start[0][1]
    # Between commas, "1,000" may be a thousand or one: unless the caller says which, it is no number.
    mark = decimal or ("." if separator == "," else _find_decimal([row for _, row in start]))
    names: list[str] | None = None
    if columns is not None:
        names, has_names = list(columns), bool(header)
        if len(names) != len(first):
            raise ShapeFileError(f"columns names {len(names)} columns, but the table has {len(first)}.")
    elif header is None:
        has_names = looks_like_names(first, start[1][1] if len(start) > 1 else None, mark)
    else:
        has_names = header
    if has_names and names is None:
        names = first
    return names, chain(start[has_names:], rows), mark


def _find_delimiter(text: str, path: Path) -> str:
    sample = _lines(text[:_SAMPLE_CHARACTERS])
    lines = [line for line in sample if line.strip() and not line.startswith("#")][:_SAMPLE_LINES]
    best, best_share = "", 0.0
    for delimiter in _DELIMITERS:
        try:
            widths = Counter(len(row) for _, row in _rows("".join(lines), delimiter, path))
        except ShapeFileError:
            # Without the right separator a line may be one cell too long for the parser.
            continue
        width, times = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        share = times / max(1, sum(widths.values()))
        if width > 1 and share > best_share:
            best, best_share = delimiter, share
    if not best:
        raise ShapeFileError(f"{path} is no table: its lines have no common number of columns; give delimiter=.")
    return best


def _find_decimal(rows: Sequence[list[str]]) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    has_comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return "," if has_comma and not any(_DECIMAL_POINT.fullmatch(cell) for cell in cells) else "."


def _rows(text: str, delimiter: str, path: Path) -> Iterator[Row]:
    """Yield the rows that are not empty, with the number of the line each ends on."""
    if len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
    lines = _lines(text)
    if delimiter.isspace() and delimiter != "\t":
        lines = (line.replace("\t", " ").strip(" ") for line in lines)
    table = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")
    is_start = True
    try:
        for row in table:
            if not row or (len(row) == 1 and not row[0].strip()) or (is_start and _is_comment(row)):
                continue
            is_start = False
            yield table.line_num, row
    except csv.Error as error:
        raise ShapeFileError(f"{path}, line {table.line_num}: it cannot be split into columns ({error}).") from error


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends; a StringIO would do, but takes four bytes a character."""
    pattern = _ANY_LINE if "\r" in text else _LINE
    return (match[0] for match in pattern.finditer(text))


def _is_comment(row: Sequence[str]) -> bool:
    """Tell a remark above the table from a row whose id starts like one."""
    return row[0].startswith("#") and not any(_DECIMAL_POINT.fullmatch(cell) or cell.isdigit() for cell in row[1:])


def _read_wide(
    rows: Iterator[Row], layout: TableLayout, n_columns: int, decimal: str, has_underscores: bool
) -> Iterator[_Shape | BadRecord]:
    order = [place for pair in zip(layout.x, layout.y, strict=True) for place in pair]
    take = itemgetter(*order)
    kept = [*layout.roles.values(), *layout.metadata.values()]
    for number, (line, row) in enumerate(rows, start=1):
        where = f"record {number}, line {line}"
        if len(row) != n_columns:
            yield BadRecord(where, f"it has {len(row)} columns, the table has {n_columns}.")
            continue
        cells = take(row)
        try:
            if decimal != "." or (has_underscores and "_" in "".join(cells)):
                raise ValueError
            values = np.fromiter(map(float, cells), dtype=np.float64, count=len(order))
            if np.isinf(values).any():
                raise ValueError
        except ValueError:
            try:
                values = np.array([parse_number(cell, decimal) for cell in cells])
            except ValueError as error:
                yield BadRecord(where, f"{error}, but a coordinate is expected.")
                continue
        yield _Shape(_as_points(values), {place: row[place] for place in kept}, where)


def _read_long(rows: Iterator[Row], layout: TableLayout, n_columns: int, decimal: str) -> Iterator[_Shape | BadRecord]:
    (x_place,), (y_place,) = layout.x, layout.y
    keys = [layout.roles[role] for role in ("id", "sequence", "frame") if role in layout.roles]
    kept = [*layout.roles.values(), *layout.metadata.values()]
    landmark = layout.roles.get("landmark")
    # Columns that change along a shape say something of its points, not of the shape.
    told, varying = set(layout.metadata.values()), set[int]()
    known: dict[str, str] = {}
    shapes: dict[tuple[str, ...], _Shape] = {}
    bad: dict[tuple[str, ...], BadRecord] = {}
    for line, row in rows:
        if len(row) != n_columns:
            key: tuple[str, ...] = tuple(row[place] for place in keys if place < len(row))
            reason = f"it has {len(row)} columns, the table has {n_columns}."
            bad.setdefault(key, BadRecord(f"shape {_name_key(key)}, line {line}", reason))
            continue
        key = tuple(row[place] for place in keys)
        try:
            x, y = parse_number(row[x_place], decimal), parse_number(row[y_place], decimal)
        except ValueError as error:
            reason = f"{error}, but a coordinate is expected."
            bad.setdefault(key, BadRecord(f"shape {_name_key(key)}, line {line}", reason))
            continue
        shape = shapes.get(key)
        if shape is None:
            cells = {place: row[place] for place in kept}
            shape = shapes[key] = _Shape(array("d"), cells, f"shape {_name_key(key)}, line {line}")
        elif told:
            varying |= {place for place in told - varying if row[place] != shape.cells[place]}
        shape.points.extend((x, y))
        if landmark is not None:
            name = row[landmark].strip()
            # The same few names come with every shape: one copy of each is enough.
            shape.landmarks.append(known.setdefault(name, name))
    for shape in shapes.values():
        shape.cells = {place: cell for place, cell in shape.cells.items() if place not in varying}
    yield from (fault for key, fault in bad.items() if key not in shapes)
    order = find_order([shape.landmarks for shape in shapes.values()])
    for key, shape in shapes.items():
        yield bad[key] if key in bad else _order_points(shape, order)


def _order_points(shape: _Shape, order: LandmarkOrder | None) -> _Shape | BadRecord:
    """Put the points of a long table at the places of their landmarks; one left out is a missing landmark."""
    points = _as_points(np.array(shape.points))
    if order is not None:
        places = np.array([order.places[name] for name in shape.landmarks])
        kept, first_rows = np.unique(places, return_index=True)
        if len(kept) < len(places):
            twice = shape.landmarks[min(set(range(len(places))) - set(first_rows.tolist()))]
            return BadRecord(shape.where, f"it has landmark {twice[:40]} twice; give an id to every shape.")
        n_points = int(places.max()) + 1 if order.n_points is None else order.n_points
        if n_points > 2 * len(places) + 100:
            last = max(shape.landmarks, key=order.places.__getitem__)
            what = f"run to {last}" if order.n_points is None else f"are {n_points} in the table"
            return BadRecord(shape.where, f"its landmarks {what}, but only {len(places)} are there.")
        ordered = np.full(n_points, complex(np.nan, np.nan))
        ordered[places] = points
        points = ordered
    return _Shape(points, shape.cells, shape.where)


def _as_points(values: Any) -> Any:
    pairs = np.ascontiguousarray(values, dtype=np.float64).reshape(-1, 2)
    is_gone = np.isnan(pairs).any(axis=1)
    if is_gone.any():
        pairs = pairs.copy()
        pairs[is_gone] = np.nan
    return pairs.view(np.complex128)[:, 0]


def _as_records(shapes: Sequence[_Shape | BadRecord], layout: TableLayout, path: Path) -> Iterator[Record | BadRecord]:
    good = [shape for shape in shapes if isinstance(shape, _Shape)]
    kept = set(good[0].cells) if good else set()
    columns = {
        name: _infer([shape.cells[place] for shape in good]) for name, place in layout.metadata.items() if place in kept
    }
    told = {role: [shape.cells[place] for shape in good] for role, place in layout.roles.items()}
    stem = path.name.split(".")[0] or path.name
    row = -1
    for number, shape in enumerate(shapes, start=1):
        if isinstance(shape, BadRecord):
            yield shape
            continue
        row += 1
        try:
            series, frame = (_as_whole(told[role][row]) if role in told else None for role in ("sequence", "frame"))
        except ValueError as error:
            yield BadRecord(shape.where, f"{error}, but sequence and frame are whole numbers.")
            continue
        yield Record(
            shape.points,
            id=told["id"][row] if "id" in told else stem if len(shapes) == 1 else f"{stem}-{number}",
            label=told["label"][row] if "label" in told else "",
            closed={"true": True, "false": False}.get(told["closed"][row].strip().lower())
            if "closed" in told
            else None,
            sequence=None if series == -1 else series,
            frame=frame,
            metadata={name: column[row] for name, column in columns.items()},
            where=shape.where,
        )


def _infer(cells: Sequence[str]) -> list[Any]:
    """Return cells as whole numbers, numbers or booleans where all of them are, else as text."""
    if all(cell in ("True", "False") for cell in cells):
        return [cell == "True" for cell in cells]
    try:
        # 007 and 1_0 are names, not numbers.
        if all(cell == str(int(cell)) and abs(int(cell)) < 1 << 62 for cell in cells):
            return [int(cell) for cell in cells]
    except ValueError:
        pass
    try:
        numbers = [parse_number(cell) for cell in cells]
        if not all(number != number for number in numbers):
            return numbers
    except ValueError:
        pass
    return list(cells)


def _as_whole(cell: str) -> int | None:
    if not cell.strip():
        return None
    number = float(cell)
    if number != int(number) or abs(number) > 1 << 53:
        raise ValueError(f"{cell[:40]!r} is no whole number")
    return int(number)


def _name_key(key: tuple[str, ...]) -> str:
    return "/".join(part[:40] for part in key) or "1"
