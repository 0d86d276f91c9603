"""Tables of numbers and pictures along time are read back from the axes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

import shapelex as sx
from shapelex.plotting import (
    plot_confusion,
    plot_distances,
    plot_ethogram,
    plot_kymograph,
    plot_loss,
    plot_phase_portrait,
    plot_phases,
    plot_rmse_curves,
    plot_suggestion,
    plot_transitions,
    plot_weights,
)
from shapelex.plotting.weights_in_time import _ROW_PIXELS, phase_colors
from tests.plotting.conftest import TIDY, make_suggestion


def test_shapes_of_a_label_are_neighbors_and_names_stand_where_there_is_room():
    table = sx.pairwise_distances(np.random.default_rng(0).normal(size=(5, 6, 2)))
    ax = plot_distances(table, labels=["b", "a", "b", "", "a"], ax=Figure().subplots())
    order = [3, 1, 4, 0, 2]
    np.testing.assert_array_equal(ax.images[0].get_array(), table[np.ix_(order, order)])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["(none)", "a", "b"]
    np.testing.assert_array_equal(ax.get_yticks(), [0, 1.5, 3.5])
    assert [line.get_ydata()[0] for line in ax.lines if line.get_gid() != "tick"][::2] == [0.5, 2.5]
    for distances, names in ((table, [*"vwxyz"]), (np.zeros((41, 3)), [f"n{k}" for k in range(41)])):
        ax = plot_distances(distances, names=names, ax=Figure().subplots())
        assert ([text.get_text() for text in ax.get_yticklabels()] == names) == (len(names) == 5)


@pytest.mark.parametrize(("role", "is_lettered"), [("labels", False), ("names", True)])
def test_names_and_letters_stay_in_the_figure(role, is_lettered):
    for length in (1, 6, 13):
        figure = Figure(figsize=(7, 5.6), layout="constrained")
        names = [f"{'x' * length}{k}" for k in range(4)]
        ax = plot_distances(1 - np.eye(4), **{role: names}, ax=figure.subplots())
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


def test_loss_and_errors_are_drawn_as_rmse_in_percent(ax):
    plot_loss(np.array([0.09, 0.04, 0.01]), ax=ax, label="fit")
    assert _curves(ax)["fit"] == ([0, 1, 2], pytest.approx([30, 20, 10]))
    assert ax.get_ylabel() == "RMSE (%)"
    assert ax.get_xlabel() == "iteration"
    assert [text.get_text() for text in ax.texts] == ["10.0"]
    assert ax.get_legend() is not None
    ax = plot_rmse_curves({"ours": {2: 0.1, 1: 0.2}, "peer": {1: 0.3}}, ax=Figure().subplots())
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
    # Bouts are the frames that they span.
    table = pd.DataFrame(
        {"sequence": ["a", "a", "b"], "state": ["x", "y", "x"], "first_frame": [2, 4, 0], "last_frame": [3, 4, 1]}
    )
    ax = plot_ethogram(table, fps=2, ax=Figure().subplots())
    assert {key[:3] for key in bars(ax)} == {(1, 1.0, 2.0), (1, 2.0, 2.5), (0, 0.0, 1.0)}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x (80 %)", "y (20 %)"]


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
    # Names come from the data frame, and areas from the shares.
    ax, names = Figure().subplots(), ["forward", "turn", "pause"]
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
    few = Figure().subplots()
    plot_transitions(np.full((5, 5), 0.2), shares=[0.1, 0.3, 0.05, 0.4, 0.15], max_states=2, ax=few)
    assert texts(few, "state") == ["3\n40 %", "1\n30 %"]
    assert few.get_title() == "2 of 5 states"


TURNS = np.exp(1j * np.linspace(0, 9, 50))
CODES = np.column_stack([0.4 * TURNS, np.zeros(50), 1.2 / TURNS, np.where(np.arange(50) < 20, 0.1, 0)])


def image_of(ax: Axes) -> np.ndarray:
    (image,) = ax.images
    return np.asarray(image.get_array())


def test_heights_are_amplitudes_and_colors_are_phases(ax: Axes) -> None:
    # The atoms with the largest weights come first.
    plot_weights(CODES, fps=10, ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["atom 2", "atom 0", "atom 3"]
    assert (ax.get_xlabel(), ax.get_xlim()) == ("time (s)", (0, 5))
    assert texts(ax, "scale") == ["1.5"]
    ax = Figure().subplots()
    plot_weights(CODES, atoms=[0, 3, 2], ax=ax)
    image = image_of(ax)
    for row, atom in enumerate([0, 3, 2]):
        part = image[row * _ROW_PIXELS : (row + 1) * _ROW_PIXELS]
        heights = (part[..., 3] > 0).sum(axis=0) / (0.9 * _ROW_PIXELS) * 1.5
        np.testing.assert_allclose(heights, np.abs(CODES[:, atom]), atol=1.5 / _ROW_PIXELS)
        # Bars stand on the baseline.
        is_used = CODES[:, atom] != 0
        assert (part[-1, is_used, 3] == 1).all()
        wanted = phase_colors()(np.angle(CODES[is_used, atom]) / (2 * np.pi) % 1)
        np.testing.assert_allclose(part[-1, is_used], wanted)
    # Missing frames are empty, and rows may come in any order.
    frames, mixed = np.arange(50) + 10 * (np.arange(50) >= 20), np.random.default_rng(0).permutation(50)
    codes = sx.SparseCodes(np.tile(np.arange(4), (50, 1)), CODES[mixed], n_atoms=4)
    image = image_of(plot_weights(codes, frames[mixed], ax=Figure().subplots()))
    assert image.shape[1] == 60
    assert not image[:, 20:30].any()
    assert image[-1, :20, 3].all()


@pytest.mark.parametrize(("spike", "limit", "scale"), [(1.4, None, "1.5"), (9.0, None, "1"), (9.0, 4.0, "4")])
def test_few_large_weights_are_cut_off(ax: Axes, spike: float, limit: float | None, scale: str) -> None:
    codes = np.ones((200, 1), dtype=complex)
    codes[7] = spike
    plot_weights(codes, limit=limit, ax=ax)
    assert texts(ax, "scale") == [scale]
    heights = (image_of(ax)[..., 3] > 0).sum(axis=0) / (0.9 * _ROW_PIXELS) * float(scale)
    np.testing.assert_allclose(heights, np.minimum(np.abs(codes[:, 0]), float(scale)), atol=float(scale) / _ROW_PIXELS)


@pytest.mark.parametrize(
    ("n_frames", "fps", "label"),
    [(100, None, "frame"), (90, 30, "time (s)"), (30 * 900, 30, "time (min)"), (1000, 1 / 900, "time (d)")],
)
def test_unit_of_time_follows_from_the_length(ax: Axes, n_frames: int, fps: float | None, label: str) -> None:
    assert plot_phases(np.zeros((n_frames, 1)), fps=fps, ax=ax).get_xlabel() == label


def test_curves_are_in_turns_and_broken_at_gaps_and_jumps(ax: Axes) -> None:
    phases = np.column_stack([np.linspace(0, 12, 40), np.full(40, np.nan), np.r_[np.zeros(20), np.full(20, 6.0)]])
    frames = np.arange(40) + 5 * (np.arange(40) >= 10)
    plot_phases(phases, frames, fps=10, ax=ax)
    first, second = ax.lines
    assert [line.get_label() for line in ax.lines] == ["atom 0", "atom 2"]
    assert ax.get_ylabel() == "phase (turns)"
    y = np.asarray(first.get_ydata())
    assert np.flatnonzero(np.isnan(y)).tolist() == [10]
    np.testing.assert_allclose(y[~np.isnan(y)], phases[:, 0] / (2 * np.pi))
    np.testing.assert_allclose(np.delete(first.get_xdata(), 10), (frames + 0.5) / 10)
    assert np.flatnonzero(np.isnan(second.get_ydata())).tolist() == [10, 21]


PATH = np.exp(1j * np.linspace(0, 9, 50)) * np.linspace(1, 2, 50)
WAVE = np.sin(np.linspace(0, 9, 50)[:, None] - np.linspace(0, 6, 11))


@pytest.mark.parametrize("is_real", [True, False])
def test_segments_join_frames_that_follow_each_other(ax: Axes, is_real: bool) -> None:
    frames = np.arange(50) + 3 * (np.arange(50) >= 20)
    path = PATH.copy()
    path[40] = np.nan
    plot_phase_portrait(np.column_stack([path.real, path.imag]) if is_real else path, frames, fps=10, ax=ax)
    (lines,) = ax.collections
    segments = np.array(lines.get_segments()) @ [1, 1j]
    # 49 steps, but for the gap and both sides of the frame without a value.
    assert len(segments) == 46
    joined = {(complex(a), complex(b)) for a, b in segments}
    assert (PATH[0], PATH[1]) in joined
    assert (PATH[19], PATH[20]) not in joined
    assert lines.get_clim() == (0, 5.3)
    assert ax.get_xlim()[1] >= 2
    assert ax.get_xlim() == ax.get_ylim()


def test_picture_has_time_along_x_and_the_head_on_top(ax: Axes) -> None:
    frames = np.arange(50) + 3 * (np.arange(50) >= 20)
    mixed = np.random.default_rng(0).permutation(50)
    plot_kymograph(WAVE[mixed], frames[mixed], fps=10, ax=ax)
    (image,) = ax.images
    drawn = np.ma.filled(np.ma.asarray(image.get_array()), np.nan)
    assert drawn.shape == (11, 53)
    np.testing.assert_array_equal(drawn[:, :20], WAVE[:20].T)
    assert np.isnan(drawn[:, 20:23]).all()
    np.testing.assert_array_equal(drawn[:, 23:], WAVE[20:].T)
    low, high = image.get_clim()
    assert -low == high == pytest.approx(np.percentile(np.abs(WAVE), 99))
    assert ax.get_ylim() == (1, 0)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["head", "tail"]
    (image,) = plot_kymograph(WAVE, limit=3, ends=("start", "end"), name="angle", ax=Figure().subplots()).images
    assert image.get_clim() == (-3, 3)
    assert image.colorbar.ax.get_ylabel() == "angle"
