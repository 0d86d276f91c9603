"""Outlines of the objects in a mask, and midlines of those that are long and thin.

The first row of a mask is at the top. Outlines are closed: complex points ``x + iy`` with y up, counter-clockwise from
the topmost point.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import ndimage, sparse

from shapelex._extras import load_library
from shapelex._messages import format_option, parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_choice, check_count, check_number
from shapelex.exceptions import (
    ArrayTypeError,
    EmptySetError,
    ParameterError,
    ParameterTypeError,
    ShapeInputError,
    UnsupportedBySpaceError,
)
from shapelex.geometry.resampling import resample_polyline
from shapelex.io.parts import fit_curves
from shapelex.shapes import ShapeSet
from shapelex.shapes.preparation import Preparation
from shapelex.shapes.summary import signed_areas
from shapelex.spaces import Landmarks, Space

ObjectChoice: TypeAlias = Literal["largest", "components", "labels"]

# Objects below this part of the median area are specks, where no least area is given.
SPECK_SHARE = 0.05
# Dust of fewer pixels has no say in what the median is, unless there is nothing else.
_DUST = 10
# Pixels that are counted, compared or numbered at a time, so that temporary arrays stay small.
BLOCK_PIXELS = 2**20
# Holes of more pixels than these, or of a larger part of the area, are more than stray pixels.
_MOST_STRAY, _STRAY_SHARE = 10, 0.05
# The boxes around objects cover an image a few times over; in noise, once for each object.
_MAX_OVERLAP = 300
_MAX_OBJECTS = 1_000_000
# Following outlines takes about 400 bytes for each of their points.
_MAX_VERTICES = 500_000

# Holes of a larger part of the area are those of an object that closes a loop.
_LOOP = 0.02
# Steps to the eight neighbors of a pixel, of which a graph without directions needs half.
_STEPS = ((0, 1, 1.0), (1, 0, 1.0), (1, 1, 2**0.5), (1, -1, 2**0.5))
# How finely the line is extended to the edge of the object, in pixels.
_FINE = 0.1

_NEIGHBORS = {4: ndimage.generate_binary_structure(2, 1), 8: ndimage.generate_binary_structure(2, 2)}
_CUT_OFF = "touching the border"
_WITH_HOLES = "with holes"
_HOLES = (
    "{} with holes, which are not part of the outlines: perhaps loops that close; the option holes=drop leaves them "
    "out, holes=fill says that holes have no meaning."
)
_TOUCHING = "{} at the border of the image kept, perhaps cut off; the option border=drop leaves them out."
_IN_PARTS = "{} in several parts, of which the largest was outlined; the columns n_parts and lost_area tell which."


def has_hole(hole_area: Any, area: Any) -> Any:
    """Tell whether the holes of objects are more than a few stray pixels."""
    return (hole_area >= _MOST_STRAY) | (hole_area > _STRAY_SHARE * area)


@dataclass(frozen=True)
class ObjectReport:
    """What became of one object of a mask.

    Parameters
    ----------
    label : int
        Its value in a label image; the number of its component, from 1, otherwise.
    area : int
        Pixels inside its outline, filled holes included.
    hole_area : int
        Pixels of the holes that were filled.
    n_fragments : int
        In how many pieces it was. The largest is outlined; with ``which="largest"`` all components count.
    lost_area : int
        Pixels of the pieces left out.
    touches_border : bool
        Whether it reaches the edge of the image: a part of it may be missing, and the edge is part of its outline.
    is_tiny : bool
        Whether there are more than two coordinates for each vertex of its contour, so that they follow its pixels.
    dropped : str
        Why it has no outline; empty when it has one.
    rms_radius : float
        Root mean square distance of the outline from its centroid, in pixels; 0 when it has no outline.
    """

    label: int
    area: int
    hole_area: int
    n_fragments: int
    lost_area: int
    touches_border: bool
    is_tiny: bool
    dropped: str = ""
    rms_radius: float = 0.0

    def columns(self) -> dict[str, Any]:
        """Return what a set of shapes keeps of the object, by the names of its columns."""
        return {
            "area": self.area,
            "rms_radius": self.rms_radius,
            "hole_area": self.hole_area,
            "n_parts": self.n_fragments,
            "lost_area": self.lost_area,
            "touches_border": self.touches_border,
        }


@dataclass(frozen=True)
class MaskOutlines:
    """Outlines of the objects in a mask, and a report on every object.

    Parameters
    ----------
    outlines : tuple of ndarray of complex
        One array an object that was kept: `n_points` points, a configuration of `space`, or the whole contour.
    space : Space or None
        Space of the outlines; None for whole contours, which differ in length.
    kept : tuple of ObjectReport
        One report an outline, in the same order.
    dropped : tuple of ObjectReport
        Reports on the objects without an outline.
    left_out : tuple of {"border", "holes"}
        Kinds of objects that were left out as asked.
    fills_holes : bool
        Whether holes have no meaning.
    """

    outlines: tuple[ComplexArray, ...]
    space: Space | None
    kept: tuple[ObjectReport, ...]
    dropped: tuple[ObjectReport, ...]
    left_out: tuple[str, ...] = ()
    fills_holes: bool = False

    def __len__(self) -> int:
        return len(self.outlines)

    @property
    def configurations(self) -> ComplexArray:
        """Outlines as one array, shape (n_outlines, n_coordinates); needs `n_points` or `space`."""
        if self.space is None:
            raise ShapeInputError(
                "Whole contours differ in length and make no array: ask for n_points or a space, or use outlines."
            )
        if not self.outlines:
            raise EmptySetError(f"The mask gave no outline. {self.summary()}")
        return np.stack(self.outlines)

    def summary(self) -> str:
        """Say in words what was found, kept and dropped.

        Returns
        -------
        str
            One line on what was kept, and one for each kind of trouble.
        """
        lines = [f"{len(self.kept)} of {len(self.kept) + len(self.dropped)} objects outlined."]
        troubles = (
            ("Touching the border", [report.touches_border for report in self.kept]),
            ("In fragments, the largest of which is outlined", [report.n_fragments > 1 for report in self.kept]),
            ("Tiny", [report.is_tiny for report in self.kept]),
        )
        for words, flags in troubles:
            named = [report.label for report, flag in zip(self.kept, flags, strict=True) if flag]
            if named:
                lines.append(f"{words}: {_name_labels(named)}.")
        for reason in dict.fromkeys(report.dropped for report in self.dropped):
            named = [report.label for report in self.dropped if report.dropped == reason]
            lines.append(f"Dropped, {reason}: {_name_labels(named)}.")
        return "\n".join(lines)

    def to_shape_set(self, name: str = "") -> ShapeSet:
        """Return the outlines as a set, with what was reported on each as columns; needs `n_points` or `space`.

        Parameters
        ----------
        name : str, default ""
            Name of the mask; ids are ``name:label``, or the labels alone.

        Returns
        -------
        ShapeSet
            The outlines, as :func:`shapelex.read` returns them, with columns ``area``, ``rms_radius``,
            ``hole_area``, ``n_parts``, ``lost_area`` and ``touches_border``, in pixels. What was left out is in the
            notes.

        Raises
        ------
        EmptySetError
            If there is no outline.
        """
        reports = [report.columns() for report in self.kept]
        return ShapeSet(
            self.configurations,
            self.space,
            ids=[f"{name}:{report.label}" if name else str(report.label) for report in self.kept],
            metadata={column: [report[column] for report in reports] for column in reports[0]},
            notes=remark_on_objects(count_objects((*self.kept, *self.dropped), fills_holes=self.fills_holes)),
            preparation=Preparation(
                "arc length" if isinstance(self.space, Landmarks) else "least squares", left_out=self.left_out
            ),
        )


def count_objects(reports: Iterable[ObjectReport], *, fills_holes: bool = False) -> Counter[str]:
    """Return how many objects were left out for each reason, touch the border, or lost something, keyed by text."""
    counts: Counter[str] = Counter()
    for report in reports:
        if report.dropped:
            option = {_CUT_OFF: "border=keep", _WITH_HOLES: "holes=keep"}.get(report.dropped, "min_area=1")
            counts[f"{{}} left out: {report.dropped}; the option {option} keeps them."] += 1
        else:
            counts[_TOUCHING] += report.touches_border
            counts[_HOLES] += bool(has_hole(report.hole_area, report.area)) and not fills_holes
            counts[_IN_PARTS] += report.lost_area > 0
    return counts


def remark_on_objects(counts: Counter[str]) -> list[str]:
    """Return a sentence for each count of :func:`count_objects`, with the option that changes it."""
    return [text.format("1 object" if n == 1 else f"{n} objects") for text, n in counts.items() if n]


def outlines_from_mask(
    mask: ArrayLike,
    n_points: int | None = None,
    *,
    space: Space | None = None,
    which: ObjectChoice = "largest",
    threshold: float | None = None,
    min_area: int | None = None,
    border: Literal["keep", "drop"] = "keep",
    holes: Literal["keep", "fill", "drop"] = "keep",
    connectivity: Literal[4, 8] = 4,
) -> MaskOutlines:
    """Return the outlines of objects in a mask, to a fraction of a pixel.

    Each object is reduced to its largest fragment, its holes are filled, and the contour halfway between object and
    background is followed (``skimage.measure.find_contours``). Outlines run counter-clockwise with y up, from the
    leftmost of the topmost points; x and y count pixels from the center of the lower left one. Equal masks
    give equal bits, and an object gives the same outline whatever else is in the mask.

    Parameters
    ----------
    mask : array_like, shape (height, width)
        Booleans; 0 and one other value; labels, for ``which="labels"``; or gray values, with `threshold`.
    n_points : int, optional
        Return this many points at equal steps of arc length: configurations of ``Landmarks(n_points, closed=True)``.
        With neither `n_points` nor `space`, whole contours are returned, about a vertex for each pixel along them.
    space : Space, optional
        Return the configurations of this closed space that fit the outlines in least squares, such as ``BSpline(40)``.
        Landmarks are taken at equal steps, as with `n_points`.
    which : {"largest", "components", "labels"}, default "largest"
        The largest connected component; every component; or every label of a label image (0 is background).
    threshold : float, optional
        Pixels above it are foreground: 127 for black and white JPEG files, whose edges are not clean. For dark
        objects on a bright ground, give ``mask < 128``.
    min_area : int, optional
        Objects of fewer pixels are dropped, and reported. When not given, objects below 5 % of the median area (of
        objects of at least 10 pixels) are; ``min_area=1`` keeps all.
    border : {"keep", "drop"}, default "keep"
        Whether to keep objects that touch the border of the image. They are reported either way.
    holes : {"keep", "fill", "drop"}, default "keep"
        Whether to keep objects with holes of 10 pixels or of 5 % of their area. Outlines are those of the outside:
        ``"keep"`` counts such objects in the notes of a set, ``"fill"`` does not.
    connectivity : {4, 8}, default 4
        With 4, pixels that share only a corner do not belong together: specks at a corner fall off, and
        touching objects stay apart. With 8 they do, which keeps lines one pixel wide whole.

    Returns
    -------
    MaskOutlines
        The outlines in the order of labels, with reports on what was kept and dropped. An empty mask gives none.

    Raises
    ------
    ShapeInputError
        If the mask is not two-dimensional, or not binary where it should be.
    UnsupportedBySpaceError
        If `space` is open.
    ImportError
        If scikit-image is not installed; it comes with ``pip install "shapelex[io]"``.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.zeros((40, 60), dtype=int)
    >>> labels[10:30, 5:25] = 1
    >>> labels[0:15, 40:50] = 7
    >>> found = outlines_from_mask(labels, 100, which="labels")
    >>> found.configurations.shape
    (2, 100)
    >>> complex(found.outlines[0][0])
    (5+29.5j)
    >>> print(found.summary())
    2 of 2 objects outlined.
    Touching the border: 7.
    """
    target = None if space is None else check_closed_space(space)
    if n_points is not None:
        if space is not None:
            raise ParameterError(
                f"{parameter('n_points', n_points)} and {parameter('space', space)} cannot both be given: choose one."
            )
        target = Landmarks(check_count(n_points, 3, "n_points"), closed=True)
    check_choice(border, ("keep", "drop"), format_option("border"))
    check_choice(holes, ("keep", "fill", "drop"), format_option("holes"))
    check_choice(which, ("largest", "components", "labels"), format_option("which"))
    if connectivity not in _NEIGHBORS or isinstance(connectivity, bool):
        raise ParameterError(f"{parameter('connectivity')} must be 4 or 8, got {connectivity!r}.")
    labels, names = _labels_of(mask, which, threshold, connectivity)
    limit = area_limit(min_area, [] if which == "largest" else [count_pixels(labels)[1:]])
    outlines, kept, dropped = [], [], []
    for report, contour in outline_objects(labels, names, limit, border, holes, connectivity, which == "components"):
        if report.dropped:
            dropped.append(report)
            continue
        outlines.append(contour if target is None else fit_outline(contour, target))
        is_tiny = target is not None and 2 * len(contour) < target.n_coordinates
        kept.append(replace(report, is_tiny=True) if is_tiny else report)
    left_out = tuple(name for name, rule in (("border", border), ("holes", holes)) if rule == "drop")
    return MaskOutlines(tuple(outlines), target, tuple(kept), tuple(dropped), left_out, holes == "fill")


def _labels_of(
    mask: ArrayLike, which: ObjectChoice, threshold: float | None, connectivity: int
) -> tuple[IntArray, IntArray | None]:
    """Return the objects of a mask as :func:`as_labels` does; the largest one is a label in pieces."""
    image = np.asarray(mask)
    if image.dtype.kind not in "buif":
        raise ArrayTypeError(f"mask must be an array of booleans or real numbers, got dtype {image.dtype}.")
    if image.ndim != 2:
        hint = "take one channel of a color image, or one image of a stack: mask[..., 0] or mask[0]."
        raise ShapeInputError(f"mask must have shape (height, width), got {image.shape}; {hint}")
    if image.size == 0:
        raise ShapeInputError(f"mask holds no pixel: its shape is {image.shape}.")
    if which == "labels":
        if threshold is not None:
            raise ParameterError(
                f"{format_option('threshold', threshold)} cannot go with {format_option('which', 'labels')}: a label "
                f"image has none; use {format_option('which', 'components')}."
            )
        return as_labels(image, image.size)
    foreground = image != 0 if threshold is None else image > check_threshold(threshold)
    # Gray values and labels are told from a mask by a second value beside the background.
    values = image[foreground] if threshold is None and image.dtype != bool else image[:0]
    if values.size and (values != values[0]).any():
        raise ShapeInputError(
            f"mask has several values beside 0, such as {values.min()} and {values.max()}, so it is not binary. For a "
            f"label image say {format_option('which', 'labels')}, for gray values give a threshold, such as "
            f"{format_option('threshold', 127)}."
        )
    if which == "largest":
        return foreground.view(np.uint8), None
    return ndimage.label(foreground, _NEIGHBORS[connectivity])[0], None


def as_labels(image: np.ndarray[Any, Any], n_pixels: int) -> tuple[IntArray, IntArray | None]:
    """Return values of an image as labels without large gaps, and what they stand for, if not for themselves."""
    if image.dtype.kind == "f":
        if not (np.isfinite(image).all() and (image == np.rint(image)).all() and np.abs(image).max() < 2**53):
            raise ShapeInputError(
                'mask must hold whole numbers for which="labels", but some values are fractions, NaN or too large.'
            )
        image = image.astype(np.int64)
    if image.dtype == bool:
        return image.view(np.uint8), None
    lowest, highest = int(image.min()), int(image.max())
    if lowest < 0:
        raise ShapeInputError(f"mask has negative labels, down to {lowest}: labels start at 1, background is 0.")
    if highest > np.iinfo(np.int64).max:
        raise ShapeInputError(f"mask has labels up to {highest}, which need 64 bits: number its objects from 1.")
    if highest <= min(n_pixels, _MAX_OBJECTS):
        return image if image.dtype.itemsize <= 4 else image.astype(np.int32), None
    # SciPy makes a list as long as the largest label, so they are numbered by rank.
    names = np.zeros(1, image.dtype)
    blocks = np.array_split(image, 1 + image.size // BLOCK_PIXELS)
    for block in blocks:
        names = np.union1d(names, block)
    return np.concatenate([np.searchsorted(names, block).astype(np.int32) for block in blocks]), names


def count_pixels(labels: IntArray) -> IntArray:
    """Return the number of pixels of each label from 0."""
    counts = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    for block in np.array_split(labels, 1 + labels.size // BLOCK_PIXELS):
        counts += np.bincount(block.ravel(), minlength=len(counts))
    return counts


def area_limit(min_area: int | None, areas: Iterable[IntArray]) -> tuple[int, str]:
    """Return the area in pixels below which an object is left out, and why; without `min_area`, from all areas."""
    if min_area is not None:
        return check_count(min_area, 1, format_option("min_area")), f"smaller than min_area={min_area}"
    found = np.concatenate([np.empty(0, dtype=np.int64), *areas])
    found = found[found >= (_DUST if found.max(initial=0) >= _DUST else 1)]
    least = max(1, int(np.ceil(SPECK_SHARE * np.median(found)))) if found.size else 1
    return least, f"smaller than {100 * SPECK_SHARE:g} % of the median area ({least} pixels)"


def check_threshold(threshold: float) -> float:
    """Return a threshold as a float; refuse what is no finite number."""
    if not np.isfinite(check_number(threshold, format_option("threshold"))):
        raise ParameterError(f"{format_option('threshold')} must be finite, got {threshold}.")
    return float(threshold)


def outline_objects(
    labels: IntArray,
    names: IntArray | None,
    limit: tuple[int, str],
    border: str,
    holes: str,
    connectivity: int,
    is_whole: bool,
    frame: tuple[int, int, int, int] | None = None,
) -> Iterator[tuple[ObjectReport, ComplexArray]]:
    """Yield a report and the whole contour for each object of a label image, also for those that are dropped.

    Labels stand for `names`, if given, and with `is_whole` each is in one piece. Objects of an area below the limit are
    dropped for the reason that comes with it, and those at the border or with holes where `border` or `holes` says so.
    `frame` has the top and left of the labels in a larger image, and the height and width of that.
    """
    find_contours = load_library("skimage.measure", "scikit-image", "Following outlines").find_contours
    first_row, first_column, height, width = frame or (0, 0, *labels.shape)
    boxes = ndimage.find_objects(labels)
    if len(boxes) > _MAX_OBJECTS:
        raise ShapeInputError(f"It has {len(boxes)} objects, more than {_MAX_OBJECTS}: it looks like noise.")
    n_covered = sum((box[0].stop - box[0].start) * (box[1].stop - box[1].start) for box in boxes if box is not None)
    if n_covered > _MAX_OVERLAP * height * width:
        # Outlining them would take hours.
        raise ShapeInputError(f"Its {len(boxes)} objects are scattered all over each other: it looks like noise.")
    for number, box in enumerate(boxes, start=1):
        if box is None:
            continue
        top, left = first_row + box[0].start, first_column + box[1].start
        pixels = labels[box] == number
        n_fragments, lost_area = 1, 0
        if not is_whole:
            fragments, n_fragments = ndimage.label(pixels, _NEIGHBORS[connectivity])
        if n_fragments > 1:
            areas = np.bincount(fragments.ravel())
            areas[0] = 0
            pixels = fragments == areas.argmax()
            lost_area = int(areas.sum() - areas.max())
        area = n_pixels = int(np.count_nonzero(pixels))
        framed = np.zeros((pixels.shape[0] + 2, pixels.shape[1] + 2), dtype=bool)
        framed[1:-1, 1:-1] = pixels
        del pixels
        n_vertices = sum(int(np.count_nonzero(np.diff(framed, axis=axis))) for axis in (0, 1))
        if n_vertices > _MAX_VERTICES:
            raise ShapeInputError(f"An object in it has outlines of {n_vertices} points: it looks like noise.")
        # Pixels that share a corner are joined whatever the connectivity: in one piece that only closes holes there.
        # Contours run clockwise around objects, so they are reversed.
        contours = find_contours(framed, 0.5, fully_connected="high")
        outlines = [c[:0:-1, 1] + (left - 1) + 1j * (height - top - c[:0:-1, 0]) for c in contours]
        outline = outlines[0]
        if len(outlines) > 1:
            # The others are holes. Cutting the corners of pixels halfway takes half a pixel in all off any outline.
            outline = max(outlines, key=signed_areas)
            area = round(float(signed_areas(outline)) + 0.5)
        outline = start_at_top(outline)
        x, y = outline.real, outline.imag
        touches_border = bool(x.min() < 0 or y.min() < 0 or x.max() > width - 1 or y.max() > height - 1)
        dropped = ""
        if area < limit[0]:
            dropped = limit[1]
        elif touches_border and border == "drop":
            dropped = _CUT_OFF
        elif holes == "drop" and has_hole(area - n_pixels, area):
            dropped = _WITH_HOLES
        report = ObjectReport(
            label=number if names is None else int(names[number]),
            area=area,
            hole_area=area - n_pixels,
            n_fragments=n_fragments,
            lost_area=lost_area,
            touches_border=touches_border,
            is_tiny=False,
            dropped=dropped,
            rms_radius=0.0 if dropped else rms_radius(outline),
        )
        yield report, outline


def check_closed_space(space: Space) -> Space:
    """Refuse what is no space of closed curves."""
    if not isinstance(space, Space):
        raise ParameterTypeError(f"{parameter('space')} must be a Space, such as BSpline(40), got {space!r}.")
    if not space.closed:
        raise UnsupportedBySpaceError(
            f"{space} holds open curves, but outlines are closed: use {parameter('closed', True)}."
        )
    return space


def start_at_top(outline: ComplexArray) -> ComplexArray:
    """Return the outline from the leftmost of its topmost points on."""
    topmost = np.flatnonzero(outline.imag == outline.imag.max())
    start = topmost[outline.real[topmost].argmin()]
    return np.concatenate([outline[start:], outline[:start]])


def fit_outline(outline: ComplexArray, space: Space) -> ComplexArray:
    """Return the configuration of a closed space that follows the outline: points at equal steps, or least squares."""
    if isinstance(space, Landmarks):
        return resample_polyline(outline, space.n_points, closed=True)
    (curve,) = fit_curves([outline], space)
    return np.asarray(curve)


def rms_radius(outline: ComplexArray) -> float:
    """Return the root mean square distance of a closed outline from its centroid, whatever its vertices are."""
    following = np.concatenate([outline[1:], outline[:1]])
    lengths = np.abs(following - outline)
    total = lengths.sum()
    center = (lengths * (outline + following)).sum() / (2 * total)
    start, end = outline - center, following - center
    # The mean of |z|² along a straight edge.
    squares = (np.abs(start) ** 2 + np.abs(end) ** 2 + (start.conj() * end).real) / 3
    return float(np.sqrt((lengths * squares).sum() / total))


def _name_labels(labels: list[int]) -> str:
    named = ", ".join(map(str, labels[:10]))
    return f"{named} and {len(labels) - 10} more" if len(labels) > 10 else named


def closes_a_loop(report: ObjectReport) -> bool:
    """Tell whether an object has a hole that is so large that it has no midline."""
    return report.hole_area > _LOOP * report.area


def remark_on_loops(n_loops: int) -> list[str]:
    """Return what is said of objects that have no midline, if there are any."""
    words = "1 object closes a loop and has" if n_loops == 1 else f"{n_loops} objects close a loop and have"
    return [f"{words} no midline: left out."] if n_loops else []


def midline_inside(outline: ComplexArray) -> ComplexArray:
    """Return the midline of an object, given by its outline in pixels, as points about a pixel apart."""
    draw = load_library("skimage.draw", "scikit-image", "Finding midlines")
    skeletonize = load_library("skimage.morphology", "scikit-image", "Finding midlines").skeletonize
    corner = complex(np.floor(outline.real.min()) - 1, np.floor(outline.imag.min()) - 1)
    moved = outline - corner
    shape = int(moved.imag.max()) + 3, int(moved.real.max()) + 3
    pixels = draw.polygon2mask(shape, np.column_stack([moved.imag, moved.real]))
    radii = ndimage.distance_transform_edt(pixels)
    y, x = np.nonzero(skeletonize(pixels))
    path = _longest_path(y, x, shape)
    width = radii[y[path], x[path]]
    # The last pixels bend into a corner of the end, or fork there.
    middle = np.arange(len(path))
    kept = path[(middle >= width[0]) & (middle < len(path) - width[-1])]
    points = x[kept if len(kept) > 1 else path] + 1j * y[kept if len(kept) > 1 else path]
    if len(points) == 1:
        # A disc has no direction: its midline is a diameter.
        points = np.array([points[0] - 0.5, points[0] + 0.5])
    smooth = ndimage.gaussian_filter1d(points, min(2.0, len(points) / 8), mode="nearest")
    reach = max(2, int(np.median(width)))
    first, last = _extension(smooth[::-1], reach, pixels), _extension(smooth, reach, pixels)
    line: ComplexArray = np.concatenate([first[::-1], smooth, last]) + corner
    return line


def _longest_path(y: Any, x: Any, shape: tuple[int, int]) -> Any:
    """Return the pixels of the longest of all shortest paths in a skeleton, in order."""
    numbers = np.full((shape[0] + 1, shape[1] + 2), -1)
    numbers[y, x] = np.arange(len(y))
    starts, ends, lengths = [], [], []
    for down, right, length in _STEPS:
        neighbors = numbers[y + down, x + right]
        starts.append(np.flatnonzero(neighbors >= 0))
        ends.append(neighbors[neighbors >= 0])
        lengths.append(np.full(len(ends[-1]), length))
    edges = np.concatenate(lengths), (np.concatenate(starts), np.concatenate(ends))
    graph = sparse.csr_array(edges, shape=(len(y), len(y)))
    one: FloatArray = sparse.csgraph.dijkstra(graph, directed=False, indices=0)
    start = int(np.where(np.isfinite(one), one, -1).argmax())
    distances, before = sparse.csgraph.dijkstra(graph, directed=False, indices=start, return_predecessors=True)
    place = int(np.where(np.isfinite(distances), distances, -1).argmax())
    path = [place]
    while place != start:
        place = int(before[place])
        path.append(place)
    return np.array(path)


def _extension(points: ComplexArray, reach: int, pixels: Any) -> ComplexArray:
    """Return the point where a line that goes straight on leaves the object."""
    direction = points[-1] - points[-1 - min(reach, len(points) - 1)]
    steps = np.arange(1, int(np.hypot(*pixels.shape) / _FINE)) * _FINE
    ahead = points[-1] + direction / np.abs(direction) * steps
    down = np.clip(ahead.imag.round().astype(int), 0, pixels.shape[0] - 1)
    right = np.clip(ahead.real.round().astype(int), 0, pixels.shape[1] - 1)
    n_inside = int(pixels[down, right].argmin())
    end: ComplexArray = ahead[n_inside - 1 : n_inside] if n_inside else ahead[:0]
    return end
