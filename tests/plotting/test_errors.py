import numpy as np
import pytest

from shapelex.plotting import plot_loss, plot_rmse_curves
from tests.plotting.conftest import TIDY


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
