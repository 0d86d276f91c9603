"""Well-known text (WKT): a file with one geometry a line comes in, one record for each goes out.

Before a geometry may stand a name or the number of a frame, and a semicolon: ``12; POLYGON ((0 0, 4 0, 4 3, 0 0))``. A
file with numbers of frames is one track. What is read of holes and parts is as in :mod:`shapelex.io.formats.geojson`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._validation import check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.regions import GEOMETRIES, read_geometry, read_regions
from shapelex.io.formats.time_series import check_max_gap, number_sequences
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.text_file import open_text

_KINDS = {name.upper(): name for name in GEOMETRIES}
_EXAMPLE = "a geometry such as POLYGON ((0 0, 4 0, 4 3, 0 0))"
_GEOMETRY = re.compile(r"(?:([^()]*);)?\s*([A-Z]+?)\s*(ZM|Z|M)?\s*(\(.*|EMPTY)\s*", re.IGNORECASE | re.DOTALL)
_FRAME = re.compile(r"\d{1,15}")
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
    check_flag(tracked, "tracked")
    check_max_gap(max_gap)
    track: dict[int, _Geometry] = {}
    others: list[_Geometry] = []
    for one in _geometries(path):
        first = one if one.frame is None or not tracked else track.setdefault(one.frame, one)
        if first is not one:
            reason = (
                f"frame {one.frame} is also in line {first.line}, so the file is not one track: tracked=False reads all"
            )
            others.append(replace(one, fault=reason))
        elif one.frame is None or not tracked:
            others.append(one)
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
        made_up = f"{path.name.split('.')[0]}:{one.line if one.frame is None else one.frame}"
        name = one.name if one.frame is None and one.name else made_up
        return Record(id=name, sequence=one.sequence, frame=one.frame, where=where, **read)

    items = ((f"line {one.line}", one) for one in [*in_order, *others])
    yield from read_regions(items, read_line, "geometries", only)
    if not y_down:
        yield Remark("all geometries", "y was taken to point up, as on maps; the option y_down=True is for pixels.")


def _geometries(path: Path) -> Iterator[_Geometry]:
    """Yield the geometries of a file; one may go on over several lines until its parentheses are closed."""
    held: list[str] = []
    first = n_open = 0
    for number, line in open_text(path).lines():
        starts = _GEOMETRY.fullmatch(line.strip()) is not None
        if held and (starts or n_open <= 0):
            yield _split("\n".join(held), first)
            held, n_open = [], 0
        if held or (line.strip() and not line.lstrip().startswith("#")):
            first = first if held else number
            held.append(line)
            n_open += line.count("(") - line.count(")")
    if held:
        yield _split("\n".join(held), first)


def _split(text: str, line: int) -> _Geometry:
    match = _GEOMETRY.fullmatch(text.strip())
    if match is None or match[2].upper() not in _KINDS:
        return _Geometry(line, f"expected {_EXAMPLE}, found {text.strip()[:40]!r}")
    names = [name.strip() for name in (match[1] or "").split(";")]
    # The reference system of a map, as PostGIS writes it.
    names = [name for name in names if name and not name.upper().startswith("SRID=")]
    if len(names) > 1:
        return _Geometry(line, f"expected one name or frame before the geometry, found {len(names)}")
    name = "".join(names)
    frame = int(name) if _FRAME.fullmatch(name) else None
    return _Geometry(line, "", name, frame, _KINDS[match[2].upper()], match[4], 2 + len(match[3] or ""))


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
