"""Formulas: what they may contain, and how large they may be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shapelex import statistics as st
from shapelex.exceptions import ParameterError, ShapeInputError

ODD_NAME = "I(np.f2py.os.system('false'))"


@pytest.fixture
def data(rng: np.random.Generator) -> dict[str, Any]:
    """Columns of 40 shapes."""
    return {
        "x": rng.normal(size=40),
        "k": np.arange(40) % 7,
        "g": np.array(list("abcd"))[np.arange(40) % 4],
        "h": np.array(["u", "v"])[np.arange(40) // 4 % 2],
        "a b": rng.uniform(1, 2, 40),
        "a_b": rng.uniform(1, 2, 40),
        "p.q": rng.uniform(1, 2, 40),
        "t e": np.array(["m", "n"])[np.arange(40) // 2 % 2],
        ODD_NAME: np.array(["m", "n"])[np.arange(40) // 2 % 2],
    }


@pytest.fixture
def fit(rng: np.random.Generator, data: dict[str, Any]) -> Callable[..., Any]:
    """Fit the model of a right side to random hexagons."""
    shapes = np.exp(2j * np.pi * np.arange(6) / 6) + 0.1 * (rng.normal(size=(40, 6, 2)) @ [1, 1j])

    def fitted(right: str, **options: Any) -> Any:
        return st.shape_lm(f"shape ~ {right}", shapes, data, permutations=0, **options)

    return fitted


class TestAllowed:
    @pytest.mark.parametrize(
        ("right", "expected"),
        [
            ("I(-x / (k + 1.5))", lambda d: -d["x"] / (d["k"] + 1.5)),
            ("I(x * 10 ** 3)", lambda d: 1000 * d["x"]),
            ("I((x > 0) & (k <= 3) | (k == 5))", lambda d: (d["x"] > 0) & (d["k"] <= 3) | (d["k"] == 5)),
            ("I(g == 'a')", lambda d: d["g"] == "a"),
            ("I(g != h)", lambda d: d["g"] != d["h"]),
            ("log(`a b`)", lambda d: np.log(d["a b"])),
            ("I(`a b` * a_b)", lambda d: d["a b"] * d["a_b"]),
            ("np.log10(`p.q`)", lambda d: np.log10(d["p.q"])),
            ("sqrt(abs(x)) + 0:k", lambda d: np.sqrt(np.abs(d["x"]))),
            ("center(x)", lambda d: d["x"] - d["x"].mean()),
            ("scale(x, center=100, scale=False)", lambda d: d["x"] - 100),
            ("standardize(x)", lambda d: (d["x"] - d["x"].mean()) / d["x"].std()),
        ],
    )
    def test_numbers(self, fit, data, right, expected):
        np.testing.assert_allclose(fit(right).design.matrix[:, 1], expected(data), rtol=1e-12)

    @pytest.mark.parametrize(
        ("right", "n_columns"),
        [
            ("poly(x, 3)", 3),
            ("bs(x, df=5)", 5),
            ("bs(x, df=4, lower_bound=-100, upper_bound=100, extrapolation='clip')", 4),
            ("cr(x, df=3, constraints='center')", 3),
            ("cc(x, knots=[-1, 0.5, 1])", 4),
            ("C(k)", 6),
            ("C(g, contr.sum)", 3),
            ("C(g, contr.treatment('b'))", 3),
            ("C(g, contrasts=contr.helmert(reverse=False))", 3),
            ("C(g, Treatment('b'))", 3),
            ("C(g, levels=['b', 'a', 'c', 'd'])", 3),
            ("C(g, {'first': [1, -1, 0, 0], 'second': [0, 0, 1, -1]})", 2),
            ("(g + h + x) ** 2 - g:h", 9),
            ("(g + h)^2", 7),
            ("+ x - - k", 2),
        ],
    )
    def test_columns(self, fit, right, n_columns):
        assert fit(right).design.matrix.shape[1] == 1 + n_columns

    @pytest.mark.parametrize("right", ["g * x", "`t e` * x", "C(k) + x", "{g} + x", f"`{ODD_NAME}` + x"])
    def test_categories_with_centered_contrasts(self, fit, right):
        fitted = fit(right, type=3)
        coded = [name for name in fitted.design.names if name.startswith("C(") and ":" not in name]
        columns = fitted.design.matrix[:, [fitted.design.names.index(name) for name in coded]]
        assert set(np.unique(columns)) <= {-1.0, 0.0, 1.0}
        assert (columns == -1).any()

    def test_predictions_use_the_functions_of_the_fit(self, fit):
        fitted = fit("sqrt(a_b) + bs(x, df=4, extrapolation='clip') + C(g, contr.sum)")
        rows = fitted.design.rows_for(fitted.shapes.table.reset_index(drop=True))
        np.testing.assert_allclose(rows, fitted.design.matrix)


WRITES = [
    "np.f2py.os.system('touch {path}')",
    "np.f2py.os.system('touch {path}')()",
    "log(x, np.f2py.os.system('touch {path}'))",
    "poly(x, degree=np.f2py.os.system('touch {path}'))",
    "C(g, levels=[np.f2py.os.system('touch {path}')])",
    "I(np.savetxt('{path}', x))",
    "{{x.to_csv('{path}')}}",
    "I(open('{path}', 'w'))",
    "I(__import__('os').system('touch {path}'))",
    "x ~ np.f2py.os.system('touch {path}')()",
    "x %foo% np.f2py.os.system('touch {path}')()",
    # formulaic puts the text of a call between double quotes, and evaluates it.
    """scale(g == ''' " + str(open('{path}', 'w')) + " ''')""",
    """bs(x, df=4, extrapolation='''" + str(open(`{path}`, `w`)) + "''')""",
]


class TestNothingIsExecuted:
    @pytest.mark.parametrize("right", WRITES)
    def test_by_linear_models(self, fit, tmp_path, right):
        path = tmp_path / "made"
        with pytest.raises(ParameterError, match="formula"):
            fit(right.format(path=path))
        assert not path.exists()

    def test_by_other_models(self, rng, tmp_path):
        path = tmp_path / "made"
        code = f"I(x + 0 * np.f2py.os.system('touch {path}'))"
        x = rng.normal(size=20)
        with pytest.raises(ParameterError, match="must not contain"):
            st.code_lm(f"codes ~ {code}", rng.normal(size=(20, 3)) + 0j, {"x": x})
        fitted = st.shape_lm("shape ~ x", rng.normal(size=(20, 5, 2)) @ [1, 1j], {"x": x}, permutations=9)
        with pytest.raises(ParameterError, match="must not contain"):
            st.pairwise(fitted, np.arange(20) % 2, null=f"shape ~ {code}")
        assert not path.exists()

    def test_from_names_of_columns(self, rng, tmp_path):
        path = tmp_path / "made"
        name = f"I(np.f2py.os.system('touch {path}'))"
        shapes, groups = rng.normal(size=(20, 5, 2)) @ [1, 1j], np.array(["a", "b"])[np.arange(20) % 2]
        for sum_type in (1, 3):
            fitted = st.shape_lm(f"shape ~ `{name}`", shapes, {name: groups}, permutations=0, type=sum_type)
            assert fitted.table.loc[name, "Df"] == 1
        assert not path.exists()


PARTS = [
    ("I(x[0])", r"'x\[0\]'"),
    ("I(x)(k)", r"'I\(x\)\(k\)'"),
    ("I((lambda: x)())", r"'\(lambda: x\)\(\)'"),
    ("I([y for y in x])", "'.y for y in x.'"),
    ("I(x if k else x)", "'x if k else x'"),
    ("I(~x)", "'~x'"),
    ("I(1 < x < 3)", r"'1 < x < 3' \(write \(a < b\) & \(b < c\)\)"),
    ("I(x ^ 2)", r"'x \^ 2' \(write \*\* for a power\)"),
    ("I(p.q)", r"'p.q' \(write a column whose name has a point in backticks\)"),
    ("I(True * x)", "'True'"),
    ("I('a')", "text can be compared"),
    ("x + 'a'", "\"'a'\""),
    ("I(3)", "it uses no column"),
    ("I(x) + I(1 < 2)", "it compares no column"),
    ("scale(x, _state=x)", "'_state=x'"),
    ("poly(x, **{})", r"'\*\*{}'"),
    ("poly(x=x)", "first argument of poly must be given"),
    ("log(x, k)", "log takes one argument"),
    ("poly(x, k)", "'k' .only numbers, text and lists"),
    ("bs(x, df=4, extrapolation='other')", "text here is one of"),
    ("hashed(g, levels=10)", r"'hashed\(g, levels=10\)'"),
    ("Q('x')", "\"Q.'x'.\""),
    ("I(C(g))", r"C\(…\) must stand alone"),
    ("C(g, contr.__class__)", "'contr.__class__'"),
    ('C(g, contr.treatment("it\'s"))', "rename the category"),
    (".", "'.'"),
]
LARGE = [
    ("g ** 99999999", "from 1 to 6 as exponents of 1 term, got 99999999"),
    (f"C(k, levels={list(range(200))}):C(k + 1, levels={list(range(200))})", "at most 10,000 columns, got 40,001"),
    (f"bs(x, knots={dict.fromkeys(range(70), 0)})", "only numbers, text and lists of them"),
    ("(g * h * x * size) ** 5", "from 1 to 4 as exponents of 15 terms, got 5"),
    ("g ** 2 ** 3", "got an expression; for the power of a variable, write I.x "),
    ("*".join(f"I(x + {n})" for n in range(60)), "at most 500 terms, got up to 511"),
    ("(" + "+".join(f"I(x + {n})" for n in range(50)) + ") ** 2", "at most 500 terms, got up to 1,275"),
    (":".join(f"C(I(x + {n}))" for n in range(30)), "at most 6 variables in a term, got 30"),
    ("poly(x, 40):poly(size, 40):poly(k, 40)", "at most 10,000 columns, got 64,001"),
    ("x" + " + x" * 3000, "at most 10,000 characters, got 12,001"),
    ("poly(x, 1000000000)", "a function makes at most 50 columns"),
    (f"cs(x, knots={list(range(60))})", "a function makes at most 50 columns"),
    ("I(x * 9 ** 9 ** 9 ** 9)", "9 .. 9 .. 9. .it is not a finite number"),
    ("I(x * 1e999)", "it is not a finite number"),
    ("I(" + "(" * 3000 + "x" + ")" * 3001, "cannot be read"),
]


@pytest.mark.parametrize(
    ("right", "error", "words"),
    [
        *((right, ParameterError, f"must not contain .*{part}.*the functions abs, .*, tan, tanh")
          for right, part in PARTS),
        *((name, ShapeInputError, "which is not a column")
          for name in ("np", "log", "I(log)", "I(np)", "contr.sum", "np.log", "`open`", "I(`open`)")),
        *((right, ParameterError, "cannot be evaluated: .* needs numbers, but the column 'g' holds")
          for right in ("log(g)", "I(g * 1000000000)", "I(I(g) + g)", "I(-g)", "poly(g, 2)")),
        *((right, ParameterError, "cannot be read")
          for right in ("I(x", "I(x\0)", "log(`a b)", "I(``)", "x +* g", "I(`lambda` x)", "x k")),
        # Large formulas, before they are expanded.
        *((right, ParameterError, words) for right, words in LARGE),
        *((f"I(x * {unit})", ShapeInputError, "must have a largest entry between 1e-140 and ")
          for unit in ("1e-310", "1e-200", "1e200")),
    ],
)  # fmt: skip
def test_refused(fit, right, error, words):
    with pytest.raises(error, match=words):
        fit(right)


def test_columns_whose_characters_python_changes_are_refused_in_functions(data, fit):
    data["\ufb01"], data["fi"] = np.arange(1.0, 41), np.arange(40.0, 0, -1)
    assert fit("`\ufb01`").terms
    with pytest.raises(ParameterError, match="Python takes some of its characters for others and reads 'fi'"):
        fit("sqrt(`\ufb01`)")


def test_the_largest_factorial_design(rng):
    data = {name: np.array(["u", "v"])[rng.integers(2, size=90)] for name in "abcdef"}
    fitted = st.shape_lm("shape ~ (a + b + c + d + e + f) ** 6", rng.normal(size=(90, 5, 2)), data, permutations=0)
    assert len(fitted.design.terms) == 63


@pytest.mark.parametrize("name", ["class", "lambda"])
def test_columns_named_like_words_of_python(data, fit, name):
    data[name] = data["g"]
    assert fit(f"`{name}`")
    with pytest.raises(ParameterError, match="cannot be read"):
        fit(f"`{name}` + x", type=3)
