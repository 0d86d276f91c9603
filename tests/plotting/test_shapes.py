"""Shapes, atoms, codes, means and geodesics: the curves that are drawn are those of the space."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from shapelex.exceptions import UnsupportedBySpaceError
from shapelex.plotting import (
    plot_atoms,
    plot_code,
    plot_combination,
    plot_geodesic,
    plot_mean,
    plot_reconstructions,
    plot_shape,
    plot_shapes,
)
from shapelex.plotting.curves import curve_parameters
from tests.plotting.conftest import check_text_is_apart, drawn, form, labels, make_blobs, marks, numbers
from tests.strategies import random_configurations

Z, SPACE = make_blobs()
T = curve_parameters(SPACE)


def turn_of(curve, expected):
    """Return the factor by which a drawn curve is an expected one, up to its place."""
    return np.vdot(form(expected), form(curve)) / np.vdot(form(expected), form(expected))


def test_the_curve_is_that_of_the_space(curve_space, ax):
    z = random_configurations(curve_space, 1, 0)[0]
    (curve,) = drawn(plot_shape(z, curve_space, ax=ax))
    t = np.linspace(0, 1, len(curve))
    np.testing.assert_allclose(curve, curve_space.sample(z, t), atol=1e-12)
    assert len(curve) > 300
    assert ax.get_aspect() == 1
    assert not ax.axison


POINTS = [(sx.Landmarks(6), 6), (sx.Landmarks(6, closed=True), 6), (sx.BSpline(7), 7), (sx.HermiteSpline(4), 4)]


@pytest.mark.parametrize(("space", "n_marks"), POINTS, ids=str)
def test_points_are_the_points_of_the_space(space, n_marks, ax):
    z = random_configurations(space, 1, 0)[0]
    (found,) = marks(plot_shape(z, space, points=True, ax=ax))
    np.testing.assert_array_equal(found, z[:n_marks])
    if isinstance(space, sx.Landmarks):
        np.testing.assert_allclose(drawn(ax)[0], [*z, z[0]] if space.closed else z, atol=1e-14)
    with pytest.raises(UnsupportedBySpaceError, match="BasisSpace has none"):
        plot_shape([0, 1j], sx.BasisSpace([np.ones_like, lambda t: t]), points=True, ax=ax)


def test_gallery_shows_each_shape_in_its_own_cell(ax):
    curves = drawn(plot_shapes(Z, SPACE, n_columns=4, ax=ax))
    for curve, z in zip(curves, Z, strict=True):
        np.testing.assert_allclose(form(curve), form(SPACE.sample(z, T)), atol=1e-12)
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
    # An overlay draws shapes where they lie.
    curves = drawn(plot_shapes(Z, SPACE, overlay=True, ax=Figure().subplots()))
    np.testing.assert_allclose(curves, SPACE.sample(Z, T), atol=1e-12)


def test_labels_stand_under_their_shapes(ax):
    names = [f"blob {k}" for k in range(9)]
    assert labels(plot_shapes(Z, SPACE, labels=names, ax=ax)) == names
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


USAGE = [0.1, 0.9, 0.5, 0.5, 0.01, 0.3, 0.0, 1.0, 0.2]


def test_atoms_are_in_the_order_of_use(ax):
    assert numbers(plot_atoms(Z, SPACE, ax=Figure().subplots())) == list(range(9))
    plot_atoms(Z, SPACE, usage=USAGE, ax=ax)
    assert numbers(ax) == [7, 1, 2, 3, 5, 8, 0, 4, 6]  # of equals, the first comes first
    assert labels(ax) == ["100 %", "90 %", "50 %", "50 %", "30 %", "20 %", "10 %", "1 %", "0 %"]
    for curve, atom in zip(drawn(ax), numbers(ax), strict=True):
        # Up to rotation, the curve is that of the atom's pre-shape.
        expected = SPACE.sample(SPACE.preshape(Z[atom]), T)
        turn = turn_of(curve, expected)
        assert abs(abs(turn) - 1) < 1e-12
        np.testing.assert_allclose(form(curve), turn * form(expected), atol=1e-12)


def test_pose_of_the_mean_is_optimal_and_flat(ax):
    mean = sx.mean_shape(Z, space=SPACE)
    curves = drawn(plot_atoms(Z, SPACE, ax=ax))
    rotated = sx.rotate_onto(Z, mean, SPACE)
    turns = np.array([turn_of(curve, SPACE.sample(z, T)) for z, curve in zip(rotated, curves, strict=True)])
    turns /= np.abs(turns)
    # One rotation takes the atoms along the mean to the atoms as drawn, and lays the mean flat.
    np.testing.assert_allclose(turns, turns[0], atol=1e-10)
    moment = np.sum(SPACE.sample(turns[0] * mean, T) ** 2)
    assert abs(moment.imag) < 1e-9 * abs(moment)
    assert moment.real > 0


def test_principal_pose_lays_each_atom_flat(ax):
    curves = drawn(plot_atoms(Z, SPACE, pose="principal", ax=ax))
    for curve in curves:
        moment = np.sum((curve - curve.mean()) ** 2)
        assert abs(moment.imag) < 0.05 * moment.real
    # All head the same way.
    forms = np.array([form(curve) for curve in curves])
    assert (np.real(forms.conj() @ forms.mean(axis=0)) > 0).all()


def test_given_pose_and_pose_along_a_shape(ax):
    for curve, z in zip(drawn(plot_atoms(Z, SPACE, pose="given", ax=ax)), SPACE.preshape(Z), strict=True):
        np.testing.assert_allclose(form(curve), form(SPACE.sample(z, T)), atol=1e-12)
    ax.clear()
    expected = sx.rotate_onto(Z, Z[3], SPACE)
    for curve, z in zip(drawn(plot_atoms(Z, SPACE, pose=Z[3], ax=ax)), expected, strict=True):
        np.testing.assert_allclose(form(curve), form(SPACE.sample(z, T)), atol=1e-12)


def test_reconstructions_lie_over_their_originals(ax):
    codes = sx.encode(Z, Z[:3], 2, space=SPACE)
    reconstructions = sx.decode(codes, SPACE.centered(Z[:3]))
    plot_reconstructions(Z, reconstructions, SPACE, pose="given", ax=ax)
    curves, t = drawn(ax), T
    originals, approximations = curves[::2], curves[1::2]
    for k in range(9):
        expected = SPACE.sample(SPACE.preshape(Z[k]), t)
        np.testing.assert_allclose(form(originals[k]), form(expected), atol=1e-12)
        moved = SPACE.sample(reconstructions[k], t) - expected
        np.testing.assert_allclose(approximations[k] - originals[k], moved, atol=1e-10)
    errors = sx.distance(Z, reconstructions, space=SPACE)
    found = [float(label.removesuffix(" %")) for label in labels(ax)]
    np.testing.assert_allclose(found[3:], 100 * errors[3:], atol=0.05)
    assert all(
        one.get_linewidth() > other.get_linewidth() for one, other in zip(ax.lines[::2], ax.lines[1::2], strict=True)
    )


@pytest.mark.parametrize("size", [(3.4, 3), (7, 1.2)])
def test_numbers_and_shares_do_not_touch(size):
    atoms, axes = np.concatenate([Z, Z]), Figure(size, layout="constrained").subplots()
    check_text_is_apart(plot_atoms(atoms, SPACE, usage=np.ones(18), ax=axes))


CODE = np.array([0, 0.3j, 0, -0.9 + 0.1j, 0.5])


def _tips(ax):
    return {int(text.get_text()): complex(*text.xy) for text in ax.texts if text.get_gid() == "atom"}


def test_arrows_end_at_the_weights(ax):
    plot_code(CODE, ax=ax)
    assert _tips(ax) == {1: 0.3j, 3: -0.9 + 0.1j, 4: 0.5}
    arrows = [text for text in ax.texts if text.arrow_patch is not None]
    assert sorted(complex(*arrow.xy).real for arrow in arrows) == [-0.9, 0, 0.5]
    assert all(tuple(arrow.xyann) == (0, 0) for arrow in arrows)
    codes = sx.SparseCodes([[3, 1, 4]], [[-0.9 + 0.1j, 0.3j, 0.5]], n_atoms=5)
    for code in (codes, codes.tocsr(), codes.toarray()):
        assert _tips(plot_code(code, ax=Figure().subplots())) == _tips(ax)
    assert ax.get_aspect() == 1


def test_combination_shows_the_terms_and_their_sum(ax):
    atoms = SPACE.preshape(Z[:5])
    codes = sx.encode(Z[7], atoms, 3, space=SPACE)
    plot_combination(codes, atoms, SPACE, original=Z[7], ax=ax)
    weights = codes.toarray()[0]
    used = np.argsort(-np.abs(weights))[:3]
    curves, origins, t = drawn(ax), [complex(mark[0]) for mark in marks(ax)], T
    assert len(curves) == 8
    assert len(origins) == 4
    for k, atom in enumerate(used):
        np.testing.assert_allclose(curves[2 * k] - origins[k], SPACE.sample(atoms[atom], t), atol=1e-12)
        np.testing.assert_allclose(
            curves[2 * k + 1] - origins[k], weights[atom] * SPACE.sample(atoms[atom], t), atol=1e-12
        )
    original, total = (curve - origins[3] for curve in curves[6:])
    np.testing.assert_allclose(original, SPACE.sample(SPACE.preshape(Z[7]), t), atol=1e-12)
    np.testing.assert_allclose(total, sum(curves[2 * k + 1] - origins[k] for k in range(3)), atol=1e-12)
    found = labels(ax)
    assert [label for label in found if label in "+="] == ["+", "+", "="]
    error = sx.distance(Z[7], sx.decode(codes, atoms)[0], space=SPACE)
    assert found[-1] == f"sum\nerror {100 * error:.1f} %"
    degrees = np.degrees(np.angle(weights[used[0]]))
    assert found[0] == f"atom {used[0]}\n{abs(weights[used[0]]):.2f}, {degrees:.0f}°".replace("-", "−")


def test_geodesic_is_a_strip_of_its_shapes_under_one_rotation(ax):
    curves = drawn(plot_geodesic(Z[0], Z[1], SPACE, n_shapes=5, ax=ax))
    expected = SPACE.sample(sx.geodesic(Z[0], Z[1], np.linspace(0, 1, 5), SPACE), T)
    turns = [turn_of(curve, one) for curve, one in zip(curves, expected, strict=True)]
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
def test_mean_lies_flat_over_the_aligned_shapes(ax, kind):
    plot_mean(Z, SPACE, kind=kind, points=True, ax=ax)
    *shapes, mean = drawn(ax)
    expected = sx.mean_shape(Z, kind, space=SPACE)
    turn = turn_of(mean, SPACE.sample(expected, T))
    np.testing.assert_allclose(mean, turn * SPACE.sample(expected, T), atol=1e-10)
    aligned = turn * SPACE.sample(sx.align_onto(Z, expected, SPACE), T)
    np.testing.assert_allclose(shapes, aligned, atol=1e-10)
    assert np.sum(mean**2).real > 0
    assert abs(np.sum(mean[:-1] ** 2).imag) < 1e-2 * np.sum(mean**2).real
    np.testing.assert_allclose(marks(ax)[0], turn * expected, atol=1e-10)
    assert max(line.get_zorder() for line in ax.lines[:-2]) < ax.lines[-1].get_zorder()
    for n_shown in (0, 4):
        assert len(drawn(plot_mean(Z, SPACE, max_shapes=n_shown, ax=Figure().subplots()))) == n_shown + 1
