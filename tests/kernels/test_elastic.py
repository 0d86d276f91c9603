import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shapelex.kernels.elastic import match_batch
from tests import strategies


def slow_cost(points, other, start, width):
    """Return the least cost of a path, by all predecessors of every pair of points."""
    n_points = len(points)
    best = {}
    for i in range(n_points):
        for j in range(i - width, i + width + 1):
            if i == 0 and j < 0:
                continue
            before = [best[pair] for pair in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if pair in best]
            if not before and (i, j) != (0, 0):
                continue
            cost = np.abs(points[i] - other[(j + start) % n_points]).sum()
            best[i, j] = cost + (min(before) if before else 0)
    return best[n_points - 1, n_points - 1] / n_points


@given(strategies.seeds, st.integers(4, 9), st.integers(0, 3))
def test_costs_are_those_of_the_cheapest_path(seed, n_points, width):
    rng = np.random.default_rng(seed)
    width = min(width, (n_points - 1) // 2)
    descriptors = rng.normal(size=(2, 2, n_points, 3)).astype(np.float32)
    others = rng.normal(size=(3, n_points, 3)).astype(np.float32)
    candidates = np.array([[0, 2], [1, 1]])
    starts = rng.integers(2 * n_points, size=(2, 2, 2))
    found = np.empty((2, 2), dtype=np.float32)
    match_batch(descriptors, others, candidates, starts, width, found)
    for row, place in np.ndindex(2, 2):
        slow = min(
            slow_cost(descriptors[row, start // n_points], others[candidates[row, place]], start % n_points, width)
            for start in starts[row, place].tolist()
        )
        np.testing.assert_allclose(found[row, place], slow, rtol=1e-5)
