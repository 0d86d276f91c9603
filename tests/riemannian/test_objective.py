import numpy as np
import pytest

from shapelex.geometry.geodesics import exp_rows, log_rows
from shapelex.geometry.preshapes import remove_along
from shapelex.riemannian.objective import (
    atom_gradient,
    logarithm_parts,
    tangent_energy,
    tangent_grams,
    tangent_sums,
)
from tests.learning.samples import random_rows


def real_codes(n_rows, n_atoms, seed=0):
    codes = np.random.default_rng(seed).normal(size=(n_rows, n_atoms)) + 1
    return codes / codes.sum(axis=1, keepdims=True)


def logarithms(rows, atoms):
    return np.stack([log_rows(rows, np.broadcast_to(atom, rows.shape)) for atom in atoms], axis=1)


@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4, 0.0])
def test_sums_and_grams_are_those_of_the_logarithms(spread):
    rows, others = random_rows(6, 5), random_rows(4, 5, seed=1)
    atoms = rows[:4] + spread * others
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = real_codes(6, 4)
    vectors = logarithms(rows, atoms)
    parts = logarithm_parts(rows, atoms)
    np.testing.assert_allclose(
        tangent_sums(rows, atoms, codes, parts), np.einsum("kj,kjn->kn", codes, vectors), atol=1e-10
    )
    grams = np.einsum("kin,kjn->kij", vectors.conj(), vectors).real
    np.testing.assert_allclose(tangent_grams(atoms, parts), grams, atol=1e-10)


@pytest.mark.parametrize("spread", [1.0, 0.1, 1e-3])
def test_gradient_by_finite_differences(spread):
    rows, others = random_rows(7, 5), random_rows(4, 5, seed=1)
    atoms = np.exp(1j * np.arange(4))[:, None] * (rows[:4] + spread * others)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes, shares = real_codes(7, 4), np.linspace(0.5, 1.5, 7) / 7

    def value(moved):
        return float(shares @ tangent_energy(rows, moved, codes))

    found, gradient = atom_gradient(rows, atoms, codes, shares)
    assert found == pytest.approx(value(atoms), rel=1e-12)
    np.testing.assert_allclose(np.vecdot(atoms, gradient), 0, atol=1e-12)
    rng = np.random.default_rng(3)
    for _ in range(10):
        step = remove_along(atoms, rng.normal(size=atoms.shape) + 1j * rng.normal(size=atoms.shape))
        size = 1e-5
        slope = (value(exp_rows(atoms, size * step)) - value(exp_rows(atoms, -size * step))) / (2 * size)
        assert np.vdot(gradient, step).real == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_turning_atoms_changes_nothing():
    rows, atoms, codes, shares = random_rows(7, 5), random_rows(4, 5, seed=1), real_codes(7, 4), np.full(7, 1 / 7)
    turns = np.exp(1j * np.arange(1, 5))[:, None]
    value, gradient = atom_gradient(rows, atoms, codes, shares)
    turned_value, turned_gradient = atom_gradient(rows, turns * atoms, codes, shares)
    assert turned_value == pytest.approx(value)
    np.testing.assert_allclose(turned_gradient, turns * gradient, atol=1e-12)
