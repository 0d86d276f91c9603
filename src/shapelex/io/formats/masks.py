"""Masks and label images: an image file comes in, one record for each object goes out, its outline with y up.

Which kind an image is follows from its pixels, unless `kind` says it:

- two values, or gray values of which nearly all are close to black or white (as JPEG leaves them): a binary mask,
  cut halfway between its extremes. Background is what most of the image's border is, so a black object on white
  reads like a white one on black;
- other whole numbers: a label image, whose background is 0. An image whose values are mostly in many pieces is refused:
  they are classes, to be read with ``kind="classes"``, or the gray values of a photograph.

Of a binary mask each component is an object, but for specks below `min_area`; of a label image each label. Pages of
a TIFF are frames.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from shapelex._typing import BoolArray
from shapelex._validation import check_choice, check_count
from shapelex.exceptions import ShapeInputError
from shapelex.io.contours import MaskOutlines, outlines_from_mask
from shapelex.io.formats.pixels import Pixels, read_pages
from shapelex.io.mask_objects import ObjectChoice, check_threshold
from shapelex.io.records import BadRecord, Record, Remark

# Without min_area, components of a binary mask below this part of the largest are taken for specks.
_SPECK = 0.05
# Gray values this close to black or white count as such.
_NEARLY = 25
# Most labels are in one piece; classes, and the gray values of a photograph, in many.
_MAX_PIECES = 4
# The boxes around objects cover an image a few times over; a mask of classes, once for each class.
_MAX_OVERLAP = 300
_MAX_OBJECTS = 1_000_000
_IN_PIECES = (
    'Its values are in many pieces, so they do not number its objects. If they are classes, say kind="classes"; if it '
    'is a photograph, segment it first; kind="labels" reads the largest piece of each value all the same.'
)


def read_records(
    path: Path,
    *,
    kind: str = "auto",
    foreground: str = "auto",
    threshold: float | None = None,
    which: str | None = None,
    min_area: int | None = None,
    border: str = "keep",
    tracked: bool = False,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each object in each page.

    Parameters
    ----------
    path : Path
        A PNG, JPEG or TIFF file.
    kind : {"auto", "binary", "labels", "classes"}, default: "auto"
        What the image is. "classes" makes an object of every component of every value, which becomes its label.
    foreground : {"auto", "bright", "dark"}, default: "auto"
        Which side of a binary mask the objects are on; "auto" takes the border of the image for background.
    threshold : float, optional
        Gray value that parts dark from bright in a binary mask; halfway between its extremes when not given.
    which : {"components", "largest"}, optional
        Objects of a binary mask: every component, which is the default, or the largest one.
    min_area : int, optional
        Objects of fewer pixels are left out; when not given, components below a twentieth of the largest one.
    border : {"keep", "drop"}, default: "keep"
        Whether objects that touch the border of the image are read.
    tracked : bool, default: False
        Whether labels are the same through all pages, so that each is a sequence.
    """
    wanted = _Wanted(kind, foreground, threshold, which, min_area, border, tracked)
    is_binary = kind == "binary" or threshold is not None or foreground != "auto"
    pages = read_pages(path, as_gray=is_binary)
    first = list(islice(pages, 2))
    for number, (pixels, is_lossy) in enumerate(chain(first, pages)):
        page = number if len(first) > 1 else None
        try:
            yield from _page_records(pixels, is_lossy, path, page, wanted)
        except ShapeInputError as error:
            yield BadRecord("the image" if page is None else f"page {page}", str(error))


@dataclass(frozen=True)
class _Wanted:
    """The options of :func:`read_records`, checked."""

    kind: str
    foreground: str
    threshold: float | None
    which: Any
    min_area: int | None
    border: Any
    tracked: bool

    def __post_init__(self) -> None:
        check_choice(self.kind, ("auto", "binary", "labels", "classes"), "kind")
        check_choice(self.foreground, ("auto", "bright", "dark"), "foreground")
        check_choice(self.border, ("keep", "drop"), "border")
        if self.which is not None:
            check_choice(self.which, ("components", "largest"), "which")
        if self.min_area is not None:
            check_count(self.min_area, 1, "min_area")
        if self.threshold is not None:
            check_threshold(self.threshold)


def _page_records(
    pixels: Pixels, is_lossy: bool, path: Path, page: int | None, wanted: _Wanted
) -> Iterator[Record | BadRecord | Remark]:
    place = "" if page is None else f"page {page}, "
    n_found, dropped = 0, Counter[str]()
    for label, found in _outlines(pixels, is_lossy, wanted):
        n_found += len(found)
        dropped.update(report.dropped for report in found.dropped)
        for outline, report in zip(found.outlines, found.kept, strict=True):
            name = f"{label}:{report.label}" if label else str(report.label)
            yield Record(
                points=outline,
                id=f"{path.stem}:{name}" if page is None else f"{path.stem}:{page}:{name}",
                label=label,
                closed=True,
                sequence=report.label if wanted.tracked and page is not None else None,
                frame=page,
                metadata={
                    "area": report.area,
                    "hole_area": report.hole_area,
                    "n_parts": report.n_fragments,
                    "touches_border": report.touches_border,
                },
                where=f"{place}object {name}",
            )
    reasons = "; ".join(f"{count} {'object' if count == 1 else 'objects'}: {why}" for why, count in dropped.items())
    if not n_found:
        what = f"all its objects were left out ({reasons})." if dropped else "no object was found in it."
        yield BadRecord(f"{place}the image", what)
    elif dropped:
        yield Remark(f"{place}the image", f"objects left out ({reasons}).")


