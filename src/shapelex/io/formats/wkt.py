"""Well-known text (WKT): a file with one geometry a line comes in, one record for each goes out.

Before a geometry may stand a name or the number of a frame, and a semicolon: ``12; POLYGON ((0 0, 4 0, 4 3, 0 0))``. A
file with numbers of frames is one track. What is read of holes and parts is as in :mod:`shapelex.io.formats.geojson`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from shapelex._validation import check_flag
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.geojson import GEOMETRIES, geometry_points
from shapelex.io.formats.region_kinds import select_kind
from shapelex.io.formats.rings import to_complex
from shapelex.io.formats.time_series import check_max_gap, number_sequences
from shapelex.io.numbers import parse_number
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.io.text_file import open_text

_KINDS = {name.upper(): name for name in GEOMETRIES}
_GEOMETRY = re.compile(r"(?:([^()]*);)?\s*([A-Z]+?)\s*(ZM|Z|M)?\s*(\(.*|EMPTY)\s*", re.IGNORECASE | re.DOTALL)
_FRAME = re.compile(r"\d{1,15}")
# As deep as a multi-part polygon is.
_MAX_DEPTH = 3


@dataclass(frozen=True)
class _Geometry:
    """A geometry as the file has it."""

    line: int
    name: str
    kind: str
    body: str
    n_coordinates: int

    @property
    def where(self) -> str:
        return f"line {self.line}"

    @property
    def frame(self) -> int | None:
        return int(self.name) if _FRAME.fullmatch(self.name) else None


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
    yield from select_kind(_all_records(path, y_down, tracked, max_gap), only, "geometries")
    if not y_down:
        yield Remark("all geometries", "y was taken to point up, as on maps; the option y_down=True is for pixels.")


def _all_records(path: Path, y_down: bool, tracked: bool, max_gap: int | None) -> Iterator[Record | BadRecord]:
    found = list(_geometries(path))
    if not any(isinstance(one, _Geometry) for one in found):
        raise ShapeFileError(f"{path} is no WKT file: no line holds a geometry such as POLYGON ((0 0, 4 0, 4 3, 0 0)).")
    track: dict[int, _Geometry] = {}
    others: list[_Geometry] = []
    for one in found:
        if isinstance(one, BadRecord):
            yield one
        elif not tracked or one.frame is None:
            others.append(one)
        elif track.setdefault(one.frame, one) is not one:
            first = track[one.frame].where
            reason = f"frame {one.frame} is also in {first}, so the file is not one track: tracked=False reads all."
            yield BadRecord(one.where, reason)
    frames = np.array(sorted(track), dtype=np.int64)
    sequences = number_sequences(np.zeros(len(frames), dtype=np.int64), frames, max_gap).tolist()
    in_order = [(track[frame], sequence) for frame, sequence in zip(frames.tolist(), sequences, strict=True)]
    for geometry, sequence in chain(in_order, ((one, None) for one in others)):
        try:
            yield _record_of(geometry, path.name.split(".")[0], sequence, y_down)
        except ValueError as error:
            yield BadRecord(geometry.where, f"{error}.")


def _geometries(path: Path) -> Iterator[_Geometry | BadRecord]:
    """Yield the geometries of a file; one may go on over several lines until its parentheses are closed."""
    lines = chain.from_iterable(block.removesuffix("\n").split("\n") for block in open_text(path).blocks())
    held: list[str] = []
    first = n_open = 0
    for number, line in enumerate(lines, start=1):
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


def _split(text: str, line: int) -> _Geometry | BadRecord:
    match = _GEOMETRY.fullmatch(text.strip())
    if match is None or match[2].upper() not in _KINDS:
        reason = f"expected a geometry such as POLYGON ((0 0, 4 0, 4 3, 0 0)), found {text.strip()[:40]!r}."
        return BadRecord(f"line {line}", reason)
    names = [name.strip() for name in (match[1] or "").split(";")]
    # The reference system of a map, as PostGIS writes it.
    names = [name for name in names if name and not name.upper().startswith("SRID=")]
    if len(names) > 1:
        return BadRecord(f"line {line}", f"expected one name or frame before the geometry, found {len(names)}.")
    n_coordinates = 2 + len(match[3] or "")
    return _Geometry(line, "".join(names), _KINDS[match[2].upper()], match[4], n_coordinates)


def _record_of(geometry: _Geometry, stem: str, sequence: int | None, y_down: bool) -> Record:
    if geometry.body.upper() == "EMPTY":
        raise ValueError("the geometry is empty")
    coordinates = _nested(geometry.body, geometry.n_coordinates)
    if geometry.kind == "MultiPoint":
        # Both ((0 0), (1 1)) and (0 0, 1 1) are in use.
        coordinates = [point[0] if isinstance(point[0], list) else point for point in coordinates if point]
    points, closed, found = geometry_points({"type": geometry.kind, "coordinates": coordinates})
    frame = geometry.frame
    return Record(
        points=to_complex(points, closed=bool(closed), y_down=y_down),
        id=geometry.name if geometry.name and frame is None else f"{stem}:{geometry.line if frame is None else frame}",
        closed=closed,
        sequence=sequence,
        frame=frame,
        metadata={"geometry": geometry.kind, **found},
        where=geometry.where,
    )


def _nested(body: str, n_coordinates: int) -> list[list[object]]:
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
        found: list[list[object]] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("its parentheses and commas do not match") from error
    return found
