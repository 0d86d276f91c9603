"""Formulas such as ``shape ~ log(size) + species * site`` as design matrices.

Input: a formula and columns. Output: the terms, and a matrix with the columns of each of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._extras import load_library
from shapelex._messages import parameter
from shapelex._typing import FloatArray, IntArray
from shapelex._validation import name_rows
from shapelex.exceptions import ParameterError, ParameterTypeError, ShapeInputError, ShapelexError, reason_of
from shapelex.statistics.data import Columns, check_magnitude
from shapelex.statistics.formula_expressions import (
    ALLOWED,
    Expression,
    check_expression,
    check_names,
    evaluation_context,
)
from shapelex.statistics.formula_size import (
    OPERATORS,
    check_columns,
    check_expansion,
    check_length,
    check_variables,
    shortened,
)
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
            made = self.spec.get_model_matrix(data, context=evaluation_context(), na_action="ignore")
        rows: FloatArray = np.asarray(made, dtype=np.float64)
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
    right = right.strip() or "1"
    check_length(right)
    # formulaic evaluates parts of a formula already to find its variables: everything is checked before.
    with _readable(formula):
        names = _check_tokens(right, formula, [str(name) for name in given.columns])
    given.check_columns(names, "formula")
    with _readable(formula):
        check_expansion(formulaic.parser.DefaultFormulaParser().get_ast(right))
        parsed = formulaic.Formula(right)
        check_variables(parsed)
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
    # What is checked are the expressions that are evaluated, after all changes.
    with _readable(" + ".join(names)):
        expressions = _check_factors(formula, table)
    check_columns(names, formula, expressions, table)
    try:
        with np.errstate(all="ignore"):
            made = model_matrix(formula, _as_frame(table), context=evaluation_context(), na_action="ignore")
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
        for column in columns:
            check_magnitude(matrix[:, column], f"the term {name!r}")
    factors = {name: frozenset(map(str, term.factors)) for name, term in zip(names, parsed, strict=True)}
    terms = tuple(name for name in names if name != INTERCEPT)
    coded = {name for factor in spec.factor_contrasts for name in expressions[factor.expr].columns}
    categorical = frozenset(coded | _texts(table))
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
        values = table[name].to_numpy(dtype=np.float64)
        # Relative to the largest one: squares of very large or small numbers are not numbers of full precision.
        numbers = values / np.abs(values).max()
        spread = np.linalg.norm(numbers - numbers.mean())
        if spread <= RANK_TOL * np.sqrt(len(numbers)) * np.linalg.norm(numbers):
            raise ShapeInputError(
                f"the column {name!r} has nearly the same value ({values.min():.10g}, differences of at most "
                f"{np.ptp(values):.2g}) {_tell_constant(table)}, or subtract a constant from it if these differences "
                "are real."
            )


def _tell_constant(table: "pd.DataFrame") -> str:
    return (
        f"in all {len(table)} shapes that are used: nothing can be said about its effect; leave it out of the formula"
    )


def _with_sums(term: Any, table: "pd.DataFrame") -> Any:
    """Return a term in which categories are coded by numbers that sum to zero."""
    from formulaic.parser.types import Term

    return Term([_factor_with_sums(factor, table) for factor in term.factors])


def _factor_with_sums(factor: Any, table: "pd.DataFrame") -> Any:
    from formulaic.parser.types import Factor

    text = factor.expr
    if text in _texts(table):
        # The name of a column may be any text: it must not be read as code.
        return Factor(f"C({text if text.isidentifier() else f'`{text}`'}, contr.sum)", eval_method="python")
    if text.startswith("C(") and "," not in text and factor.eval_method.value == "python":
        return Factor(f"{text[:-1]}, contr.sum)", eval_method="python")
    return factor


def _check_tokens(right: str, formula: str, known: Sequence[str]) -> list[str]:
    """Return the columns of the right side of a formula in their order; refuse what a formula may not contain."""
    from formulaic.parser.algos.sanitize_tokens import sanitize_tokens
    from formulaic.parser.algos.tokenize import tokenize

    names: list[str] = []
    tokens = list(tokenize(right))
    for token in tokens:
        if token.kind.value == "python":
            check_names(token.token, known)
    for token in sanitize_tokens(tokens):
        kind, text = token.kind.value, token.token
        if kind == "python":
            names += check_expression(text, known).columns
        elif kind == "name":
            names.append(text)
        elif kind == "operator" and "|" in text:
            raise ParameterError(f"{parameter('formula')} {formula!r} must have one right side, without '|'.")
        elif not _is_plain(kind, text):
            raise ParameterError(f"{parameter('formula')} must not contain {text!r}: {ALLOWED}.")
    return list(dict.fromkeys(names))


def _is_plain(kind: str, text: str) -> bool:
    """Tell whether a token is a bracket, a number, or operators one after another."""
    if kind == "context":
        return text in "()"
    return text[0] not in "\"'" if kind == "value" else text in OPERATORS or set(text) <= set("+-*/:^")


def _check_factors(terms: Iterable[Any], table: "pd.DataFrame") -> dict[str, Expression]:
    """Return the checked expression of each variable of the terms, numbers left out."""
    known, texts = [str(name) for name in table.columns], _texts(table)
    factors = {factor.expr: factor for term in terms for factor in term.factors}
    expressions = {}
    for text, factor in factors.items():
        if factor.eval_method.value == "python":
            expressions[text] = check_expression(text, known, texts)
        elif factor.eval_method.value == "lookup":
            expressions[text] = Expression((text,), text in texts, 1)
    return expressions


def _texts(table: "pd.DataFrame") -> set[str]:
    """Return the columns that hold no numbers."""
    return {str(name) for name in table.columns if table[name].dtype.kind not in "biufc"}


@contextmanager
def _readable(formula: str) -> Iterator[None]:
    """Turn errors of formulaic, and of Python's parser, into one that shows the formula."""
    try:
        yield
    except ShapelexError:
        raise
    except Exception as error:
        raise ParameterError(
            f"{parameter('formula')} {shortened(formula)!r} cannot be read: {_plain(error)[:500]}."
        ) from error


def _plain(error: Exception) -> str:
    """Return what a library says, without its marks for terminals."""
    words = reason_of(error).replace("⧛", "").replace("⧚", "")
    return "".join(part.partition("m")[2] if number else part for number, part in enumerate(words.split("\x1b[")))
