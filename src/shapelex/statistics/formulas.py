"""Formulas such as ``shape ~ log(size) + species * site`` as design matrices.

Input: a formula and columns. Output: the terms, and a matrix with the columns of each of them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._extras import load_library
from shapelex._messages import parameter
from shapelex._typing import FloatArray, IntArray
from shapelex._validation import name_rows
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError, reason_of
from shapelex.statistics.data import Columns
from shapelex.statistics.linear_model import RANK_TOL

if TYPE_CHECKING:
    import pandas as pd

RESPONSE = "shape"
INTERCEPT = "1"


@dataclass(frozen=True, eq=False)
class Design:
    """A design matrix, with the columns of each term.

    Attributes
    ----------
    terms : tuple of str
        Names of the terms, without the intercept.
    matrix : ndarray of float, shape (n_rows, n_columns)
        The columns of all terms; those of the intercept first, if there is one.
    names : tuple of str
        Names of the columns.
    columns_of : dict of str to ndarray of int
        Columns of each term, the intercept (``"1"``) included.
    factors_of : dict of str to frozenset of str
        Variables that are multiplied in each term.
    categorical : frozenset of str
        Columns of the table that are categories in the formula: text, and what ``C(...)`` makes of numbers.
    spec : formulaic.ModelSpec
        Rule that makes such a matrix from other data.
    """

    terms: tuple[str, ...]
    matrix: FloatArray
    names: tuple[str, ...]
    columns_of: Mapping[str, IntArray]
    factors_of: dict[str, frozenset[str]]
    categorical: frozenset[str]
    spec: Any

    def of(self, terms: Sequence[str]) -> FloatArray:
        """Return the columns of some terms, and of the intercept."""
        chosen = [self.columns_of[term] for term in (INTERCEPT, *terms) if term in self.columns_of]
        columns: FloatArray = self.matrix[:, np.concatenate(chosen)] if chosen else self.matrix[:, :0]
        return columns

    def rows_for(self, data: "pd.DataFrame") -> FloatArray:
        """Return the design matrix of other data."""
        with np.errstate(all="ignore"):
            rows: FloatArray = np.asarray(self.spec.get_model_matrix(data, na_action="ignore"), dtype=np.float64)
        return rows


def parse_formula(formula: str, given: Columns) -> tuple[Any, list[str]]:
    """Return the right side of a formula, parsed, and the names of the columns that it needs."""
    formulaic = load_library("formulaic", "formulaic", "A formula", extra="statistics")
    if not isinstance(formula, str):
        raise ParameterTypeError(f"{parameter('formula')} must be text such as 'shape ~ size', got {formula!r}.")
    left, tilde, right = formula.partition("~")
    if not tilde or left.strip() != RESPONSE:
        raise ParameterError(
            f"{parameter('formula')} must begin with 'shape ~', such as 'shape ~ log(size) + species', got {formula!r}."
        )
    try:
        parsed = formulaic.Formula(right.strip() or "1")
        # formulaic does not report the variables of some functions, such as poly(x, 2).
        words = {word for word in re.findall(r"\w+\b(?!\s*[(.])", right) if word in given.columns}
        # In the order of the formula, which is that of the names of combined groups.
        names = sorted(words.union(map(str, parsed.required_variables)), key=right.find)
        list(parsed)
    except Exception as error:
        raise ParameterError(f"{parameter('formula')} {formula!r} cannot be read: {_plain(error)}.") from error
    if not all(hasattr(term, "factors") for term in parsed):
        raise ParameterError(f"{parameter('formula')} {formula!r} must have one right side, without '|'.")
    given.check_columns(names, "formula")
    return parsed, names


def make_design(parsed: Any, table: "pd.DataFrame", *, centered_contrasts: bool = False) -> Design:
    """Return the design of a parsed formula for the rows of a table, which has no missing entries.

    Categories are coded relative to the first one, or with `centered_contrasts` such that the codes sum to zero over
    the categories.
    """
    from formulaic import Formula, model_matrix

    _check_not_constant(table)
    names = [str(term) for term in parsed]
    formula = Formula([_with_sums(term, table) for term in parsed], _ordering="none") if centered_contrasts else parsed
    try:
        with np.errstate(all="ignore"):
            made = model_matrix(formula, _as_frame(table), context={}, na_action="ignore")
    except Exception as error:
        raise ParameterError(f"{parameter('formula')} cannot be evaluated: {_plain(error)}.") from error
    spec = made.model_spec
    matrix = np.asarray(made, dtype=np.float64)
    columns_of = {
        name: np.asarray(indices, dtype=np.int64)
        for name, indices in zip(names, spec.term_indices.values(), strict=True)
    }
    for name, columns in columns_of.items():
        is_bad = ~np.isfinite(matrix[:, columns]).all(axis=1)
        if is_bad.any():
            rows = np.zeros(int(table.index.max()) + 1, dtype=bool)
            rows[table.index[is_bad]] = True
            raise ShapeInputError(f"the term {name!r} is not a finite number in {name_rows(rows)}.")
    factors = {name: frozenset(map(str, term.factors)) for name, term in zip(names, parsed, strict=True)}
    terms = tuple(name for name in names if name != INTERCEPT)
    # Column names are found as whole words in the categorical factors.
    words = {word for factor in spec.factor_contrasts for word in re.findall(r"\w+", str(factor.expr))}
    names_of = {str(name) for name in table.columns}
    texts = {str(name) for name in table.columns if table[name].dtype.kind not in "biufc"}
    categorical = frozenset(texts | (words & names_of))
    _check_variation(table, categorical)
    return Design(terms, matrix, tuple(map(str, made.columns)), columns_of, factors, categorical, spec)


def _as_frame(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table whose index counts rows, as formulaic joins by the index."""
    return table.reset_index(drop=True)


