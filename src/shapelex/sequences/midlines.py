"""Midlines of long, thin objects in masks: worms, roots, filaments."""

from typing import Any, Literal

import numpy as np

from shapelex._typing import ArrayLike
from shapelex._validation import check_count
from shapelex.exceptions import EmptySetError, ShapeInputError
from shapelex.geometry.resampling import resample_polyline
from shapelex.io import contours
from shapelex.io.contours import ObjectChoice, outlines_from_mask
from shapelex.sequences.registration import register_sequence
from shapelex.shapes import ShapeSet
from shapelex.shapes.preparation import Preparation
from shapelex.spaces import Landmarks


def midlines_from_mask(
    mask: ArrayLike,
    n_points: int = 20,
    *,
    which: ObjectChoice = "largest",
    threshold: float | None = None,
    min_area: int | None = None,
    border: Literal["keep", "drop"] = "keep",
    connectivity: Literal[4, 8] = 4,
) -> ShapeSet:
    """Return the midlines of long, thin objects in a mask or in the frames of a stack, as open curves.

    The midline is the longest path in the skeleton of the object (``skimage.morphology.skeletonize``), without its last
    bits, which bend into corners, and extended straight on to the edge. In a stack the ends are ordered along time, by
    :func:`~shapelex.sequences.register_sequence`. Objects that close a loop have no midline: they are left out, and a
    note of the set says so.

    Parameters
    ----------
    mask : array_like, shape (height, width) or (n_frames, height, width)
        A mask, or one for each frame, as in :func:`~shapelex.outlines_from_mask`.
    n_points : int, default 20
        Points of a midline, at equal steps.
    which, threshold, min_area, border, connectivity
        As in :func:`~shapelex.outlines_from_mask`. In a stack, each label is a time series for ``which="labels"``, and
        the largest objects of all frames are one for ``which="largest"``.

    Returns
    -------
    ShapeSet
        The midlines, with the columns of the objects, ``frame`` in a stack, and notes on what was left out. x and y
        count pixels from the center of the lower left one.

    Raises
    ------
    EmptySetError
        If there is no object that has a midline.
    ShapeInputError
        If the mask has neither two nor three axes.
    ImportError
        If scikit-image is not installed; it comes with ``pip install "shapelex[io]"``.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.zeros((20, 60), dtype=bool)
    >>> mask[8:13, 10:51] = True
    >>> line = midlines_from_mask(mask, 5).configurations[0]
    >>> np.abs(np.diff(line)).round(1).tolist()
    [10.2, 10.2, 10.2, 10.2]
    """
    pages = np.asarray(mask)
    is_stack = pages.ndim == 3
    if pages.ndim not in (2, 3):
        raise ShapeInputError(f"mask must have shape (height, width) or (n_frames, height, width), got {pages.shape}.")
    check_count(n_points, 2, "n_points")
    lines, rows, reports = [], [], []
    n_loops = 0
    for frame, page in enumerate(pages if is_stack else pages[None]):
        found = outlines_from_mask(
            page, which=which, threshold=threshold, min_area=min_area, border=border, connectivity=connectivity
        )
        reports += [*found.kept, *found.dropped]
        for report, outline in zip(found.kept, found.outlines, strict=True):
            if contours.closes_a_loop(report):
                n_loops += 1
                continue
            lines.append(resample_polyline(contours.midline_inside(outline), n_points, closed=False))
            rows.append({"frame": frame, "number": report.label, **report.columns()})
    notes = [*contours.remark_on_objects(contours.count_objects(reports)), *contours.remark_on_loops(n_loops)]
    if not lines:
        raise EmptySetError(f"The mask gave no midline. {' '.join(notes)}".strip())
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    numbers, frames = columns.pop("number"), columns.pop("frame")
    shapes = ShapeSet(
        np.array(lines),
        Landmarks(n_points),
        ids=[f"{frame}:{number}" if is_stack else str(number) for frame, number in zip(frames, numbers, strict=True)],
        metadata=columns,
        notes=notes,
        preparation=Preparation("arc length"),
    )
    if not is_stack or which == "components":
        return shapes
    series = numbers if which == "labels" else np.zeros(len(lines), dtype=np.int64)
    shapes = shapes.replace(sequence=series, metadata={"frame": frames, **columns})
    ordered = register_sequence(shapes)
    return shapes.replace(configurations=ordered.configurations, notes=(*notes, *ordered.remarks))
