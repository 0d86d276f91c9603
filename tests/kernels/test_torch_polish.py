"""Exchange polish on torch devices: no exchange of one atom for another improves what it returns."""

from itertools import product

import numpy as np
import pytest

from shapelex.coding import encode_rows, residual_norms
from tests.coding_oracles import random_rows
from tests.devices import on_devices

# (n_coordinates, n_atoms, n_nonzero): one warp, one warp with columns beside the atoms in a second slot, several warps.
SIZES = [(8, 7, 3), (12, 20, 4), (20, 33, 6), (40, 120, 8)]


def polished(rows, atoms, n_nonzero, device, method="ormp", polishes=True):
    """Codes of rows by a coder of a device, with or without exchanges."""
    return encode_rows(rows, atoms, n_nonzero, method=method, width=2, polish=polishes, device=device)


def least_error(row, atoms, support):
    chosen = atoms[list(support)]
    weights = np.linalg.lstsq(chosen.T, row)[0]
    return np.linalg.norm(row - weights @ chosen)


def unit_rows(rng, n_rows, n_coordinates):
    rows = random_rows(rng, n_rows, n_coordinates)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@on_devices
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("method", ["ormp", "omp", "beam"])
def test_no_exchange_improves_a_polished_code(size, method, device):
    n_coordinates, n_atoms, n_nonzero = size
    rng = np.random.default_rng(n_atoms)
    rows, atoms = unit_rows(rng, 12, n_coordinates), unit_rows(rng, n_atoms, n_coordinates)
    codes = polished(rows, atoms, n_nonzero, device, method)
    plain = polished(rows, atoms, n_nonzero, device, method, polishes=False)
    errors = residual_norms(rows, atoms, codes)
    assert (errors <= residual_norms(rows, atoms, plain) + 1e-12).all()
    for row, support, error in zip(rows, codes.support, errors, strict=True):
        assert error == pytest.approx(least_error(row, atoms, support), abs=1e-10)
        for place, atom in product(range(n_nonzero), range(n_atoms)):
            if atom not in support:
                other = support.copy()
                other[place] = atom
                assert least_error(row, atoms, other) >= error - 1e-10


@on_devices
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_polish_lowers_the_error_in_both_precisions(dtype, device):
    rng = np.random.default_rng(0)
    rows, atoms = unit_rows(rng, 100, 30).astype(dtype), unit_rows(rng, 80, 30).astype(dtype)
    errors = [
        np.square(residual_norms(rows, atoms, polished(rows, atoms, 8, device, polishes=polishes))).mean()
        for polishes in (False, True)
    ]
    assert errors[1] < 0.99 * errors[0]


@on_devices
def test_dependent_and_zero_atoms_and_rows_that_need_few_atoms(device):
    rng = np.random.default_rng(1)
    rows, atoms = unit_rows(rng, 20, 9), unit_rows(rng, 12, 9)
    atoms[2], atoms[4], atoms[5] = 1j * atoms[0], 0, (atoms[0] + atoms[1]) / np.linalg.norm(atoms[0] + atoms[1])
    rows[3], rows[4] = atoms[6], (atoms[6] + atoms[7]) / np.linalg.norm(atoms[6] + atoms[7])
    codes = polished(rows, atoms, 5, device)
    assert not np.isin(codes.support, [2, 4]).any()
    assert np.abs(codes.coefs).max() < 1e3
    assert residual_norms(rows, atoms, codes)[3:5].max() < 1e-10
    assert (codes.support[3] >= 0).sum() == 1
