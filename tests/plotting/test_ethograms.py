"""Ethograms: the states of all frames are read back from the bars."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from shapelex.plotting import plot_ethogram


def bars(ax: Axes) -> dict[tuple[float, float], str]:
    """Return the color of each bar by its begin and end, of the strips from top to bottom."""
    found: dict[Any, str] = {}
    for collection in ax.collections:
        for path in collection.get_paths():
            x, y = path.vertices[:, 0], path.vertices[:, 1]
            found[round(y.mean()), float(x.min()), float(x.max())] = to_hex(collection.get_facecolor()[0])
    return found


@given(states=st.lists(st.integers(-1, 3), min_size=2, max_size=40), gap=st.integers(0, 20))
def test_every_frame_has_the_color_of_its_state(states: list[int], gap: int) -> None:
    if max(states) < 0:
        states = [*states, 0]
    frames = np.arange(len(states)) + 5
    frames[gap:] += 4
    ax = plot_ethogram(states, frames, fps=10, ax=Figure().subplots())
    found = bars(ax)
    color_of: dict[int, str] = {}
    for state, frame in zip(states, frames, strict=True):
        covering = [color for (_, begin, end), color in found.items() if begin - 1e-9 <= (frame + 0.5) / 10 <= end]
        assert len(covering) == (state >= 0)
        if covering:
            assert color_of.setdefault(state, covering[0]) == covering[0]
    assert len(set(color_of.values())) == len(color_of)
    # Bars are runs: no more than the changes of states and the gap ask for.
    steps = zip(states, states[1:], np.diff(frames), strict=False)
    n_runs = (states[0] >= 0) + sum(b >= 0 and (a != b or step > 1) for a, b, step in steps)
    assert len(found) == n_runs


def test_series_are_strips_from_top_to_bottom(ax: Axes) -> None:
    plot_ethogram(["a", "b", "a", "b"], sequence=[7, 7, 2, -1], ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["2", "7"]
    assert {strip for strip, _, _ in bars(ax)} == {0, 1}
    assert ax.get_xlabel() == "frame"
    assert ax.get_xlim() == (0, 2)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a (67 %)", "b (33 %)"]


def test_bouts_are_the_frames_that_they_span(ax: Axes) -> None:
    table = pd.DataFrame(
        {"sequence": ["a", "a", "b"], "state": ["x", "y", "x"], "first_frame": [2, 4, 0], "last_frame": [3, 4, 1]}
    )
    plot_ethogram(table, fps=2, ax=ax)
    assert {key[:3] for key in bars(ax)} == {(1, 1.0, 2.0), (1, 2.0, 2.5), (0, 0.0, 1.0)}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x (80 %)", "y (20 %)"]
