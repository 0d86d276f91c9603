import pytest

import shapelex as sx


@pytest.fixture(scope="session")
def worms():
    return sx.datasets.make_worms(60, 3, noise=0.004, random_state=1)


@pytest.fixture(scope="session")
def model(worms):
    return sx.ShapeDictionary(6, 3, n_swaps=0, max_iter=10, tol=1e-2, random_state=0).fit(worms)


@pytest.fixture(scope="session")
def result(worms, model):
    return sx.sequences.encode_sequence(worms, model, switch_cost=2e-3)
