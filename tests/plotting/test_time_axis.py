"""Times along an axis: their unit, their gaps, and frames that are none of one series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.plotting.time_axis import time_axis

frame_sets = st.sets(st.integers(0, 300), min_size=1, max_size=40)


@given(frames=frame_sets, seed=st.integers(0, 99), fps=st.sampled_from([None, 1 / 900, 0.5, 30.0]))
def test_pieces_are_the_stretches_without_a_gap(frames: set[int], seed: int, fps: float | None) -> None:
    given_order = np.random.default_rng(seed).permutation(sorted(frames))
    axis = time_axis(len(given_order), given_order, fps)
    np.testing.assert_array_equal(given_order[axis.order], sorted(frames))
    stretches = [axis.frames[piece].tolist() for piece in axis.pieces()]
    assert sorted(frame for stretch in stretches for frame in stretch) == sorted(frames)
    assert all(stretch == list(range(stretch[0], stretch[-1] + 1)) for stretch in stretches)
    starts = [frame for frame in sorted(frames) if frame - 1 not in frames]
    assert [stretch[0] for stretch in stretches] == starts
    np.testing.assert_allclose(axis.times, axis.frames * axis.step)


@pytest.mark.parametrize(
    ("n_frames", "fps", "label", "last"),
    [
        (100, None, "frame", 99),
        (90, 30, "time (s)", 89 / 30),
        (30 * 900, 30, "time (min)", (30 * 900 - 1) / 1800),
        (100, 1 / 900, "time (h)", 99 / 4),
        (1000, 1 / 900, "time (d)", 999 / 96),
    ],
)
def test_unit_follows_from_the_length(n_frames: int, fps: float | None, label: str, last: float) -> None:
    axis = time_axis(n_frames, None, fps)
    assert axis.label == label
    assert axis.times[-1] == pytest.approx(last)


@pytest.mark.parametrize(
    ("frames", "words"),
    [([0, 1, 1], "frame 1 occurs more than once"), ([0, 1], "each of the 3 rows"), ([0, 0.5, 1], "whole number")],
)
def test_frames_are_those_of_one_series(frames: list[float], words: str) -> None:
    with pytest.raises(ShapeInputError, match=words):
        time_axis(3, frames, None)


def test_what_cannot_be_a_time_axis() -> None:
    with pytest.raises(ShapeInputError, match="no frame"):
        time_axis(0, None, None)
    with pytest.raises(ParameterError, match="fps"):
        time_axis(3, None, 0.0)
