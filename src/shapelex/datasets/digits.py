"""Outlines of the handwritten digits that come with scikit-learn: real shapes that need no download."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import ndimage

from shapelex._extras import load_library
from shapelex._typing import ComplexArray, FloatArray
from shapelex._validation import check_count
from shapelex.io.contours import check_closed_space, fit_outline, start_at_top
from shapelex.shapes import ShapeSet
from shapelex.shapes.summary import signed_areas
from shapelex.spaces import Landmarks, Space

# Gray values run from 0 to 16. At 6 the strokes of all but a few digits hang together.
_LEVEL = 6.0
# Cubic interpolation between the pixels, that many steps from one to the next.
_STEPS = 4
_FRAME = 2
# A part smaller than this share of the largest is a speck, not a stroke.
_SPECK = 0.05
# Below it, the outline of the largest part is not that of the digit.
_LEAST_SHARE = 0.95


def load_digits_outlines(n_points: int = 64, *, space: Space | None = None, only_whole: bool = True) -> ShapeSet:
    """Return the outer outlines of 1,797 handwritten digits, from scikit-learn's bundled images.

    Each image of 8 × 8 pixels is interpolated by cubic splines, and the contour of its largest part is followed.
    Outlines run counter-clockwise with y up, from the topmost point; holes, as in 0 or 8, are not seen.

    Parameters
    ----------
    n_points : int, default 64
        Points of an outline, at equal steps of arc length.
    space : Space, optional
        A closed space to fit the outlines in instead, such as ``BSpline(24)``; `n_points` is then not used.
    only_whole : bool, default True
        Leave out the few digits whose ink falls into several parts, so that the outline of the largest part is not the
        digit's. The notes of the set say how many.

    Returns
    -------
    ShapeSet
        Outlines with labels ``"0"`` to ``"9"`` and ids that count scikit-learn's rows; the column ``largest_part``
        tells the share of the inked area inside the outline.

    Raises
    ------
    ImportError
        If scikit-image is not installed; it comes with ``pip install "shapelex[io]"``.

    Examples
    --------
    >>> import shapelex as sx
    >>> sx.datasets.load_digits_outlines(32)
    ShapeSet(1793 shapes, space=Landmarks(n_points=32, closed=True), 10 labels, metadata: largest_part)
    """
    n_wanted = check_count(n_points, 3, "n_points")
    target = Landmarks(n_wanted, closed=True) if space is None else check_closed_space(space)
    from sklearn.datasets import load_digits

    find_contours = load_library("skimage.measure", "scikit-image", "Following outlines").find_contours
    digits: Any = load_digits()
    outlines = np.empty((len(digits.images), target.n_coordinates), dtype=np.complex128)
    shares = np.empty(len(digits.images))
    for row, image in enumerate(digits.images):
        contour, shares[row] = _outer_contour(image, find_contours)
        outlines[row] = fit_outline(contour, target)
    kept = shares >= _LEAST_SHARE if only_whole else np.ones(len(shares), dtype=bool)
    n_broken = int(np.count_nonzero(~kept))
    return ShapeSet(
        outlines[kept],
        target,
        ids=np.flatnonzero(kept),
        labels=digits.target[kept],
        metadata={"largest_part": shares[kept]},
        notes=(f"{n_broken} digits in several parts left out",) if n_broken else (),
        provenance={"source": "scikit-learn, load_digits (UCI, optical recognition of handwritten digits)"},
    )


def _outer_contour(image: FloatArray, find_contours: Callable[..., list[Any]]) -> tuple[ComplexArray, float]:
    """Return the contour of the largest part, in pixels of the image, and its share of the inked area."""
    framed = np.pad(image, _FRAME)
    n_fine = (len(framed) - 1) * _STEPS + 1
    fine = ndimage.zoom(framed, n_fine / len(framed), order=3)
    bottom = 1j * (len(image) - 1)
    contours = [bottom + (points[:-1] / _STEPS - _FRAME) @ [-1j, 1] for points in find_contours(fine, _LEVEL)]
    areas = np.array([signed_areas(contour) for contour in contours])
    largest = int(np.abs(areas).argmax())
    # Parts turn the same way as the largest one; holes turn the other way.
    parts = areas * np.sign(areas[largest])
    parts = parts[parts > _SPECK * parts[largest]]
    outline = contours[largest] if areas[largest] > 0 else contours[largest][::-1]
    return start_at_top(outline), float(parts.max() / parts.sum())
