"""Transition graphs: which arrows and names are drawn, and how large states are."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch

from shapelex.plotting import plot_transitions

MATRIX = np.array([[0.2, 0.7, 0.1], [0.5, 0.0, 0.5], [0.97, 0.03, 0.0]])


def arrows(ax: Axes) -> list[FancyArrowPatch]:
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def disks(ax: Axes) -> list[Circle]:
    return [patch for patch in ax.patches if isinstance(patch, Circle)]


def texts(ax: Axes, kind: str) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_gid() == kind]


def test_arrows_are_the_probable_changes_and_the_diagonal_is_left_out(ax: Axes) -> None:
    plot_transitions(MATRIX, ax=ax)
    assert texts(ax, "probability") == ["70 %", "10 %", "50 %", "50 %", "97 %"]
    widths = [arrow.get_linewidth() for arrow in arrows(ax)]
    np.testing.assert_allclose(np.array(widths) / widths[0], np.array([0.7, 0.7 / 6.3, 0.5, 0.5, 0.97]) / 0.7, rtol=0.2)
    assert widths[4] > widths[0] > widths[2] > widths[1]
    assert len(arrows(plot_transitions(MATRIX, min_probability=0.0, ax=ax.figure.subplots()))) == 6


def test_names_come_from_the_data_frame_and_areas_from_the_shares(ax: Axes) -> None:
    names = ["forward", "turn", "pause"]
    plot_transitions(pd.DataFrame(MATRIX, names, names), shares=[0.64, 0.16, 0.2], ax=ax)
    assert texts(ax, "state") == ["forward\n64 %", "pause\n20 %", "turn\n16 %"]
    first, _, second = (disk.radius for disk in disks(ax))
    assert first == pytest.approx(2 * second)


def test_disks_do_not_touch_and_names_are_in_the_picture(ax: Axes) -> None:
    n_states = 10
    plot_transitions(np.full((n_states, n_states), 1 / n_states), shares=np.ones(n_states), ax=ax)
    found = disks(ax)
    for k, one in enumerate(found):
        for other in found[:k]:
            assert np.hypot(*np.subtract(one.center, other.center)) > one.radius + other.radius
    # So many arrows have no room for numbers.
    assert texts(ax, "probability") == []


def test_only_the_commonest_states_are_drawn(ax: Axes) -> None:
    plot_transitions(np.full((5, 5), 0.2), shares=[0.1, 0.3, 0.05, 0.4, 0.15], max_states=2, ax=ax)
    assert texts(ax, "state") == ["3\n40 %", "1\n30 %"]
    assert ax.get_title() == "2 of 5 states"
