"""Comparisons up to rounding, for results that the package does not promise to the bit.

Equal bits are promised for the same seed on one machine with the same library versions, device, kind of input and
block size, whatever the number of threads. Other kinds of input, other block sizes and other devices agree up to
rounding: these helpers compare such results. Where the promise holds, tests use ``assert_array_equal``.
"""

import numpy as np

FITTED = ("atoms_", "usage_", "loss_curve_", "rmse_", "n_iter_")


def assert_close(found, expected, tolerance=1e-10):
    """Compare numbers whose size is about 1."""
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def assert_close_codes(found, expected, tolerance=1e-10):
    """Compare codes: the same atoms, in any order, with nearly the same weights."""
    assert found.n_atoms == expected.n_atoms
    assert found.coefs.dtype == expected.coefs.dtype
    np.testing.assert_array_equal(np.sort(found.support), np.sort(expected.support))
    assert_close(found.toarray(), expected.toarray(), tolerance)


def assert_close_fits(found, expected, tolerance=1e-9):
    """Compare two fitted dictionaries."""
    for name in FITTED:
        assert_close(getattr(found, name), getattr(expected, name), tolerance)