def _outlines(pixels: Pixels, is_lossy: bool, wanted: _Wanted) -> Iterator[tuple[str, MaskOutlines]]:
    """Yield the outlines of an image, with the name of their class where there are classes."""
    kind = wanted.kind
    if kind == "auto":
        kind = "binary" if _looks_binary(pixels, is_lossy, wanted) else "labels"
    if kind == "binary":
        yield "", _components(_foreground(pixels, wanted), wanted)
        return
    labels = _whole_labels(pixels, wanted)
    if kind == "classes":
        for value in np.unique(labels[labels != 0]):
            yield str(value), _components(labels == value, wanted)
        return
    found = outlines_from_mask(labels, which="labels", border=wanted.border, min_area=wanted.min_area or 1)
    if wanted.kind == "auto" and np.median([0, *(one.n_fragments for one in found.kept)]) > _MAX_PIECES:
        raise ShapeInputError(_IN_PIECES)
    yield "", found


def _components(mask: BoolArray, wanted: _Wanted) -> MaskOutlines:
    pieces, n_pieces = ndimage.label(mask)
    _check_scatter(pieces, n_pieces)
    which: ObjectChoice = wanted.which or "components"
    least = wanted.min_area or 1
    if wanted.min_area is None and which == "components" and n_pieces > 1:
        least = max(1, int(_SPECK * np.bincount(pieces.ravel())[1:].max()))
    return outlines_from_mask(mask, which=which, border=wanted.border, min_area=least)


def _looks_binary(pixels: Pixels, is_lossy: bool, wanted: _Wanted) -> bool:
    """Tell a binary mask from a label image."""
    if pixels.dtype == bool or is_lossy or wanted.threshold is not None or wanted.foreground != "auto":
        return True
    if pixels.dtype.kind == "f" and not (np.isfinite(pixels).all() and (pixels == np.rint(pixels)).all()):
        return True
    lowest, highest = pixels.min(), pixels.max()
    if ((pixels == lowest) | (pixels == highest)).all():
        return True
    if pixels.dtype != np.uint8:
        return False
    # Edges smoothed between black and white: few gray pixels beside many white ones.
    n_dark, n_bright = int((pixels <= _NEARLY).sum()), int((pixels >= 255 - _NEARLY).sum())
    return pixels.size - n_dark - n_bright < 0.1 * min(n_dark, n_bright)


def _foreground(pixels: Pixels, wanted: _Wanted) -> BoolArray:
    bright: BoolArray
    if pixels.dtype == bool:
        bright = pixels
    else:
        if not np.isfinite(pixels).all():
            raise ShapeInputError("It has pixels that are not finite.")
        lowest, highest = float(pixels.min()), float(pixels.max())
        threshold = 0.5 * lowest + 0.5 * highest if wanted.threshold is None else wanted.threshold
        bright = pixels > threshold
    if wanted.foreground == "auto":
        edge = np.concatenate([bright[0], bright[-1], bright[1:-1, 0], bright[1:-1, -1]])
        is_dark_ground = 2 * int(edge.sum()) <= edge.size
        # A mask of nothing but foreground has an object as large as the image, not none.
        return bright if is_dark_ground or bright.all() else ~bright
    return bright if wanted.foreground == "bright" else ~bright


def _whole_labels(pixels: Pixels, wanted: _Wanted) -> Pixels:
    if wanted.kind == "auto" and 2 * np.count_nonzero(pixels[:, 1:] != pixels[:, :-1]) > pixels.size:
        raise ShapeInputError(_IN_PIECES)
    values, numbers = np.unique(pixels, return_inverse=True)
    _check_scatter(numbers.reshape(pixels.shape) + 1, len(values))
    # SciPy, which finds the objects, does not take unsigned numbers of 64 bits.
    is_too_large = pixels.dtype == np.uint64 and values[-1] > np.iinfo(np.int64).max
    if is_too_large:
        raise ShapeInputError("It has labels that need 64 bits: number its objects from 1.")
    return pixels.astype(np.int64) if pixels.dtype.kind == "u" else pixels


def _check_scatter(labels: Pixels, n_labels: int) -> None:
    """Refuse an image whose objects lie all over each other: outlining them would take hours."""
    if n_labels > _MAX_OBJECTS:
        raise ShapeInputError(f"It has {n_labels} objects, more than {_MAX_OBJECTS}: it looks like noise.")
    boxes = [box for box in ndimage.find_objects(labels) if box is not None]
    n_pixels = sum((rows.stop - rows.start) * (columns.stop - columns.start) for rows, columns in boxes)
    if n_pixels > _MAX_OVERLAP * labels.size:
        raise ShapeInputError(f"Its {n_labels} objects are scattered all over each other: it looks like noise.")
