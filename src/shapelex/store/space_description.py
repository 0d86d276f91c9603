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
    """Return JSON values and arrays that stand for a space; one that holds functions is refused."""
    name = type(space).__name__
    if isinstance(space, Landmarks | BSpline | HermiteSpline):
        return {"type": name, **asdict(space)}, {}
    if isinstance(space, CustomSpace) and not space.has_basis:
        arrays = {"space_gram": np.asarray(space.gram), "space_shift": np.asarray(space.shift)}
        return {"type": name, "closed": space.closed}, arrays
    raise UnsupportedBySpaceError(f"{space} holds functions, which no file of data can hold")


def build_space(description: Mapping[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> Space:
    """Return the space that :func:`describe_space` described; its arrays are taken out of `arrays`."""
    arguments = dict(description)
    name = arguments.pop("type", None)
    if name != "CustomSpace" and name not in _SPACES:
        raise ValueError(f"its space is a {name!r}, which this shapelex does not know: upgrade shapelex")
    try:
        if name == "CustomSpace":
            return CustomSpace(arrays.pop("space_gram"), arrays.pop("space_shift"), **arguments)
        return _SPACES[name](**arguments)
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"its space cannot be built ({error})") from error
