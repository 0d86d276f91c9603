"""Masks and label images: an image file comes in, one record for each object goes out, its outline with y up.

Which kind an image is follows from the values of all its pages together, unless `kind` says it:

- booleans, or no other values than 0 and 1, 0 and 255, or 0 and 65535: a binary mask. Booleans and 0/255 may have the
  objects in black: they are inverted, with a remark, where white surrounds them. Other images never are;
- gray values that lie on the edges between dark and bright, as smoothing and JPEG leave them: a binary mask, cut
  halfway between its extremes, with a remark. Other gray values (fractions, or a JPEG file) are refused;
- other whole numbers: a label image, whose background is 0. An image whose values are mostly in many pieces is refused:
  they are classes, to be read with ``kind="classes"``, or the gray values of a photograph.

Of a binary mask each component is an object, of a label image each label. Specks are left out, and what touches the
border is kept; remarks count both. Pages of a TIFF are frames. Where labels are tracked, each is a time series through
the pages of a stack, or through the images of a folder, whose names then end in the numbers of their frames.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from shapelex._messages import format_option, marked_text
from shapelex._typing import IntArray
from shapelex._validation import check_choice
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.io import contours
from shapelex.io.images import MAX_PIXELS, ImageFile, Kept, Page, Pixels
from shapelex.io.records import BadRecord, Record, Remark
from shapelex.shapes.columns import FPS

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
# More objects than this need a byte of the file each: real ones take several, and outlining takes 0.1 ms for each.
_FREE_OBJECTS = 50_000
_MAX_VALUES = 100_000
_IN_PIECES = (
    "Its values are in many pieces, so they do not number its objects. If they are classes, say "
    f"{format_option('kind', 'classes')}; if they are the gray values of smoothed edges, say "
    f"{format_option('kind', 'binary')}; if it is a photograph, segment it first, or leave it out where its mask lies "
    f'beside it, with a pattern such as "folder/*_masks.tif"; {format_option("kind", "labels")} reads the largest '
    "piece "
    "of each value all the same."
)
_NOT_TRACKED = (
    f"{format_option('tracked', True)} needs a label image, where an object has the same number in all frames, or one "
    f"object per frame; here is a mask of several. Track the objects first, or say {format_option('which', 'largest')}."
)


def read_records(
    path: Path,
    *,
    kind: str = "auto",
    foreground: str = "auto",
    threshold: float | None = None,
    which: str = "components",
    min_area: int | None = None,
    border: str = "keep",
    holes: str = "keep",
    tracked: bool = False,
    midlines: bool = False,
    z: int | None = None,
    channel: int | None = None,
    pixel_size: float | tuple[float, float] | None = None,
    max_pixels: int = MAX_PIXELS,
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each object in each page.

    Parameters
    ----------
    path : Path
        A PNG, JPEG or TIFF file, or a ``_seg.npy`` file of Cellpose.
    kind : {"auto", "binary", "labels", "classes"}, default: "auto"
        What the image is. "classes" makes an object of every component of every value, which becomes its label.
    foreground : {"auto", "bright", "dark"}, default: "auto"
        Which side of a binary mask the objects are on; "auto" takes them for bright, unless white surrounds them.
    threshold : float, optional
        Gray value that parts dark from bright in a binary mask; halfway between its extremes when not given.
    which : {"components", "largest"}, default: "components"
        Objects of a binary mask: every component, or the largest one.
    min_area : int, optional
        Objects of fewer pixels are left out; when not given, those below 5 % of the median area in the file.
    border : {"keep", "drop"}, default: "keep"
        Whether objects that touch the border of the image are read.
    holes : {"keep", "fill", "drop"}, default: "keep"
        Whether objects with holes of 10 pixels or of 5 % of their area are read. Outlines are those of the outside; a
        remark counts such objects, but for "fill".
    tracked : bool, default: False
        Whether an object has the same label in all frames, so that each label is a sequence. Frames are the pages of a
        stack, or the images of a folder by the last number in their names, such as ``mask007.tif``.
    midlines : bool, default: False
        Whether to read the midlines of long, thin objects, such as worms, as open curves, and not their outlines.
        Objects that close a loop are left out.
    z, channel : int, optional
        Slice and channel to read of a TIFF that has several, counted from 0.
    pixel_size : float or (float, float), optional
        Width and height of a pixel, by which outlines are multiplied; when not given, what ImageJ and OME files say.
        With 1 outlines are in pixels.
    max_pixels : int, default: 50_000_000
        Pages of more pixels are refused: outlines take about 20 bytes of memory for each.
    """
    check_choice(kind, ("auto", "binary", "labels", "classes"), format_option("kind"))
    check_choice(foreground, ("auto", "bright", "dark"), format_option("foreground"))
    check_choice(border, ("keep", "drop"), format_option("border"))
    check_choice(holes, ("keep", "fill", "drop"), format_option("holes"))
    check_choice(which, ("components", "largest"), format_option("which"))
    if threshold is not None:
        contours.check_threshold(threshold)
    if threshold is not None or foreground != "auto":
        kind = "binary"
    image = ImageFile(path, z=z, channel=channel, as_gray=kind == "binary", max_pixels=max_pixels)
    size, unit = image.pixel_size, image.unit
    if pixel_size is not None:
        size, unit = _check_pixel_size(pixel_size), ""
    counts: Counter[str] = Counter()
    n_in_page: Counter[int] = Counter()
    is_whole = which != "largest"
    try:
        plan = _decide(image, kind, foreground, threshold)
        pages = Kept(partial(_number_objects, image, plan, is_whole), lambda one: one.labels.nbytes)
        areas = [contours.count_pixels(one.labels)[1:] for one in pages]
        limit = contours.area_limit(min_area, areas if is_whole else [])
    except ShapeInputError as error:
        yield BadRecord("the image", marked_text(error))
        return
    is_stack = plan.n_pages > 1
    number = re.search(r"(\d{1,15})\D*$", path.stem)
    if tracked and not is_stack and number is None:
        yield BadRecord("the image", f"{format_option('tracked', True)} needs a number of the frame in its name.")
        return
    n_loops = 0
    n_objects, most_objects = 0, max(_FREE_OBJECTS, path.stat().st_size)
    for objects, own_areas in zip(pages, areas, strict=True):
        page, group = objects.page, objects.group
        place = f"page {page}, " if is_stack else ""
        try:
            n_objects += int(np.count_nonzero(own_areas))
            if n_objects > most_objects:
                raise ShapeInputError(
                    f"It has {n_objects} objects or more in {path.stat().st_size} bytes: it looks like a pattern."
                )
            is_one = is_whole and plan.kind != "labels"
            rules = limit, border, holes, 4, is_one
            found = list(contours.outline_objects(objects.labels, objects.names, *rules, objects.frame))
            pieces = [report.n_fragments for report, _ in found]
            if kind == "auto" and plan.kind == "labels" and np.median([0, *pieces]) > _MAX_PIECES:
                raise ShapeInputError(_IN_PIECES)
            if tracked and is_one and sum(not report.dropped for report, _ in found) > 1:
                raise ShapeInputError(_NOT_TRACKED)
        except ShapeInputError as error:
            yield BadRecord(f"{place}the image", marked_text(error))
            n_in_page[page] += 1
            continue
        counts.update(contours.count_objects([report for report, _ in found], fills_holes=holes == "fill"))
        found = [(report, outline) for report, outline in found if not report.dropped]
        if midlines:
            n_loops += sum(contours.closes_a_loop(report) for report, _ in found)
            found = [
                (report, contours.midline_inside(outline))
                for report, outline in found
                if not contours.closes_a_loop(report)
            ]
        n_in_page.update([page] * len(found))
        for report, outline in found:
            # The only object of an image of 0 and 1 has the id that it would have in a label image.
            label = 1 if plan.may_be_labels and len(found) == 1 else report.label
            name = f"{group}:{label}" if group else str(label)
            metadata = report.columns()
            if size is not None:
                metadata["physical_area"] = report.area * size[0] * size[1]
                outline = outline.real * size[0] + 1j * outline.imag * size[1]
                metadata |= {"physical_rms_radius": contours.rms_radius(outline), "units": unit}
            if image.frame_rate is not None and is_stack:
                metadata[FPS] = image.frame_rate
            yield Record(
                points=outline,
                id=f"{path.stem}:{page}:{name}" if place else f"{path.stem}:{name}",
                label=group,
                closed=not midlines,
                sequence=label if tracked else None,
                frame=page if is_stack else int(number[1]) if tracked and number else None,
                metadata=metadata,
                where=f"{place}object {name}",
                spans_folder=tracked and not is_stack,
            )
    left_out = contours.remark_on_objects(counts) + contours.remark_on_loops(n_loops)
    if not n_in_page:
        # An empty field of view is a result, too.
        why = f"all its objects were left out: {' '.join(left_out)}" if left_out else "no object was found in it."
        yield Remark("the image", why)
        return
    if len(n_in_page) < plan.n_pages:
        n_empty = plan.n_pages - len(n_in_page)
        plan.remarks.append(f"{n_empty} of {plan.n_pages} pages have no object to outline; their frames are left out.")
    if is_stack and plan.kind == "labels" and not tracked:
        plan.remarks.append(
            "labels are not followed from page to page; the option tracked=True makes a time series of each label."
        )
    if pixel_size is None and size is not None:
        plan.remarks.append(
            f"outlines are in {unit} ({size[0]:g} x {size[1]:g} for a pixel); the option pixel_size=1 keeps pixels."
        )
    for text in (*image.remarks, *plan.remarks, *left_out):
        yield Remark("the image", text)


