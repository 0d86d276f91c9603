"""Spaces as data: a description that JSON can hold, and arrays where a space is made of some."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.spaces import BSpline, CustomSpace, HermiteSpline, Landmarks, Space

_SPACES: dict[str, type[Landmarks] | type[BSpline] | type[HermiteSpline]] = {
    "Landmarks": Landmarks,
    "BSpline": BSpline,
    "HermiteSpline": HermiteSpline,
}


def describe_space(space: Space) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return a description of a space, and its arrays.

    Parameters
    ----------
    space : Space
        The space.

    Returns
    -------
    dict
        JSON values.
    dict of str to ndarray
        Arrays, ``space_gram`` and ``space_shift`` or none.

    Raises
    ------
    UnsupportedBySpaceError
        If the space holds functions.
    """
    name = type(space).__name__
    if isinstance(space, Landmarks | BSpline | HermiteSpline):
        return {"type": name, **asdict(space)}, {}
    if isinstance(space, CustomSpace) and not space.has_basis:
        arrays = {"space_gram": np.asarray(space.gram), "space_shift": np.asarray(space.shift)}
        return {"type": name, "closed": space.closed}, arrays
    raise UnsupportedBySpaceError(f"{space} holds functions, which no data file can")


def build_space(description: Mapping[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> Space:
    """Return the space that a description stands for.

    Parameters
    ----------
    description : mapping
        From :func:`describe_space`.
    arrays : dict of str to ndarray
        Arrays of the file; those of the space are taken out.

    Returns
    -------
    Space
        The space.

    Raises
    ------
    LookupError
        If this version knows no such space.
    ValueError
        If the description is damaged.
    """
    arguments = dict(description)
    name = arguments.pop("type", None)
    if name != "CustomSpace" and name not in _SPACES:
        raise LookupError(f"a space {name!r} that this shapelex does not know: upgrade shapelex")
    try:
        if name == "CustomSpace":
            return CustomSpace(arrays.pop("space_gram"), arrays.pop("space_shift"), **arguments)
        return _SPACES[name](**arguments)
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"its space cannot be built ({error})") from error
