"""The two pursuit kernels and the beam kernel agree where they should."""

from itertools import combinations

import numpy as np
import pytest

from shapelex.coding.coders import prepare_atoms
from shapelex.kernels.beam import beam_batch
from shapelex.kernels.exact import count_supports, unrank
from shapelex.kernels.pursuit import pursue_batch
from shapelex.kernels.pursuit_lanes import pursue_lanes_batch
from tests.coding_oracles import random_rows


def run(kernel, rows, atoms, n_nonzero, *options, target=-1.0):
    prepared = prepare_atoms(atoms)
    real = prepared.gram.dtype
    limits = np.array([1e-8, 1e-24, target, 1e-3, np.finfo(real).eps], real)
    correlations = (rows @ prepared.folded).view(real)
    norms2 = np.vecdot(rows, rows).real
    support = np.empty((len(rows), n_nonzero), np.int32)
    coefs = np.empty((len(rows), 1, 2 * n_nonzero), real)
    left, needs_row = np.empty(len(rows)), np.zeros(len(rows), dtype=bool)
    inputs = (correlations, norms2, prepared.gram, rows.view(real), prepared.atoms, limits)
    kernel(*inputs, *options, support, coefs, left, needs_row)
    assert not needs_row.any()
    residuals = rows - np.einsum("ks,ksn->kn", coefs.view(rows.dtype)[:, 0], atoms_of(prepared, support))
    np.testing.assert_allclose(left, np.vecdot(residuals, residuals).real, atol=1e-12)
    return support, coefs.view(rows.dtype)[:, 0]


def atoms_of(prepared, support):
    """Atoms of every row, zero where a support is not full."""
    atoms = prepared.atoms.view(complex)[support]
    return np.where((support >= 0)[:, :, None], atoms, 0)


def bits(n_atoms):
    return np.empty(-(-n_atoms // 8) * 8, np.int64)


@pytest.mark.parametrize("n_atoms", [1, 7, 24, 40])
@pytest.mark.parametrize("by_correlation", [0, 1])
@pytest.mark.parametrize("target", [-1.0, 0.25])
def test_lanes_agree_with_the_wide_kernel(n_atoms, by_correlation, target):
    rng = np.random.default_rng(n_atoms)
    rows, atoms = random_rows(rng, 70, 16), random_rows(rng, n_atoms, 16)
    n_nonzero = min(n_atoms, 9)
    wide = run(pursue_batch, rows, atoms, n_nonzero, by_correlation, bits(n_atoms), target=target)
    lanes = run(pursue_lanes_batch, rows, atoms, n_nonzero, by_correlation, target=target)
    np.testing.assert_array_equal(lanes[0], wide[0])
    np.testing.assert_allclose(lanes[1], wide[1], atol=1e-12)


@pytest.mark.parametrize("n_atoms", [7, 24, 40])
def test_a_beam_of_one_takes_the_steps_of_the_wide_kernel(n_atoms):
    rng = np.random.default_rng(n_atoms)
    rows, atoms = random_rows(rng, 70, 16), random_rows(rng, n_atoms, 16)
    rows[3] = atoms[2]
    wide = run(pursue_batch, rows, atoms, 6, 0, bits(n_atoms))
    beam = run(beam_batch, rows, atoms, 6, 1, bits(n_atoms))
    np.testing.assert_array_equal(beam[0], wide[0])
    np.testing.assert_allclose(beam[1], wide[1], atol=1e-14)


def test_ranks_of_supports():
    out = np.empty(3, np.int64)
    for rank, support in enumerate(combinations(range(7), 3)):
        unrank(rank, count_supports(7, 3), 3, out)
        assert tuple(out) == support
