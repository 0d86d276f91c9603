"""The style sheet: it applies inside its context alone, and settings of users win."""

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pytest
from cycler import cycler
from matplotlib.figure import Figure

import shapelex as sx

Z = np.array([[0, 1, 1 + 1j, 1j], [0, 2, 2 + 1j, 1j]])


def test_style_is_restored():
    before = dict(mpl.rcParams)
    with sx.plotting.style():
        assert mpl.rcParams["pdf.fonttype"] == mpl.rcParams["ps.fonttype"] == 42
        assert mpl.rcParams["svg.fonttype"] == "none"
        assert mpl.rcParams["font.size"] == 8
    sx.plotting.plot_shapes(Z, labels=["a", "b"], ax=Figure().subplots())
    assert dict(mpl.rcParams) == before


def test_settings_of_users_win():
    with mpl.rc_context({"font.size": 12, "lines.linewidth": 3, "axes.prop_cycle": cycler(color=["red", "lime"])}):
        ax = sx.plotting.plot_shapes(Z, labels=["a", "b"], ax=Figure().subplots())
        assert {text.get_fontsize() for text in ax.texts} == {12}
        assert {(line.get_color(), line.get_linewidth()) for line in ax.lines} == {("red", 3)}
        ax = sx.plotting.plot_shapes(Z, color=["x", "y"], ax=Figure().subplots())
        assert {line.get_color() for line in ax.lines} == {"red", "lime"}
        # What is said in the call wins over everything.
        ax = sx.plotting.plot_shapes(Z, labels=["a", "b"], fontsize=5, color="blue", ax=Figure().subplots())
        assert {text.get_fontsize() for text in ax.texts} == {5}
        assert {line.get_color() for line in ax.lines} == {"blue"}


def test_sizes_of_figures():
    assert sx.plotting.figure_size("single") == pytest.approx((85 / 25.4, 0.7 * 85 / 25.4))
    assert sx.plotting.figure_size("double", 90) == pytest.approx((180 / 25.4, 90 / 25.4))
    with pytest.raises(ValueError, match="width must be one of 'single', 'double'"):
        sx.plotting.figure_size("triple")
    with pytest.raises(ValueError, match="height must be finite and positive, got -1"):
        sx.plotting.figure_size(85, -1)
