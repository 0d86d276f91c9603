import pytest

from shapelex.plotting import plot_suggestion
from tests.plotting.suggestions import make_suggestion


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


def test_bars_of_stability(ax):
    plot_suggestion(make_suggestion(), ax=ax)
    (strip,) = ax.child_axes
    assert [bar.get_height() for bar in strip.patches] == pytest.approx([0.3, 0.5, 0.9])
    assert strip.get_xlabel() == "atoms in the dictionary"
    assert strip.get_xlim() == ax.get_xlim()
    colors = [bar.get_facecolor() for bar in strip.patches]
    assert colors[0] == colors[2] != colors[1]
