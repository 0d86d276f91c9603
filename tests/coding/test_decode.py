"""Reconstructions and residuals."""

import numpy as np
import pytest

from shapelex.coding import SparseCodes, decode, encode_rows, residual_norms, squared_residuals
from tests.coding_oracles import random_rows


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_decode_is_the_matrix_product(dtype):
    rng = np.random.default_rng(0)
    rows, atoms = random_rows(rng, 30, 7).astype(dtype), random_rows(rng, 9, 7).astype(dtype)
    codes = encode_rows(rows, atoms, 4, method="ormp")
    atol = 1e-14 if dtype == np.complex128 else 1e-6
    decoded = decode(codes, atoms)
    assert decoded.dtype == dtype
    np.testing.assert_allclose(decoded, codes.toarray() @ atoms, atol=atol)
    norms = residual_norms(rows, atoms, codes)
    assert norms.dtype == rows.real.dtype
    np.testing.assert_allclose(norms, np.linalg.norm(rows - codes.toarray() @ atoms, axis=1), atol=atol)
    np.testing.assert_allclose(squared_residuals(rows, atoms, codes), norms**2, atol=atol)


def test_small_residuals_keep_their_digits():
    atoms = np.array([[1, 0, 0]], complex)
    rows = np.array([[1, 1e-9, 0], [1, 0, 3e-13j]])
    codes = SparseCodes([[0], [0]], [[1], [1]], n_atoms=1)
    np.testing.assert_allclose(residual_norms(rows, atoms, codes), [1e-9, 3e-13], rtol=1e-12)
