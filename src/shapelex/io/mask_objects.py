"""The objects in a mask: every label, every component or the largest one, whole and without holes.

In comes a two-dimensional mask; out go its objects, each as the filled pixels of its largest fragment in a box of its
own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import ndimage

from shapelex._typing import ArrayLike, BoolArray, IntArray
from shapelex._validation import check_choice
from shapelex.exceptions import ArrayTypeError, ShapeInputError

ObjectChoice: TypeAlias = Literal["largest", "components", "labels"]
OBJECT_CHOICES = ("largest", "components", "labels")

# Objects below this part of the median area are specks, where no least area is given.
SPECK_SHARE = 0.05
# Dust of fewer pixels has no say in what the median is, unless there is nothing else.
_DUST = 10

_NEIGHBORS = {4: ndimage.generate_binary_structure(2, 1), 8: ndimage.generate_binary_structure(2, 2)}


@dataclass(frozen=True)
class MaskObject:
    """One object of a mask: its largest fragment, holes filled.

    Parameters
    ----------
    label : int
        Its value in a label image; the number of its component, from 1, otherwise.
    pixels : ndarray of bool, shape (height, width)
        The pixels, with a frame of background one pixel wide.
    row, column : int
        Place in the mask of the first pixel inside that frame.
    area : int
        Number of pixels, filled holes included.
    hole_area : int
        Number of pixels that were holes.
    n_fragments : int
        In how many pieces the object was.
    lost_area : int
        Number of pixels of the smaller pieces, which are left out.
    touches_border : bool
        Whether it reaches the edge of the image, so that a part of it may be missing.
    """

    label: int
    pixels: BoolArray
    row: int
    column: int
    area: int
    hole_area: int
    n_fragments: int
    lost_area: int
    touches_border: bool


def find_objects(
    mask: ArrayLike, which: ObjectChoice, connectivity: int, threshold: float | None
) -> Iterator[MaskObject]:
    """Yield the objects of a mask in the order of their labels.

    Parameters
    ----------
    mask : array_like, shape (height, width)
        Booleans, or numbers: labels, or gray values to be compared with `threshold`.
    which : {"largest", "components", "labels"}
        Which objects.
    connectivity : {4, 8}
        Whether pixels that share only a corner belong together.
    threshold : float, optional
        Foreground is what is above it.

    Yields
    ------
    MaskObject
        The next object.
    """
    check_choice(which, OBJECT_CHOICES, "which")
    if connectivity not in _NEIGHBORS or isinstance(connectivity, bool):
        raise ValueError(f"connectivity must be 4 or 8, got {connectivity!r}.")
    image = _as_image(mask)
    structure = _NEIGHBORS[connectivity]
    if which == "labels":
        yield from _each_label(_as_labels(image, threshold), structure)
        return
    components, n_components = ndimage.label(_as_foreground(image, threshold), structure)
    if which == "components":
        yield from _each_label(components, structure)
    elif n_components:
        areas = np.bincount(components.ravel(), minlength=n_components + 1)
        areas[0] = 0
        largest = int(areas.argmax())
        place = ndimage.find_objects(components)[largest - 1]
        lost = int(areas.sum() - areas[largest])
        yield _whole(components[place] == largest, place, image.shape, 1, n_components, lost)


def speck_area(areas: IntArray) -> int:
    """Return the area in pixels below which an object is a speck, from the areas of all objects of an image."""
    solid = areas[areas >= _DUST]
    if not areas.size:
        return 1
    return max(1, int(np.ceil(SPECK_SHARE * np.median(solid if solid.size else areas))))


def _as_image(mask: ArrayLike) -> np.ndarray[Any, Any]:
    image = np.asarray(mask)
    if image.dtype.kind not in "buif":
        raise ArrayTypeError(f"mask must be an array of booleans or real numbers, got dtype {image.dtype}.")
    if image.ndim != 2:
        hint = "take one channel of a color image, or one image of a stack: mask[..., 0] or mask[0]."
        raise ShapeInputError(f"mask must have shape (height, width), got {image.shape}; {hint}")
    if image.size == 0:
        raise ShapeInputError(f"mask holds no pixel: its shape is {image.shape}.")
    return image


def _as_foreground(image: np.ndarray[Any, Any], threshold: float | None) -> BoolArray:
    if threshold is not None:
        above: BoolArray = image > check_threshold(threshold)
        return above
    if image.dtype == bool:
        return image
    foreground: BoolArray = image != 0
    # Gray values and labels are told from a mask by a second value beside the background.
    values = image[foreground]
    if values.size and not (values == values[0]).all():
        raise ShapeInputError(
            f"mask has several values beside 0, such as {values.min()} and {values.max()}, so it is not binary. For a "
            'label image say which="labels", for gray values give a threshold, such as threshold=127.'
        )
    return foreground


def _as_labels(image: np.ndarray[Any, Any], threshold: float | None) -> IntArray:
    if threshold is not None:
        raise ValueError(
            f'threshold={threshold} cannot go with which="labels": a label image has none; use which="components".'
        )
    if image.dtype == bool:
        return image.astype(np.int32)
    if image.dtype.kind == "f":
        if not (np.isfinite(image).all() and (image == np.rint(image)).all() and np.abs(image).max() < 2**53):
            raise ShapeInputError(
                'mask must hold whole numbers for which="labels", but some values are fractions, NaN or too large.'
            )
        image = image.astype(np.int64)
    if image.min() < 0:
        raise ShapeInputError(f"mask has negative labels, down to {image.min()}: labels start at 1, background is 0.")
    return image


def check_threshold(threshold: float) -> float:
    """Return a threshold as a float; refuse what is no finite number."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float | np.integer | np.floating):
        raise TypeError(f"threshold must be a number, got {threshold!r}.")
    if not np.isfinite(threshold):
        raise ValueError(f"threshold must be finite, got {threshold}.")
    return float(threshold)


