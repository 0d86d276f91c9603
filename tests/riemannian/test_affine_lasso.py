import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from shapelex.exceptions import ConvergenceWarning
from shapelex.riemannian.affine_lasso import affine_lasso, optimality_gaps


def make_grams(n_samples, n_atoms, rank, seed=0):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n_samples, rank, n_atoms)) + rng.normal(size=(n_samples, rank, 1))
    return 0.05 * np.einsum("kri,krj->kij", vectors, vectors)


def objective(gram, alpha, code):
    return code @ gram @ code + alpha * np.abs(code).sum()


def brute_force(gram, alpha):
    """Least objective over all patterns of signs, each a linear system."""
    n_atoms, best = len(gram), np.inf
    for signs in map(np.array, itertools.product([-1, 0, 1], repeat=n_atoms)):
        used = signs != 0
        if not used.any():
            continue
        system = np.block([[2 * gram[np.ix_(used, used)], np.ones((used.sum(), 1))], [np.ones((1, used.sum())), 0]])
        code = np.zeros(n_atoms)
        code[used] = np.linalg.lstsq(system, np.r_[-alpha * signs[used], 1])[0][:-1]
        if abs(code.sum() - 1) < 1e-9:
            best = min(best, objective(gram, alpha, code))
    return best


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.3, 5.0])
@pytest.mark.parametrize("rank", [3, 8])
def test_against_brute_force_and_slsqp(alpha, rank):
    grams = make_grams(6, 4, rank)
    codes = affine_lasso(grams, alpha)
    for gram, code in zip(grams, codes, strict=True):
        assert code.sum() == pytest.approx(1, abs=1e-12)
        value = objective(gram, alpha, code)
        assert value == pytest.approx(brute_force(gram, alpha), rel=1e-9, abs=1e-10)

        # Positive and negative parts make the objective smooth.
        def smooth(parts, gram=gram):
            code = parts[:4] - parts[4:]
            return code @ gram @ code + alpha * parts.sum()

        found = minimize(
            smooth,
            np.r_[np.full(4, 0.25), np.zeros(4)],
            method="SLSQP",
            bounds=[(0, None)] * 8,
            constraints={"type": "eq", "fun": lambda parts: parts[:4].sum() - parts[4:].sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert value <= found.fun + 1e-9
        # SLSQP stalls on the way, here earlier, there later.
        assert value == pytest.approx(found.fun, abs=1e-3)


@pytest.mark.parametrize(("n_atoms", "rank"), [(1, 5), (8, 30), (20, 40), (20, 12)])
@pytest.mark.parametrize("alpha", [0.0, 0.02, 1.0])
def test_optimality_conditions(n_atoms, rank, alpha):
    grams = make_grams(40, n_atoms, rank, seed=n_atoms)
    codes = affine_lasso(grams, alpha)
    scales = 2 * np.abs(grams).max(axis=(1, 2)) + alpha
    assert (optimality_gaps(2 * grams, np.full(len(grams), alpha), codes) <= 1e-9 * scales).all()
    np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-12)
    moved = codes + 1e-3 * np.random.default_rng(0).normal(size=codes.shape)
    if n_atoms > 1:
        assert (optimality_gaps(2 * grams, np.full(len(grams), alpha), moved) > 1e-9 * scales).all()


def test_a_large_price_gives_convex_combinations():
    grams = make_grams(30, 8, 20)
    codes = affine_lasso(grams, 100.0)
    assert codes.min() >= 0
    assert (codes == 0).any()
    assert affine_lasso(grams, 0.0).min() < 0


def test_scale_and_zero_matrices():
    grams = make_grams(5, 4, 9)
    np.testing.assert_allclose(affine_lasso(1e-8 * grams, 1e-9), affine_lasso(1e8 * grams, 1e7), atol=1e-8)
    nothing = affine_lasso(np.zeros((2, 3, 3)), 0.5)
    np.testing.assert_allclose(np.abs(nothing).sum(axis=1), 1)


def test_says_when_it_stops_early():
    grams = make_grams(50, 30, 8)
    with pytest.warns(ConvergenceWarning, match=r"of 50 shapes did not reach tol=1e-15 in 1 steps"):
        codes = affine_lasso(grams, 0.01, tol=1e-15, max_iter=1)
    np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        better = affine_lasso(grams, 0.01)
    values = [[objective(*pair) for pair in zip(grams, [0.01] * 50, part, strict=True)] for part in (better, codes)]
    assert (np.array(values[0]) <= np.array(values[1]) + 1e-10).all()
