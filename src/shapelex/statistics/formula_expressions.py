"""Expressions in formulas, such as ``log(size)``, which are checked before they are evaluated.

Input: an expression as text, which may come from a file. Output: the columns that it uses, or an error if it holds
anything but columns, numbers, operators and the functions below. formulaic evaluates expressions as Python code, and
whoever reaches one module of Python reaches all of them: an expression is evaluated only after it was checked here.
"""

import ast
import builtins
import operator
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unicodedata import normalize

import numpy as np

from shapelex._messages import parameter
from shapelex.exceptions import ParameterError
from shapelex.statistics.formula_size import shortened

NUMBER_FUNCTIONS = (
    "abs", "arccos", "arcsin", "arctan", "cbrt", "ceil", "cos", "exp", "exp2", "expm1", "floor", "log", "log10",
    "log1p", "log2", "sign", "sin", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
"""Functions of one argument that are those of NumPy, and may be written with ``np.`` before the name."""

_SPLINE_OPTIONS = ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")
COLUMN_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "I": (),
    "bs": ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound", "extrapolation"),
    "cc": _SPLINE_OPTIONS,
    "center": (),
    "cr": _SPLINE_OPTIONS,
    "cs": _SPLINE_OPTIONS,
    "poly": ("degree", "raw"),
    "scale": ("center", "scale", "ddof"),
    "standardize": ("center", "rescale", "ddof"),
}
"""Functions of formulaic, with their options."""

CATEGORIES = "C"
CONTRASTS = ("SAS", "custom", "diff", "helmert", "poly", "sum", "treatment")
"""Contrasts of C, written as ``contr.sum`` or ``contr.treatment("base")``."""
NAMED_CONTRASTS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")
"""The same under the names that they have in patsy."""
_CONTRAST_OPTIONS = ("backward", "base", "contrasts", "names", "reference", "reverse", "scale", "scores")
_CATEGORY_OPTIONS = ("contrasts", "levels", "spans_intercept")

_SPLINE_WORDS = ("center", "clip", "extend", "na", "raise", "zero")
_BASIS_OPTIONS = ("constraints", "degree", "df", "knots")
MAX_BASIS_COLUMNS = 50
_MOST_INTEGER = 2**63

_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)

ALLOWED = (
    "a formula may contain columns (in backticks where a name is not a plain word), numbers, np.pi, arithmetic, "
    "comparisons, and the functions "
    f"{', '.join(sorted([*NUMBER_FUNCTIONS, *COLUMN_FUNCTIONS, CATEGORIES], key=str.lower))}"
)


@dataclass(frozen=True)
class Expression:
    """What is known of an expression that was checked.

    Attributes
    ----------
    columns : tuple of str
        Columns that it uses, in their order.
    is_category : bool
        Whether its values are categories: text, or what ``C`` made of numbers.
    n_columns : int
        Upper bound of the number of columns that a basis of functions, such as ``poly(x, 2)``, has.
    """

    columns: tuple[str, ...]
    is_category: bool
    n_columns: int


def check_names(text: str, known: Iterable[str]) -> None:
    """Refuse an expression, as it was written, with a column whose name Python reads as another one."""
    for name in known:
        plain = normalize("NFKC", name)
        if plain != name and name.isidentifier() and name in text:
            raise ParameterError(
                f"{parameter('formula')} cannot have the column {name!r} in a function: Python takes some of its "
                f"characters for others and reads {plain!r}; rename the column."
            )


def check_expression(text: str, known: Iterable[str] = (), texts: Container[str] = ()) -> Expression:
    """Refuse an expression that must not be evaluated; `known` are all columns, and `texts` those without numbers."""
    from formulaic.utils.code import sanitize_variable_names

    aliases: dict[str, str] = {}
    # As formulaic reads it before the evaluation: a column in backticks gets a plain name that nothing else has.
    taken: dict[str, Any] = dict.fromkeys([*evaluation_context(), *known])
    node = ast.parse(sanitize_variable_names(text, taken, aliases), mode="eval").body
    check = _Check(aliases, texts)
    value = check.categories(node) if _is_call_of(node, CATEGORIES) else check.value(node)
    if value.number is not None:
        raise check.refusal(node, "it uses no column")
    is_category = _is_call_of(node, CATEGORIES) or value.text is not None
    return Expression(tuple(dict.fromkeys(check.columns)), is_category, check.n_columns)


