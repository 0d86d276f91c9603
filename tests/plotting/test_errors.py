import numpy as np
import pytest

from shapelex.plotting import plot_loss, plot_rmse_curves

TIDY = {
    "method": ["ours", "ours", "peer", "peer", "ours", "peer"],
    "n_nonzero": [2, 1, 1, 2, 2, 2],
    "rmse": [0.08, 0.2, 0.3, 0.1, 0.12, 0.2],
}


def _curves(ax):
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines}


def test_loss_is_drawn_as_rmse_in_percent(ax):
    plot_loss(np.array([0.09, 0.04, 0.01]), ax=ax, label="fit")
    assert _curves(ax)["fit"] == ([0, 1, 2], pytest.approx([30, 20, 10]))
    assert ax.get_ylabel() == "RMSE (%)"
    assert ax.get_xlabel() == "iteration"
    assert [text.get_text() for text in ax.texts] == ["10.0"]
    assert ax.get_legend() is not None


@pytest.mark.parametrize("losses", [[], [[1.0]], [-1.0], [np.nan], [1j]])
def test_losses_are_mean_squares(ax, losses):
    with pytest.raises(ValueError, match="loss_curve must be"):
        plot_loss(losses, ax=ax)


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


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "at least one error"),
        ({"ours": {}}, "at least one error"),
        ({"method": ["a"], "rmse": [0.1]}, "lacks n_nonzero"),
        ({"ours": [0.1, 0.2]}, "by sparsity"),
        ({**TIDY, "rmse": [0.1]}, "6 of method, 6 of n_nonzero, 1 of rmse"),
        ({"ours": {1: 0.0}}, "positive"),
        ([1, 2], "lacks method, n_nonzero, rmse"),
    ],
)
def test_tables_that_say_too_little(ax, table, words):
    with pytest.raises(ValueError, match=words):
        plot_rmse_curves(table, ax=ax)
