"""Tables of numbers as colors and curves: distances, confusion, losses, errors and suggestions."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from shapelex.plotting import plot_confusion, plot_loss, plot_rmse_curves, plot_suggestion
from tests.plotting.conftest import TIDY, make_suggestion


def draw_distances(table, **options):
    return sx.plotting.plot_distances(table, ax=Figure().subplots(), **options)


@pytest.fixture
def table():
    return sx.pairwise_distances(np.random.default_rng(0).normal(size=(5, 6, 2)))


def test_shapes_of_a_label_are_neighbors(table):
    labels = ["b", "a", "b", "", "a"]
    ax = draw_distances(table, labels=labels)
    order = [3, 1, 4, 0, 2]
    np.testing.assert_array_equal(ax.images[0].get_array(), table[np.ix_(order, order)])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["(none)", "a", "b"]
    np.testing.assert_array_equal(ax.get_yticks(), [0, 1.5, 3.5])
    assert [line.get_ydata()[0] for line in ax.lines if line.get_gid() != "tick"][::2] == [0.5, 2.5]


def test_names_where_there_is_room(table):
    assert [text.get_text() for text in draw_distances(table, names=list("vwxyz")).get_yticklabels()] == [*"vwxyz"]
    many = np.zeros((41, 3))
    assert "n7" not in [
        text.get_text() for text in draw_distances(many, names=[f"n{k}" for k in range(41)]).get_yticklabels()
    ]


@pytest.mark.parametrize(("role", "is_lettered"), [("labels", False), ("names", True)])
def test_names_and_letters_stay_in_the_figure(role, is_lettered):
    for length in (1, 6, 13):
        figure = Figure(figsize=(7, 5.6), layout="constrained")
        names = [f"{'x' * length}{k}" for k in range(4)]
        ax = sx.plotting.plot_distances(1 - np.eye(4), **{role: names}, ax=figure.subplots())
        if is_lettered:
            sx.plotting.letter_panels(ax)
        for _ in range(2):
            figure.draw_without_rendering()
        assert ax.get_tightbbox().x0 >= 0


def test_colors_are_shares_and_numbers_counts():
    ax = plot_confusion(["b", "a", "a", "a"], ["a", "a", "b", "a"], ax=Figure().subplots())
    np.testing.assert_allclose(ax.images[0].get_array(), [[2 / 3, 1 / 3], [1, 0]])
    found = {text.get_position(): text.get_text() for text in ax.texts}
    assert found == {(0, 0): "2", (1, 0): "1", (0, 1): "1"}
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    # Classes are in the given order, and may be empty.
    ax = plot_confusion([1, 2], [2, 2], classes=[3, 2, 1], ax=Figure().subplots())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["3", "2", "1"]
    np.testing.assert_allclose(ax.images[0].get_array(), [[0, 0, 0], [0, 1, 0], [0, 1, 0]])


def _curves(ax):
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines}


def test_loss_is_drawn_as_rmse_in_percent(ax):
    plot_loss(np.array([0.09, 0.04, 0.01]), ax=ax, label="fit")
    assert _curves(ax)["fit"] == ([0, 1, 2], pytest.approx([30, 20, 10]))
    assert ax.get_ylabel() == "RMSE (%)"
    assert ax.get_xlabel() == "iteration"
    assert [text.get_text() for text in ax.texts] == ["10.0"]
    assert ax.get_legend() is not None


def test_curves_by_method(ax):
    plot_rmse_curves({"ours": {2: 0.1, 1: 0.2}, "peer": {1: 0.3}}, ax=ax)
    assert _curves(ax) == {"ours": ([1, 2], pytest.approx([20, 10])), "peer": ([1], pytest.approx([30]))}
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours", "peer"]


def _structured():
    rows = list(zip(*TIDY.values(), strict=True))
    return np.array(rows, dtype=[("method", "U8"), ("n_nonzero", int), ("rmse", float)])


@pytest.mark.parametrize("table", [TIDY, _structured()], ids=["dict", "structured"])
def test_tidy_table_averages_repeats(ax, table):
    plot_rmse_curves(table, ax=ax)
    assert _curves(ax) == {"ours": ([1, 2], pytest.approx([20, 10])), "peer": ([1, 2], pytest.approx([30, 15]))}
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(8)
    assert band[:, 1].max() == pytest.approx(20)


def test_a_curve_a_sparsity_and_the_choice(ax):
    found = make_suggestion()
    plot_suggestion(found, ax=ax)
    *curves, ring = ax.lines
    assert [list(curve.get_xdata()) for curve in curves] == [[3, 5, 9], [3, 5, 9], [3, 5]]
    assert curves[1].get_ydata() == pytest.approx([100 * found.surface.rmse(J, 2) for J in (3, 5, 9)])
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (5, pytest.approx(100 * found.rmse))
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.texts] == ["1", "2 per shape", "3"]
    assert curves[0].get_color() == curves[2].get_color() != curves[1].get_color()
    # Bars of stability.
    (strip,) = ax.child_axes
    assert [bar.get_height() for bar in strip.patches] == pytest.approx([0.3, 0.5, 0.9])
    assert strip.get_xlabel() == "atoms in the dictionary"
    assert strip.get_xlim() == ax.get_xlim()
    colors = [bar.get_facecolor() for bar in strip.patches]
    assert colors[0] == colors[2] != colors[1]
