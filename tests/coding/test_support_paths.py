"""The path of supports of least error and cost of changes, against all paths."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.coding.paths import PathFinder, SupportLattice
from tests import strategies

SUPPORTS = list(combinations(range(4), 2))


def path_cost(path, squares, cost):
    """Sum of squared errors and of costs of changes, in plain words."""
    total = sum(squares[frame, number] for frame, number in enumerate(path))
    for before, after in pairwise(path):
        exchanged = len(set(SUPPORTS[after]) - set(SUPPORTS[before]))
        total += cost * (1 + exchanged) / 2 if exchanged else 0
    return total


@settings(max_examples=40)
@given(strategies.seeds, st.floats(0, 0.5))
def test_least_cost_of_all_paths(seed, cost):
    rows = sx.Landmarks(6).preshape(strategies.random_configurations(sx.Landmarks(6), 8, seed))
    model = sx.ShapeDictionary(4, 2, init=rows[4:], max_iter=0, coder="ormp").fit(rows)
    squares = np.empty((4, 6))
    for number, support in enumerate(SUPPORTS):
        chosen = model.atoms_[list(support)]
        weights = np.linalg.lstsq(chosen.T, rows[:4].T, rcond=None)[0]
        squares[:, number] = (np.abs(rows[:4].T - chosen.T @ weights) ** 2).sum(axis=0)
    found = sx.sequences.encode_sequence(rows[:4], model, switch_cost=cost)
    path = [SUPPORTS.index(tuple(sorted(support.tolist()))) for support in found.codes.support]
    np.testing.assert_allclose(found.errors**2, squares[range(4), path], atol=1e-9)
    least = min(path_cost(path, squares, cost) for path in product(range(6), repeat=4))
    assert path_cost(path, squares, cost) == pytest.approx(least, abs=1e-9)


def test_memory_limit_gives_a_path_that_is_nearly_as_good():
    lattice = SupportLattice.of(5, 2)
    squares = np.random.default_rng(0).random((400, 10)) / 100
    # Changes cost so much that no frame is decided before the end.
    costs = np.full(400, 10.0)
    exact, limited = PathFinder(lattice), PathFinder(lattice, max_bytes=1000)
    best = np.concatenate([exact.add(squares, costs), exact.finish()])
    parts = [limited.add(squares[a : a + 50], costs[a : a + 50]) for a in range(0, 400, 50)]
    found = np.concatenate([*parts, limited.finish()])
    assert exact.is_exact
    assert not limited.is_exact
    assert len(set(best.tolist())) == 1
    assert len(found) == 400
