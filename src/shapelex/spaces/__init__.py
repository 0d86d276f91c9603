"""Spaces of configurations: what the coordinates mean, and how long they are."""

from shapelex.spaces.base import Space
from shapelex.spaces.custom import BasisSpace, CustomSpace
from shapelex.spaces.points import BSpline, HermiteSpline, Landmarks, from_columns, from_points, to_columns, to_points

__all__ = [
    "BSpline",
    "BasisSpace",
    "CustomSpace",
    "HermiteSpline",
    "Landmarks",
    "Space",
    "from_columns",
    "from_points",
    "to_columns",
    "to_points",
]
