"""Correlations: the product itself, and where its bits come from."""

import numpy as np
import pytest

from shapelex.kernels.alignment import aligned_zeros
from shapelex.kernels.correlations import correlate_batch, correlation_width, half_width, pack_atoms
from tests.coding_oracles import random_rows


def correlate(rows, atoms):
    packed = pack_atoms(atoms)
    out = np.empty((len(rows), correlation_width(packed, rows.shape[1])), dtype=packed.dtype)
    norms2 = np.empty(len(rows), dtype=packed.dtype)
    correlate_batch(rows.view(packed.dtype), packed, out, norms2)
    half = half_width(len(atoms), packed.itemsize)
    return out[:, : len(atoms)] + 1j * out[:, half : half + len(atoms)], norms2


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize(
    ("n_coordinates", "n_atoms"), [(1, 1), (3, 5), (12, 10), (41, 37), (3, 70), (41, 230), (300, 231)]
)
@pytest.mark.parametrize("n_rows", [1, 4, 7])
def test_product(dtype, n_coordinates, n_atoms, n_rows):
    rng = np.random.default_rng(n_rows)
    rows = random_rows(rng, n_rows, n_coordinates).astype(dtype)
    atoms = random_rows(rng, n_atoms, n_coordinates).astype(dtype)
    correlations, norms2 = correlate(rows, atoms)
    atol = 1e-14 if dtype == np.complex128 else 1e-6
    np.testing.assert_allclose(correlations, rows @ atoms.conj().T, atol=atol)
    np.testing.assert_allclose(norms2, np.linalg.norm(rows, axis=1) ** 2, atol=atol)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("n_atoms", [3, 10, 20, 37, 230])
def test_bits_depend_on_neither_place(dtype, n_atoms):
    rng = np.random.default_rng(0)
    row, atom = random_rows(rng, 1, 23).astype(dtype), random_rows(rng, 1, 23).astype(dtype)
    correlations, _ = correlate(np.repeat(row, 9, axis=0), np.repeat(atom, n_atoms, axis=0))
    assert len(np.unique(correlations)) == 1


def test_aligned_zeros_start_on_a_cache_line():
    for dtype in (np.float32, np.float64):
        array = aligned_zeros((3, 5), dtype)
        assert array.ctypes.data % 64 == 0
        assert array.shape == (3, 5)
        assert array.dtype == dtype
        assert not array.any()
