import numpy as np
import pytest

import shapelex as sx
from shapelex.plotting import plot_geodesic, plot_mean
from shapelex.plotting.curves import curve_parameters
from tests.plotting.pictures import drawn, form, labels, marks


def _turn(curve, expected):
    return np.vdot(form(expected), form(curve)) / np.vdot(form(expected), form(expected))


def test_geodesic_is_a_strip_of_its_shapes_under_one_rotation(blobs, ax):
    Z, space = blobs
    curves = drawn(plot_geodesic(Z[0], Z[1], space, n_shapes=5, ax=ax))
    expected = space.sample(sx.geodesic(Z[0], Z[1], np.linspace(0, 1, 5), space), curve_parameters(space))
    turns = [_turn(curve, one) for curve, one in zip(curves, expected, strict=True)]
    np.testing.assert_allclose(turns, turns[0], atol=1e-10)
    np.testing.assert_allclose(np.abs(turns), 1, atol=1e-10)
    for curve, one in zip(curves, expected, strict=True):
        np.testing.assert_allclose(form(curve), turns[0] * form(one), atol=1e-10)
    lefts = [curve.real.min() for curve in curves]
    assert lefts == sorted(lefts)
    assert labels(ax) == ["t = 0", "0.25", "0.5", "0.75", "1"]
    moment = sum(np.sum((curve - curve.mean()) ** 2) for curve in curves)
    assert moment.real < 0  # upright
    assert ax.get_aspect() == 1


@pytest.mark.parametrize("kind", ["full", "partial", "geodesic"])
def test_mean_lies_flat_over_the_aligned_shapes(blobs, ax, kind):
    Z, space = blobs
    plot_mean(Z, space, kind=kind, points=True, ax=ax)
    *shapes, mean = drawn(ax)
    t = curve_parameters(space)
    expected = sx.mean_shape(Z, kind, space=space)
    turn = _turn(mean, space.sample(expected, t))
    np.testing.assert_allclose(mean, turn * space.sample(expected, t), atol=1e-10)
    aligned = turn * space.sample(sx.align_onto(Z, expected, space), t)
    np.testing.assert_allclose(shapes, aligned, atol=1e-10)
    assert np.sum(mean**2).real > 0
    assert abs(np.sum(mean[:-1] ** 2).imag) < 1e-2 * np.sum(mean**2).real
    np.testing.assert_allclose(marks(ax)[0], turn * expected, atol=1e-10)
    assert max(line.get_zorder() for line in ax.lines[:-2]) < ax.lines[-1].get_zorder()


def test_mean_of_many_shows_some_of_them(blobs, ax):
    Z, space = blobs
    assert len(drawn(plot_mean(Z, space, max_shapes=4, ax=ax))) == 5
    ax.clear()
    assert len(drawn(plot_mean(Z, space, max_shapes=0, ax=ax))) == 1
