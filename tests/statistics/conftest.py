"""Codes of simulated leaves, made once."""

import pytest

import shapelex as sx


@pytest.fixture(scope="session")
def coded_leaves():
    leaves = sx.datasets.make_leaves(60, random_state=0)
    model = sx.ShapeDictionary(n_atoms=6, n_nonzero=3, n_restarts=1, max_iter=10, tol=0.1, random_state=0).fit(leaves)
    return leaves, model, model.encode(leaves)
