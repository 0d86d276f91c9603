"""Masks and label images: an image file comes in, one record for each object goes out, its outline with y up.

Which kind an image is follows from the values of all its pages together, unless `kind` says it:

- booleans, or no other values than 0 and 1, 0 and 255, or 0 and 65535: a binary mask. Booleans and 0/255 may have the
  objects in black: they are inverted, with a remark, where white surrounds them. Other images never are;
- gray values that lie on the edges between dark and bright, as smoothing and JPEG leave them: a binary mask, cut
  halfway between its extremes, with a remark. Other gray values (fractions, or a JPEG file) are refused;
- other whole numbers: a label image, whose background is 0. An image whose values are mostly in many pieces is refused:
  they are classes, to be read with ``kind="classes"``, or the gray values of a photograph.

Of a binary mask each component is an object, of a label image each label. Specks are left out, and what touches the
border is kept; remarks count both. Pages of a TIFF are frames.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from shapelex._typing import BoolArray, IntArray
from shapelex._validation import check_choice, check_count
from shapelex.exceptions import ShapeInputError
from shapelex.io.contours import (
    MaskOutlines,
    centroid_size,
    count_objects,
    remark_on_objects,
    speck_reason,
    trace_objects,
)
from shapelex.io.formats.pixels import ImageFile, Pixels, border_of
from shapelex.io.mask_objects import SPECK_SHARE, check_threshold, find_objects, speck_area
from shapelex.io.records import BadRecord, Record, Remark

# Values of masks: nothing but these is binary without a doubt.
_PAIRS = ({0, 1}, {0, 255}, {0, 65535})
# Parts of the range of values that count as dark and bright in black and white images, and where JPEG spreads them.
_NEARLY, _NEARLY_LOSSY = 0.1, 0.35
# Gray pixels off the edges that JPEG may leave, as a part of the dark or bright ones, which are fewer.
_STRAY = 0.1
# Pixels of an object are mostly like their neighbors; those of an edge or a photograph are not, but for this part.
_FLAT = 0.05
# So many values that change from pixel to pixel are gray values; fewer may be small objects.
_MANY_GRAYS = 8
# Share of white along the border from which white is the background.
_SURROUNDED = 0.9
# Most labels are in one piece; classes, and the gray values of a photograph, in many.
_MAX_PIECES = 4
# The boxes around objects cover an image a few times over; a mask of classes, once for each class.
_MAX_OVERLAP = 300
_MAX_OBJECTS = 1_000_000
_MAX_VALUES = 100_000
_IN_PIECES = (
    'Its values are in many pieces, so they do not number its objects. If they are classes, say kind="classes"; if '
    'they are the gray values of smoothed edges, say kind="binary"; if it is a photograph, segment it first, or leave '
    'it out where its mask lies beside it, with a pattern such as "folder/*_masks.tif"; kind="labels" reads the '
    "largest piece of each value all the same."
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
    z: int | None = None,
    channel: int | None = None,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each object in each page.

    Parameters
    ----------
    path : Path
        A PNG, JPEG or TIFF file.
    kind : {"auto", "binary", "labels", "classes"}, default: "auto"
        What the image is. "classes" makes an object of every component of every value, which becomes its label.
    foreground : {"auto", "bright", "dark"}, default: "auto"
        Which side of a binary mask the objects are on; "auto" takes them for bright, unless white surrounds them.
    threshold : float, optional
        Gray value that parts dark from bright in a binary mask; halfway between its extremes when not given.
    which : {"components", "largest"}, optional
        Objects of a binary mask: every component, which is the default, or the largest one.
    min_area : int, optional
        Objects of fewer pixels are left out; when not given, those below 5 % of the median area in the file.
    border : {"keep", "drop"}, default: "keep"
        Whether objects that touch the border of the image are read.
    tracked : bool, default: False
        Whether labels are the same through all pages, so that each is a sequence.
    z, channel : int, optional
        Slice and channel to read of a TIFF that has several, counted from 0.
    """
    wanted = _Wanted(kind, foreground, threshold, which, min_area, border, tracked)
    image = ImageFile(path, z=z, channel=channel, as_gray=wanted.is_binary)
    counts: Counter[str] = Counter()
    try:
        plan = _Plan.of(image, wanted)
    except ShapeInputError as error:
        yield BadRecord("the image", str(error))
        return
    for number, (pixels, _) in enumerate(image):
        page = number if plan.n_pages > 1 else None
        place = "" if page is None else f"page {page}, "
        try:
            reports = []
            for label, found in _outlines(pixels, plan, wanted):
                reports += [*found.kept, *found.dropped]
                yield from _records(label, found, image, page, wanted)
        except ShapeInputError as error:
            yield BadRecord(f"{place}the image", str(error))
            continue
        own = count_objects(reports)
        counts.update(own)
        if all(report.dropped for report in reports):
            why = f"all its objects were left out: {' '.join(remark_on_objects(own))}"
            yield BadRecord(f"{place}the image", why if reports else "no object was found in it.")
    for text in (*image.remarks, *plan.remarks, *remark_on_objects(counts)):
        yield Remark("the image", text)


