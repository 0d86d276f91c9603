"""COCO segmentations: an annotation file comes in, one record for each annotation goes out.

Segmentations are polygons, or run lengths (RLE) in COCO's two spellings, whose outline is then traced. Of an
annotation in several parts the largest is read, noted in the metadata as ``n_parts``. The label is the category's
name. Coordinates are pixels with y down. Crowd regions stand for many objects at once, and are left out unless
asked for. Remarks say what was left out.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import BoolArray
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import read_bytes
from shapelex.io.contours import outlines_from_mask
from shapelex.io.formats.regions import (
    MAX_JSON,
    describe,
    largest,
    number_array,
    parse_json,
    read_regions,
    text_of,
    to_complex,
)
from shapelex.io.records import BadRecord, Record, Remark

# More than any camera or scanner takes.
_MAX_PIXELS = 2**40
# Pixels in the boxes around all objects that are outlined from run lengths: so many, and more for each byte.
_FREE_PIXELS = 2**25
_PIXELS_PER_BYTE = 10_000
_LARGEST_SCORE = 1e300


def read_records(path: Path, *, y_down: bool = True, crowd: bool = False) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each annotation, in the order of the file, and remarks on what was left out.

    Parameters
    ----------
    path : Path
        File to read: a COCO data set, or a list of annotations as COCO's results have it.
    y_down : bool, default: True
        Whether y points down in the file, as COCO has it; it is then negated.
    crowd : bool, default: False
        Whether to read crowd regions too.
    """
    content = read_bytes(path, MAX_JSON)
    n_left = _FREE_PIXELS + _PIXELS_PER_BYTE * len(content)
    document = parse_json(content, path)
    document = {"annotations": document} if isinstance(document, list) else document
    if not isinstance(document, dict) or not isinstance(document.get("annotations"), list):
        raise ShapeFileError(f"{path} is no COCO file: it has no list of annotations.")
    # Names of images and categories by their ids.
    names: dict[str, dict[str, str]] = {}
    for table, key in (("images", "file_name"), ("categories", "name")):
        rows = document.get(table, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ShapeFileError(f"{path} is no COCO file: its {table} must be a list of objects.")
        names[table] = {text_of(row.get("id")): text_of(row.get(key)) for row in rows}

    def read_annotation(numbered: tuple[int, Any], where: str, found: Counter[str]) -> Record | None:
        nonlocal n_left
        number, annotation = numbered
        if not isinstance(annotation, dict):
            raise ValueError(f"an annotation must be an object, got {describe(annotation)}")
        if annotation.get("iscrowd") and not crowd:
            found["crowd"] += 1
            return None
        segmentation = annotation.get("segmentation")
        metadata: dict[str, Any] = {}
        if isinstance(segmentation, dict):
            mask, top, left = _decode_runs(segmentation, n_left)
            n_left -= mask.size
            traced = outlines_from_mask(mask, which="largest")
            if not len(traced):
                raise ValueError("its run lengths cover no pixel")
            outline, metadata["traced"] = traced.outlines[0], True
            # COCO counts from the corner of the first pixel, outlines from the center of the lowest.
            points = np.stack([left + outline.real + 0.5, top + len(mask) - 0.5 - outline.imag], axis=1)
            metadata["n_parts"] = traced.kept[0].n_fragments
        elif isinstance(segmentation, list) and segmentation:
            parts = [number_array(part, "a polygon of its segmentation") for part in segmentation]
            odd = [len(part) for part in parts if len(part) % 2]
            if odd:
                raise ValueError(f"a polygon of its segmentation has {odd[0]} numbers, so an x has no y")
            rings = [part.reshape(-1, 2) for part in parts]
            points, metadata["n_parts"] = rings[largest(rings, closed=True)], len(rings)
        else:
            got = describe(segmentation)
            raise ValueError(f"its segmentation must be a list of polygons or run lengths, got {got}")
        image_id, category_id = text_of(annotation.get("image_id")), text_of(annotation.get("category_id"))
        if image_id:
            metadata["image"] = names["images"].get(image_id) or image_id
        if annotation.get("iscrowd"):
            metadata["crowd"] = True
        score: Any = annotation.get("score")
        # A score of 1 is often written as a whole number; True is none.
        if type(score) in (int, float) and not abs(score) > _LARGEST_SCORE:
            metadata["score"] = float(score)
        return Record(
            to_complex(points, closed=True, y_down=y_down),
            id=text_of(annotation.get("id")) or f"{path.stem}:{number}",
            label=names["categories"].get(category_id) or category_id,
            closed=True,
            metadata=metadata,
            where=where,
        )

    items = []
    for number, annotation in enumerate(document["annotations"], start=1):
        name = text_of(annotation.get("id")) if isinstance(annotation, dict) else ""
        items.append((f"annotation {number}{f' (id {name})' * bool(name)}", (number, annotation)))
    yield from read_regions(items, read_annotation, "annotations")


def _decode_runs(segmentation: dict[str, Any], most_pixels: int) -> tuple[BoolArray, int, int]:
    """Return the box around the mask that run lengths down the columns spell, background first, and its first pixel.

    The mask has a frame of background, but for the border of the image. So its memory does not depend on the image.
    """
    size = segmentation.get("size")
    if not isinstance(size, list) or len(size) != 2 or not all(type(side) is int and side > 0 for side in size):
        raise ValueError("the size of its run lengths must be two positive whole numbers, height and width")
    height, width = size
    if height * width > _MAX_PIXELS:
        raise ValueError(f"its run lengths declare an image of {height} x {width} pixels: refused")
    counts = segmentation.get("counts")
    runs = _unpack_counts(counts) if isinstance(counts, str) else counts
    if not isinstance(runs, list) or not all(type(run) is int for run in runs):
        raise ValueError(f"its counts must be whole numbers or text, got {describe(counts)}")
    total = sum(runs)
    if min(runs, default=0) < 0 or total != height * width:
        raise ValueError(f"its run lengths cover {total} pixels, its image has {height * width}")
    ends = np.cumsum(np.array(runs, dtype=np.int64))
    starts, ends = ends[:-1:2], ends[1::2]
    is_object = ends > starts
    starts, ends = starts[is_object], ends[is_object]
    if not len(starts):
        raise ValueError("its run lengths cover no pixel")
    left, right = max(0, int(starts[0]) // height - 1), min(width, (int(ends[-1]) - 1) // height + 2)
    # A run that goes on in the next column covers the last row of one and the first of the other.
    is_long = (starts // height != (ends - 1) // height).any()
    top = 0 if is_long else max(0, int((starts % height).min()) - 1)
    bottom = height if is_long else min(height, int(((ends - 1) % height).max()) + 2)
    if (right - left) * (bottom - top) > most_pixels:
        n_pixels = (right - left) * (bottom - top)
        raise ValueError(f"its run lengths cover {n_pixels} pixels, far more than the bytes of the file can spell")
    columns = np.zeros((right - left) * (bottom - top), dtype=bool)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        column, row = divmod(start - left * height, height)
        first = column * (bottom - top) + row - top
        # Runs that go on in the next column are there only where the box has whole columns.
        columns[first : first + end - start] = True
    return columns.reshape(right - left, bottom - top).T, top, left


def _unpack_counts(text: str) -> list[int]:
    """Unpack compressed run lengths: 5 bits a character, low ones first, differences from the run before last."""
    runs: list[int] = []
    value = shift = 0
    for character in text:
        code = ord(character) - 48
        if not 0 <= code < 64 or shift > 60:
            raise ValueError("its compressed counts are damaged")
        value |= (code & 0x1F) << shift
        shift += 5
        if code & 0x20:
            continue
        if code & 0x10:
            value -= 1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
        value = shift = 0
    if shift:
        raise ValueError("its compressed counts end in the middle of a number")
    return runs
