"""Labels, ids and names with dollar signs are drawn as they are written, in every picture that shows them."""

import io
import xml.etree.ElementTree as ET
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
TWO, ALL = (BAD, SQUARE), (BAD, OTHER, SQUARE, ESCAPED)
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


def lettered(ax: Any) -> None:
    plotting.letter_panels(ax, [BAD])


def by_split(ax: Any) -> None:
    table = {"method": [BAD, BAD], "split": [OTHER, SQUARE], "n_nonzero": [1, 1], "rmse": [0.2, 0.1]}
    plotting.plot_rmse_curves(table, ax=ax)


PICTURES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "letter_panels": (lettered, (BAD,)),
    "plot_confusion": (lambda ax: plotting.plot_confusion(ALL, ALL[::-1], ax=ax), ALL),
    "plot_distances by label": (lambda ax: plotting.plot_distances(1 - np.eye(4), labels=ALL, ax=ax), ALL),
    "plot_distances by name": (lambda ax: plotting.plot_distances(1 - np.eye(4), names=ALL, ax=ax), ALL),
    "plot_ethogram": (
        lambda ax: plotting.plot_ethogram(list(ALL), [0, 1, 0, 1], [BAD, BAD, OTHER, OTHER], ax=ax),
        (BAD, OTHER, *(f"{name} (25 %)" for name in ALL)),
    ),
    "plot_kymograph": (lambda ax: plotting.plot_kymograph(np.eye(3), ends=TWO, name=OTHER, ax=ax), (*TWO, OTHER)),
    "plot_loss": (lambda ax: plotting.plot_loss([0.2, 0.1], label=BAD, ax=ax), (BAD,)),
    "plot_phase_portrait": (lambda ax: plotting.plot_phase_portrait([1, 1j, -1], names=TWO, ax=ax), TWO),
    "plot_rmse_curves": (lambda ax: plotting.plot_rmse_curves({name: {1: 0.2} for name in ALL}, ax=ax), ALL),
    "plot_rmse_curves by split": (by_split, (BAD, OTHER, SQUARE)),
    "plot_shapes with labels": (
        lambda ax: plotting.plot_shapes(triangles(), labels=ALL, scale_bar=OTHER, ax=ax),
        (*ALL, f"0.5 {OTHER}"),
    ),
    "plot_shapes by column": (lambda ax: plotting.plot_shapes(triangles(), color=OTHER, ax=ax), (*ALL, f"0.5 {BAD}")),
    "plot_shapes by number": (
        lambda ax: plotting.plot_shapes(triangles(), color=pd.Series([0.5, 1, 2, 3], name=BAD), ax=ax),
        (BAD,),
    ),
    "plot_transitions": (
        lambda ax: plotting.plot_transitions(pd.DataFrame(np.eye(4)[[1, 2, 3, 0]], index=ALL), ax=ax),
        ALL,
    ),
}


def test_every_picture_is_in_one_of_the_lists() -> None:
    listed = {name.split()[0] for name in PICTURES} | WITHOUT_TEXT | NO_PICTURES
    assert listed == set(plotting.__all__)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_draw_text_as_it_is_written(name: str, ax: Any) -> None:
    draw, expected = PICTURES[name]
    draw(ax)
    found = texts_of(ax)
    assert set(expected) <= set(found)


@pytest.fixture(scope="module")
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


def atom_tests(shapes: sx.ShapeSet, column: str) -> Any:
    model = sx.ShapeDictionary(3, 2, tol=0.1, random_state=0).fit(shapes)
    data = {column: shapes.metadata[column]}
    return st.atom_tests(model.encode(shapes), column, model=model, data=data, permutations=19, random_state=0)


def fit(shapes: sx.ShapeSet, formula: str = "shape ~ group") -> Any:
    return st.shape_lm(formula, shapes, permutations=9, random_state=0)


RESULTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "local test": (
        lambda shapes, ax: st.local_test(shapes, "group", permutations=19).plot(ax),
        (BAD, SQUARE, "_under"),
    ),
    "mean test": (
        lambda shapes, ax: st.mean_test(shapes[:15], shapes[15:], permutations=19, names=(BAD, "_under")).plot(ax),
        (BAD,),
    ),
    "atoms": (
        lambda shapes, ax: atom_tests(shapes, "site").plot(ax),
        (f"difference in use (share of shapes), {PAIR}",),
    ),
    "atoms of three groups": (lambda shapes, ax: atom_tests(shapes, "group").plot(ax), (PAIR,)),
    "typical shapes": (lambda shapes, ax: atom_tests(shapes, "group").plot_typical(ax), (BAD, SQUARE, "_under")),
    "pairs": (lambda shapes, ax: st.pairwise(fit(shapes)).plot(ax=ax), (BAD, SQUARE, "_under")),
    "fitted plane": (lambda shapes, ax: fit(shapes).plot(ax=ax), (BAD, SQUARE, "_under")),
    "allometry": (
        lambda shapes, ax: st.allometry(shapes, "group", permutations=9).plot(ax=ax),
        (BAD, SQUARE, f"smallest size, {BAD}"),
    ),
    "disparity": (lambda shapes, ax: st.disparity(shapes, "group", permutations=9).plot(ax=ax), (BAD, SQUARE)),
    "trajectories": (
        lambda shapes, ax: st.trajectories(fit(shapes, "shape ~ group * site"), "group", "site").plot(ax=ax),
        (BAD, SQUARE, "_under"),
    ),
    "outliers": (lambda shapes, ax: st.outliers(shapes).plot(ax=ax), (f"{BAD}7",)),
    "discriminants": (lambda shapes, ax: st.discriminants(shapes, "group").plot(ax=ax), (BAD, SQUARE)),
    "predictions": (
        lambda shapes, ax: fit(shapes).predict({"group": list(TWO)}, n_bootstrap=0).plot(ax=ax),
        TWO,
    ),
    "measurement error": (
        lambda shapes, ax: st.measurement_error(shapes, "animal", permutations=9).plot(ax=ax),
        ALL[:3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_draw_text_as_it_is_written(name: str, grouped: sx.ShapeSet, ax: Any) -> None:
    draw, expected = RESULTS[name]
    draw(grouped, ax)
    found = texts_of(ax)
    assert set(expected) <= set(found)


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
