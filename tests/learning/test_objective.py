"""The objective, and the update that lowers it."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shapelex.learning import LearningOptions, Statistics, learn
from shapelex.learning.objective import Objective
from shapelex.learning.options import default_tie
from shapelex.learning.problem import LearningProblem
from tests import strategies
from tests.coding_oracles import best_error
from tests.learning.samples import clustered, plain_shapes, random_codes, random_rows

positive = st.floats(1e-6, 1)


def slow_objective(rows, atoms, sparsities, tie, weights=None):
    """The objective by brute force over all supports, with twice the weight for the highest sparsity."""
    weights = np.ones(len(rows)) if weights is None else weights
    logarithms = []
    for n_nonzero in sparsities:
        squares = np.array([best_error(row, atoms, n_nonzero) ** 2 for row in rows])
        logarithms.append(0.5 * np.log(weights @ squares / weights.sum()))
    # The highest sparsity counts four times.
    logarithms += 3 * [logarithms[-1]]
    nearest = (np.abs(atoms.conj() @ rows[weights > 0].T) ** 2).max(axis=1)
    return np.exp(np.mean(logarithms)) + tie * np.mean(1 - nearest)


@settings(max_examples=10)
@given(strategies.seeds, st.integers(1, 3), st.sampled_from([0.0, 0.5, 3.0]), st.booleans())
def test_updates_lower_the_objective(seed, n_nonzero, tie, is_weighted):
    rows, atoms = clustered(25, 6, seed % 1000), random_rows(4, 6, seed)
    weights = np.resize([1.0, 0.0, 2.5], 25) if is_weighted else None

    options = LearningOptions(4, n_nonzero, coder="exact", nested=True, tie=tie, n_swaps=0)
    problem = LearningProblem(plain_shapes(rows, weights), options)
    current = problem.survey(atoms)
    for _ in range(3):
        expected = slow_objective(rows, current.atoms, range(1, n_nonzero + 1), tie, weights)
        assert problem.objective(current) == pytest.approx(expected, rel=1e-9)
        following, n_replaced = problem.improve(current)
        assume(n_replaced == 0)
        assert problem.objective(following) <= problem.objective(current) * (1 + 1e-12)
        current = following


@pytest.mark.parametrize("distance", ["full", "partial", "geodesic"])
def test_descents_of_nested_dictionaries_never_raise_the_objective(distance):
    seen = []
    options = {"coder": "exact", "nested": True, "n_swaps": 0, "max_iter": 12, "distance": distance}
    learn(clustered(80), 5, 3, **options, generator=3, callback=seen.append)
    objectives = [step.objective for step in seen]
    assert len(objectives) > 5
    assert (np.diff(objectives) <= 1e-12).all()
    # While the loss of the highest sparsity alone need not fall.
    assert objectives[-1] < 0.95 * objectives[0]


@given(st.lists(positive, min_size=1, max_size=4), st.floats(0, 2), positive)
def test_factors_are_those_of_the_tangent(losses, tie, distance2):
    losses, n_atoms = np.array(losses), 7
    shares = np.arange(1.0, len(losses) + 1) / np.arange(1.0, len(losses) + 1).sum()
    objective = Objective(shares, tie)
    rmse = np.prod(np.sqrt(losses) ** shares)
    assert objective.value(losses, distance2) == pytest.approx(rmse + tie * distance2, rel=1e-12)
    slopes = []
    for number, loss in enumerate(losses):
        step = np.zeros(len(losses))
        step[number] = 1e-4 * loss
        slopes.append((objective.value(losses + step, 0) - objective.value(losses - step, 0)) / (2e-4 * loss))
    # An update may scale its samples by any number: those of the last sparsity have the factor 1.
    np.testing.assert_allclose(objective.factors(losses), np.array(slopes) / slopes[-1], rtol=1e-5)
    assert n_atoms * objective.nearest_weight(losses, n_atoms) == pytest.approx(tie / slopes[-1], rel=1e-5)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=4), st.floats(0, 2))
def test_the_tangent_bounds_the_objective(pairs, tie):
    losses, others = np.array(pairs).T
    objective = Objective(np.full(len(losses), 1 / len(losses)), tie)
    slope = objective.value(losses, 0) / (2 * len(losses) * losses[-1])
    change = slope * objective.factors(losses) @ (others - losses)
    assert objective.value(others, 0.1) <= objective.value(losses, 0.1) + change + 1e-12


def test_statistics_of_several_sparsities_are_added():
    rows = random_rows(30, 5)
    parts = [Statistics.of(rows, random_codes(30, 4, n_nonzero, n_nonzero)) for n_nonzero in (1, 2, 3)]
    objective, losses = Objective(np.array([0.25, 0.25, 0.5]), 0.3), np.array([0.3, 0.1, 0.01])
    combined = objective.combine(parts, losses)
    factors = objective.factors(losses)
    np.testing.assert_allclose(combined.gram, np.einsum("s,sij", factors, [part.gram for part in parts]))
    np.testing.assert_allclose(combined.products, np.einsum("s,sij", factors, [part.products for part in parts]))
    assert combined.usage is parts[-1].usage
    assert combined.weight == 30


def test_one_sparsity_is_the_objective_of_the_paper_to_the_bit():
    objective = LearningOptions(4, 2, tie=0.3).objective
    part = Statistics.of(random_rows(30, 5), random_codes(30, 4, 2))
    assert objective.combine([part], np.array([0.2])) is part
    assert objective.factors(np.array([0.2])) == [1.0]
    assert objective.value(np.array([0.2]), 0.1) == np.sqrt(0.2) + 0.3 * 0.1
    rows = clustered(100)
    plain, nested = (learn(rows, 4, 1, nested=nested, n_swaps=4, generator=0) for nested in (False, True))
    np.testing.assert_array_equal(plain.atoms, nested.atoms)
    np.testing.assert_array_equal(plain.loss_curve, nested.loss_curve)


def test_losses_of_zero_are_finite():
    objective = Objective(np.array([0.5, 0.5]), 0.2)
    losses = np.array([0.1, 0.0])
    assert 0 <= objective.value(losses, 0.0) < 1e-6
    assert np.isfinite(objective.factors(losses)).all()
    assert objective.nearest_weight(losses, 5) < 1e-6


@pytest.mark.parametrize(
    ("n_nonzero", "sparsities"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (4, (1, 2, 3, 4)), (5, (1, 2, 3, 5)), (9, (1, 2, 3, 5, 8, 9))],
)
def test_sparsities(n_nonzero, sparsities):
    options = LearningOptions(10, n_nonzero, nested=True)
    assert options.sparsities == sparsities
    assert LearningOptions(10, n_nonzero).sparsities == (n_nonzero,)
    shares = options.objective.shares
    assert shares.sum() == pytest.approx(1)
    if len(sparsities) > 1:
        np.testing.assert_allclose(shares[:-1], shares[-1] / 4)


def test_default_tie():
    assert default_tie(10, 1, 50) == 0
    ties = [default_tie(10, 3, n_shapes) for n_shapes in (10**6, 1000, 100, 10)]
    assert ties == sorted(ties)
    assert ties[0] == pytest.approx(0.2, abs=1e-4)
    assert ties[-1] == 0.5
