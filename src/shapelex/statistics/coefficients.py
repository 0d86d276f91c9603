"""Coefficients of the terms of a model, with P values."""

from typing import TYPE_CHECKING

import numpy as np

from shapelex.statistics.formulas import INTERCEPT
from shapelex.statistics.linear_model import moved_products, reduce_columns
from shapelex.statistics.permutations import p_values
from shapelex.statistics.terms import reduced_terms

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.statistics.models import ShapeLinearModel


def coefficient_table(fit: "ShapeLinearModel") -> "pd.DataFrame":
    """Return the lengths of the coefficients, each in the model in which its term is tested, and their P values.

    The coefficients of a term depend on what it adds to its reduced model alone: with a basis ``Q`` of that and the
    columns ``X`` of the term, they are ``(Q* X)⁺ Q* Y``.
    """
    import pandas as pd

    design, settings = fit.design, fit.settings
    lengths, shares = np.full(len(design.names), np.nan), np.full(len(design.names), np.nan)
    coordinates = fit.shapes.coordinates
    rows = reduce_columns(coordinates - coordinates.mean(axis=0))
    for term in fit.terms:
        columns = design.columns_of[term.name]
        if not term.df:
            continue
        solve = np.linalg.pinv(term.basis[:, : term.df].T @ design.matrix[:, columns])
        residuals = rows if settings["method"] == "full" else rows - term.reduced @ (term.reduced.T @ rows)
        moved = moved_products(
            term.basis[:, : term.df], residuals, term.exchange, settings["permutations"], settings["seed"]
        )
        parts = [np.linalg.norm(np.tensordot(solve, products, axes=1), axis=2) for products in moved]
        found = np.concatenate(parts, axis=1)
        lengths[columns], shares[columns] = found[:, 0], p_values(found)
    first = design.terms[:1]
    below = reduced_terms(design, first[0], settings["type"]) if first else []
    model = design.of([*below, *first])
    lengths[design.columns_of[INTERCEPT]] = np.linalg.norm(np.linalg.pinv(model)[0] @ coordinates)
    return pd.DataFrame({"length": lengths, "P": shares}, index=pd.Index(design.names))