def _check_pixel_size(given: Any) -> tuple[float, float]:
    """Return width and height of a pixel; refuse what is neither one positive number nor two."""
    sides = given if isinstance(given, tuple | list) else (given, given)
    if len(sides) != 2 or not all(isinstance(one, int | float) and 0 < one < np.inf for one in sides):
        raise ParameterError(
            f"{format_option('pixel_size')} must be a positive number, or width and height of a pixel, got {given!r}."
        )
    return float(sides[0]), float(sides[1])


@dataclass
class _Plan:
    """How the pages of a file are read, decided once for all of them."""

    kind: str
    threshold: float = 0.0
    is_inverted: bool = False
    may_be_labels: bool = False
    n_pages: int = 0
    remarks: list[str] = field(default_factory=list)


def _decide(image: ImageFile, kind: str, foreground: str, threshold: float | None) -> _Plan:
    """Decide how a file is read; refuse it where two readings are plausible."""
    plan = _Plan(kind)
    values: Pixels = np.empty(0)
    is_bool, is_gray, is_lossy = True, False, False
    for page in image:
        pixels, is_lossy = page.values, page.is_lossy
        if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
            raise ShapeInputError("It has pixels that are not finite.")
        is_small = pixels.dtype.kind in "bu" and pixels.dtype.itemsize <= 2
        for block in np.array_split(pixels, 1 + pixels.size // contours.BLOCK_PIXELS):
            own = np.flatnonzero(np.bincount(block)) if is_small else np.unique(block)
            values = np.union1d(values, own) if values.size else own
            if values.size > _MAX_VALUES:
                # Extremes, and that there are many: no more is asked of so many values.
                values = values[np.linspace(0, values.size - 1, _MAX_VALUES // 2).astype(int)]
        plan.n_pages += 1
        is_bool = is_bool and pixels.dtype == bool
        is_gray = is_gray or is_lossy or (values.dtype.kind == "f" and bool((values != np.rint(values)).any()))
    low, high = float(values[0]), float(values[-1])
    middle = 0.0 if low == high or (low == 0 and values.size == 2) else 0.5 * low + 0.5 * high
    plan.threshold = middle if threshold is None else threshold
    few = set(values.tolist()) if values.size <= 2 else {-1}
    # Whether it is black and white, so that it may be inverted; None: it never is.
    can_invert: bool | None = None
    if is_bool or any(few <= pair for pair in _PAIRS):
        plan.kind = "binary" if kind == "auto" else kind
        plan.may_be_labels = kind == "auto" and not is_bool and few <= {0, 1}
        can_invert = True if is_bool or few <= {0, 255} else None
    elif kind in ("auto", "binary"):
        is_gradual, is_smooth = _see_grays(image, values, is_lossy)
        can_invert = is_smooth and 0 <= low <= 255 * _NEARLY and 255 * (1 - _NEARLY) <= high <= 255
        if kind == "auto":
            is_binary = can_invert or (is_gray and (is_smooth or values.size == 2))
            plan.kind = "binary" if is_binary else "labels"
        if plan.kind == "labels":
            _check_labels(image, values, is_gray, is_gradual)
        elif values.size > 2 and threshold is None:
            other = "" if is_gray else ", the option kind=labels takes them for labels"
            plan.remarks.append(
                f"gray values were cut at {plan.threshold:g}, halfway between the darkest and the brightest; "
                f"the option threshold= changes it{other}."
            )
    plan.is_inverted = foreground == "dark"
    if (
        plan.kind == "binary"
        and foreground == "auto"
        and can_invert is not None
        and low <= plan.threshold < high
        and (white := _share_at_border(image, plan.threshold)) > 0.5
    ):
        if not can_invert or white < _SURROUNDED:
            raise ShapeInputError(
                f"{100 * white:.0f} % of its border is bright, so that objects may be bright or dark: say "
                f"{format_option('foreground', 'bright')} or {format_option('foreground', 'dark')}."
            )
        plan.is_inverted = True
        plan.remarks.append(
            "black objects on white: the image was inverted; the option foreground=bright reads it as it is."
        )
    return plan


def _share_at_border(image: ImageFile, threshold: float) -> float:
    """Return the share of the pixels at the border of all pages that are above a threshold."""
    n_bright = n_all = 0
    for page in image:
        values, counts = page.border
        n_bright, n_all = n_bright + int(counts[values > threshold].sum()), n_all + int(counts.sum())
    return n_bright / n_all


def _see_grays(image: ImageFile, values: Pixels, is_lossy: bool) -> tuple[bool, bool]:
    """Tell whether values change from pixel to pixel, and whether they do so only where dark and bright meet."""
    low, high = values[0], values[-1]
    nearly = _NEARLY_LOSSY * float(high - low) if is_lossy else 0
    n_dark = n_bright = n_gray = n_flat = n_stray = 0
    for page in () if is_lossy else image:
        pixels = page.pixels
        is_gray = (pixels != low) & (pixels != high)
        n_gray += int(is_gray.sum())
        inner, is_flat = pixels[1:-1, 1:-1], is_gray[1:-1, 1:-1]
        for neighbor in (pixels[:-2, 1:-1], pixels[2:, 1:-1], pixels[1:-1, :-2], pixels[1:-1, 2:]):
            is_flat &= inner == neighbor
        n_flat += int(is_flat.sum())
    if not is_lossy and (n_gray == 0 or n_flat > _FLAT * n_gray):
        return False, False
    for page in image:
        pixels = page.pixels
        dark, bright = pixels <= low + nearly, pixels >= high - nearly
        is_edge = ndimage.maximum_filter(dark, 5) & ndimage.maximum_filter(bright, 5)
        n_dark, n_bright = n_dark + int(dark.sum()), n_bright + int(bright.sum())
        n_stray += int((~(dark | bright | is_edge)).sum())
    if is_lossy:
        return True, n_stray <= _STRAY * min(n_dark, n_bright)
    return values.size >= _MANY_GRAYS, n_stray <= _FLAT * n_gray


def _check_labels(image: ImageFile, values: Pixels, is_gray: bool, is_gradual: bool) -> None:
    """Refuse values that may be labels, and may as well be something else."""
    low, high = values[0], values[-1]
    if is_gray:
        raise ShapeInputError(
            f"It has gray values from {low:g} to {high:g}, so it is no mask. Give a threshold, such as "
            f"{format_option(f'threshold={0.5 * float(low) + 0.5 * float(high):g}')}, or segment it first; "
            f"{format_option('kind', 'labels')} needs whole numbers."
        )
    if low != 0 and values.size == 2:
        raise ShapeInputError(
            f"It has the values {low} and {high}, and no 0 for the background: "
            f"{format_option(f'threshold={low}')} takes {high} for the objects, {format_option('kind', 'labels')} both."
        )
    for page in image:
        pixels = page.pixels
        if is_gradual or 2 * np.count_nonzero(pixels[:, 1:] != pixels[:, :-1]) > pixels.size:
            raise ShapeInputError(_IN_PIECES)
        if values.size == 2:
            areas = np.sort(contours.count_pixels(ndimage.label(pixels)[0])[1:])
            if areas.size > 1 and areas[-2] >= contours.SPECK_SHARE * areas[-1]:
                raise ShapeInputError(
                    f"Its only value beside 0 is {high}, in several pieces: {format_option('kind', 'binary')} makes an "
                    f"object of each, {format_option('kind', 'labels')} takes the largest for the object {high}."
                )


@dataclass(frozen=True, eq=False)
class _Objects:
    """The objects of a page, or of one class in it: labels without what is background around them, and their names.

    `frame` is what :func:`contours.outline_objects` needs to know of the whole page.
    """

    labels: IntArray
    frame: tuple[int, int, int, int]
    page: int
    group: str = ""
    names: IntArray | None = None


def _number_objects(image: ImageFile, plan: _Plan, is_whole: bool) -> Iterator[_Objects]:
    """Yield the objects of each page, of each class where there are classes."""

    def components(page: Page, number: int, is_object: Pixels, group: str = "") -> _Objects:
        mask, top, left = page.crop(is_object)
        labels = ndimage.label(mask)[0] if is_whole else mask.view(np.uint8)
        return _Objects(labels, (top, left, *page.shape), number, group)

    for number, page in enumerate(image):
        if plan.kind == "binary":
            values = page.values
            yield components(page, number, values <= plan.threshold if plan.is_inverted else values > plan.threshold)
            continue
        values, names = contours.as_labels(page.values, prod(page.shape))
        if plan.kind == "labels":
            labels, top, left = page.crop(values)
            yield _Objects(labels, (top, left, *page.shape), number, "", names)
            continue
        for label in np.flatnonzero(contours.count_pixels(values)):
            if label:
                yield components(page, number, values == label, str(label if names is None else names[label]))
