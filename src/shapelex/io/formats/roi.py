"""ImageJ regions of interest: a ``.roi`` file, or a zip of them, comes in; one record for each region goes out.

Polygons, freehand and traced regions are closed outlines; lines, segmented and freehand lines and angles are open;
points are landmarks. A rectangle becomes its four corners, an oval a polygon of 100 points. Of a composite region
the largest part is read, noted in the metadata as ``n_parts``. Text and images that lie over a picture are no
shapes. ImageJ counts y downwards.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from shapelex._extras import load_library
from shapelex._typing import FloatArray
from shapelex.files.guards import read_members
from shapelex.io.formats.regions import largest, read_regions, to_complex
from shapelex.io.records import BadRecord, Record, Remark

_OVAL_POINTS = 100
_CLOSED = frozenset({"POLYGON", "RECT", "OVAL", "FREEHAND", "TRACED"})
_OPEN = frozenset({"LINE", "FREELINE", "POLYLINE", "ANGLE"})


def read_records(path: Path, *, y_down: bool = True, only: str | None = None) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each region, and a remark where they are of several kinds.

    Parameters
    ----------
    path : Path
        A ``.roi`` file, or a zip archive that holds some.
    y_down : bool, default: True
        Whether y points down in the file, as ImageJ has it; it is then negated.
    only : {"outlines", "lines", "points"}, optional
        Read these alone, from a file that has several kinds.
    """
    roifile = load_library("roifile", "roifile", "Reading ImageJ regions")

    def read_region(member: tuple[str, bytes], where: str, _: Counter[str]) -> Record:
        name, content = member
        try:
            region = roifile.ImagejRoi.frombytes(content)
            kind, subtype = region.roitype.name, region.subtype.name
            parts = _parts(region, kind)
        except Exception as error:  # roifile raises nearly anything on damaged bytes
            raise ValueError(f"its bytes are damaged or are not an ImageJ region ({error})") from error
        if subtype in ("TEXT", "IMAGE"):
            raise ValueError(
                f"it is {'a text' if subtype == 'TEXT' else 'an image'} that lies over the picture, no shape"
            )
        if kind not in _CLOSED | _OPEN | {"POINT"}:
            raise ValueError(f"regions of type {kind.lower()} have no outline")
        closed = True if kind in _CLOSED else False if kind in _OPEN else None
        points = parts[largest(parts, closed=True)]
        metadata: dict[str, Any] = {"type": "composite" if region.composite else kind.lower(), "n_parts": len(parts)}
        if subtype not in ("UNDEFINED", "UNKNOWN"):
            metadata["subtype"] = subtype.lower()
        places = {"position": region.position, "c": region.c_position, "z": region.z_position, "t": region.t_position}
        metadata.update({name: int(place) for name, place in {**places, "group": region.group}.items() if place > 0})
        return Record(
            to_complex(points, closed=bool(closed), y_down=y_down),
            id=region.name or PurePosixPath(name).stem,
            closed=closed,
            metadata=metadata,
            where=where,
        )

    members = ((f"region {member[0]!r}", member) for member in read_members(path, ".roi"))
    yield from read_regions(members, read_region, "regions", only)


def _parts(region: Any, kind: str) -> list[FloatArray]:
    """Return the region's rings or paths ``(n, 2)``."""
    if region.composite or kind not in ("RECT", "OVAL"):
        parts = [np.asarray(part, dtype=float).reshape(-1, 2) for part in region.coordinates(multi=True)]
        if not parts:
            raise ValueError("it has no points")
        return parts
    left, top, width, height = region.left, region.top, region.right - region.left, region.bottom - region.top
    if region.subpixelrect:
        left, top, width, height = region.xd, region.yd, region.widthd, region.heightd
    if not (width > 0 and height > 0):
        raise ValueError(f"its box of {width} x {height} is empty")
    if kind == "RECT":
        unit = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    else:
        angles = 2 * np.pi * np.arange(_OVAL_POINTS) / _OVAL_POINTS
        unit = 0.5 + 0.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return [np.array([left, top]) + unit * np.array([width, height])]
