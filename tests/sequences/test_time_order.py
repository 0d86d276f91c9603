"""Shapes are put in the order of their series and of time."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ParameterError
from shapelex.sequences import encode_sequence


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    return sx.ShapeDictionary(3, 1, random_state=0, tol=1e-2).fit(rng.normal(size=(30, 4, 2)))


def code(model, n_shapes, **timing):
    rows = np.random.default_rng(1).normal(size=(n_shapes, 4, 2))
    return encode_sequence(rows, model, switch_cost=1e-3, **timing)


@pytest.mark.parametrize(
    ("frames", "sequence", "order", "steps"),
    [
        (None, None, [0, 1, 2, 3], [0, 1, 1, 1]),
        ([2, 0, 1, 3], None, [1, 2, 0, 3], [0, 1, 1, 1]),
        ([0, 0, 10, 10, 40, 20], list("bababa"), [0, 2, 4, 1, 3, 5], [0, 1, 3, 0, 1, 1]),
        # Shapes of no series stand for themselves.
        (None, [-1, 3, -1, 3], [0, 1, 3, 2], [0, 0, 1, 0]),
        ([0, 1, 0, 1], [5, 5, 7, 7], [0, 1, 2, 3], [0, 1, 0, 1]),
    ],
)
def test_orders(model, frames, sequence, order, steps):
    found = code(model, len(order), frames=frames, sequence=sequence)
    assert found.time_order.order.tolist() == order
    assert found.time_order.steps.tolist() == steps
    assert found.time_order.is_next.tolist() == [step == 1 for step in steps]
    is_unsorted = frames is not None and sequence is None
    assert any("not in the order of their frames" in remark for remark in found.remarks) == is_unsorted
    in_order = code(model, len(order), frames=frames, sequence=sequence)
    np.testing.assert_array_equal(found.codes.support, in_order.codes.support)


@pytest.mark.parametrize(
    ("frames", "words"),
    [([0, 1, 1], "rows 1 and 2"), ([0.0, np.nan, 1.0], "finite.*row 1"), (["a", "b", "c"], "numbers")],
)
def test_bad_frames(model, frames, words):
    with pytest.raises(ParameterError, match=words):
        code(model, 3, frames=frames)


def test_columns_of_a_set(model):
    rows = np.random.default_rng(0).normal(size=(3, 4, 2))
    timed = sx.ShapeSet(rows, sequence=[1, 1, 2], metadata={"frame": [4, 5, 4], "time": [0.4, 0.5, 0.4]})
    found = encode_sequence(timed, model, switch_cost=1e-3)
    assert found.times.tolist() == [0.4, 0.5, 0.4]
    assert found.n_series == 2
    unknown = encode_sequence(sx.ShapeSet(rows, metadata={"frame": [4, -1, 4]}), model, switch_cost=1e-3)
    assert any("unknown" in remark for remark in unknown.remarks)
    assert encode_sequence(rows, model, frames=[0.0, 0.1, 0.2], switch_cost=1e-3).times.tolist() == [0.0, 0.1, 0.2]
    assert encode_sequence(rows, model, frames=[0, 1, 2], switch_cost=1e-3).times is None
