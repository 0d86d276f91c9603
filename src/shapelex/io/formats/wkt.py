"""Well-known text (WKT): a file with one geometry a line comes in, one record for each goes out.

Before a geometry may stand a name or the number of a frame, and a semicolon: ``12; POLYGON ((0 0, 4 0, 4 3, 0 0))``. A
file with numbers of frames is one track. What is read of holes and parts is as in :mod:`shapelex.io.formats.geojson`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._messages import format_option
from shapelex._validation import check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.files.numbers import parse_number
from shapelex.files.text_file import open_text
from shapelex.io.formats.regions import GEOMETRIES, read_geometry, read_regions
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.series import check_max_gap, number_sequences

_KINDS = {name.upper(): name for name in GEOMETRIES}
_EXAMPLE = "a geometry such as POLYGON ((0 0, 4 0, 4 3, 0 0))"
_GEOMETRY = re.compile(r"(?:([^()]*);)?\s*([A-Z]+?)(?:\s*(ZM|Z|M))?\s*(\(.*|EMPTY)\s*", re.IGNORECASE | re.DOTALL)
# As deep as a multi-part polygon is.
_MAX_DEPTH = 3


@dataclass(frozen=True)
class _Geometry:
    """A geometry as the file has it; where it cannot be read, the reason."""

    line: int
    fault: str = ""
    name: str = ""
    frame: int | None = None
    kind: str = ""
    body: str = ""
    n_coordinates: int = 2
    sequence: int | None = None


def read_records(
    path: Path, *, y_down: bool = False, only: str | None = None, tracked: bool = True, max_gap: int | None = None
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each geometry; those of a track in order of their frames.

    Parameters
    ----------
    path : Path
        File to read.
    y_down : bool, default: False
        Whether y points down in the file, as in images; it is then negated. WKT does not say.
    only : {"outlines", "lines", "points"}, optional
        Read these alone, from a file that has several kinds.
    tracked : bool, default: True
        Whether geometries with numbers of frames are one track; else they belong to no sequence.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps the track in one sequence.
    """
    check_flag(tracked, format_option("tracked"))
    check_max_gap(max_gap)
    track: dict[int, _Geometry] = {}
    others: list[_Geometry] = []
    for one in _geometries(path):
        if one.frame is None or not tracked:
            others.append(one)
        elif (first := track.setdefault(one.frame, one)) is not one:
            reason = f"frame {one.frame} is also in line {first.line}, so the file is not one track"
            others.append(replace(one, fault=f"{reason}: {format_option('tracked', False)} reads all"))
    if not track and all(one.fault for one in others):
        raise ShapeFileError(f"{path} is no WKT file: no line holds {_EXAMPLE}.")
    frames = np.array(sorted(track), dtype=np.int64)
    sequences = number_sequences(np.zeros(len(frames), dtype=np.int64), frames, max_gap).tolist()
    in_order = [replace(track[frame], sequence=n) for frame, n in zip(frames.tolist(), sequences, strict=True)]

    def read_line(one: _Geometry, where: str, found: Counter[str]) -> Record | None:
        if one.fault:
            raise ValueError(one.fault)
        coordinates = [] if one.body.upper() == "EMPTY" else _nested(one.body, one.n_coordinates)
        if one.kind == "MultiPoint":
            # Both ((0 0), (1 1)) and (0 0, 1 1) are in use.
            coordinates = [point[0] if len(point) == 1 else point for point in coordinates]
        read = read_geometry(one.kind, coordinates, y_down, found)
        if read is None:
            return None
        found["more"] |= one.n_coordinates > 2
        name = one.name or f"{path.name.split('.')[0]}:{one.line if one.frame is None else one.frame}"
        return Record(id=name, sequence=one.sequence, frame=one.frame, where=where, **read)

    items = ((f"line {one.line}", one) for one in [*in_order, *others])
    yield from read_regions(items, read_line, "geometries", only)
    if not y_down:
        yield Remark("all geometries", "y was taken to point up, as on maps; the option y_down=True is for pixels.")


def _geometries(path: Path) -> Iterator[_Geometry]:
    """Yield the geometries of a file; one may go on over several lines until its parentheses are closed."""
    held: list[str] = []
    first = n_open = 0
    # One more geometry ends the last one.
    for number, line in chain(open_text(path).lines(), [(0, "POINT EMPTY")]):
        if held and (n_open <= 0 or _GEOMETRY.fullmatch(line.strip())):
            text = "\n".join(held).strip()
            match = _GEOMETRY.fullmatch(text)
            names = [name.strip() for name in (match[1] or "").split(";")] if match else []
            # The reference system of a map, as PostGIS writes it, is no name.
            names = [name for name in names if name and not name.upper().startswith("SRID=")]
            if match is None or match[2].upper() not in _KINDS:
                yield _Geometry(first, f"expected {_EXAMPLE}, found {text[:40]!r}")
            elif len(names) > 1:
                yield _Geometry(first, f"expected one name or frame before the geometry, found {len(names)}")
            else:
                name, frame = "".join(names), None
                if re.fullmatch(r"\d{1,15}", name):
                    name, frame = "", int(name)
                yield _Geometry(first, "", name, frame, _KINDS[match[2].upper()], match[4], 2 + len(match[3] or ""))
            held, n_open = [], 0
        if held or (line.strip() and not line.lstrip().startswith("#")):
            first = first if held else number
            held.append(line)
            n_open += line.count("(") - line.count(")")


def _nested(body: str, n_coordinates: int) -> list[Any]:
    """Return lists in the place of parentheses, with positions ``[x, y]``; z and m are dropped."""

    def position(match: re.Match[str]) -> str:
        words = match[0].split()
        if not words:
            return ""
        if len(words) != n_coordinates:
            raise ValueError(f"expected {n_coordinates} numbers a position, found {match[0].strip()[:40]!r}")
        numbers = [parse_number(word) for word in words[:2]]
        if np.isnan(numbers).any():
            raise ValueError(f"the position {match[0].strip()[:40]!r} lacks a coordinate")
        return f"[{numbers[0]!r},{numbers[1]!r}]"

    if re.match(rf"(?:\s*\(){{{_MAX_DEPTH + 1}}}", body):
        raise ValueError(f"its parentheses are more than {_MAX_DEPTH} deep")
    text = re.sub(r"[^(),]+", position, body).replace("(", "[").replace(")", "]")
    try:
        found: list[Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("its parentheses and commas do not match") from error
    return found
