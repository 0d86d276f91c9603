"""Weights and phases along time: amplitudes, colors, gaps and scales are read back from the picture."""

import numpy as np
import pytest
from matplotlib.axes import Axes

import shapelex as sx
from shapelex.plotting import plot_phases, plot_weights
from shapelex.plotting.weights_in_time import _ROW_PIXELS, phase_colors

TURNS = np.exp(1j * np.linspace(0, 9, 50))
CODES = np.column_stack([0.4 * TURNS, np.zeros(50), 1.2 / TURNS, np.where(np.arange(50) < 20, 0.1, 0)])


def image_of(ax: Axes) -> np.ndarray:
    (image,) = ax.images
    return np.asarray(image.get_array())


def test_rows_are_the_atoms_with_the_largest_weights_first(ax: Axes) -> None:
    plot_weights(CODES, fps=10, ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["atom 2", "atom 0", "atom 3"]
    assert ax.get_xlabel() == "time (s)"
    assert ax.get_xlim() == (0, 5)
    assert [text.get_text() for text in ax.texts if text.get_gid() == "scale"] == ["1.5"]


def test_heights_are_amplitudes_and_colors_are_phases(ax: Axes) -> None:
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


@pytest.mark.parametrize(("spike", "limit", "scale"), [(1.4, None, "1.5"), (9.0, None, "1"), (9.0, 4.0, "4")])
def test_few_large_weights_are_cut_off(ax: Axes, spike: float, limit: float | None, scale: str) -> None:
    codes = np.ones((200, 1), dtype=complex)
    codes[7] = spike
    plot_weights(codes, limit=limit, ax=ax)
    assert [text.get_text() for text in ax.texts if text.get_gid() == "scale"] == [scale]
    heights = (image_of(ax)[..., 3] > 0).sum(axis=0) / (0.9 * _ROW_PIXELS) * float(scale)
    np.testing.assert_allclose(heights, np.minimum(np.abs(codes[:, 0]), float(scale)), atol=float(scale) / _ROW_PIXELS)


def test_missing_frames_are_empty_and_rows_in_any_order(ax: Axes) -> None:
    frames = np.concatenate([np.arange(20), np.arange(30, 60)])
    mixed = np.random.default_rng(0).permutation(50)
    support = np.tile(np.arange(4), (50, 1))
    plot_weights(sx.SparseCodes(support, CODES[mixed], n_atoms=4), frames[mixed], ax=ax)
    image = image_of(ax)
    assert image.shape[1] == 60
    assert not image[:, 20:30].any()
    assert image[-1, :20, 3].all()


class TestPhases:
    """Phases as curves."""

    @pytest.mark.parametrize(
        ("n_frames", "fps", "label"),
        [(100, None, "frame"), (90, 30, "time (s)"), (30 * 900, 30, "time (min)"), (1000, 1 / 900, "time (d)")],
    )
    def test_unit_of_time_follows_from_the_length(self, ax: Axes, n_frames: int, fps: float | None, label: str) -> None:
        assert plot_phases(np.zeros((n_frames, 1)), fps=fps, ax=ax).get_xlabel() == label

    def test_curves_are_in_turns_and_broken_at_gaps_and_jumps(self, ax: Axes) -> None:
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
