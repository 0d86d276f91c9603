"""TPS files (tpsDig, tpsUtil, geomorph): landmarks, curves and outlines, one record a specimen.

A record starts at its ``LM=`` line and ends at the next, so damage in one leaves the others readable, and one is held
at a time. A negative coordinate is a coordinate, ``nan`` and ``NA`` are missing landmarks. Where every record has a
``SCALE``, coordinates are multiplied by it. A value in double quotes that would else be a number is text.
"""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shapelex._messages import format_option
from shapelex._typing import ComplexArray
from shapelex._validation import check_choice
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import MAX_BYTES
from shapelex.files.numbers import DECIMAL_POINT, format_number, parse_pairs
from shapelex.files.text_file import open_text
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks

_START = re.compile(r"^[ \t]*LM3?[ \t]*=", re.IGNORECASE | re.MULTILINE)
_SCALE = re.compile(r"^[ \t]*SCALE[ \t]*=(.*)", re.IGNORECASE | re.MULTILINE)
_LONGEST_KEY = 80
_CURVES = ("auto", "ignore", "append", "only")
_SCALES = ("auto", "ignore", "drop")
# Keys that are followed by as many lines or parts as their value says, and what these are.
_COUNTED = {"LM": "landmarks", "CURVES": "curves", "OUTLINES": "outlines", "POINTS": "points", "RADII": "radii"}
_SPATIAL = ("LM3", "POINTS3", "CURVES3")
# Keys whose value is text even where it looks like a number.
_TEXT_KEYS = ("id", "label", "image", "comment")
# Keys of which a specimen has one value; the lines of others are joined.
_SINGLE_KEYS = ("id", "image", "scale")
_WHOLE = re.compile(r"[-+]?[0-9]{1,12}")
_REMARKS = {
    "curves": "their curves or outlines were left out and their landmarks were read; the option curves=append puts the "
    "points of curves after the landmarks, curves=only takes them alone.",
    "radii": "their RADII were left out.",
    "dropped": "left out, since they have no positive SCALE.",
    "applied": "their coordinates were multiplied by SCALE, so that lengths are in its unit; the option scale=ignore "
    "keeps the coordinates of the file.",
    "ignored": "their SCALE was not applied, so that coordinates and sizes are those of the file.",
}


def read_records(path: Path, curves: str = "auto", scale: str = "auto") -> Iterator[Record | BadRecord | Remark]:
    """Yield the specimens of a file, and remarks on what was left out of them.

    `curves` says what becomes of the points of ``CURVES`` and ``OUTLINES``: ``"append"`` puts them after the landmarks,
    ``"only"`` takes them alone, ``"ignore"`` leaves them out, and ``"auto"`` takes the landmarks where there are some,
    and the curves where there are none. `scale` says what becomes of ``SCALE``: ``"auto"`` multiplies the coordinates
    by it where every record has one, and refuses a file where only some have, ``"drop"`` leaves out the others, and
    ``"ignore"`` keeps the coordinates as they are.
    """
    check_choice(curves, _CURVES, format_option("curves"))
    check_choice(scale, _SCALES, format_option("scale"))
    has_scale = [] if scale == "ignore" else [_is_scaled(text, curves) for _, text in _records(path)]
    if scale == "auto" and True in has_scale and False in has_scale:
        raise ShapeFileError(
            f"{path}: only {has_scale.count(True)} of its {len(has_scale)} records have a positive SCALE, the first "
            f"without is record {has_scale.index(False) + 1}, so that lengths would be in different units. Add it, "
            f"or say {format_option('scale', 'drop')} to leave out such records, or "
            f"{format_option('scale', 'ignore')} to keep the coordinates of all as they are."
        )
    if scale == "drop" and True not in has_scale:
        raise ShapeFileError(f"{path} has no record with a positive SCALE.")
    left_out: Counter[str] = Counter()
    n_records, number = 0, 0
    for number, (line_number, text) in enumerate(_records(path), start=1):
        is_scaled = has_scale[number - 1] if has_scale else False
        if scale == "drop" and is_scaled is False:
            left_out["dropped"] += 1
            n_records += 1
            continue
        try:
            record = _read_record(text.split("\n"), f"{path.stem}-{number}", curves, bool(is_scaled), left_out)
        except _BadLineError as error:
            yield BadRecord(f"record {number}, line {line_number + error.args[0]}", error.args[1])
        else:
            n_records += 1
            yield Record(**record, where=f"record {number}, line {line_number}")
    for what, said in _REMARKS.items():
        if left_out[what]:
            yield Remark(f"{left_out[what]} of {n_records} records", said)


