"""Outlines of the objects in a mask.

In comes a mask, ``(height, width)`` with its first row on top; out go closed outlines as complex points ``x + iy`` with
y up, counter-clockwise from the topmost point, and for each object what is worth knowing: its area, its fragments,
whether it touches the border.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import check_choice, check_count
from shapelex.exceptions import EmptySetError, ShapeInputError, UnsupportedBySpaceError
from shapelex.geometry.resampling import resample_polyline
from shapelex.io.assembly import fit_curves
from shapelex.io.mask_objects import SPECK_SHARE, MaskObject, ObjectChoice, find_objects, speck_area
from shapelex.shapes import ShapeSet
from shapelex.shapes.preparation import Preparation
from shapelex.spaces import Landmarks, Space

_CUT_OFF = "touching the border"
_TOUCHING, _IN_PARTS = "touches", "parts"
_REMARKS = {
    _TOUCHING: 'at the border of the image kept, perhaps cut off; border="drop" leaves them out.',
    _IN_PARTS: "in several parts, of which the largest was outlined; the columns n_parts and lost_area tell which.",
}


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
    centroid_size : float
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
    centroid_size: float = 0.0

    def columns(self) -> dict[str, Any]:
        """Return what a set of shapes keeps of the object, by the names of its columns."""
        return {
            "area": self.area,
            "centroid_size": self.centroid_size,
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
    """

    outlines: tuple[ComplexArray, ...]
    space: Space | None
    kept: tuple[ObjectReport, ...]
    dropped: tuple[ObjectReport, ...]

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
            The outlines, as :func:`shapelex.read` returns them, with columns ``area``, ``centroid_size``,
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
            notes=remark_on_objects(count_objects((*self.kept, *self.dropped))),
            preparation=Preparation("arc length" if isinstance(self.space, Landmarks) else "least squares"),
        )


def count_objects(reports: Iterable[ObjectReport]) -> Counter[str]:
    """Return how many objects were left out for each reason, touch the border, or lost a part."""
    counts: Counter[str] = Counter()
    for report in reports:
        if report.dropped:
            counts[report.dropped] += 1
        else:
            counts[_TOUCHING] += report.touches_border
            counts[_IN_PARTS] += report.lost_area > 0
    return counts


def remark_on_objects(counts: Counter[str]) -> list[str]:
    """Say what became of objects, a sentence for each count of :func:`count_objects`, with the option to change it."""
    remarks = []
    for what, count in counts.items():
        noun = "1 object" if count == 1 else f"{count} objects"
        if count and what in _REMARKS:
            remarks.append(f"{noun} {_REMARKS[what]}")
        elif count:
            option = 'border="keep"' if what == _CUT_OFF else "min_area=1"
            remarks.append(f"{noun} left out: {what}; {option} keeps them.")
    return remarks


