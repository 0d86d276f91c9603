import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.plotting import plot_shape, plot_shapes
from shapelex.plotting.curves import curve_parameters
from tests.plotting.pictures import drawn, form, labels, marks


def _random(space, n_shapes=1, seed=0):
    rng = np.random.default_rng(seed)
    shape = (n_shapes, space.n_coordinates)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def test_the_curve_is_that_of_the_space(curve_space, ax):
    z = _random(curve_space)[0]
    (curve,) = drawn(plot_shape(z, curve_space, ax=ax))
    t = np.linspace(0, 1, len(curve))
    np.testing.assert_allclose(curve, curve_space.sample(z, t), atol=1e-12)
    assert len(curve) > 300
    assert ax.get_aspect() == 1
    assert not ax.axison


def test_landmarks_are_a_polygon(ax):
    z = _random(sx.Landmarks(6))[0]
    (curve,) = drawn(plot_shape(z, ax=ax))
    np.testing.assert_allclose(curve, z, atol=1e-14)
    closed = plot_shape(z, sx.Landmarks(6, closed=True), ax=Figure().subplots())
    np.testing.assert_allclose(drawn(closed)[0], [*z, z[0]], atol=1e-14)


@pytest.mark.parametrize(
    ("space", "n_marks"), [(sx.Landmarks(6), 6), (sx.BSpline(7), 7), (sx.HermiteSpline(4), 4)], ids=str
)
def test_points_are_the_points_of_the_space(space, n_marks, ax):
    z = _random(space)[0]
    (found,) = marks(plot_shape(z, space, points=True, ax=ax))
    np.testing.assert_array_equal(found, z[:n_marks])


def test_points_need_points(ax):
    space = sx.BasisSpace([lambda t: np.ones_like(t), lambda t: t])
    with pytest.raises(UnsupportedBySpaceError, match="BasisSpace has none"):
        plot_shape([0, 1j], space, points=True, ax=ax)


def test_gallery_shows_each_shape_in_its_own_cell(blobs, ax):
    Z, space = blobs
    curves = drawn(plot_shapes(Z, space, n_columns=4, ax=ax))
    t = curve_parameters(space)
    for curve, z in zip(curves, Z, strict=True):
        np.testing.assert_allclose(form(curve), form(space.sample(z, t)), atol=1e-12)
    boxes = [(c.real.min(), c.real.max(), c.imag.min(), c.imag.max()) for c in curves]
    for k, (left, right, bottom, top) in enumerate(boxes):
        for other_left, other_right, other_bottom, other_top in boxes[:k]:
            assert left > other_right or right < other_left or bottom > other_top or top < other_bottom
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert all(left < box[0] and box[1] < right and bottom < box[2] and box[3] < top for box in boxes)
    # Four in the first row, one below the first.
    middles = [(box[0] + box[1]) / 2 for box in boxes]
    assert middles[0] == pytest.approx(middles[4])
    assert middles[0] < middles[1] < middles[2] < middles[3]
    assert boxes[0][2] > boxes[4][3] > boxes[8][3]
    assert ax.get_aspect() == 1


def test_overlay_draws_shapes_where_they_lie(blobs, ax):
    Z, space = blobs
    curves = drawn(plot_shapes(Z, space, overlay=True, ax=ax))
    np.testing.assert_allclose(curves, space.sample(Z, curve_parameters(space)), atol=1e-12)


def test_labels_stand_under_their_shapes(blobs, ax):
    Z, space = blobs
    names = [f"blob {k}" for k in range(9)]
    assert labels(plot_shapes(Z, space, labels=names, ax=ax)) == names
    ax.figure.draw_without_rendering()
    for curve, text in zip(drawn(ax), ax.texts, strict=True):
        lowest = ax.transData.transform([(0, curve.imag.min())])[0, 1]
        box = text.get_window_extent()
        assert box.y1 <= lowest + 1
        assert ax.transData.inverted().transform([(box.x0 + box.width / 2, 0)])[0, 0] == pytest.approx(
            (curve.real.min() + curve.real.max()) / 2, abs=0.05
        )
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
