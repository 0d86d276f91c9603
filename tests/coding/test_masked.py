import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import NonFiniteError, ShapeInputError, UnsupportedBySpaceError
from tests import coding_oracles, strategies

METHODS = ["ormp", "omp", "beam", "exact", "auto"]


def random_mask(seed, shape, least=6):
    keys = np.random.default_rng(seed).random(shape)
    return (keys < 0.8) | (np.argsort(np.argsort(keys, axis=1), axis=1) < least)


def problem(seed, n_shapes=4, n_points=10, n_atoms=7):
    rng = np.random.default_rng(seed)
    return (
        coding_oracles.random_rows(rng, n_shapes, n_points) * 3 + 2j,
        coding_oracles.random_rows(rng, n_atoms, n_points),
        random_mask(seed, (n_shapes, n_points)),
    )


def on_landmarks(z, atoms, present):
    """Return a shape of norm 1 and the atoms, both re-centered on the landmarks that are present."""
    row = z[present] - z[present].mean()
    return row / np.linalg.norm(row), atoms[:, present] - atoms[:, present].mean(axis=1, keepdims=True)


def masked_error(z, atoms, present, codes):
    """Return what a code leaves on the landmarks present, with the best translation and the scale that fits."""
    row, part = on_landmarks(z, atoms, present)
    rebuilt = codes @ part
    factor = np.vdot(rebuilt, row) / np.vdot(rebuilt, rebuilt)
    assert factor.real > 0
    assert abs(factor.imag) < 1e-9 * factor.real
    return np.linalg.norm(row - factor * rebuilt)


@settings(max_examples=20)
@given(strategies.seeds, st.integers(1, 3))
def test_exact_codes_are_the_best_on_the_landmarks_present(seed, n_nonzero):
    X, atoms, mask = problem(seed)
    codes = sx.encode(np.where(mask, X, np.nan), atoms, n_nonzero, "exact", mask=mask).toarray()
    for z, present, code in zip(X, mask, codes, strict=True):
        best = coding_oracles.best_error(*on_landmarks(z, atoms, present), n_nonzero)
        assert masked_error(z, atoms, present, code) == pytest.approx(best, abs=1e-9)


@settings(max_examples=20)
@given(strategies.seeds)
def test_pursuits_choose_by_the_landmarks_present(seed):
    X, atoms, mask = problem(seed)
    for method, oracle in [("ormp", coding_oracles.ormp_support), ("omp", coding_oracles.omp_support)]:
        codes = sx.encode(np.where(mask, X, np.nan), atoms, 3, method, mask=mask)
        for z, present, support in zip(X, mask, codes.support, strict=True):
            row, part = on_landmarks(z, atoms, present)
            assert list(support) == oracle(row, part, 3)


@pytest.mark.parametrize(("dtype", "atol"), [(np.complex64, 1e-5), (np.complex128, 1e-12)])
@pytest.mark.parametrize("method", METHODS)
def test_complete_shapes_are_coded_as_always(method, dtype, atol):
    X, atoms, mask = problem(1)
    X, atoms, mask[:2] = X.astype(dtype), atoms.astype(dtype), True
    masked = sx.encode(X, atoms, 3, method, mask=mask, n_threads=1)
    plain = sx.encode(X[:2], atoms, 3, method)
    assert masked.coefs.dtype == dtype
    np.testing.assert_array_equal(masked.support[:2], plain.support)
    np.testing.assert_allclose(masked.coefs[:2], plain.coefs, rtol=0, atol=atol)


@given(strategies.seeds, strategies.phases, strategies.sizes, strategies.offsets)
def test_codes_turn_with_the_shape_and_forget_the_rest(seed, phase, size, offset):
    X, atoms, mask = problem(seed)
    codes = sx.encode(X, atoms, 2, "ormp", mask=mask).toarray()
    moved = sx.encode(size * (phase * X + offset), atoms, 2, "ormp", mask=mask).toarray()
    np.testing.assert_allclose(moved, phase * codes, atol=1e-6)


def test_hidden_landmarks_do_not_count():
    X, atoms, mask = problem(2)
    other = np.where(mask, X, 1e6)
    first, second = (sx.encode(Z, atoms, 3, mask=mask) for Z in (X, other))
    np.testing.assert_array_equal(first.coefs, second.coefs)
    points = np.stack([X.real, X.imag], axis=-1)
    np.testing.assert_array_equal(sx.encode(points, atoms, 3, mask=mask).coefs, first.coefs)


def test_what_does_not_fit_is_refused():
    X, atoms, mask = problem(5)
    few, with_nan = mask.copy(), X.copy()
    few[1] = np.arange(10) < 2
    with_nan[2, 0] = np.nan
    for Z, options, error, words in (
        (X, {"mask": mask.astype(int)}, ShapeInputError, "booleans"),
        (X, {"mask": mask[0]}, ShapeInputError, r"\(4, 10\), got \(10,\)"),
        (X, {"mask": few}, NonFiniteError, "three landmarks in row 1"),
        (with_nan, {"mask": np.ones_like(mask)}, NonFiniteError, "mask .* row 2"),
        (with_nan, {}, NonFiniteError, "row 2"),
        (X, {"mask": mask, "space": sx.BSpline(10)}, UnsupportedBySpaceError, "mask"),
        (X, {"mask": mask, "path": True}, ValueError, "path"),
        (X, {"mask": mask, "device": "torch"}, ValueError, "device"),
    ):
        with pytest.raises(error, match=words):
            sx.encode(Z, atoms, 2, **options)
