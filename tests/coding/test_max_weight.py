"""Bounded weights: every modulus within its bound, and the least error that this allows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.coding import encode_rows
from shapelex.exceptions import DeviceError, ParameterError
from tests.coding.test_polish import errors_of, problem
from tests.coding_oracles import best_bounded_error, bounded_error
from tests.devices import on_devices


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 1.0, 2.0]), st.integers(1, 3))
def test_exact_is_the_least_bounded_error(seed, bound, n_nonzero):
    rows, atoms = problem(seed, n_rows=2, n_coordinates=6, n_atoms=6)
    codes = encode_rows(rows, atoms, n_nonzero, method="exact", max_weight=bound)
    assert np.abs(codes.coefs).max() <= bound
    best = [best_bounded_error(row, atoms, n_nonzero, bound) for row in rows]
    np.testing.assert_allclose(errors_of(codes, rows, atoms), best, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("method", ["ormp", "omp", "beam", "auto"])
def test_weights_are_the_best_for_their_support(method, dtype):
    rows, atoms = (part.astype(dtype) for part in problem(1, 12))
    for bound in (0.3, 0.8):
        codes = encode_rows(rows, atoms, 4, method=method, max_weight=bound)
        assert np.abs(codes.coefs).max() <= bound
        assert np.abs(codes.coefs).max() > 0.99 * bound
        for row, support, error in zip(rows, codes.support, errors_of(codes, rows, atoms), strict=True):
            best = bounded_error(row.astype(complex), atoms[support[support >= 0]].astype(complex), bound)
            assert abs(error - best) < (1e-9 if dtype == np.complex128 else 1e-5)


def test_supports_are_chosen_by_the_bounded_error():
    rows, atoms = problem(2, 100)
    plain = encode_rows(rows, atoms, 4, method="ormp")
    bounded = encode_rows(rows, atoms, 4, method="ormp", max_weight=0.4)
    kept = [bounded_error(row, atoms[chosen], 0.4, 500) for row, chosen in zip(rows, plain.support, strict=True)]
    errors = errors_of(bounded, rows, atoms)
    assert (errors <= np.array(kept) + 1e-6).all()
    exact = errors_of(encode_rows(rows, atoms, 4, method="exact", max_weight=0.4), rows, atoms)
    assert exact.mean() <= errors.mean() < 1.02 * exact.mean() < np.mean(kept)


def test_codes_within_the_bound_keep_their_bits():
    rows, atoms = problem(3)
    plain = encode_rows(rows, atoms, 3, method="beam")
    bounded = encode_rows(rows, atoms, 3, method="beam", max_weight=1.0)
    within = np.abs(plain.coefs).max(axis=1) < 1
    assert 0 < within.sum() < len(rows)
    np.testing.assert_array_equal(bounded.coefs[within], plain.coefs[within])
    assert encode_rows(rows, atoms, 3, method="beam", max_weight=1e6) == plain


def test_a_shape_that_is_an_atom_uses_others_too():
    _, atoms = problem(4)
    codes = encode_rows(atoms[:3], atoms, 3, max_weight=0.5)
    assert ((codes.support >= 0).sum(axis=1) == 3).all()
    assert (errors_of(codes, atoms[:3], atoms) < 0.5).all()


def test_the_bound_is_for_atoms_of_norm_one():
    rows, atoms = problem(5)
    scales = np.linspace(0.5, 2, len(atoms))
    codes = encode_rows(rows, atoms, 3, max_weight=0.5)
    scaled = encode_rows(3 * rows, scales[:, None] * atoms, 3, max_weight=0.5)
    np.testing.assert_allclose(scaled.toarray() * scales / 3, codes.toarray(), atol=1e-12)


def test_masked_shapes_obey_the_bound():
    rows, atoms = problem(6, 40, 10, 30)
    atoms = sx.Landmarks(10).preshape(atoms)
    mask = np.ones(rows.shape, dtype=bool)
    mask[:20, :3] = mask[10:30, 5] = False
    codes = sx.encode(rows, atoms, 4, mask=mask, max_weight=0.5)
    assert np.abs(codes.coefs).max() <= 0.5
    complete = sx.encode(rows[30:], atoms, 4, max_weight=0.5)
    np.testing.assert_allclose(codes[30:].toarray(), complete.toarray(), atol=1e-12)


def test_a_dictionary_is_learned_and_used_with_bounded_weights():
    rows, _ = problem(7, 60)
    settings = {"max_iter": 3, "n_swaps": 0, "random_state": 0, "tol": 0.0}
    with pytest.warns(Warning, match="still changed"):
        model = sx.ShapeDictionary(6, 3, max_weight=0.6, **settings).fit(rows)
    assert np.abs(model.encode(rows).coefs).max() <= 0.6
    np.testing.assert_allclose(model.rmse_, np.sqrt(np.mean(model.errors(rows) ** 2)))
    plain = sx.ShapeDictionary(6, 3, max_weight=None, **settings).set_params(max_iter=0).fit(rows)
    assert np.abs(plain.encode(rows).coefs).max() > 0.6


@pytest.mark.parametrize("settings", [{"path": True}, {"tol": 0.1}])
def test_what_does_not_go_with_it_is_refused(settings):
    rows, atoms = problem(8)
    with pytest.raises(ParameterError, match=f"max_weight.*{next(iter(settings))}"):
        sx.encode(rows, atoms, 3, max_weight=1.0, **settings)


@pytest.mark.parametrize("bound", [0, -1.0, np.nan, np.inf])
def test_the_bound_is_positive(bound):
    rows, atoms = problem(9)
    with pytest.raises(ParameterError, match="max_weight must be finite and positive"):
        sx.encode(rows, atoms, 3, max_weight=bound)
    with pytest.raises(ParameterError, match="max_weight must be finite and positive"):
        sx.ShapeDictionary(4, 2, max_weight=bound).fit(rows)


@on_devices
def test_bounded_weights_are_refused_on_torch(device):
    rows, atoms = problem(10)
    with pytest.raises(DeviceError, match="max_weight"):
        sx.encode(rows, atoms, 3, max_weight=1.0, device=device)
