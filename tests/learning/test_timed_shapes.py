"""Dictionaries that are learned together with the cost of changes of atoms over time."""

from itertools import pairwise

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ParameterError
from shapelex.sequences import encode_sequence


@pytest.fixture(scope="module")
def worms():
    return sx.datasets.make_worms(120, 2, noise=0.005, random_state=0)


SETTINGS = {"n_atoms": 6, "n_nonzero": 3, "n_swaps": 0, "random_state": 0}


def total(result):
    """Mean squared error, and mean cost of changes."""
    order = result.time_order.order
    sets = [set(row[row >= 0].tolist()) for row in result.codes.support[order]]
    costs = result.time_order.switch_costs(result.switch_cost)
    changes = [len(after - before) for before, after in pairwise(sets)]
    return np.mean(result.errors**2) + sum(c * (1 + m) / 2 for c, m in zip(costs[1:], changes, strict=True) if m) / len(
        sets
    )


def test_learning_with_the_cost_lowers_error_and_cost_together(worms):
    plain = sx.ShapeDictionary(**SETTINGS, nested=False, tie=0, tol=1e-3).fit(worms)
    timed = sx.ShapeDictionary(**SETTINGS, tie=0, switch_cost=2e-3, tol=1e-3).fit(worms)
    before, after = encode_sequence(worms, plain, switch_cost=2e-3), encode_sequence(worms, timed)
    assert after.switch_cost == 2e-3
    assert total(after) < total(before)
    # What fit minimized is what encode_sequence finds.
    assert timed.rmse_ == pytest.approx(after.rmse, rel=1e-6)
    assert len(timed.sparsities_) == 1


def test_no_cost_is_learning_without_time(worms):
    plain = sx.ShapeDictionary(**SETTINGS, tol=1e-2).fit(worms)
    zero = sx.ShapeDictionary(**SETTINGS, switch_cost=0, tol=1e-2).fit(worms)
    np.testing.assert_array_equal(plain.atoms_, zero.atoms_)


def test_order_of_rows_does_not_matter_where_the_start_is_given(worms):
    start = np.asarray(worms)[[0, 30, 60, 90, 120, 150]]
    arguments = {"n_atoms": 6, "n_nonzero": 3, "init": start, "switch_cost": 1e-3, "tie": 0, "tol": 1e-2}
    order = np.random.default_rng(0).permutation(len(worms))
    one = sx.ShapeDictionary(**arguments).fit(worms)
    two = sx.ShapeDictionary(**arguments).fit(
        np.asarray(worms)[order], frames=worms.metadata["frame"][order], sequence=worms.sequence[order]
    )
    np.testing.assert_allclose(one.atoms_, two.atoms_, atol=1e-8)


def test_models_and_checkpoints_keep_the_cost(worms, tmp_path):
    path = tmp_path / "fit.npz"
    whole = sx.ShapeDictionary(**SETTINGS, switch_cost=1e-3, tol=1e-2).fit(worms)
    sx.ShapeDictionary(**SETTINGS, switch_cost=1e-3, tol=1, checkpoint=path).fit(worms)
    resumed = sx.ShapeDictionary(**SETTINGS, switch_cost=1e-3, tol=1, checkpoint=path).fit(worms)
    assert resumed.rmse_ > 0
    with pytest.raises(sx.exceptions.CheckpointError, match="switch_cost"):
        sx.ShapeDictionary(**SETTINGS, switch_cost=2e-3, tol=1, checkpoint=path).fit(worms)
    whole.save(tmp_path / "model.npz")
    assert sx.load(tmp_path / "model.npz").switch_cost == 1e-3


def test_frames_with_missing_coordinates_are_left_out(worms):
    rows = np.asarray(worms).copy()
    rows[7] = np.nan
    model = sx.ShapeDictionary(**SETTINGS, switch_cost=1e-3, tol=1e-2).fit(rows, sequence=worms.sequence)
    assert np.isfinite(model.atoms_).all()


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"switch_cost": 1e-3, "batch_size": 50}, {}, "whole series"),
        ({"switch_cost": 1e-3, "distance": "geodesic"}, {}, "distance='full'|distance=\"full\"|distance=full"),
        ({"switch_cost": -1}, {}, "switch_cost"),
        ({}, {"frames": np.arange(240)}, "frames and sequence are for switch_cost"),
        ({"switch_cost": 1e-3}, {"sample_weight": np.ones(240)}, "sample_weight"),
    ],
)
def test_what_does_not_go_together(worms, parameters, arguments, message):
    with pytest.raises(ParameterError, match=message):
        sx.ShapeDictionary(**SETTINGS, **parameters).fit(worms, **arguments)
