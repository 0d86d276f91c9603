"""TPS files (tpsDig, tpsUtil, geomorph): landmarks, curves and outlines, one record a specimen.

In comes a file; out go records, and back. A record starts at its ``LM=`` line and ends at the next, so damage in one
leaves the others readable, and one is held at a time. Coordinates are taken as they are: a negative one is a
coordinate, ``nan`` and ``NA`` are missing landmarks, and ``SCALE`` is applied only when asked for.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import check_choice, check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import MAX_BYTES, check_declared
from shapelex.io.numbers import format_number, parse_pairs
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.text_file import open_text
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks

_START = re.compile(r"^[ \t]*LM3?[ \t]*=", re.IGNORECASE | re.MULTILINE)
_LONGEST_KEY = 80
_LARGEST = 1 << 62
_CURVES = ("auto", "ignore", "append", "only")
# Keys whose value is text even where it looks like a number.
_TEXT_KEYS = ("image", "comment")


@dataclass
class _Parsed:
    """What a record says, as far as it has been read."""

    landmarks: ComplexArray
    curves: list[ComplexArray] = field(default_factory=list)
    outlines: list[ComplexArray] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    n_radii: int = 0

    @property
    def lines(self) -> list[ComplexArray]:
        return self.curves + self.outlines

    def takes_curves(self, curves: str) -> bool:
        return curves in ("append", "only") or (curves == "auto" and not len(self.landmarks))


def read_records(path: Path, curves: str = "auto", scale: bool = False) -> Iterator[Record | BadRecord | Remark]:
    """Yield the specimens of a file, and remarks on what was left out of them.

    `curves` says what becomes of the points of ``CURVES`` and ``OUTLINES``: ``"append"`` puts them after the landmarks,
    ``"only"`` takes them alone, ``"ignore"`` leaves them out, and ``"auto"`` takes the landmarks where there are some,
    and the curves where there are none. `scale` multiplies the coordinates by ``SCALE``.
    """
    check_choice(curves, _CURVES, "curves")
    check_flag(scale, "scale")
    texts = _record_texts(path)
    preamble, first = next(texts), next(texts, None)
    if first is None:
        raise ShapeFileError(f"{path} is no TPS file: no line starts with LM=.")
    _check_preamble(preamble, path)
    line_number = 1 + preamble.count("\n")
    n_records = n_curved = n_with_radii = 0
    for number, text in enumerate(chain([first], texts), start=1):
        lines = text.split("\n")
        where = f"record {number}, line {line_number}"
        try:
            parsed = _parse(lines, line_number)
            record = _as_record(parsed, path, number, where, curves, scale)
        except _BadLineError as error:
            yield BadRecord(f"record {number}, line {error.line_number}", error.reason)
        except ShapeFileError as error:
            yield BadRecord(where, str(error))
        else:
            n_records += 1
            n_curved += bool(parsed.lines) and not parsed.takes_curves(curves)
            n_with_radii += parsed.n_radii > 0
            yield record
        # The text before the next record ends with a line end, so its last piece is empty.
        line_number += len(lines) - 1
    if n_curved:
        yield Remark(
            f"{n_curved} of {n_records} records",
            "their curves or outlines were left out and their landmarks were read; the option curves=append puts the "
            "points of curves after the landmarks, curves=only takes them alone.",
        )
    if n_with_radii:
        yield Remark(f"{n_with_radii} of {n_records} records", "their RADII were left out.")


def write_set(shapes: ShapeSet, stream: BinaryIO) -> None:
    """Write a set: open landmarks as ``LM``, closed outlines as ``OUTLINES``; metadata become keys of their own."""
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"TPS files hold points, but the set is in {shapes.space!r}: write .npz, or the points of space.sample."
        )
    names = [("LABEL", shapes.labels), ("SEQUENCE", shapes.sequence)]
    names += [(_as_key(name), column) for name, column in shapes.metadata.items()]
    for row, (points, name) in enumerate(zip(shapes.configurations, shapes.ids, strict=True)):
        count = f"LM=0\nOUTLINES=1\nPOINTS={len(points)}\n" if shapes.closed else f"LM={len(points)}\n"
        lines = [f"{format_number(point.real)} {format_number(point.imag)}\n" for point in points]
        keys = [f"ID={_one_line(str(name))}\n"]
        keys += [f"{key}={_one_line(_as_text(column[row]))}\n" for key, column in names if column is not None]
        stream.write("".join([count, *lines, *keys]).encode())


class _BadLineError(Exception):
    """A line of a record that cannot be read."""

    def __init__(self, line_number: int, reason: str) -> None:
        super().__init__(reason)
        self.line_number = line_number
        self.reason = reason


def _record_texts(path: Path) -> Iterator[str]:
    """Yield the text above the first record, then that of each record; one record is held at a time."""
    parts: list[str] = []
    n_characters = 0
    for block in open_text(path).blocks():
        start = 0
        for match in _START.finditer(block):
            yield "".join([*parts, block[start : match.start()]])
            parts, n_characters = [], 0
            start = match.start()
        parts.append(block[start:])
        n_characters += len(parts[-1])
        if n_characters > MAX_BYTES:
            raise ShapeFileError(f"{path} has more than {MAX_BYTES} characters without a line LM=: refused.")
    yield "".join(parts)


def _check_preamble(text: str, path: Path) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith(("#", ";", "'", '"', "!")):
            raise ShapeFileError(f"{path}, line {number}: expected LM=, found {line[:40]!r}; it is no TPS file.")


def _parse(lines: list[str], first_number: int) -> _Parsed:
    key, value = _split_key(lines[0])
    if key == "LM3":
        raise _BadLineError(
            first_number, "LM3 holds landmarks in space, but shapes here are planar: project them first."
        )
    n_landmarks = _as_count(value, len(lines), "landmarks", first_number)
    parsed = _Parsed(_take_points(lines, 1, n_landmarks, first_number))
    place = 1 + n_landmarks
    target = parsed.curves
    declared: list[tuple[list[ComplexArray], int, int]] = []
    while place < len(lines):
        line = lines[place]
        number = first_number + place
        place += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, value = _split_key(line)
        if key in ("CURVES", "OUTLINES"):
            target = parsed.curves if key == "CURVES" else parsed.outlines
            declared.append((target, _as_count(value, len(lines) - place, key.lower(), number), number))
        elif key == "POINTS":
            n_points = _as_count(value, len(lines) - place, "points", number)
            target.append(_take_points(lines, place, n_points, first_number))
            place += n_points
        elif key == "RADII":
            # Radii of circles at landmarks: one number a line, of no use for shapes.
            parsed.n_radii = _as_count(value, len(lines) - place, "radii", number)
            place += parsed.n_radii
        elif key in ("POINTS3", "CURVES3"):
            raise _BadLineError(number, f"{key} holds points in space, but shapes here are planar: project them first.")
        elif not key:
            raise _BadLineError(number, f"expected a key such as IMAGE= or ID=, found {line.strip()[:40]!r}.")
        else:
            name = key.lower()
            parsed.keys[name] = f"{parsed.keys[name]}; {value}" if name in parsed.keys else value
    _check_lines(parsed, declared)
    return parsed


def _check_lines(parsed: _Parsed, declared: list[tuple[list[ComplexArray], int, int]]) -> None:
    """Refuse a record that has not the curves or outlines it declares: its points would be taken for other ones."""
    for lines, what in ((parsed.curves, "curves"), (parsed.outlines, "outlines")):
        told = [(count, number) for target, count, number in declared if target is lines]
        n_told = sum(count for count, _ in told)
        if told and n_told != len(lines):
            raise _BadLineError(told[0][1], f"{n_told} {what} are declared, {len(lines)} are there.")


def _split_key(line: str) -> tuple[str, str]:
    key, sign, value = line.partition("=")
    key = key.strip()
    return (key.upper(), value.strip()) if sign and key[:1].isalpha() and len(key) <= _LONGEST_KEY else ("", "")


def _as_count(value: str, n_possible: int, what: str, line_number: int) -> int:
    try:
        count = int(value)
        check_declared(count, n_possible, what)
    except ShapeFileError as error:
        raise _BadLineError(line_number, str(error)) from error
    except ValueError as error:
        raise _BadLineError(line_number, f"{value[:40]!r} is no number of {what}.") from error
    return count


def _take_points(lines: list[str], start: int, n_points: int, first_number: int) -> ComplexArray:
    taken = lines[start : start + n_points]
    if len(taken) < n_points:
        raise _BadLineError(first_number + len(lines) - 1, f"{n_points} points are declared, {len(taken)} are there.")
    points, bad = parse_pairs(taken)
    if points is None:
        line = taken[bad]
        what = "only " + str(bad) + " points" if "=" in line or not line.strip() else repr(line.strip()[:40])
        raise _BadLineError(
            first_number + start + bad, f"expected x and y of point {bad + 1} of {n_points}, found {what}."
        )
    return points


def _as_record(parsed: _Parsed, path: Path, number: int, where: str, curves: str, scale: bool) -> Record:
    takes_curves = parsed.takes_curves(curves)
    takes_landmarks = curves != "only" and len(parsed.landmarks) > 0
    parts = ([parsed.landmarks] if takes_landmarks else []) + (parsed.lines if takes_curves else [])
    points = np.concatenate(parts) if parts else np.zeros(0, dtype=np.complex128)
    if not len(points):
        what = "points of curves" if curves == "only" else "landmarks"
        raise ShapeFileError(f"it holds no {what}.")
    # An outline of tpsDig is closed; landmarks are points in no order.
    is_outline = len(parts) == 1 and not takes_landmarks and len(parsed.outlines) == 1
    keys = dict(parsed.keys)
    told = keys.pop("scale", "")
    # As in coordinates, a comma may be the decimal mark.
    factor = _as_number(told.replace(",", ".") if told.count(",") == 1 else told)
    if scale:
        if factor is None or not (np.isfinite(factor) and factor > 0):
            found = f"has {told[:40]!r}" if told else "has none"
            raise ShapeFileError(f"scale=True needs a positive SCALE in every record, but this one {found}.")
        points = points * factor
    name = keys.pop("id", "") or Path(keys.get("image", "")).stem or f"{path.stem}-{number}"
    label, series = keys.pop("label", ""), _as_number(keys.get("sequence", ""))
    if isinstance(series, int):
        del keys["sequence"]
    metadata: dict[str, Any] = {} if factor is None else {"scale": float(factor)}
    for key, value in keys.items():
        metadata[key] = value if key in _TEXT_KEYS else _as_value(value)
    if parsed.lines and not takes_curves:
        metadata["ignored_curve_points"] = sum(map(len, parsed.lines))
    frame = metadata.pop("frame") if isinstance(metadata.get("frame"), int) else None
    return Record(
        points,
        id=name,
        label=label,
        closed=True if is_outline else None,
        sequence=series if isinstance(series, int) else None,
        frame=frame,
        metadata=metadata,
        where=where,
    )


def _as_number(text: str) -> int | float | None:
    try:
        number = int(text)
        return number if abs(number) < _LARGEST else None
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _as_value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    number = _as_number(text) if text.strip() == text and "_" not in text and len(text) < 40 else None
    return text if number is None else number


def _as_text(value: Any) -> str:
    write: Callable[[Any], str] = format_number if isinstance(value, float | np.floating) else str
    return write(value)


def _as_key(name: str) -> str:
    """Return a column's name as a key: letters, digits and underscores, starting with a letter."""
    key = re.sub(r"\W", "_", name, flags=re.ASCII).upper()
    is_taken = key in ("LM", "LM3", "CURVES", "OUTLINES", "POINTS", "RADII", "ID", "LABEL", "SEQUENCE")
    return f"X_{key}" if is_taken or not key[:1].isalpha() else key


def _one_line(text: str) -> str:
    """Return text that stays on its line; the format has no way to say a line end."""
    return " ".join(text.split()) if re.search(r"[\r\n\0\x0b\x0c\x85]|^\s|\s$", text) else text
