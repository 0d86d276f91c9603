"""Codes as a table: one row per shape, with what is known of the shapes.

Input: codes, the errors of their shapes, and the shapes. Output: named columns, which files of codes and data frames
have in common.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex._validation import check_choice
from shapelex.shapes import ShapeSet
from shapelex.shapes.shapeset import description_columns

if TYPE_CHECKING:
    from shapelex.coding.codes import SparseCodes

LAYOUTS = ("slots", "atoms")

OWN_COLUMNS = re.compile(r"error|n_used|n_atoms|(atom|modulus|angle)_a?\d+")
"""Names of columns that hold codes and errors, not what is known of the shapes."""


def shape_columns(shapes: ShapeSet) -> dict[str, Any]:
    """Return what is known of shapes as named columns; names that codes have themselves begin with ``meta``."""
    return description_columns(shapes, lambda name: OWN_COLUMNS.fullmatch(name) is not None)


def code_columns(
    codes: "SparseCodes", errors: FloatArray | None, columns: Mapping[str, Any], layout: str = "slots"
) -> dict[str, Any]:
    """Return codes as named columns, one row per shape, after all that is known of the shapes, and the errors if given.

    Layout ``"slots"`` has for each of the atoms that a shape may use ``atom_1``, ``modulus_1``, ``angle_1``, …, the
    largest weight first; ``"atoms"`` has for every atom of the dictionary ``modulus_a0``, ``angle_a0``, …, modulus 0
    and no angle where a shape does not use it. Angles are in radians.
    """
    check_choice(layout, LAYOUTS, "layout")
    table = {**columns, **({} if errors is None else {"error": errors}), "n_used": codes.counts()}
    if layout == "atoms":
        dense = codes.toarray()
        for atom in range(codes.n_atoms):
            weights = dense[:, atom]
            table[f"modulus_a{atom}"] = np.abs(weights)
            table[f"angle_a{atom}"] = np.where(weights != 0, np.angle(weights), np.nan)
        return table
    table["n_atoms"] = np.full(len(codes), codes.n_atoms)
    order = np.argsort(-np.abs(codes.coefs), axis=1, kind="stable")
    support, coefs = np.take_along_axis(codes.support, order, axis=1), np.take_along_axis(codes.coefs, order, axis=1)
    for slot in range(codes.n_nonzero):
        is_empty = support[:, slot] < 0
        parts = {"atom": support[:, slot], "modulus": np.abs(coefs[:, slot]), "angle": np.angle(coefs[:, slot])}
        table |= {f"{what}_{slot + 1}": np.ma.masked_array(part, mask=is_empty) for what, part in parts.items()}
    return table