def _each_label(labels: IntArray, structure: BoolArray) -> Iterator[MaskObject]:
    names: IntArray | range
    if int(labels.max()) > labels.size:
        # SciPy makes a list as long as the largest label.
        names, compact = np.unique(labels, return_inverse=True)
        compact = compact.reshape(labels.shape) + int(names[0] != 0)
        names = names[names != 0]
    else:
        compact = labels.astype(np.int32, copy=False)
        names = range(1, int(labels.max()) + 1)
    for number, place in enumerate(ndimage.find_objects(compact), start=1):
        if place is None:
            continue
        pixels = compact[place] == number
        fragments, n_fragments = ndimage.label(pixels, structure)
        lost = 0
        if n_fragments > 1:
            areas = np.bincount(fragments.ravel())
            areas[0] = 0
            pixels = fragments == areas.argmax()
            lost = int(areas.sum() - areas.max())
        yield _whole(pixels, place, labels.shape, int(names[number - 1]), n_fragments, lost)


def _whole(
    pixels: BoolArray, place: tuple[slice, slice], shape: tuple[int, ...], label: int, n_fragments: int, lost_area: int
) -> MaskObject:
    row, column = place[0].start, place[1].start
    framed = np.pad(pixels, 1)
    background, _ = ndimage.label(~framed)
    filled = background != background[0, 0]
    area = int(np.count_nonzero(filled))
    # The box may be that of several fragments, so its edge says nothing about the one that is kept.
    edges = (
        (row == 0, filled[1]),
        (place[0].stop == shape[0], filled[-2]),
        (column == 0, filled[:, 1]),
        (place[1].stop == shape[1], filled[:, -2]),
    )
    return MaskObject(
        label=label,
        pixels=filled,
        row=row,
        column=column,
        area=area,
        hole_area=area - int(np.count_nonzero(pixels)),
        n_fragments=n_fragments,
        lost_area=lost_area,
        touches_border=any(is_at_border and bool(edge.any()) for is_at_border, edge in edges),
    )
