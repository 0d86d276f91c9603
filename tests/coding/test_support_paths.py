"""The path of supports of least error and cost of changes, against all paths."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapelex.coding.paths import PathFinder, SupportLattice


def path_cost(path, squares, costs, supports):
    """Sum of squared errors and of costs of changes, in plain words."""
    total = squares[0][path[0]]
    for t in range(1, len(path)):
        exchanged = len(set(supports[path[t]]) - set(supports[path[t - 1]]))
        total += squares[t][path[t]] + (costs[t] * (1 + exchanged) / 2 if exchanged else 0)
    return total


def run(finder, squares, costs, cuts):
    bounds = [0, *cuts, len(squares)]
    parts = [finder.add(squares[a:b], costs[a:b]) for a, b in pairwise(bounds) if b > a]
    return np.concatenate([*parts, finder.finish()])


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 4), st.integers(1, 3), st.integers(1, 5), st.floats(0, 1.5), st.integers(0, 2**32 - 1))
def test_least_cost_of_all_paths(n_atoms, size, n_frames, cost, seed):
    size = min(size, n_atoms)
    lattice = SupportLattice.of(n_atoms, size)
    supports = list(combinations(range(n_atoms), size))
    assert lattice.supports.tolist() == [list(one) for one in supports]
    generator = np.random.default_rng(seed)
    squares = generator.random((n_frames, len(supports)))
    costs = cost * generator.choice([0.0, 0.5, 1.0], n_frames)
    found = run(PathFinder(lattice), squares, costs, [])
    least = min(path_cost(path, squares, costs, supports) for path in product(range(len(supports)), repeat=n_frames))
    assert path_cost(found, squares, costs, supports) == pytest.approx(least, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 199), max_size=6, unique=True).map(sorted), st.floats(0, 0.3), st.integers(0, 1000))
def test_blocks_find_the_path_of_the_whole(cuts, cost, seed):
    lattice = SupportLattice.of(5, 2)
    squares = np.random.default_rng(seed).random((200, 10))
    costs = np.full(200, cost)
    whole, parts = PathFinder(lattice), PathFinder(lattice)
    np.testing.assert_array_equal(run(whole, squares, costs, []), run(parts, squares, costs, cuts))
    assert parts.is_exact


def test_memory_limit_gives_a_path_that_is_nearly_as_good():
    lattice = SupportLattice.of(5, 2)
    squares = np.random.default_rng(0).random((400, 10)) / 100
    # Changes cost so much that no frame is decided before the end.
    costs = np.full(400, 10.0)
    exact, limited = PathFinder(lattice), PathFinder(lattice, max_bytes=1000)
    best = run(exact, squares, costs, [])
    found = run(limited, squares, costs, list(range(50, 400, 50)))
    assert exact.is_exact
    assert not limited.is_exact
    assert len(set(best.tolist())) == 1
    assert len(found) == 400
