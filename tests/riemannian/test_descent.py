import numpy as np

from shapelex.riemannian.descent import intrinsic_codes, learn_intrinsic
from shapelex.riemannian.objective import atom_gradient, tangent_energy
from tests.learning.samples import clustered, random_rows


def test_loss_never_rises_and_is_that_of_the_result():
    rows, shares = clustered(80, 6), np.full(80, 1 / 80)
    found = learn_intrinsic(rows, shares, rows[:5], 0.01, 15, 0.0)
    assert len(found.loss_curve) == 16
    assert (np.diff(found.loss_curve) <= 0).all()
    assert found.loss_curve[-1] < 0.9 * found.loss_curve[0]
    np.testing.assert_allclose(np.linalg.norm(found.atoms, axis=1), 1, atol=1e-12)
    codes = intrinsic_codes(rows, found.atoms, 0.01)
    loss = np.mean(tangent_energy(rows, found.atoms, codes) + 0.01 * np.abs(codes).sum(axis=1))
    np.testing.assert_allclose(found.loss_curve[-1], loss, rtol=1e-6)


def test_one_atom_is_the_geodesic_mean():
    base = random_rows(1, 6)
    rows = base + 0.3 * random_rows(20, 6, seed=1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    shares = np.full(20, 1 / 20)
    found = learn_intrinsic(rows, shares, rows[:1], 0.1, 100, 1e-14)
    assert found.converged
    # At the mean the gradient of the sum of squared geodesic distances is zero.
    _, gradient = atom_gradient(rows, found.atoms, np.ones((20, 1)), shares)
    assert np.linalg.norm(gradient) < 1e-5


def test_a_weight_is_that_many_copies():
    rows = clustered(30, 6)
    weights = np.ones(30)
    weights[3:6] = 2
    copies = np.repeat(rows, weights.astype(int), axis=0)
    one = learn_intrinsic(rows, weights / weights.sum(), rows[:4], 0.01, 5, 0.0)
    other = learn_intrinsic(copies, np.full(33, 1 / 33), rows[:4], 0.01, 5, 0.0)
    np.testing.assert_allclose(one.loss_curve, other.loss_curve, rtol=1e-8)


def test_shapes_that_are_atoms_have_codes_of_one():
    atoms = random_rows(4, 6)
    np.testing.assert_allclose(intrinsic_codes(1j * atoms, atoms, 0.1), np.eye(4), atol=1e-6)
