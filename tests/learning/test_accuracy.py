"""Accuracy and realism on real shapes at the paper's sizes; `benchmarks/accuracy.py` has more seeds."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.coding import encode_rows
from shapelex.learning.descent import mutual_coherences
from tests.learning.samples import learn

CASES = {
    "worms": ("6376_open_worms_6ctrlpts", sx.HermiteSpline(6), 10, 5),
    "hands": ("hands", sx.Landmarks(56), 10, 3),
    "leaves": ("leaves_Bsplines", sx.BSpline(40), 20, 5),
}


def load_case(load_real, name):
    file, space, n_atoms, n_nonzero = CASES[name]
    configurations = load_real(file)
    return configurations, space, space.whitened_preshapes(configurations), n_atoms, n_nonzero


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "rmse", "realism"), [("worms", 0.0283, 0.11), ("hands", 0.0252, 0.055), ("leaves", 0.0582, 0.055)]
)
def test_dictionaries_are_accurate_and_real(load_real, name, rmse, realism):
    configurations, space, rows, n_atoms, n_nonzero = load_case(load_real, name)
    found = learn(rows, n_atoms, n_nonzero, generator=0)
    assert found.rmse <= rmse
    nearest = sx.pairwise_distances(space.unwhiten(found.atoms), configurations, space=space).min(axis=1)
    assert np.median(nearest) <= realism
    assert mutual_coherences(found.atoms).max() <= 0.999
    assert np.abs(encode_rows(rows, found.atoms, n_nonzero).coefs).max() <= 20


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "least", "most"), [("worms", 0.039, 0.042), ("hands", 0.024, 0.028), ("leaves", 0.064, 0.068)]
)
def test_the_papers_algorithm_ends_where_the_paper_does(load_real, name, least, most):
    _, _, rows, n_atoms, n_nonzero = load_case(load_real, name)
    found = [
        learn(rows, n_atoms, n_nonzero, coder="ormp", n_swaps=0, init="random", max_iter=30, generator=seed).rmse
        for seed in range(3)
    ]
    assert least <= np.mean(found) <= most


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("dtype", "options", "most"),
    [(complex, {}, 0.0222), (np.complex64, {}, 0.0245), (complex, {"distance": "partial"}, 0.0245),
     (complex, {"distance": "geodesic"}, 0.0245)],
)  # fmt: skip
def test_effort_lowers_the_training_error_in_every_precision_and_distance(load_real, dtype, options, most):
    _, _, rows, n_atoms, n_nonzero = load_case(load_real, "hands")
    found = learn(rows.astype(dtype), n_atoms, n_nonzero, effort=2, generator=0, **options)
    assert found.atoms.dtype == dtype
    assert found.rmse <= most
