"""Labels, ids and names with dollar signs are drawn as they are written, in every picture that shows them."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from shapelex import plotting
from shapelex import statistics as st
from shapelex.plotting.literal_text import literal

# The first two are no formulas, and fail where they are parsed; the others would be drawn as something else.
BAD, OTHER, SQUARE, ESCAPED = r"$\frac{$", "$x_{y$", "$x^2$", r"5\$ of 6\$"
PAIR = f"{SQUARE} − {BAD}"
TWO, ALL, GROUPS = (BAD, SQUARE), (BAD, OTHER, SQUARE, ESCAPED), (BAD, SQUARE, "_under")
# Pictures that have no text of the data or of the caller.
WITHOUT_TEXT = {
    "plot_atoms", "plot_code", "plot_combination", "plot_geodesic", "plot_mean", "plot_phases", "plot_reconstructions",
    "plot_shape", "plot_suggestion", "plot_weights",
}  # fmt: skip
NO_PICTURES = {"figure_size", "save_figure", "save_movie", "style"}


def triangles(n_shapes: int = 4) -> sx.ShapeSet:
    X = np.array([[0, 1, 1j + 0.1 * n] for n in range(n_shapes)])
    names = [ALL[n % 4] for n in range(n_shapes)]
    return sx.ShapeSet(X, ids=names, labels=names, metadata={OTHER: names, "units": [BAD] * n_shapes})


def texts_of(ax: Any) -> list[str]:
    """Return the lines of text of the figure, as a reader sees them."""
    stream = io.BytesIO()
    with plotting.style():
        ax.figure.savefig(stream, format="svg")
    stream.seek(0)
    return ["".join(one.itertext()) for one in ET.parse(stream).iter("{http://www.w3.org/2000/svg}text")]


@cache
def grouped() -> sx.ShapeSet:
    """Thirty landmark configurations in three groups and at two sites, with names that are no formulas."""
    rng = np.random.default_rng(0)
    points = np.exp(2j * np.pi * np.arange(6) / 6) + 0.1 * (rng.normal(size=(30, 6, 2)) @ [1, 1j])
    points[::3, 0] += 0.5
    points[7, 2] += 3
    return sx.ShapeSet(
        points * rng.uniform(1, 2, size=(30, 1)),
        ids=[f"{BAD}{n}" for n in range(30)],
        metadata={"group": [BAD, SQUARE, "_under"] * 10, "site": np.repeat(TWO, 15), "animal": np.repeat(ALL[:3], 10)},
    )


@cache
def atom_tests(column: str) -> Any:
    shapes = grouped()
    model = sx.ShapeDictionary(3, 2, tol=0.1, random_state=0).fit(shapes)
    data = {column: shapes.metadata[column]}
    return st.atom_tests(model.encode(shapes), column, model=model, data=data, permutations=19, random_state=0)


@cache
def fit(formula: str = "shape ~ group") -> Any:
    return st.shape_lm(formula, grouped(), permutations=9, random_state=0)


BY_SPLIT = {"method": [BAD, BAD], "split": [OTHER, SQUARE], "n_nonzero": [1, 1], "rmse": [0.2, 0.1]}
CHANGES = pd.DataFrame(np.eye(4)[[1, 2, 3, 0]], index=ALL)
NUMBERS = pd.Series([0.5, 1, 2, 3], name=BAD)
SHARES = tuple(f"{name} (25 %)" for name in ALL)
FAR, QUICK = 1 - np.eye(4), {"permutations": 9}

# Names of functions, and of results of statistics; texts that are shown; how they are drawn.
PICTURES: list[tuple[str, tuple[str, ...], Callable[[Any], Any]]] = [
    ("letter_panels", (BAD,), lambda ax: plotting.letter_panels(ax, [BAD])),
    ("plot_confusion", ALL, lambda ax: plotting.plot_confusion(ALL, ALL[::-1], ax=ax)),
    ("plot_distances", ALL, lambda ax: plotting.plot_distances(FAR, labels=ALL, ax=ax)),
    ("plot_distances", ALL, lambda ax: plotting.plot_distances(FAR, names=ALL, ax=ax)),
    ("plot_ethogram", (BAD, OTHER, *SHARES),
     lambda ax: plotting.plot_ethogram(list(ALL), [0, 1, 0, 1], [BAD, BAD, OTHER, OTHER], ax=ax)),
    ("plot_kymograph", (*TWO, OTHER), lambda ax: plotting.plot_kymograph(np.eye(3), ends=TWO, name=OTHER, ax=ax)),
    ("plot_loss", (BAD,), lambda ax: plotting.plot_loss([0.2, 0.1], label=BAD, ax=ax)),
    ("plot_phase_portrait", TWO, lambda ax: plotting.plot_phase_portrait([1, 1j, -1], names=TWO, ax=ax)),
    ("plot_rmse_curves", ALL, lambda ax: plotting.plot_rmse_curves({name: {1: 0.2} for name in ALL}, ax=ax)),
    ("plot_rmse_curves", (BAD, OTHER, SQUARE), lambda ax: plotting.plot_rmse_curves(BY_SPLIT, ax=ax)),
    ("plot_shapes", (*ALL, f"0.5 {OTHER}"),
     lambda ax: plotting.plot_shapes(triangles(), labels=ALL, scale_bar=OTHER, ax=ax)),
    ("plot_shapes", (*ALL, f"0.5 {BAD}"), lambda ax: plotting.plot_shapes(triangles(), color=OTHER, ax=ax)),
    ("plot_shapes", (BAD,), lambda ax: plotting.plot_shapes(triangles(), color=NUMBERS, ax=ax)),
    ("plot_transitions", ALL, lambda ax: plotting.plot_transitions(CHANGES, ax=ax)),
    ("local test", GROUPS, lambda ax: st.local_test(grouped(), "group", permutations=19).plot(ax)),
    ("mean test", (BAD,),
     lambda ax: st.mean_test(grouped()[:15], grouped()[15:], permutations=19, names=(BAD, "_under")).plot(ax)),
    ("atoms", (f"difference in use (share of shapes), {PAIR}",), lambda ax: atom_tests("site").plot(ax)),
    ("atoms of three groups", (PAIR,), lambda ax: atom_tests("group").plot(ax)),
    ("typical shapes", GROUPS, lambda ax: atom_tests("group").plot_typical(ax)),
    ("pairs", GROUPS, lambda ax: st.pairwise(fit()).plot(ax=ax)),
    ("fitted plane", GROUPS, lambda ax: fit().plot(ax=ax)),
    ("allometry", (*TWO, f"smallest size, {BAD}"), lambda ax: st.allometry(grouped(), "group", **QUICK).plot(ax=ax)),
    ("disparity", TWO, lambda ax: st.disparity(grouped(), "group", **QUICK).plot(ax=ax)),
    ("trajectories", GROUPS,
     lambda ax: st.trajectories(fit("shape ~ group * site"), "group", "site").plot(ax=ax)),
    ("outliers", (f"{BAD}7",), lambda ax: st.outliers(grouped()).plot(ax=ax)),
    ("discriminants", TWO, lambda ax: st.discriminants(grouped(), "group").plot(ax=ax)),
    ("predictions", TWO, lambda ax: fit().predict({"group": list(TWO)}, n_bootstrap=0).plot(ax=ax)),
    ("measurement error", ALL[:3], lambda ax: st.measurement_error(grouped(), "animal", **QUICK).plot(ax=ax)),
]  # fmt: skip


def test_every_picture_is_in_one_of_the_lists() -> None:
    listed = {name for name, _, _ in PICTURES if name.startswith(("plot_", "letter_"))} | WITHOUT_TEXT | NO_PICTURES
    assert listed == set(plotting.__all__)


@pytest.mark.parametrize(("name", "expected", "draw"), PICTURES)
def test_text_is_drawn_as_it_is_written(name: str, expected: tuple[str, ...], draw: Any, ax: Any) -> None:
    draw(ax)
    assert set(expected) <= set(texts_of(ax)), name


def test_formulas_that_users_write_stay_formulas(ax: Any) -> None:
    plotting.plot_shapes(triangles(), labels=ALL, ax=ax)
    ax.set_title("$y^3$")
    found = texts_of(ax)
    assert {*ALL} <= set(found)
    assert ["y", "3"] in [one.split() for one in found]


@pytest.mark.parametrize("text", [*ALL, "", "$", r"\$", "$$", "a\nb$c$", "plain"])
def test_literal_text_has_all_its_characters(text: str) -> None:
    shown = Figure().text(0, 0, literal(text))
    # What matplotlib draws of a text that is no formula.
    assert not mpl.cbook.is_math_text(shown.get_text())
    assert shown.get_text().replace(r"\$", "$") == text
