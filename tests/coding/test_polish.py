"""Exchange polish: locally optimal supports, never a larger error, never more atoms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.coding import encode_rows
from shapelex.exceptions import DeviceError, ParameterError
from tests.coding_oracles import best_error, best_exchange_error, random_rows
from tests.devices import on_devices


def problem(seed, n_rows=30, n_coordinates=8, n_atoms=14):
    """Return rows and atoms that resemble each other, so that pursuits err."""
    rng = np.random.default_rng(seed)
    atoms = random_rows(rng, n_atoms, n_coordinates) + 0.7 * random_rows(rng, 1, n_coordinates)
    return random_rows(rng, n_rows, n_coordinates), atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def errors_of(codes, rows, atoms):
    return np.linalg.norm(rows - codes.toarray() @ atoms, axis=1)


def counts_of(codes):
    return (codes.support >= 0).sum(axis=1)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from(["ormp", "omp", "beam"]))
def test_no_exchange_improves_a_polished_code(seed, n_nonzero, method):
    rows, atoms = problem(seed, n_rows=8)
    before = encode_rows(rows, atoms, n_nonzero, method=method, width=2)
    codes = encode_rows(rows, atoms, n_nonzero, method=method, width=2, polish=True)
    errors = errors_of(codes, rows, atoms)
    assert (errors <= errors_of(before, rows, atoms) + 1e-14).all()
    for row, error, support in zip(rows, errors, codes.support, strict=True):
        chosen = support[support >= 0].tolist()
        assert error <= best_exchange_error(row, atoms, chosen) + 1e-7
        assert error >= best_error(row, atoms, n_nonzero) - 1e-12


@pytest.mark.parametrize("method", ["ormp", "omp", "beam"])
def test_rows_that_no_exchange_improves_keep_their_bits(method):
    rows, atoms = problem(1)
    before = encode_rows(rows, atoms, 3, method=method, width=2)
    codes = encode_rows(rows, atoms, 3, method=method, width=2, polish=True)
    same = (codes.support == before.support).all(axis=1)
    assert 0 < same.sum() < len(rows)
    np.testing.assert_array_equal(codes.coefs[same], before.coefs[same])
    assert (errors_of(codes, rows, atoms)[~same] < errors_of(before, rows, atoms)[~same]).all()


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_long_codes_stay_right_after_many_updates(dtype):
    rows, atoms = (part.astype(dtype) for part in problem(2, 60, 40, 120))
    before, codes = (encode_rows(rows, atoms, 20, method="omp", polish=polish) for polish in (False, True))
    errors = errors_of(codes, rows, atoms)
    assert errors.mean() < 0.97 * errors_of(before, rows, atoms).mean()
    residuals = rows - codes.toarray() @ atoms
    along = np.abs(np.where(codes.toarray() != 0, residuals @ atoms.conj().T, 0))
    assert along.max() < (1e-12 if dtype == np.complex128 else 1e-4)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10_000), st.sampled_from(["ormp", "omp", "beam"]), st.floats(0.3, 0.45))
def test_single_precision_finds_the_exchanges_that_double_precision_finds(seed, method, decay):
    """Smooth rows have similar atoms and small residuals: the inverses of Gram matrices have large entries."""
    rng = np.random.default_rng(seed)
    rows, atoms = (random_rows(rng, n, 24) * np.exp(-decay * np.arange(24)) for n in (40, 80))
    rows, atoms = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (rows, atoms))
    before, single = (
        encode_rows(rows.astype(np.complex64), atoms.astype(np.complex64), 10, method=method, width=2, polish=polish)
        for polish in (False, True)
    )
    double = encode_rows(rows, atoms, 10, method=method, width=2, polish=True)
    old, new, target = (np.square(errors_of(codes, rows, atoms)) for codes in (before, single, double))
    assert (new <= old + 16 * np.finfo(np.float32).eps).all()
    # Exchanges in another order may end in other supports, so errors agree in the mean.
    assert old.mean() - new.mean() > 0.8 * (old.mean() - target.mean())
    assert (new < old)[old - target > 1e-5 + 0.2 * old].all()


@pytest.mark.parametrize("tol", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("method", ["ormp", "omp", "beam"])
def test_with_a_target_polishing_never_uses_more_atoms(method, tol):
    rows, atoms = problem(4, n_rows=60)
    before, codes, exact = (
        encode_rows(rows, atoms, 5, method=name, width=2, tol=tol, polish=polish)
        for name, polish in ((method, False), (method, True), ("exact", None))
    )
    fewer = counts_of(codes) < counts_of(before)
    errors, old_errors = errors_of(codes, rows, atoms), errors_of(before, rows, atoms)
    assert (counts_of(codes) <= counts_of(before)).all()
    assert (counts_of(codes) >= counts_of(exact))[errors <= tol].all()
    assert (errors[fewer] <= tol + 1e-12).all()
    assert (errors[~fewer] <= old_errors[~fewer] + 1e-14).all()
    assert (errors[old_errors <= tol] <= tol + 1e-12).all()
    assert fewer.any() or method == "beam" or tol < 0.5


def test_a_named_pursuit_is_not_polished_and_auto_is():
    rows, atoms = problem(5, 50, 30, 60)
    named = encode_rows(rows, atoms, 8, method="ormp")
    assert named == encode_rows(rows, atoms, 8, method="ormp", polish=False)
    assert named != encode_rows(rows, atoms, 8, method="ormp", polish=True)
    auto = encode_rows(rows, atoms, 8)
    assert auto == encode_rows(rows, atoms, 8, method="beam", width=8, polish=True)
    assert encode_rows(rows, atoms, 8, polish=False) == encode_rows(rows, atoms, 8, method="beam")


def test_masked_shapes_are_polished():
    rows, atoms = problem(6, 40, 10, 30)
    mask = np.ones(rows.shape, dtype=bool)
    mask[:20, 0] = mask[10:30, 5] = False
    codes = sx.encode(rows, atoms, 4, "ormp", mask=mask, polish=True)
    alone = sx.encode(rows[:10, 1:], atoms[:, 1:], 4, "ormp", polish=True)
    np.testing.assert_array_equal(codes.support[:10], alone.support)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "n_nonzero", "n_atoms", "ratio"),
    [("leaves_Bsplines", 5, 20, 0.98), ("mpeg7_outlines_200", 10, 100, 0.96), ("mpeg7_outlines_200", 30, 230, 0.91)],
)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_polishing_lowers_the_error_of_ormp_on_real_shapes(name, n_nonzero, n_atoms, ratio, dtype):
    shapes = sx.datasets.fetch(name)
    X, space = shapes.configurations, shapes.space
    settings = {"coder": "ormp", "nested": False, "tie": 0, "n_swaps": 0, "max_iter": 10, "tol": 0.1, "random_state": 1}
    atoms = sx.ShapeDictionary(n_atoms, n_nonzero, space=space, **settings).fit(X).atoms_
    Z = space.preshape(X)

    def rmse(**options):
        codes = sx.encode(X.astype(dtype), atoms.astype(dtype), n_nonzero, space=space, **options)
        return np.sqrt(np.mean(space.norm(Z - codes.toarray() @ atoms) ** 2))

    plain, polished = (rmse(method="ormp", polish=polish) for polish in (False, True))
    assert polished < ratio * plain
    assert rmse() < 0.995 * polished
    if n_nonzero == 30:
        assert polished < 1.02 * rmse(method="beam", width=32)


@on_devices
def test_what_cannot_be_polished_is_refused(device):
    rows, atoms = problem(8, 20, 30, 60)
    with pytest.raises(ParameterError, match="path=True and polish=True cannot be combined"):
        sx.encode(rows, atoms, 3, path=True, polish=True)
    with pytest.raises(DeviceError, match="polish=True, tol="):
        sx.encode(rows, atoms, 8, "ormp", polish=True, tol=0.1, device=device)
    assert len(sx.encode(rows, atoms, 8, tol=0.1, device=device)) == 20
