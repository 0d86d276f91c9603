import numpy as np
import pytest

from shapelex.exceptions import ParameterError
from shapelex.shapes import ShapeSet
from shapelex.shapes.opening import as_shapes
from shapelex.shapes.time_order import find_time_order, moments_of


def test_rows_of_one_series_follow_each_other():
    time = find_time_order(4)
    assert time.order.tolist() == [0, 1, 2, 3]
    assert time.steps.tolist() == [0, 1, 1, 1]
    assert time.moments.tolist() == [0, 1, 2, 3]


def test_interleaved_series_and_gaps():
    time = find_time_order(6, [0, 0, 10, 10, 40, 20], ["b", "a", "b", "a", "b", "a"])
    assert time.order.tolist() == [0, 2, 4, 1, 3, 5]
    assert time.usual_step == 10
    assert time.steps.tolist() == [0, 1, 3, 0, 1, 1]
    assert time.is_next.tolist() == [False, True, False, False, True, True]
    assert time.switch_costs(6.0).tolist() == [0, 6, 2, 0, 6, 6]
    assert time.remarks == ()


def test_unsorted_frames_are_sorted_with_a_remark():
    time = find_time_order(3, [2, 0, 1])
    assert time.order.tolist() == [1, 2, 0]
    assert "1 of 1 series had rows that were not in the order of their frames" in time.remarks[0]


def test_shapes_of_no_series_stand_for_themselves():
    time = find_time_order(4, None, [-1, 3, -1, 3])
    assert time.steps.tolist() == [0, 0, 1, 0]
    assert len(set(time.series.tolist())) == 3


def test_left_out_rows_make_gaps():
    time = find_time_order(5).without(np.array([False, True, False, False, True]))
    assert time.order.tolist() == [0, 2, 3]
    assert time.steps.tolist() == [0, 2, 1]


def test_blocks_are_in_the_order_of_time():
    rows = np.arange(12, dtype=complex).reshape(4, 3)
    time = find_time_order(4, [3, 2, 1, 0])
    found = [(numbers.tolist(), block.configurations) for numbers, block in time.blocks(as_shapes(rows), 3)]
    assert [numbers for numbers, _ in found] == [[3, 2, 1], [0]]
    np.testing.assert_array_equal(found[0][1], rows[[3, 2, 1]])


@pytest.mark.parametrize(
    ("frames", "sequence", "message"),
    [
        ([0, 1, 1], None, "rows 1 and 2 both have frame 1, and 1 rows repeat"),
        ([0.0, np.nan, 1.0], None, "must be finite, but is nan in row 1"),
        (["a", "b", "c"], None, "must be numbers"),
    ],
)
def test_bad_frames(frames, sequence, message):
    with pytest.raises(ParameterError, match=message):
        find_time_order(3, frames, sequence)


def test_repeated_frames_of_different_series_are_fine():
    assert find_time_order(4, [0, 1, 0, 1], [5, 5, 7, 7]).steps.tolist() == [0, 1, 0, 1]


def test_columns_of_a_set():
    rows = np.random.default_rng(0).normal(size=(3, 4)) + 0j
    found = moments_of(ShapeSet(rows, sequence=[1, 1, 2], metadata={"frame": [4, 5, 4], "time": [0.4, 0.5, 0.4]}))
    assert found.frames.tolist() == [4, 5, 4]
    assert found.seconds.tolist() == [0.4, 0.5, 0.4]
    assert found.sequence.tolist() == [1, 1, 2]
    unknown = moments_of(ShapeSet(rows, metadata={"frame": [4, -1, 4]}))
    assert unknown.frames is None
    assert "unknown" in unknown.remarks[0]
    assert moments_of(rows, frames=[0.0, 0.1, 0.2]).seconds == [0.0, 0.1, 0.2]
    assert moments_of(rows, frames=[0, 1, 2]).seconds is None