def _check_not_constant(table: "pd.DataFrame") -> None:
    for name in table.columns:
        values = table[name]
        if values.nunique() < 2:
            value = f"{values.iloc[0]:.10g}" if values.dtype.kind in "iuf" else repr(str(values.iloc[0]))
            raise ShapeInputError(f"the column {name!r} has the same value ({value}) {_tell_constant(table)}.")


def _check_variation(table: "pd.DataFrame", categorical: frozenset[str]) -> None:
    """Refuse numbers whose differences are lost by rounding beside their size."""
    for name in table.columns:
        if str(name) in categorical:
            continue
        numbers = table[name].to_numpy(dtype=np.float64)
        spread = np.linalg.norm(numbers - numbers.mean())
        if spread <= RANK_TOL * np.sqrt(len(numbers)) * np.linalg.norm(numbers):
            raise ShapeInputError(
                f"the column {name!r} has nearly the same value ({numbers.min():.10g}, differences of at most "
                f"{np.ptp(numbers):.2g}) {_tell_constant(table)}, or subtract a constant from it if these differences "
                "are real."
            )


def _tell_constant(table: "pd.DataFrame") -> str:
    return (
        f"in all {len(table)} shapes that are used: nothing can be said about its effect; leave it out of the formula"
    )


def _with_sums(term: Any, table: "pd.DataFrame") -> str:
    """Return a term in which categories are coded by numbers that sum to zero."""
    return ":".join(_factor_with_sums(str(factor), table) for factor in term.factors)


def _factor_with_sums(factor: str, table: "pd.DataFrame") -> str:
    name = factor.strip("`")
    if name in table and table[name].dtype.kind not in "biuf":
        return f"C({factor}, contr.sum)"
    if factor.startswith("C(") and "," not in factor:
        return f"{factor[:-1]}, contr.sum)"
    return factor


def _plain(error: Exception) -> str:
    """Return what a library says, without its marks for terminals."""
    words = reason_of(error).replace("⧛", "").replace("⧚", "")
    return "".join(part.partition("m")[2] if number else part for number, part in enumerate(words.split("\x1b[")))