def outlines_from_mask(
    mask: ArrayLike,
    n_points: int | None = None,
    *,
    space: Space | None = None,
    which: ObjectChoice = "largest",
    threshold: float | None = None,
    min_area: int | None = None,
    border: Literal["keep", "drop"] = "keep",
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
    target = _target_space(n_points, space)
    least_area = None if min_area is None else check_count(min_area, 1, "min_area")
    check_choice(border, ("keep", "drop"), "border")
    objects: Iterable[MaskObject] = find_objects(mask, which, connectivity, threshold)
    reason = f"smaller than min_area={least_area}"
    if least_area is None:
        objects = list(objects)
        least_area = speck_area(np.array([found.area for found in objects], dtype=np.int64))
        reason = speck_reason(least_area)
    return trace_objects(objects, np.shape(mask)[0], target, least_area, reason, border, connectivity)


def speck_reason(least_area: int) -> str:
    """Say why a speck is left out."""
    return f"smaller than {100 * SPECK_SHARE:g} % of the median area ({least_area} pixels)"


def trace_objects(
    objects: Iterable[MaskObject],
    height: int,
    target: Space | None,
    least_area: int,
    reason: str,
    border: str,
    connectivity: int = 4,
) -> MaskOutlines:
    """Return the outlines of the objects of a mask; those below the least area are dropped for the reason given."""
    find_contours = load_find_contours()
    outlines: list[ComplexArray] = []
    kept: list[ObjectReport] = []
    dropped: list[ObjectReport] = []
    for found in objects:
        if found.area < least_area:
            dropped.append(_report(found, dropped=reason))
        elif found.touches_border and border == "drop":
            dropped.append(_report(found, dropped=_CUT_OFF))
        else:
            contour = _contour(found, height, connectivity, find_contours)
            outlines.append(contour if target is None else fit_outline(contour, target))
            is_tiny = target is not None and 2 * len(contour) < target.n_coordinates
            kept.append(_report(found, is_tiny=is_tiny, centroid_size=centroid_size(contour)))
    return MaskOutlines(tuple(outlines), target, tuple(kept), tuple(dropped))


def _target_space(n_points: int | None, space: Space | None) -> Space | None:
    if space is None:
        return None if n_points is None else Landmarks(check_count(n_points, 3, "n_points"), closed=True)
    if n_points is not None:
        raise ValueError(f"n_points={n_points} and space={space} cannot both be given: choose one.")
    return check_closed_space(space)


def check_closed_space(space: Space) -> Space:
    """Refuse what is no space of closed curves."""
    if not isinstance(space, Space):
        raise TypeError(f"space must be a Space, such as BSpline(40), got {space!r}.")
    if not space.closed:
        raise UnsupportedBySpaceError(f"{space} holds open curves, but outlines are closed: use closed=True.")
    return space


def load_find_contours() -> Callable[..., list[Any]]:
    """Return scikit-image's contour finder, or say how to install it."""
    try:
        from skimage.measure import find_contours
    except ImportError as error:
        raise ImportError(
            'Outlines of images need scikit-image, which is not installed: pip install "shapelex[io]".'
        ) from error
    found: Callable[..., list[Any]] = find_contours
    return found


def _contour(
    found: MaskObject, height: int, connectivity: int, find_contours: Callable[..., list[Any]]
) -> ComplexArray:
    # Without holes and in one piece, with the saddles joined as its pixels are, an object has exactly one contour.
    contours = find_contours(found.pixels, 0.5, fully_connected="low" if connectivity == 4 else "high")
    assert len(contours) == 1
    rows, columns = contours[0][:-1].T - 1
    contour = np.empty(len(rows), dtype=np.complex128)
    contour.real = columns + found.column
    contour.imag = height - 1 - (rows + found.row)
    return orient_outline(contour)


def signed_area(outline: ComplexArray) -> float:
    """Return the area inside a closed outline, negative where it runs clockwise."""
    x, y = outline.real - outline.real[0], outline.imag - outline.imag[0]
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2


def orient_outline(outline: ComplexArray) -> ComplexArray:
    """Return the outline counter-clockwise, from the leftmost of its topmost points."""
    if signed_area(outline) < 0:
        outline = outline[::-1]
    start = np.lexsort((outline.real, -outline.imag))[0]
    return np.roll(outline, -start)


def fit_outline(outline: ComplexArray, space: Space) -> ComplexArray:
    """Return the configuration of a closed space that follows the outline: points at equal steps, or least squares."""
    if isinstance(space, Landmarks):
        return resample_polyline(outline, space.n_points, closed=True)
    (curve,) = fit_curves([outline], space)
    return np.asarray(curve)


def centroid_size(outline: ComplexArray) -> float:
    """Return the root mean square distance of a closed outline from its centroid, whatever its vertices are."""
    following = np.roll(outline, -1)
    lengths = np.abs(following - outline)
    total = lengths.sum()
    center = (lengths * (outline + following)).sum() / (2 * total)
    start, end = outline - center, following - center
    # The mean of |z|² along a straight edge.
    squares = (np.abs(start) ** 2 + np.abs(end) ** 2 + (start.conj() * end).real) / 3
    return float(np.sqrt((lengths * squares).sum() / total))


def _report(found: MaskObject, **seen: Any) -> ObjectReport:
    return ObjectReport(
        label=found.label,
        area=found.area,
        hole_area=found.hole_area,
        n_fragments=found.n_fragments,
        lost_area=found.lost_area,
        touches_border=found.touches_border,
        **{"is_tiny": False, **seen},
    )


def _name_labels(labels: list[int]) -> str:
    named = ", ".join(map(str, labels[:10]))
    return f"{named} and {len(labels) - 10} more" if len(labels) > 10 else named
