"""Phase portraits and kymographs: what is drawn is what was given, gaps left out."""

import numpy as np
import pytest
from matplotlib.axes import Axes

from shapelex.plotting import plot_kymograph, plot_phase_portrait

PATH = np.exp(1j * np.linspace(0, 9, 50)) * np.linspace(1, 2, 50)
WAVE = np.sin(np.linspace(0, 9, 50)[:, None] - np.linspace(0, 6, 11))


class TestPortrait:
    """Paths in the plane."""

    @pytest.mark.parametrize("is_real", [True, False])
    def test_segments_join_frames_that_follow_each_other(self, ax: Axes, is_real: bool) -> None:
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


class TestKymograph:
    """Quantities along the body."""

    def test_picture_has_time_along_x_and_the_head_on_top(self, ax: Axes) -> None:
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

    def test_limit_and_names_are_those_given(self, ax: Axes) -> None:
        plot_kymograph(WAVE, limit=3, ends=("start", "end"), name="angle", ax=ax)
        assert ax.images[0].get_clim() == (-3, 3)
        assert ax.images[0].colorbar.ax.get_ylabel() == "angle"
