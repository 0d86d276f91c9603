"""Checks of linear models, and remarks on them.

Input: designs, error terms and sums of squares. Output: degrees of freedom, and what a reader should know.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import FloatArray
from shapelex._validation import did_you_mean
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.statistics.data import SIZE, AlignedShapes, ShapeInput
from shapelex.statistics.formulas import Design
from shapelex.statistics.grouping import Grouping
from shapelex.statistics.linear_model import SumsOfSquares, TermModel, orthonormal_basis
from shapelex.statistics.permutations import remark_on_count
from shapelex.statistics.results import plural

RESIDUALS = "residuals"
# Relative differences of centroid sizes that are rounding, for shapes scaled to one size and stored with few digits,
# and that are smaller than those of any species.
_ROUNDING, _SMALL = 1e-6, 0.01
_TRUE_SIZES = "centroid_size"
_NO_SCALE = (
    f"{SIZE!r} is in the units of the coordinates, and no scale of the shapes is known: if they were digitized at "
    "different magnifications, sizes cannot be compared. TPS files tell it by SCALE, images by the size of a pixel."
)


def check_sizes(given: ShapeInput, sizes: FloatArray) -> list[str]:
    """Return remarks on centroid sizes without a scale or that hardly vary; refuse those that vary by rounding only."""
    average, spread = float(sizes.mean()), float(np.ptp(sizes))
    if spread >= _SMALL * average:
        return [_NO_SCALE] if given.lacks_scale else []
    known = f", here perhaps the column {_TRUE_SIZES!r}" if _TRUE_SIZES in given.columns else ""
    use = f"use the sizes before scaling{known}"
    if spread <= _ROUNDING * average:
        raise ShapeInputError(
            f"all {len(sizes)} shapes have the same centroid size ({average:.6g}): they were probably scaled to it. "
            f"Nothing can be said about the effect of {SIZE!r}; {use}, or leave it out."
        )
    return [
        f"The centroid sizes vary by {100 * spread / average:.2g} % only ({sizes.min():.6g} to {sizes.max():.6g}): "
        f"were the shapes scaled to one size before? Then {use}."
    ]


def check_error(error: Mapping[str, str] | Sequence[str] | None, terms: Sequence[str]) -> dict[str, str]:
    """Return the error term of each term that has another one than the residuals."""
    if error is None:
        return {}
    known = (*terms, RESIDUALS)
    if not isinstance(error, Mapping):
        if isinstance(error, str) or len(error) != len(terms):
            raise ParameterError(
                f"{parameter('error')} must be a dict by terms, or a list with an entry for each of the terms "
                f"{', '.join(terms)}, got {error!r}."
            )
        error = dict(zip(terms, error, strict=True))
    for name in (*error, *error.values()):
        # R prints the residuals with a capital letter.
        if name not in known and str(name).lower() != RESIDUALS:
            meant = f"which is not a term{did_you_mean(str(name), known)}"
            raise ParameterError(f"{parameter('error')} names {name!r}, {meant}: {', '.join(known)}.")
    return {term: other for term, other in error.items() if str(other).lower() != RESIDUALS}


def check_df(design: Design, error: Mapping[str, str]) -> int:
    """Return the residual degrees of freedom; refuse models that leave none, unless all terms have error terms."""
    n_rows, n_columns = design.matrix.shape
    df_residual = int(n_rows - orthonormal_basis(design.matrix).shape[1])
    # Columns that depend on others, as in nested designs, take no degrees of freedom.
    if df_residual == 0 and set(error) != set(design.terms):
        raise ParameterError(
            f"the model has {n_columns} coefficients for {plural(n_rows, 'shape')}, so that nothing is left to compare "
            "with: use fewer terms, or more shapes."
        )
    return df_residual


def remarks_on(
    design: Design,
    terms: Sequence[TermModel],
    sums: SumsOfSquares,
    shapes: AlignedShapes,
    permutations: int,
    grouping: Grouping | None = None,
) -> list[str]:
    """Return remarks on confounded terms, single shapes, and what was permuted."""
    remarks = []
    for term in terms:
        n_columns = len(design.columns_of[term.name])
        if term.df < n_columns:
            remarks.append(
                f"The term {term.name} is confounded with others and has no degrees of freedom."
                if term.df == 0
                else f"The term {term.name} has {term.df} instead of {n_columns} degrees of freedom: combinations of "
                "its categories do not occur, or parts of it are confounded with others."
            )
    for name in shapes.table.columns:
        if name not in design.categorical:
            continue
        counts = shapes.table[name].value_counts()
        single = sorted(map(str, counts[counts == 1].index))
        if single:
            one = "shape" if shapes.noun == "shapes" else f"of the {shapes.noun}"
            remarks.append(f"One {one} only: {name} {', '.join(single)}.")
    exchange = next((term.exchange for term in terms), None)
    if exchange is not None and exchange.strata is not None:
        remarks.append("Permutations were within strata.")
    for term, values in zip(terms, sums.terms, strict=True):
        if permutations and term.df and np.ptp(values) <= 1e-9 * abs(values[0]):
            remarks.append(f"No permutation changes the term {term.name}: it cannot be tested with these strata.")
    if grouping is not None and permutations:
        return [*remarks, *grouping.remarks(permutations)]
    return remarks if exchange is None else [*remarks, *remark_on_count(exchange, permutations, shapes.noun)]
