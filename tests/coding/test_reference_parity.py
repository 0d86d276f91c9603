"""Codes of the reference implementation of the paper, on its own data.

The constants were printed by the reference ORMP (2DKSD at 1c4f226, with exact Gram matrices), coding every shape over
the first ten pre-shapes of the set. Its supports are matched on every shape.
"""

import numpy as np
import pytest

from shapelex.coding import encode, residual_norms
from shapelex.spaces import HermiteSpline, Landmarks

pytestmark = pytest.mark.realdata

CASES = {
    "hands": (
        Landmarks(56),
        3,
        0.05741698687754387,
        {
            10: ([0, 1, 8], 0.04973772129758794),
            11: ([1, 7, 9], 0.031809931888553904),
            17: ([7, 8, 9], 0.05559697940238428),
            24: ([5, 6, 8], 0.051997911116061106),
            39: ([3, 7, 9], 0.08552283969077273),
        },
    ),
    "6376_open_worms_6ctrlpts": (
        HermiteSpline(6),
        5,
        0.18097514990845678,
        {
            10: ([9], 0.0),
            100: ([1, 4, 5, 6, 9], 0.04327412355115707),
            1500: ([0, 2, 3, 6, 9], 0.18455938706955066),
            4000: ([1, 4, 6, 7, 9], 0.12090494457821445),
            6375: ([2, 5, 6, 8, 9], 0.09514330484628493),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_same_codes_as_the_reference(name, load_real):
    space, n_nonzero, rms, picked = CASES[name]
    X = load_real(name)
    atoms = space.preshape(X[:10])
    codes = encode(X, atoms, n_nonzero, "ormp", space=space)
    errors = residual_norms(space.whitened_preshapes(X), space.whiten(atoms), codes)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(rms, abs=1e-12)
    for row, (support, error) in picked.items():
        assert sorted(j for j in codes.support[row] if j >= 0) == support
        assert errors[row] == pytest.approx(error, abs=1e-12)
