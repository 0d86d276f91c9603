"""A price on weights: the least sum of squared error and price, over all supports, for every coder and backend."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import ParameterError, ParameterTypeError
from tests.coding.test_polish import problem
from tests.coding_oracles import best_penalized, penalized
from tests.devices import on_devices


def costs_of(codes, rows, atoms, penalty):
    return (np.abs(rows - codes.toarray() @ atoms) ** 2).sum(axis=1) + penalty * (np.abs(codes.coefs) ** 2).sum(axis=1)


def shapes_and_atoms(seed, n_rows=20, n_atoms=8, dtype=complex):
    """Return pre-shapes and atoms of several norms, of which two are alike."""
    rows, atoms = problem(seed, n_rows, 7, n_atoms)
    space = sx.Landmarks(7)
    rows, atoms = space.preshape(rows), space.preshape(atoms) * np.linspace(0.5, 2, n_atoms)[:, None]
    atoms[2] = 1.2 * atoms[1] + 1e-5 * atoms[3]
    return rows.astype(dtype), atoms.astype(dtype)


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 10_000), st.sampled_from([1e-4, 0.01, 0.3, 5.0]), st.integers(1, 3))
def test_exact_is_the_least_cost_of_all_supports(seed, penalty, n_nonzero):
    rows, atoms = shapes_and_atoms(seed, n_rows=3)
    codes = sx.encode(rows, atoms, n_nonzero, "exact", weight_penalty=penalty)
    best = [best_penalized(row, atoms, n_nonzero, penalty) for row in rows]
    np.testing.assert_allclose(costs_of(codes, rows, atoms, penalty), best, atol=1e-12)


@on_devices
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("method", ["ormp", "omp", "beam", "auto"])
def test_weights_are_the_best_for_their_support(method, dtype, device):
    rows, atoms = shapes_and_atoms(1, dtype=dtype)
    for penalty in (1e-3, 0.2):
        codes = sx.encode(rows, atoms, 4, method, weight_penalty=penalty, device=device)
        for row, support, coefs in zip(rows, codes.support, codes.coefs, strict=True):
            used = support >= 0
            expected, _ = penalized(row.astype(complex), atoms[support[used]].astype(complex), penalty)
            np.testing.assert_allclose(coefs[used], expected, atol=1e-10 if dtype == np.complex128 else 1e-4)


def test_paths_and_polish_take_the_price_into_account():
    rows, atoms = shapes_and_atoms(2, 60, 12)
    path = sx.encode(rows, atoms, 4, path=True, weight_penalty=0.05)
    for size in (1, 2, 3, 4):
        plain = sx.encode(rows, atoms, size, "ormp", weight_penalty=0.05)
        np.testing.assert_allclose(path[size].toarray(), plain.toarray(), atol=1e-12)
    polished = sx.encode(rows, atoms, 4, "ormp", polish=True, weight_penalty=0.05)
    before, after = (costs_of(codes, rows, atoms, 0.05) for codes in (path[4], polished))
    assert (after <= before + 1e-12).all()
    assert after.mean() < before.mean()


def test_errors_are_distances_without_the_price():
    rows, _ = shapes_and_atoms(3, 30)
    model = sx.ShapeDictionary(6, 2, weight_penalty=0.1, max_iter=50, random_state=0).fit(rows)
    codes = model.encode(rows)
    distances = np.linalg.norm(rows - codes.toarray() @ model.atoms_, axis=1)
    np.testing.assert_allclose(model.errors(rows), distances, atol=1e-9)
    free = sx.ShapeDictionary(6, 2, max_iter=50, random_state=0).fit(rows)
    assert np.abs(codes.coefs).max() < np.abs(free.encode(rows).coefs).max()
    # A shape that is an atom has a small error, which is computed from its coordinates.
    tiny = sx.ShapeDictionary(6, 1, weight_penalty=1e-8, init=rows[:6], max_iter=0).fit(rows)
    np.testing.assert_allclose(tiny.errors(rows[:6]), 1e-8, rtol=1e-3)


def test_a_target_is_for_the_sum_of_error_and_price():
    rows, atoms = shapes_and_atoms(4)
    codes = sx.encode(rows, atoms, tol=0.7, method="exact", weight_penalty=0.01)
    assert (costs_of(codes, rows, atoms, 0.01) <= 0.49 + 1e-12).all()


def test_masked_shapes_have_the_price_of_their_own_landmarks():
    rows, atoms = shapes_and_atoms(5)
    mask = np.ones(rows.shape, dtype=bool)
    mask[:10, :2] = False
    codes = sx.encode(rows, atoms, 3, mask=mask, weight_penalty=0.1)
    complete = sx.encode(rows[10:], atoms, 3, weight_penalty=0.1)
    np.testing.assert_allclose(codes[10:].toarray(), complete.toarray(), atol=1e-12)
    assert np.isfinite(codes.coefs).all()


@pytest.mark.parametrize("penalty", [-1.0, np.nan, np.inf])
def test_the_price_is_not_negative(penalty):
    rows, atoms = shapes_and_atoms(6)
    with pytest.raises(ParameterError, match="weight_penalty"):
        sx.encode(rows, atoms, 3, weight_penalty=penalty)
    with pytest.raises(ParameterError, match="weight_penalty"):
        sx.ShapeDictionary(4, 2, weight_penalty=penalty).fit(rows)


def test_bounds_of_earlier_versions_are_refused_by_name():
    rows, atoms = shapes_and_atoms(7)
    with pytest.raises(ParameterTypeError, match="weight_penalty"):
        sx.encode(rows, atoms, 3, max_weight=1.0)
    with pytest.raises(ParameterTypeError, match="weight_penalty"):
        sx.ShapeDictionary(4, 2, max_weight=1.0)
    with pytest.raises(ParameterTypeError, match="weight_penalty"):
        sx.sequences.encode_sequence(rows, None, max_weight=1.0)
