import numpy as np
import pytest
from matplotlib.figure import Figure

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


def test_methods_differ_in_color_and_marker(ax):
    plot_rmse_curves({name: {1: 0.1, 2: 0.05} for name in "abcdef"}, ax=ax)
    assert len({line.get_color() for line in ax.lines}) == 6
    assert len({line.get_marker() for line in ax.lines}) == 6


@pytest.mark.parametrize(("loss", "label"), [(0.022**2, "2.20"), (0.9999**2, "100"), (0.00136**2, "0.136")])
def test_the_last_error_has_three_digits(ax, loss, label):
    plot_loss([1.0, loss], ax=ax)
    assert [text.get_text() for text in ax.texts] == [label]


@pytest.mark.parametrize("first", [0.21, 0.123, 0.0858])
@pytest.mark.parametrize("factor", [1.2, 3, 4.5, 6.5, 8, 30, 3000])
def test_some_errors_are_written_at_the_axis(ax, first, factor):
    plot_rmse_curves({"ours": {1: first, 5: first / factor}}, ax=ax)
    ax.figure.draw_without_rendering()
    low, high = ax.get_ylim()
    shown = [tick for tick in ax.get_yticks() if low <= tick <= high]
    assert 3 <= len(shown) <= 9


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


@pytest.mark.parametrize("size", [(3.4, 2.2), (7, 3)])
def test_the_legend_hides_no_curve(size):
    axes = Figure(size, layout="constrained").subplots()
    names = ["matching pursuit", "order-recursive matching pursuit", "exact search", "complex PCA"]
    rates = [0.95, 0.8, 0.6, 0.5]
    plot_rmse_curves({n: {k: 0.2 * r**k for k in range(1, 9)} for n, r in zip(names, rates, strict=True)}, ax=axes)
    axes.figure.draw_without_rendering()
    box = axes.get_legend().get_window_extent()
    for line in axes.lines:
        x = np.linspace(1, 8, 200)
        y = np.exp(np.interp(x, line.get_xdata(), np.log(line.get_ydata())))
        assert not any(box.contains(*point) for point in axes.transData.transform(np.column_stack([x, y])))
