"""CTX files: contours of silhouettes as chain codes in XML.

In comes a file; out goes a record for each outer contour. Contours inside another, which are holes and their islands,
are not read. Pixels count down from the top, so y is turned by the height of the canvas.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from shapelex.exceptions import ShapeFileError
from shapelex.io.guards import parse_xml, read_bytes
from shapelex.io.records import BadRecord, Record

# Steps of the chain code, y down: 0 is right, 2 is down, odd ones are diagonal.
_STEPS = np.array([1, 1 + 1j, 1j, -1 + 1j, -1, -1 - 1j, -1j, 1 - 1j])
_LARGEST = 1 << 31
# A tree of elements takes ten times the memory of its text.
_MOST_BYTES = 256 << 20


def read_records(path: Path) -> Iterator[Record | BadRecord]:
    """Yield the outer contours of a file."""
    root = parse_xml(read_bytes(path, _MOST_BYTES), path)
    canvas = root.find("canvas")
    if root.tag != "ctx" or canvas is None:
        raise ShapeFileError(f"{path} is no CTX file: it has no <ctx> with a <canvas>.")
    height = canvas.get("height", "")
    if not height.isascii() or not height.isdigit() or int(height[:12]) > _LARGEST:
        raise ShapeFileError(f"{path}: the height of the canvas is {height[:20]!r}, no number of pixels.")
    contours = [contour for contour in root.iter("contour") if contour.get("parent") is None]
    if not contours:
        raise ShapeFileError(f"{path} holds no outer contour.")
    for number, contour in enumerate(contours, start=1):
        where = f"contour {contour.get('id', number)}"
        try:
            points = _follow(contour)
        except ValueError as error:
            yield BadRecord(where, f"{error}.")
            continue
        name = path.name.split(".")[0] + (f"-{contour.get('id', number)}" if len(contours) > 1 else "")
        yield Record(points.conj() + 1j * (int(height) - 1), id=name, closed=True, where=where)


def _follow(contour: Element) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    path = contour.find("path")
    words = "" if path is None else path.get("chain", "")
    try:
        numbers = np.array(words.split(), dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise ValueError("its chain is no list of whole numbers") from error
    if len(numbers) < 4:
        raise ValueError("its chain has fewer than three points")
    start, directions = numbers[:2], numbers[2:]
    if (np.abs(start) > _LARGEST).any() or (directions < 0).any() or (directions > 7).any():
        raise ValueError("its chain must be x, y of a pixel, then directions from 0 to 7")
    declared = None if path is None else path.get("vertices")
    if declared is not None and declared != str(len(directions) + 1):
        raise ValueError(f"{declared[:20]} vertices are declared, but its chain has {len(directions) + 1}")
    steps = np.concatenate([[complex(*start.tolist())], _STEPS[directions]])
    return np.cumsum(steps)
