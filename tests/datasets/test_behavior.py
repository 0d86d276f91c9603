import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ParameterError


def test_states_last_and_all_occur():
    shapes = sx.datasets.make_behavior(2000, 2, n_states=5, dwell=25, random_state=0)
    states = shapes.metadata["state"]
    assert set(states.tolist()) == set(range(5))
    for series in (0, 1):
        labels = states[shapes.sequence == series]
        bounds = np.flatnonzero(np.diff(labels)) + 1
        lengths = np.diff(bounds)
        assert lengths.min() >= 5
        assert lengths.mean() == pytest.approx(25, rel=0.35)


def test_frames_and_times():
    shapes = sx.datasets.make_behavior(10, 2, fps=20, random_state=0)
    np.testing.assert_allclose(shapes.metadata["time"], np.tile(np.arange(10) / 20, 2))
    assert shapes.metadata["frame"].tolist() == [*range(10), *range(10)]


def test_equal_seeds_give_equal_recordings():
    one, two = (sx.datasets.make_behavior(30, 1, random_state=4) for _ in range(2))
    assert one.equals(two)


def test_midlines_have_length_one_without_noise():
    shapes = sx.datasets.make_behavior(20, 1, noise=0, random_state=0)
    np.testing.assert_allclose(np.abs(np.diff(shapes.configurations, axis=1)).sum(axis=1), 1)


@pytest.mark.parametrize("arguments", [{"n_states": 13}, {"dwell": 3}, {"noise": -1}, {"fps": 0}])
def test_wrong_arguments(arguments):
    with pytest.raises(ParameterError, match=next(iter(arguments))):
        sx.datasets.make_behavior(10, **arguments)