@cache
def evaluation_context() -> Mapping[str, Any]:
    """Return what expressions are evaluated with: the functions above, and nothing in place of all other names.

    Python adds its builtin functions to every evaluation, and formulaic its transforms, with all of NumPy.
    """
    from formulaic.transforms import TRANSFORMS

    functions = {name: getattr(np, name) for name in NUMBER_FUNCTIONS}
    allowed = {name: TRANSFORMS[name] for name in (*COLUMN_FUNCTIONS, CATEGORIES, *NAMED_CONTRASTS)}
    contrasts = SimpleNamespace(**{name: getattr(TRANSFORMS["contr"], name) for name in CONTRASTS})
    hidden: dict[str, Any] = dict.fromkeys([*dir(builtins), *TRANSFORMS])
    modules = {"contr": contrasts, "np": SimpleNamespace(**functions, pi=np.pi)}
    return MappingProxyType({**hidden, **allowed, **functions, **modules})


@dataclass(frozen=True)
class _Value:
    """Value of a part of an expression: a number that uses no column, or a name of the text in it, or neither."""

    number: float | int | None = None
    text: str | None = None


_VARYING = _Value()


@dataclass
class _Check:
    aliases: Mapping[str, str]
    texts: Container[str]
    columns: list[str] = field(default_factory=list)
    n_columns: int = 1

    def value(self, node: ast.expr) -> _Value:
        """Check an expression other than a call of C."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self._number(node, number)
            case ast.Name(id=name):
                column = self.aliases.get(name, name)
                self.columns.append(column)
                return _Value(text=column if column in self.texts else None)
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
                value = self._numbers(operand, node)
                return value if value.number is None or isinstance(sign, ast.UAdd) else _Value(number=-value.number)
            case ast.BinOp(op=ast.BitXor()):
                raise self.refusal(node, "write ** for a power")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._operation(node, self._numbers(left, node), op, self._numbers(right, node))
            case ast.Compare():
                return self._comparison(node)
            case ast.Call(func=function):
                return self._call(node, self._name_of(function))
            case ast.UnaryOp(op=ast.Invert(), operand=ast.Compare() as comparison):
                return self._comparison(comparison)
            case ast.Attribute() if self._name_of(node) == "np.pi":
                return _Value(number=np.pi)
            case ast.Attribute(value=owner):
                is_numpy = isinstance(owner, ast.Name) and owner.id == "np"
                raise self.refusal(node, "" if is_numpy else "write a column whose name has a point in backticks")
            case ast.Constant(value=str()):
                raise self.refusal(node, "text can be compared by == or !=, and given to C")
        raise self.refusal(node)

    def categories(self, node: ast.Call) -> _Value:
        """Check a call of C, which may have contrasts."""
        value = self._first_argument(node, CATEGORIES)
        for option in node.args[1:]:
            self._check_contrasts(option)
        for keyword in node.keywords:
            if keyword.arg == "contrasts":
                self._check_contrasts(keyword.value)
            else:
                self._check_option(keyword, _CATEGORY_OPTIONS)
                self._check_literal(keyword.value)
        return value

    def refusal(self, node: ast.AST, hint: str = "") -> ParameterError:
        """Return an error that says which part of the formula is not allowed, and what is."""
        text = shortened(ast.unparse(node))
        return ParameterError(
            f"{parameter('formula')} must not contain {text!r}{f' ({hint})' if hint else ''}: {ALLOWED}."
        )

    def _operation(self, node: ast.BinOp, left: _Value, op: ast.operator, right: _Value) -> _Value:
        if left.number is None or right.number is None:
            return _VARYING
        try:
            # Powers of integers are exact in Python: the result could fill the memory, while that of floats overflows.
            if isinstance(op, ast.Pow) and abs(float(left.number) ** float(right.number)) >= _MOST_INTEGER:
                self._number(node, _MOST_INTEGER)
            return self._number(node, _OPERATORS[type(op)](left.number, right.number))
        except (ArithmeticError, TypeError) as error:
            raise self.refusal(node, "it is not a finite number") from error

    def _number(self, node: ast.expr, number: Any) -> _Value:
        if isinstance(number, int) and abs(number) >= _MOST_INTEGER:
            raise self.refusal(node, "write large numbers with a decimal point, such as 1e30")
        if not isinstance(number, int | float) or not isfinite(number):
            raise self.refusal(node, "it is not a finite number")
        return _Value(number=number)

    def _numbers(self, node: ast.expr, owner: ast.expr) -> _Value:
        """Check a part of `owner` that must not be text: the product of text and a number repeats the text."""
        value = self.value(node)
        if value.text is not None:
            raise ParameterError(
                f"{parameter('formula')} cannot be evaluated: {shortened(ast.unparse(owner))!r} needs numbers, but the "
                f"column {value.text!r} holds categories; use it without a function, or compare it by == and !=."
            )
        return value

    def _comparison(self, node: ast.Compare) -> _Value:
        op = node.ops[0]
        if len(node.ops) > 1 or not isinstance(op, _COMPARISONS):
            raise self.refusal(node, "write (a < b) & (b < c)" if len(node.ops) > 1 else "")
        sides = [node.left, *node.comparators]
        is_equality = isinstance(op, ast.Eq | ast.NotEq)
        # A list, since all sides must be checked, whatever is found in the first one.
        values = [self.value(side) for side in sides if not (is_equality and self._is_text(side))]
        if all(value.number is not None for value in values):
            raise self.refusal(node, "it compares no column")
        return _VARYING

    def _call(self, node: ast.Call, name: str) -> _Value:
        if name == CATEGORIES:
            raise self.refusal(node, "C(…) must stand alone, not within another function")
        is_number_function = name.removeprefix("np.") in NUMBER_FUNCTIONS
        if not is_number_function and name not in COLUMN_FUNCTIONS:
            raise self.refusal(node)
        value = self._first_argument(node, name)
        options = () if is_number_function else COLUMN_FUNCTIONS[name]
        if len(node.args) - 1 > len(options):
            raise self.refusal(
                node, f"{name} takes {'one argument' if not options else f'at most {1 + len(options)} arguments'}"
            )
        for keyword in node.keywords:
            self._check_option(keyword, options)
        named = [(keyword.arg, keyword.value) for keyword in node.keywords]
        for option, part in (*zip(options, node.args[1:], strict=False), *named):
            self._check_literal(part, _SPLINE_WORDS)
            if option in _BASIS_OPTIONS:
                self._count_columns(part, node)
        return value

    def _first_argument(self, node: ast.Call, name: str) -> _Value:
        if not node.args:
            raise self.refusal(node, f"the first argument of {name} must be given, and not by its name")
        may_be_text = name in (CATEGORIES, "I")
        value = self.value(node.args[0]) if may_be_text else self._numbers(node.args[0], node)
        if value.number is not None:
            raise self.refusal(node, "it uses no column")
        return value

    def _count_columns(self, option: ast.expr, owner: ast.Call) -> None:
        """Bound the degree and the number of knots of a basis, which become columns."""
        value = ast.literal_eval(option)
        # The columns of a basis are at most as many as its knots and its degree, which is 3 by default.
        count = (
            int(value) if isinstance(value, int | float) else len(value) + 4 if isinstance(value, list | tuple) else 1
        )
        if count > MAX_BASIS_COLUMNS:
            raise self.refusal(owner, f"a function makes at most {MAX_BASIS_COLUMNS} columns")
        self.n_columns = max(self.n_columns, count)

    def _check_contrasts(self, node: ast.expr) -> None:
        call = node if isinstance(node, ast.Call) else None
        name = self._name_of(node if call is None else call.func)
        if name not in (*NAMED_CONTRASTS, *(f"contr.{one}" for one in CONTRASTS)):
            self._check_literal(node)
        if call is not None:
            for keyword in call.keywords:
                self._check_option(keyword, _CONTRAST_OPTIONS)
            for option in (*call.args, *(keyword.value for keyword in call.keywords)):
                self._check_literal(option)

    def _check_option(self, keyword: ast.keyword, options: Iterable[str]) -> None:
        if keyword.arg not in tuple(options):
            raise self.refusal(keyword, f"its options are {', '.join(options)}" if options else "it takes no options")

    def _check_literal(self, node: ast.expr, words: Container[str] | None = None) -> None:
        """Check numbers, text, and lists of them; text must be one of `words` if they are given."""
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                self.n_columns = max(self.n_columns, len(parts))
                for part in parts:
                    self._check_literal(part, words)
            case ast.Dict(keys=keys, values=values) if None not in keys and words is None:
                self.n_columns = max(self.n_columns, len(keys))
                for part in (*filter(None, keys), *values):
                    self._check_literal(part, words)
            case ast.Constant(value=bool() | None):
                pass
            case ast.Constant(value=str(text)) if words is not None and text not in words:
                raise self.refusal(node, f"text here is one of {', '.join(_SPLINE_WORDS)}")
            case ast.Constant(value=str()):
                self._is_text(node)
            case ast.Constant(value=int() | float() as number):
                self._number(node, number)
            case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                self._number(node, number)
            case _:
                raise self.refusal(node, "only numbers, text and lists of them can stand here")

    def _is_text(self, node: ast.expr) -> bool:
        """Tell whether a part is text, and refuse marks with which formulaic would end the text and begin code."""
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return False
        if any(mark in node.value for mark in "'\"\\`") or not node.value.isprintable():
            raise self.refusal(
                node, "text must be without quotes, backticks, backslashes and line breaks: rename the category"
            )
        return True

    def _name_of(self, node: ast.expr) -> str:
        """Return ``log`` or ``np.log``; no text where a part is not a name, and where it is a column in backticks."""
        match node:
            case ast.Name(id=name) if name not in self.aliases:
                return name
            case ast.Attribute(value=ast.Name(id="np" | "contr" as owner), attr=name) if owner not in self.aliases:
                return f"{owner}.{name}"
        return ""


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
