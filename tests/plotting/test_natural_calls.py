"""Sets and models as arguments: colors by columns, scale bars, numbers, and errors that name the right call."""

import warnings

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

import shapelex as sx
from tests.plotting.conftest import check_text_is_apart, drawn, labels, marks, numbers


@pytest.fixture
def shapes(blobs):
    Z, space = blobs
    metadata = {
        "treatment": ["heat", "", "cold"] * 3,
        "dose": [3.0, 1.0, np.nan] + [2.0] * 6,
        "plate": [1, 2, 2] * 3,
        "units": ["mm"] * 9,
    }
    return sx.ShapeSet(Z, space, metadata=metadata)


@pytest.fixture
def model(shapes):
    return sx.ShapeDictionary(3, 1, random_state=0, max_iter=2, tol=1.0).fit(shapes)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def colors(ax):
    return [to_hex(line.get_color()) for line in ax.lines if line.get_gid() != "scale bar"]


def test_categories_have_a_legend_and_sort_the_shapes(shapes, ax):
    assert shapes.plot(color="treatment", labels=shapes.ids, ax=ax) is ax
    assert legend(ax) == ["cold", "heat", "(none)"]
    assert ax.get_legend().get_title().get_text() == "treatment"
    assert labels(ax)[:9] == ["2", "5", "8", "0", "3", "6", "1", "4", "7"]
    assert len(set(colors(ax))) == 3
    check_text_is_apart(ax)


def test_few_whole_numbers_are_categories_and_others_have_a_color_bar(shapes, ax):
    assert legend(shapes.plot(color="plate", ax=ax)) == ["1", "2"]
    figure = Figure(layout="constrained")
    panel = shapes.plot(color="dose", ax=figure.subplots())
    bar = figure.axes[1]
    assert bar.get_xlabel() == "dose"
    assert bar.get_xlim() == (1.0, 3.0)
    # Sorted, the least first and the missing one last, in gray.
    assert len(set(colors(panel))) == 4
    assert colors(panel)[-1] == "#9a9a9a"


def test_values_colors_and_columns(shapes, ax):
    assert legend(shapes.plot(color=list("aabbaabba"), ax=ax)) == ["a", "b"]
    assert set(colors(shapes.plot(color="red", ax=Figure().subplots()))) == {"#ff0000"}
    assert set(colors(shapes.plot(color=(0.0, 0.0, 1.0), ax=Figure().subplots()))) == {"#0000ff"}
    # A column is meant where there is one.
    named = shapes.replace(metadata={"red": ["x", "y", "z"] * 3})
    assert legend(named.plot(color="red", ax=Figure().subplots())) == ["x", "y", "z"]


def test_large_sets_are_thinned_and_say_so(rng, ax):
    big = sx.ShapeSet(rng.normal(size=(100, 4, 2)))
    assert len(drawn(big.plot(ax=ax))) == 60
    assert ax.get_title() == "60 of 100 shapes"
    assert len(drawn(big.plot(overlay=True, ax=Figure().subplots()))) == 100


def test_panel_letters():
    figure = Figure(figsize=(5, 3), layout="constrained")
    panels = figure.subplots(2, 2)
    sx.plotting.plot_shape([0, 1, 1j], ax=panels[0, 0])
    sx.plotting.letter_panels(panels)
    letters = [panel.texts[-1] for panel in panels.ravel()]
    assert [letter.get_text() for letter in letters] == ["A", "B", "C", "D"]
    figure.draw_without_rendering()
    left = [letter.get_window_extent().x0 for letter in letters]
    assert left[0] == pytest.approx(left[2], abs=8)
    assert letters[0].get_window_extent().y0 == pytest.approx(letters[1].get_window_extent().y0, abs=1)
    with pytest.raises(ValueError, match="letters must be one for each of the 4 panels, got 2"):
        sx.plotting.letter_panels(panels, "ab")


def test_scale_bar_where_the_unit_is_known(shapes, ax):
    shapes.plot(ax=ax)
    (bar,) = [line for line in ax.lines if line.get_gid() == "scale bar"]
    (text,) = [text.get_text() for text in ax.texts if text.get_gid() == "scale bar"]
    length, unit = text.split()
    assert (unit, np.ptp(bar.get_xdata())) == ("mm", pytest.approx(float(length)))
    check_text_is_apart(ax)
    assert not shapes.plot(scale_bar=False, ax=Figure().subplots()).texts
    mixed = shapes.replace(metadata={"units": ["mm"] * 8 + ["m"]})
    assert not mixed.plot(ax=Figure().subplots()).texts
    (text,) = mixed.plot(scale_bar="cm", ax=Figure().subplots()).texts
    assert text.get_text().endswith(" cm")


def test_models_draw_themselves(model, shapes):
    by_hand = sx.plotting.plot_atoms(model.atoms_, model.space_, usage=model.usage_, ax=Figure().subplots())
    for ax in (model.plot(ax=Figure().subplots()), sx.plotting.plot_atoms(model, ax=Figure().subplots())):
        assert (labels(ax), numbers(ax)) == (labels(by_hand), numbers(by_hand))
        np.testing.assert_allclose(drawn(ax), drawn(by_hand))
    ax = sx.plotting.plot_reconstructions(model, shapes, ax=Figure().subplots())
    by_hand = sx.plotting.plot_reconstructions(shapes, model.reconstruct(shapes), ax=Figure().subplots())
    np.testing.assert_allclose(drawn(ax), drawn(by_hand))
    sx.plotting.plot_reconstructions(model, shapes, max_shapes=4, ax=(few := Figure().subplots()))
    assert few.get_title() == "4 of 9 shapes, by error"
    errors = [float(text.removesuffix(" %")) for text in labels(few)]
    assert errors == sorted(errors)
    others = sx.AlignFirstDictionary(2, 1, random_state=0, max_iter=1), sx.RiemannianDictionary(2, random_state=0)
    for other in others:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            other.set_params(max_iter=1).fit(shapes)
        assert sorted(numbers(other.plot(ax=Figure().subplots()))) == [0, 1]


def test_landmarks_alone_with_numbers(shapes, ax):
    sx.plotting.plot_shapes(shapes.configurations, shapes.space, points="numbers", linestyle="none", ax=ax)
    assert not drawn(ax)
    assert [len(one) for one in marks(ax)] == [14] * 9
    # Of the first shape alone, from 1.
    assert [text.get_text() for text in ax.texts if text.get_gid() == "landmark"] == [str(k) for k in range(1, 15)]
    # One pale cell behind each, so that shapes do not run together.
    assert len(ax.patches) == 9
