"""Stored sets are coded as arrays are, and read block by block, on the CPU and on torch devices."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.coding.torch import device_coder
from shapelex.exceptions import CollapsedShapeError, CoordinateCountError, NonFiniteError, ShapeInputError
from shapelex.shapes import storage
from tests.devices import on_all_devices, on_devices
from tests.rounding import assert_close_codes
from tests.shapes.test_stored import KINDS, Recorder, make_shapes

SPACES = [None, sx.BSpline(7), sx.HermiteSpline(4)]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(storage, "BLOCK_ROWS", 16)
    # 16 rows of 8 coordinates in complex128.
    monkeypatch.setattr(device_coder, "_TRAVEL_BYTES", 16 * 8 * 16)


def make_set(space, n_shapes=150, dtype=complex):
    n_coordinates = 7 if space is None else space.n_coordinates
    return make_shapes(n_shapes, n_coordinates, dtype), make_shapes(5, n_coordinates, dtype, seed=9)


@pytest.mark.usefixtures("small_blocks")
@on_all_devices
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(("value", "error"), [(np.nan, NonFiniteError), (3.1 + 2j, CollapsedShapeError)])
def test_errors_name_rows_of_the_whole_set(value, error, dtype, device):
    X, atoms = make_set(None, dtype=dtype)
    X[103] = value
    for atoms_of_one_precision in (atoms, atoms.astype(complex)):
        with pytest.raises(error, match=r"X has .* in row 103\b"):
            sx.encode(Recorder(X), atoms_of_one_precision, 2, device=device)


@on_all_devices
def test_sets_of_another_space_are_refused_before_they_are_read(device):
    stored = Recorder(make_shapes(50, 8))
    with pytest.raises(CoordinateCountError, match="X has 8 coordinates per shape, but the space has 7"):
        sx.encode(stored, make_shapes(3, 7), 2, space=sx.BSpline(7), device=device)
    assert stored.most_rows <= 1


@on_devices
def test_arrays_that_are_closed_to_writing_stay_as_they_were(device):
    X, atoms = make_set(None)
    before = X.copy()
    open_codes = sx.encode(X, atoms, 2, device=device)
    np.testing.assert_array_equal(X, before)
    X.flags.writeable = False
    assert sx.encode(X, atoms, 2, device=device) == open_codes


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", KINDS)
def test_masked_codes_of_stored_sets_are_those_of_arrays(kind, tmp_path):
    X, atoms = make_set(None)
    # With fewer landmarks, several atoms would complete a shape equally well, and rounding would choose.
    present = np.random.default_rng(2).integers(0, 8, size=len(X))[:, None] != np.arange(7)
    X[~present] = np.nan
    kept = KINDS[kind](X, tmp_path)
    for options in ({"n_nonzero": 2}, {"tol": 0.3, "method": "ormp"}):
        found = sx.encode(kept, atoms, mask=present, **options)
        assert_close_codes(found, sx.encode(X, atoms, mask=present, **options))
    stored = Recorder(X)
    sx.encode(stored, atoms, 2, mask=present)
    assert stored.most_rows <= 16


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("stored", [False, True])
def test_masked_errors_name_rows_of_the_whole_set(stored):
    X, atoms = make_set(None)
    present = np.ones(X.shape, dtype=bool)
    present[::3, 6] = False
    store = Recorder if stored else np.asarray
    with pytest.raises(ShapeInputError, match=r"shape \(150, 7\), got \(149, 7\)"):
        sx.encode(store(X), atoms, 2, mask=present[1:])
    broken = X.copy()
    broken[103, 2] = np.nan
    with pytest.raises(NonFiniteError, match=r"mask says are present, in row 103\b"):
        sx.encode(store(broken), atoms, 2, mask=present)
    broken[103] = 2j
    with pytest.raises(CollapsedShapeError, match=r"in row 103\b"):
        sx.encode(store(broken), atoms, 2, mask=present)
    present[104, :5] = False
    with pytest.raises(NonFiniteError, match=r"fewer than three landmarks in row 104\b"):
        sx.encode(store(X), atoms, 2, mask=present)
