"""The terms of a model as pairs of nested models: sums of squares of type I, II and III.

Input: a design. Output: for each term its reduced model, and what it adds to it.
"""

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import FloatArray
from shapelex.exceptions import ParameterError
from shapelex.statistics.formulas import INTERCEPT, Design
from shapelex.statistics.linear_model import TermModel, orthonormal_basis
from shapelex.statistics.permutations import Exchange

TYPES = (1, 2, 3)


def reduced_terms(design: Design, term: str, sum_type: int) -> list[str]:
    """Return the terms of the model that a term is added to.

    Type I adds the terms in their order. Type II adds a term to all terms that do not contain it, as ``species:site``
    contains ``species``. Type III adds it to all others.
    """
    if sum_type == 1:
        return list(design.terms[: design.terms.index(term)])
    own = design.factors_of[term]
    if sum_type == 2:
        return [other for other in design.terms if other != term and not own <= design.factors_of[other]]
    return [other for other in design.terms if other != term]


def check_type(sum_type: object) -> int:
    """Return the type of sums of squares, given as 1, 2, 3, "I", "II" or "III"."""
    names = {"I": 1, "II": 2, "III": 3}
    chosen = names.get(sum_type, sum_type) if isinstance(sum_type, str) else sum_type
    if isinstance(chosen, bool) or chosen not in TYPES:
        raise ParameterError(f"{parameter('type')} must be 1, 2 or 3, got {sum_type!r}.")
    return int(chosen)


def term_models(design: Design, sum_type: int, exchange: Exchange) -> list[TermModel]:
    """Return all terms of a design as pairs of nested models."""
    if INTERCEPT not in design.columns_of:
        raise ParameterError(
            f"{parameter('formula')} must have an intercept, the mean shape: remove '- 1' or '0 +' from it."
        )
    models = []
    for term in design.terms:
        own = design.matrix[:, design.columns_of[term]]
        reduced = design.of(reduced_terms(design, term, sum_type))
        models.append(nested_pair(term, reduced, own, design.matrix, exchange))
    return models


def nested_pair(name: str, reduced: FloatArray, added: FloatArray, full: FloatArray, exchange: Exchange) -> TermModel:
    """Return what columns add to a reduced model, within a full one; all of them contain the intercept.

    Bases leave out the intercept, as rows are about their average.
    """
    ones = np.full((len(full), 1), 1 / np.sqrt(len(full)))
    lower = orthonormal_basis(reduced, ones)
    base = np.hstack([ones, lower])
    own = orthonormal_basis(added, base)
    rest = orthonormal_basis(full, np.hstack([base, own]))
    return TermModel(name, np.hstack([own, lower, rest]), own.shape[1], lower, exchange)
