"""Columns of a set of shapes that options name."""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from shapelex.shapes import ShapeSet


def find_column(shapes: "ShapeSet", name: str, option: str) -> "np.ndarray[Any, Any]":
    """Return a column by its name; refuse one that is not there, and suggest the one that was probably meant."""
    from shapelex._validation import did_you_mean
    from shapelex.shapes.set import description_columns

    columns = description_columns(shapes)
    if name not in columns:
        meant = did_you_mean(name, columns)
        raise typer.BadParameter(
            f"{name!r} is not a column of the shapes{meant}, which have {', '.join(columns)}.", param_hint=option
        )
    return columns[name]
