"""Mend sets of shapes: mirror specimens, mark missing landmarks."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import check_number
from shapelex.exceptions import ShapeInputError, UnsupportedBySpaceError
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks, Space

_NAMED = 5


def flip(shapes: ShapeSet, ids: Sequence[str] | ArrayLike) -> ShapeSet:
    """Return a set in which some shapes are replaced by their mirror images.

    For specimens that were digitized from the other side, or left ones among right ones. A shape is mirrored at the
    vertical line through its middle, and a closed outline keeps its direction, and its first point. Outlines need a new
    registration after that.

    Parameters
    ----------
    shapes : ShapeSet
        The set.
    ids : sequence of str
        Ids of the shapes to mirror.

    Returns
    -------
    ShapeSet
        The set, in memory; a note says which shapes were mirrored.

    Raises
    ------
    ShapeInputError
        If an id is not in the set.
    UnsupportedBySpaceError
        If the space has no mirror images.

    Examples
    --------
    >>> import shapelex as sx
    >>> wings = sx.ShapeSet([[0, 3, 2j], [0, 3, 2j]], ids=["left", "right"])
    >>> sx.flip(wings, ["left"]).configurations[0].tolist()
    [(2+0j), (-1+0j), (2+2j)]
    """
    wanted = np.atleast_1d(np.asarray(ids, dtype=np.str_))
    unknown = np.setdiff1d(wanted, shapes.ids)
    if len(unknown):
        raise ShapeInputError(f"ids must be those of shapes, but there is no shape {', '.join(unknown[:_NAMED])}.")
    rows = np.flatnonzero(np.isin(shapes.ids, wanted))
    configurations = np.array(shapes.configurations)
    configurations[rows] = mirror_images(configurations[rows], shapes.space)
    return flipped_set(shapes.replace(configurations=configurations), shapes.ids[rows].tolist())


def flipped_set(shapes: ShapeSet, ids: Sequence[str]) -> ShapeSet:
    """Return a set, of which some shapes were mirrored, with a note that says so; it is no longer registered."""
    named = ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")
    note = f"{len(ids)} shape{'s' if len(ids) != 1 else ''} mirrored: {named}"
    preparation = shapes.preparation
    if preparation is not None and preparation.is_registered:
        preparation = replace(preparation, mean=None)
    return shapes.replace(notes=(*shapes.notes, note), preparation=preparation)


def mirror_images(configurations: ComplexArray, space: Space) -> ComplexArray:
    """Return the mirror images of shapes in their places; closed outlines keep their direction."""
    if has_no_mirror(space):
        raise UnsupportedBySpaceError(f"{space} has no mirror images: conjugated coordinates are another curve.")
    if not len(configurations):
        return configurations
    middle = np.nanmean(configurations.real, axis=1, keepdims=True)
    mirrored = (2 * middle * space.shift - configurations.conj()).astype(configurations.dtype)
    return space.reverse_rows(mirrored) if space.closed else mirrored


def has_no_mirror(space: Space) -> bool:
    """Return whether the conjugates of configurations are not those of mirror images."""
    return bool(np.iscomplexobj(space.gram) and space.gram.imag.any())


def mark_missing(shapes: ShapeSet, value: float) -> ShapeSet:
    """Return a set in which landmarks that have one number as x and as y are missing.

    For missing landmarks that were written as numbers, such as (−1, −1) or (0, 0).

    Parameters
    ----------
    shapes : ShapeSet
        The set, of landmarks.
    value : float
        The number.

    Returns
    -------
    ShapeSet
        The set, in memory, with NaN for these landmarks, and a note that says how many there were.

    Raises
    ------
    ShapeInputError
        If there is no such landmark.
    UnsupportedBySpaceError
        If the shapes are curves, whose coefficients hang together.

    Examples
    --------
    >>> import shapelex as sx
    >>> skulls = sx.ShapeSet([[3 + 1j, 5 + 2j, 4 + 4j, -1 - 1j]])
    >>> sx.mark_missing(skulls, -1).is_missing.tolist()
    [[False, False, False, True]]
    """
    check_number(value, "value")
    if not isinstance(shapes.space, Landmarks):
        raise UnsupportedBySpaceError(f"only landmarks can be missing, but the space is {shapes.space}.")
    configurations = np.array(shapes.configurations)
    is_marked = configurations == complex(value, value)
    n_marked = int(is_marked.sum())
    if not n_marked:
        raise ShapeInputError(f"value must be both coordinates of some landmarks, but none is ({value:g}, {value:g}).")
    configurations[is_marked] = complex(np.nan, np.nan)
    note = f"{n_marked} landmark{'s' if n_marked != 1 else ''} at ({value:g}, {value:g}) taken for missing"
    return shapes.replace(configurations=configurations, missing="allow", notes=(*shapes.notes, note))