def _records(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number of the first line and the text of each record."""
    number, line_number = 0, 1
    held: list[str] = []
    # The start of one more record ends the last one.
    for block in chain(open_text(path).blocks(), ["LM="]):
        start = 0
        for match in _START.finditer(block):
            text = "".join([*held, block[start : match.start()]])
            held, start = [], match.start()
            if number:
                yield line_number, text
            elif odd := [n for n, line in enumerate(text.split("\n")) if not re.match(r"\s*([#;'\"!]|$)", line)]:
                found = f"line {odd[0] + 1} is {text.split(chr(10))[odd[0]][:40]!r}"
                raise ShapeFileError(f"{path} is no TPS file: expected LM= first, but {found}.")
            number += 1
            line_number += text.count("\n")
        held.append(block[start:])
        if sum(map(len, held)) > MAX_BYTES:
            raise ShapeFileError(f"{path} has more than {MAX_BYTES} characters without a line LM=: refused.")
    if number == 1:
        raise ShapeFileError(f"{path} is no TPS file: no line starts with LM=.")


def _is_scaled(text: str, curves: str) -> bool | None:
    """Tell whether a record has a scale; None for one that has none and cannot be read anyway."""
    found = _SCALE.search(text)
    if found is not None and _scale_in(found[1].strip()) is not None:
        return True
    try:
        _read_record(text.split("\n"), "", curves, False, Counter())
    except _BadLineError:
        return None
    return False


def _scale_in(text: str) -> float | None:
    """Return the positive number that a text is, of which the decimal mark may be a comma, or None."""
    value = _as_value(text.replace(",", ".") if text.count(",") == 1 else text)
    return float(value) if type(value) in (int, float) and 0 < value < np.inf else None


class _BadLineError(Exception):
    """A line of a record that cannot be read: its place, and the reason."""


def _read_record(
    lines: list[str], made_up_id: str, curves: str, is_scaled: bool, left_out: Counter[str]
) -> dict[str, Any]:
    """Return what a record says as arguments of Record; count what is left out of it."""
    found: dict[str, list[ComplexArray]] = {"LM": [], "CURVES": [], "OUTLINES": []}
    declared: dict[str, tuple[int, int]] = {}
    told: dict[str, str] = {}
    place, scale_line, target, has_radii = 0, 0, "CURVES", False
    while place < len(lines):
        here, line = place, lines[place]
        place += 1
        key, sign, value = line.partition("=")
        key, value, room = key.strip().upper(), value.strip(), len(lines) - place
        if not (key or sign) or key.startswith("#"):
            continue
        # An LM that does not start a record has a blank of an unusual kind before it.
        if not sign or not key[:1].isalpha() or len(key) > _LONGEST_KEY or (here and key == "LM"):
            raise _BadLineError(here, f"expected a key such as IMAGE= or ID=, found {line.strip()[:40]!r}.")
        if key in _SPATIAL:
            raise _BadLineError(here, f"{key} holds points in space, but shapes here are planar: project them first.")
        if key not in _COUNTED:
            key = key.lower()
            if key in _SINGLE_KEYS and key in told:
                if told[key] != value:
                    raise _BadLineError(here, f"it has a second line {key.upper()}=, with another value: remove one.")
                continue
            told[key] = f"{told[key]}; {value}" if key in told else value
            scale_line = here if key == "scale" else scale_line
            continue
        if not _WHOLE.fullmatch(value):
            raise _BadLineError(here, f"{value[:40]!r} is no number of {_COUNTED[key]}.")
        count = int(value)
        if key in ("CURVES", "OUTLINES"):
            target = key
            n_before, first = declared.get(key, (0, here))
            declared[key] = (n_before + count, first)
            continue
        if not 0 <= count <= room:
            what = f"{value[:40]} {_COUNTED[key]}"
            raise _BadLineError(here, f"{what} are declared, but there is room for at most {room}.")
        if key == "RADII":
            # Radii of circles at landmarks: one number a line, of no use for shapes.
            has_radii |= count > 0
        else:
            taken = lines[place : place + count]
            points, bad = parse_pairs(taken)
            for mark, other in ((".", ","), (",", ".")) if points is not None else ():
                is_marked = DECIMAL_POINT.search if mark == "." else re.compile(",").search
                marked = next((number for number, text in enumerate(taken) if is_marked(text)), None)
                if marked is None:
                    continue
                # Either may be the decimal mark, and the other may part thousands.
                if left_out[other]:
                    why = f"expected decimals with {other!r}, as in the records before, found {taken[marked][:40]!r}."
                    raise _BadLineError(place + marked, why)
                left_out[mark] += 1
            if points is None:
                text = taken[bad].strip()
                what = repr(text[:40]) if text and "=" not in text else f"only {bad} points"
                raise _BadLineError(place + bad, f"expected x and y of point {bad + 1} of {count}, found {what}.")
            found["LM" if key == "LM" else target].append(points)
        place += count
    for key, (count, here) in declared.items():
        # The points of others would be taken for those that are not there.
        if count != len(found[key]):
            raise _BadLineError(here, f"{count} {_COUNTED[key]} are declared, {len(found[key])} are there.")
    (landmarks,), drawn = found["LM"], found["CURVES"] + found["OUTLINES"]
    takes_curves = curves in ("append", "only") or (curves == "auto" and not len(landmarks))
    takes_landmarks = curves != "only" and len(landmarks) > 0
    parts = [landmarks] * takes_landmarks + drawn * takes_curves
    points = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros(0, dtype=np.complex128)])
    if not len(points):
        raise _BadLineError(0, f"it holds no {'points of curves' if curves == 'only' else 'landmarks'}.")
    # As in coordinates, a comma may be the decimal mark of the scale.
    scale_text = told.pop("scale", "")
    for mark, other in ((".", ","), (",", ".")):
        may_be_thousands = re.fullmatch(rf"[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}", scale_text, re.ASCII)
        if may_be_thousands and left_out[other] and not left_out[mark]:
            why = f"expected a SCALE with {other!r}, as coordinates are written, found {scale_text!r}."
            raise _BadLineError(scale_line, why)
    factor = _scale_in(scale_text)
    metadata: dict[str, Any] = {key: value if key in _TEXT_KEYS else _as_value(value) for key, value in told.items()}
    if factor is not None:
        # Once applied, it is no longer the scale of these coordinates: a file written from them would apply it again.
        points = points * factor if is_scaled else points
        metadata["applied_scale" if is_scaled else "scale"] = factor
        left_out["applied" if is_scaled else "ignored"] += 1
    if drawn and not takes_curves:
        metadata["ignored_curve_points"] = sum(map(len, drawn))
        left_out["curves"] += 1
    left_out["radii"] += has_radii
    name, label = metadata.pop("id", ""), metadata.pop("label", "")
    series = {key: metadata.pop(key) for key in ("sequence", "frame") if type(metadata.get(key)) is int}
    # An outline of tpsDig is closed; landmarks are points in no order.
    closed = True if len(parts) == len(found["OUTLINES"]) == 1 and not takes_landmarks else None
    name = name or Path(metadata.get("image", "")).stem or made_up_id
    return {"points": points, "id": name, "label": label, "closed": closed, "metadata": metadata, **series}


def _as_value(text: str) -> Any:
    """Return the number or truth value that a text stands for, else the text; text in quotes is no number."""
    core = text.strip('"')
    value: Any = {"True": True, "False": False}.get(core)
    # Zeros before a number make it a name, and more digits than an integer of 64 bits has would be rounded.
    if (
        value is None
        and "_" not in core
        and core.isascii()
        and len(core) < 40
        and not re.match(r"[+-]?(0\d|\d{19})", core)
    ):
        with suppress(ValueError):
            value = int(core) if core.lstrip("+-").isdecimal() else float(core)
    if value is None or (core != text and not text[0] == text[-1] == '"'):
        return text
    return value if core == text else text[1:-1]


def write_set(shapes: ShapeSet, stream: BinaryIO) -> None:
    """Write a set: open landmarks as ``LM``, closed outlines as ``OUTLINES``; metadata become keys of their own."""
    if not isinstance(shapes.space, Landmarks):
        raise ShapeFileError(
            f"TPS files hold points, but the set is in {shapes.space!r}: write .npz, or the points of space.sample."
        )
    named = (("ID", shapes.ids), ("LABEL", shapes.labels), ("SEQUENCE", shapes.sequence))
    columns: dict[str, Any] = {key: column for key, column in named if column is not None}
    for name, column in shapes.metadata.items():
        # A key is letters, digits and underscores, and starts with a letter.
        key = re.sub(r"\W", "_", name, flags=re.ASCII).upper()
        is_taken = key in (*_COUNTED, *_SPATIAL, "ID", "LABEL", "SEQUENCE") or not key[:1].isalpha()
        key = f"{'X_' * is_taken}{key}"[:_LONGEST_KEY]
        if key in columns:
            raise ShapeFileError(f"Two metadata columns would be the key {key} of a TPS file: rename {name!r}.")
        columns[key] = column
    for row, points in enumerate(shapes.configurations):
        count = f"LM=0\nOUTLINES=1\nPOINTS={len(points)}" if shapes.closed else f"LM={len(points)}"
        lines = [count, *(f"{format_number(point.real)} {format_number(point.imag)}" for point in points)]
        for key, column in columns.items():
            # The format has no way to say a line end, or blanks around a value.
            text = " ".join(re.split(r"\s*[\r\n\0\x0b\x0c\x85]\s*", str(column[row]))).strip()
            is_name = not isinstance(column[row], str) or key.lower() in _TEXT_KEYS or _as_value(text) == text
            lines.append(f"{key}={text}" if is_name else f'{key}="{text}"')
        stream.write("".join(f"{line}\n" for line in lines).encode())