@dataclass(frozen=True)
class _Wanted:
    """The options of :func:`read_records`, checked."""

    kind: str
    foreground: str
    threshold: float | None
    which: Any
    min_area: int | None
    border: str
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

    @property
    def is_binary(self) -> bool:
        """Whether the caller says that the image is a binary mask."""
        return self.kind == "binary" or self.threshold is not None or self.foreground != "auto"


class _Plan:
    """How the pages of a file are read, decided once for all of them."""

    kind: str
    threshold: float
    is_inverted: bool
    least_area: int
    reason: str

    def __init__(self, image: ImageFile) -> None:
        self.remarks: list[str] = []
        self.n_pages, self.values = 0, np.empty(0)
        self.is_bool, self.is_gray = True, False
        for pixels, is_lossy in image:
            if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
                raise ShapeInputError("It has pixels that are not finite.")
            own = _distinct(pixels)
            self.values = np.union1d(self.values, own) if self.n_pages else own
            if self.values.size > _MAX_VALUES:
                # Extremes, and that there are many: no more is asked of so many values.
                self.values = self.values[np.linspace(0, self.values.size - 1, _MAX_VALUES // 2).astype(int)]
            self.n_pages += 1
            self.is_bool = self.is_bool and pixels.dtype == bool
            self.is_lossy = is_lossy
            self.is_gray = self.is_gray or is_lossy or bool((own != np.rint(own)).any())

    @classmethod
    def of(cls, image: ImageFile, wanted: _Wanted) -> "_Plan":
        """Decide how a file is read; refuse it where two readings are plausible."""
        plan = cls(image)
        can_invert = plan._choose_kind(image, wanted)
        if plan.kind == "binary":
            plan._choose_foreground(image, wanted, can_invert)
        plan.least_area, plan.reason = 1, ""
        if wanted.min_area is not None:
            plan.least_area, plan.reason = wanted.min_area, f"smaller than min_area={wanted.min_area}"
        elif wanted.which != "largest":
            plan.least_area = speck_area(np.concatenate([_areas(pixels, plan) for pixels, _ in image]))
            plan.reason = speck_reason(plan.least_area)
        return plan

    def _choose_kind(self, image: ImageFile, wanted: _Wanted) -> bool | None:
        """Set the kind and the threshold; return whether the image is black and white, None if it is never inverted."""
        low, high = float(self.values[0]), float(self.values[-1])
        few = set(self.values.tolist()) if self.values.size <= 2 else {-1}
        self.threshold = 0.0 if low == high or (low == 0 and self.values.size == 2) else 0.5 * low + 0.5 * high
        if wanted.threshold is not None:
            self.threshold = wanted.threshold
        self.kind = "binary" if wanted.is_binary else wanted.kind
        if self.is_bool or any(few <= pair for pair in _PAIRS):
            self.kind = "binary" if self.kind == "auto" else self.kind
            return True if self.is_bool or few <= {0, 255} else None
        if self.kind in ("labels", "classes"):
            return False
        is_gradual, is_smooth = self._see_grays(image, low, high)
        is_black_white = is_smooth and 0 <= low <= 255 * _NEARLY and 255 * (1 - _NEARLY) <= high <= 255
        if self.kind == "auto":
            if is_black_white or (self.is_gray and (is_smooth or self.values.size == 2)):
                self.kind = "binary"
            else:
                self._check_labels(image, is_gradual)
                self.kind = "labels"
        if self.kind == "binary" and self.values.size > 2 and wanted.threshold is None:
            other = "" if self.is_gray else ', kind="labels" takes them for labels'
            self.remarks.append(
                f"gray values were cut at {self.threshold:g}, halfway between the darkest and the brightest; "
                f"threshold= changes it{other}."
            )
        return is_black_white

    def _see_grays(self, image: ImageFile, low: float, high: float) -> tuple[bool, bool]:
        """Tell whether values change from pixel to pixel, and whether they do so only where dark and bright meet."""
        nearly = _NEARLY_LOSSY * (high - low) if self.is_lossy else 0
        n_dark = n_bright = n_gray = n_flat = n_stray = 0
        for pixels, _ in image if not self.is_lossy else ():
            inner = pixels[1:-1, 1:-1]
            is_flat = (inner != low) & (inner != high)
            n_gray += int(((pixels != low) & (pixels != high)).sum())
            for neighbor in (pixels[:-2, 1:-1], pixels[2:, 1:-1], pixels[1:-1, :-2], pixels[1:-1, 2:]):
                is_flat &= inner == neighbor
            n_flat += int(is_flat.sum())
        if not self.is_lossy and (n_gray == 0 or n_flat > _FLAT * n_gray):
            return False, False
        for pixels, _ in image:
            dark, bright = pixels <= low + nearly, pixels >= high - nearly
            is_edge = ndimage.maximum_filter(dark, 5) & ndimage.maximum_filter(bright, 5)
            n_dark, n_bright = n_dark + int(dark.sum()), n_bright + int(bright.sum())
            n_stray += int((~(dark | bright | is_edge)).sum())
        if self.is_lossy:
            return True, n_stray <= _STRAY * min(n_dark, n_bright)
        return self.values.size >= _MANY_GRAYS, n_stray <= _FLAT * n_gray

    def _check_labels(self, image: ImageFile, is_gradual: bool) -> None:
        """Refuse values that may be labels, and may as well be something else."""
        low, high = self.values[0], self.values[-1]
        if self.is_gray:
            raise ShapeInputError(
                f"It has gray values from {low:g} to {high:g}, so it is no mask. Give a threshold, such as "
                f'threshold={0.5 * float(low) + 0.5 * float(high):g}, or segment it first; kind="labels" needs whole '
                "numbers."
            )
        if is_gradual:
            raise ShapeInputError(_IN_PIECES)
        if low != 0 and self.values.size == 2:
            raise ShapeInputError(
                f"It has the values {low} and {high}, and no 0 for the background: threshold={low} takes {high} for "
                'the objects, kind="labels" both.'
            )
        if low == 0 and self.values.size == 2:
            for pixels, _ in image:
                areas = np.sort(np.bincount(ndimage.label(pixels)[0].ravel())[1:])
                if areas.size > 1 and areas[-2] >= SPECK_SHARE * areas[-1]:
                    raise ShapeInputError(
                        f'Its only value beside 0 is {high}, in several pieces: kind="binary" makes an object of each, '
                        f'kind="labels" takes the largest for the object {high}.'
                    )

    def _choose_foreground(self, image: ImageFile, wanted: _Wanted, can_invert: bool | None) -> None:
        """Invert black objects on white, where that is what the border shows and the caller does not say."""
        self.is_inverted = wanted.foreground == "dark"
        if wanted.foreground != "auto" or can_invert is None or not self.values[0] <= self.threshold < self.values[-1]:
            return
        edge = np.concatenate([border_of(pixels) > self.threshold for pixels, _ in image])
        white = float(edge.mean())
        if white <= 0.5:
            return
        if not can_invert or white < _SURROUNDED:
            raise ShapeInputError(
                f"{100 * white:.0f} % of its border is bright, so that objects may be bright or dark: say "
                'foreground="bright" or foreground="dark".'
            )
        self.is_inverted = True
        self.remarks.append('black objects on white: the image was inverted; foreground="bright" reads it as it is.')


def _distinct(pixels: Pixels) -> Pixels:
    if pixels.dtype.kind in "bu" and pixels.dtype.itemsize <= 2:
        return np.flatnonzero(np.bincount(pixels.ravel()))
    return np.unique(pixels)


def _areas(pixels: Pixels, plan: _Plan) -> IntArray:
    """Return the numbers of pixels of the objects of a page."""
    if plan.kind == "labels":
        if pixels.dtype.kind == "u" and pixels.dtype.itemsize <= 2:
            counts = np.bincount(pixels.ravel())[1:]
            return counts[counts > 0]
        return np.unique(pixels[pixels != 0], return_counts=True)[1]
    masks = (
        [_foreground(pixels, plan)]
        if plan.kind == "binary"
        else (pixels == value for value in _distinct(pixels) if value)
    )
    return np.concatenate([np.empty(0, np.int64), *(np.bincount(ndimage.label(mask)[0].ravel())[1:] for mask in masks)])


def _foreground(pixels: Pixels, plan: _Plan) -> BoolArray:
    bright: BoolArray = pixels > plan.threshold
    return ~bright if plan.is_inverted else bright


def _records(label: str, found: MaskOutlines, image: ImageFile, page: int | None, wanted: _Wanted) -> Iterator[Record]:
    for outline, report in zip(found.outlines, found.kept, strict=True):
        name = f"{label}:{report.label}" if label else str(report.label)
        metadata = report.columns()
        if image.pixel_size is not None:
            width, height = image.pixel_size
            metadata["physical_area"] = report.area * width * height
            metadata["physical_centroid_size"] = centroid_size(outline.real * width + 1j * outline.imag * height)
            metadata["unit"] = image.unit
        yield Record(
            points=outline,
            id=":".join([image.path.stem, *([] if page is None else [str(page)]), name]),
            label=label,
            closed=True,
            sequence=report.label if wanted.tracked and page is not None else None,
            frame=page,
            metadata=metadata,
            where=f"object {name}" if page is None else f"page {page}, object {name}",
        )


def _outlines(pixels: Pixels, plan: _Plan, wanted: _Wanted) -> Iterator[tuple[str, MaskOutlines]]:
    """Yield the outlines of a page, with the name of their class where there are classes."""
    how = (len(pixels), None, plan.least_area, plan.reason, wanted.border)
    if plan.kind == "binary":
        mask = _foreground(pixels, plan)
        _check_scatter(*ndimage.label(mask))
        yield "", trace_objects(find_objects(mask, wanted.which or "components", 4, None), *how)
        return
    labels = _whole_labels(pixels, wanted)
    if plan.kind == "classes":
        for value in np.unique(labels[labels != 0]):
            _check_scatter(*ndimage.label(labels == value))
            yield str(value), trace_objects(find_objects(labels == value, "components", 4, None), *how)
        return
    found = trace_objects(find_objects(labels, "labels", 4, None), *how)
    pieces = [one.n_fragments for one in (*found.kept, *found.dropped)]
    if wanted.kind == "auto" and np.median([0, *pieces]) > _MAX_PIECES:
        raise ShapeInputError(_IN_PIECES)
    yield "", found


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
