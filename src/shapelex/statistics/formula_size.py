"""Bounds of formulas: how many terms and columns they may have.

Input: a formula as text, its syntax tree, its terms. Output: an error for what would take hours or all memory, before
formulaic expands it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb, prod
from typing import TYPE_CHECKING, Any

from shapelex._messages import parameter
from shapelex.exceptions import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.statistics.formula_expressions import Expression

MAX_LENGTH = 10_000
MAX_TERMS = 500
# formulaic compares all subsets of the variables of a term with each other: 9 variables take 7 seconds.
MAX_VARIABLES = 6
MAX_COLUMNS = 10_000
# formulaic enumerates all products of a power, also those that are equal.
_MAX_PRODUCTS = 100_000

_COUNTS: Mapping[str, Callable[..., int]] = {
    "+": lambda *counts: sum(counts),
    "-": lambda *counts: counts[0],
    "*": lambda first, second: first + second + first * second,
    ":": lambda first, second: first * second,
    "/": lambda first, second: first + second,
    "in": lambda first, second: first + second,
}
_POWERS = ("**", "^")
OPERATORS = (*_COUNTS, *_POWERS)


def check_length(formula: str) -> None:
    """Refuse a formula that is too long to be read in a moment."""
    if len(formula) > MAX_LENGTH:
        raise ParameterError(
            f"{parameter('formula')} must have at most {MAX_LENGTH:,} characters, got {len(formula):,}."
        )


def check_expansion(tree: Any) -> None:
    """Refuse a syntax tree of formulaic that has too many terms when it is expanded."""
    counts: dict[int, int] = {}
    # Without recursion, since a sum of many terms is as deep as it is long.
    pending = [tree]
    while pending:
        node = pending[-1]
        parts = list(getattr(node, "args", ()))
        left = [part for part in parts if id(part) not in counts]
        if left:
            pending += left
            continue
        counts[id(pending.pop())] = _count_terms(node, parts, [counts[id(part)] for part in parts])


def check_variables(terms: Iterable[Any]) -> None:
    """Refuse terms that are products of too many variables."""
    for term in terms:
        if term.degree > MAX_VARIABLES:
            raise ParameterError(
                f"{parameter('formula')} must multiply at most {MAX_VARIABLES} variables in a term, got {term.degree} "
                f"in {shortened(str(term))!r}: leave out such interactions."
            )


def check_columns(
    names: Sequence[str], terms: Iterable[Any], expressions: "Mapping[str, Expression]", table: "pd.DataFrame"
) -> None:
    """Refuse terms whose columns would not fit into memory; `names` are those of the terms in errors."""
    widths = {text: _width(one, table) for text, one in expressions.items()}
    total = 0
    for name, term in zip(names, terms, strict=True):
        total += prod(widths.get(factor.expr, 1) for factor in term.factors)
        if total > MAX_COLUMNS:
            raise ParameterError(
                f"{parameter('formula')} must make a design matrix of at most {MAX_COLUMNS:,} columns, got {total:,} "
                f"with the term {shortened(name)!r}: use variables with fewer categories, or leave out interactions."
            )


def _width(expression: "Expression", table: "pd.DataFrame") -> int:
    """Return an upper bound of the number of columns of a variable."""
    if not expression.is_category:
        return expression.n_columns
    n_found = min(len(table), prod(int(table[name].nunique()) for name in expression.columns))
    # Levels and contrasts that are written out need not occur in the data.
    return max(n_found, expression.n_columns)


def _count_terms(node: Any, parts: Sequence[Any], counts: Sequence[int]) -> int:
    """Return an upper bound of the number of terms of a node, from those of its parts."""
    if not parts:
        return 1
    symbol = node.operator.symbol
    count = _count_powers(parts[1], counts[0]) if symbol in _POWERS else _COUNTS[symbol](*counts)
    if count > MAX_TERMS:
        raise ParameterError(
            f"{parameter('formula')} must have at most {MAX_TERMS:,} terms, got up to {count:,}: name only the terms "
            "and interactions that matter."
        )
    return count


def _count_powers(exponent: Any, count: int) -> int:
    text = "an expression" if hasattr(exponent, "args") else str(exponent)
    power = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_VARIABLES)) else 0
    if not 1 <= power <= MAX_VARIABLES or count**power > _MAX_PRODUCTS:
        highest = max((one for one in range(1, MAX_VARIABLES + 1) if count**one <= _MAX_PRODUCTS), default=1)
        raise ParameterError(
            f"{parameter('formula')} must have whole numbers from 1 to {highest} as exponents of {count} "
            f"{'term' if count == 1 else 'terms'}, got {shortened(text)}; for the power of a variable, write "
            "I(x ** 2)."
        )
    return sum(comb(count, size) for size in range(1, power + 1))


def shortened(text: str) -> str:
    """Return the beginning of a text that is too long for a message."""
    return text if len(text) <= 80 else f"{text[:77]}…"
