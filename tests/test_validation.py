"""Bad input at the border: each its own error, with words that help."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import (
    ArrayTypeError,
    CoordinateCountError,
    EmptySetError,
    NonFiniteError,
    RealLayoutError,
    ShapeInputError,
    ShapelexError,
)

SPACE = sx.Landmarks(4)
GOOD = np.random.default_rng(0).normal(size=(9, 4, 2)) @ [1, 1j]


def with_values(value, rows, column=2):
    """Return shapes with a value in some rows."""
    shapes = GOOD.copy()
    shapes[rows, column] = value
    return shapes


def test_accepted_forms_agree():
    expected, points = SPACE.preshape(GOOD), sx.to_points(GOOD)
    masked = np.ma.masked_array(GOOD, mask=False)
    for form in (GOOD, GOOD.tolist(), np.asfortranarray(GOOD), GOOD[::-1][::-1], points, points.tolist(), masked):
        np.testing.assert_array_equal(SPACE.preshape(form), expected)
    np.testing.assert_allclose(SPACE.preshape(GOOD[0]), expected[0], rtol=1e-14)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        *((dtype, np.complex64) for dtype in (np.complex64, np.float16, np.float32)),
        *((dtype, np.complex128) for dtype in (np.complex128, np.clongdouble, np.float64, np.int32, np.uint8)),
    ],
)
def test_precision(dtype, expected):
    array = np.arange(24).astype(dtype).reshape((6, 4) if np.dtype(dtype).kind == "c" else (3, 4, 2))
    rows = sx.ShapeSet(array).configurations
    assert rows.dtype == expected
    assert rows.flags.c_contiguous


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (np.ones((5, 8)), RealLayoutError, r'shape \(5, 8\).*from_columns\(Z, layout="blocks"\).*"interleaved"'),
        (np.ones((4, 2)), RealLayoutError, r"from_points\(Z\) if it is one shape of 4 points"),
        *((np.ones(shape), RealLayoutError, r"complex \(n_sh.* or real") for shape in ((4,), (3, 4, 3), (2, 3, 4, 2))),
        ([[1j, 2, 3, 4], [1j, 2]], ArrayTypeError, "rows differ in length"),
        (np.array([[1j, None, 2, 3]]), ArrayTypeError, "object array"),
        (np.array(["leaf"]), ArrayTypeError, "got dtype <U"),
        (np.ones((3, 4, 2), "m8[s]"), ArrayTypeError, "got dtype timedelta64"),
        (np.ones((3, 4, 2), bool), ArrayTypeError, "got dtype bool"),
        (with_values(np.nan, [1, 4]), NonFiniteError, "Z has NaN in rows 1, 4: remove"),
        (with_values(np.inf, [1, 4]), NonFiniteError, "infinite coordinates in rows 1, 4"),
        (with_values(complex(0, np.nan), slice(9)), NonFiniteError, "rows 0, 1, 2, 3, 4 and 4 more"),
        (
            np.array([[np.nan, 1, 2, 3j], [np.inf, 1, 2, 3j]]),
            NonFiniteError,
            "NaN or infinite coordinates in rows 0, 1",
        ),
        (np.ma.masked_array(GOOD[0], mask=[0, 0, 1, 0]), NonFiniteError, "masked entries in row 0:"),
        (np.ma.masked_array(GOOD, mask=np.eye(9, 4, -2)), NonFiniteError, "masked entries in rows 2, 3, 4, 5:"),
        *((np.empty(shape), EmptySetError, "holds no shape") for shape in ((0, 4), (0, 4, 2), 0)),
        (np.empty((0, 4), complex), EmptySetError, r"holds no shape: its shape is \(0, 4\)"),
        (np.empty((2, 0), complex), CoordinateCountError, "no coordinates"),
        (np.ones((2, 5), complex), CoordinateCountError, "has 5 coordinates per shape, but the space has 4"),
        (np.ones((1, 2, 4), complex), ShapeInputError, r"complex array of shape \(1, 2, 4\)"),
    ],
)
def test_refused(array, error, words):
    with pytest.raises(error, match=words) as caught:
        SPACE.preshape(array)
    # Errors are caught as built-in ones, too.
    assert isinstance(caught.value, ShapelexError)
    assert isinstance(caught.value, TypeError if error is ArrayTypeError else ValueError)


def test_finite_values_whose_sum_overflows_are_fine():
    assert np.isfinite(sx.ShapeSet(np.full((3, 4), 1e308 + 0j)).configurations).all()


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 2, 3], "weights must be 2 real numbers"),
        ([1, -1], "row 1"),
        ([np.nan, 1], "row 0"),
        ([0, 0], "all zero"),
        ([1j, 1], "real"),
    ],
)
def test_weights_that_are_refused(weights, words):
    with pytest.raises(ShapeInputError, match=words):
        sx.mean_shape(GOOD[:2], weights=weights)


def test_weights_are_shares():
    expected = sx.mean_shape(GOOD[[0, 1, 1, 1]])
    assert sx.distance(sx.mean_shape(GOOD[:2], weights=[1, 3]), expected) < 1e-7
    equal, huge = sx.mean_shape(GOOD[:2]), sx.mean_shape(GOOD[:2], weights=[1e308, 1e308])
    np.testing.assert_allclose(huge, equal, rtol=1e-12)
