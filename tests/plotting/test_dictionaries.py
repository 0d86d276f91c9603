import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx
from shapelex.plotting import plot_atoms, plot_reconstructions
from shapelex.plotting.curves import curve_parameters
from tests.plotting.pictures import check_text_is_apart, drawn, form, labels, numbers

USAGE = [0.1, 0.9, 0.5, 0.5, 0.01, 0.3, 0.0, 1.0, 0.2]


def _moment(curve):
    return np.sum((curve - curve.mean()) ** 2)


def test_atoms_are_in_the_order_of_use(blobs, ax):
    Z, space = blobs
    plot_atoms(Z, space, usage=USAGE, ax=ax)
    assert numbers(ax) == [7, 1, 2, 3, 5, 8, 0, 4, 6]  # of equals, the first comes first
    assert labels(ax) == ["100 %", "90 %", "50 %", "50 %", "30 %", "20 %", "10 %", "1 %", "0 %"]
    for curve, atom in zip(drawn(ax), numbers(ax), strict=True):
        # Up to rotation, the curve is that of the atom's pre-shape.
        expected = form(space.sample(space.preshape(Z[atom]), curve_parameters(space)))
        turn = np.vdot(expected, form(curve)) / np.vdot(expected, expected)
        assert abs(abs(turn) - 1) < 1e-12
        np.testing.assert_allclose(form(curve), turn * expected, atol=1e-12)


def test_without_usage_atoms_stay_in_their_order(blobs, ax):
    assert numbers(plot_atoms(*blobs, ax=ax)) == list(range(9))
    assert labels(ax) == []


def test_pose_of_the_mean_is_optimal_and_flat(blobs, ax):
    Z, space = blobs
    mean = sx.mean_shape(Z, space=space)
    curves = drawn(plot_atoms(Z, space, ax=ax))
    t = curve_parameters(space)
    rotated = sx.rotate_onto(Z, mean, space)
    turns = [
        np.vdot(form(space.sample(z, t)), form(curve)) / abs(np.vdot(form(space.sample(z, t)), form(curve)))
        for z, curve in zip(rotated, curves, strict=True)
    ]
    # One rotation takes the atoms along the mean to the atoms as drawn, and lays the mean flat.
    np.testing.assert_allclose(turns, turns[0], atol=1e-10)
    moment = np.sum(space.sample(turns[0] * mean, t) ** 2)
    assert abs(moment.imag) < 1e-9 * abs(moment)
    assert moment.real > 0


def test_principal_pose_lays_each_atom_flat(blobs, ax):
    Z, space = blobs
    curves = drawn(plot_atoms(Z, space, pose="principal", ax=ax))
    for curve in curves:
        moment = _moment(curve)
        assert abs(moment.imag) < 0.05 * moment.real
    # All head the same way.
    forms = np.array([form(curve) for curve in curves])
    assert (np.real(forms.conj() @ forms.mean(axis=0)) > 0).all()


def test_given_pose_and_pose_along_a_shape(blobs, ax):
    Z, space = blobs
    t = curve_parameters(space)
    for curve, z in zip(drawn(plot_atoms(Z, space, pose="given", ax=ax)), space.preshape(Z), strict=True):
        np.testing.assert_allclose(form(curve), form(space.sample(z, t)), atol=1e-12)
    ax.clear()
    expected = sx.rotate_onto(Z, Z[3], space)
    for curve, z in zip(drawn(plot_atoms(Z, space, pose=Z[3], ax=ax)), expected, strict=True):
        np.testing.assert_allclose(form(curve), form(space.sample(z, t)), atol=1e-12)


def test_reconstructions_lie_over_their_originals(blobs, ax):
    Z, space = blobs
    codes = sx.encode(Z, Z[:3], 2, space=space)
    reconstructions = sx.decode(codes, space.centered(Z[:3]))
    plot_reconstructions(Z, reconstructions, space, pose="given", ax=ax)
    curves, t = drawn(ax), curve_parameters(space)
    originals, approximations = curves[::2], curves[1::2]
    for k in range(9):
        expected = space.sample(space.preshape(Z[k]), t)
        np.testing.assert_allclose(form(originals[k]), form(expected), atol=1e-12)
        moved = space.sample(reconstructions[k], t) - expected
        np.testing.assert_allclose(approximations[k] - originals[k], moved, atol=1e-10)
    errors = sx.distance(Z, reconstructions, space=space)
    found = [float(label.removesuffix(" %")) for label in labels(ax)]
    np.testing.assert_allclose(found[3:], 100 * errors[3:], atol=0.05)
    assert all(
        one.get_linewidth() > other.get_linewidth() for one, other in zip(ax.lines[::2], ax.lines[1::2], strict=True)
    )


@pytest.mark.parametrize("size", [(3.4, 3), (7, 1.2)])
def test_numbers_and_shares_do_not_touch(blobs, size):
    Z, space = blobs
    atoms, axes = np.concatenate([Z, Z]), Figure(size, layout="constrained").subplots()
    check_text_is_apart(plot_atoms(atoms, space, usage=np.ones(18), ax=axes))
